//! What signal handlers need of contexts (C-25, C-30): registers and vector state between the contexts frame, the
//! unit, and the frames on a program's stack.

use posix::host::{ContextId, CopyStop, FrameEnds, FrameParts, HandlerEntry, Width};
use runtime::host::copy::Remaining;
use runtime::host::{signal, vector};

use super::block::{ContextWord, context_address};

const RA: usize = 1;
const SP: usize = 3;
const A0: usize = 4;
/// What a system call destroys.
const TEMPORARIES: core::ops::RangeInclusive<usize> = 12..=20;
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

pub(super) fn save_frame(context: ContextId, to: u64, parts: &FrameParts<'_>) -> Result<(), CopyStop> {
    // SAFETY: the library checked the range; contexts are mapped for the server's whole life.
    unsafe { signal::save(to, context_address(context), parts) }.map_err(from_the_start)
}

pub(super) fn peek_frame(from: u64) -> Result<FrameEnds, CopyStop> {
    // SAFETY: as in `save_frame`.
    unsafe { signal::peek(from) }.map_err(from_the_start)
}

pub(super) fn load_frame(context: ContextId, from: u64) -> Result<(), CopyStop> {
    // SAFETY: as in `save_frame`.
    unsafe { signal::load(from, context_address(context)) }.map_err(from_the_start)
}

pub(super) fn vector_width(context: ContextId) -> Width {
    Width::from_raw(ContextWord::WIDTH.get(context))
}

pub(super) fn store_vectors(width: Width, to: u64) -> Result<(), CopyStop> {
    // SAFETY: the library checked the range; the context is current.
    unsafe { vector::save(width, to) }.map_err(from_the_start)
}

pub(super) fn take_causes() -> u32 {
    // SAFETY: the context is current.
    posix::number::low_u32(unsafe { vector::take_causes() })
}

pub(super) fn load_vectors(width: Width, from: u64) -> Result<(), CopyStop> {
    // SAFETY: as in `store_vectors`. What was pending in fcsr the library has taken out and told.
    unsafe { vector::load(width, from) }.map(drop).map_err(from_the_start)
}

/// The routines do not say which register it was.
const fn from_the_start(_: Remaining) -> CopyStop {
    CopyStop { done: 0 }
}
