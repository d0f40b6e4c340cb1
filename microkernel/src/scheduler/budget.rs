//! Time: who is charged for it, what happens when a budget is used up, and when the timer rings next.
//!
//! One context a core is charged, [`Core::charged`], since [`Core::charged_from`]: that of the current
//! thread. A donated context moves with the call, so it is charged on without the clock being read
//! (C-10): the hot path changes neither word, and the timer stays as it is.
//!
//! One refill: the budget may be used from the moment at which its use began; what was used comes back,
//! all at once, a period after that moment. A context that has used it up has `remaining` 0 and waits until
//! `refill_at`. So in any stretch of a period's length no more than two budgets are used, and in the long
//! run one a period. What runs over, a stretch of the kernel (C-3) or a pause that the machine's own host makes,
//! puts the next refill off by as long as it takes to earn it back: a period for each budget.

use crate::arch::{Machine, Ticks};
use crate::kernel::{Core, Kernel};
use crate::object::sched_context::SchedContext;
use crate::object::store::Ref;
use crate::object::thread::ThreadState;
use crate::object::timer;
use crate::scheduler::ready_queue::{self, Place};
use crate::scheduler::{release_queue, withdraw};

/// Threads that one timer interrupt releases; those left over make it ring again at once (C-3).
const RELEASES_AT_ONCE: usize = 4;

/// Charges the context that is being charged with the time up to `now`.
pub fn charge<M: Machine>(k: &Kernel<M>, now: Ticks) {
    let core = k.core();
    let Some(context) = core.charged.get() else { return };
    let charged = k.get(context);
    let used = now.0.saturating_sub(core.charged_from.replace(now).0);
    charged.consumed.set(charged.consumed.get().saturating_add(used));
    if charged.remaining.get() == 0 {
        return;
    }
    let over = used.saturating_sub(charged.remaining.get());
    charged.remaining.set(charged.remaining.get().saturating_sub(used));
    if charged.remaining.get() == 0 {
        if !charged.is_round_robin() {
            charged.refill_at.set(charged.refill_at.get().saturating_add(earned_in(charged, over)));
        }
        used_up(k, context, now);
    }
}

/// How long it takes until a context has earned so much time.
fn earned_in(context: &SchedContext, time: u64) -> u64 {
    if time == 0 {
        return 0;
    }
    let product = u128::from(time) * u128::from(context.period.get());
    let time = product / u128::from(context.budget.get().max(1));
    u64::try_from(time).unwrap_or(u64::MAX)
}

/// Ends the current refill before it is used up: Yield.
pub fn give_up<M: Machine>(k: &Kernel<M>, context: Ref<SchedContext>) {
    let given_up = k.get(context);
    let began = given_up.refill_at.get();
    let now = k.machine.now();
    charge(k, now);
    if given_up.refill_at.get() == began && given_up.remaining.replace(0) != 0 {
        used_up(k, context, now);
    }
}

/// The refill has come to its end: the next one is waited for, or is there at once.
fn used_up<M: Machine>(k: &Kernel<M>, context: Ref<SchedContext>, now: Ticks) {
    let ended = k.get(context);
    ended.refill_at.set(ended.refill_at.get().saturating_add(ended.period.get()));
    let refilled = if ended.is_round_robin() {
        refill(k, context, now);
        true
    } else {
        refill_if_due(k, context, now)
    };
    // A thread that blocks in this very entry is placed when it is woken.
    let Some(thread) = ended.thread.get() else { return };
    if k.get(thread).thread_state() != ThreadState::Runnable {
        return;
    }
    withdraw(k, thread);
    if refilled {
        ready_queue::insert(k, thread, Place::Last);
    } else {
        release_queue::insert(k, thread);
    }
}

/// Refills a context that waits for it, when the time has come; says whether it has.
pub fn refill_if_due<M: Machine>(k: &Kernel<M>, context: Ref<SchedContext>, now: Ticks) -> bool {
    let is_due = k.get(context).refill_at.get() <= now.0;
    if is_due {
        refill(k, context, now);
    }
    is_due
}

fn refill<M: Machine>(k: &Kernel<M>, context: Ref<SchedContext>, now: Ticks) {
    let filled = k.get(context);
    filled.remaining.set(filled.budget.get());
    filled.refill_at.set(now.0);
}

/// Charges the current thread's context from now on, if another was charged.
pub fn charge_current<M: Machine>(k: &Kernel<M>) {
    let core = k.core();
    let context = k.get(k.current()).sched_context.get();
    if core.charged.get() == context {
        return;
    }
    let now = k.machine.now();
    charge(k, now);
    core.charged.set(context);
    core.charged_from.set(now);
    let Some(context) = context else { return };
    let begins = k.get(context);
    let unused = begins.remaining.get() == begins.budget.get();
    let comes_back = begins.refill_at.get().saturating_add(begins.period.get());
    // Taking turns is by time used alone: who is preempted goes on with the rest of its turn.
    if unused || !begins.is_round_robin() && comes_back <= now.0 {
        refill(k, context, now);
    }
}

/// What the timer's ringing means: a budget is used up, or threads are due.
pub fn timer_rang<M: Machine>(k: &Kernel<M>) {
    let core = k.core();
    core.deadline.set(Ticks::NEVER);
    let now = k.machine.now();
    charge(k, now);
    for _ in 0..RELEASES_AT_ONCE {
        let Some(thread) = core.release_head.get() else { return };
        let Some(context) = k.get(thread).sched_context.get() else { return };
        if !refill_if_due(k, context, now) {
            return;
        }
        release_queue::remove(k, thread);
        ready_queue::insert(k, thread, Place::Last);
    }
}

/// Sets the timer to the end of the current budget, the next release or what the first timer object is armed
/// for, whichever is soonest, if it is not set to that already.
pub fn set_timer<M: Machine>(k: &mut Kernel<M>) {
    let core = k.core();
    let deadline =
        end_of_budget(k, core).min(release_queue::first_due(k, core)).min(timer::first_due(k, core));
    if core.deadline.replace(deadline) != deadline {
        k.machine.set_deadline((deadline != Ticks::NEVER).then_some(deadline));
    }
}

fn end_of_budget<M: Machine>(k: &Kernel<M>, core: &Core) -> Ticks {
    let remaining = core.charged.get().map(|context| k.get(context).remaining.get());
    remaining.map_or(Ticks::NEVER, |remaining| Ticks(core.charged_from.get().0.saturating_add(remaining)))
}
