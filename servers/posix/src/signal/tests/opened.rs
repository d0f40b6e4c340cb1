//! What rt_sigprocmask opens is delivered at its end: which way, with which mask, stack, result and siginfo.

use super::*;
use crate::Errno;
use crate::dispatch::Arguments;
use crate::dispatch::entries::{self, Answer};
use crate::process::{Signal, Status};
use crate::server::Event;
use std::vec::Vec;

const SIGALTSTACK: u64 = 132;
const ONSTACK: u64 = 0x0800_0000;
const NODEFER: u64 = 0x4000_0000;
const RESETHAND: u64 = 0x8000_0000;
const BLOCK: u64 = 0;
const UNBLOCK: u64 = 1;
const SET: u64 = 2;
/// Bytes of a frame without records.
const FRAME: u64 = 592;
/// Where the tests' alternate stack ends.
const ALTERNATE_END: u64 = SCRATCH + 0x2000;
/// Where the old mask goes.
const OLD: u64 = DATA + 0x40;
/// A page that nobody has touched: it reads as zeros.
const FRESH: u64 = SCRATCH + 0x8000;
/// Held off in every test, never sent.
const OTHER: u64 = 15;
/// The handlers hold this one off.
const HELD: u64 = 17;
const SI_USER: u32 = 0;
const SI_QUEUE: u32 = u32::MAX;
const SI_TKILL: u32 = (-6_i32).cast_unsigned();

/// How a signal was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// In the function that looked for it.
    Short,
    General,
}

/// rt_sigprocmask that opens something.
fn open(driver: &mut Driver, how: u64, new: u64, old: u64) -> Way {
    let answer = entries::call(&mut driver.posix, SIGPROCMASK, Arguments::new([how, new, old, 8, 0, 0]));
    assert_eq!(answer.next, Answer::SIGNALS, "something is due");
    match driver.posix.signalled(answer.value) {
        Ok(_) => {
            driver.next = Next::Enter(driver.context().unwrap(), Exit::Full);
            Way::Short
        }
        Err(next) => {
            driver.next = next;
            Way::General
        }
    }
}

/// A program that has an alternate stack, and handlers of signal 10 with these flags.
fn prepared(flags: u64) -> Driver {
    let mut driver = running();
    driver.poke(DATA, &SCRATCH.to_le_bytes());
    driver.poke(DATA + 8, &0_u64.to_le_bytes());
    driver.poke(DATA + 16, &0x2000_u64.to_le_bytes());
    assert_eq!(driver.result(SIGALTSTACK, [DATA, 0, 0, 0, 0, 0]), Ok(0));
    driver.handle(10, flags, bit(HELD));
    driver
}

/// It holds signals off, as raise does, and is sent one.
fn holding(driver: &mut Driver, signal: u64, send: u64) {
    driver.poke(DATA, &(bit(signal) | bit(OTHER)).to_le_bytes());
    driver.poke(OLD, &[0xff; 8]);
    assert_eq!(driver.result(SIGPROCMASK, [BLOCK, DATA, OLD, 8, 0, 0]), Ok(0));
    assert_eq!(driver.peek_word(OLD), 0);
    let pid = driver.pid();
    let words = match send {
        KILL => [pid, signal, 0, 0, 0, 0],
        TKILL => [pid, signal, 0, 0, 0, 0],
        _ => [pid, pid, signal, 0, 0, 0],
    };
    assert_eq!(driver.result(send, words), Ok(0), "it waits");
    assert_eq!(driver.handled(), None);
}

fn ended(driver: &mut Driver) -> Option<Status> {
    driver.server().events.pop_front().map(|Event::Ended(_, status)| status)
}

#[test]
fn one_signal_goes_to_its_handler_with_what_its_flags_say() {
    for flags in [0, NODEFER, RESETHAND, RESETHAND | NODEFER, ONSTACK, ONSTACK | NODEFER, RESTART] {
        for (send, code) in [(TKILL, SI_TKILL), (TGKILL, SI_TKILL), (KILL, SI_USER)] {
            for (how, given, after) in [(SET, 0, 0), (SET, bit(12), bit(12)), (UNBLOCK, bit(10), bit(OTHER))]
            {
                let case = (flags, send, how);
                let mut driver = prepared(flags);
                holding(&mut driver, 10, send);
                driver.poke(DATA, &u64::to_le_bytes(given));
                let before = *driver.registers();
                let way = open(&mut driver, how, DATA, OLD);
                let usual = if flags & RESETHAND == 0 { Way::Short } else { Way::General };
                assert_eq!((way, driver.handled()), (usual, Some(10)), "{case:x?}");
                let own = if flags & NODEFER == 0 { bit(10) } else { 0 };
                assert_eq!(driver.mask(), after | own | bit(HELD), "{case:x?}");
                assert_eq!(driver.peek_word(OLD), bit(10) | bit(OTHER), "{case:x?}");
                let top = if flags & ONSTACK == 0 { STACK } else { ALTERNATE_END };
                let frame = driver.sp();
                assert_eq!(frame, top - FRAME, "{case:x?}");
                assert_eq!([0, 4, 8, 16, 20].map(|at| driver.half(frame + at)), [10, 0, code, 2, 0]);
                assert_eq!(driver.peek_word(frame + MASK), after, "{case:x?}");
                assert_eq!(driver.peek_word(frame + REGISTERS), before.pc + 4, "behind the call");
                assert_eq!(driver.peek_word(frame + REGISTERS + 8 + 4 * 8), 0, "its result");
                driver.sigreturn();
                assert_eq!((driver.sp(), driver.mask()), (STACK, after), "{case:x?}");
                assert_eq!((driver.registers().pc, driver.a0()), (before.pc + 4, 0), "{case:x?}");
                // It has come once, and who is to be handled once has no handler any more.
                assert_eq!(driver.result(SIGPENDING, [DATA, 8, 0, 0, 0, 0]), Ok(0));
                assert_eq!(driver.peek_word(DATA), 0);
                assert_eq!(driver.result(SIGACTION, [10, 0, DATA, 8, 0, 0]), Ok(0));
                assert_eq!(driver.peek_word(DATA) == 0, flags & RESETHAND != 0, "{case:x?}");
            }
        }
    }
}

/// Sends the program a realtime signal that carries a value.
fn queue(driver: &mut Driver, signal: u64, value: u64) {
    driver.poke(DATA + 256, &[0; 128]);
    driver.poke(DATA + 256 + 8, &SI_QUEUE.to_le_bytes());
    driver.poke(DATA + 256 + 24, &value.to_le_bytes());
    let pid = driver.pid();
    assert_eq!(driver.result(SIGQUEUEINFO, [pid, signal, DATA + 256, 0, 0, 0]), Ok(0));
}

/// Values of the realtime signals whose handlers run, the first one first.
fn values(driver: &mut Driver) -> Vec<u64> {
    let mut values = Vec::new();
    while driver.handled() == Some(34) {
        let frame = driver.sp();
        assert_eq!(driver.half(frame + 8), SI_QUEUE);
        values.push(driver.peek_word(frame + 24));
        driver.sigreturn();
    }
    values
}

#[test]
fn queued_realtime_signals_all_come_each_with_its_value() {
    // A handler that holds its own signal off sees them in order; else the frames are piled up, and the last runs first.
    for (flags, count, way, expected) in [
        (0, 1, Way::Short, &[1][..]),
        (NODEFER, 1, Way::Short, &[1]),
        (0, 3, Way::General, &[1, 2, 3]),
        (NODEFER, 3, Way::General, &[3, 2, 1]),
    ] {
        let mut driver = running();
        driver.handle(34, flags, 0);
        driver.set_mask(bit(34));
        for value in 1..=count {
            queue(&mut driver, 34, value);
        }
        driver.poke(DATA, &0_u64.to_le_bytes());
        assert_eq!(open(&mut driver, SET, DATA, 0), way, "{flags:x} {count}");
        assert_eq!(values(&mut driver), expected, "{flags:x} {count}");
        assert_eq!((driver.sp(), driver.mask(), driver.a0()), (STACK, 0, 0));
    }
}

/// Entries of other signals in the same queue, which stay held off, are still there afterwards.
#[test]
fn what_stays_held_off_still_waits() {
    let mut driver = running();
    driver.handle(10, 0, 0);
    driver.handle(34, 0, 0);
    driver.set_mask(bit(10) | bit(34));
    queue(&mut driver, 34, 7);
    assert_eq!(driver.kill_self(10), Some(0));
    driver.poke(DATA, &bit(34).to_le_bytes());
    open(&mut driver, SET, DATA, 0);
    assert_eq!(driver.handled(), Some(10));
    driver.sigreturn();
    assert_eq!((driver.handled(), driver.mask()), (None, bit(34)));
    driver.poke(DATA, &0_u64.to_le_bytes());
    assert_eq!(open(&mut driver, SET, DATA, 0), Way::Short);
    assert_eq!(values(&mut driver), [7]);
}

#[test]
fn a_signal_of_the_thread_goes_before_the_same_one_of_the_process() {
    let mut driver = running();
    driver.handle(34, 0, 0);
    driver.set_mask(bit(34));
    let pid = driver.pid();
    assert_eq!(driver.kill_self(34), Some(0));
    assert_eq!(driver.result(TGKILL, [pid, pid, 34, 0, 0, 0]), Ok(0));
    driver.poke(DATA, &0_u64.to_le_bytes());
    assert_eq!(open(&mut driver, SET, DATA, 0), Way::General);
    let mut codes = Vec::new();
    while driver.handled() == Some(34) {
        let frame = driver.sp();
        codes.push(driver.half(frame + 8));
        driver.sigreturn();
    }
    assert_eq!(codes, [SI_TKILL, SI_USER]);
}

/// Linux drops the signal that has no room, and changes neither mask nor stack for it.
#[test]
fn without_room_for_the_frame_it_is_a_sigsegv_after_the_call() {
    // Nothing is there, or only what may be read.
    for sp in [0, 0x8000, 1 << 47, u64::MAX, 0x1_2000_0800] {
        let mut driver = prepared(0);
        driver.handle(11, ONSTACK, 0);
        holding(&mut driver, 10, TKILL);
        driver.poke(DATA, &bit(12).to_le_bytes());
        let pc = driver.registers().pc;
        driver.registers().general[3] = sp;
        assert_eq!(open(&mut driver, SET, DATA, OLD), Way::General);
        assert_eq!((driver.handled(), driver.sp()), (Some(11), ALTERNATE_END - FRAME), "{sp:#x}");
        let frame = driver.sp();
        assert_eq!(driver.half(frame + 8), 128, "SI_KERNEL");
        assert_eq!(driver.peek_word(frame + MASK), bit(12), "{sp:#x}");
        assert_eq!(driver.peek_word(frame + REGISTERS), pc + 4, "{sp:#x}");
        assert_eq!(driver.peek_word(frame + REGISTERS + 8 + 4 * 8), 0, "its result");
        assert_eq!(driver.peek_word(OLD), bit(10) | bit(OTHER));
        driver.sigreturn();
        assert_eq!((driver.sp(), driver.mask(), driver.handled()), (sp, bit(12), None), "10 is gone");
    }
    // Without a handler of it, or with one that has no room either, it is the end.
    for handled in [false, true] {
        let mut driver = prepared(0);
        if handled {
            driver.handle(11, 0, 0);
        }
        holding(&mut driver, 10, TKILL);
        driver.poke(DATA, &0_u64.to_le_bytes());
        driver.registers().general[3] = 0x8000;
        open(&mut driver, SET, DATA, 0);
        assert_eq!(driver.next, Next::Finished, "{handled}");
        assert_eq!(ended(&mut driver), Some(Status::Killed(Signal(11))), "{handled}");
    }
}

/// As on Linux the new mask holds where the place for the old one is bad, and the handler returns to the error.
#[test]
fn a_bad_place_for_the_old_mask_is_an_error_after_the_mask_was_set() {
    for old in [8, 1 << 47, u64::MAX - 7, u64::MAX] {
        let mut driver = prepared(0);
        holding(&mut driver, 10, TKILL);
        driver.poke(DATA, &0_u64.to_le_bytes());
        assert_eq!(open(&mut driver, SET, DATA, old), Way::Short, "{old:#x}");
        assert_eq!((driver.handled(), driver.mask()), (Some(10), bit(10) | bit(HELD)), "{old:#x}");
        let saved = driver.peek_word(STACK - FRAME + REGISTERS + 8 + 4 * 8);
        assert_eq!(saved, Errno::EFAULT.to_result(), "{old:#x}");
        driver.sigreturn();
        assert_eq!((driver.a0(), driver.mask()), (Errno::EFAULT.to_result(), 0), "{old:#x}");
    }
}

#[test]
fn a_call_that_fails_before_opens_nothing() {
    let mut driver = prepared(0);
    holding(&mut driver, 10, TKILL);
    driver.poke(DATA, &0_u64.to_le_bytes());
    driver.poke(OLD, &[0xff; 8]);
    for (words, error) in [
        ([3, DATA, OLD, 8, 0, 0], Errno::EINVAL),
        ([u64::MAX, DATA, OLD, 8, 0, 0], Errno::EINVAL),
        ([SET, DATA, OLD, 4, 0, 0], Errno::EINVAL),
        ([SET, DATA, OLD, 16, 0, 0], Errno::EINVAL),
        ([SET, 8, OLD, 8, 0, 0], Errno::EFAULT),
        ([SET, 9, OLD, 8, 0, 0], Errno::EFAULT),
        ([SET, 1 << 47, OLD, 8, 0, 0], Errno::EFAULT),
        ([SET, u64::MAX, OLD, 8, 0, 0], Errno::EFAULT),
    ] {
        assert_eq!(driver.result(SIGPROCMASK, words), Err(error), "{words:x?}");
        assert_eq!((driver.mask(), driver.peek_word(OLD)), (bit(10) | bit(OTHER), u64::MAX), "{words:x?}");
    }
    // Without a new mask there is no way to be wrong.
    assert_eq!(driver.result(SIGPROCMASK, [77, 0, OLD, 8, 0, 0]), Ok(0));
    assert_eq!(driver.peek_word(OLD), bit(10) | bit(OTHER));
    assert_eq!(driver.handled(), None);
}

/// Masks that lie askew or on pages that are not there yet, and a frame on such a page.
#[test]
fn wherever_the_masks_lie_what_they_open_is_delivered() {
    for (new, old, sp) in [
        (DATA + 3, OLD, STACK),
        (DATA, OLD + 5, STACK),
        (FRESH, OLD, STACK),
        (DATA, FRESH, STACK),
        (FRESH - 4, FRESH + 0x4000 - 4, STACK),
        (DATA, OLD, FRESH + 0x3000),
        (DATA, OLD, FRESH + 0x4000 + 304),
    ] {
        let case = (new, old, sp);
        let mut driver = prepared(0);
        holding(&mut driver, 10, TKILL);
        if new < FRESH - 8 {
            driver.poke(new, &0_u64.to_le_bytes());
        }
        driver.registers().general[3] = sp;
        assert_eq!(open(&mut driver, SET, new, old), Way::Short, "{case:x?}");
        assert_eq!((driver.handled(), driver.sp()), (Some(10), (sp - FRAME) & !15), "{case:x?}");
        assert_eq!(driver.peek_word(old), bit(10) | bit(OTHER), "{case:x?}");
        driver.sigreturn();
        assert_eq!((driver.sp(), driver.mask(), driver.a0()), (sp, 0, 0), "{case:x?}");
    }
}
