//! Calls that signals interrupt, restart, or answer.

use super::*;
use crate::Errno;

const FUTEX: u64 = 98;
const NANOSLEEP: u64 = 101;
const READ: u64 = 63;
const WAIT4: u64 = 260;

/// A parent that runs, and its child that made a call which waits; the child's context and pid.
fn waiting(prepare: impl FnOnce(&mut Driver), number: u64, words: [u64; 6]) -> (Driver, ContextId, u64) {
    let mut driver = running();
    let child = driver.fork();
    driver.give_way();
    prepare(&mut driver);
    let context = driver.context().unwrap();
    let registers = driver.registers();
    registers.general[3] = STACK;
    registers.general[4] = words[0];
    registers.pc = 0x1_2000_0500;
    assert_eq!(driver.call(number, words), None);
    assert_eq!(driver.pid(), 2);
    (driver, context, child)
}

/// The child's turn: what its frame, if it has one, says of pc and `$a0`.
fn interrupted(driver: &mut Driver, context: ContextId) -> Option<(u64, u64)> {
    driver.give_way();
    assert_eq!(driver.context(), Some(context));
    driver.handled()?;
    let frame = driver.sp();
    Some((driver.peek_word(frame + REGISTERS), driver.peek_word(frame + REGISTERS + 40)))
}

const PC: u64 = 0x1_2000_0500;
const EINTR: u64 = Errno::EINTR.to_result();

/// CASES 23.
#[test]
fn calls_restart_with_their_first_argument_or_end_as_linux_says() {
    let short = |driver: &mut Driver| {
        driver.poke(DATA + 64, &9_u64.to_le_bytes());
        driver.poke(DATA + 72, &0_u64.to_le_bytes());
        driver.poke(DATA + 96, &[0; 8]);
    };
    let cases: [(u64, [u64; 6], bool); 6] = [
        (READ, [0, DATA + 128, 8, 0, 0, 0], true),
        (FUTEX, [DATA + 96, 128, 0, 0, 0, 0], true),
        (FUTEX, [DATA + 96, 128, 0, DATA + 64, 0, 0], false),
        (NANOSLEEP, [DATA + 64, DATA + 80, 0, 0, 0, 0], false),
        (115, [1, 0, DATA + 64, 0, 0, 0], false),
        (115, [1, 1, DATA + 64, 0, 0, 0], false),
    ];
    for (number, words, restarts) in cases {
        for flags in [0, RESTART] {
            let prepare = |driver: &mut Driver| {
                driver.handle(10, flags, 0);
                short(driver);
            };
            let (mut driver, context, child) = waiting(prepare, number, words);
            assert_eq!(driver.result(KILL, [child, 10, 0, 0, 0, 0]), Ok(0));
            let expected = if restarts && flags == RESTART { (PC, words[0]) } else { (PC + 4, EINTR) };
            assert_eq!(interrupted(&mut driver, context), Some(expected), "{number} {words:x?} {flags:x}");
            driver.sigreturn();
            assert_eq!((driver.registers().pc, driver.a0()), expected);
        }
    }
}

#[test]
fn a_wait_for_a_child_restarts_too() {
    let mut driver = running();
    driver.handle(10, RESTART, 0);
    let child = driver.fork();
    let parent = driver.context().unwrap();
    driver.registers().general[4] = u64::MAX;
    assert_eq!(driver.call(WAIT4, [u64::MAX, 0, 0, 0, 0, 0]), None);
    assert_eq!(driver.result(KILL, [2, 10, 0, 0, 0, 0]), Ok(0));
    driver.give_way();
    assert_eq!((driver.context(), driver.handled()), (Some(parent), Some(10)));
    driver.sigreturn();
    assert_eq!(driver.a0(), u64::MAX);
    assert_eq!(driver.call(WAIT4, [u64::MAX, 0, 0, 0, 0, 0]), None);
    driver.call(94, [0; 6]);
    assert_eq!(driver.a0(), child);
}

/// CASES 27.
#[test]
fn what_is_ignored_wakes_nobody() {
    let prepare = |driver: &mut Driver| driver.poke(DATA + 96, &[0; 8]);
    let (mut driver, _, child) = waiting(prepare, FUTEX, [DATA + 96, 128, 0, 0, 0, 0]);
    for signal in [17, 18, 23, 28] {
        assert_eq!(driver.result(KILL, [child, signal, 0, 0, 0, 0]), Ok(0));
        assert!(driver.server().ready.is_empty());
    }
}

#[test]
fn what_was_read_before_the_signal_counts() {
    let prepare = |driver: &mut Driver| driver.handle(10, 0, 0);
    let (mut driver, context, child) = waiting(prepare, READ, [0, DATA + 128, 8, 0, 0, 0]);
    driver.server().host.input.extend(b"abc");
    driver.server().input_ready();
    driver.call(KILL, [child, 10, 0, 0, 0, 0]);
    assert_eq!(interrupted(&mut driver, context), Some((PC + 4, 3)));
}

#[test]
fn sigsuspend_sleeps_with_its_mask_and_gives_the_old_one_back() {
    let prepare = |driver: &mut Driver| {
        driver.handle(10, 0, 0);
        driver.handle(12, 0, 0);
        driver.set_mask(bit(10));
        driver.poke(DATA, &bit(12).to_le_bytes());
    };
    let (mut driver, context, child) = waiting(prepare, SIGSUSPEND, [DATA, 8, 0, 0, 0, 0]);
    driver.call(KILL, [child, 12, 0, 0, 0, 0]);
    driver.give_way();
    assert_eq!(driver.pid(), 2, "12 is held off now");
    driver.call(KILL, [child, 10, 0, 0, 0, 0]);
    // 10's frame has the old mask; the handler has the borrowed one, so that 12 still waits.
    assert_eq!(interrupted(&mut driver, context), Some((PC + 4, EINTR)));
    let frame = driver.sp();
    assert_eq!((driver.handled(), driver.peek_word(frame + MASK)), (Some(10), bit(10)));
    assert_eq!(driver.mask(), bit(10) | bit(12));
    driver.sigreturn();
    // The old mask opens 12.
    assert_eq!((driver.handled(), driver.mask()), (Some(12), bit(10) | bit(12)));
    driver.sigreturn();
    assert_eq!((driver.mask(), driver.a0()), (bit(10), EINTR));
    // A signal that waits already ends it at once.
    driver.poke(DATA, &0_u64.to_le_bytes());
    driver.set_mask(bit(10));
    assert_eq!(driver.kill_self(10), Some(0));
    driver.poke(DATA, &0_u64.to_le_bytes());
    assert_eq!(driver.call(SIGSUSPEND, [DATA, 8, 0, 0, 0, 0]), None);
    assert_eq!((driver.context(), driver.handled()), (Some(context), Some(10)));
}

/// A poll's mask opens signals for its length alone, and a poll that has something to say opens none.
#[test]
fn a_polls_mask_holds_for_its_wait() {
    let prepare = |driver: &mut Driver| {
        driver.handle(10, RESTART, 0);
        driver.set_mask(bit(10));
        driver.poke(DATA + 8, &0_u64.to_le_bytes());
    };
    let words = [DATA + 128, 0, 0, DATA + 8, 8, 0];
    let (mut driver, context, child) = waiting(prepare, 73, words);
    driver.call(KILL, [child, 10, 0, 0, 0, 0]);
    assert_eq!(interrupted(&mut driver, context), Some((PC + 4, EINTR)), "SA_RESTART or not");
    let frame = driver.sp();
    assert_eq!(driver.peek_word(frame + MASK), bit(10));
    driver.sigreturn();
    assert_eq!(driver.mask(), bit(10));
    // One that waits already ends it at once.
    driver.kill_self(10);
    driver.poke(DATA + 8, &0_u64.to_le_bytes());
    assert_eq!(driver.call(73, words), None);
    assert_eq!((driver.context(), driver.handled()), (Some(context), Some(10)));
}

#[test]
fn sigtimedwait_takes_what_comes_or_its_time() {
    let prepare = |driver: &mut Driver| {
        driver.set_mask(bit(10) | bit(28));
        driver.handle(12, 0, 0);
        driver.poke(DATA, &(bit(10) | bit(28)).to_le_bytes());
        driver.poke(DATA + 64, &[5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    };
    for signal in [10, 28, 12, 0] {
        let words = [DATA, DATA + 256, DATA + 64, 8, 0, 0];
        let (mut driver, context, child) = waiting(prepare, SIGTIMEDWAIT, words);
        driver.server().host.now_ns += if signal == 0 { 5_000_000_000 } else { 1 };
        driver.next = driver.posix.interrupted();
        driver.call(KILL, [child, signal, 0, 0, 0, 0]);
        let frame = interrupted(&mut driver, context);
        match signal {
            12 => assert_eq!(frame, Some((PC + 4, EINTR))),
            0 => assert_eq!(driver.a0(), Errno::EAGAIN.to_result()),
            _ => assert_eq!((frame, driver.a0()), (None, signal)),
        }
        assert!(signal == 12 || driver.mask() == bit(10) | bit(28));
    }
    let mut driver = running();
    driver.poke(DATA, &[0; 24]);
    assert_eq!(driver.result(SIGTIMEDWAIT, [DATA, 0, DATA, 8, 0, 0]), Err(Errno::EAGAIN), "not at all");
    driver.poke(DATA + 8, &u64::MAX.to_le_bytes());
    assert_eq!(driver.result(SIGTIMEDWAIT, [DATA, 0, DATA, 8, 0, 0]), Err(Errno::EINVAL));
}

#[test]
fn a_vforks_wait_ends_by_its_child_alone() {
    let mut driver = running();
    driver.handle(10, 0, 0);
    assert_eq!(driver.call(220, [0x4111, 0, 0, 0, 0, 0]), None);
    assert_eq!(driver.result(KILL, [2, 10, 0, 0, 0, 0]), Ok(0));
    driver.give_way();
    assert_eq!(driver.pid(), 3, "the parent waits on");
    driver.call(94, [0; 6]);
    assert_eq!(driver.handled(), Some(10));
    let frame = driver.sp();
    assert_eq!(driver.peek_word(frame + REGISTERS + 40), 3);
}

#[test]
fn the_real_timer_goes_off_and_again() {
    let mut driver = running();
    driver.handle(14, 0, 0);
    let timer = |driver: &mut Driver, words: [u64; 4]| {
        for (number, word) in words.iter().enumerate() {
            driver.poke(DATA + number as u64 * 8, &word.to_le_bytes());
        }
    };
    timer(&mut driver, [1, 0, 0, 500_000]);
    let start = driver.server().host.now_ns;
    assert_eq!(driver.call(103, [0, DATA, 0, 0, 0, 0]), Some(0));
    assert_eq!(driver.server().host.alarm, Some(start + 500_000_000));
    driver.server().host.now_ns += 400_000_000;
    assert_eq!(driver.call(102, [0, DATA, 0, 0, 0, 0]), Some(0));
    assert_eq!([0, 16, 24].map(|at| driver.peek_word(DATA + at)), [1, 0, 100_000]);
    driver.server().host.now_ns += 100_000_000;
    // While the program runs: every register is the program's own.
    let before = *driver.registers();
    driver.next = driver.posix.interrupted();
    assert_eq!(driver.handled(), Some(14));
    let frame = driver.sp();
    assert_eq!([0, 8].map(|at| driver.half(frame + at)), [14, 128], "SI_KERNEL");
    assert_eq!(driver.peek_word(frame + REGISTERS + 8 + 15 * 8), before.general[15]);
    assert_eq!(driver.server().host.alarm, Some(start + 1_500_000_000));
    driver.sigreturn();
    assert_eq!(driver.registers().pc, before.pc);
    // While it waits.
    driver.poke(DATA, &9_u64.to_le_bytes());
    driver.poke(DATA + 8, &0_u64.to_le_bytes());
    assert_eq!(driver.call(101, [DATA, 0, 0, 0, 0, 0]), None);
    assert_eq!(driver.next, Next::Idle);
    driver.server().host.now_ns = start + 1_500_000_000;
    driver.wake();
    assert_eq!(driver.handled(), Some(14));
    driver.sigreturn();
    assert_eq!(driver.a0(), EINTR);
    timer(&mut driver, [0; 4]);
    assert_eq!(driver.call(103, [0, DATA, DATA + 64, 0, 0, 0]), Some(0));
    assert_eq!([64, 80].map(|at| driver.peek_word(DATA + at)), [1, 1]);
    assert_eq!(driver.server().alarms.first(), None);
    for bad in [[0, 1_000_000, 0, 0], [0, 0, u64::MAX, 0]] {
        timer(&mut driver, bad);
        assert_eq!(driver.result(103, [0, DATA, 0, 0, 0, 0]), Err(Errno::EINVAL));
    }
    assert_eq!(driver.result(102, [3, DATA, 0, 0, 0, 0]), Err(Errno::EINVAL));
}

#[test]
fn timers_of_processor_time_count_while_the_process_runs() {
    let mut driver = running();
    driver.handle(26, 0, 0);
    driver.poke(DATA, &[0; 32]);
    driver.poke(DATA + 24, &1000_u64.to_le_bytes());
    assert_eq!(driver.call(103, [1, DATA, 0, 0, 0, 0]), Some(0));
    let alarm = driver.server().host.alarm.unwrap();
    assert_eq!(alarm, driver.server().host.now_ns + 1_000_000);
    driver.server().host.now_ns += 999_999;
    driver.next = driver.posix.interrupted();
    assert_eq!(driver.handled(), None);
    driver.server().host.now_ns += 1;
    driver.next = driver.posix.interrupted();
    assert_eq!(driver.handled(), Some(26));
}

#[test]
fn a_fast_timer_of_processor_time_lets_its_program_come_on() {
    const TICK_NS: u64 = 4_000_000;
    let mut driver = running();
    driver.handle(27, 0, 0);
    driver.poke(DATA, &[0; 32]);
    for word in [8, 24] {
        driver.poke(DATA + word, &1_u64.to_le_bytes());
    }
    assert_eq!(driver.call(103, [2, DATA, 0, 0, 0, 0]), Some(0));
    driver.server().host.now_ns += 1000;
    driver.next = driver.posix.interrupted();
    assert_eq!(driver.handled(), Some(27), "the first comes when it is due");
    driver.sigreturn();
    driver.server().host.now_ns += TICK_NS - 1;
    driver.next = driver.posix.interrupted();
    assert_eq!(driver.handled(), None, "not again before a tick");
    driver.server().host.now_ns += 1;
    driver.next = driver.posix.interrupted();
    assert_eq!(driver.handled(), Some(27));
    assert_eq!(driver.call(102, [2, DATA, 0, 0, 0, 0]), Some(0));
    assert_eq!(driver.peek_word(DATA + 8), 1, "its length is what the program said");
}
