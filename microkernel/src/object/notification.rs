//! Notifications: a word of bits that are set by signals and taken by waiters.
//!
//! Owns who waits and what was signalled. A bound notification belongs to one thread, which also gets it
//! while it waits to receive. Such a thread must have a scheduling context to be given a signal there: a
//! passive one would take it and never run, so for it the signal stays, and the calls that it waits for
//! still reach it (CASES 8). [`Tcb::notification_pending`] tells the hot path.

use core::cell::Cell;

use abi::{Error, MessageInfo};

use crate::arch::Machine;
use crate::failure::Failure;
use crate::ipc::send::Patience;
use crate::ipc::wait_queue::Ends;
use crate::ipc::{answer, cancel, succeed, wait_queue};
use crate::kernel::Kernel;
use crate::object::host;
use crate::object::store::Ref;
use crate::object::thread::{Tcb, ThreadState, state};

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
    /// Threads that were suspended while they waited, in no order.
    pub stopped: Cell<Option<Ref<Tcb>>>,
    /// Unused.
    pub reserved: Cell<u64>,
}

const _: () = assert!(size_of::<Notification>() == 64);

impl Notification {
    fn ends(&self) -> Ends {
        Ends { first: self.head.get(), last: self.tail.get() }
    }

    fn set_ends(&self, ends: Ends) {
        self.head.set(ends.first);
        self.tail.set(ends.last);
    }
}

/// The notification that a thread waits for.
pub fn waited_for<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) -> Option<Ref<Notification>> {
    let tcb = k.get(thread);
    match tcb.wait_state() {
        ThreadState::BlockedOnNotification => Ref::from_raw(tcb.blocked_on.get()),
        _ => None,
    }
}

/// Puts a thread into the queue.
pub fn insert<M: Machine>(k: &Kernel<M>, notification: Ref<Notification>, thread: Ref<Tcb>) {
    let object = k.get(notification);
    object.set_ends(wait_queue::insert(k, object.ends(), thread));
}

/// Takes a thread out of the queue.
pub fn remove<M: Machine>(k: &Kernel<M>, notification: Ref<Notification>, thread: Ref<Tcb>) {
    let object = k.get(notification);
    object.set_ends(wait_queue::remove(k, object.ends(), thread));
}

/// Signals: the bits reach the thread whose turn it is, or stay until somebody takes them.
pub fn signal<M: Machine>(k: &mut Kernel<M>, notification: Ref<Notification>, badge: u64) {
    let object = k.get(notification);
    if let Some(thread) = object.head.get() {
        remove(k, notification, thread);
        answer(k, thread, badge, MessageInfo::new(0, 0), &[]);
        return state::wake(k, thread);
    }
    object.word.set(object.word.get() | badge);
    object.active.set(1);
    if let Some(thread) = object.bound_thread.get() {
        set_pending(k, thread, 1);
        settle(k, thread);
    }
}

/// Tells a thread whether its bound notification is active; a host's program is kicked by it (C-27).
fn set_pending<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>, active: u64) {
    k.get(thread).notification_pending.set(active);
    host::refresh_pending(k, thread);
}

/// Takes the bits, if it is active.
fn take<M: Machine>(k: &Kernel<M>, notification: Ref<Notification>) -> Option<u64> {
    let object = k.get(notification);
    let badge = object.word.take();
    let active = object.active.take();
    if let Some(thread) = object.bound_thread.get() {
        set_pending(k, thread, 0);
    }
    (active != 0).then_some(badge)
}

/// Whether a thread may wait for it.
///
/// # Errors
///
/// `BoundToOther` (CASES 6).
pub fn check_wait<M: Machine>(
    k: &Kernel<M>,
    thread: Ref<Tcb>,
    notification: Ref<Notification>,
) -> Result<(), Failure> {
    match k.get(notification).bound_thread.get() {
        Some(bound) if bound != thread => Err(Error::BoundToOther.into()),
        _ => Ok(()),
    }
}

/// Waits: takes the bits that are there, or blocks until a signal.
///
/// # Errors
///
/// As [`check_wait`].
pub fn wait<M: Machine>(
    k: &mut Kernel<M>,
    thread: Ref<Tcb>,
    notification: Ref<Notification>,
    patience: Patience,
) -> Result<(), Failure> {
    check_wait(k, thread, notification)?;
    if let Some(badge) = take(k, notification) {
        answer(k, thread, badge, MessageInfo::new(0, 0), &[]);
        state::wake(k, thread);
    } else if patience == Patience::Never {
        succeed(k, thread);
    } else {
        k.get(thread).blocked_on.set(notification.raw());
        state::block(k, thread, ThreadState::BlockedOnNotification, None);
        insert(k, notification, thread);
    }
    Ok(())
}

/// Ends a thread's receive with its bound notification, if that is active and the thread can run; its
/// state is left to the caller. True: it did.
pub fn take_bound<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) -> bool {
    let tcb = k.get(thread);
    if tcb.notification_pending.get() == 0 || tcb.sched_context.get().is_none() {
        return false;
    }
    let badge = tcb.notification.get().and_then(|notification| take(k, notification));
    if let Some(badge) = badge {
        answer(k, thread, badge, MessageInfo::new(0, 0), &[]);
    }
    badge.is_some()
}

/// Gives a thread that waits to receive its bound notification, now that it is active, bound, or the
/// thread has got a context.
pub fn settle<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    if k.get(thread).thread_state() == ThreadState::BlockedOnReceive && take_bound(k, thread) {
        cancel::leave_queue(k, thread);
        state::wake(k, thread);
    }
}

/// Binds an idle or active notification, that nobody waits for, to a thread without one.
///
/// # Errors
///
/// `AlreadyBound`: one of the two is, or threads wait for it.
pub fn check_bind<M: Machine>(
    k: &Kernel<M>,
    notification: Ref<Notification>,
    thread: Ref<Tcb>,
) -> Result<(), Failure> {
    let object = k.get(notification);
    let waiters = object.head.get().or(object.stopped.get());
    let others = object.bound_thread.get().or(waiters);
    if others.is_some() || k.get(thread).notification.get().is_some() {
        return Err(Error::AlreadyBound.into());
    }
    Ok(())
}

/// Binds, as [`check_bind`] allows.
pub fn bind<M: Machine>(k: &Kernel<M>, notification: Ref<Notification>, thread: Ref<Tcb>) {
    let object = k.get(notification);
    object.bound_thread.set(Some(thread));
    k.get(thread).notification.set(Some(notification));
    set_pending(k, thread, object.active.get());
    settle(k, thread);
}

/// Undoes [`bind`] from the thread's side; false when nothing was bound.
pub fn unbind<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) -> bool {
    set_pending(k, thread, 0);
    let notification = k.get(thread).notification.take();
    if let Some(notification) = notification {
        k.get(notification).bound_thread.set(None);
    }
    notification.is_some()
}

/// Ends a notification with its last capability: who waits for it is told so (C-3: thread by thread).
///
/// # Errors
///
/// Only `Preempted`.
pub fn finalise<M: Machine>(k: &mut Kernel<M>, notification: Ref<Notification>) -> Result<(), Failure> {
    if let Some(thread) = k.get(notification).bound_thread.get() {
        unbind(k, thread);
    }
    loop {
        let object = k.get(notification);
        let Some(thread) = object.head.get().or(object.stopped.get()) else { return Ok(()) };
        cancel::give_up(k, thread, Error::DeletedWhileWaiting.into());
        if k.machine.preemption_pending() {
            return Err(Failure::Preempted);
        }
    }
}
