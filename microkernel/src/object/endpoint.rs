//! Endpoints: where threads meet.
//!
//! Owns who waits here. The hot path knows two states, nobody and one receiver, and moves between them by
//! writing `head` alone: in both, `tail` is empty and so are the receiver's links.

use core::cell::Cell;

use abi::Error;

use crate::arch::Machine;
use crate::failure::Failure;
use crate::ipc::cancel;
use crate::ipc::wait_queue::{self, Ends};
use crate::kernel::Kernel;
use crate::object::store::Ref;
use crate::object::thread::{Tcb, ThreadState, attempt};

/// What waits at an endpoint: the low six bits of [`Endpoint::head`], one bit a state, so that the hot path
/// tests for its state with one mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum EndpointState {
    /// Nobody.
    Idle = 0,
    /// Senders, from `head` to `tail`, by priority.
    Senders = 1,
    /// Exactly one receiver, in `head` (C-9); `tail` is empty.
    OneReceiver = 2,
    /// Two receivers or more, from `head` to `tail`, by priority.
    Receivers = 4,
}

/// The bits of [`Endpoint::head`] that hold the state.
const STATE_MASK: u64 = 63;

/// An endpoint.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Endpoint {
    /// The first thread that waits, and the [`EndpointState`] in the low bits; 0 when nobody waits.
    pub head: Cell<u64>,
    /// The last thread that waits, in the states with a queue.
    pub tail: Cell<Option<Ref<Tcb>>>,
    /// Where a CancelBadgedSends that was preempted goes on; the thread is in the queue.
    pub cancel_next: Cell<Option<Ref<Tcb>>>,
    /// The badge being cancelled.
    pub cancel_badge: Cell<u64>,
    /// Home core above [`super::thread::hot::HOME_SHIFT`].
    pub home: Cell<u64>,
    /// Receivers that were suspended while they waited here, in no order.
    pub stopped: Cell<Option<Ref<Tcb>>>,
    /// The thread whose CancelBadgedSends began last; only compared.
    pub cancelled_by: Cell<Option<Ref<Tcb>>>,
    /// Unused.
    pub reserved: Cell<u64>,
}

const _: () = assert!(size_of::<Endpoint>() == 64);

impl Endpoint {
    /// What waits.
    pub fn state(&self) -> EndpointState {
        match self.head.get() & STATE_MASK {
            1 => EndpointState::Senders,
            2 => EndpointState::OneReceiver,
            4 => EndpointState::Receivers,
            _ => EndpointState::Idle,
        }
    }

    /// Whose turn it is.
    pub fn first(&self) -> Option<Ref<Tcb>> {
        Ref::from_raw(self.head.get() & !STATE_MASK)
    }

    /// The receiver whose turn it is.
    pub fn first_receiver(&self) -> Option<Ref<Tcb>> {
        self.first().filter(|_| self.state() != EndpointState::Senders)
    }

    /// The sender whose turn it is.
    pub fn first_sender(&self) -> Option<Ref<Tcb>> {
        self.first().filter(|_| self.state() == EndpointState::Senders)
    }

    fn ends(&self) -> Ends {
        Ends { first: self.first(), last: self.tail.get().or(self.first()) }
    }

    /// Writes who waits; a queue that has become shorter may be a state that the hot path knows.
    fn set_ends(&self, ends: Ends, role: EndpointState) {
        let one = ends.first == ends.last;
        let state = match (ends.first, role) {
            (None, _) => EndpointState::Idle,
            (_, EndpointState::Senders) => EndpointState::Senders,
            _ if one => EndpointState::OneReceiver,
            _ => EndpointState::Receivers,
        };
        self.head.set(ends.first.map_or(0, Ref::raw) | state as u64);
        let has_queue = matches!(state, EndpointState::Senders | EndpointState::Receivers);
        self.tail.set(ends.last.filter(|_| has_queue));
    }
}

/// The endpoint at which a thread waits in one of the two states that are spent there.
pub fn waited_at<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) -> Option<Ref<Endpoint>> {
    let tcb = k.get(thread);
    match tcb.wait_state() {
        ThreadState::BlockedOnSend | ThreadState::BlockedOnReceive => Ref::from_raw(tcb.blocked_on.get()),
        _ => None,
    }
}

/// Puts a thread, whose state says that it waits here, into the queue.
pub fn insert<M: Machine>(k: &Kernel<M>, endpoint: Ref<Endpoint>, thread: Ref<Tcb>) {
    let role = match k.get(thread).wait_state() {
        ThreadState::BlockedOnSend => EndpointState::Senders,
        _ => EndpointState::Receivers,
    };
    let object = k.get(endpoint);
    object.set_ends(wait_queue::insert(k, object.ends(), thread), role);
}

/// Takes a thread out of the queue.
pub fn remove<M: Machine>(k: &Kernel<M>, endpoint: Ref<Endpoint>, thread: Ref<Tcb>) {
    let object = k.get(endpoint);
    if object.cancel_next.get() == Some(thread) {
        object.cancel_next.set(k.get(thread).queue_next.get());
    }
    object.set_ends(wait_queue::remove(k, object.ends(), thread), object.state());
}

/// Ends an endpoint with its last capability: who waits there is told so (C-3: thread by thread).
///
/// # Errors
///
/// Only `Preempted`.
pub fn finalise<M: Machine>(k: &mut Kernel<M>, endpoint: Ref<Endpoint>) -> Result<(), Failure> {
    loop {
        let object = k.get(endpoint);
        let Some(thread) = object.first().or(object.stopped.get()) else { return Ok(()) };
        cancel::give_up(k, thread, Error::DeletedWhileWaiting.into());
        if k.machine.preemption_pending() {
            return Err(Failure::Preempted);
        }
    }
}

/// Ends the waiting sends and calls that carry `badge`.
///
/// A call that was preempted and is made again goes on where it was. Who has begun to send before that
/// place meanwhile is not met: whoever cancels a badge has first taken it from its users.
///
/// # Errors
///
/// Only `Preempted`.
pub fn cancel_badged_sends<M: Machine>(
    k: &mut Kernel<M>,
    endpoint: Ref<Endpoint>,
    badge: u64,
) -> Result<(), Failure> {
    let object = k.get(endpoint);
    let current = k.current();
    let same_thread = object.cancelled_by.replace(Some(current)) == Some(current);
    let same_badge = object.cancel_badge.replace(badge) == badge;
    let again = same_thread && same_badge && k.get(current).attempt.get() == attempt::AGAIN;
    let mut next = object.cancel_next.take().filter(|_| again).or(object.first_sender());
    while let Some(thread) = next {
        next = k.get(thread).queue_next.get();
        if k.get(thread).send_badge.get() == badge {
            cancel::give_up(k, thread, Error::DeletedWhileWaiting.into());
        }
        if next.is_some() && k.machine.preemption_pending() {
            k.get(endpoint).cancel_next.set(next);
            return Err(Failure::Preempted);
        }
    }
    Ok(())
}
