//! Endpoints: where threads meet.

use core::cell::Cell;

use crate::object::store::Ref;
use crate::object::thread::Tcb;

/// What waits at an endpoint: the low six bits of [`Endpoint::head`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum EndpointState {
    /// Nobody.
    Idle = 0,
    /// Senders, from `head` to `tail`, by priority.
    Senders = 1,
    /// Exactly one receiver, in `head` (C-9); `tail` says nothing.
    OneReceiver = 2,
    /// Two receivers or more, from `head` to `tail`, by priority.
    Receivers = 3,
}

/// An endpoint.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Endpoint {
    /// The first thread that waits, and the [`EndpointState`] in the low bits; 0 when nobody waits.
    pub head: Cell<u64>,
    /// The last thread that waits, in the states with a queue.
    pub tail: Cell<Option<Ref<Tcb>>>,
    /// What is left to cancel of CancelBadgedSends or a deletion, so that it can go on after preemption.
    pub cancel_next: Cell<Option<Ref<Tcb>>>,
    /// The badge being cancelled.
    pub cancel_badge: Cell<u64>,
    /// Home core above [`super::thread::hot::HOME_SHIFT`].
    pub home: Cell<u64>,
    /// Unused.
    pub reserved: [Cell<u64>; 3],
}

const _: () = assert!(size_of::<Endpoint>() == 64);
