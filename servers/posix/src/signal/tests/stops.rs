//! Stopping, going on, and what families hear of it.

use super::*;
use crate::Errno;

const WAIT4: u64 = 260;
const WUNTRACED: u64 = 2;
const WCONTINUED: u64 = 8;

/// A parent and its child in one session, the child in a group of its own; the parent runs.
fn family() -> (Driver, u64) {
    let mut driver = running();
    let child = driver.fork();
    assert_eq!(driver.result(154, [child, 0, 0, 0, 0, 0]), Ok(0));
    (driver, child)
}

#[test]
fn a_stopped_child_is_reported_and_goes_on() {
    for signal in [19, 20, 21, 22] {
        let (mut driver, child) = family();
        assert_eq!(driver.result(KILL, [child, signal, 0, 0, 0, 0]), Ok(0));
        assert_eq!(driver.result(WAIT4, [child, DATA, 1, 0, 0, 0]), Ok(0), "not asked for");
        assert_eq!(driver.result(WAIT4, [child, DATA, WUNTRACED, 0, 0, 0]), Ok(child));
        assert_eq!(u64::from(driver.half(DATA)), signal << 8 | 0x7f);
        assert_eq!(driver.result(WAIT4, [child, DATA, 1 | WUNTRACED, 0, 0, 0]), Ok(0), "once");
        driver.give_way();
        assert_eq!(driver.pid(), 2, "it does not run");
        assert_eq!(driver.result(KILL, [child, 18, 0, 0, 0, 0]), Ok(0));
        assert_eq!(driver.result(WAIT4, [child, DATA, WCONTINUED, 0, 0, 0]), Ok(child));
        assert_eq!(driver.half(DATA), 0xffff);
        driver.give_way();
        assert_eq!(driver.pid(), child);
        // CASES 35: SIGSTOP does not kill, SIGKILL kills what is stopped.
        driver.kill_self(19);
        assert_eq!(driver.pid(), 2);
        assert_eq!(driver.result(KILL, [child, 9, 0, 0, 0, 0]), Ok(0));
        assert_eq!(driver.result(WAIT4, [child, DATA, 0, 0, 0, 0]), Ok(child));
        assert_eq!(driver.half(DATA), 9);
    }
}

#[test]
fn a_child_that_stops_itself_gives_way_and_comes_back_with_its_result() {
    let (mut driver, child) = family();
    driver.give_way();
    let context = driver.context().unwrap();
    driver.of(context).general[4] = 77;
    assert_eq!(driver.kill_self(19), None);
    assert_eq!(driver.pid(), 2);
    driver.call(KILL, [child, 18, 0, 0, 0, 0]);
    driver.give_way();
    assert_eq!((driver.context(), driver.a0()), (Some(context), 0));
}

#[test]
fn a_stop_interrupts_no_wait() {
    let (mut driver, child) = family();
    driver.give_way();
    let context = driver.context().unwrap();
    driver.poke(DATA, &2_u64.to_le_bytes());
    driver.poke(DATA + 8, &0_u64.to_le_bytes());
    assert_eq!(driver.call(101, [DATA, 0, 0, 0, 0, 0]), None);
    for signal in [19, 18, 20, 18] {
        assert_eq!(driver.result(KILL, [child, signal, 0, 0, 0, 0]), Ok(0));
        driver.give_way();
        assert_eq!(driver.pid(), 2, "it sleeps on (CASES 27)");
    }
    driver.server().host.now_ns += 2_000_000_000;
    driver.next = driver.posix.interrupted();
    driver.give_way();
    assert_eq!((driver.context(), driver.a0()), (Some(context), 0));
}

#[test]
fn what_is_stopped_hears_of_a_signal_when_it_goes_on() {
    for handled in [false, true] {
        let (mut driver, child) = family();
        driver.give_way();
        let context = driver.context().unwrap();
        if handled {
            driver.handle(15, 0, 0);
        }
        driver.registers().general[3] = STACK;
        driver.give_way();
        assert_eq!(driver.result(KILL, [child, 19, 0, 0, 0, 0]), Ok(0));
        assert_eq!(driver.result(KILL, [child, 15, 0, 0, 0, 0]), Ok(0));
        assert_eq!(driver.result(WAIT4, [child, DATA, 1, 0, 0, 0]), Ok(0), "it lives");
        assert_eq!(driver.result(KILL, [child, 18, 0, 0, 0, 0]), Ok(0));
        driver.give_way();
        if handled {
            assert_eq!((driver.context(), driver.handled()), (Some(context), Some(15)));
        } else {
            assert_eq!(driver.result(WAIT4, [child, DATA, 1, 0, 0, 0]), Ok(child));
            assert_eq!(driver.half(DATA), 15);
        }
    }
}

#[test]
fn an_orphaned_group_is_not_stopped_from_a_terminal() {
    let mut driver = running();
    // Its parent is init, which is of no session.
    assert_eq!(driver.kill_self(20), Some(0));
    assert_eq!(driver.pid(), 2);
    assert_eq!(driver.kill_self(19), None);
    assert_eq!(driver.next, Next::Idle);
}

/// CASES 36: who could let a stopped group go on ends.
#[test]
fn a_stopped_group_that_is_left_alone_gets_sighup_and_sigcont() {
    let (mut driver, child) = family();
    driver.give_way();
    let grandchild = driver.fork();
    assert_eq!(driver.result(154, [grandchild, 0, 0, 0, 0, 0]), Ok(0));
    assert_eq!(driver.result(KILL, [grandchild, 19, 0, 0, 0, 0]), Ok(0));
    driver.call(94, [0; 6]);
    assert_eq!(driver.result(WAIT4, [child, 0, 0, 0, 0, 0]), Ok(child));
    driver.give_way();
    assert_eq!(driver.result(KILL, [grandchild, 0, 0, 0, 0, 0]), Err(Errno::ESRCH), "SIGHUP ended it");
}

#[test]
fn sigchld_says_what_happened() {
    const NOCLDSTOP: u64 = 1;
    let (mut driver, child) = family();
    driver.handle(17, RESTART, 0);
    let expect = |driver: &mut Driver, code: u32, status: u32| {
        assert_eq!(driver.handled(), Some(17));
        let frame = driver.sp();
        let found = [0, 8, 16, 24].map(|at| driver.half(frame + at));
        assert_eq!(found, [17, code, u32::try_from(child).unwrap(), status]);
        driver.sigreturn();
    };
    driver.call(KILL, [child, 19, 0, 0, 0, 0]);
    expect(&mut driver, 5, 19);
    driver.call(KILL, [child, 18, 0, 0, 0, 0]);
    expect(&mut driver, 6, 18);
    driver.handle(17, RESTART | NOCLDSTOP, 0);
    assert_eq!(driver.call(KILL, [child, 19, 0, 0, 0, 0]), Some(0), "SA_NOCLDSTOP");
    driver.call(KILL, [child, 9, 0, 0, 0, 0]);
    expect(&mut driver, 2, 9);
    assert_eq!(driver.result(WAIT4, [child, 0, 0, 0, 0, 0]), Ok(child));
    let child = driver.fork();
    assert_eq!(driver.call(WAIT4, [child, 0, 0, 0, 0, 0]), None);
    // After exit_group from another thread too.
    driver.clone_thread(SCRATCH + 0xe000, SCRATCH);
    driver.give_way();
    driver.call(94, [6, 0, 0, 0, 0, 0]);
    // The wait has its child, and the handler runs (CASES 30: nothing is left of either).
    assert_eq!(driver.handled(), Some(17));
    let frame = driver.sp();
    assert_eq!([8, 24].map(|at| driver.half(frame + at)), [1, 6]);
    driver.sigreturn();
    assert_eq!(driver.a0(), child);
}

#[test]
fn children_of_who_ignores_sigchld_are_reaped_by_themselves() {
    for (handler, flags) in [(1, 0), (0, 2)] {
        let mut driver = running();
        driver.act(17, handler, flags, 0);
        driver.fork();
        assert_eq!(driver.call(WAIT4, [u64::MAX, 0, 0, 0, 0, 0]), None);
        driver.call(94, [0; 6]);
        assert_eq!(driver.a0(), Errno::ECHILD.to_result());
        assert_eq!(driver.server().processes.len(), 1);
    }
}

#[test]
fn a_parents_end_is_told_to_who_asked() {
    let mut driver = running();
    driver.fork();
    driver.call(WAIT4, [u64::MAX, 0, 0, 0, 0, 0]);
    let grandchild = driver.fork();
    let first = driver.context();
    driver.give_way();
    if driver.context() == first {
        driver.give_way();
    }
    assert_eq!(driver.pid(), grandchild);
    assert_eq!(driver.result(167, [1, 10, 0, 0, 0, 0]), Ok(0));
    driver.handle(10, 0, 0);
    let sp = STACK;
    driver.registers().general[3] = sp;
    driver.give_way();
    driver.call(94, [0; 6]);
    while driver.pid() != grandchild {
        driver.give_way();
    }
    assert_eq!(driver.handled(), Some(10));
}
