//! Who threads and processes are, how they begin and end.

use crate::Errno;
use crate::host::Exit;
use crate::process::numbers::{Numbers, Owner};
use crate::process::schedule::Next;
use crate::process::{Pid, Signal, Status, ThreadId};
use crate::server::Event;
use crate::slots::Id;
use crate::testing::driver::{Driver, SCRATCH};

#[test]
fn numbers_go_round_and_are_not_given_out_twice() {
    let mut numbers = Numbers::default();
    let thread = ThreadId::new(3);
    assert_eq!(numbers.take(thread), Some(Pid(2)), "the first is init's");
    for expected in 3..32_768 {
        assert_eq!(numbers.take(thread), Some(Pid(expected)));
    }
    assert_eq!(numbers.take(thread), None);
    numbers.release(Pid(5));
    numbers.release(Pid(700));
    numbers.release(Pid(900));
    assert_eq!(numbers.take(thread), Some(Pid(700)));
    numbers.set(Pid(700), Owner::Nobody);
    assert_eq!(numbers.thread(Pid(700)), None);
    numbers.join(Pid(900));
    assert_eq!(numbers.take(thread), None, "a group is called so");
    numbers.leave(Pid(900));
    assert_eq!(numbers.take(thread), Some(Pid(900)));
    assert_eq!(numbers.take(thread), None, "low numbers are kept");
    assert_eq!(numbers.thread(Pid(900)), Some(thread));
}

#[test]
fn a_program_knows_who_it_is() {
    let mut driver = Driver::with_scratch();
    assert_eq!(driver.call(172, [0; 6]), Some(2));
    assert_eq!(driver.call(178, [0; 6]), Some(2));
    assert_eq!(driver.call(173, [0; 6]), Some(1));
    for call in 174..=177 {
        assert_eq!(driver.call(call, [0; 6]), Some(0));
    }
    assert_eq!(driver.call(166, [0o7077, 0, 0, 0, 0, 0]), Some(0o022));
    assert_eq!(driver.call(166, [0, 0, 0, 0, 0, 0]), Some(0o077));
    assert_eq!(driver.call(160, [SCRATCH, 0, 0, 0, 0, 0]), Some(0));
    assert_eq!(driver.peek(SCRATCH, 6), b"Linux\0");
    assert_eq!(driver.peek(SCRATCH + 260, 12), b"loongarch64\0");
    assert_eq!(driver.call(167, [16, SCRATCH, 0, 0, 0, 0]), Some(0));
    assert_eq!(driver.peek(SCRATCH, 8), b"program\0");
    assert_eq!(driver.result(167, [9999, 0, 0, 0, 0, 0]), Err(Errno::EINVAL));
}

#[test]
fn limits_are_told_and_changed() {
    let mut driver = Driver::with_scratch();
    assert_eq!(driver.call(261, [0, 3, 0, SCRATCH, 0, 0]), Some(0));
    assert_eq!(driver.peek_word(SCRATCH), 8 << 20);
    assert_eq!(driver.result(261, [0, 16, 0, SCRATCH, 0, 0]), Err(Errno::EINVAL));
    assert_eq!(driver.result(261, [77, 3, 0, SCRATCH, 0, 0]), Err(Errno::ESRCH));
    driver.poke(SCRATCH, &2_u64.to_le_bytes());
    driver.poke(SCRATCH + 8, &1_u64.to_le_bytes());
    assert_eq!(driver.result(261, [0, 3, SCRATCH, 0, 0, 0]), Err(Errno::EINVAL));
    driver.poke(SCRATCH + 8, &9_u64.to_le_bytes());
    assert_eq!(driver.call(261, [2, 7, SCRATCH, 0, 0, 0]), Some(0));
    assert_eq!(driver.result(23, [0; 6]), Err(Errno::EMFILE), "RLIMIT_NOFILE of 2");
}

#[test]
fn a_thread_begins_where_clone_returns_with_its_own_stack_and_pointer() {
    let mut driver = Driver::with_scratch();
    let context = driver.context().unwrap();
    let registers = &mut driver.server().host.context(context).registers;
    registers.general = core::array::from_fn(|number| number as u64);
    registers.pc = 0x1_2000_0400;
    driver.clone_thread(SCRATCH + 0x8000, SCRATCH);
    driver.call(124, [0; 6]);
    let Next::Enter(child, Exit::Full) = driver.next else { panic!("{:?}", driver.next) };
    let registers = driver.server().host.context(child).registers;
    assert_eq!((registers.pc, registers.general[4]), (0x1_2000_0404, 0));
    assert_eq!((registers.general[3], registers.general[2]), (SCRATCH + 0x8000, 0x7000));
    assert_eq!(registers.general[12..=20], [0; 9]);
    assert_eq!((registers.general[11], registers.general[21], registers.general[31]), (11, 21, 31));
    assert_eq!(driver.call(178, [0; 6]), Some(3));
    assert_eq!(driver.call(172, [0; 6]), Some(2));
}

#[test]
fn clone_refuses_what_linux_refuses_and_what_is_not_there() {
    let mut driver = Driver::with_scratch();
    for (flags, error) in [
        (0x1_0000, Errno::EINVAL),
        (0x1_0800, Errno::EINVAL),
        (0x800, Errno::EINVAL),
        (0x2_0200, Errno::EINVAL),
        (0x10_1000, Errno::EINVAL),
        (0x211, Errno::ENOSYS),
    ] {
        assert_eq!(driver.result(220, [flags, 0, 0, 0, 0, 0]), Err(error), "{flags:#x}");
    }
    let mut clone3 = |words: [u64; 11], bytes: u64| {
        for (number, word) in words.iter().enumerate() {
            driver.poke(SCRATCH + number as u64 * 8, &word.to_le_bytes());
        }
        driver.result(435, [SCRATCH, bytes, 0, 0, 0, 0])
    };
    let good = [0x3d_0f00, 0, SCRATCH + 256, SCRATCH + 256, 0, SCRATCH + 0x4000, 0x1000, 7, 0, 0, 0];
    let with = |place: usize, value| {
        let mut words = good;
        words[place] = value;
        words
    };
    assert_eq!(clone3(good, 63), Err(Errno::EINVAL));
    assert_eq!(clone3(good, 1 << 20), Err(Errno::E2BIG));
    assert_eq!(clone3(with(8, 1), 88), Err(Errno::E2BIG));
    assert_eq!(clone3(with(0, 0x3d_0f11), 88), Err(Errno::EINVAL));
    assert_eq!(clone3(with(4, 17), 88), Err(Errno::EINVAL));
    assert_eq!(clone3(with(6, 0), 88), Err(Errno::EINVAL));
    assert_eq!(clone3(good, 88), Ok(3));
    driver.call(124, [0; 6]);
    let context = driver.context().unwrap();
    assert_eq!(driver.server().host.context(context).registers.general[3], SCRATCH + 0x5000);
}

#[test]
fn contexts_run_out_and_come_back() {
    let mut driver = Driver::with_scratch();
    for _ in 0..15 {
        driver.clone_thread(SCRATCH + 0x8000, SCRATCH);
    }
    assert_eq!(driver.result(220, [0x7d_0f00, 0, SCRATCH, SCRATCH, 0, 0]), Err(Errno::EAGAIN));
    while driver.server().threads.len() > 1 {
        driver.call(93, [0; 6]);
    }
    assert_eq!(driver.server().free_contexts.len(), 15);
    driver.clone_thread(SCRATCH + 0x8000, SCRATCH);
}

#[test]
fn the_last_threads_end_and_exit_group_end_the_process() {
    let mut driver = Driver::with_scratch();
    driver.clone_thread(SCRATCH + 0x8000, SCRATCH);
    driver.call(93, [1, 0, 0, 0, 0, 0]);
    assert!(driver.server().events.is_empty());
    driver.call(93, [0x1ff, 0, 0, 0, 0, 0]);
    assert_eq!(driver.server().events.pop_front(), Some(Event::Ended(Pid(2), Status::Exited(255))));
    assert_eq!(driver.next, Next::Finished);
    let mut driver = Driver::with_scratch();
    driver.clone_thread(SCRATCH + 0x8000, SCRATCH);
    driver.call(94, [7, 0, 0, 0, 0, 0]);
    assert_eq!(driver.server().events.pop_front(), Some(Event::Ended(Pid(2), Status::Exited(7))));
    assert_eq!(driver.next, Next::Finished);
    let mut driver = Driver::with_scratch();
    driver.server().kill_current(Signal::SIGSEGV);
    assert_eq!(driver.server().events.pop_front(), Some(Event::Ended(Pid(2), Status::Killed(Signal(11)))));
    assert_eq!(Status::Killed(Signal(11)).shell_code(), 139);
}

/// A thread that is killed in a wait leaves no waiter behind, and its number no half-done call.
#[test]
fn a_process_killed_in_its_waits_leaves_nothing() {
    let mut driver = Driver::with_scratch();
    let before = driver.server().waits.in_use();
    driver.clone_thread(SCRATCH + 0x8000, SCRATCH);
    driver.poke(SCRATCH + 64, &[9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(driver.call(101, [SCRATCH + 64, 0, 0, 0, 0, 0]), None);
    assert_eq!(driver.server().waits.in_use(), before + 1);
    driver.call(94, [0; 6]);
    assert_eq!(driver.next, Next::Finished);
    assert_eq!(driver.server().waits.in_use(), before - 1, "the process's own queue went too");
    driver.start("/bin/program").unwrap();
    assert_eq!(driver.call(172, [0; 6]), Some(4));
    assert_eq!(driver.call(63, [0, 0, 0, 0, 0, 0]), Some(0));
}
