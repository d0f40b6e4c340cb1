//! Time: budgets, periods, preemption, priorities (C-10).

use abi::{CPtr, Error};
use runtime::message::info;
use runtime::stubs::{Endpoint, Notification, Reply, SchedContext, yield_now};
use runtime::thread::Time;
use runtime::trap::counter;

use super::stories;
use crate::kit::assistant::{PLENTY, Role};
use crate::kit::failure::{Failure, Outcome, equal, holds, refused};
use crate::kit::shared::{Cell, rest};
use crate::kit::stage::{DIRECTOR, HERE, SCHED_CONTROL, Stage};

stories! {
    a_budget_ends_and_a_period_brings_it_back,
    a_callee_spends_its_callers_budget,
    equals_share_the_processor,
    a_higher_priority_runs_first,
    yielding_lets_an_equal_run,
    a_priority_above_the_authority_is_refused,
    wrong_budgets_are_refused,
    raising_a_priority_takes_effect_at_once,
}

/// Runs for ever; adds up the time that it sees itself running, in ticks: gaps above a limit are not counted.
extern "C" fn spin(cell: u64, gap: u64, _: u64, _: u64) -> ! {
    let cell = usize::try_from(cell).unwrap_or(0);
    let mut last = counter();
    loop {
        let now = counter();
        if now.wrapping_sub(last) < gap {
            Cell(cell).add(now.wrapping_sub(last));
        }
        last = now;
    }
}

/// Waits until so much time has passed, then signals.
extern "C" fn sleep(deadline: u64, notification: u64, _: u64, _: u64) -> ! {
    while counter() < deadline {}
    let _ = Notification(CPtr(notification)).signal();
    rest()
}

/// Lets everything below the director run for so many microseconds. The one that spins out the time is the
/// lowest, so it sees every other's end of budget.
fn let_run(stage: &mut Stage, microseconds: u64) -> Outcome {
    let done = stage.notification()?;
    let deadline = counter() + stage.ticks(microseconds);
    stage.start(Role::BELOW.above(-50), sleep, [deadline, done.0.0, 0, 0])?;
    done.wait()?;
    Ok(())
}

/// How often a story about real time is tried: a developer's machine that is busy delivers the timer's interrupt
/// late, and what runs over is not charged again. A kernel that does not charge at all fails every time.
const TRIES: u64 = 100;

fn a_budget_ends_and_a_period_brings_it_back(stage: &mut Stage) -> Outcome {
    let time = Time { budget_ns: 2_000_000, period_ns: 10_000_000 };
    let gap = stage.ticks(1000);
    let spinner = stage.hire(Role::BELOW.with_time(time), spin, [0, gap, 0, 0])?;
    let (mut used, mut passed) = (0, 0);
    for _ in 0..TRIES {
        Cell(0).set(0);
        let begin = counter();
        spinner.begin_anew()?;
        let_run(stage, 100_000)?;
        spinner.tcb.suspend()?;
        (used, passed) = (Cell(0).get(), counter() - begin);
        holds("it ran", used > 0)?;
        // A fifth of the time, and some room.
        if used * 100 < passed * 35 {
            return Ok(());
        }
    }
    Err(Failure::new(format_args!("a fifth of the time was given, {used} of {passed} ticks were used")))
}

/// Uses up so many ticks of processor time for each call.
extern "C" fn work(endpoint: u64, reply: u64, ticks: u64, gap: u64) -> ! {
    let (endpoint, reply) = (Endpoint(CPtr(endpoint)), Reply(CPtr(reply)));
    let mut received = endpoint.recv(reply);
    loop {
        let (mut used, mut last) = (0, counter());
        while used < ticks {
            let now = counter();
            if now.wrapping_sub(last) < gap {
                used += now.wrapping_sub(last);
            }
            last = now;
        }
        received = endpoint.reply_recv_inline(reply, info(0, 0), received.words);
    }
}

/// Calls once, and tells how long that took.
extern "C" fn call_and_measure(endpoint: u64, done: u64, _: u64, _: u64) -> ! {
    let begin = counter();
    let answer = Endpoint(CPtr(endpoint)).call(0, []);
    Cell(0).set(counter() - begin);
    Cell(1).set(u64::from(answer.is_ok()));
    let _ = Notification(CPtr(done)).signal();
    rest()
}

fn a_callee_spends_its_callers_budget(stage: &mut Stage) -> Outcome {
    let (endpoint, reply, done) = (stage.endpoint()?, stage.reply()?, stage.notification()?);
    let (ticks, gap) = (stage.ticks(5000), stage.ticks(300));
    stage.passive(HERE, work, [endpoint.0.0, reply.0.0, ticks, gap])?;
    // Five milliseconds of work on one in ten; two budgets may touch, at the end of a period and at the beginning
    // of the next, so that three periods pass at least.
    let time = Time { budget_ns: 1_000_000, period_ns: 10_000_000 };
    let caller = stage.hire(Role::BELOW.with_time(time), call_and_measure, [endpoint.0.0, done.0.0, 0, 0])?;
    let least = stage.ticks(29_000);
    for _ in 0..TRIES {
        caller.begin_anew()?;
        done.wait()?;
        equal("answered", Cell(1).get(), 1)?;
        if Cell(0).get() >= least {
            return Ok(());
        }
    }
    let took = Cell(0).get();
    Err(Failure::new(format_args!("the call took {took} ticks; its caller's budget allows {least}")))
}

fn equals_share_the_processor(stage: &mut Stage) -> Outcome {
    let time = Time { budget_ns: 1_000_000, period_ns: 1_000_000 };
    let gap = stage.ticks(300);
    for cell in 0..3 {
        stage.start(Role::BELOW.with_time(time), spin, [cell, gap, 0, 0])?;
    }
    // Wall time is not under the guest's control: what must come true is given several chances.
    for _ in 0..20 {
        let done = stage.notification()?;
        let deadline = counter() + stage.ticks(20_000);
        stage.start(Role::BELOW.with_time(time), sleep, [deadline, done.0.0, 0, 0])?;
        done.wait()?;
        if (0..3).all(|cell| Cell(cell).get() > 0) {
            return Ok(());
        }
    }
    let used: [u64; 3] = core::array::from_fn(|cell| Cell(cell).get());
    Err(Failure::new(format_args!("ticks that each has run: {used:?}")))
}

extern "C" fn number(cell: u64, _: u64, _: u64, _: u64) -> ! {
    // The turn at which this thread has run.
    let turn = Cell(10).add(1);
    Cell(usize::try_from(cell).unwrap_or(0)).set(turn);
    rest()
}

fn a_higher_priority_runs_first(stage: &mut Stage) -> Outcome {
    for (cell, above) in [(0, -30), (1, -5), (2, -20), (3, -10)] {
        stage.start(Role::BELOW.above(above), number, [cell, 0, 0, 0])?;
    }
    equal("nobody ran yet", Cell(10).get(), 0)?;
    let_run(stage, 100)?;
    let turns: [u64; 4] = core::array::from_fn(|cell| Cell(cell).get());
    equal("turns", turns, [4, 1, 3, 2])
}

extern "C" fn yield_often(cell: u64, other: u64, ahead: u64, _: u64) -> ! {
    let (cell, other) = (usize::try_from(cell).unwrap_or(0), usize::try_from(other).unwrap_or(0));
    for _ in 0..100 {
        let mine = Cell(cell).add(1);
        // Neither ever gets more than one turn ahead of the other.
        if mine > Cell(other).get() + ahead {
            Cell(9).add(1);
        }
        yield_now();
    }
    rest()
}

fn yielding_lets_an_equal_run(stage: &mut Stage) -> Outcome {
    let first = stage.hire(Role::BELOW, yield_often, [0, 1, 1, 0])?;
    let second = stage.hire(Role::BELOW, yield_often, [1, 0, 1, 0])?;
    first.resume()?;
    second.resume()?;
    let_run(stage, 20_000)?;
    equal(
        "turns of both, and turns out of turn",
        (Cell(0).get(), Cell(1).get(), Cell(9).get()),
        (100, 100, 0),
    )
}

fn a_priority_above_the_authority_is_refused(stage: &mut Stage) -> Outcome {
    let thread = stage.hire(Role::BELOW, number, [0; 4])?;
    for priority in [151, 255, 256, u64::MAX] {
        refused("priority", thread.tcb.set_priority(DIRECTOR, priority), Error::RangeError)?;
        refused("maximum", thread.tcb.set_mc_priority(DIRECTOR, priority), Error::RangeError)?;
    }
    refused("no authority", thread.tcb.set_priority(HERE, 1), Error::InvalidCapability)
}

fn wrong_budgets_are_refused(stage: &mut Stage) -> Outcome {
    let context = SchedContext(stage.memory.make(abi::ObjectType::SchedContext, 0)?);
    for (budget, period) in [(0, 1_000_000), (2_000_000, 1_000_000), (1_000_000, 0), (u64::MAX, u64::MAX)] {
        refused("budget", SCHED_CONTROL.configure(context, budget, period, 0, 0), Error::RangeError)?;
    }
    refused(
        "no context",
        SCHED_CONTROL.configure(DIRECTOR, 1_000_000, 1_000_000, 0, 0),
        Error::InvalidCapability,
    )?;
    // One refill is what there is (A1).
    refused(
        "more refills",
        SCHED_CONTROL.configure(context, PLENTY.budget_ns, PLENTY.period_ns, 1, 0),
        Error::NotImplemented,
    )
}

fn raising_a_priority_takes_effect_at_once(stage: &mut Stage) -> Outcome {
    let thread = stage.start(Role::BELOW, number, [0; 4])?;
    equal("below", Cell(0).get(), 0)?;
    thread.tcb.set_priority(DIRECTOR, stage.priority() + 1)?;
    equal("above", Cell(0).get(), 1)
}
