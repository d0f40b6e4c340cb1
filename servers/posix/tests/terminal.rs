//! The line discipline against the one of the kernel that this test runs on, if that is Linux.
//!
//! The same bytes are typed into and printed on a real pty and ours, under the same settings; what comes out of both
//! ends, and what FIONREAD and poll say in between, must be the same. Linux moves bytes through a pty in a worker, so
//! that each step waits a little for it; a case that differs is tried again with longer waits before it counts.
#![cfg(target_os = "linux")]
#![expect(
    unsafe_code,
    clippy::unwrap_used,
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    reason = "an oracle: raw calls in a test"
)]
#![expect(clippy::indexing_slicing, reason = "a test may end by a panic")]

use posix::terminal::discipline::{Flush, For};
use posix::terminal::input::Took;
use posix::terminal::line::Line;
use posix::terminal::settings::{LocalModes, Settings, Special, Termios};
use proptest::prelude::*;
use std::io::Error;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;
use zerocopy::{FromZeros, IntoBytes};

const TCGETS: u64 = 0x5401;
const TCSETS: u64 = 0x5402;
const TCXONC: u64 = 0x540a;
const TCFLSH: u64 = 0x540b;
const FIONREAD: u64 = 0x541b;

#[derive(Clone, Debug)]
enum Step {
    Type(Vec<u8>),
    Print(Vec<u8>),
    Read(usize),
    Take,
    Set(Change),
    Flush(Flush),
    Flow(u64),
}

/// A change of settings: bits that are toggled, and a special character.
#[derive(Clone, Copy, Debug)]
struct Change {
    modes: [u32; 3],
    character: (usize, u8),
}

/// What a step showed: bytes or an error, then readable bytes and readiness.
type Seen = (Result<Vec<u8>, i32>, usize, bool);

/// Bytes with a function under the usual settings, those around them, UTF-8, and letters.
fn typed() -> impl Strategy<Value = Vec<u8>> {
    let functions = prop::sample::select(
        b"\x03\x1c\x7f\x15\x04\x11\x13\x1a\x12\x0f\x17\x16\n\r\t\x08\0\xff\x1b\x07".to_vec(),
    );
    let byte = prop_oneof![4 => functions, 3 => 0x20..0x7f_u8, 1 => any::<u8>(), 2 => Just(b'\x7f'), 1 => Just(b'\n')];
    let text = prop::sample::select(vec![
        &b"word two_3 \x17"[..],
        "\u{e9}\u{1f600}x\u{e9}\x7f\x7f".as_bytes(),
        b"a\tbc\t\x7f\x7f\x7f",
    ]);
    prop_oneof![
        8 => prop::collection::vec(byte, 1..12),
        2 => text.prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(0x61..0x7b_u8, 200..600),
    ]
}

fn printed() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(
        prop_oneof![3 => 0x20..0x7f_u8, 2 => prop::sample::select(b"\n\r\t\x08\xc3\xa9\xff\x07".to_vec())],
        1..20,
    )
}

/// All that is looked at, not held or echoed by chance alone: bits of c_iflag, c_oflag, c_lflag.
fn change() -> impl Strategy<Value = Change> {
    let one_of = |bits: Vec<u32>| prop::sample::select(bits);
    let input =
        one_of(vec![0, 0, 0o10, 0o40, 0o100, 0o200, 0o400, 0o1000, 0o2000, 0o4000, 0o4_0000, 0o4_0000]);
    let output = one_of(vec![0, 0, 0o1, 0o2, 0o4, 0o10, 0o20, 0o40, 0o1_4000]);
    let local = one_of(vec![
        0, 0o1, 0o2, 0o10, 0o20, 0o40, 0o100, 0o200, 0o1000, 0o2000, 0o4000, 0o10_0000, 0o20_0000,
    ]);
    // VMIN stays below 64: Linux has read(2) return early there, for it copies 64 bytes at a time.
    let character = (
        prop::sample::select(vec![0_usize, 1, 2, 3, 4, 6, 6, 8, 9, 10, 11, 12, 14, 15, 16]),
        prop_oneof![3 => 0..5_u8, 1 => 0..60_u8, 1 => 0..60_u8, 1 => Just(0x1f)],
    );
    (input, output, local, character)
        .prop_map(|(input, output, local, character)| Change { modes: [input, output, local], character })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let flush = prop::sample::select(vec![Flush::Input, Flush::Output, Flush::Both]);
    let step = prop_oneof![
        12 => typed().prop_map(Step::Type),
        4 => printed().prop_map(Step::Print),
        6 => prop_oneof![1..8_usize, 1..300_usize].prop_map(Step::Read),
        4 => Just(Step::Take),
        5 => change().prop_map(Step::Set),
        1 => flush.prop_map(Step::Flush),
        1 => (0..2_u64).prop_map(Step::Flow),
    ];
    prop::collection::vec(step, 1..16)
}

/// A pty of the kernel's.
struct Native {
    master: OwnedFd,
    slave: OwnedFd,
    wait: Duration,
}

impl Native {
    fn new(wait: Duration) -> Self {
        let (mut master, mut slave) = (-1, -1);
        let none = std::ptr::null_mut();
        let opened =
            unsafe { libc::openpty(&raw mut master, &raw mut slave, none, none.cast(), none.cast()) };
        assert_eq!(opened, 0, "{}", Error::last_os_error());
        for fd in [master, slave] {
            assert_eq!(unsafe { libc::fcntl(fd, libc::F_SETFL, libc::O_RDWR | libc::O_NONBLOCK) }, 0);
        }
        unsafe { Self { master: OwnedFd::from_raw_fd(master), slave: OwnedFd::from_raw_fd(slave), wait } }
    }

    fn control(&self, request: u64, argument: u64) {
        let result = unsafe { libc::ioctl(self.slave.as_raw_fd(), request, argument) };
        assert_eq!(result, 0, "{request:#x}: {}", Error::last_os_error());
    }

    fn step(&mut self, step: &Step) -> Seen {
        let result = match step {
            Step::Type(bytes) => write(&self.master, bytes),
            Step::Print(bytes) => write(&self.slave, bytes),
            Step::Read(bytes) => read(&self.slave, *bytes),
            Step::Take => {
                let mut all = Vec::new();
                while let Ok(more) = read(&self.master, 4096) {
                    all.extend(more);
                }
                Ok(all)
            }
            Step::Set(change) => {
                let mut termios = Termios::new_zeroed();
                self.control(TCGETS, termios.as_mut_bytes().as_mut_ptr() as u64);
                let termios = change.of(&Settings::USUAL.with_termios(&termios)).to_termios();
                self.control(TCSETS, termios.as_bytes().as_ptr() as u64);
                Ok(Vec::new())
            }
            Step::Flush(which) => {
                self.control(
                    TCFLSH,
                    match which {
                        Flush::Input => 0,
                        Flush::Output => 1,
                        Flush::Both => 2,
                    },
                );
                Ok(Vec::new())
            }
            Step::Flow(action) => {
                self.control(TCXONC, *action);
                Ok(Vec::new())
            }
        };
        std::thread::sleep(self.wait);
        let mut readable = 0_u32;
        self.control(FIONREAD, &raw mut readable as u64);
        let mut poll = libc::pollfd { fd: self.slave.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        unsafe { libc::poll(&raw mut poll, 1, 0) };
        (result, readable as usize, poll.revents & libc::POLLIN != 0)
    }
}

impl Change {
    fn of(&self, before: &Settings) -> Settings {
        let mut termios = before.to_termios().as_bytes().to_vec();
        for (place, bits) in [0, 4, 12].into_iter().zip(self.modes) {
            for (byte, change) in termios[place..place + 4].iter_mut().zip(bits.to_le_bytes()) {
                *byte ^= change;
            }
        }
        termios[17 + self.character.0] = self.character.1;
        let mut changed = Termios::new_zeroed();
        changed.as_mut_bytes().copy_from_slice(&termios);
        before.with_termios(&changed)
    }
}

fn write(to: &OwnedFd, bytes: &[u8]) -> Result<Vec<u8>, i32> {
    let written = unsafe { libc::write(to.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
    let written = usize::try_from(written).map_err(|_| Error::last_os_error().raw_os_error().unwrap())?;
    Ok(vec![0; written])
}

fn read(from: &OwnedFd, bytes: usize) -> Result<Vec<u8>, i32> {
    let mut buffer = vec![0; bytes];
    let read = unsafe { libc::read(from.as_raw_fd(), buffer.as_mut_ptr().cast(), bytes) };
    let read = usize::try_from(read).map_err(|_| Error::last_os_error().raw_os_error().unwrap())?;
    buffer.truncate(read);
    Ok(buffer)
}

fn our_step(line: &mut Line, step: &Step) -> Seen {
    let again = |done: usize| if done == 0 { Err(libc::EAGAIN) } else { Ok(vec![0; done]) };
    let result = match step {
        Step::Type(bytes) => again(line.type_in(bytes).taken),
        Step::Print(bytes) => again(line.discipline.write(bytes)),
        Step::Read(bytes) => our_read(line, *bytes),
        Step::Take => {
            let mut all = vec![0; 1 << 16];
            let taken = line.discipline.output.take(&mut all);
            all.truncate(taken);
            Ok(all)
        }
        Step::Set(change) => {
            let settings = change.of(line.discipline.settings()).without_wires();
            line.discipline.set(settings);
            Ok(Vec::new())
        }
        Step::Flush(which) => {
            line.flush(*which);
            Ok(Vec::new())
        }
        Step::Flow(action) => {
            if *action == 0 {
                line.discipline.hold()
            } else {
                line.discipline.release()
            }
            Ok(Vec::new())
        }
    };
    (result, line.discipline.readable(), line.discipline.is_readable(For::Polling))
}

/// A read that never waits.
fn our_read(line: &mut Line, bytes: usize) -> Result<Vec<u8>, i32> {
    let settings = line.discipline.settings();
    let at_once = [Special::Minimum, Special::Time].map(|which| settings.character(which)) == [0, 0];
    let at_once = at_once && !settings.local.contains(LocalModes::ICANON);
    if !line.discipline.is_readable(For::Reading) {
        return if at_once { Ok(Vec::new()) } else { Err(libc::EAGAIN) };
    }
    let mut buffer = vec![0; bytes];
    let took = line.discipline.read(&mut buffer);
    let (Took::Line(taken) | Took::Part(taken)) = took;
    if taken == bytes && took == Took::Part(taken) {
        line.discipline.read_was_filled();
    }
    line.pump();
    buffer.truncate(taken);
    Ok(buffer)
}

/// Where the two differ: the step, what was seen here, what on Linux.
fn difference(steps: &[Step], wait: Duration) -> Option<(usize, Seen, Seen)> {
    let mut native = Native::new(wait);
    let mut line = Line::new(Settings::USUAL.without_wires());
    steps.iter().enumerate().find_map(|(number, step)| {
        let (there, here) = (native.step(step), our_step(&mut line, step));
        (here != there).then_some((number, here, there))
    })
}

fn check(steps: &[Step]) -> Result<(), TestCaseError> {
    let mut differs = None;
    for wait in [200, 2000, 20_000, 100_000] {
        differs = difference(steps, Duration::from_micros(wait));
        if differs.is_none() {
            return Ok(());
        }
    }
    let Some((number, here, there)) = differs else { return Ok(()) };
    let step = &steps[number];
    Err(TestCaseError::fail(format!("step {number}, {step:?}\n here {here:?}\nLinux {there:?}")))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: std::env::var("BIXI_TERMINAL_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300),
        failure_persistence: None, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn bytes_pass_as_they_do_on_linux(steps in steps()) {
        let mut steps = steps;
        steps.extend([Step::Take, Step::Read(4096), Step::Read(4096)]);
        check(&steps)?;
    }
}

/// Lines of about 4,095 characters, the most that is kept, and more bytes than a raw queue takes. (A queue that is full
/// to the last place and has an EOF in it is left out: there Linux's FIONREAD counts the EOF.)
#[test]
fn the_queues_end_where_they_do_on_linux() {
    let long = |length: usize| Step::Type(vec![b'x'; length]);
    let raw = Change { modes: [0, 0, 0o2], character: (6, 1) };
    let marked = Change { modes: [0o10, 0, 0], character: (6, 1) };
    for length in [1500, 1531, 1532, 1533, 1534, 1535, 1536, 1600] {
        for end in [&b"\n"[..], b"\x7f\x7fz\n", b"yz\x7f\x7f\x04"] {
            let mut steps = vec![Step::Take, long(1280), Step::Take, long(1280), Step::Take, long(length)];
            steps.extend([
                Step::Take,
                Step::Type(end.to_vec()),
                Step::Take,
                Step::Read(4000),
                Step::Read(4000),
            ]);
            steps.extend([Step::Set(raw), Step::Read(4000)]);
            check(&steps).unwrap();
            steps.insert(0, Step::Set(marked));
            check(&steps).unwrap();
        }
    }
    let mut steps = vec![Step::Set(raw)];
    for _ in 0..5 {
        steps.extend([long(1000), Step::Take]);
    }
    steps.extend([Step::Read(100), Step::Read(4096), Step::Read(4096), Step::Read(4096)]);
    check(&steps).unwrap();
    steps.insert(0, Step::Type(b"a line\n".to_vec()));
    check(&steps).unwrap();
}
