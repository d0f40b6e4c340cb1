//! How a wait ends without what was waited for: deletion, cancelling, suspension, rewriting.
//!
//! Every such end is defined (a thread waits for nothing that is gone): the call answers
//! `DeletedWhileWaiting`, a fault leaves its thread inactive with a line in the log.

use crate::arch::Machine;
use crate::failure::Refusal;
use crate::ipc::{fault, refuse, wait_queue};
use crate::kernel::Kernel;
use crate::object::store::Ref;
use crate::object::thread::{Tcb, ThreadState, send_flag, state};
use crate::object::{endpoint, notification, reply};

/// Ends a thread's wait with an error: it is out of every queue and goes on.
pub fn give_up<M: Machine>(k: &mut Kernel<M>, thread: Ref<Tcb>, refusal: Refusal) {
    leave_queue(k, thread);
    fail(k, thread, refusal);
}

/// Lets a thread that is out of its queue go on with an error in its registers; a thread whose fault can
/// no longer be handled stays behind.
pub fn fail<M: Machine>(k: &mut Kernel<M>, thread: Ref<Tcb>, refusal: Refusal) {
    if k.get(thread).pending_fault().is_some() {
        return fault::abandon(k, thread, refusal.error.meaning());
    }
    refuse(k, thread, refusal);
    state::wake(k, thread);
}

/// Ends a thread's wait, and its fault, for whoever gives it something else to do.
pub fn forget<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    leave_queue(k, thread);
    k.get(thread).fault[0].set(0);
    state::deactivate(k, thread);
}

/// Takes a thread out of what it waits in, and its Reply from it. Its state is left to the caller; a
/// scheduling context that it has donated stays where it is.
pub fn leave_queue<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    let tcb = k.get(thread);
    if let Some(endpoint) = endpoint::waited_at(k, thread) {
        if tcb.is_stopped() {
            wait_queue::unstop(k, &k.get(endpoint).stopped, thread);
        } else {
            endpoint::remove(k, endpoint, thread);
        }
    }
    if let Some(notification) = notification::waited_for(k, thread) {
        if tcb.is_stopped() {
            wait_queue::unstop(k, &k.get(notification).stopped, thread);
        } else {
            notification::remove(k, notification, thread);
        }
    }
    if let Some(reply) = tcb.reply() {
        let _context = reply::unlink(k, reply);
    }
}

/// Makes a change to a thread that decides its place in the queue in which it waits.
pub fn requeue<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>, change: impl FnOnce()) {
    let waits = !k.get(thread).is_stopped();
    let endpoint = endpoint::waited_at(k, thread).filter(|_| waits);
    let notification = notification::waited_for(k, thread).filter(|_| waits);
    if let Some(endpoint) = endpoint {
        endpoint::remove(k, endpoint, thread);
    }
    if let Some(notification) = notification {
        notification::remove(k, notification, thread);
    }
    change();
    if let Some(endpoint) = endpoint {
        endpoint::insert(k, endpoint, thread);
    }
    if let Some(notification) = notification {
        notification::insert(k, notification, thread);
    }
}

/// Takes back a send that waits, so that the thread makes its call again, or takes its fault again, from
/// the beginning: every register is as it was when it entered (only the slow path blocks a sender).
pub fn rewind<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    let tcb = k.get(thread);
    let is_fault = tcb.send_flags.get() & send_flag::FAULT != 0;
    if tcb.thread_state() != ThreadState::BlockedOnSend {
        return;
    }
    forget(k, thread);
    if !is_fault {
        crate::ipc::back_to_call(k, thread);
    }
}
