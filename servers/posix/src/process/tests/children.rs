//! fork, wait, families, groups, users: what a process leaves and to whom.

use crate::Errno;
use crate::address::PAGE_BYTES;
use crate::process::schedule::Next;
use crate::process::{Pid, Status};
use crate::server::Event;
use crate::testing::driver::{Driver, SCRATCH};

const FORK: u64 = 220;
const WAIT4: u64 = 260;
const ANY: u64 = u64::MAX;
const EXIT: u64 = 94;
const SIGCHLD: u64 = 17;

impl Driver {
    /// fork: the parent goes on; the child's pid.
    pub(crate) fn fork(&mut self) -> u64 {
        self.call(FORK, [SIGCHLD, 0, 0, 0, 0, 0]).unwrap()
    }

    /// Lets the others have their turn.
    pub(crate) fn give_way(&mut self) {
        self.call(124, [0; 6]);
    }

    pub(crate) fn pid(&mut self) -> u64 {
        self.call(172, [0; 6]).unwrap()
    }

    /// Everything that a program can leave behind.
    pub(crate) fn held(&mut self) -> [usize; 8] {
        let server = self.server();
        let free = usize::try_from(server.memory.frames.free_count()).unwrap();
        [
            server.free_spaces.len(),
            server.free_contexts.len(),
            server.processes.len(),
            server.files.open.len(),
            server.files.descriptors.len(),
            server.waits.in_use(),
            server.numbers.in_use(),
            free,
        ]
    }
}

#[test]
fn a_child_has_its_own_memory_and_its_parent_gets_its_status() {
    let mut driver = Driver::with_scratch();
    driver.poke(SCRATCH, &7_u32.to_le_bytes());
    driver.call(EXIT + 2, [SCRATCH + 8, 0, 0, 0, 0, 0]);
    let before = driver.held();
    let child = driver.fork();
    assert_eq!(child, 3);
    assert_eq!(driver.result(WAIT4, [ANY, 0, 1, 0, 0, 0]), Ok(0), "WNOHANG");
    assert_eq!(driver.call(WAIT4, [ANY, SCRATCH, 0, SCRATCH + 64, 0, 0]), None);
    assert_eq!((driver.pid(), driver.call(173, [0; 6]), driver.a0()), (3, Some(2), 0));
    assert_eq!(driver.peek(SCRATCH, 4), 7_u32.to_le_bytes());
    driver.poke(SCRATCH, &8_u32.to_le_bytes());
    driver.call(EXIT, [0x107, 0, 0, 0, 0, 0]);
    assert_eq!((driver.a0(), driver.pid()), (child, 2));
    assert_eq!(driver.peek(SCRATCH, 4), 0x700_u32.to_le_bytes());
    assert_eq!(driver.peek_word(SCRATCH + 72), 0);
    let mut after = driver.held();
    // The parent has its own page again, and the one for the status.
    after[7] = before[7];
    assert_eq!(after, before);
    assert_eq!(driver.result(WAIT4, [ANY, 0, 0, 0, 0, 0]), Err(Errno::ECHILD));
}

#[test]
fn the_tid_is_stored_in_the_memory_of_whom_the_flags_name() {
    let mut driver = Driver::with_scratch();
    driver.poke(SCRATCH, &[0; 16]);
    // CHILD_SETTID, CHILD_CLEARTID, PARENT_SETTID.
    let flags = 0x100_0000 | 0x20_0000 | 0x10_0000 | SIGCHLD;
    assert_eq!(driver.call(FORK, [flags, 0, SCRATCH, SCRATCH + 8, 0, 0]), Some(3));
    assert_eq!((driver.peek_word(SCRATCH), driver.peek_word(SCRATCH + 8)), (3, 0));
    driver.give_way();
    assert_eq!((driver.pid(), driver.peek_word(SCRATCH), driver.peek_word(SCRATCH + 8)), (3, 0, 3));
}

#[test]
fn a_vfork_lends_the_memory_until_the_child_ends_or_executes() {
    for executes in [false, true] {
        let mut driver = Driver::with_scratch();
        driver.poke(SCRATCH, b"/bin/program\0");
        let before = driver.held();
        assert_eq!(driver.call(FORK, [0x4100 | SIGCHLD, 0, 0, 0, 0, 0]), None);
        assert_eq!((driver.pid(), driver.server().spaces.len()), (3, 1));
        driver.give_way();
        assert_eq!(driver.pid(), 3, "the parent waits");
        driver.poke(SCRATCH + 0x100, &[9]);
        if executes {
            assert_eq!(driver.call(221, [SCRATCH, 0, 0, 0, 0, 0]), None);
            assert_eq!(driver.server().spaces.len(), 2);
            driver.give_way();
        } else {
            driver.call(EXIT, [3, 0, 0, 0, 0, 0]);
        }
        assert_eq!((driver.a0(), driver.pid()), (3, 2));
        assert_eq!(driver.peek(SCRATCH + 0x100, 1), [9]);
        if executes {
            assert_eq!(driver.call(WAIT4, [3, 0, 0, 0, 0, 0]), None);
            driver.call(EXIT, [3, 0, 0, 0, 0, 0]);
            assert_eq!(driver.a0(), 3);
        } else {
            assert_eq!(driver.call(WAIT4, [3, 0, 0, 0, 0, 0]), Some(3));
        }
        let mut after = driver.held();
        after[7] = before[7];
        assert_eq!(after, before);
    }
}

#[test]
fn waitid_says_what_happened_and_leaves_it_if_asked() {
    let mut driver = Driver::with_scratch();
    driver.fork();
    driver.give_way();
    driver.call(EXIT, [5, 0, 0, 0, 0, 0]);
    let info = SCRATCH + 0x100;
    let word =
        |driver: &mut Driver, at: u64| u32::from_le_bytes(driver.peek(info + at, 4).try_into().unwrap());
    for options in [4 | 0x0100_0000, 4] {
        assert_eq!(driver.result(95, [1, 3, info, options, 0, 0]), Ok(0));
        let found = [0, 4, 8, 16, 20, 24].map(|at| word(&mut driver, at));
        assert_eq!(found, [17, 0, 1, 3, 0, 5]);
    }
    assert_eq!(driver.result(95, [1, 3, info, 4, 0, 0]), Err(Errno::ECHILD));
    assert_eq!(word(&mut driver, 0), 0);
    for (words, error) in [
        ([1, 0, 0, 4, 0, 0], Errno::EINVAL),
        ([4, 0, 0, 4, 0, 0], Errno::EINVAL),
        ([0, 0, 0, 1, 0, 0], Errno::EINVAL),
        ([0, 0, 0, 0x104, 0, 0], Errno::EINVAL),
        ([3, 9, 0, 4, 0, 0], Errno::EBADF),
    ] {
        assert_eq!(driver.result(95, words), Err(error), "{words:?}");
    }
    assert_eq!(driver.result(WAIT4, [ANY, 0, 0x1000, 0, 0, 0]), Err(Errno::EINVAL));
    assert_eq!(driver.result(WAIT4, [0x8000_0000, 0, 0, 0, 0, 0]), Err(Errno::ESRCH));
}

#[test]
fn children_with_another_exit_signal_are_waited_for_by_clone_or_all() {
    let mut driver = Driver::with_scratch();
    assert_eq!(driver.call(FORK, [0; 6]), Some(3));
    driver.give_way();
    driver.call(EXIT, [0; 6]);
    assert_eq!(driver.result(WAIT4, [ANY, 0, 0, 0, 0, 0]), Err(Errno::ECHILD));
    assert_eq!(driver.result(WAIT4, [ANY, 0, 0x8000_0000, 0, 0, 0]), Ok(3));
    assert_eq!(driver.call(FORK, [SIGCHLD, 0, 0, 0, 0, 0]), Some(4));
    driver.give_way();
    driver.call(EXIT, [0; 6]);
    assert_eq!(driver.result(WAIT4, [ANY, 0, 0x8000_0000, 0, 0, 0]), Err(Errno::ECHILD));
    assert_eq!(driver.result(WAIT4, [ANY, 0, 0x4000_0000, 0, 0, 0]), Ok(4));
}

#[test]
fn orphans_go_to_init_or_to_who_adopts_and_init_reaps_them() {
    for adopts in [false, true] {
        let mut driver = Driver::with_scratch();
        driver.call(167, [36, u64::from(adopts), 0, 0, 0, 0]);
        driver.fork();
        driver.call(WAIT4, [3, 0, 0, 0, 0, 0]);
        assert_eq!(driver.fork(), 4, "in the child");
        driver.call(EXIT, [0; 6]);
        while driver.pid() != 4 {
            driver.give_way();
        }
        assert_eq!(driver.call(173, [0; 6]), Some(if adopts { 2 } else { 1 }));
        driver.call(EXIT, [0; 6]);
        assert_eq!(driver.pid(), 2);
        let expected = if adopts { Ok(4) } else { Err(Errno::ECHILD) };
        assert_eq!(driver.result(WAIT4, [ANY, 0, 0, 0, 0, 0]), expected);
        assert_eq!(driver.server().processes.len(), 1);
    }
}

#[test]
fn the_end_of_the_last_program_ends_all_that_it_left() {
    let mut driver = Driver::with_scratch();
    driver.fork();
    driver.fork();
    driver.give_way();
    driver.fork();
    while driver.pid() != 2 {
        driver.give_way();
    }
    driver.call(EXIT, [6, 0, 0, 0, 0, 0]);
    assert_eq!(driver.next, Next::Finished);
    assert_eq!(driver.server().events.pop_front(), Some(Event::Ended(Pid(2), Status::Exited(6))));
    assert_eq!(driver.server().events.pop_front(), None);
    let held = driver.held();
    assert_eq!(held[..5], [8, 16, 0, 0, 0]);
    assert_eq!(held[6], 0);
}

#[test]
fn groups_and_sessions_follow_linuxs_rules() {
    let mut driver = Driver::with_scratch();
    assert_eq!((driver.call(155, [0; 6]), driver.call(156, [0; 6])), (Some(2), Some(2)));
    assert_eq!(driver.result(157, [0; 6]), Err(Errno::EPERM), "it leads a group");
    assert_eq!(driver.result(154, [0; 6]), Err(Errno::EPERM), "it leads a session");
    let child = driver.fork();
    assert_eq!(driver.result(154, [child, 77, 0, 0, 0, 0]), Err(Errno::EPERM));
    assert_eq!(driver.result(154, [99, 0, 0, 0, 0, 0]), Err(Errno::ESRCH));
    assert_eq!(driver.result(154, [0, ANY, 0, 0, 0, 0]), Err(Errno::EINVAL));
    assert_eq!(driver.result(154, [child, 0, 0, 0, 0, 0]), Ok(0));
    assert_eq!(driver.result(155, [child, 0, 0, 0, 0, 0]), Ok(child));
    assert_eq!(driver.result(154, [child, 2, 0, 0, 0, 0]), Ok(0), "and back");
    driver.give_way();
    assert_eq!(driver.result(154, [2, 0, 0, 0, 0, 0]), Err(Errno::ESRCH), "its parent");
    assert_eq!(driver.result(157, [0; 6]), Ok(child));
    assert_eq!(driver.call(156, [0; 6]), Some(child));
    driver.give_way();
    assert_eq!(driver.result(154, [child, 0, 0, 0, 0, 0]), Err(Errno::EPERM), "another session");
    assert_eq!(driver.result(156, [child, 0, 0, 0, 0, 0]), Ok(child));
    assert_eq!(driver.result(156, [1000, 0, 0, 0, 0, 0]), Err(Errno::ESRCH));
}

#[test]
fn a_child_that_executed_keeps_its_group() {
    let mut driver = Driver::with_scratch();
    driver.poke(SCRATCH, b"/bin/program\0");
    let child = driver.fork();
    driver.give_way();
    assert_eq!(driver.call(221, [SCRATCH, 0, 0, 0, 0, 0]), None);
    while driver.pid() != 2 {
        driver.give_way();
    }
    assert_eq!(driver.result(154, [child, 0, 0, 0, 0, 0]), Err(Errno::EACCES));
}

#[test]
fn users_change_as_their_privilege_allows() {
    let mut driver = Driver::with_scratch();
    let ids = |driver: &mut Driver| {
        driver.call(148, [SCRATCH, SCRATCH + 4, SCRATCH + 8, 0, 0, 0]);
        [0, 4, 8].map(|at| u32::from_le_bytes(driver.peek(SCRATCH + at, 4).try_into().unwrap()))
    };
    driver.poke(SCRATCH + 64, &[5, 0, 0, 0, 6, 0, 0, 0]);
    assert_eq!(driver.result(159, [2, SCRATCH + 64, 0, 0, 0, 0]), Ok(0));
    assert_eq!(driver.result(158, [0; 6]), Ok(2));
    assert_eq!(driver.result(147, [1000, 1001, 0, 0, 0, 0]), Ok(0), "saved stays root");
    assert_eq!(ids(&mut driver), [1000, 1001, 0]);
    assert_eq!(driver.call(175, [0; 6]), Some(1001));
    assert_eq!(driver.result(159, [0; 6]), Err(Errno::EPERM));
    assert_eq!(driver.result(146, [7, 0, 0, 0, 0, 0]), Err(Errno::EPERM));
    assert_eq!(driver.result(146, [0; 6]), Ok(0), "back by the saved one");
    assert_eq!(ids(&mut driver), [1000, 0, 0]);
    assert_eq!(driver.result(146, [1000, 0, 0, 0, 0, 0]), Ok(0));
    assert_eq!(ids(&mut driver), [1000; 3]);
    assert_eq!(driver.result(145, [ANY, 0, 0, 0, 0, 0]), Err(Errno::EPERM));
    assert_eq!(driver.result(144, [1, 0, 0, 0, 0, 0]), Err(Errno::EPERM));
    driver.poke(SCRATCH, &0x2008_0522_u64.to_le_bytes());
    assert_eq!(driver.result(90, [SCRATCH, SCRATCH + 8, 0, 0, 0, 0]), Ok(0));
    assert_eq!(driver.peek_word(SCRATCH + 8), 0);
    let limits = |driver: &mut Driver, most: u64| {
        driver.poke(SCRATCH, &most.to_le_bytes());
        driver.poke(SCRATCH + 8, &most.to_le_bytes());
        driver.result(261, [0, 6, SCRATCH, 0, 0, 0])
    };
    assert_eq!(limits(&mut driver, 1), Ok(0));
    assert_eq!(driver.result(FORK, [SIGCHLD, 0, 0, 0, 0, 0]), Err(Errno::EAGAIN), "RLIMIT_NPROC");
}

/// CASES 39, as far as one machine's tables go: what runs out is an error, and comes back.
#[test]
fn spaces_contexts_and_tables_run_out_and_come_back() {
    let mut driver = Driver::with_scratch();
    let before = driver.held();
    let mut children = 0;
    while driver.call(FORK, [SIGCHLD, 0, 0, 0, 0, 0]) != Some(Errno::EAGAIN.to_result()) {
        children += 1;
    }
    assert_eq!(children, 7, "as many as there are spaces");
    driver.server().host.tables_left = 0;
    while driver.pid() != 2 || driver.server().processes.len() > 8 {
        driver.give_way();
    }
    for _ in 0..children {
        driver.give_way();
        while driver.pid() == 2 {
            driver.give_way();
        }
        driver.call(EXIT, [0; 6]);
        while driver.pid() != 2 {
            driver.give_way();
        }
        assert!(driver.result(WAIT4, [ANY, 0, 0, 0, 0, 0]).is_ok());
    }
    driver.server().host.tables_left = 0;
    assert_eq!(driver.held(), before);
    assert_eq!(driver.result(FORK, [SIGCHLD, 0, 0, 0, 0, 0]), Err(Errno::ENOMEM), "no page table");
    assert_eq!(driver.held(), before);
    driver.server().host.tables_left = 10_000;
    for _ in 0..1000 {
        driver.fork();
        assert_eq!(driver.call(WAIT4, [ANY, 0, 0, 0, 0, 0]), None);
        driver.poke(SCRATCH + PAGE_BYTES, &[1]);
        driver.call(EXIT, [0; 6]);
    }
    assert_eq!(driver.held(), before, "no drift");
}

#[test]
fn a_thread_that_ends_the_process_ends_the_others_and_a_vfork_in_it() {
    let mut driver = Driver::with_scratch();
    driver.fork();
    assert_eq!(driver.call(WAIT4, [3, 0, 0, 0, 0, 0]), None);
    driver.clone_thread(SCRATCH + 0x8000, SCRATCH);
    assert_eq!(driver.call(FORK, [0x4100 | SIGCHLD, 0, 0, 0, 0, 0]), None);
    while driver.call(178, [0; 6]) != Some(4) {
        driver.give_way();
    }
    driver.call(EXIT, [9, 0, 0, 0, 0, 0]);
    while driver.pid() != 2 {
        driver.call(EXIT, [0; 6]);
    }
    assert_eq!(driver.a0(), 3);
    assert_eq!((driver.server().processes.len(), driver.server().spaces.len()), (1, 1));
}
