//! Notifications: a word of bits that are set by signals and taken by waiters.

use core::cell::Cell;

use crate::object::store::Ref;
use crate::object::thread::Tcb;

/// A notification. It is active when `active` is not 0, waited for when `head` is set, else idle.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Notification {
    /// First of the threads that wait, by priority.
    pub head: Cell<Option<Ref<Tcb>>>,
    /// Last of them.
    pub tail: Cell<Option<Ref<Tcb>>>,
    /// The badges of the signals that nobody took yet, ORed.
    pub word: Cell<u64>,
    /// 1: signalled and not taken, whatever `word` is.
    pub active: Cell<u64>,
    /// The thread that receives it at its endpoints.
    pub bound_thread: Cell<Option<Ref<Tcb>>>,
    /// Home core above [`super::thread::hot::HOME_SHIFT`].
    pub home: Cell<u64>,
    /// Unused.
    pub reserved: [Cell<u64>; 2],
}

const _: () = assert!(size_of::<Notification>() == 64);
