//! Timer objects: the hardware's one timer, shared by whoever holds one of these.

use abi::{Error, ObjectType, Rights};
use runtime::InvocationError;
use runtime::memory::DEPTH;
use runtime::stubs::{Notification, Timer};
use runtime::trap::counter;

use super::stories;
use crate::kit::assistant::Role;
use crate::kit::failure::{Outcome, equal, holds, refused};
use crate::kit::shared::{Cell, rest};
use crate::kit::stage::{CNODE, NOTHING, Stage};

stories! {
    a_timer_signals_at_its_time_and_not_before,
    a_time_that_has_passed_is_signalled_at_once,
    timers_ring_in_the_order_of_their_times,
    a_cancelled_timer_does_not_ring,
    a_deleted_timer_does_not_ring,
    a_timer_preempts_whoever_runs,
    wrong_timers_are_refused,
}

fn timer(stage: &mut Stage) -> Result<Timer, InvocationError> {
    stage.memory.make(ObjectType::Timer, 0).map(Timer)
}

/// The counter's time so many microseconds from now: in ticks, and in nanoseconds since it was 0.
fn after(stage: &Stage, microseconds: u64) -> (u64, u64) {
    let tick = counter().wrapping_add(stage.ticks(microseconds));
    let (hz, second) = (stage.server.timer_hz(), 1_000_000_000);
    (tick, tick / hz * second + tick % hz * second / hz)
}

fn a_timer_signals_at_its_time_and_not_before(stage: &mut Stage) -> Outcome {
    let (timer, notification) = (timer(stage)?, stage.notification()?);
    let badged = Notification(stage.memory.mint(notification.0, Rights::WRITE, 0x40)?);
    for microseconds in [300, 1000, 5000] {
        let (tick, ns) = after(stage, microseconds);
        timer.arm(badged, ns)?;
        equal("the badge", notification.wait()?, 0x40)?;
        // Rounded to nanoseconds and back: no more than a few ticks early.
        holds("not before its time", counter() + 16 >= tick)?;
        equal("once", notification.poll()?, 0)?;
    }
    Ok(())
}

fn a_time_that_has_passed_is_signalled_at_once(stage: &mut Stage) -> Outcome {
    let (timer, notification) = (timer(stage)?, stage.notification()?);
    let badged = Notification(stage.memory.mint(notification.0, Rights::WRITE, 2)?);
    for ns in [0, 1, after(stage, 0).1] {
        timer.arm(badged, ns)?;
        equal("the badge", notification.poll()?, 2)?;
    }
    Ok(())
}

fn timers_ring_in_the_order_of_their_times(stage: &mut Stage) -> Outcome {
    let notification = stage.notification()?;
    let mut timers = heapless::Vec::<(Timer, Notification), 16>::new();
    for number in 0..16 {
        let badged = Notification(stage.memory.mint(notification.0, Rights::WRITE, 1 << number)?);
        let _ = timers.push((timer(stage)?, badged));
    }
    // 7 is prime to 16: each place once, in no order.
    let (_, start) = after(stage, 2000);
    for (number, (timer, badged)) in (0_u64..).zip(&timers) {
        timer.arm(*badged, start + (number * 7 % 16) * 400_000)?;
    }
    let mut rung = 0;
    for place in 0..16 {
        while rung >> (place * 7 % 16) & 1 == 0 {
            // A busy machine may let several be late together, but none before one that is due earlier.
            rung |= notification.wait()?;
        }
        let later = (place + 1..16).any(|later| rung >> (later * 7 % 16) & 1 != 0);
        let late = after(stage, 0).1 >= start + (place + 1) * 400_000;
        holds("none rings before one that is due earlier", !later || late)?;
    }
    equal("all have rung", rung, 0xffff)
}

fn a_cancelled_timer_does_not_ring(stage: &mut Stage) -> Outcome {
    let (one, other, notification) = (timer(stage)?, timer(stage)?, stage.notification()?);
    let first = Notification(stage.memory.mint(notification.0, Rights::WRITE, 1)?);
    let second = Notification(stage.memory.mint(notification.0, Rights::WRITE, 2)?);
    one.arm(first, after(stage, 2000).1)?;
    other.arm(second, after(stage, 4000).1)?;
    one.cancel()?;
    equal("the other alone", notification.wait()?, 2)?;
    one.cancel()?;
    // Armed twice, it rings for the second time alone.
    one.arm(first, after(stage, 1000).1)?;
    one.arm(second, after(stage, 2000).1)?;
    equal("the second", notification.wait()?, 2)?;
    equal("nothing more", notification.poll()?, 0)
}

fn a_deleted_timer_does_not_ring(stage: &mut Stage) -> Outcome {
    let (keeper, notification) = (timer(stage)?, stage.notification()?);
    for round in 0..50 {
        let gone = timer(stage)?;
        let badged = Notification(stage.memory.mint(notification.0, Rights::WRITE, 1)?);
        let kept = Notification(stage.memory.mint(notification.0, Rights::WRITE, 2)?);
        gone.arm(badged, after(stage, 200).1)?;
        keeper.arm(kept, after(stage, 400).1)?;
        match round % 2 {
            0 => stage.memory.delete(gone.0)?,
            // Armed for a notification that is gone, it rings for nobody.
            _ => CNODE.revoke(badged.0.0, DEPTH)?,
        }
        equal("the other's badge alone", notification.wait()?, 2)?;
        stage.memory.delete(badged.0)?;
        stage.memory.delete(kept.0)?;
    }
    Ok(())
}

/// Waits for a notification, and says when it was signalled.
extern "C" fn hear(notification: u64, _: u64, _: u64, _: u64) -> ! {
    if Notification(abi::CPtr(notification)).wait().is_ok() {
        Cell(0).set(counter());
    }
    rest()
}

fn a_timer_preempts_whoever_runs(stage: &mut Stage) -> Outcome {
    let (timer, notification) = (timer(stage)?, stage.notification()?);
    stage.start(Role::ABOVE, hear, [notification.0.0, 0, 0, 0])?;
    let (tick, ns) = after(stage, 500);
    timer.arm(notification, ns)?;
    let limit = tick + stage.ticks(5_000_000);
    while Cell(0).get() == 0 && counter() < limit {}
    holds("it was heard while this thread ran", Cell(0).get() != 0)?;
    holds("not before its time", Cell(0).get() + 16 >= tick)
}

fn wrong_timers_are_refused(stage: &mut Stage) -> Outcome {
    let (timer, notification) = (timer(stage)?, stage.notification()?);
    let deaf = Notification(stage.memory.copy(notification.0, Rights::READ)?);
    refused("may not be signalled", timer.arm(deaf, 0), Error::MissingRight)?;
    refused("no notification", timer.arm(Notification(timer.0), 0), Error::InvalidCapability)?;
    refused("nothing", timer.arm(Notification(NOTHING), 0), Error::InvalidCapability)?;
    equal("nothing was signalled", notification.poll()?, 0)
}
