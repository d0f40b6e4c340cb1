//! What signal handlers need of contexts (C-25, C-30): registers and vector state between the contexts frame, the
//! unit, and the frames on a program's stack.

use posix::host::{ContextId, CopyStop, FrameEnds, FrameParts, HandlerEntry, Width};
use runtime::host::copy::Remaining;
use runtime::host::{signal, vector};

use super::block::{ContextWord, ContextWords, context_address};

const RA: usize = 1;
const SP: usize = 3;
const A0: usize = 4;
const A1: usize = 5;
const A2: usize = 6;
/// What a system call destroys.
const TEMPORARIES: [usize; 9] = [12, 13, 14, 15, 16, 17, 18, 19, 20];

#[inline]
pub(super) fn stack_pointer(context: ContextId) -> u64 {
    ContextWord::register(SP).get(context)
}

#[inline(always)] // Twelve stores.
pub(super) fn finish_call(context: ContextId, result: u64) {
    let words = ContextWords::of(context);
    end_call(words, result);
    words.set(ContextWord::PC, words.get(ContextWord::PC).wrapping_add(4));
}

pub(super) fn restart_call(context: ContextId, first_argument: u64) {
    end_call(ContextWords::of(context), first_argument);
}

/// What a system call leaves beside its pc (C-25).
#[inline]
fn end_call(words: ContextWords, first: u64) {
    for number in TEMPORARIES {
        words.set(ContextWord::register(number), 0);
    }
    words.set(ContextWord::register(A0), first);
}

#[inline]
pub(super) fn enter_handler(context: ContextId, entry: &HandlerEntry) {
    let words = ContextWords::of(context);
    words.set(ContextWord::PC, entry.pc);
    words.set(ContextWord::register(RA), entry.returns);
    words.set(ContextWord::register(SP), entry.stack);
    let [first, second, third] = entry.arguments;
    words.set(ContextWord::register(A0), first);
    words.set(ContextWord::register(A1), second);
    words.set(ContextWord::register(A2), third);
}

#[inline]
pub(super) fn save_frame(context: ContextId, to: u64, parts: &FrameParts<'_>) -> Result<(), CopyStop> {
    // SAFETY: the library checked the range; contexts are mapped for the server's whole life.
    unsafe { signal::save(to, context_address(context), parts) }.map_err(from_the_start)
}

#[inline]
pub(super) fn peek_frame(from: u64) -> Result<FrameEnds, CopyStop> {
    // SAFETY: as in `save_frame`.
    unsafe { signal::peek(from) }.map_err(from_the_start)
}

#[inline]
pub(super) fn load_frame(context: ContextId, from: u64) -> Result<(), CopyStop> {
    // SAFETY: as in `save_frame`.
    unsafe { signal::load(from, context_address(context)) }.map_err(from_the_start)
}

#[inline]
pub(super) fn vector_width(context: ContextId) -> Width {
    Width::from_raw(ContextWord::WIDTH.get(context))
}

#[inline]
pub(super) fn store_vectors(width: Width, to: u64) -> Result<(), CopyStop> {
    // SAFETY: the library checked the range; the context is current.
    unsafe { vector::save(width, to) }.map_err(from_the_start)
}

pub(super) fn take_causes() -> u32 {
    // SAFETY: the context is current.
    posix::number::low_u32(unsafe { vector::take_causes() })
}

#[inline]
pub(super) fn load_vectors(width: Width, from: u64) -> Result<(), CopyStop> {
    // SAFETY: as in `store_vectors`. What was pending in fcsr the library has taken out and told.
    unsafe { vector::load(width, from) }.map(drop).map_err(from_the_start)
}

/// The routines do not say which register it was.
const fn from_the_start(_: Remaining) -> CopyStop {
    CopyStop { done: 0 }
}
