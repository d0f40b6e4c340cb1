//! Pipes: full and free when Linux's are, whole writes, ends that close, waiting, polling.

use super::CWD;
use crate::Errno;
use crate::process::schedule::Next;
use crate::testing::driver::{Driver, SCRATCH};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const NONBLOCK: u64 = 0o4000;
const PAGE: u64 = 16384;
const HOLE: u64 = SCRATCH + 0x30_0000;

fn pipe(driver: &mut Driver, flags: u64) -> (u64, u64) {
    assert_eq!(driver.call(59, [SCRATCH + 0xf000, flags, 0, 0, 0, 0]), Some(0));
    let ends = driver.peek_word(SCRATCH + 0xf000);
    (ends & 0xffff_ffff, ends >> 32)
}

fn poll(driver: &mut Driver, fd: u64, events: u64) -> u64 {
    driver.poke(SCRATCH + 0xe000, &(fd | events << 32).to_le_bytes());
    driver.poke(SCRATCH + 0xe100, &[0; 16]);
    driver.call(73, [SCRATCH + 0xe000, 1, SCRATCH + 0xe100, 0, 8, 0]).unwrap();
    driver.peek_word(SCRATCH + 0xe000) >> 48
}

#[test]
fn a_pipe_is_full_when_linuxs_is() {
    let mut driver = Driver::with_scratch();
    let (read, write) = pipe(&mut driver, NONBLOCK);
    assert_eq!(driver.result(63, [read, SCRATCH, 1, 0, 0, 0]), Err(Errno::EAGAIN));
    assert_eq!(poll(&mut driver, write, 4), 4);
    let mut total = 0;
    while let Ok(written) = driver.result(64, [write, SCRATCH, 4096, 0, 0, 0]) {
        total += written;
    }
    assert_eq!(total, 16 * PAGE);
    assert_eq!(driver.call(25, [write, 1032, 0, 0, 0, 0]), Some(total));
    assert_eq!((poll(&mut driver, write, 4), poll(&mut driver, read, 1)), (0, 1));
    // A byte less does not make a slot free.
    assert_eq!(driver.call(63, [read, SCRATCH, 1, 0, 0, 0]), Some(1));
    assert_eq!(driver.result(64, [write, SCRATCH, 1, 0, 0, 0]), Err(Errno::EAGAIN));
    assert_eq!(driver.call(63, [read, SCRATCH, PAGE - 1, 0, 0, 0]), Some(PAGE - 1));
    assert_eq!(driver.call(64, [write, SCRATCH, 4096, 0, 0, 0]), Some(4096));
    assert_eq!(driver.result(25, [write, 1031, 4096, 0, 0, 0]), Err(Errno::EBUSY));
    assert_eq!(driver.call(25, [write, 1031, 17 * PAGE, 0, 0, 0]), Some(32 * PAGE));
}

#[test]
fn a_fault_within_a_slot_moves_nothing_of_it() {
    let mut driver = Driver::with_scratch();
    let (read, write) = pipe(&mut driver, NONBLOCK);
    let end = SCRATCH + 0x1_0000;
    driver.poke(end - 8, b"12345678");
    assert_eq!(driver.result(64, [write, end - 8, 64, 0, 0, 0]), Err(Errno::EFAULT));
    assert_eq!(driver.result(63, [read, SCRATCH, 64, 0, 0, 0]), Err(Errno::EAGAIN));
    driver.poke(SCRATCH, b"abcdefghijklmnop");
    assert_eq!(driver.call(64, [write, SCRATCH, 16, 0, 0, 0]), Some(16));
    assert_eq!(driver.result(64, [write, end - 8, 64, 0, 0, 0]), Err(Errno::EFAULT));
    assert_eq!(driver.result(63, [read, end - 4, 16, 0, 0, 0]), Err(Errno::EFAULT));
    assert_eq!(driver.result(63, [read, HOLE, 16, 0, 0, 0]), Err(Errno::EFAULT));
    assert_eq!(driver.call(63, [read, SCRATCH + 64, 100, 0, 0, 0]), Some(16));
    assert_eq!(driver.peek(SCRATCH + 64, 16), b"abcdefghijklmnop");
}

#[test]
fn readers_and_writers_wait_for_each_other() {
    let mut driver = Driver::with_scratch();
    let (read, write) = pipe(&mut driver, 0);
    let tid = driver.clone_thread(SCRATCH + 0x8000, SCRATCH + 0x7000);
    assert!(tid != 0);
    // The first thread waits for bytes; the second one runs and writes them.
    assert_eq!(driver.call(63, [read, SCRATCH, 100, 0, 0, 0]), None);
    driver.poke(SCRATCH + 128, b"hello");
    assert_eq!(driver.call(64, [write, SCRATCH + 128, 5, 0, 0, 0]), Some(5));
    // The second waits until there is room for all of its bytes; the first one finds those that were there.
    assert_eq!(driver.call(25, [write, 1031, PAGE, 0, 0, 0]), Some(PAGE));
    assert_eq!(driver.call(64, [write, SCRATCH, 20_000, 0, 0, 0]), None);
    assert_eq!(driver.a0(), 100);
    assert_eq!(driver.peek(SCRATCH, 5), b"hello");
    assert!(matches!(driver.next, Next::Enter(..)));
}

#[test]
fn ends_that_close_are_seen() {
    let mut driver = Driver::with_scratch();
    let (read, write) = pipe(&mut driver, 0);
    assert_eq!(driver.call(64, [write, SCRATCH, 3, 0, 0, 0]), Some(3));
    assert_eq!(driver.call(57, [write, 0, 0, 0, 0, 0]), Some(0));
    assert_eq!(poll(&mut driver, read, 1), 0x11);
    assert_eq!(driver.call(63, [read, SCRATCH, 9, 0, 0, 0]), Some(3));
    assert_eq!(driver.call(63, [read, SCRATCH, 9, 0, 0, 0]), Some(0));
    assert_eq!(poll(&mut driver, read, 1), 0x10);
    assert_eq!(driver.call(57, [read, 0, 0, 0, 0, 0]), Some(0));
    assert!(driver.server().files.pipes.is_empty());
    let (_, write) = pipe(&mut driver, 0);
    assert_eq!(poll(&mut driver, write, 4), 4);
}

#[test]
fn a_fifo_is_a_pipe_with_a_name() {
    let mut driver = Driver::with_scratch();
    driver.poke(SCRATCH, b"/tmp/fifo\0");
    assert_eq!(driver.call(33, [CWD, SCRATCH, 0o010_600, 0, 0, 0]), Some(0));
    assert_eq!(driver.result(56, [CWD, SCRATCH, 1 | NONBLOCK, 0, 0, 0]), Err(Errno::ENXIO));
    let read = driver.call(56, [CWD, SCRATCH, NONBLOCK, 0, 0, 0]).unwrap();
    // Nobody has written yet: that is no end.
    assert_eq!(poll(&mut driver, read, 1), 0);
    let write = driver.call(56, [CWD, SCRATCH, 1, 0, 0, 0]).unwrap();
    assert_eq!(driver.call(64, [write, SCRATCH, 4, 0, 0, 0]), Some(4));
    assert_eq!(driver.call(63, [read, SCRATCH + 64, 9, 0, 0, 0]), Some(4));
    assert_eq!(driver.call(35, [CWD, SCRATCH, 0, 0, 0, 0]), Some(0));
    for fd in [read, write] {
        assert_eq!(driver.call(57, [fd, 0, 0, 0, 0, 0]), Some(0));
    }
    assert!(driver.server().files.pipes.is_empty());
}

#[test]
fn a_fifo_waits_for_its_other_end() {
    let mut driver = Driver::with_scratch();
    driver.poke(SCRATCH, b"/tmp/fifo\0");
    assert_eq!(driver.call(33, [CWD, SCRATCH, 0o010_600, 0, 0, 0]), Some(0));
    driver.clone_thread(SCRATCH + 0x8000, SCRATCH + 0x7000);
    assert_eq!(driver.call(56, [CWD, SCRATCH, 0, 0, 0, 0]), None);
    let write = driver.call(56, [CWD, SCRATCH, 1, 0, 0, 0]);
    assert_eq!(write, Some(3), "the reader gets its number when it goes on");
    assert_eq!(driver.call(124, [0; 6]), None);
    assert_eq!(driver.a0(), 4);
}

/// What is done to both pipes: one by read and write, the other by readv and writev of one piece, which know no short
/// way.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Up to the page's end and beyond it, so that some fault.
    Write {
        bytes: u64,
        to_end: bool,
    },
    Read {
        bytes: u64,
        to_end: bool,
    },
    /// The pipe's writer makes packets from now on, or not.
    Packets(bool),
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = prop_oneof![0..40_u64, Just(PAGE - 1), Just(PAGE), Just(PAGE + 1), 0..3 * PAGE];
    let place = prop_oneof![9 => Just(false), 1 => Just(true)];
    prop_oneof![
        9 => (bytes.clone(), place.clone()).prop_map(|(bytes, to_end)| Step::Write { bytes, to_end }),
        9 => (bytes, place).prop_map(|(bytes, to_end)| Step::Read { bytes, to_end }),
        1 => any::<bool>().prop_map(Step::Packets),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::default() })]

    #[test]
    fn the_short_way_does_what_the_general_one_does(steps in prop::collection::vec(step(), 1..60)) {
        const END: u64 = SCRATCH + 0x1_0000;
        const PIECE: u64 = SCRATCH + 0xd000;
        let mut driver = Driver::with_scratch();
        let pattern: std::vec::Vec<u8> = (0..0xc000_u32).map(|at| (at * 7 + at / 251).to_le_bytes()[0]).collect();
        let (read, write) = pipe(&mut driver, NONBLOCK);
        let (read_general, write_general) = pipe(&mut driver, NONBLOCK);
        for step in steps {
            let (number, ends, bytes, to_end) = match step {
                Step::Write { bytes, to_end } => (64, [write, write_general], bytes, to_end),
                Step::Read { bytes, to_end } => (63, [read, read_general], bytes, to_end),
                Step::Packets(on) => {
                    let flags = NONBLOCK | if on { 0o4_0000 } else { 0 };
                    for fd in [write, write_general] {
                        driver.call(25, [fd, 4, flags, 0, 0, 0]).unwrap();
                    }
                    continue;
                }
            };
            let address = if to_end { END - 8 } else { SCRATCH };
            driver.poke(SCRATCH, &pattern);
            let short = driver.result(number, [ends[0], address, bytes, 0, 0, 0]);
            let after = (driver.peek(SCRATCH, 0xc000), driver.peek(END - 8, 8));
            driver.poke(SCRATCH, &pattern);
            for (at, word) in [(0, address), (8, bytes)] {
                driver.poke(PIECE + at, &word.to_le_bytes());
            }
            let general = driver.result(number + 2, [ends[1], PIECE, 1, 0, 0, 0]);
            prop_assert_eq!(short, general, "{:?}", step);
            prop_assert!(after == (driver.peek(SCRATCH, 0xc000), driver.peek(END - 8, 8)), "{:?}", step);
            prop_assert_eq!(poll(&mut driver, read, 1), poll(&mut driver, read_general, 1));
            prop_assert_eq!(poll(&mut driver, write, 4), poll(&mut driver, write_general, 4));
        }
    }
}
