//! The calls on names and files against the kernel that this test runs on, if that is Linux.
//!
//! Sequences of calls in a directory of a tmpfs and, here, in the root directory: results and errors must be the
//! same, and at the end what the directories list, in their order, and what stat says of everything.
#![cfg(target_os = "linux")]
#![expect(unsafe_code, clippy::undocumented_unsafe_blocks, reason = "an oracle: raw calls in a test")]

use super::sides::{Number, Side, native, ours};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::ffi::CString;
use std::format;
use std::path::PathBuf;
use std::string::{String, ToString};
use std::vec::Vec;

/// A tmpfs, where the machine has one.
const TMPFS: &str = "/dev/shm";
const TMPFS_MAGIC: i64 = 0x0102_1994;

#[derive(Clone, Debug)]
enum Call {
    Open { name: usize, flags: u32, mode: u32 },
    Close { file: usize },
    Write { file: usize, bytes: u64, at: Option<u64> },
    Read { file: usize, bytes: u64 },
    Seek { file: usize, to: i64, whence: u32 },
    Truncate { file: usize, bytes: i64 },
    TruncateName { name: usize, bytes: i64 },
    Make { name: usize, mode: u32 },
    Node { name: usize, mode: u32 },
    Remove { name: usize, flags: u32 },
    Link { old: usize, new: usize, flags: u32 },
    Symlink { text: usize, name: usize },
    Rename { old: usize, new: usize, flags: u32 },
    Mode { name: usize, mode: u32 },
    ReadLink { name: usize, room: u64 },
    Stat { name: usize, flags: u32 },
    Access { name: usize, mode: u32 },
    Directory { name: usize },
    Where,
}

const NAMES: [&str; 22] = [
    "a", "b", "c", "d", "d/a", "d/b", "d/e", "d/e/f", "a/", "d/", "d/e/", "./a", "d/.", "d/..", ".", "..x",
    "l", "l/a", "l/", "none/x", "d/../a", "",
];
const FILES: usize = 4;

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let name = || 0..NAMES.len();
    let file = || 0..FILES;
    let flags = prop::sample::select(std::vec![
        0_u32,
        1,
        2,
        0o102,
        0o302,
        0o1102,
        0o1002,
        0o2002,
        0o20_0000,
        0o40_0000,
        0o1000_0000,
        0o1040_0000,
        0o20_0102,
        0o101,
        0o3102,
        0o2020_0002,
        0o2020_0000
    ]);
    let mode = || prop::sample::select(std::vec![0o644_u32, 0o600, 0o777, 0o4755, 0o2711, 0o000, 0o1777]);
    let call = prop_oneof![
        6 => (name(), flags, mode()).prop_map(|(name, flags, mode)| Call::Open { name, flags, mode }),
        1 => file().prop_map(|file| Call::Close { file }),
        4 => (file(), 0..9000_u64, prop::option::of(0..20_000_u64))
            .prop_map(|(file, bytes, at)| Call::Write { file, bytes, at }),
        4 => (file(), 0..9000_u64).prop_map(|(file, bytes)| Call::Read { file, bytes }),
        2 => (file(), -3..9000_i64, prop::sample::select(std::vec![0_u32, 1, 2, 5])).prop_map(|(file, to, whence)| Call::Seek { file, to, whence }),
        2 => (file(), -1..30_000_i64).prop_map(|(file, bytes)| Call::Truncate { file, bytes }),
        1 => (name(), -1..9000_i64).prop_map(|(name, bytes)| Call::TruncateName { name, bytes }),
        3 => (name(), mode()).prop_map(|(name, mode)| Call::Make { name, mode }),
        1 => (name(), prop::sample::select(std::vec![0o010_644_u32, 0o100_600, 0o140_600, 0o040_755, 0o644, 0o170_000]))
            .prop_map(|(name, mode)| Call::Node { name, mode }),
        4 => (name(), prop::sample::select(std::vec![0_u32, 0x200, 1]))
            .prop_map(|(name, flags)| Call::Remove { name, flags }),
        3 => (name(), name(), prop::sample::select(std::vec![0_u32, 0x400, 1]))
            .prop_map(|(old, new, flags)| Call::Link { old, new, flags }),
        2 => (name(), name()).prop_map(|(text, name)| Call::Symlink { text, name }),
        5 => (name(), name(), prop::sample::select(std::vec![0_u32, 0, 0, 1, 2, 3, 8]))
            .prop_map(|(old, new, flags)| Call::Rename { old, new, flags }),
        1 => (name(), mode()).prop_map(|(name, mode)| Call::Mode { name, mode }),
        2 => (name(), prop::sample::select(std::vec![0_u64, 1, 100]))
            .prop_map(|(name, room)| Call::ReadLink { name, room }),
        3 => (name(), prop::sample::select(std::vec![0_u32, 0x100, 0x1000, 1]))
            .prop_map(|(name, flags)| Call::Stat { name, flags }),
        1 => (name(), 0..9_u32).prop_map(|(name, mode)| Call::Access { name, mode }),
        1 => name().prop_map(|name| Call::Directory { name }),
        1 => Just(Call::Where),
    ];
    prop::collection::vec(call, 1..60)
}

/// What a call gave: a number, and perhaps bytes.
type Outcome = Result<(u64, Vec<u8>), u64>;

const CWD: u64 = u64::MAX - 99;
const STAT: usize = 256;
/// A FIFO is not waited for: nobody is there to open its other end.
const NONBLOCK: u32 = 0o4000;

fn run(side: &mut dyn Side, files: &mut [Option<u64>; FILES], call: &Call) -> Outcome {
    let number = |result: Result<u64, u64>| result.map(|value| (value, Vec::new()));
    let fd = |files: &[Option<u64>; FILES], file: usize| files[file].unwrap_or(999);
    let buffer = side.buffer();
    match *call {
        Call::Open { name, flags, mode } => {
            let path = side.text(0, NAMES[name]);
            let opened =
                side.raw(Number::Openat, [CWD, path, u64::from(flags | NONBLOCK), u64::from(mode), 0, 0])?;
            match files.iter_mut().find(|file| file.is_none()) {
                Some(place) => *place = Some(opened),
                None => {
                    side.raw(Number::Close, [opened, 0, 0, 0, 0, 0])?;
                }
            }
            Ok((0, Vec::new()))
        }
        Call::Close { file } => {
            let closed = side.raw(Number::Close, [fd(files, file), 0, 0, 0, 0, 0]);
            files[file] = None;
            number(closed)
        }
        Call::Write { file, bytes, at } => {
            side.fill(usize::try_from(bytes).unwrap());
            number(match at {
                None => side.raw(Number::Write, [fd(files, file), buffer, bytes, 0, 0, 0]),
                Some(at) => side.raw(Number::Pwrite, [fd(files, file), buffer, bytes, at, 0, 0]),
            })
        }
        Call::Read { file, bytes } => {
            let read = side.raw(Number::Read, [fd(files, file), buffer, bytes, 0, 0, 0])?;
            Ok((read, side.bytes(usize::try_from(read).unwrap())))
        }
        Call::Seek { file, to, whence } => {
            number(side.raw(Number::Lseek, [fd(files, file), to.cast_unsigned(), u64::from(whence), 0, 0, 0]))
        }
        Call::Truncate { file, bytes } => {
            number(side.raw(Number::Ftruncate, [fd(files, file), bytes.cast_unsigned(), 0, 0, 0, 0]))
        }
        Call::TruncateName { name, bytes } => {
            let path = side.text(0, NAMES[name]);
            number(side.raw(Number::Truncate, [path, bytes.cast_unsigned(), 0, 0, 0, 0]))
        }
        Call::Make { name, mode } => {
            let path = side.text(0, NAMES[name]);
            number(side.raw(Number::Mkdirat, [CWD, path, u64::from(mode), 0, 0, 0]))
        }
        Call::Node { name, mode } => {
            let path = side.text(0, NAMES[name]);
            number(side.raw(Number::Mknodat, [CWD, path, u64::from(mode), 0, 0, 0]))
        }
        Call::Remove { name, flags } => {
            let path = side.text(0, NAMES[name]);
            number(side.raw(Number::Unlinkat, [CWD, path, u64::from(flags), 0, 0, 0]))
        }
        Call::Link { old, new, flags } => {
            let (old, new) = (side.text(0, NAMES[old]), side.text(1, NAMES[new]));
            number(side.raw(Number::Linkat, [CWD, old, CWD, new, u64::from(flags), 0]))
        }
        Call::Symlink { text, name } => {
            let (text, name) = (side.text(0, NAMES[text]), side.text(1, NAMES[name]));
            number(side.raw(Number::Symlinkat, [text, CWD, name, 0, 0, 0]))
        }
        Call::Rename { old, new, flags } => {
            let (old, new) = (side.text(0, NAMES[old]), side.text(1, NAMES[new]));
            number(side.raw(Number::Renameat2, [CWD, old, CWD, new, u64::from(flags), 0]))
        }
        Call::Mode { name, mode } => {
            let path = side.text(0, NAMES[name]);
            number(side.raw(Number::Fchmodat, [CWD, path, u64::from(mode), 0, 0, 0]))
        }
        Call::ReadLink { name, room } => {
            let path = side.text(0, NAMES[name]);
            let read = side.raw(Number::Readlinkat, [CWD, path, buffer, room, 0, 0])?;
            Ok((read, side.bytes(usize::try_from(read).unwrap())))
        }
        Call::Stat { name, flags } => {
            let path = side.text(0, NAMES[name]);
            side.raw(Number::Statx, [CWD, path, u64::from(flags), 0x7ff, buffer, 0])?;
            Ok((0, seen(&side.bytes(STAT))))
        }
        Call::Access { name, mode } => {
            let path = side.text(0, NAMES[name]);
            number(side.raw(Number::Faccessat, [CWD, path, u64::from(mode), 0, 0, 0]))
        }
        Call::Directory { name } => {
            // Both go back, so that names mean the same.
            let path = side.text(0, NAMES[name]);
            let went = side.raw(Number::Chdir, [path, 0, 0, 0, 0, 0]);
            let root = side.root();
            side.raw(Number::Chdir, [root, 0, 0, 0, 0, 0])?;
            number(went)
        }
        Call::Where => {
            let length = side.raw(Number::Getcwd, [buffer, 4096, 0, 0, 0, 0])?;
            // Where the two sides' directories lie is their own matter.
            Ok((u64::from(length > 1), Vec::new()))
        }
    }
}

/// What of statx's answer must be the same: links, mode, size; sizes of directories as Linux counts them.
fn seen(stat: &[u8]) -> Vec<u8> {
    [&stat[16..20], &stat[28..30], &stat[40..48]].concat()
}

/// Everything below a directory: path, and what is seen of it, in the order of the listing.
fn survey(side: &mut dyn Side, path: &str, found: &mut Vec<(String, Vec<u8>)>) {
    let at = side.text(0, path);
    let fd = side.raw(Number::Openat, [CWD, at, 0o20_0000, 0, 0, 0]).unwrap();
    let mut names = Vec::new();
    loop {
        let buffer = side.buffer();
        let read = side.raw(Number::Getdents, [fd, buffer, 4000, 0, 0, 0]).unwrap();
        if read == 0 {
            break;
        }
        let bytes = side.bytes(usize::try_from(read).unwrap());
        let mut at = 0;
        while at < bytes.len() {
            let length = usize::from(u16::from_le_bytes([bytes[at + 16], bytes[at + 17]]));
            let name: Vec<u8> =
                bytes[at + 19..at + length].iter().copied().take_while(|byte| *byte != 0).collect();
            names.push((String::from_utf8(name).unwrap(), bytes[at + 18]));
            at += length;
        }
    }
    side.raw(Number::Close, [fd, 0, 0, 0, 0, 0]).unwrap();
    for (name, kind) in names {
        if name == "." || name == ".." {
            continue;
        }
        let below = format!("{path}/{name}");
        let at = side.text(0, &below);
        let buffer = side.buffer();
        side.raw(Number::Statx, [CWD, at, 0x100, 0x7ff, buffer, 0]).unwrap();
        let mut facts = seen(&side.bytes(STAT));
        facts.push(kind);
        let is_directory = kind == 4;
        found.push((below.clone(), facts));
        if is_directory {
            survey(side, &below, found);
        }
    }
}

/// Only as root, as programs here are, and only where there is a tmpfs to compare with.
fn can_compare() -> bool {
    let path = CString::new(TMPFS).unwrap();
    let mut facts = unsafe { std::mem::zeroed::<libc::statfs>() };
    let found = unsafe { libc::statfs(path.as_ptr(), &raw mut facts) } == 0;
    found && facts.f_type == TMPFS_MAGIC && unsafe { libc::geteuid() } == 0
}

fn compare(calls: &[Call]) -> Result<(), TestCaseError> {
    // Links may lead up: what lies above belongs to the test too.
    let top = PathBuf::from(format!("{TMPFS}/bixi-{}", std::process::id()));
    let directory = top.join("x/y/w");
    std::fs::create_dir_all(&directory).unwrap();
    std::env::set_current_dir(&directory).unwrap();
    unsafe { libc::umask(0o022) };
    let (mut here, mut there) = (ours(), native(&directory));
    let (mut our_files, mut native_files) = ([None; FILES], [None; FILES]);
    let mut differs = None;
    for (number, call) in calls.iter().enumerate() {
        let (ours, theirs) = (run(&mut here, &mut our_files, call), run(&mut there, &mut native_files, call));
        if ours != theirs {
            differs = Some((number, format!("{call:?}"), ours, theirs));
            break;
        }
    }
    let (mut our_tree, mut native_tree) = (Vec::new(), Vec::new());
    survey(&mut here, ".", &mut our_tree);
    survey(&mut there, ".", &mut native_tree);
    for file in native_files.into_iter().flatten() {
        there.raw(Number::Close, [file, 0, 0, 0, 0, 0]).unwrap();
    }
    std::env::set_current_dir("/").unwrap();
    std::fs::remove_dir_all(&top).unwrap();
    prop_assert_eq!(differs, None, "call, here, on Linux");
    prop_assert_eq!(our_tree, native_tree);
    Ok(())
}

/// The same sequences in every run; in full campaigns ten times as many, others each time.
fn config() -> ProptestConfig {
    let is_long = std::env::var_os("BIXI_LONG").is_some();
    let (cases, rng_seed) = if is_long { (4000, RngSeed::Random) } else { (400, RngSeed::Fixed(1)) };
    ProptestConfig { cases, rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn calls_on_files_do_as_linux_does(calls in calls()) {
        if can_compare() {
            compare(&calls)?;
        }
    }
}

#[test]
fn the_comparison_finds_a_difference() {
    // A planted one: this side's directory has a name that the other has not.
    if !can_compare() {
        return;
    }
    let mut side = ours();
    let mut files = [None; FILES];
    let made = run(&mut side, &mut files, &Call::Make { name: 0, mode: 0o755 });
    let mut tree = Vec::new();
    survey(&mut side, ".", &mut tree);
    assert_eq!((made.is_ok(), tree.len(), tree[0].0.to_string()), (true, 1, String::from("./a")));
}
