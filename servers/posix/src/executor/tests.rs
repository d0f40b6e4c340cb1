//! Timers against a list, queues, and slices.

use super::run_queue::{RunQueue, SLICE_NS, Slice};
use super::timers::Timers;
use super::wait::{Tag, WaitQueues, Woken};
use crate::process::ThreadId;
use crate::slots::Id;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::vec::Vec;

proptest! {
    #[test]
    fn timers_come_in_order(steps in prop::collection::vec((0..12_u32, 0..100_u64, any::<bool>()), 1..100)) {
        let mut timers = Timers::default();
        let mut model = BTreeMap::new();
        for (key, due, remove) in steps {
            if remove {
                timers.remove(key);
                model.remove(&key);
            } else {
                timers.insert(key, due);
                model.insert(key, due);
            }
            prop_assert_eq!(timers.first(), model.values().min().copied());
        }
        let mut last = 0;
        for _ in 0..model.len() {
            let due = timers.first().unwrap();
            prop_assert!(due >= last);
            last = due;
            prop_assert!(due == 0 || timers.pop_due(due - 1).is_none());
            let key = timers.pop_due(due).unwrap();
            prop_assert_eq!(model.remove(&key), Some(due));
        }
        prop_assert_eq!(timers.first(), None);
    }
}

fn thread(number: u32) -> ThreadId {
    ThreadId::new(number)
}

fn drain(ready: &mut RunQueue) -> Vec<u32> {
    core::iter::from_fn(|| ready.pop()).map(ThreadId::number).collect()
}

#[test]
fn waiters_are_woken_in_order_and_leave_without_a_trace() {
    let (mut waits, mut ready) = (WaitQueues::default(), RunQueue::default());
    let queue = waits.create();
    let all: Vec<_> =
        (0..4).map(|number| waits.wait(thread(number), Some(queue), Tag::default(), None)).collect();
    waits.leave(all[1]);
    assert!(waits.wake_one(queue, &mut ready));
    assert_eq!(drain(&mut ready), [0]);
    assert_eq!(waits.outcome(all[0]), Some(Woken::Event));
    waits.wake_all(queue, &mut ready);
    assert_eq!(drain(&mut ready), [2, 3]);
    assert!(!waits.wake_one(queue, &mut ready));
    for waiter in [all[0], all[2], all[3]] {
        waits.leave(waiter);
    }
    assert_eq!(waits.in_use(), 1);
}

#[test]
fn a_wait_ends_by_its_time_or_by_a_waker_not_by_both() {
    let (mut waits, mut ready) = (WaitQueues::default(), RunQueue::default());
    let queue = waits.create();
    let first = waits.wait(thread(1), Some(queue), Tag::default(), Some(50));
    let second = waits.wait(thread(2), Some(queue), Tag::default(), Some(60));
    waits.expire(49, &mut ready);
    assert!(ready.is_empty());
    waits.expire(50, &mut ready);
    assert_eq!(waits.outcome(first), Some(Woken::TimedOut));
    waits.wake_all(queue, &mut ready);
    waits.expire(100, &mut ready);
    assert_eq!(waits.outcome(second), Some(Woken::Event));
    assert_eq!(drain(&mut ready), [1, 2]);
}

#[test]
fn a_slice_is_over_after_a_whole_tick_and_only_if_somebody_waits() {
    let mut ready = RunQueue::default();
    assert_eq!(ready.tick_due(|| 0), None);
    ready.push(thread(1));
    ready.pop();
    assert_eq!(ready.tick_due(|| 0), None, "alone: no alarm");
    ready.push(thread(2));
    assert_eq!(ready.tick_due(|| 5), Some(5 + SLICE_NS));
    assert_eq!(ready.tick(SLICE_NS), Slice::Goes);
    assert_eq!(ready.tick(5 + SLICE_NS), Slice::Goes, "its first tick");
    assert_eq!(ready.tick_due(|| 5 + SLICE_NS), Some(5 + 2 * SLICE_NS));
    assert_eq!(ready.tick(5 + 2 * SLICE_NS), Slice::Over);
}
