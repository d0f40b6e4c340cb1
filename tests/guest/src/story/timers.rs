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

/// Rounds of what a busy machine may spoil: a timer that rings before it can be stopped says nothing.
const TRIES: u64 = 100;

/// Waits for the badge of a timer that rings last, and answers all that was signalled until then.
fn until(notification: Notification, last: u64) -> Result<u64, InvocationError> {
    let mut heard = 0;
    while heard & last == 0 {
        heard |= notification.wait()?;
    }
    Ok(heard)
}

fn a_cancelled_timer_does_not_ring(stage: &mut Stage) -> Outcome {
    let (one, other, notification) = (timer(stage)?, timer(stage)?, stage.notification()?);
    let first = Notification(stage.memory.mint(notification.0, Rights::WRITE, 1)?);
    let second = Notification(stage.memory.mint(notification.0, Rights::WRITE, 2)?);
    for _ in 0..TRIES {
        let (tick, ns) = after(stage, 2000);
        one.arm(first, ns)?;
        other.arm(second, after(stage, 4000).1)?;
        one.cancel()?;
        let cancelled_in_time = counter() < tick;
        let heard = until(notification, 2)?;
        one.cancel()?;
        // Armed twice, it rings for the second time alone.
        let (tick, ns) = after(stage, 1000);
        one.arm(first, ns)?;
        one.arm(second, after(stage, 2000).1)?;
        let armed_in_time = counter() < tick;
        let heard_then = until(notification, 2)?;
        if cancelled_in_time && armed_in_time {
            equal("the other alone", heard, 2)?;
            equal("the second", heard_then, 2)?;
            return equal("nothing more", notification.poll()?, 0);
        }
    }
    holds("one round is in time", false)
}

fn a_deleted_timer_does_not_ring(stage: &mut Stage) -> Outcome {
    let (keeper, notification) = (timer(stage)?, stage.notification()?);
    let mut in_time = 0;
    for round in 0..TRIES {
        let gone = timer(stage)?;
        let badged = Notification(stage.memory.mint(notification.0, Rights::WRITE, 1)?);
        let kept = Notification(stage.memory.mint(notification.0, Rights::WRITE, 2)?);
        let (tick, ns) = after(stage, 200);
        gone.arm(badged, ns)?;
        keeper.arm(kept, after(stage, 400).1)?;
        match round % 2 {
            0 => stage.memory.delete(gone.0)?,
            // Armed for a notification that is gone, it rings for nobody.
            _ => CNODE.revoke(badged.0.0, DEPTH)?,
        }
        let is_in_time = counter() < tick;
        let heard = until(notification, 2)?;
        if is_in_time {
            equal("the other's badge alone", heard, 2)?;
            in_time += 1;
        }
        stage.memory.delete(badged.0)?;
        stage.memory.delete(kept.0)?;
    }
    holds("most rounds are in time", in_time >= TRIES / 10)
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
