//! The threads that can run, by priority.

use core::cell::Cell;

use crate::object::store::Ref;
use crate::object::thread::Tcb;

/// Priorities.
pub const PRIORITIES: usize = 256;

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

impl ReadyQueue {
    /// A queue without threads.
    pub const fn new() -> Self {
        Self {
            queues: [const { Queue { head: Cell::new(None), tail: Cell::new(None) } }; PRIORITIES],
            bitmap: [const { Cell::new(0) }; PRIORITIES / 64],
        }
    }
}

impl Default for ReadyQueue {
    fn default() -> Self {
        Self::new()
    }
}
