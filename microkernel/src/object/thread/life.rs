//! A thread's beginning, its suspension and resumption, and its end.
//!
//! Suspension is not seen by what the thread waits for (CASES 7). A thread that waits to receive or for a
//! notification leaves the queue, so that others get what comes, but stays in its object's list of stopped
//! threads; when it is resumed it waits again, without needing a scheduling context to do so. A caller goes
//! on being one: its answer, and its context, arrive while it is stopped. A sender is taken back to the
//! beginning of its call. Deleting the object ends a stopped wait like any other.

use crate::arch::Machine;
use crate::failure::Failure;
use crate::ipc::meeting::Receiving;
use crate::ipc::send::Patience;
use crate::ipc::{cancel, receive, wait_queue};
use crate::kernel::Kernel;
use crate::object::store::Ref;
use crate::object::thread::state::{self, Stopped};
use crate::object::thread::{Exit, Tcb, ThreadState, home_word};
use crate::object::{endpoint, host, notification, sched_context};

/// PRMD of users: privilege level 3, interrupts on.
pub const USER_PRMD: u64 = 7;

/// Brings a new Tcb, whose memory is zero, into its first state: inactive, with nothing, at home on this core.
pub fn initialise<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    let tcb = k.get(thread);
    tcb.home.set(home_word(k.machine.core()));
    tcb.exit.set(Exit::Full as u64);
    tcb.prmd.set(USER_PRMD);
    tcb.set_state(ThreadState::Inactive, None);
    state::refresh_hot(k, thread);
}

/// Stops a thread, whatever it does.
pub fn suspend<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    match k.get(thread).thread_state() {
        ThreadState::Runnable => state::deactivate(k, thread),
        ThreadState::BlockedOnSend => cancel::rewind(k, thread),
        ThreadState::BlockedOnReply => state::mark_stopped(k, thread, Stopped::Yes),
        ThreadState::BlockedOnReceive | ThreadState::BlockedOnNotification => stop_waiting(k, thread),
        ThreadState::Inactive | ThreadState::Idle => {}
    }
}

fn stop_waiting<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    if let Some(endpoint) = endpoint::waited_at(k, thread) {
        endpoint::remove(k, endpoint, thread);
        wait_queue::stop(k, &k.get(endpoint).stopped, thread);
    } else if let Some(notification) = notification::waited_for(k, thread) {
        notification::remove(k, notification, thread);
        wait_queue::stop(k, &k.get(notification).stopped, thread);
    }
    state::mark_stopped(k, thread, Stopped::Yes);
}

/// Lets a stopped thread go on: with what it waited for, or where it was. A thread that is not stopped is
/// left alone.
///
/// # Errors
///
/// Only `Preempted`.
pub fn resume<M: Machine>(k: &mut Kernel<M>, thread: Ref<Tcb>) -> Result<(), Failure> {
    let tcb = k.get(thread);
    if tcb.thread_state() != ThreadState::Inactive {
        return Ok(());
    }
    match tcb.wait_state() {
        ThreadState::BlockedOnReply => state::mark_stopped(k, thread, Stopped::No),
        ThreadState::BlockedOnReceive | ThreadState::BlockedOnNotification => return wait_again(k, thread),
        _ => state::wake(k, thread),
    }
    Ok(())
}

fn wait_again<M: Machine>(k: &mut Kernel<M>, thread: Ref<Tcb>) -> Result<(), Failure> {
    let endpoint = endpoint::waited_at(k, thread);
    let notification = notification::waited_for(k, thread);
    let receiving = Receiving { receiver: thread, reply: k.get(thread).reply() };
    if let Some(endpoint) = endpoint {
        // What may be preempted comes first, while the thread is still stopped.
        receive::first_that_can_go(k, endpoint, &receiving)?;
    }
    cancel::leave_queue(k, thread);
    state::deactivate(k, thread);
    match (endpoint, notification) {
        (Some(endpoint), _) => receive::receive(k, endpoint, &receiving, Patience::Wait),
        (_, Some(notification)) => notification::wait(k, thread, notification, Patience::Wait),
        (None, None) => Ok(()),
    }
}

/// Ends a thread with its last capability: it is in no queue, has no context, and waits for nothing. Its
/// slots are the deleter's to empty.
///
/// A scheduling context that it has donated stays where it is; one that was donated to it goes back when
/// the Reply of the call is deleted.
pub fn finalise<M: Machine>(k: &mut Kernel<M>, thread: Ref<Tcb>) {
    cancel::forget(k, thread);
    if let Some(context) = k.get(thread).sched_context.get() {
        sched_context::take(k, context);
    }
    notification::unbind(k, thread);
    host::leave(k, thread);
}
