//! Queues of threads that wait at an endpoint or a notification: by priority, among equals in order of
//! arrival.
//!
//! Owns a thread's `queue_next`, `queue_previous` and `queue_group`. The first thread of each priority links
//! to the first of the next lower one, so that finding a place takes at most one step a priority, however
//! many threads wait (C-3). A thread that is in no queue has all three empty.
//!
//! Threads that were suspended while they waited lie in an unordered list of the same object, linked
//! through the first two ([`stop`], [`unstop`]).

use core::cell::Cell;

use crate::arch::Machine;
use crate::kernel::Kernel;
use crate::object::store::Ref;
use crate::object::thread::Tcb;

/// First and last thread of a queue; both or neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// The thread whose turn it is.
    pub first: Option<Ref<Tcb>>,
    /// The thread whose turn comes last.
    pub last: Option<Ref<Tcb>>,
}

impl Ends {
    /// A queue of one thread, whose links are empty.
    pub const fn one(thread: Ref<Tcb>) -> Self {
        Self { first: Some(thread), last: Some(thread) }
    }
}

fn priority<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) -> u64 {
    k.get(thread).priority.get()
}

/// The first thread of the next lower priority, from the first of one.
fn next_group<M: Machine>(k: &Kernel<M>, first: Ref<Tcb>) -> Option<Ref<Tcb>> {
    k.get(first).queue_group.get()
}

/// Puts a thread behind those of its priority.
pub fn insert<M: Machine>(k: &Kernel<M>, ends: Ends, thread: Ref<Tcb>) -> Ends {
    let own = priority(k, thread);
    let mut above = None;
    let mut group = ends.first;
    while let Some(first) = group.filter(|first| priority(k, *first) > own) {
        above = group;
        group = next_group(k, first);
    }
    match group.filter(|first| priority(k, *first) == own) {
        Some(first) => link(k, ends, thread, next_group(k, first)),
        None => {
            k.get(thread).queue_group.set(group);
            if let Some(above) = above {
                k.get(above).queue_group.set(Some(thread));
            }
            link(k, ends, thread, group)
        }
    }
}

/// Puts a thread before `next`, or last.
fn link<M: Machine>(k: &Kernel<M>, mut ends: Ends, thread: Ref<Tcb>, next: Option<Ref<Tcb>>) -> Ends {
    let previous = match next {
        Some(next) => k.get(next).queue_previous.replace(Some(thread)),
        None => ends.last.replace(thread),
    };
    match previous {
        Some(previous) => k.get(previous).queue_next.set(Some(thread)),
        None => ends.first = Some(thread),
    }
    k.get(thread).queue_next.set(next);
    k.get(thread).queue_previous.set(previous);
    ends
}

/// Takes a thread out.
pub fn remove<M: Machine>(k: &Kernel<M>, mut ends: Ends, thread: Ref<Tcb>) -> Ends {
    let tcb = k.get(thread);
    let own = priority(k, thread);
    let next = tcb.queue_next.take();
    let previous = tcb.queue_previous.take();
    let next_group_of_own = tcb.queue_group.take();
    if previous.is_none_or(|previous| priority(k, previous) != own) {
        let heir = next.filter(|next| priority(k, *next) == own);
        if let Some(heir) = heir {
            k.get(heir).queue_group.set(next_group_of_own);
        }
        let mut above = ends.first.filter(|first| *first != thread);
        while let Some(first) = above {
            let below = next_group(k, first);
            if below == Some(thread) {
                k.get(first).queue_group.set(heir.or(next_group_of_own));
                break;
            }
            above = below;
        }
    }
    match previous {
        Some(previous) => k.get(previous).queue_next.set(next),
        None => ends.first = next,
    }
    match next {
        Some(next) => k.get(next).queue_previous.set(previous),
        None => ends.last = previous,
    }
    ends
}

/// Puts a thread into an object's list of suspended ones.
pub fn stop<M: Machine>(k: &Kernel<M>, list: &Cell<Option<Ref<Tcb>>>, thread: Ref<Tcb>) {
    let next = list.replace(Some(thread));
    k.get(thread).queue_next.set(next);
    if let Some(next) = next {
        k.get(next).queue_previous.set(Some(thread));
    }
}

/// Takes a thread out of an object's list of suspended ones.
pub fn unstop<M: Machine>(k: &Kernel<M>, list: &Cell<Option<Ref<Tcb>>>, thread: Ref<Tcb>) {
    let next = k.get(thread).queue_next.take();
    let previous = k.get(thread).queue_previous.take();
    previous.map_or(list, |previous| &k.get(previous).queue_next).set(next);
    if let Some(next) = next {
        k.get(next).queue_previous.set(previous);
    }
}
