//! Replies: each stands for one caller, and they stack on the scheduling context that was donated.
//!
//! Owns the stack: a context's `reply` is the newest Reply, which alone names the context; `previous` and
//! `next` link the others. Taking one out of the middle joins its neighbours, so the context always goes
//! back to the nearest caller that still waits (C-10). A Reply refers to a thread exactly as long as the
//! thread's state refers to the Reply.

use core::cell::Cell;

use abi::Error;

use crate::arch::Machine;
use crate::ipc::cancel;
use crate::kernel::Kernel;
use crate::object::sched_context::{self, SchedContext};
use crate::object::store::Ref;
use crate::object::thread::{Tcb, ThreadState, send_flag, state};

/// A reply object.
///
/// Free: all fields empty. A thread receives with it: `thread` is that receiver (whose state is
/// BlockedOnReceive). A caller waits: `thread` is the caller (BlockedOnReply), and when the call donated a
/// scheduling context the Reply is in that context's stack: the newest has `sched_context` set, the others
/// have `next`.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Reply {
    /// The receiver that will use it or the caller that waits.
    pub thread: Cell<Option<Ref<Tcb>>>,
    /// The scheduling context that an answer gives back, on the top of its stack only.
    pub sched_context: Cell<Option<Ref<SchedContext>>>,
    /// The next older Reply of the stack.
    pub previous: Cell<Option<Ref<Reply>>>,
    /// The next newer Reply of the stack; none on top.
    pub next: Cell<Option<Ref<Reply>>>,
    /// Not 0: the answer may transfer capabilities, as the caller's endpoint capability could. Says
    /// something only while a caller waits.
    pub can_grant: Cell<u64>,
    /// Home core above [`super::thread::hot::HOME_SHIFT`].
    pub home: Cell<u64>,
    /// Unused.
    pub reserved: [Cell<u64>; 2],
}

const _: () = assert!(size_of::<Reply>() == 64);

/// The caller that waits for an answer through this Reply.
pub fn caller<M: Machine>(k: &Kernel<M>, reply: Ref<Reply>) -> Option<Ref<Tcb>> {
    let thread = k.get(reply).thread.get()?;
    (k.get(thread).wait_state() == ThreadState::BlockedOnReply).then_some(thread)
}

/// The receiver's Reply stands for `caller` from now on, who waits; a receiver without a scheduling
/// context gets the caller's.
pub fn push<M: Machine>(k: &Kernel<M>, reply: Ref<Reply>, caller: Ref<Tcb>, flags: u64, receiver: Ref<Tcb>) {
    let pushed = k.get(reply);
    pushed.thread.set(Some(caller));
    pushed.can_grant.set(flags & send_flag::GRANT);
    let context = k.get(caller).sched_context.get();
    if let Some(context) = context.filter(|_| k.get(receiver).sched_context.get().is_none()) {
        let below = k.get(context).reply.replace(Some(reply));
        pushed.previous.set(below);
        pushed.sched_context.set(Some(context));
        if let Some(below) = below.map(|below| k.get(below)) {
            below.next.set(Some(reply));
            below.sched_context.set(None);
        }
        sched_context::donate(k, context, receiver);
    }
    state::block(k, caller, ThreadState::BlockedOnReply, Some(reply));
}

/// Takes a Reply out of its stack and away from its caller; returns the context if it was on top.
pub fn unlink<M: Machine>(k: &Kernel<M>, reply: Ref<Reply>) -> Option<Ref<SchedContext>> {
    let unlinked = k.get(reply);
    let context = unlinked.sched_context.take();
    let below = unlinked.previous.take();
    let above = unlinked.next.take();
    unlinked.thread.set(None);
    if let Some(context) = context {
        k.get(context).reply.set(below);
    }
    if let Some(above) = above {
        k.get(above).previous.set(below);
    }
    if let Some(below) = below.map(|below| k.get(below)) {
        below.next.set(above);
        below.sched_context.set(context);
    }
    context
}

/// Takes a Reply out of its stack and gives the context back, if it was on top, to a caller without one.
pub fn pop<M: Machine>(k: &Kernel<M>, reply: Ref<Reply>, caller: Ref<Tcb>) {
    let context = unlink(k, reply);
    if let Some(context) = context.filter(|_| k.get(caller).sched_context.get().is_none()) {
        sched_context::donate(k, context, caller);
    }
}

/// Ends a Reply with its last capability: who waits with it or for it is told so.
///
/// A caller gets its context back; the server goes on without. Faults end as [`cancel::fail`] says.
pub fn finalise<M: Machine>(k: &mut Kernel<M>, reply: Ref<Reply>) {
    let Some(thread) = k.get(reply).thread.get() else { return };
    if caller(k, reply).is_some() {
        pop(k, reply, thread);
    } else {
        cancel::leave_queue(k, thread);
    }
    cancel::fail(k, thread, Error::DeletedWhileWaiting.into());
}
