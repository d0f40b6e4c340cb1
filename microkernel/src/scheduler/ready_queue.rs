//! The threads that can run, by priority; among equals in order of arrival.
//!
//! Owns [`ReadyQueue`] and keeps [`Core::top_ready`] equal to the highest priority in it, or 0: the
//! hot path reads that word and nothing else of the scheduler.

use core::cell::Cell;

use crate::arch::Machine;
use crate::kernel::{Core, Kernel};
use crate::object::store::Ref;
use crate::object::thread::Tcb;
use crate::scheduler::queue;

/// Priorities.
pub const PRIORITIES: usize = 256;
/// Priorities in a word of the bitmap.
const WORD_BITS: u64 = 64;

/// A list of threads, linked through their `sched_next` and `sched_previous`.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Queue {
    /// First thread.
    pub head: Cell<Option<Ref<Tcb>>>,
    /// Last thread.
    pub tail: Cell<Option<Ref<Tcb>>>,
}

/// One queue a priority, and a bit for each that is not empty.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct ReadyQueue {
    /// First and last thread of each priority.
    pub queues: [Queue; PRIORITIES],
    /// A bit a priority.
    pub bitmap: [Cell<u64>; PRIORITIES / 64],
}

/// Where among threads of its priority one is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Before them.
    First,
    /// Behind them.
    Last,
}

impl ReadyQueue {
    /// A queue with nobody in it.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            queues: [const { Queue { head: Cell::new(None), tail: Cell::new(None) } }; PRIORITIES],
            bitmap: [const { Cell::new(0) }; PRIORITIES / 64],
        }
    }

    /// The queue of a priority, which SetPriority has bounded.
    fn queue(&self, priority: u64) -> &Queue {
        let index = usize::try_from(priority).unwrap_or(usize::MAX);
        self.queues.get(index).unwrap_or(&self.queues[PRIORITIES - 1])
    }

    /// Notes that a priority's queue is empty, or that it is not.
    fn mark(&self, priority: u64) {
        let word = usize::try_from(priority / WORD_BITS).unwrap_or(usize::MAX);
        let Some(word) = self.bitmap.get(word) else { return };
        let bit = 1 << (priority % WORD_BITS);
        let others = word.get() & !bit;
        word.set(if self.queue(priority).head.get().is_some() { others | bit } else { others });
    }

    /// Highest priority that somebody has; none when nobody is there.
    fn top(&self) -> Option<u64> {
        let words = [192, 128, 64, 0].iter().zip(self.bitmap.iter().rev());
        let found = words.map(|(base, word)| (base, word.get())).find(|(_, word)| *word != 0);
        found.map(|(base, word)| base + WORD_BITS - 1 - u64::from(word.leading_zeros()))
    }
}

impl Default for ReadyQueue {
    fn default() -> Self {
        Self::new()
    }
}

/// Puts a thread that is in no queue into that of its priority.
pub fn insert<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>, place: Place) {
    let core = k.home_core(thread);
    let tcb = k.get(thread);
    let queue = core.ready.queue(tcb.priority.get());
    match place {
        Place::First => {
            let next = queue.head.replace(Some(thread));
            tcb.sched_next.set(next);
            tcb.sched_previous.set(None);
            next.map_or(&queue.tail, |next| &k.get(next).sched_previous).set(Some(thread));
        }
        Place::Last => {
            let previous = queue.tail.replace(Some(thread));
            tcb.sched_next.set(None);
            tcb.sched_previous.set(previous);
            previous.map_or(&queue.head, |previous| &k.get(previous).sched_next).set(Some(thread));
        }
    }
    tcb.sched_queue.set(queue::READY);
    update(core, tcb.priority.get());
}

/// Takes a thread out of its queue.
pub fn remove<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    let core = k.home_core(thread);
    let tcb = k.get(thread);
    let queue = core.ready.queue(tcb.priority.get());
    let next = tcb.sched_next.take();
    let previous = tcb.sched_previous.take();
    previous.map_or(&queue.head, |previous| &k.get(previous).sched_next).set(next);
    next.map_or(&queue.tail, |next| &k.get(next).sched_previous).set(previous);
    tcb.sched_queue.set(queue::NONE);
    update(core, tcb.priority.get());
}

/// Takes out the thread that is to run first.
pub fn take_first<M: Machine>(k: &Kernel<M>, core: &Core) -> Option<Ref<Tcb>> {
    let first = core.ready.queue(core.ready.top()?).head.get()?;
    remove(k, first);
    Some(first)
}

fn update(core: &Core, priority: u64) {
    core.ready.mark(priority);
    core.top_ready.set(core.ready.top().unwrap_or(0));
}
