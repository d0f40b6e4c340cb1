//! Threads that can go on, in order, and the slices of those that must share the processor.
//!
//! The slice alarm is armed only when somebody waits for the processor (issue: no timer for a lone program).
//! Nobody reads the clock to start a slice: the alarm ticks once a slice while there is a queue, and a thread
//! that has been current since before the last tick gives way.

use crate::number::index;
use crate::process::ThreadId;
use crate::slots::Id;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Length of a slice.
pub const SLICE_NS: u64 = 10_000_000;

/// The queue.
#[derive(Debug, Default)]
pub struct RunQueue {
    ready: VecDeque<ThreadId>,
    /// A bit for each thread that is in it: nobody is twice.
    queued: Vec<u64>,
    /// When the next tick is due, while ticks are wanted.
    next_tick_ns: Option<u64>,
    /// Whether the current thread has seen no tick yet.
    fresh: bool,
}

impl RunQueue {
    /// Makes room for so many threads, so that waking one never allocates.
    pub fn reserve(&mut self, threads: usize) {
        self.ready.reserve(threads.saturating_sub(self.ready.len()));
    }

    /// Puts a thread at the end.
    #[inline(always)] // As much as the call of it.
    pub fn push(&mut self, thread: ThreadId) {
        if self.mark(thread) {
            self.ready.push_back(thread);
        }
    }

    /// Puts a thread at the front.
    pub fn push_front(&mut self, thread: ThreadId) {
        if self.mark(thread) {
            self.ready.push_front(thread);
        }
    }

    /// Takes the first thread, which becomes current.
    #[inline]
    pub fn pop(&mut self) -> Option<ThreadId> {
        self.fresh = true;
        let thread = self.ready.pop_front()?;
        self.unmark(thread);
        Some(thread)
    }

    /// Takes a thread that ends out.
    pub fn remove(&mut self, thread: ThreadId) {
        if self.unmark(thread) {
            self.ready.retain(|queued| *queued != thread);
        }
    }

    /// Notes that a thread is in; says whether it was not.
    #[inline]
    fn mark(&mut self, thread: ThreadId) -> bool {
        let (word, bit) = (index(thread.number() / 64), 1 << (thread.number() % 64));
        let Some(word) = self.queued.get_mut(word) else { return self.mark_first(word, bit) };
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// The same for the first thread of its word.
    #[cold]
    fn mark_first(&mut self, word: usize, bit: u64) -> bool {
        self.queued.resize(word + 1, 0);
        if let Some(word) = self.queued.get_mut(word) {
            *word |= bit;
        }
        true
    }

    /// Notes that a thread is out; says whether it was in.
    fn unmark(&mut self, thread: ThreadId) -> bool {
        let (word, bit) = (index(thread.number() / 64), 1 << (thread.number() % 64));
        let Some(word) = self.queued.get_mut(word) else { return false };
        let was = *word & bit != 0;
        *word &= !bit;
        was
    }

    /// Whether somebody waits for the processor.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }

    /// When the current thread's slice is to be looked at, if anybody waits.
    pub fn tick_due(&mut self, now_ns: impl FnOnce() -> u64) -> Option<u64> {
        if self.ready.is_empty() {
            return None;
        }
        Some(*self.next_tick_ns.get_or_insert_with(|| now_ns().saturating_add(SLICE_NS)))
    }

    /// When the tick that was asked for is due.
    #[inline]
    pub const fn next_tick(&self) -> Option<u64> {
        self.next_tick_ns
    }

    /// The clock is at `now_ns`: whether the current thread has had its slice and must give way.
    pub fn tick(&mut self, now_ns: u64) -> Slice {
        if self.next_tick_ns.is_none_or(|due| now_ns < due) {
            return Slice::Goes;
        }
        self.next_tick_ns = None;
        let fresh = core::mem::replace(&mut self.fresh, false);
        if fresh || self.ready.is_empty() { Slice::Goes } else { Slice::Over }
    }
}

/// Whether the current thread may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slice {
    /// It may.
    Goes,
    /// Others have their turn first.
    Over,
}
