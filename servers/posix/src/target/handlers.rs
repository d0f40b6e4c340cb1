//! What signal handlers need of contexts (C-25, C-30): registers and vector state between the contexts frame, the
//! unit, and the frames on a program's stack.

use posix::host::{ContextId, CopyStop, HandlerEntry, Width};
use runtime::host::copy::{self, Remaining};
use runtime::host::vector;

use super::block::{ContextWord, context_address};
use super::machine::stopped;

const RA: usize = 1;
const SP: usize = 3;
const A0: usize = 4;
/// What a system call destroys.
const TEMPORARIES: core::ops::RangeInclusive<usize> = 12..=20;
/// Bytes of sc_pc and of sc_regs' first, which is zero.
const HEAD_BYTES: usize = 16;
/// Bytes of the other registers, which lie in a context as they do in a frame.
const GENERAL_BYTES: usize = 31 * 8;

pub(super) fn stack_pointer(context: ContextId) -> u64 {
    ContextWord::register(SP).get(context)
}

pub(super) fn finish_call(context: ContextId, result: u64) {
    restart_call(context, result);
    ContextWord::PC.set(context, ContextWord::PC.get(context).wrapping_add(4));
}

pub(super) fn restart_call(context: ContextId, first_argument: u64) {
    TEMPORARIES.for_each(|number| ContextWord::register(number).set(context, 0));
    ContextWord::register(A0).set(context, first_argument);
}

pub(super) fn enter_handler(context: ContextId, entry: &HandlerEntry) {
    ContextWord::PC.set(context, entry.pc);
    ContextWord::register(RA).set(context, entry.returns);
    ContextWord::register(SP).set(context, entry.stack);
    for (number, argument) in (A0..).zip(entry.arguments) {
        ContextWord::register(number).set(context, argument);
    }
}

pub(super) fn store_registers(context: ContextId, to: u64) -> Result<(), CopyStop> {
    let head = [ContextWord::PC.get(context), 0];
    let from = head.as_ptr().expose_provenance() as u64;
    let general = context_address(context) + 8;
    // SAFETY: the library checked that the program's range ends below 2^47 (C-29); the other one is `head`.
    stopped(unsafe { copy::copy(to, from, HEAD_BYTES as u64) }, HEAD_BYTES)?;
    // SAFETY: as above; the other one lies in the contexts frame.
    let done = unsafe { copy::copy(to + HEAD_BYTES as u64, general, GENERAL_BYTES as u64) };
    stopped(done, GENERAL_BYTES).map_err(|stop| CopyStop { done: stop.done + HEAD_BYTES })
}

pub(super) fn load_registers(context: ContextId, from: u64) -> Result<(), CopyStop> {
    let mut head = [0_u64; 2];
    let to = head.as_mut_ptr().expose_provenance() as u64;
    let general = context_address(context) + 8;
    // SAFETY: as in `store_registers`.
    stopped(unsafe { copy::copy(to, from, HEAD_BYTES as u64) }, HEAD_BYTES)?;
    // SAFETY: as in `store_registers`.
    let done = unsafe { copy::copy(general, from + HEAD_BYTES as u64, GENERAL_BYTES as u64) };
    stopped(done, GENERAL_BYTES).map_err(|stop| CopyStop { done: stop.done + HEAD_BYTES })?;
    ContextWord::PC.set(context, head[0]);
    Ok(())
}

pub(super) fn vector_width(context: ContextId) -> Width {
    Width::from_raw(ContextWord::WIDTH.get(context))
}

pub(super) fn store_vectors(width: Width, to: u64) -> Result<(), CopyStop> {
    // SAFETY: the library checked the range; the context is current.
    unsafe { vector::save(width, to) }.map_err(from_the_start)
}

pub(super) fn load_vectors(width: Width, from: u64) -> Result<(), CopyStop> {
    // SAFETY: as in `store_vectors`. What was pending in fcsr the library has taken out and told.
    unsafe { vector::load(width, from) }.map(drop).map_err(from_the_start)
}

/// The routines do not say which register it was.
const fn from_the_start(_: Remaining) -> CopyStop {
    CopyStop { done: 0 }
}
