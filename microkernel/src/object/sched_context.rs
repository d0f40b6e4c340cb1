//! Scheduling contexts: the right to run, as a budget in every period (MCS).
//!
//! Owns which thread has a context and how it moves: bound by its user, donated by a call, given back by
//! the answer. One thread has one context, and the two refer to each other. How its time passes is
//! `scheduler::budget`'s.
//!
//! One refill: `budget` until it is used up, then nothing until `period` after the refill began. A context
//! with period equal to budget is round robin: it is refilled at once and its thread goes to the end of
//! its queue.

use core::cell::Cell;

use abi::{Error, Method};

use crate::arch::Machine;
use crate::capability::cap::Cap;
use crate::failure::Failure;
use crate::kernel::Kernel;
use crate::object::notification;
use crate::object::reply::Reply;
use crate::object::store::Ref;
use crate::object::thread::{Tcb, state};
use crate::scheduler;
use crate::syscall::invoke::{Answer, Arguments, Target};

/// A scheduling context.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct SchedContext {
    /// The thread that has it now, by binding or donation.
    pub thread: Cell<Option<Ref<Tcb>>>,
    /// The newest Reply of the calls that donated it.
    pub reply: Cell<Option<Ref<Reply>>>,
    /// Ticks in a refill; 0: not configured, nothing runs on it.
    pub budget: Cell<u64>,
    /// Ticks from refill to refill.
    pub period: Cell<u64>,
    /// Ticks left of the refill; 0: used up, and the next comes at `refill_at`.
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

impl SchedContext {
    /// True when the budget fills the period: the thread only takes turns with its equals.
    pub fn is_round_robin(&self) -> bool {
        self.budget.get() == self.period.get()
    }
}

/// Takes a context from whichever thread has it, which is passive then.
pub fn take<M: Machine>(k: &Kernel<M>, context: Ref<SchedContext>) {
    let Some(thread) = k.get(context).thread.take() else { return };
    scheduler::withdraw(k, thread);
    k.get(thread).sched_context.set(None);
    state::refresh_hot(k, thread);
}

/// Moves a context to a thread without one, which the caller makes ready once its state is set.
pub fn donate<M: Machine>(k: &Kernel<M>, context: Ref<SchedContext>, to: Ref<Tcb>) {
    take(k, context);
    k.get(context).thread.set(Some(to));
    k.get(to).sched_context.set(Some(context));
    state::refresh_hot(k, to);
}

/// Binds a context that no thread has to a thread without one: it can run, and take what was kept for it.
pub fn bind<M: Machine>(k: &Kernel<M>, context: Ref<SchedContext>, to: Ref<Tcb>) {
    donate(k, context, to);
    scheduler::make_ready(k, to);
    notification::settle(k, to);
}

/// Takes a context from its thread and from the calls that donated it: no answer gives it back.
pub fn unbind<M: Machine>(k: &Kernel<M>, context: Ref<SchedContext>) {
    take(k, context);
    if let Some(newest) = k.get(context).reply.take() {
        k.get(newest).sched_context.set(None);
    }
}

/// Sets budget and period, in ticks; the first refill can be used at once.
pub fn configure<M: Machine>(
    k: &Kernel<M>,
    context: Ref<SchedContext>,
    budget: u64,
    period: u64,
    badge: u64,
) {
    let now = k.machine.now();
    if k.core().charged.get() == Some(context) {
        scheduler::budget::charge(k, now);
    }
    let object = k.get(context);
    let thread = object.thread.get();
    if let Some(thread) = thread {
        scheduler::withdraw(k, thread);
    }
    object.budget.set(budget);
    object.period.set(period);
    object.remaining.set(budget);
    object.refill_at.set(now.0);
    object.badge.set(badge);
    if let Some(thread) = thread {
        scheduler::make_ready(k, thread);
    }
}

/// Ends a context with its last capability: its thread is passive, nothing is charged to it.
pub fn finalise<M: Machine>(k: &mut Kernel<M>, context: Ref<SchedContext>) {
    unbind(k, context);
    let core = k.core();
    if core.charged.get() == Some(context) {
        core.charged.set(None);
    }
}

/// Methods of a SchedContext.
///
/// # Errors
///
/// As the table says.
pub fn invoke<M: Machine>(
    k: &mut Kernel<M>,
    target: &Target,
    method: Method,
    arguments: &Arguments,
) -> Result<Answer, Failure> {
    let Cap::SchedContext(context) = target.cap else { return Err(Error::IllegalOperation.into()) };
    match method {
        Method::SchedContextBind => {
            let Cap::Tcb(thread) = k.get(arguments.cap_slot(0)?).cap() else {
                return Err(Failure::about(Error::InvalidCapability, 0, 0));
            };
            if k.get(context).thread.get().is_some() || k.get(thread).sched_context.get().is_some() {
                return Err(Error::AlreadyBound.into());
            }
            bind(k, context, thread);
        }
        Method::SchedContextUnbind => {
            if k.get(context).thread.get().is_none() {
                return Err(Error::NotBound.into());
            }
            unbind(k, context);
        }
        _ => return Err(Error::IllegalOperation.into()),
    }
    Ok(Answer::default())
}
