//! Who runs: ready queue, release queue, budgets, choice (MCS).
//!
//! Owns the place of every thread that is [`ThreadState::Runnable`]. Such a thread
//!
//! - without a scheduling context, or with one that was never configured, is in no queue: it is *passive*
//!   and waits for one to be bound or donated;
//! - with a context that has budget left is its core's current thread or in the ready queue, never both;
//! - with a context that has used up its refill is in the release queue until the next.
//!
//! A thread that is not Runnable is in no queue of the scheduler. The current thread keeps its place by
//! not having one, so the hot path can hand the processor on without touching a queue; what it relies on
//! is that the current thread's priority is at least [`crate::kernel::Core::top_ready`].
//!
//! Neighbours: `object/thread` and `ipc` change states and call [`make_ready`] and [`withdraw`];
//! `entry` calls [`choose::choose`] and [`budget`] on the way out.

pub mod budget;
pub mod choose;
pub mod ready_queue;
pub mod release_queue;
pub mod timer_queue;

use crate::arch::Machine;
use crate::kernel::Kernel;
use crate::object::store::Ref;
use crate::object::thread::{Tcb, ThreadState};
use ready_queue::Place;

/// Which queue of the scheduler a thread is in: [`Tcb::sched_queue`].
pub mod queue {
    /// None.
    pub const NONE: u64 = 0;
    /// The ready queue of its priority.
    pub const READY: u64 = 1;
    /// The release queue.
    pub const RELEASE: u64 = 2;
}

/// True when the thread may run as far as it and its context are concerned.
pub fn is_schedulable<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) -> bool {
    let tcb = k.get(thread);
    tcb.thread_state() == ThreadState::Runnable
        && tcb.sched_context.get().is_some_and(|context| k.get(context).budget.get() != 0)
}

/// Puts a thread that has become Runnable, or has got a context, where it belongs.
///
/// It goes before others of its priority when the current thread cannot go on, so that a call reaches its
/// receiver at once as the hot path does it; else behind them.
pub fn make_ready<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    let tcb = k.get(thread);
    if !is_schedulable(k, thread) || tcb.sched_queue.get() != queue::NONE {
        return;
    }
    let Some(context) = tcb.sched_context.get() else { return };
    if k.get(context).remaining.get() == 0 && !budget::refill_if_due(k, context, k.machine.now()) {
        return release_queue::insert(k, thread);
    }
    let current = k.home_core(thread).current.get();
    if current == Some(thread) {
        return;
    }
    let place = match current {
        Some(current) if is_schedulable(k, current) => Place::Last,
        _ => Place::First,
    };
    ready_queue::insert(k, thread, place);
}

/// Takes a thread out of the scheduler's queues, before it stops being Runnable or loses its context.
pub fn withdraw<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    match k.get(thread).sched_queue.get() {
        queue::READY => ready_queue::remove(k, thread),
        queue::RELEASE => release_queue::remove(k, thread),
        _ => {}
    }
}

/// Changes a thread's priority and, in whatever queue it is, its place.
pub fn set_priority<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>, priority: u64) {
    let tcb = k.get(thread);
    let in_ready_queue = tcb.sched_queue.get() == queue::READY;
    if in_ready_queue {
        ready_queue::remove(k, thread);
    }
    crate::ipc::cancel::requeue(k, thread, || tcb.priority.set(priority));
    if in_ready_queue {
        ready_queue::insert(k, thread, Place::Last);
    }
}
