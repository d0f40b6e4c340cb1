//! Notifications: badges add up, waiters wake, a bound one reaches its thread at an endpoint (CASES 6, 8, 12).

use abi::{CPtr, Error, Rights};
use runtime::message::info;
use runtime::stubs::{Endpoint, Notification, Reply, Tcb};
use runtime::trap::NO_WORDS;

use super::stories;
use crate::kit::assistant::Role;
use crate::kit::failure::{Outcome, equal, refused};
use crate::kit::shared::{Cell, rest};
use crate::kit::stage::Stage;

stories! {
    badges_add_up_until_somebody_waits,
    a_signal_wakes_the_waiter_at_once_if_it_is_above,
    a_signal_lets_a_waiter_below_wait_its_turn,
    waiters_wake_in_their_order,
    a_bound_notification_reaches_its_thread_at_an_endpoint,
    waiting_for_anothers_bound_notification_says_so,
    binding_is_exclusive_both_ways,
    becoming_passive_loses_no_signal,
}

fn badges_add_up_until_somebody_waits(stage: &mut Stage) -> Outcome {
    let notification = stage.notification()?;
    let signals = [0x1, 0x10, 0x8000_0000_0000_0000];
    for badge in signals {
        Notification(stage.memory.mint(notification.0, Rights::WRITE, badge)?).signal()?;
    }
    equal("the sum", notification.wait()?, 0x8000_0000_0000_0011)?;
    equal("taken once", notification.poll()?, 0)
}

/// Waits again and again; counts in a cell, and adds the badges up in the next.
extern "C" fn count_signals(notification: u64, cell: u64, _: u64, _: u64) -> ! {
    let cell = usize::try_from(cell).unwrap_or(0);
    loop {
        match Notification(CPtr(notification)).wait() {
            Ok(badge) => {
                Cell(cell).add(1);
                Cell(cell + 1).add(badge);
            }
            Err(refusal) => {
                Cell(15).set(refusal.error.label());
                rest()
            }
        }
    }
}

fn a_signal_wakes_the_waiter_at_once_if_it_is_above(stage: &mut Stage) -> Outcome {
    let notification = stage.notification()?;
    let badged = Notification(stage.memory.mint(notification.0, Rights::WRITE, 3)?);
    stage.start(Role::ABOVE, count_signals, [notification.0.0, 0, 0, 0])?;
    for time in 1..=1000 {
        badged.signal()?;
        equal("woken, badges", (Cell(0).get(), Cell(1).get()), (time, 3 * time))?;
    }
    Ok(())
}

fn a_signal_lets_a_waiter_below_wait_its_turn(stage: &mut Stage) -> Outcome {
    let (notification, sleep) = (stage.notification()?, stage.notification()?);
    let badged = Notification(stage.memory.mint(notification.0, Rights::WRITE, 4)?);
    stage.start(Role::BELOW, count_signals, [notification.0.0, 0, 0, 0])?;
    // It runs up to its Wait while the director waits for a thread below it.
    stage.start(Role::BELOW.above(-20), signal_once, [sleep.0.0, 0, 0, 0])?;
    sleep.wait()?;
    badged.signal()?;
    equal("it has not run", Cell(0).get(), 0)?;
    badged.signal()?;
    stage.start(Role::BELOW.above(-20), signal_once, [sleep.0.0, 0, 0, 0])?;
    sleep.wait()?;
    // The first signal was its message; the second came while nobody waited.
    equal("woken, badges", (Cell(0).get(), Cell(1).get()), (2, 8))
}

extern "C" fn signal_once(notification: u64, _: u64, _: u64, _: u64) -> ! {
    let _ = Notification(CPtr(notification)).signal();
    rest()
}

fn waiters_wake_in_their_order(stage: &mut Stage) -> Outcome {
    let notification = stage.notification()?;
    for (cell, above) in [(0, 10), (2, 10), (4, 10)] {
        stage.start(Role::ABOVE.above(above), count_signals, [notification.0.0, cell, 0, 0])?;
    }
    for wanted in [(1, 0, 0), (1, 1, 0), (1, 1, 1), (2, 1, 1)] {
        notification.signal()?;
        equal("woken", (Cell(0).get(), Cell(2).get(), Cell(4).get()), wanted)?;
    }
    Ok(())
}

extern "C" fn receive_and_count(endpoint: u64, reply: u64, _: u64, _: u64) -> ! {
    loop {
        let received = Endpoint(CPtr(endpoint)).recv(Reply(CPtr(reply)));
        Cell(0).add(1);
        Cell(1).set(received.badge);
        Cell(2).set(received.info.raw());
    }
}

fn a_bound_notification_reaches_its_thread_at_an_endpoint(stage: &mut Stage) -> Outcome {
    let (endpoint, reply, notification) = (stage.endpoint()?, stage.reply()?, stage.notification()?);
    let badged = Notification(stage.memory.mint(notification.0, Rights::WRITE, 0x22)?);
    let receiver = stage.hire(Role::ABOVE, receive_and_count, [endpoint.0.0, reply.0.0, 0, 0])?;
    receiver.tcb.bind_notification(notification)?;
    receiver.resume()?;
    badged.signal()?;
    equal("woken by the signal", (Cell(0).get(), Cell(1).get(), Cell(2).get()), (1, 0x22, 0))?;
    stage.badged(endpoint, 9)?.send(info(3, 0), NO_WORDS)?;
    equal("woken by a message", (Cell(0).get(), Cell(1).get()), (2, 9))?;
    receiver.tcb.unbind_notification()?;
    badged.signal()?;
    equal("not bound any longer", Cell(0).get(), 2)?;
    equal("so the signal waits", notification.poll()?, 0x22)?;
    refused("unbinding twice", receiver.tcb.unbind_notification(), Error::NotBound)
}

fn waiting_for_anothers_bound_notification_says_so(stage: &mut Stage) -> Outcome {
    let (endpoint, reply, notification) = (stage.endpoint()?, stage.reply()?, stage.notification()?);
    let other = stage.hire(Role::ABOVE, receive_and_count, [endpoint.0.0, reply.0.0, 0, 0])?;
    other.tcb.bind_notification(notification)?;
    refused("waiting", notification.wait(), Error::BoundToOther)?;
    refused("polling", notification.poll(), Error::BoundToOther)
}

fn binding_is_exclusive_both_ways(stage: &mut Stage) -> Outcome {
    let (first, second) = (stage.notification()?, stage.notification()?);
    let threads: [Tcb; 2] =
        [Tcb(stage.memory.make(abi::ObjectType::Tcb, 0)?), Tcb(stage.memory.make(abi::ObjectType::Tcb, 0)?)];
    let [one, other] = threads;
    one.bind_notification(first)?;
    refused("a second thread", other.bind_notification(first), Error::AlreadyBound)?;
    refused("a second notification", one.bind_notification(second), Error::AlreadyBound)?;
    let read_less = Notification(stage.memory.copy(second.0, Rights::WRITE)?);
    refused("without READ", other.bind_notification(read_less), Error::MissingRight)?;
    one.unbind_notification()?;
    other.bind_notification(first)?;
    Ok(())
}

/// Waits for signals on donated or own time; counts the badges.
fn becoming_passive_loses_no_signal(stage: &mut Stage) -> Outcome {
    const TIMES: u64 = 10_000;
    let notification = stage.notification()?;
    let badged = Notification(stage.memory.mint(notification.0, Rights::WRITE, 1)?);
    let waiter = stage.start(Role::BELOW, count_signals, [notification.0.0, 0, 0, 0])?;
    let sleep = stage.notification()?;
    let below = stage.hire(Role::BELOW.above(-20), signal_and_rest, [sleep.0.0, 0, 0, 0])?;
    for time in 1..=TIMES {
        // The signal makes it runnable, and its time is taken away before it has run.
        badged.signal()?;
        waiter.time.unbind()?;
        waiter.time.bind(waiter.tcb)?;
        below.begin_anew()?;
        sleep.wait()?;
        equal("signals", Cell(1).get(), time)?;
    }
    Ok(())
}

extern "C" fn signal_and_rest(notification: u64, _: u64, _: u64, _: u64) -> ! {
    let _ = Notification(CPtr(notification)).signal();
    rest()
}
