//! The table: in order, with Linux's numbers, an answer to every number, and EFAULT for every bad pointer.

use super::argument::Kind;
use super::entries::{Answer, Entries, LENGTH};
use super::table::{ROWS, Row};
use super::{names, strace};
use crate::Errno;
use crate::address::{LOWER_HALF_END, PAGE_BYTES};
use crate::mock::Mock;
use crate::testing::driver::{Driver, SCRATCH};
use proptest::prelude::*;
use std::vec::Vec;

#[test]
fn rows_ascend_and_have_linuxs_names() {
    assert!(ROWS.windows(2).all(|pair| pair[0].number < pair[1].number));
    for row in ROWS {
        assert_eq!(names::name(row.number), Some(row.name));
        assert!(usize::try_from(row.number).unwrap() < LENGTH);
        assert!(row.arguments.len() <= 6);
    }
}

/// C-14: every number reaches an answer; what is not there is counted once for each call.
#[test]
fn every_number_has_an_answer() {
    let mut driver = Driver::with_scratch();
    let enosys = Errno::ENOSYS.to_result();
    let unknown = |number: &u64| super::row(*number).is_none();
    for number in (0..4096).chain([1 << 63, u64::MAX, 1 << 32, (1 << 32) + 63]).filter(unknown) {
        assert_eq!(driver.call(number, [u64::MAX; 6]), Some(enosys), "{number}");
    }
    assert_eq!(driver.call(1 << 63, [0; 6]), Some(enosys));
    let counted: Vec<_> = driver.server().unknown.iter().collect();
    assert_eq!(counted[0], (0, 1));
    assert_eq!(counted.len(), 512, "no program fills memory with numbers");
    assert!(driver.server().host.logged[0].contains("io_setup"));
}

/// What a pointer argument is given, and what the call may not touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bad {
    UpperHalf,
    DirectMap,
    Last,
    Wraps,
    Hole,
    ReadOnly,
    NextPage,
}

const EVERY_BAD: [Bad; 7] =
    [Bad::UpperHalf, Bad::DirectMap, Bad::Last, Bad::Wraps, Bad::Hole, Bad::ReadOnly, Bad::NextPage];
/// A page that may be read only, and a writable one whose neighbour is missing.
const READ_ONLY: u64 = SCRATCH + 0x10_0000;
const LONELY: u64 = SCRATCH + 0x20_0000;

fn address(bad: Bad) -> u64 {
    match bad {
        Bad::UpperHalf => 0xffff_8000_0000_0000,
        Bad::DirectMap => 0x9000_0000_0000_0000,
        Bad::Last => LOWER_HALF_END - 1,
        Bad::Wraps => u64::MAX - 2,
        Bad::Hole => SCRATCH + 0x30_0000,
        Bad::ReadOnly => READ_ONLY,
        Bad::NextPage => LONELY + PAGE_BYTES - 1,
    }
}

/// An argument that is right: the call goes as far as the pointer under test.
fn good(row: &Row, kind: Kind, position: usize) -> u64 {
    let place = SCRATCH + position as u64 * 0x1000;
    match (row.name, kind) {
        ("getdents64" | "fchdir", Kind::Fd) => 4,
        ("sendfile", Kind::Fd) if position == 0 => 5,
        ("copy_file_range", Kind::Fd) if position == 2 => 5,
        ("pwrite64" | "pwritev", Kind::Fd) => 5,
        ("mknodat" | "mkdirat", Kind::Path) => SCRATCH + 0x8200,
        ("symlinkat", Kind::Path) if position == 2 => SCRATCH + 0x8200,
        ("linkat" | "renameat2", Kind::Path) if position == 3 => SCRATCH + 0x8200,
        ("chdir", Kind::Path) => SCRATCH + 0x8100,
        ("ppoll", Kind::Size) => 8,
        ("pwritev" | "preadv", Kind::Size) if position == 2 => 2,
        ("pwritev" | "preadv", Kind::Size) => 0,
        ("pwrite64", Kind::Size) if position == 3 => 0,
        ("read" | "readv" | "pread64" | "preadv" | "lseek" | "fstat" | "fstatfs", Kind::Fd) => 3,
        ("sendfile" | "copy_file_range", Kind::Fd) => 3,
        ("write" | "writev", Kind::Fd) => 1,
        ("readv" | "writev", Kind::Size) => 2,
        ("clone3", Kind::Size) => 88,
        ("capget" | "capset", Kind::In(8)) => SCRATCH + 0xa000,
        ("sched_setaffinity", Kind::In(8)) => SCRATCH + 0x8000,
        ("waitid" | "getitimer" | "setitimer", Kind::Uint) => 0,
        ("sigaltstack", Kind::InOptional(_)) => SCRATCH + 0xa100,
        ("rt_sigqueueinfo" | "rt_tgsigqueueinfo", Kind::Int) => {
            if row.arguments[position].name == "signal" {
                0
            } else {
                2
            }
        }
        ("waitid", Kind::Hex) => 4,
        (
            "rt_sigprocmask" | "rt_sigaction" | "rt_sigpending" | "rt_sigsuspend" | "rt_sigtimedwait"
            | "signalfd4",
            Kind::Size,
        ) => 8,
        ("signalfd4", Kind::Int) => u64::MAX,
        ("rt_sigprocmask", Kind::Int) => 2,
        ("pread64", Kind::Size) if position == 3 => 0,
        // A wait for a word that has not the value is answered by EAGAIN before its time-out matters.
        ("futex", Kind::Hex) => 128,
        ("prlimit64", Kind::Uint) => 3,
        ("getrandom" | "newfstatat" | "statx" | "faccessat2", Kind::Hex) => 0,
        ("faccessat" | "faccessat2" | "openat", Kind::Octal) => 0,
        (_, Kind::DirFd) => u64::MAX - 99,
        (_, Kind::Size) => 64,
        (_, Kind::Signal) if row.name.contains("queue") => 0,
        (_, Kind::Int | Kind::Signal) => 64,
        (_, Kind::Uint) => 8,
        ("prctl", _) => 0,
        (_, Kind::Path) => SCRATCH + 0x8000,
        (_, Kind::Strings) => 0,
        (_, Kind::VectorIn(_) | Kind::VectorOut(_)) => SCRATCH + 0x9000,
        (_, kind) if kind.is_pointer() => place,
        _ => 0,
    }
}

fn arguments(row: &Row) -> [u64; 6] {
    let mut words = [0; 6];
    for (position, argument) in row.arguments.iter().enumerate() {
        words[position] = match row.name {
            "getrusage" if argument.kind == Kind::Int => 0,
            name if name.starts_with("sched_") && argument.kind == Kind::Int => 0,
            "prlimit64" if argument.kind == Kind::Int => 0,
            "get_robust_list" if argument.kind == Kind::Int => 0,
            _ => good(row, argument.kind, position),
        };
    }
    words
}

fn prepared() -> Driver {
    let mut driver = Driver::with_scratch();
    driver.poke(SCRATCH + 0x8000, b"/text\0");
    driver.poke(SCRATCH + 0x8100, b"/\0");
    driver.poke(SCRATCH + 0x8200, b"/new\0");
    driver.poke(SCRATCH + 0x8300, b"/written\0");
    driver.poke(SCRATCH + 0xa000, &0x2008_0522_u32.to_le_bytes());
    // A stack that is none.
    driver.poke(SCRATCH + 0xa108, &2_u32.to_le_bytes());
    // Two good pieces for readv and writev.
    for (number, word) in [SCRATCH, 4, SCRATCH + 8, 4].iter().enumerate() {
        driver.poke(SCRATCH + 0x9000 + number as u64 * 8, &word.to_le_bytes());
    }
    let at = u64::MAX - 99;
    assert_eq!(driver.call(56, [at, SCRATCH + 0x8000, 0, 0, 0, 0]), Some(3));
    assert_eq!(driver.call(56, [at, SCRATCH + 0x8100, 0, 0, 0, 0]), Some(4));
    assert_eq!(driver.call(56, [at, SCRATCH + 0x8300, 0o102, 0o644, 0, 0]), Some(5));
    assert_eq!(driver.call(222, [READ_ONLY, PAGE_BYTES, 1, 0x32, 0, 0]), Some(READ_ONLY));
    assert_eq!(driver.call(222, [LONELY, PAGE_BYTES, 3, 0x32, 0, 0]), Some(LONELY));
    driver.poke(LONELY + PAGE_BYTES - 1, &[1]);
    driver
}

/// Whether a bad value is one for this argument.
fn applies(kind: Kind, bad: Bad) -> bool {
    match bad {
        Bad::ReadOnly => kind.is_written(),
        // The call would have to reach beyond the page.
        Bad::NextPage => !matches!(kind, Kind::Word),
        _ => true,
    }
}

/// CASES 21b.
#[test]
fn every_pointer_argument_refuses_every_bad_value() {
    let mut tried = 0;
    for row in ROWS {
        for (position, argument) in row.arguments.iter().enumerate() {
            for bad in
                EVERY_BAD.into_iter().filter(|bad| argument.kind.is_pointer() && applies(argument.kind, *bad))
            {
                let mut driver = prepared();
                let mut words = arguments(row);
                words[position] = address(bad);
                // The mock ends the test if the server touches anything above 2^47.
                let result = driver.result(row.number, words);
                let pieces = matches!(argument.kind, Kind::BufferIn(_) | Kind::BufferOut(_));
                let expected: &[Result<u64, Errno>] = match (row.name, argument.kind, bad) {
                    // A short result where a byte came through.
                    ("write" | "pwrite64", _, Bad::NextPage) => &[Ok(1)],
                    ("read" | "pread64" | "getrandom", _, Bad::NextPage) => &[Ok(1)],
                    // The word is not aligned there.
                    ("futex", Kind::Word, Bad::Last | Bad::Wraps) => &[Err(Errno::EINVAL)],
                    // A link's target would be read; a file that is no link is found out first.
                    ("readlinkat", Kind::BufferOut(_), _) => &[Err(Errno::EINVAL)],
                    ("clone3", _, Bad::NextPage) if pieces => &[Err(Errno::EFAULT)],
                    // Written only when there was a signal, or somebody to wait for.
                    ("rt_sigtimedwait", Kind::OutOptional(_), _) => &[Err(Errno::EAGAIN)],
                    ("wait4", ..) | ("waitid", Kind::OutOptional(144), _) => &[Err(Errno::ECHILD)],
                    _ => &[Err(Errno::EFAULT)],
                };
                assert!(expected.contains(&result), "{} {} {bad:?}: {result:?}", row.name, argument.name);
                tried += 1;
            }
        }
    }
    assert!(tried > 200, "only {tried} tried");
}

/// The buffers that a vector names are checked as the vector is.
#[test]
fn every_buffer_of_a_vector_refuses_every_bad_value() {
    for (number, written) in [(65, true), (66, false)] {
        for bad in EVERY_BAD.into_iter().filter(|bad| written || *bad != Bad::ReadOnly) {
            let mut driver = prepared();
            driver.poke(SCRATCH + 0x9000, &address(bad).to_le_bytes());
            let fd = if written { 3 } else { 1 };
            let result = driver.result(number, [fd, SCRATCH + 0x9000, 2, 0, 0, 0]);
            let expected = if bad == Bad::NextPage { Ok(1) } else { Err(Errno::EFAULT) };
            assert_eq!(result, expected, "{number} {bad:?}");
        }
    }
}

#[test]
fn good_arguments_are_taken() {
    // The test above would pass if the calls failed before they looked at their pointers.
    for row in ROWS.iter().filter(|row| row.arguments.iter().any(|argument| argument.kind.is_pointer())) {
        if matches!(
            row.name,
            "execve"
                | "nanosleep"
                | "clock_nanosleep"
                | "clone3"
                | "readlinkat"
                | "futex"
                | "wait4"
                | "waitid"
                | "rt_sigsuspend"
                | "rt_sigtimedwait"
        ) {
            continue;
        }
        let mut driver = prepared();
        let mut words = arguments(row);
        if row.name == "prlimit64" {
            words[2] = 0;
        }
        let result = driver.result(row.number, words);
        assert!(result.is_ok(), "{}: {result:?}", row.name);
    }
}

#[test]
fn strace_prints_calls_as_people_read_them() {
    let mut driver = prepared();
    let trace = |driver: &mut Driver, number: u64, words: [u64; 6]| {
        let [a0, a1, a2, a3, a4, a5] = words;
        let entry = Entries::<Mock>::TRACED[usize::try_from(number).unwrap()];
        let answer = entry(a0, a1, a2, a3, a4, a5, &mut driver.posix, number);
        assert_eq!(answer.next, Answer::GOES_ON);
        driver.server().host.traced.last().unwrap().clone()
    };
    let at = u64::MAX - 99;
    let line = trace(&mut driver, 56, [at, SCRATCH + 0x8000, 0, 0, 0, 0]);
    assert_eq!(line, "[2] openat(AT_FDCWD, \"/text\", 0o0, 0o0) = 6");
    driver.poke(SCRATCH, b"hi\n");
    let line = trace(&mut driver, 64, [1, SCRATCH, 3, 0, 0, 0]);
    assert_eq!(line, "[2] write(1, \"hi\\n\", 3) = 3");
    let line = trace(&mut driver, 64, [9, 1 << 60, 3, 0, 0, 0]);
    assert_eq!(line, "[2] write(9, 0x1000000000000000, 3) = -1 EBADF");
    let line = trace(&mut driver, 200, [1, 2, 3, 4, 5, 6]);
    assert!(line.contains("bind(0x1, 0x2, 0x3, 0x4, 0x5, 0x6) = -1 ENOSYS"), "{line}");
    assert_eq!(strace::result(u64::MAX - 4094), "-1 errno 4095");
}

proptest! {
    /// Whatever a program passes, the server answers, and the program's end gives everything back.
    #[test]
    fn random_calls_do_no_harm(calls in prop::collection::vec((0..ROWS.len(), prop::array::uniform6(word())), 1..40)) {
        let mut driver = prepared();
        for (row, words) in calls {
            if driver.context().is_none() {
                break;
            }
            driver.call(ROWS[row].number, words);
        }
        let server = driver.server();
        let first = |server: &crate::server::Server<Mock>| server.processes.iter().next().map(|(id, _)| id);
        while let Some(process) = first(server) {
            server.end_process(process, crate::process::Status::Exited(0));
        }
        driver.next = driver.posix.schedule();
        let server = driver.server();
        prop_assert_eq!(server.free_spaces.len(), 8);
        prop_assert_eq!(server.free_contexts.len(), 16);
        prop_assert!(server.files.open.is_empty());
        prop_assert!(server.host.mapped.is_empty());
        prop_assert_eq!(server.waits.in_use(), 69);
    }
}

fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..8_u64,
        Just(u64::MAX),
        Just(u64::MAX - 99),
        prop::sample::select(EVERY_BAD.to_vec()).prop_map(address),
        (0..0x1_0000_u64).prop_map(|offset| SCRATCH + offset),
        (0..16_u64).prop_map(|page| SCRATCH + page * PAGE_BYTES),
        (0..64_u32).prop_map(|bit| 1 << bit),
        Just(PAGE_BYTES),
        Just(0x22),
        Just(0x32),
        Just(0x7d_0f00),
        any::<u64>(),
    ]
}

/// C-45: what a program makes the server remember ends before the server's own memory does.
#[test]
fn a_server_that_is_low_on_memory_refuses_to_remember_more() {
    let mut driver = Driver::with_scratch();
    let (mmap, munmap, getpid) = (222, 215, 172);
    let anonymous = [0, PAGE_BYTES, 3, 0x22, u64::MAX, 0];
    let area = driver.call(mmap, anonymous).unwrap();
    driver.server().host.reserve = crate::host::Reserve::Low;
    assert_eq!(driver.call(mmap, anonymous), Some(Errno::ENOMEM.to_result()));
    assert_eq!(driver.call(munmap, [area, PAGE_BYTES, 0, 0, 0, 0]), Some(0), "giving back is never refused");
    assert!(driver.call(getpid, [0; 6]).unwrap() > 0);
    // Files go first: whoever removes them is let in.
    driver.server().host.reserve = crate::host::Reserve::Scarce;
    assert_eq!(driver.result(34, [0; 6]), Err(Errno::ENOSPC));
    assert_eq!(driver.result(138, [0; 6]), Err(Errno::EFAULT));
    driver.server().host.reserve = crate::host::Reserve::Low;
    assert_eq!(driver.result(138, [0; 6]), Err(Errno::EAGAIN));
    driver.server().host.reserve = crate::host::Reserve::Plenty;
    assert_eq!(driver.call(mmap, anonymous), Some(area));
}
