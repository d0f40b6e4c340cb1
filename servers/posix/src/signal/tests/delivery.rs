//! Sending and delivering.

use super::*;
use crate::Errno;
use crate::process::fault::Fault;
use crate::process::{Pid, Signal, Status};
use crate::server::Event;

fn ended(driver: &mut Driver) -> Option<Event> {
    driver.server().events.pop_front()
}

#[test]
fn a_handler_runs_at_the_calls_end_and_all_comes_back() {
    let mut driver = running();
    driver.handle(10, 0, bit(12));
    let before = *driver.registers();
    assert_eq!(driver.kill_self(10), None);
    assert_eq!(driver.handled(), Some(10));
    let frame = driver.sp();
    let registers = *driver.registers();
    assert_eq!(registers.general[5..7], [frame, frame + 128]);
    assert_eq!(driver.mask(), bit(10) | bit(12));
    let vdso = registers.general[1];
    assert_eq!(driver.peek(vdso, 8), crate::program::vdso::RT_SIGRETURN);
    // siginfo: SI_USER of this process; the mask that was.
    assert_eq!([0, 4, 8, 16, 20].map(|at| driver.half(frame + at)), [10, 0, 0, 2, 0]);
    assert_eq!(driver.peek_word(frame + MASK), 0);
    assert_eq!(driver.peek_word(frame + REGISTERS), before.pc + 4, "behind the call");
    assert_eq!(driver.peek_word(frame + REGISTERS + 8 + 4 * 8), 0, "its result");
    for number in 12..=20 {
        assert_eq!(driver.peek_word(frame + REGISTERS + 8 + number * 8), 0, "C-25: $r{number}");
    }
    driver.registers().general[7] = 99;
    driver.sigreturn();
    let after = *driver.registers();
    assert_eq!((after.pc, after.general[4], driver.mask()), (before.pc + 4, 0, 0));
    assert_eq!(after.general[21..], before.general[21..]);
    assert_eq!((after.general[1], after.general[2], after.general[3]), (0x101, 0x102, STACK));
    assert_eq!(driver.next, Next::Enter(driver.context().unwrap(), Exit::Full));
}

#[test]
fn what_is_ignored_comes_to_nothing_and_costs_no_detour() {
    let mut driver = running();
    for signal in [17, 18, 23, 28] {
        assert_eq!(driver.kill_self(signal), Some(0), "{signal}");
    }
    driver.act(15, 1, 0, 0);
    assert_eq!(driver.kill_self(15), Some(0));
    assert_eq!(driver.kill_self(0), Some(0));
    // Blocked ones that are ignored still wait (CASES 32).
    driver.set_mask(bit(28));
    assert_eq!(driver.kill_self(28), Some(0));
    assert_eq!(driver.call(SIGPENDING, [DATA, 8, 0, 0, 0, 0]), Some(0));
    assert_eq!(driver.peek_word(DATA), bit(28));
    driver.set_mask(0);
    assert_eq!(driver.call(SIGPENDING, [DATA, 8, 0, 0, 0, 0]), Some(0));
    assert_eq!(driver.peek_word(DATA), 0);
}

#[test]
fn default_actions_end_the_program_with_the_signal() {
    for signal in [1, 2, 3, 6, 9, 11, 14, 15, 31, 33, 64] {
        let mut driver = running();
        assert_eq!(driver.kill_self(signal), None, "{signal}");
        assert_eq!(driver.next, Next::Finished);
        let status = Status::Killed(Signal(u8::try_from(signal).unwrap()));
        assert_eq!(ended(&mut driver), Some(Event::Ended(Pid(2), status)));
    }
    let mut driver = running();
    driver.set_mask(u64::MAX);
    assert_eq!(driver.kill_self(15), Some(0), "held off");
    assert_eq!(driver.kill_self(9), None);
    assert_eq!(driver.next, Next::Finished);
}

#[test]
fn several_that_wait_stack_their_frames_lowest_first() {
    let mut driver = running();
    for signal in [10, 12, 34] {
        driver.handle(signal, 0, 0);
    }
    driver.set_mask(u64::MAX);
    for signal in [34, 12, 10, 10] {
        assert_eq!(driver.kill_self(signal), Some(0));
    }
    driver.set_mask(0);
    // The last frame's handler runs first: it is the highest number's.
    let mut order = Vec::new();
    while let Some(signal) = driver.handled() {
        order.push(signal);
        driver.sigreturn();
    }
    assert_eq!(order, [34, 12, 10], "and a standard signal once");
    assert_eq!((driver.sp(), driver.mask()), (STACK, 0));
}

#[test]
fn those_that_faults_have_go_before_all_others() {
    let mut driver = running();
    let signals = [1, 4, 5, 7, 8, 10, 11, 31, 34];
    for signal in signals {
        driver.handle(signal, 0, u64::MAX);
    }
    driver.set_mask(u64::MAX);
    for signal in signals {
        driver.kill_self(signal);
    }
    driver.set_mask(0);
    let mut order = Vec::new();
    while let Some(signal) = driver.handled() {
        order.push(signal);
        driver.sigreturn();
    }
    assert_eq!(order, [4, 5, 7, 8, 11, 31, 1, 10, 34]);
}

#[test]
fn flags_change_what_a_handler_gets() {
    const NODEFER: u64 = 0x4000_0000;
    const RESETHAND: u64 = 0x8000_0000;
    let mut driver = running();
    driver.handle(10, NODEFER, 0);
    driver.kill_self(10);
    assert_eq!((driver.handled(), driver.mask()), (Some(10), 0));
    let first = driver.sp();
    driver.kill_self(10);
    assert!(driver.sp() < first, "nested");
    driver.sigreturn();
    driver.sigreturn();
    driver.handle(10, RESETHAND, 0);
    driver.kill_self(10);
    driver.sigreturn();
    assert_eq!(driver.call(SIGACTION, [10, 0, DATA, 8, 0, 0]), Some(0));
    assert_eq!([0, 8].map(|at| driver.peek_word(DATA + at)), [0, RESETHAND]);
    assert_eq!(driver.kill_self(10), None);
    assert_eq!(driver.next, Next::Finished);
}

#[test]
fn sigaction_answers_as_linux_does() {
    let mut driver = running();
    for (words, error) in [
        ([0, 0, 0, 8, 0, 0], Errno::EINVAL),
        ([65, 0, 0, 8, 0, 0], Errno::EINVAL),
        ([10, 0, 0, 16, 0, 0], Errno::EINVAL),
        ([9, DATA, 0, 8, 0, 0], Errno::EINVAL),
        ([19, DATA, 0, 8, 0, 0], Errno::EINVAL),
        ([10, 1, 0, 8, 0, 0], Errno::EFAULT),
    ] {
        assert_eq!(driver.result(SIGACTION, words), Err(error), "{words:?}");
    }
    assert_eq!(driver.result(SIGACTION, [9, 0, DATA, 8, 0, 0]), Ok(0));
    driver.act(10, 0x1234, u64::MAX, u64::MAX);
    driver.result(SIGACTION, [10, 0, DATA, 8, 0, 0]).unwrap();
    assert_eq!(driver.peek_word(DATA + 8), 0xd800_0807, "what Linux does not know is forgotten");
    assert_eq!(driver.peek_word(DATA + 16), !(bit(9) | bit(19)));
    // To ignore takes back what waits.
    driver.set_mask(u64::MAX);
    driver.kill_self(10);
    driver.act(10, 1, 0, 0);
    driver.call(SIGPENDING, [DATA, 8, 0, 0, 0, 0]);
    assert_eq!(driver.peek_word(DATA), 0);
}

#[test]
fn realtime_signals_queue_in_order_with_what_came_with_them() {
    let mut driver = running();
    driver.set_mask(u64::MAX);
    driver.poke(DATA + 256, &[0; 128]);
    for value in [1_u64, 2, 3] {
        driver.poke(DATA + 256 + 8, &(-1_i32).to_le_bytes());
        driver.poke(DATA + 256 + 16, &2_u32.to_le_bytes());
        driver.poke(DATA + 256 + 24, &value.to_le_bytes());
        assert_eq!(driver.result(SIGQUEUEINFO, [2, 34, DATA + 256, 0, 0, 0]), Ok(0));
    }
    driver.kill_self(36);
    driver.poke(DATA, &(bit(34) | bit(36)).to_le_bytes());
    for value in [1, 2, 3] {
        assert_eq!(driver.result(SIGTIMEDWAIT, [DATA, DATA + 512, 0, 8, 0, 0]), Ok(34));
        assert_eq!([0, 8, 16].map(|at| driver.half(DATA + 512 + at)), [34, u32::MAX, 2]);
        assert_eq!(driver.peek_word(DATA + 512 + 24), value);
    }
    assert_eq!(driver.result(SIGTIMEDWAIT, [DATA, 0, 0, 8, 0, 0]), Ok(36));
    driver.poke(DATA + 256 + 8, &0_u32.to_le_bytes());
    assert_eq!(driver.result(SIGQUEUEINFO, [3, 34, DATA + 256, 0, 0, 0]), Err(Errno::EPERM), "SI_USER");
    driver.poke(DATA + 256 + 8, &(-1_i32).to_le_bytes());
    assert_eq!(driver.result(SIGQUEUEINFO, [77, 34, DATA + 256, 0, 0, 0]), Err(Errno::ESRCH));
    assert_eq!(driver.result(SIGQUEUEINFO, [2, 65, DATA + 256, 0, 0, 0]), Err(Errno::EINVAL));
}

#[test]
fn queues_have_an_end() {
    let mut driver = running();
    driver.set_mask(u64::MAX);
    driver.poke(DATA, &2_u64.to_le_bytes());
    driver.poke(DATA + 8, &2_u64.to_le_bytes());
    assert_eq!(driver.result(261, [0, 11, DATA, 0, 0, 0]), Ok(0), "RLIMIT_SIGPENDING");
    driver.poke(DATA + 256, &[0; 128]);
    driver.poke(DATA + 256 + 8, &(-1_i32).to_le_bytes());
    let queue = [2, 34, DATA + 256, 0, 0, 0];
    assert_eq!(driver.result(SIGQUEUEINFO, queue), Ok(0));
    assert_eq!(driver.result(SIGQUEUEINFO, queue), Ok(0));
    assert_eq!(driver.result(SIGQUEUEINFO, queue), Err(Errno::EAGAIN));
    assert_eq!(driver.kill_self(10), Some(0), "a standard one comes without its siginfo");
    driver.poke(DATA, &bit(10).to_le_bytes());
    assert_eq!(driver.result(SIGTIMEDWAIT, [DATA, DATA + 512, 0, 8, 0, 0]), Ok(10));
    assert_eq!([8, 16].map(|at| driver.half(DATA + 512 + at)), [0, 0]);
}

#[test]
fn who_may_signal_whom() {
    let mut driver = running();
    assert_eq!(driver.result(KILL, [1, 15, 0, 0, 0, 0]), Ok(0), "init takes no notice");
    assert_eq!(driver.result(KILL, [77, 0, 0, 0, 0, 0]), Err(Errno::ESRCH));
    assert_eq!(driver.result(KILL, [2, 65, 0, 0, 0, 0]), Err(Errno::EINVAL));
    assert_eq!(driver.result(KILL, [u64::MAX, 15, 0, 0, 0, 0]), Err(Errno::ESRCH), "nobody else");
    assert_eq!(driver.result(TKILL, [0, 15, 0, 0, 0, 0]), Err(Errno::EINVAL));
    assert_eq!(driver.result(131, [3, 2, 15, 0, 0, 0]), Err(Errno::ESRCH), "another group");
    let child = driver.fork();
    driver.give_way();
    assert_eq!(driver.result(146, [1000, 0, 0, 0, 0, 0]), Ok(0));
    assert_eq!(driver.result(KILL, [2, 15, 0, 0, 0, 0]), Err(Errno::EPERM));
    assert_eq!(driver.result(KILL, [1, 15, 0, 0, 0, 0]), Err(Errno::EPERM));
    assert_eq!(driver.result(KILL, [2, 18, 0, 0, 0, 0]), Ok(0), "SIGCONT in the session");
    driver.give_way();
    assert_eq!(driver.result(KILL, [child, 15, 0, 0, 0, 0]), Ok(0));
    assert_eq!(driver.result(KILL, [child, 15, 0, 0, 0, 0]), Ok(0), "it is dead and still there");
    assert_eq!(driver.result(260, [child, DATA, 0, 0, 0, 0]), Ok(child));
    assert_eq!(driver.half(DATA), 15);
    assert_eq!(driver.result(KILL, [child, 15, 0, 0, 0, 0]), Err(Errno::ESRCH));
}

#[test]
fn a_group_is_signalled_in_whole() {
    let mut driver = running();
    let children = [driver.fork(), driver.fork()];
    assert_eq!(driver.result(154, [children[1], 0, 0, 0, 0, 0]), Ok(0));
    driver.act(15, 1, 0, 0);
    assert_eq!(driver.result(KILL, [0, 15, 0, 0, 0, 0]), Ok(0));
    let other = children[1].wrapping_neg();
    assert_eq!(driver.result(260, [children[0], 0, 0, 0, 0, 0]), Ok(children[0]));
    assert_eq!(driver.result(KILL, [other, 15, 0, 0, 0, 0]), Ok(0));
    assert_eq!(driver.result(260, [other, 0, 0, 0, 0, 0]), Ok(children[1]));
    assert_eq!(driver.result(KILL, [other, 15, 0, 0, 0, 0]), Err(Errno::ESRCH));
}

/// CASES 33: the thread that faulted gets the signal; one that waits with a lower number does not swallow it.
#[test]
fn a_fault_is_a_signal_for_the_thread_that_faulted() {
    let mut driver = running();
    driver.handle(11, 0, 0);
    driver.handle(7, 0, 0);
    driver.set_mask(bit(7));
    driver.kill_self(7);
    let thread = driver.thread();
    driver.server().threads.get_mut(thread).unwrap().mask = 0;
    let before = *driver.registers();
    let fault = Fault { cause: 2 << 16, address: 0x1_2000_0010, instruction: 0 };
    driver.next = driver.posix.faulted(fault);
    // Both are delivered, the fault's first: its frame lies below, and the other's handler runs first.
    assert_eq!(driver.handled(), Some(7));
    driver.sigreturn();
    assert_eq!(driver.handled(), Some(11));
    let frame = driver.sp();
    assert_eq!([0, 8].map(|at| driver.half(frame + at)), [11, 2], "SEGV_ACCERR");
    assert_eq!(driver.peek_word(frame + 16), 0x1_2000_0010);
    assert_eq!(driver.peek_word(frame + REGISTERS), before.pc, "the instruction itself");
    assert_eq!(driver.half(frame + 568), 1 << 31, "a store");
    driver.sigreturn();
    assert_eq!(driver.registers().general[12..=20], before.general[12..=20], "no call, no zeros");
    // Held off or ignored it kills.
    for ignored in [false, true] {
        let mut driver = running();
        driver.handle(11, 0, 0);
        if ignored {
            driver.act(11, 1, 0, 0);
        } else {
            driver.set_mask(bit(11));
        }
        driver.next = driver.posix.faulted(fault);
        assert_eq!(driver.next, Next::Finished);
        assert_eq!(ended(&mut driver), Some(Event::Ended(Pid(2), Status::Killed(Signal(11)))));
    }
}

#[test]
fn a_signal_for_the_process_goes_to_a_thread_that_takes_it() {
    let mut driver = running();
    driver.handle(10, 0, 0);
    driver.clone_thread(SCRATCH + 0xe000, SCRATCH);
    driver.set_mask(bit(10));
    let first = driver.context().unwrap();
    assert_eq!(driver.kill_self(10), Some(0), "the caller holds it off");
    driver.give_way();
    assert_ne!(driver.context(), Some(first));
    assert_eq!(driver.handled(), Some(10));
    // One for a thread waits for that thread.
    driver.sigreturn();
    assert_eq!(driver.call(TKILL, [2, 10, 0, 0, 0, 0]), Some(0));
    driver.give_way();
    assert_eq!(driver.context(), Some(first));
    assert_eq!(driver.handled(), None);
    driver.set_mask(0);
    assert_eq!(driver.handled(), Some(10));
    let frame = driver.sp();
    assert_eq!(driver.half(frame + 8), (-6_i32).cast_unsigned(), "SI_TKILL");
}

#[test]
fn execve_forgets_handlers_and_keeps_what_is_ignored_and_what_waits() {
    let mut driver = running();
    driver.handle(10, 0, 0);
    driver.act(12, 1, 0, 0);
    driver.set_mask(bit(15));
    driver.kill_self(15);
    driver.poke(SCRATCH, b"/bin/program\0");
    assert_eq!(driver.call(221, [SCRATCH, 0, 0, 0, 0, 0]), None);
    assert_eq!(driver.mask(), bit(15));
    assert_eq!(driver.kill_self(12), Some(0));
    let server = driver.server();
    let process = server.acting.unwrap().process;
    assert_eq!(server.action(process, Signal(10)).handler, 0);
    assert_eq!(server.processes.get(process).unwrap().signals.pending.set(), bit(15));
}

#[test]
fn a_forked_child_has_the_handlers_and_the_mask_and_nothing_that_waits() {
    let mut driver = running();
    driver.handle(10, 0, 0);
    driver.set_mask(bit(15));
    driver.kill_self(15);
    driver.fork();
    driver.give_way();
    assert_eq!(driver.mask(), bit(15));
    driver.call(SIGPENDING, [DATA, 8, 0, 0, 0, 0]);
    assert_eq!(driver.peek_word(DATA), 0);
    driver.act(10, 1, 0, 0);
    driver.give_way();
    driver.kill_self(10);
    assert_eq!(driver.handled(), Some(10), "the parent's own is as it was");
}
