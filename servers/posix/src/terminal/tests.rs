//! Terminals behind the calls: the system's own, ptys, windows, hang-ups, and signals read as files.

use super::table::WindowSize;
use crate::Errno;
use crate::host::Stream;
use crate::mock::Mock;
use crate::process::schedule::Next;
use crate::process::{Pid, Signal, Status};
use crate::server::Event;
use crate::testing::archive::Archive;
use crate::testing::driver::{Driver, SCRATCH};
use crate::testing::program;

const CWD: u64 = u64::MAX - 99;
const READ: u64 = 63;
const WRITE: u64 = 64;
const IOCTL: u64 = 29;
const NOCTTY: u64 = 0o402;

/// A program at the system's terminal, with writable pages at SCRATCH.
fn at_terminal() -> Driver {
    let files = Archive::default().directory("bin").file("bin/program", 0o755, &program::usual());
    let mut driver = Driver::on(Mock::new(), files);
    driver.server().open_system_terminal(WindowSize { rows: 24, columns: 80, width: 0, height: 0 });
    driver.start("/bin/program").unwrap();
    assert_eq!(driver.call(222, [SCRATCH, 0x1_0000, 3, 0x32, 0, 0]), Some(SCRATCH));
    driver
}

fn open(driver: &mut Driver, path: &str, flags: u64) -> Result<u64, Errno> {
    driver.poke(SCRATCH, path.as_bytes());
    driver.poke(SCRATCH + path.len() as u64, &[0]);
    driver.result(56, [CWD, SCRATCH, flags, 0, 0, 0])
}

/// The master of a new pty, unlocked, and its terminal.
fn pty(driver: &mut Driver) -> (u64, u64) {
    let master = open(driver, "/dev/ptmx", NOCTTY).unwrap();
    assert_eq!(open(driver, "/dev/pts/0", NOCTTY), Err(Errno::EIO), "it is locked");
    driver.poke(SCRATCH, &0_u32.to_le_bytes());
    assert_eq!(driver.call(IOCTL, [master, 0x4004_5431, SCRATCH, 0, 0, 0]), Some(0));
    (master, open(driver, "/dev/pts/0", NOCTTY).unwrap())
}

fn typed(driver: &mut Driver, bytes: &[u8]) {
    driver.server().host.input.extend(bytes);
    driver.server().input_ready();
}

#[test]
fn a_line_is_edited_echoed_and_read() {
    let mut driver = at_terminal();
    assert_eq!(driver.call(READ, [0, SCRATCH, 100, 0, 0, 0]), None);
    typed(&mut driver, b"ab\x7fc");
    driver.wake();
    assert_eq!(driver.next, Next::Idle, "no line yet");
    typed(&mut driver, b"d\r");
    driver.wake();
    assert_eq!(driver.a0(), 4);
    assert_eq!(driver.peek(SCRATCH, 4), b"acd\n");
    assert_eq!(driver.call(WRITE, [2, SCRATCH, 4, 0, 0, 0]), Some(4));
    assert_eq!(driver.server().host.output(Stream::StandardOutput), b"ab\x08 \x08cd\r\nacd\r\n");
    typed(&mut driver, b"\x04");
    assert_eq!(driver.call(READ, [0, SCRATCH, 100, 0, 0, 0]), Some(0), "the end of input, once");
}

#[test]
fn control_c_ends_the_foreground_though_nobody_reads() {
    let mut driver = at_terminal();
    assert_eq!(driver.call(IOCTL, [0, 0x540f, SCRATCH, 0, 0, 0]), Some(0));
    assert_eq!(driver.peek(SCRATCH, 4), 2_u32.to_le_bytes());
    typed(&mut driver, b"\x03");
    driver.next = driver.posix.schedule();
    assert_eq!(driver.next, Next::Finished);
    let ended = Event::Ended(Pid(2), Status::Killed(Signal::SIGINT));
    assert_eq!(driver.server().events.pop_front(), Some(ended));
}

#[test]
fn the_window_follows_the_users() {
    let mut driver = at_terminal();
    driver.server().host.window = Some((50, 132));
    driver.server().input_ready();
    assert_eq!(driver.call(IOCTL, [1, 0x5413, SCRATCH, 0, 0, 0]), Some(0));
    assert_eq!(driver.peek(SCRATCH, 4), [50, 0, 132, 0]);
}

#[test]
fn a_read_waits_for_vmin_bytes_or_vtime() {
    let mut driver = at_terminal();
    assert_eq!(driver.call(IOCTL, [0, 0x5401, SCRATCH, 0, 0, 0]), Some(0));
    // No ICANON, no ECHO; VMIN 3, VTIME 2.
    driver.poke(SCRATCH + 12, &0_u32.to_le_bytes());
    driver.poke(SCRATCH + 17 + 5, &[2, 3]);
    assert_eq!(driver.call(IOCTL, [0, 0x5402, SCRATCH, 0, 0, 0]), Some(0));
    assert_eq!(driver.call(READ, [0, SCRATCH, 100, 0, 0, 0]), None);
    driver.server().host.now_ns += 10_000_000_000;
    driver.wake();
    assert_eq!(driver.next, Next::Idle, "without a byte no time runs");
    typed(&mut driver, b"a");
    driver.wake();
    assert_eq!(driver.next, Next::Idle);
    driver.server().host.now_ns += 200_000_000;
    driver.wake();
    assert_eq!((driver.a0(), driver.peek(SCRATCH, 1)), (1, b"a".to_vec()));
    typed(&mut driver, b"xyz");
    assert_eq!(driver.call(READ, [0, SCRATCH, 100, 0, 0, 0]), Some(3));
}

#[test]
fn both_ends_of_a_pty_meet_and_part() {
    let mut driver = Driver::with_scratch();
    let (master, terminal) = pty(&mut driver);
    driver.poke(SCRATCH, b"hello\n");
    assert_eq!(driver.call(WRITE, [master, SCRATCH, 6, 0, 0, 0]), Some(6));
    assert_eq!(driver.call(READ, [terminal, SCRATCH + 64, 100, 0, 0, 0]), Some(6));
    assert_eq!(driver.call(READ, [master, SCRATCH + 64, 100, 0, 0, 0]), Some(7));
    assert_eq!(driver.peek(SCRATCH + 64, 7), b"hello\r\n");
    assert_eq!(driver.call(57, [terminal, 0, 0, 0, 0, 0]), Some(0));
    assert_eq!(driver.result(READ, [master, SCRATCH, 1, 0, 0, 0]), Err(Errno::EIO), "nobody is there");
    assert_eq!(driver.result(WRITE, [master, SCRATCH, 1, 0, 0, 0]), Err(Errno::EIO));
    let terminal = open(&mut driver, "/dev/pts/0", NOCTTY).unwrap();
    assert_eq!(driver.call(57, [master, 0, 0, 0, 0, 0]), Some(0));
    assert_eq!(driver.call(READ, [terminal, SCRATCH, 1, 0, 0, 0]), Some(0), "it has hung up");
    assert_eq!(driver.result(WRITE, [terminal, SCRATCH, 1, 0, 0, 0]), Err(Errno::EIO));
    assert_eq!(open(&mut driver, "/dev/pts/0", NOCTTY), Err(Errno::ENOENT));
    assert_eq!(driver.call(57, [terminal, 0, 0, 0, 0, 0]), Some(0));
    assert!(driver.server().terminals.table.is_empty());
}

#[test]
fn what_is_no_terminal_says_so() {
    let mut driver = Driver::with_scratch();
    for request in [0x5401, 0x540f, 0x5413, 0x802c_542a] {
        assert_eq!(driver.result(IOCTL, [0, request, SCRATCH, 0, 0, 0]), Err(Errno::ENOTTY));
    }
    assert_eq!(open(&mut driver, "/dev/tty", 2), Err(Errno::ENXIO));
    let (master, terminal) = pty(&mut driver);
    assert_eq!(driver.result(IOCTL, [terminal, 0x8004_5430, SCRATCH, 0, 0, 0]), Err(Errno::ENOTTY));
    assert_eq!(driver.result(IOCTL, [terminal, 0x540f, SCRATCH, 0, 0, 0]), Err(Errno::ENOTTY), "not its own");
    assert_eq!(
        driver.result(IOCTL, [master, 0x5420, SCRATCH, 0, 0, 0]),
        Err(Errno::ENOTTY),
        "no packet mode"
    );
}

#[test]
fn a_held_off_signal_is_read_as_a_file() {
    let mut driver = Driver::with_scratch();
    driver.poke(SCRATCH, &Signal::SIGUSR1.bit().to_le_bytes());
    let file = driver.result(74, [u64::MAX, SCRATCH, 8, 0, 0, 0]).unwrap();
    assert_eq!(driver.call(135, [0, SCRATCH, 0, 8, 0, 0]), Some(0));
    assert_eq!(driver.result(READ, [file, SCRATCH + 64, 127, 0, 0, 0]), Err(Errno::EINVAL));
    assert_eq!(driver.call(129, [2, 10, 0, 0, 0, 0]), Some(0));
    assert_eq!(driver.call(READ, [file, SCRATCH + 64, 256, 0, 0, 0]), Some(128));
    assert_eq!(driver.peek(SCRATCH + 64, 4), 10_u32.to_le_bytes());
    assert_eq!(driver.peek(SCRATCH + 64 + 12, 4), 2_u32.to_le_bytes(), "the sender");
    assert_eq!(driver.call(READ, [file, SCRATCH + 64, 128, 0, 0, 0]), None, "there was one");
    assert_eq!(driver.next, Next::Idle);
}
