//! Futexes as programs use them, and every interleaving of a small lock.

use crate::Errno;
use crate::host::ContextId;
use crate::process::schedule::Next;
use crate::testing::driver::{Driver, SCRATCH};
use std::collections::VecDeque;
use std::vec::Vec;

const FUTEX: u64 = 98;
const WAIT: u64 = 128;
const WAKE: u64 = 129;
const STACKS: u64 = SCRATCH + 0x8000;

/// A driver with two threads; the first runs.
fn two_threads() -> Driver {
    let mut driver = Driver::with_scratch();
    assert_eq!(driver.clone_thread(STACKS, SCRATCH + 0x100), 3);
    driver
}

#[test]
fn a_wait_that_has_nothing_to_wait_for_says_so() {
    let mut driver = Driver::with_scratch();
    driver.poke(SCRATCH, &7_u32.to_le_bytes());
    let mut futex = |words| driver.result(FUTEX, words);
    assert_eq!(futex([SCRATCH, WAIT, 6, 0, 0, 0]), Err(Errno::EAGAIN));
    assert_eq!(futex([SCRATCH + 1, WAIT, 7, 0, 0, 0]), Err(Errno::EINVAL));
    assert_eq!(futex([SCRATCH, 128 + 9, 7, 0, 0, 0]), Err(Errno::EINVAL), "no bits");
    assert_eq!(futex([SCRATCH, 256, 7, 0, 0, 0]), Err(Errno::ENOSYS), "FUTEX_WAIT has one clock");
    assert_eq!(futex([SCRATCH, 6, 7, 0, 0, 0]), Err(Errno::ENOSYS));
    assert_eq!(futex([SCRATCH, WAKE, 5, 0, 0, 0]), Ok(0));
    assert_eq!(futex([SCRATCH + 0x10_0000_0000, 1, 5, 0, 0, 0]), Err(Errno::EFAULT), "shared, not mapped");
    driver.poke(SCRATCH + 64, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0xca, 0x9a, 0x3b, 0, 0, 0, 0]);
    assert_eq!(driver.result(FUTEX, [SCRATCH, WAIT, 7, SCRATCH + 64, 0, 0]), Err(Errno::EINVAL));
}

#[test]
fn a_waiter_sleeps_until_it_is_woken() {
    let mut driver = two_threads();
    let first = driver.thread();
    assert_eq!(driver.call(FUTEX, [SCRATCH, WAIT, 0, 0, 0, 0]), None);
    assert_ne!(driver.thread(), first);
    assert_eq!(driver.call(FUTEX, [SCRATCH, WAKE, 1, 0, 0, 0]), Some(1));
    assert_eq!(driver.call(FUTEX, [SCRATCH, WAKE, 1, 0, 0, 0]), Some(0));
    assert_eq!(driver.call(124, [0; 6]), None);
    assert_eq!(driver.thread(), first);
    assert_eq!(driver.a0(), 0);
}

#[test]
fn a_time_out_ends_the_wait() {
    let mut driver = Driver::with_scratch();
    driver.poke(SCRATCH + 64, &[5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(driver.call(FUTEX, [SCRATCH, WAIT, 0, SCRATCH + 64, 0, 0]), None);
    assert_eq!(driver.next, Next::Idle);
    let now = driver.server().host.now_ns;
    assert_eq!(driver.server().host.alarm, Some(now + 5_000_000_000));
    driver.server().host.now_ns += 4_999_999_999;
    driver.wake();
    assert_eq!(driver.next, Next::Idle);
    driver.server().host.now_ns += 1;
    driver.wake();
    assert_eq!(driver.a0(), Errno::ETIMEDOUT.to_result());
}

#[test]
fn an_absolute_time_of_the_real_clock() {
    let mut driver = Driver::with_scratch();
    let due = driver.server().host.realtime_offset_ns + driver.server().host.now_ns + 1_000;
    driver.poke(SCRATCH + 64, &(due / 1_000_000_000).to_le_bytes());
    driver.poke(SCRATCH + 72, &(due % 1_000_000_000).to_le_bytes());
    assert_eq!(driver.call(FUTEX, [SCRATCH, 128 + 256 + 9, 0, SCRATCH + 64, 0, 1]), None);
    let now = driver.server().host.now_ns;
    assert_eq!(driver.server().host.alarm, Some(now + 1_000));
}

#[test]
fn only_wakers_with_a_common_bit_wake() {
    let mut driver = two_threads();
    assert_eq!(driver.call(FUTEX, [SCRATCH, 128 + 9, 0, 0, 0, 0b01]), None);
    assert_eq!(driver.call(FUTEX, [SCRATCH, 128 + 10, 9, 0, 0, 0b10]), Some(0));
    assert_eq!(driver.call(FUTEX, [SCRATCH, 128 + 10, 9, 0, 0, 0b11]), Some(1));
}

#[test]
fn requeued_waiters_wait_for_the_other_word() {
    let mut driver = two_threads();
    assert_eq!(driver.call(FUTEX, [SCRATCH, WAIT, 0, 0, 0, 0]), None);
    let (other, requeue) = (SCRATCH + 256, 128 + 4);
    assert_eq!(driver.result(FUTEX, [SCRATCH, requeue, 0, 5, other, 1]), Err(Errno::EAGAIN));
    assert_eq!(driver.call(FUTEX, [SCRATCH, requeue, 0, 5, other, 0]), Some(1));
    assert_eq!(driver.call(FUTEX, [SCRATCH, WAKE, 9, 0, 0, 0]), Some(0));
    assert_eq!(driver.call(FUTEX, [other, WAKE, 9, 0, 0, 0]), Some(1));
}

#[test]
fn wake_op_changes_the_second_word_and_compares_what_it_was() {
    let mut driver = two_threads();
    let second = SCRATCH + 256;
    driver.poke(second, &5_u32.to_le_bytes());
    assert_eq!(driver.call(FUTEX, [second, WAIT, 5, 0, 0, 0]), None);
    // Add 3; wake on the second word if it was greater than 4.
    let encoded = 1 << 28 | 4 << 24 | 3 << 12 | 4;
    assert_eq!(driver.call(FUTEX, [SCRATCH, 128 + 5, 1, 1, second, encoded]), Some(1));
    assert_eq!(driver.peek(second, 4), 8_u32.to_le_bytes());
    assert_eq!(driver.result(FUTEX, [SCRATCH, 128 + 5, 1, 1, second, 7 << 28]), Err(Errno::ENOSYS));
}

/// Two names of one shared page are one word; the private name of it is another.
#[test]
fn a_shared_word_is_known_by_its_page() {
    let mut driver = two_threads();
    let shared = driver.call(222, [0, 0x4000, 3, 0x21, 0, 0]).unwrap();
    assert_eq!(driver.call(FUTEX, [shared, 0, 0, 0, 0, 0]), None);
    assert_eq!(driver.call(FUTEX, [shared, WAKE, 1, 0, 0, 0]), Some(0));
    assert_eq!(driver.call(FUTEX, [shared, 1, 1, 0, 0, 0]), Some(1));
}

#[test]
fn a_thread_that_ends_clears_its_word_and_wakes_who_joins_it() {
    let mut driver = two_threads();
    let word = SCRATCH + 0x100;
    assert_eq!(driver.peek(word, 4), 3_u32.to_le_bytes(), "CLONE_PARENT_SETTID");
    // pthread_join waits for a shared word.
    assert_eq!(driver.call(FUTEX, [word, 0, 3, 0, 0, 0]), None);
    assert_eq!(driver.call(93, [0; 6]), None);
    assert_eq!(driver.a0(), 0);
    assert_eq!(driver.peek(word, 4), [0; 4]);
    assert_eq!(driver.server().threads.len(), 1);
}

#[test]
fn a_robust_futex_tells_that_its_owner_died() {
    let mut driver = two_threads();
    let (head, entry, word) = (SCRATCH + 0x200, SCRATCH + 0x300, SCRATCH + 0x320);
    assert_eq!(driver.call(FUTEX, [word, 0, 0, 0, 0, 0]), None);
    // The second thread: its list has one entry, whose word it owns, with waiters.
    for (at, value) in [(head, entry), (head + 8, 0x20), (head + 16, 0), (entry, head)] {
        driver.poke(at, &value.to_le_bytes());
    }
    driver.poke(word, &(0x8000_0000_u32 | 3).to_le_bytes());
    assert_eq!(driver.result(99, [head, 23, 0, 0, 0, 0]), Err(Errno::EINVAL));
    assert_eq!(driver.call(99, [head, 24, 0, 0, 0, 0]), Some(0));
    assert_eq!(driver.call(93, [0; 6]), None);
    assert_eq!(driver.peek(word, 4), 0xc000_0000_u32.to_le_bytes());
    assert_eq!(driver.a0(), 0, "the waiter was woken");
}

#[test]
fn a_robust_list_that_is_a_circle_or_leads_nowhere_ends() {
    for next in [SCRATCH + 0x300, 1 << 60, 8, SCRATCH + 0x301] {
        let mut driver = two_threads();
        let (head, entry) = (SCRATCH + 0x200, SCRATCH + 0x300);
        for (at, value) in [(head, entry), (head + 8, 0x20), (head + 16, entry + 1), (entry, next)] {
            driver.poke(at, &value.to_le_bytes());
        }
        assert_eq!(driver.call(99, [head, 24, 0, 0, 0, 0]), Some(0));
        assert_eq!(driver.call(93, [0; 6]), None);
        assert_eq!(driver.server().threads.len(), 1);
    }
}

/// What a thread of the exploration does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Take,
    Work,
    GiveBack,
    End,
}

/// Three threads take a lock by the usual protocol (0 free, 1 taken, 2 taken and waited for); the schedule is
/// a list of choices. Each must get its turn, and nobody may sleep for ever.
fn run_lock(choices: &mut VecDeque<bool>) -> Vec<bool> {
    let mut driver = Driver::with_scratch();
    driver.clone_thread(STACKS, SCRATCH + 0x100);
    driver.clone_thread(STACKS + 0x1000, SCRATCH + 0x104);
    let mut steps = std::collections::BTreeMap::<ContextId, Step>::new();
    let mut made = Vec::new();
    let mut inside = 0;
    let mut turns = 0;
    while let Some(context) = driver.context() {
        let step = *steps.entry(context).or_insert(Step::Take);
        let word = u32::from_le_bytes(driver.peek(SCRATCH, 4).try_into().unwrap());
        match step {
            Step::Take if word == 0 => {
                // A thread that slept must say that others may sleep still.
                let slept = driver.peek(SCRATCH + 0x400 + u64::from(context.0), 1)[0];
                driver.poke(SCRATCH, &(1 + u32::from(slept)).to_le_bytes());
                inside += 1;
                assert_eq!(inside, 1, "two inside");
                turns += 1;
                steps.insert(context, Step::Work);
            }
            Step::Take => {
                driver.poke(SCRATCH, &2_u32.to_le_bytes());
                driver.poke(SCRATCH + 0x400 + u64::from(context.0), &[1]);
                driver.call(FUTEX, [SCRATCH, WAIT, 2, 0, 0, 0]);
                continue;
            }
            Step::Work => {
                steps.insert(context, Step::GiveBack);
            }
            Step::GiveBack => {
                inside -= 1;
                driver.poke(SCRATCH, &[0; 4]);
                steps.insert(context, Step::End);
                if word == 2 {
                    driver.call(FUTEX, [SCRATCH, WAKE, 1, 0, 0, 0]);
                }
            }
            Step::End => {
                driver.call(93, [0; 6]);
                continue;
            }
        }
        let give_way = choices.pop_front().unwrap_or(false);
        made.push(give_way);
        if give_way {
            driver.call(124, [0; 6]);
        }
    }
    assert_eq!(driver.next, Next::Finished, "somebody sleeps for ever");
    assert_eq!(turns, 3);
    made
}

#[test]
fn every_schedule_of_a_small_lock_comes_to_its_end() {
    const DEPTH: u32 = 9;
    for schedule in 0..1_u32 << DEPTH {
        let mut choices = (0..DEPTH).map(|bit| schedule >> bit & 1 != 0).collect();
        run_lock(&mut choices);
    }
}
