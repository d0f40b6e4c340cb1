//! Timer objects: stories, and any order of arming, cancelling and waiting against a list.

use std::collections::BTreeMap;

use abi::{Error, Method, Rights, Syscall};
use microkernel::arch::{CoreId, Ticks};
use microkernel::capability::cap::Cap;
use microkernel::capability::derivation;
use microkernel::invariant;
use microkernel::object::store::Ref;
use microkernel::object::thread::home_word;
use microkernel::object::timer::{self, Timer};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::world::{Call, LONG, SECOND, Thread, World};

/// Nanoseconds of a tick of the mock's clock.
const TICK_NS: u64 = 10;

fn timer(w: &mut World) -> (u64, Ref<Timer>) {
    let timer = w.object::<Timer>();
    w.k.get(timer).home.set(home_word(CoreId(0)));
    (w.add(Cap::Timer(timer)), timer)
}

/// A thread that waits for a notification; the notification.
fn waiter(w: &mut World, priority: u64) -> (Thread, u64) {
    let thread = w.bare_thread(priority);
    let context = w.context(LONG, LONG);
    w.bind(context, thread);
    w.resume(thread);
    let notification = w.notification();
    w.syscall(thread, Syscall::Wait, Call { a0: notification, ..Call::default() });
    (thread, notification)
}

fn arm(w: &mut World, timer: u64, notification: u64, tick: u64) {
    w.admin(timer, Method::TimerArm, &[notification], &[tick * TICK_NS]).unwrap();
}

/// The bits of a notification that nobody took yet.
fn signalled(w: &World, number: u64) -> Option<u64> {
    let Cap::Notification { notification, .. } = w.cap(number) else { panic!("no notification") };
    let object = w.k.get(notification);
    (object.active.get() != 0).then_some(object.word.get())
}

#[test]
fn a_timer_wakes_its_waiter_at_its_time_and_once() {
    let mut w = World::new();
    let (timer, _) = timer(&mut w);
    let (thread, notification) = waiter(&mut w, 10);
    let badged = w.mint(notification, 0x55, Rights::WRITE);
    w.pass(1000);
    arm(&mut w, timer, badged, 5000);
    w.pass(3999);
    assert_eq!(w.running(), None);
    w.pass(1);
    assert!(w.is_running(thread));
    assert_eq!(w.received(thread).badge, 0x55);
    w.syscall(thread, Syscall::Wait, Call { a0: notification, ..Call::default() });
    w.pass(10 * SECOND);
    assert_eq!(w.running(), None, "it rings once");
}

#[test]
fn a_time_that_has_passed_signals_at_once() {
    let mut w = World::new();
    let (timer, object) = timer(&mut w);
    let notification = w.notification();
    let badged = w.mint(notification, 1, Rights::WRITE);
    w.pass(1000);
    for tick in [0, 999, 1000] {
        arm(&mut w, timer, badged, tick);
        assert_eq!(signalled(&w, notification), Some(1));
        assert_eq!(w.k.get(object).rank.get(), 0);
        let Cap::Notification { notification, .. } = w.cap(notification) else { unreachable!() };
        w.k.get(notification).active.set(0);
        w.k.get(notification).word.set(0);
    }
    arm(&mut w, timer, badged, 1001);
    assert_eq!(signalled(&w, notification), None);
}

#[test]
fn arming_again_forgets_the_deadline_and_the_notification_before() {
    let mut w = World::new();
    let (timer, _) = timer(&mut w);
    let (first, second) = (w.notification(), w.notification());
    arm(&mut w, timer, first, 100);
    arm(&mut w, timer, second, 200);
    w.pass(150);
    assert_eq!((signalled(&w, first), signalled(&w, second)), (None, None));
    w.pass(50);
    assert_eq!((signalled(&w, first), signalled(&w, second)), (None, Some(0)));
    arm(&mut w, timer, first, 1000);
    w.admin(timer, Method::TimerCancel, &[], &[]).unwrap();
    w.admin(timer, Method::TimerCancel, &[], &[]).unwrap();
    w.pass(1000);
    assert_eq!(signalled(&w, first), None);
}

#[test]
fn what_a_timer_cannot_signal_is_refused() {
    let mut w = World::new();
    let (timer, object) = timer(&mut w);
    let notification = w.notification();
    let deaf = w.mint(notification, 1, Rights::READ);
    let mut refused = |cap: u64| w.admin(timer, Method::TimerArm, &[cap], &[100]).unwrap_err();
    assert_eq!(refused(deaf), Error::MissingRight);
    assert_eq!(refused(timer), Error::InvalidCapability);
    assert_eq!(refused(0), Error::InvalidCapability);
    assert_eq!(w.k.get(object).rank.get(), 0);
    assert_eq!(w.k.machine.deadline, None);
}

#[test]
fn a_timer_whose_notification_is_gone_rings_for_nobody() {
    let mut w = World::new();
    let (timer, object) = timer(&mut w);
    let notification = w.notification();
    arm(&mut w, timer, notification, 100);
    let slot = w.slot(notification);
    derivation::revoke(&mut w.k, slot).unwrap();
    assert_eq!(w.k.get(timer::slot(object)).cap(), Cap::Null);
    w.pass(200);
    assert_eq!((signalled(&w, notification), w.k.get(object).rank.get()), (None, 0));
}

#[test]
fn a_deleted_timer_is_armed_no_longer() {
    let mut w = World::new();
    let (timer, _) = timer(&mut w);
    let notification = w.notification();
    arm(&mut w, timer, notification, 100);
    let slot = w.slot(timer);
    derivation::delete(&mut w.k, slot).unwrap();
    let of_notification = w.slot(notification);
    assert!(derivation::is_final(&w.k, of_notification), "the timer's capability of it went too");
    w.timer();
    w.pass(200);
    assert_eq!(signalled(&w, notification), None);
}

#[test]
fn many_timers_ring_a_few_at_each_interrupt() {
    let mut w = World::with_memory(1 << 20);
    let notification = w.notification();
    let timers: Vec<u64> = (0..100).map(|_| timer(&mut w).0).collect();
    for (bit, timer) in timers.iter().enumerate() {
        let badged = w.mint(notification, 1 << (bit % 64), Rights::WRITE);
        arm(&mut w, *timer, badged, 500);
    }
    w.k.machine.time = Ticks(500);
    let mut interrupts = 0;
    while w.k.machine.deadline.is_some_and(|deadline| deadline.0 <= 500) {
        w.k.machine.deadline = None;
        w.k.machine.longest.set(0);
        w.k.machine.touched.set(0);
        w.timer();
        assert!(w.k.machine.touched.get() < 1000, "{}", w.k.machine.touched.get());
        interrupts += 1;
    }
    assert_eq!(interrupts, 13);
    assert_eq!(signalled(&w, notification), Some(u64::MAX));
}

/// What is done to one of some timers.
#[derive(Clone, Debug)]
enum Operation {
    Arm { timer: usize, after: u64 },
    Cancel { timer: usize },
    Pass { ticks: u64 },
}

/// What a test breaks on purpose, to see that the checks find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plant {
    Nothing,
    /// Cancel leaves it in the heap.
    CancelDoesNothing,
    /// A timer in the heap gets another time.
    TimeChangesInTheHeap,
    /// A rank is wrong.
    RankIsLost,
}

const TIMERS: usize = 24;

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let one = prop_oneof![
        5 => (0..TIMERS, 1..40_u64).prop_map(|(timer, after)| Operation::Arm { timer, after }),
        2 => (0..TIMERS).prop_map(|timer| Operation::Cancel { timer }),
        1 => (1..12_u64).prop_map(|ticks| Operation::Pass { ticks }),
    ];
    prop::collection::vec(one, 1..80)
}

fn run(operations: &[Operation], plant: Plant) -> Result<(), String> {
    let mut w = World::with_memory(256 << 10);
    let notification = w.notification();
    let timers: Vec<(u64, Ref<Timer>, u64)> = (0..TIMERS)
        .map(|index| {
            let (cap, object) = timer(&mut w);
            (cap, object, w.mint(notification, 1 << index, Rights::WRITE))
        })
        .collect();
    let mut model: BTreeMap<usize, u64> = BTreeMap::new();
    let mut expected = 0;
    for operation in operations {
        match *operation {
            Operation::Arm { timer, after } => {
                let (cap, object, badged) = timers[timer];
                let tick = w.k.machine.time.0 + after;
                arm(&mut w, cap, badged, tick);
                model.insert(timer, tick);
                match plant {
                    Plant::TimeChangesInTheHeap => w.k.get(object).deadline.set(tick + 7),
                    Plant::RankIsLost => w.k.get(object).rank.set(2),
                    _ => {}
                }
            }
            Operation::Cancel { timer } => {
                if plant != Plant::CancelDoesNothing {
                    w.admin(timers[timer].0, Method::TimerCancel, &[], &[]).unwrap();
                }
                model.remove(&timer);
            }
            Operation::Pass { ticks } => w.pass(ticks),
        }
        let now = w.k.machine.time.0;
        model.retain(|timer, tick| {
            expected |= if *tick <= now { 1 << *timer } else { 0 };
            *tick > now
        });
        let armed = invariant::timers::check(&w.k, &w.k.cores[0])?;
        let wanted = model.keys().map(|timer| timers[*timer].1).collect();
        if armed != wanted {
            return Err(format!("{operation:?}: {} are armed, not {}", armed.len(), model.len()));
        }
        let seen = signalled(&w, notification).unwrap_or(0);
        if seen != expected {
            return Err(format!("{operation:?}: {seen:#x} have rung, not {expected:#x}"));
        }
    }
    Ok(())
}

fn explore(plant: Plant, cases: u32) -> Result<(), String> {
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    TestRunner::new(config)
        .run(&operations(), |operations| run(&operations, plant).map_err(TestCaseError::fail))
        .map_err(|failure| failure.to_string())
}

#[test]
fn any_order_rings_each_timer_at_its_time() {
    if let Err(failure) = explore(Plant::Nothing, 200) {
        panic!("{failure}");
    }
}

#[test]
fn each_planted_bug_is_found() {
    for plant in [Plant::CancelDoesNothing, Plant::TimeChangesInTheHeap, Plant::RankIsLost] {
        assert!(explore(plant, 100).is_err(), "{plant:?} was not found");
    }
}
