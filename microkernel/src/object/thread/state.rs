//! What a thread is doing, and what of it the hot path may know.
//!
//! Owns [`Tcb::state`] and the changing bits of [`Tcb::hot`]: every change of state, context, Reply,
//! address space or exit goes through here, so that the hot word is true whenever the thread waits (C-9).

use crate::arch::Machine;
use crate::kernel::Kernel;
use crate::object::reply::Reply;
use crate::object::store::Ref;
use crate::object::thread::{Exit, Tcb, ThreadState, hot, register};
use crate::scheduler;

/// Says again in the hot word why the hot path must not reach the thread.
///
/// The hot path leaves the word alone: a call and its answer begin and end with a word that says nothing.
/// So what this sets for a thread that runs or waits must not depend on what only the hot path changes:
/// a context that it moved (in both waiting states a thread that it left has none), and an exit (a thread
/// that entered by a call leaves by the minimal one).
pub fn refresh_hot<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    let tcb = k.get(thread);
    let waiting = tcb.wait_state();
    let receives = waiting == ThreadState::BlockedOnReceive;
    let waits = receives || waiting == ThreadState::BlockedOnReply;
    let reasons = [
        (hot::ACTIVE, waits && tcb.sched_context.get().is_some()),
        (hot::NO_REPLY, receives && tcb.reply().is_none()),
        (hot::NO_SPACE, tcb.vspace.get().is_none()),
        (hot::FAULT, waiting == ThreadState::BlockedOnReply && tcb.pending_fault().is_some()),
        (hot::FULL_EXIT, waits && tcb.exit.get() == Exit::Full as u64),
        (hot::STOPPED, tcb.is_stopped()),
    ];
    let holding = reasons.iter().filter(|(_, holds)| *holds).fold(0, |word, (bit, _)| word | bit);
    tcb.hot.set(tcb.home.get() | tcb.hot.get() & hot::HOST | holding);
}

/// Sets what the thread is doing and the Reply that it waits with.
fn set<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>, state: ThreadState, reply: Option<Ref<Reply>>) {
    k.get(thread).state.set(reply.map_or(0, Ref::raw) | state as u64);
    refresh_hot(k, thread);
}

/// The thread waits from now on.
pub fn block<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>, state: ThreadState, reply: Option<Ref<Reply>>) {
    scheduler::withdraw(k, thread);
    set(k, thread, state, reply);
}

/// What the thread waited for has come, its registers say what: it goes on, unless it was suspended.
pub fn wake<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    if k.get(thread).is_stopped() {
        return set(k, thread, ThreadState::Inactive, None);
    }
    set(k, thread, ThreadState::Runnable, None);
    scheduler::make_ready(k, thread);
}

/// The thread does nothing until it is resumed, and waits for nothing.
pub fn deactivate<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    block(k, thread, ThreadState::Inactive, None);
}

/// Notes that the thread is suspended while it waits, or goes on waiting.
pub fn mark_stopped<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>, stopped: Stopped) {
    let state = &k.get(thread).state;
    match stopped {
        Stopped::Yes => state.set(state.get() | ThreadState::STOPPED),
        Stopped::No => state.set(state.get() & !ThreadState::STOPPED),
    }
    refresh_hot(k, thread);
}

/// Whether a thread that waits is suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// It is.
    Yes,
    /// It waits on.
    No,
}

/// Makes the saved `$tp` true: a thread that entered by a call has the one of SetTlsBase at its end (C-6).
pub fn settle_thread_pointer(tcb: &Tcb) {
    if tcb.exit.get() == Exit::Minimal as u64 {
        tcb.registers[register::TP].set(tcb.tls_base.get());
    }
}

/// The thread leaves by the full exit: its registers were rewritten, or are to be as they were.
pub fn leave_fully<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    settle_thread_pointer(k.get(thread));
    k.get(thread).exit.set(Exit::Full as u64);
    refresh_hot(k, thread);
}
