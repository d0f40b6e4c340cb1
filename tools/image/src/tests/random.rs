//! Readers meet anything: random bytes, good ones with changes, and texts made of a description's words.

use super::fixture;
use crate::kernel::Kernel;
use crate::{Block, LoadAddress, compile_description, elf, write_archive};
use abi::boot_archive::{BootArchive, EntryKind};
use abi::description::Description;
use loader::Program;
use proptest::collection::vec;
use proptest::prelude::*;
use std::path::Path;

/// A change of one byte, near the beginning more often than not: there stand the headers and tables.
type Change = (prop::sample::Index, u8, bool);

const TABLES: usize = 512;

fn changed(good: &[u8], changes: &[Change], keep: prop::sample::Index) -> Vec<u8> {
    let mut bytes = good.to_vec();
    for (place, value, anywhere) in changes {
        let range = if *anywhere { bytes.len() } else { bytes.len().min(TABLES) };
        bytes[place.index(range)] = *value;
    }
    // One time in a few, the end is missing.
    if keep.index(4) == 0 {
        bytes.truncate(keep.index(bytes.len() + 1));
    }
    bytes
}

fn good_archive() -> Vec<u8> {
    let root = fixture::program().write();
    let block = |name: &str, kind, data: &[u8]| Block { name: name.to_owned(), kind, data: data.to_vec() };
    let blocks = [
        block("system.description", EntryKind::Description, &good_description()),
        block("empty", EntryKind::Data, b""),
        block("console", EntryKind::Program, &root),
    ];
    write_archive(&Program::parse(&root).unwrap(), &blocks).unwrap()
}

fn good_description() -> Vec<u8> {
    let text = "[system]\nname = \"a\"\nmemory = \"1MiB\"\n\
        [[server]]\nname = \"b\"\npriority = 1\ndevices = [\"serial0\"]\narguments = [\"x\", \"y z\"]\n\
        [[server]]\nname = \"c\"\npriority = 2\n\
        [[channel]]\nname = \"d\"\nfrom = \"b\"\nto = \"c\"\nkind = \"ring\"\nentries = 2\n";
    compile_description(Path::new("good.toml"), text).unwrap()
}

/// Whatever an archive that was accepted lends lies inside it.
fn use_archive(bytes: &[u8]) {
    let Ok(archive) = BootArchive::parse(bytes) else { return };
    let lent: usize = archive.root_segments().map(|(_, data)| data.len()).sum::<usize>()
        + archive.entries().map(|entry| entry.data.len()).sum::<usize>();
    assert!(lent <= bytes.len());
    assert!(archive.root_segments().count() > 0);
    for entry in archive.entries() {
        assert_eq!(archive.find(entry.name), Some(entry));
    }
}

/// Whatever a description that was accepted says, root can follow.
fn use_description(bytes: &[u8]) {
    let Ok(description) = Description::parse(bytes) else { return };
    for channel in description.channels() {
        assert!(description.server(channel.from).is_some() && description.server(channel.to).is_some());
    }
    for device in description.devices() {
        assert!(device.size > 0 && description.server(device.server).is_some());
    }
    for server in description.servers() {
        assert!(server.budget_us > 0 && server.budget_us <= server.period_us);
        assert!(server.arguments().count() <= abi::description::MAX_ARGUMENTS);
    }
}

fn use_program(bytes: &[u8]) {
    let _ = elf::read(bytes).map(|image| image.write());
    let Ok(program) = Program::parse(bytes) else { return };
    let mut end = 0;
    for segment in program.segments() {
        assert!(segment.first_page() >= end);
        end = segment.end_page();
        // The first pages only: a segment of zeros may have more of them than there is time.
        let copied: usize = segment.pages().take(64).map(|page| page.data_at.min(1) + page.data.len()).sum();
        assert!(copied <= segment.data.len() + 1);
    }
}

proptest! {
    #[test]
    fn random_bytes_are_refused(bytes in vec(any::<u8>(), 0..300)) {
        prop_assert!(BootArchive::parse(&bytes).is_err());
        prop_assert!(Description::parse(&bytes).is_err());
        prop_assert!(Program::parse(&bytes).is_err());
        prop_assert!(elf::read(&bytes).is_err());
    }

    #[test]
    fn a_changed_archive_is_refused_or_sound(changes in vec(any::<Change>(), 1..6), keep: prop::sample::Index) {
        use_archive(&changed(&good_archive(), &changes, keep));
    }

    #[test]
    fn a_changed_description_is_refused_or_sound(changes in vec(any::<Change>(), 1..6), keep: prop::sample::Index) {
        use_description(&changed(&good_description(), &changes, keep));
    }

    #[test]
    fn a_changed_program_is_refused_or_sound(changes in vec(any::<Change>(), 1..6), keep: prop::sample::Index) {
        use_program(&changed(&fixture::program().write(), &changes, keep));
    }

    #[test]
    fn a_changed_kernel_is_refused_or_placed(changes in vec(any::<Change>(), 1..6), keep: prop::sample::Index) {
        let bytes = changed(&fixture::kernel().write(), &changes, keep);
        if let Ok(kernel) = Kernel::read(Path::new("microkernel"), &bytes) {
            let placed = kernel.place(good_archive(), LoadAddress::DEFAULT);
            prop_assert!(elf::read(&placed.file).is_ok());
        }
    }

    #[test]
    fn a_text_of_known_words_is_compiled_or_refused(lines in vec(line(), 0..24)) {
        let text = format!("[system]\nname = \"a\"\nmemory = \"1MiB\"\n{}", lines.concat());
        if let Ok(bytes) = compile_description(Path::new("random.toml"), &text) {
            prop_assert!(Description::parse(&bytes).is_ok());
        }
    }
}

/// A line that may well stand in a description, if others stand before it.
fn line() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "name",
        "priority",
        "budget_us",
        "memory",
        "devices",
        "after",
        "from",
        "to",
        "kind",
        "entries",
        "size",
    ]);
    let value = prop::sample::select(vec![
        "\"a\"",
        "\"b\"",
        "\"ring\"",
        "1",
        "64",
        "-1",
        "[\"a\"]",
        "[\"serial0\"]",
        "\"16KiB\"",
        "0x1fe00000",
    ]);
    let head = prop::sample::select(vec!["[[server]]\n", "[[channel]]\n", "[[device]]\n"]);
    prop_oneof![
        1 => head.prop_map(str::to_owned),
        1 => Just(String::from("[[server]]\nname = \"a\"\npriority = 1\n")),
        4 => (key, value).prop_map(|(key, value)| format!("{key} = {value}\n")),
    ]
}
