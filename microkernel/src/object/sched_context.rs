//! Scheduling contexts: the right to run, as a budget in every period (MCS).
//!
//! One refill: `budget` until it is used up, then nothing until `period` after the refill began. A context
//! with period equal to budget is round robin: it is refilled at once and its thread goes to the end of
//! its queue.

use core::cell::Cell;

use crate::object::reply::Reply;
use crate::object::store::Ref;
use crate::object::thread::Tcb;

/// A scheduling context.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct SchedContext {
    /// The thread that has it now, by binding or donation.
    pub thread: Cell<Option<Ref<Tcb>>>,
    /// The newest Reply of the calls that donated it.
    pub reply: Cell<Option<Ref<Reply>>>,
    /// Ticks in a period; 0: not configured, nothing runs on it.
    pub budget: Cell<u64>,
    /// Ticks from refill to refill.
    pub period: Cell<u64>,
    /// Ticks left of the refill.
    pub remaining: Cell<u64>,
    /// When the refill began to be used, or when it can be used next.
    pub refill_at: Cell<u64>,
    /// Ticks used since they were last asked for.
    pub consumed: Cell<u64>,
    /// Its user's word, delivered with timeout faults.
    pub badge: Cell<u64>,
    /// Core that it was configured for, above [`super::thread::hot::HOME_SHIFT`].
    pub home: Cell<u64>,
    /// Refills beyond the first, later.
    pub reserved: [Cell<u64>; 23],
}

const _: () = assert!(size_of::<SchedContext>() == 256);
