//! Files: the archive's reader, paths, descriptors, and the streams.

mod linux;
mod pipes;
#[cfg(target_os = "linux")]
mod sides;

use super::cpio::{self, Damaged};
use super::node::Time;
use super::place::Place;
use super::tree::Tree;
use super::walk::Last;
use crate::Errno;
use crate::host::Stream;
use crate::process::schedule::Next;
use crate::testing::archive::Archive;
use crate::testing::driver::{Driver, SCRATCH};
use proptest::prelude::*;
use std::boxed::Box;
use std::vec::Vec;

const CWD: u64 = u64::MAX - 99;

fn leak(bytes: Vec<u8>) -> &'static [u8] {
    Box::leak(bytes.into_boxed_slice())
}

fn tree_of(archive: &'static [u8]) -> Result<Tree, Damaged> {
    let mut tree = Tree::new(Time::default());
    tree.fill(archive)?;
    Ok(tree)
}

#[test]
fn paths_are_resolved_as_linux_does() {
    let archive = Archive::default()
        .entry(".", 0o040_700, &[])
        .file("./a/b/file", 0o640, b"contents")
        .link("a/up", "../top")
        .link("a/self", "self")
        .link("absolute", "/a/b")
        .file("top", 0o644, b"")
        .file("../escape", 0o644, b"x");
    let mut driver = Driver::with_files(archive);
    let server = driver.server();
    let resolve = |path: &str, last| {
        let place = server.lookup(Place::ROOT, path.as_bytes(), last)?;
        let mut path = Vec::new();
        server.path_of_place(place, &mut path).unwrap();
        Ok(path)
    };
    let follow =
        |path: &str| resolve(path, Last::Follow).map(|path| std::string::String::from_utf8(path).unwrap());
    assert_eq!(follow("/a/b/file").as_deref(), Ok("/a/b/file"));
    assert_eq!(follow("a//b/./../b/file").as_deref(), Ok("/a/b/file"));
    assert_eq!(follow("/../..").as_deref(), Ok("/"));
    assert_eq!(follow("a/up").as_deref(), Ok("/top"));
    assert_eq!(follow("absolute/file").as_deref(), Ok("/a/b/file"));
    assert_eq!(follow("escape").as_deref(), Ok("/escape"));
    assert_eq!(resolve("a/up", Last::Keep), Ok(b"/a/up".to_vec()));
    assert_eq!(follow("a/self"), Err(Errno::ELOOP));
    assert_eq!(follow("a/b/file/"), Err(Errno::ENOTDIR));
    assert_eq!(follow("a/b/file/x"), Err(Errno::ENOTDIR));
    assert_eq!(follow("nothing"), Err(Errno::ENOENT));
    assert_eq!(follow(""), Err(Errno::ENOENT));
    assert_eq!(follow(&"n".repeat(256)), Err(Errno::ENAMETOOLONG));
}

#[test]
fn damaged_archives_are_refused_with_the_place() {
    let good = Archive::default().file("file", 0o644, b"data").finish();
    let damage = |bytes: &[u8]| tree_of(leak(bytes.to_vec())).err().map(|damaged| (damaged.at, damaged.what));
    assert_eq!(damage(&good), None);
    assert_eq!(damage(&[]), None);
    assert_eq!(damage(&good[..100]), Some((0, "it ends in a header")));
    assert_eq!(damage(&good[..112]), Some((0, "it ends in a name")));
    assert_eq!(damage(&good[..118]), Some((0, "it ends in a file")));
    let mut digit = good.clone();
    digit[14] = b'g';
    assert_eq!(damage(&digit), Some((0, "a header has something that is no digit")));
    let mut magic = good.clone();
    magic[120] = b'9';
    assert_eq!(damage(&magic), Some((120, "no newc header is there")));
    assert!(std::format!("{}", Damaged { at: 3, what: "x" }).contains("byte 3: x"));
}

proptest! {
    #[test]
    fn mutated_archives_do_no_harm(changes in prop::collection::vec((0..500_usize, any::<u8>()), 1..10), cut in 0..500_usize) {
        let mut bytes = Archive::default().directory("d").file("d/f", 0o644, b"data").link("l", "d/f").finish();
        for (at, value) in changes {
            let length = bytes.len();
            bytes[at % length] = value;
        }
        let cut = cut.min(bytes.len());
        let count = cpio::entries(&bytes[..cut]).count();
        prop_assert!(count <= 5);
        if let Ok(tree) = tree_of(leak(bytes)) {
            prop_assert!(tree.len() < 10);
        }
    }
}

#[test]
fn files_are_opened_read_and_closed() {
    let mut driver = Driver::with_scratch();
    driver.poke(SCRATCH, b"/link\0");
    assert_eq!(driver.call(56, [CWD, SCRATCH, 0, 0, 0, 0]), Some(3));
    assert_eq!(driver.call(63, [3, SCRATCH + 64, 4, 0, 0, 0]), Some(4));
    assert_eq!(driver.peek(SCRATCH + 64, 4), b"some");
    assert_eq!(driver.call(67, [3, SCRATCH + 64, 100, 5, 0, 0]), Some(5));
    assert_eq!(driver.call(62, [3, 2_u64.wrapping_neg(), 2, 0, 0, 0]), Some(8));
    assert_eq!(driver.call(63, [3, SCRATCH + 64, 100, 0, 0, 0]), Some(2));
    assert_eq!(driver.call(63, [3, SCRATCH + 64, 100, 0, 0, 0]), Some(0));
    assert_eq!(driver.result(62, [3, 11_u64.wrapping_neg(), 2, 0, 0, 0]), Err(Errno::EINVAL));
    assert_eq!(driver.result(64, [3, SCRATCH, 1, 0, 0, 0]), Err(Errno::EBADF));
    assert_eq!(driver.call(80, [3, SCRATCH + 64, 0, 0, 0, 0]), Some(0));
    assert_eq!(driver.peek_word(SCRATCH + 64 + 48), 10);
    assert_eq!(driver.peek(SCRATCH + 64 + 16, 4), 0o100_644_u32.to_le_bytes());
    assert_eq!(driver.call(57, [3, 0, 0, 0, 0, 0]), Some(0));
    assert_eq!(driver.result(57, [3, 0, 0, 0, 0, 0]), Err(Errno::EBADF));
    for (flags, error) in [(0o40_0000, Errno::ELOOP), (0o20_0000, Errno::ENOTDIR)] {
        assert_eq!(driver.result(56, [CWD, SCRATCH, flags, 0, 0, 0]), Err(error), "{flags:#o}");
    }
    driver.poke(SCRATCH, b"/new\0");
    assert_eq!(driver.result(56, [CWD, SCRATCH, 0o101, 0, 0, 0]), Ok(3));
    driver.poke(SCRATCH, b"/no/new\0");
    assert_eq!(driver.result(56, [CWD, SCRATCH, 0o101, 0, 0, 0]), Err(Errno::ENOENT));
}

#[test]
fn the_program_and_its_links_are_found() {
    let mut driver = Driver::with_scratch();
    driver.poke(SCRATCH, b"/proc/self/exe\0");
    assert_eq!(driver.call(78, [CWD, SCRATCH, SCRATCH + 64, 100, 0, 0]), Some(12));
    assert_eq!(driver.peek(SCRATCH + 64, 12), b"/bin/program");
    driver.poke(SCRATCH, b"/link\0");
    assert_eq!(driver.call(78, [CWD, SCRATCH, SCRATCH + 64, 2, 0, 0]), Some(2));
    assert_eq!(driver.result(78, [CWD, SCRATCH, SCRATCH + 64, 0, 0, 0]), Err(Errno::EINVAL));
    assert_eq!(driver.call(291, [CWD, SCRATCH, 0x100, 0x7ff, SCRATCH + 64, 0]), Some(0));
    assert_eq!(driver.peek(SCRATCH + 64 + 28, 2), 0o120_777_u16.to_le_bytes());
    driver.poke(SCRATCH, b"/\0");
    assert_eq!(driver.call(56, [CWD, SCRATCH, 0o20_0000, 0, 0, 0]), Some(3));
    assert_eq!(driver.result(61, [3, SCRATCH + 64, 20, 0, 0, 0]), Err(Errno::EINVAL));
    let bytes = driver.call(61, [3, SCRATCH + 64, 1000, 0, 0, 0]).unwrap();
    let listed = driver.peek(SCRATCH + 64, usize::try_from(bytes).unwrap());
    assert!(listed.windows(5).any(|window| window == b"link\0"));
    assert_eq!(driver.call(61, [3, SCRATCH + 64, 1000, 0, 0, 0]), Some(0));
    assert_eq!(driver.result(63, [3, SCRATCH, 1, 0, 0, 0]), Err(Errno::EISDIR));
}

#[test]
fn descriptors_are_shared_moved_and_marked() {
    let mut driver = Driver::with_scratch();
    driver.poke(SCRATCH, b"/text\0");
    assert_eq!(driver.call(56, [CWD, SCRATCH, 0o200_0000, 0, 0, 0]), Some(3));
    assert_eq!(driver.call(25, [3, 1, 0, 0, 0, 0]), Some(1));
    assert_eq!(driver.call(23, [3, 0, 0, 0, 0, 0]), Some(4));
    assert_eq!(driver.call(25, [4, 1, 0, 0, 0, 0]), Some(0));
    assert_eq!(driver.call(63, [3, SCRATCH, 5, 0, 0, 0]), Some(5));
    assert_eq!(driver.call(62, [4, 0, 1, 0, 0, 0]), Some(5), "one file, one offset");
    assert_eq!(driver.call(24, [3, 9, 0, 0, 0, 0]), Some(9));
    assert_eq!(driver.result(24, [3, 3, 0, 0, 0, 0]), Err(Errno::EINVAL));
    assert_eq!(driver.result(24, [3, 5000, 0, 0, 0, 0]), Err(Errno::EBADF));
    assert_eq!(driver.call(25, [3, 1030, 20, 0, 0, 0]), Some(20));
    assert_eq!(driver.call(25, [0, 3, 0, 0, 0, 0]), Some(0));
    assert_eq!(driver.result(29, [1, 0x5401, SCRATCH, 0, 0, 0]), Err(Errno::ENOTTY));
    assert_eq!(driver.result(29, [77, 0x5401, SCRATCH, 0, 0, 0]), Err(Errno::EBADF));
    assert_eq!(driver.result(25, [3, 999, 0, 0, 0, 0]), Err(Errno::EINVAL));
}

#[test]
fn output_goes_to_its_stream_and_waits_for_room() {
    let mut driver = Driver::with_scratch();
    driver.poke(SCRATCH, b"hello, world\n");
    assert_eq!(driver.call(64, [1, SCRATCH, 13, 0, 0, 0]), Some(13));
    assert_eq!(driver.call(64, [2, SCRATCH, 5, 0, 0, 0]), Some(5));
    assert_eq!(driver.server().host.output(Stream::StandardOutput), b"hello, world\n");
    assert_eq!(driver.server().host.output(Stream::StandardError), b"hello");
    driver.server().host.room[0] = 4;
    assert_eq!(driver.call(64, [1, SCRATCH, 13, 0, 0, 0]), None);
    assert_eq!(driver.next, Next::Idle);
    driver.server().host.room[0] = 100;
    driver.server().output_ready();
    driver.wake();
    assert_eq!(driver.a0(), 13);
    assert_eq!(driver.server().host.output(Stream::StandardOutput), b"hello, world\nhello, world\n");
    for (number, word) in [SCRATCH, 5, SCRATCH + 5, 8].iter().enumerate() {
        driver.poke(SCRATCH + 128 + number as u64 * 8, &word.to_le_bytes());
    }
    assert_eq!(driver.call(66, [1, SCRATCH + 128, 2, 0, 0, 0]), Some(13));
    assert_eq!(driver.result(66, [1, SCRATCH + 128, 1025, 0, 0, 0]), Err(Errno::EINVAL));
    assert_eq!(driver.result(62, [1, 0, 0, 0, 0, 0]), Err(Errno::ESPIPE));
}

#[test]
fn what_a_write_wrote_before_it_waits_is_not_written_again() {
    let mut driver = Driver::with_scratch();
    driver.poke(SCRATCH, b"hello, world\n");
    for (number, word) in [SCRATCH, 5, SCRATCH + 5, 8].iter().enumerate() {
        driver.poke(SCRATCH + 128 + number as u64 * 8, &word.to_le_bytes());
    }
    driver.server().host.wasted = 10;
    for descriptor in [1, 2] {
        let stream = [Stream::StandardOutput, Stream::StandardError][descriptor - 1];
        driver.server().host.room[descriptor - 1] = 20;
        assert_eq!(driver.call(66, [descriptor as u64, SCRATCH + 128, 2, 0, 0, 0]), None);
        assert_eq!(
            driver.server().host.output(stream),
            b"hello, wor",
            "there was room for all, in one piece"
        );
        driver.server().host.room[descriptor - 1] = 100;
        driver.server().output_ready();
        driver.wake();
        assert_eq!(driver.a0(), 13);
        assert_eq!(driver.server().host.output(stream), b"hello, world\n");
    }
    driver.server().host.room[0] = 20;
    assert_eq!(driver.call(66, [1, SCRATCH + 128, 2, 0, 0, 0]), None);
    driver.server().host.room[0] = 100;
    driver.server().output_ready();
    driver.wake();
    assert_eq!(driver.call(64, [1, SCRATCH, 13, 0, 0, 0]), Some(13), "the next write begins from its start");
}

#[test]
fn input_is_waited_for_and_ends() {
    let mut driver = Driver::with_scratch();
    assert_eq!(driver.call(63, [0, SCRATCH, 100, 0, 0, 0]), None);
    assert_eq!(driver.next, Next::Idle);
    driver.server().host.input.extend(b"typed");
    driver.server().input_ready();
    driver.wake();
    assert_eq!(driver.a0(), 5);
    assert_eq!(driver.peek(SCRATCH, 5), b"typed");
    driver.server().host.input.extend(b"more");
    assert_eq!(driver.result(63, [0, 1 << 46, 4, 0, 0, 0]), Err(Errno::EFAULT));
    assert_eq!(driver.call(63, [0, SCRATCH, 2, 0, 0, 0]), Some(2), "what did not fit was not lost");
    assert_eq!(driver.call(63, [0, SCRATCH, 9, 0, 0, 0]), Some(2));
    assert_eq!(driver.call(25, [0, 4, 0o4000, 0, 0, 0]), Some(0));
    assert_eq!(driver.result(63, [0, SCRATCH, 9, 0, 0, 0]), Err(Errno::EAGAIN));
    driver.server().host.input_ended = true;
    assert_eq!(driver.call(63, [0, SCRATCH, 9, 0, 0, 0]), Some(0));
}

#[test]
fn a_mapped_file_shows_its_bytes_and_keeps_them() {
    let mut driver = Driver::with_scratch();
    driver.poke(SCRATCH, b"/text\0");
    driver.call(56, [CWD, SCRATCH, 0, 0, 0, 0]);
    let private = driver.call(222, [0, 100, 3, 2, 3, 0]).unwrap();
    assert_eq!(driver.peek(private, 12), b"some text\n\0\0");
    driver.poke(private, b"S");
    let shared = driver.call(222, [0, 100, 1, 1, 3, 0]).unwrap();
    assert_eq!((private % 0x1_0000, shared % 0x1_0000), (0, 0));
    assert_eq!(driver.peek(shared, 4), b"some");
    assert_eq!(driver.result(222, [0, 100, 3, 1, 3, 0]), Err(Errno::EACCES));
    assert_eq!(driver.result(226, [shared, 100, 3, 0, 0, 0]), Err(Errno::EACCES));
    assert_eq!(driver.result(222, [0, 100, 1, 1, 1, 0]), Err(Errno::ENODEV));
    assert_eq!(driver.result(222, [0, 100, 1, 1, 99, 0]), Err(Errno::EBADF));
    assert_eq!(driver.result(222, [0, 100, 1, 1, 3, 1]), Err(Errno::EINVAL));
}
