//! Who runs, for how long, and what interrupts it.

use crate::Errno;
use crate::executor::run_queue::SLICE_NS;
use crate::host::{Exit, Input};
use crate::mock::Mock;
use crate::process::fault::Fault;
use crate::process::schedule::Next;
use crate::process::{Pid, Signal, Status};
use crate::server::Event;
use crate::signal::action::Action;
use crate::signal::info::Info;
use crate::signal::send::Target;
use crate::testing::driver::{Driver, SCRATCH};

#[test]
fn a_lone_program_has_no_alarm_and_two_share_the_processor() {
    let mut driver = Driver::with_scratch();
    assert_eq!(driver.server().host.alarms_armed, 0);
    driver.clone_thread(SCRATCH + 0x8000, SCRATCH);
    let first = driver.thread();
    for _ in 0..2 {
        driver.server().host.now_ns += SLICE_NS;
        driver.next = driver.posix.interrupted();
    }
    let second = driver.thread();
    assert_ne!(first, second);
    for _ in 0..2 {
        driver.server().host.now_ns += SLICE_NS;
        driver.next = driver.posix.interrupted();
    }
    assert_eq!(driver.thread(), first);
    assert!(matches!(driver.next, Next::Enter(_, Exit::Full)));
    assert!(driver.server().host.alarms_armed >= 3);
}

#[test]
fn a_mask_is_kept_by_each_thread() {
    let mut driver = Driver::with_scratch();
    driver.poke(SCRATCH, &u64::MAX.to_le_bytes());
    assert_eq!(driver.call(135, [0, SCRATCH, SCRATCH + 8, 8, 0, 0]), Some(0));
    assert_eq!(driver.peek_word(SCRATCH + 8), 0);
    assert_eq!(driver.call(135, [9, 0, SCRATCH + 8, 8, 0, 0]), Some(0));
    assert_eq!(driver.peek_word(SCRATCH + 8), !(1 << 8 | 1 << 18));
    assert_eq!(driver.result(135, [9, SCRATCH, 0, 8, 0, 0]), Err(Errno::EINVAL));
    assert_eq!(driver.result(135, [0, SCRATCH, 0, 16, 0, 0]), Err(Errno::EINVAL));
    driver.clone_thread(SCRATCH + 0x8000, SCRATCH + 0x100);
    driver.poke(SCRATCH, &1_u64.to_le_bytes());
    assert_eq!(driver.call(135, [1, SCRATCH, 0, 8, 0, 0]), Some(0));
    driver.call(124, [0; 6]);
    assert_eq!(driver.call(135, [0, 0, SCRATCH + 8, 8, 0, 0]), Some(0));
    assert_eq!(driver.peek_word(SCRATCH + 8) & 1, 1, "the child has its parent's mask as it was");
}

/// execve by another than the first thread: it becomes the process, the others end, even in their waits.
#[test]
fn execve_leaves_one_thread_with_the_processs_number() {
    let mut driver = Driver::with_scratch();
    let waits = driver.server().waits.in_use();
    driver.poke(SCRATCH, b"/bin/program\0");
    driver.clone_thread(SCRATCH + 0x8000, SCRATCH + 0x100);
    assert_eq!(driver.call(98, [SCRATCH + 0x200, 128, 0, 0, 0, 0]), None);
    assert_eq!(driver.call(178, [0; 6]), Some(3));
    assert_eq!(driver.call(221, [SCRATCH, 0, 0, 0, 0, 0]), None);
    assert_eq!((driver.call(178, [0; 6]), driver.call(172, [0; 6])), (Some(2), Some(2)));
    let context = driver.context().unwrap();
    let server = driver.server();
    assert_eq!(server.host.context(context).identity.tid, 2);
    assert_eq!((server.threads.len(), server.waits.in_use()), (1, waits));
    driver.call(94, [0; 6]);
    assert_eq!(driver.next, Next::Finished);
    assert_eq!(driver.server().free_contexts.len(), 16);
}

/// Idle time is no program's processor time.
#[test]
fn processor_time_is_charged_to_who_ran() {
    let mut driver = Driver::with_scratch();
    let used = |driver: &mut Driver| {
        driver.call(113, [2, SCRATCH + 64, 0, 0, 0, 0]);
        driver.peek_word(SCRATCH + 64) * 1_000_000_000 + driver.peek_word(SCRATCH + 72)
    };
    driver.server().host.now_ns += 500;
    let before = used(&mut driver);
    assert!(before >= 500);
    driver.poke(SCRATCH, &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    driver.call(101, [SCRATCH, 0, 0, 0, 0, 0]);
    driver.server().host.now_ns += 1_000_000_000;
    driver.wake();
    driver.server().host.now_ns += 7;
    assert_eq!(used(&mut driver), before + 7);
}

#[test]
fn faults_are_resolved_or_end_the_program() {
    let fault = |exception: u64, address, instruction| Fault { cause: exception << 16, address, instruction };
    let mut driver = Driver::with_scratch();
    let next = driver.posix.faulted(fault(2, SCRATCH + 0x4000, 0));
    assert!(matches!(next, Next::Enter(_, Exit::Full)));
    assert_eq!(driver.peek(SCRATCH + 0x4000, 1), [0]);
    for (fault, signal) in [
        (fault(1, 0, 0), 11),
        (fault(2, 0x1_2000_0000, 0), 11),
        (fault(1, 0xffff_8000_0000_0000, 0), 11),
        (fault(1, 0x8000_0000_0000, 0), 11),
        (fault(7, 0xffff_8000_0000_0000, 0), 11),
        (fault(8, 0x9000_0000_0000_0000, 0), 7),
        (fault(9, 1, 0), 7),
        (fault(0xc, 0, 0x2a_0000), 5),
        (fault(0xc, 0, 0x2a_0007), 8),
        (fault(0xd, 0, 0), 4),
        (fault(0xe, 0, 0), 4),
        (fault(0x12, 0, 0), 8),
        (fault(0x3f, 0, 0), 4),
    ] {
        let mut driver = Driver::with_scratch();
        assert_eq!(driver.posix.faulted(fault), Next::Finished, "{fault:?}");
        let ended = Event::Ended(Pid(2), Status::Killed(Signal(signal)));
        assert_eq!(driver.server().events.pop_front(), Some(ended), "{fault:?}");
    }
}

#[test]
fn leaf_handlers_are_told_who_a_thread_is() {
    let mut driver = Driver::with_scratch();
    driver.clone_thread(SCRATCH + 0x8000, SCRATCH);
    driver.call(124, [0; 6]);
    let context = driver.context().unwrap();
    let identity = driver.server().host.context(context).identity;
    assert_eq!((identity.pid, identity.tid, identity.parent, identity.user), (2, 3, 1, 0));
}

#[test]
fn random_bytes_come_from_the_machines_seed_and_wait_for_it() {
    let mut driver = Driver::with_scratch();
    assert_eq!(driver.call(278, [SCRATCH, 1000, 0, 0, 0, 0]), Some(1000));
    assert_ne!(driver.peek(SCRATCH, 32), driver.peek(SCRATCH + 32, 32));
    assert_eq!(driver.result(278, [SCRATCH, 8, 8, 0, 0, 0]), Err(Errno::EINVAL));
    assert_eq!(driver.result(278, [SCRATCH, 8, 6, 0, 0, 0]), Err(Errno::EINVAL));
    let mut mock = Mock::new();
    mock.seed = None;
    let mut driver = Driver::scratch_on(mock);
    assert_eq!(driver.result(278, [SCRATCH, 8, 1, 0, 0, 0]), Err(Errno::EAGAIN));
    assert_eq!(driver.result(278, [SCRATCH, 8, 4, 0, 0, 0]), Ok(8));
    assert_eq!(driver.call(278, [SCRATCH, 8, 0, 0, 0, 0]), None);
    assert_eq!(driver.next, Next::Idle);
    driver.server().seed([3; 32]);
    driver.wake();
    assert_eq!(driver.a0(), 8);
}

#[test]
fn a_cancelled_wait_gives_eintr_and_what_was_left() {
    let mut driver = Driver::with_scratch();
    driver.poke(SCRATCH, &[9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let thread = driver.thread();
    assert_eq!(driver.call(101, [SCRATCH, SCRATCH + 64, 0, 0, 0, 0]), None);
    driver.server().host.now_ns += 2_000_000_000;
    let server = driver.server();
    let record = server.threads.get_mut(thread).unwrap();
    let (process, context) = (record.process, record.context);
    let action = Action { handler: 0x1_2000_0400, flags: 0, mask: 0 };
    server.processes.get_mut(process).unwrap().signals.actions.set(Signal(10), action);
    server.host.context(context).registers.general[3] = SCRATCH + 0x8000;
    server.send_signal(Target::Process(process), Signal(10), Info::new(Signal(10), 0)).unwrap();
    driver.next = driver.posix.schedule();
    assert_eq!((driver.a0(), driver.next), (10, Next::Enter(context, Exit::Full)));
    let sp = driver.server().host.context(context).registers.general[3];
    assert_eq!(driver.peek_word(sp + 304 + 8 + 4 * 8), Errno::EINTR.to_result());
    assert_eq!(driver.peek_word(SCRATCH + 64), 7);
}

#[test]
fn the_mock_keeps_input_until_it_is_taken() {
    use crate::host::Host;
    let mut mock = Mock::new();
    mock.input.extend(b"abc");
    let mut buffer = [0; 2];
    assert_eq!(mock.peek_input(&mut buffer), Input::Bytes(2));
    mock.take_input(1);
    assert_eq!(mock.peek_input(&mut buffer), Input::Bytes(2));
    assert_eq!(&buffer, b"bc");
}
