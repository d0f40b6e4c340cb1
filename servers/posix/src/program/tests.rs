//! Loading: good programs as Linux lays them, bad ones refused as Linux refuses them.

use super::elf::Program;
use super::vdso;
use crate::Errno;
use crate::address::PAGE_BYTES;
use crate::testing::archive::Archive;
use crate::testing::driver::Driver;
use crate::testing::program::{Header, program, usual};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::string::{String, ToString};
use std::vec::Vec;

fn run(bytes: &[u8]) -> Result<Driver, Errno> {
    let mut driver = Driver::with_files(Archive::default().file("p", 0o755, bytes));
    driver.start("/p").map(|_| driver)
}

fn auxiliary(driver: &mut Driver, mut at: u64) -> BTreeMap<u64, u64> {
    let mut values = BTreeMap::new();
    loop {
        let (kind, value) = (driver.peek_word(at), driver.peek_word(at + 8));
        values.insert(kind, value);
        at += 16;
        if kind == 0 {
            return values;
        }
    }
}

fn string(driver: &mut Driver, at: u64) -> String {
    let mut text = Vec::new();
    driver.server().view().unwrap().read_string(at, 100, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn a_static_program_finds_what_linux_would_give_it() {
    let mut driver = run(&usual()).unwrap();
    let context = driver.context().unwrap();
    let registers = driver.server().host.context(context).registers;
    assert_eq!(registers.pc, 0x1_2000_0200);
    let sp = registers.general[3];
    assert_eq!(sp % 16, 0);
    assert!(registers.general.iter().enumerate().all(|(number, value)| number == 3 || *value == 0));
    assert_eq!(driver.peek_word(sp), 2);
    let words: Vec<u64> = (1..6).map(|word| driver.peek_word(sp + word * 8)).collect();
    assert_eq!(string(&mut driver, words[0]), "/p");
    assert_eq!(string(&mut driver, words[1]), "-x");
    assert_eq!((words[2], words[4]), (0, 0));
    assert_eq!(string(&mut driver, words[3]), "HOME=/");
    let facts = auxiliary(&mut driver, sp + 48);
    assert_eq!(facts[&3], 0x1_2000_0040, "AT_PHDR");
    assert_eq!((facts[&4], facts[&5], facts[&6]), (56, 2, PAGE_BYTES));
    assert_eq!((facts[&7], facts[&9], facts[&16], facts[&17]), (0, 0x1_2000_0200, 0x1f, 100));
    assert_eq!(string(&mut driver, facts[&31]), "/p");
    assert_eq!(string(&mut driver, facts[&15]), "loongarch");
    assert_ne!(driver.peek_word(facts[&25]), 0);
    assert_eq!(driver.peek(facts[&33], 4), b"\x7fELF");
    let code = facts[&33] + vdso::rt_sigreturn_offset().unwrap();
    assert_eq!(driver.peek(code, 8), vdso::RT_SIGRETURN);
    // Data, the zeros behind it in its page, and the pages behind that.
    assert_eq!(driver.peek(0x1_2001_1122, 2), [(0x1122_u32 % 251) as u8, 0]);
    assert_eq!(driver.peek(0x1_2001_1123, 0x8edd), [0; 0x8edd]);
    let heap = driver.call(214, [0; 6]).unwrap();
    assert!(heap >= 0x1_2001_c000 && heap.is_multiple_of(PAGE_BYTES));
    assert_eq!(driver.call(214, [heap + 100, 0, 0, 0, 0, 0]), Some(heap + 100));
}

#[test]
fn a_static_pie_is_placed_at_its_alignment() {
    let text = Header::load(5, 0, 0, 0x1000, 0x1000);
    let mut driver = run(&program(3, 0x200, &[text], 0x1000)).unwrap();
    let context = driver.context().unwrap();
    let registers = driver.server().host.context(context).registers;
    assert_eq!((registers.pc - 0x200) % 0x1_0000, 0);
    assert_eq!(driver.peek(registers.pc - 0x200, 4), b"\x7fELF");
    let (sp, base) = (registers.general[3], registers.pc - 0x200);
    assert_eq!(auxiliary(&mut driver, sp + 48)[&3], base + 64);
}

#[test]
fn what_is_no_program_is_refused() {
    let good = usual();
    let with = |at: usize, bytes: &[u8]| {
        let mut bad = good.clone();
        bad[at..at + bytes.len()].copy_from_slice(bytes);
        bad
    };
    for (what, bytes) in [
        ("empty", Vec::new()),
        ("a text", b"hello".to_vec()),
        ("cut in the header", good[..50].to_vec()),
        ("cut in the program headers", good[..100].to_vec()),
        ("of another machine", with(18, &[62, 0])),
        ("of 32 bits", with(4, &[1])),
        ("big-endian", with(5, &[2])),
        ("an object file", with(16, &[1, 0])),
        ("with odd program headers", with(54, &[57, 0])),
        ("without program headers", with(56, &[0, 0])),
        ("with program headers beyond the end", with(32, &[0xff; 8])),
    ] {
        assert_eq!(run(&bytes).err(), Some(Errno::ENOEXEC), "{what}");
    }
    for (what, headers, error) in [
        (
            "more in the file than in memory",
            [Header::load(5, 0, 0x1_2000_0000, 0x2000, 0x1000)],
            Errno::EINVAL,
        ),
        ("beyond the space", [Header::load(5, 0, 1 << 47, 0x1000, 0x1000)], Errno::EINVAL),
        ("wrapping", [Header::load(5, 0, u64::MAX - 0xfff, 0x1000, 0x2000)], Errno::EINVAL),
        ("huge", [Header::load(6, 0, 0x1_2000_0000, 0x1000, 1 << 46)], Errno::ENOMEM),
        ("apart from its offset", [Header::load(5, 1, 0x1_2000_0000, 0x1000, 0x1000)], Errno::EINVAL),
    ] {
        assert_eq!(run(&program(2, 0x1_2000_0200, &headers, 0x2000)).err(), Some(error), "{what}");
    }
    assert_eq!(
        run(&program(2, 0x1000, &[Header { kind: 4, ..Header::load(4, 0, 0, 0, 0) }], 300)).err(),
        Some(Errno::EINVAL)
    );
}

#[test]
fn overlapping_segments_are_laid_over_each_other_as_on_linux() {
    let first = Header::load(6, 0, 0x1_2000_0000, 0x8000, 0x8000);
    let second = Header::load(6, 0x4000, 0x1_2000_0000, 0x4000, 0x4000);
    let mut driver = run(&program(2, 0x1_2000_0200, &[first, second], 0x8000)).unwrap();
    assert_eq!(driver.peek(0x1_2000_0000, 1), [(0x4000 % 251) as u8]);
    assert_eq!(driver.peek(0x1_2000_4000, 1), [(0x4000 % 251) as u8]);
}

#[test]
fn files_that_may_not_be_executed_and_paths_that_lead_nowhere() {
    let files = Archive::default()
        .file("data", 0o644, &usual())
        .directory("d")
        .file("script", 0o755, b"#! /data2 one two \nrest")
        .file("data2", 0o755, &usual())
        .file("loop", 0o755, b"#!/loop\n")
        .file("empty", 0o755, b"#!\n");
    let mut driver = Driver::with_files(files);
    for (path, error) in [
        ("/data", Errno::EACCES),
        ("/d", Errno::EACCES),
        ("/none", Errno::ENOENT),
        ("/data/x", Errno::ENOTDIR),
        ("", Errno::ENOENT),
        ("/loop", Errno::ELOOP),
        ("/empty", Errno::ENOEXEC),
    ] {
        assert_eq!(driver.start(path).err(), Some(error), "{path}");
    }
    assert_eq!(driver.server().free_spaces.len(), 8);
    driver.start("/script").unwrap();
    let context = driver.context().unwrap();
    let sp = driver.server().host.context(context).registers.general[3];
    let arguments: Vec<String> = (1..=4)
        .map(|word| {
            let at = driver.peek_word(sp + word * 8);
            string(&mut driver, at)
        })
        .collect();
    assert_eq!(arguments, ["/data2", "one two", "/script", "-x"]);
}

#[test]
fn a_program_gives_back_what_it_had() {
    let mut driver = run(&usual()).unwrap();
    let free = driver.server().memory.frames.free_count();
    let tables = driver.server().host.tables_left;
    for _ in 0..20 {
        driver.call(94, [0; 6]);
        driver.start("/p").unwrap();
    }
    assert_eq!(driver.server().memory.frames.free_count(), free);
    assert!(driver.server().host.tables_left.abs_diff(tables) < 20);
    driver.call(94, [0; 6]);
    let server = driver.server();
    assert_eq!((server.free_spaces.len(), server.free_contexts.len()), (8, 16));
    assert!(server.threads.is_empty() && server.processes.is_empty() && server.files.open.is_empty());
    assert!(server.host.mapped.is_empty());
}

#[test]
fn execve_replaces_the_program_and_fails_without_harm() {
    let mut driver = Driver::with_scratch();
    let scratch = crate::testing::driver::SCRATCH;
    driver.poke(scratch, b"/bin/program\0");
    driver.poke(scratch + 64, b"/text\0");
    assert_eq!(driver.result(221, [scratch + 64, 0, 0, 0, 0, 0]), Err(Errno::EACCES));
    assert_eq!(driver.result(221, [scratch, 1 << 46, 0, 0, 0, 0]), Err(Errno::EFAULT));
    driver.poke(scratch + 128, &(scratch + 64).to_le_bytes());
    assert_eq!(driver.call(221, [scratch, scratch + 128, 0, 0, 0, 0]), None);
    let context = driver.context().unwrap();
    let registers = driver.server().host.context(context).registers;
    assert_eq!(registers.pc, 0x1_2000_0200);
    assert_eq!(driver.peek_word(registers.general[3]), 1);
    let slice = crate::user::UserSlice::new(scratch, 1).unwrap();
    assert!(driver.server().view().unwrap().read_bytes(slice, &mut [0]).is_err());
    assert_eq!(driver.server().free_spaces.len(), 7);
}

#[test]
fn the_vdso_is_a_shared_object_with_linuxs_version() {
    let file = elf::ElfBytes::<elf::endian::LittleEndian>::minimal_parse(vdso::IMAGE).unwrap();
    assert_eq!((file.ehdr.e_machine, file.ehdr.e_type), (258, elf::abi::ET_DYN));
    let text = String::from_utf8_lossy(vdso::IMAGE).to_string();
    assert!(text.contains("__vdso_rt_sigreturn\0LINUX_5.10\0linux-vdso.so.1\0"));
    assert!(
        Program::parse(&mut |offset, into| {
            let from = vdso::IMAGE.get(usize::try_from(offset).unwrap()..).unwrap_or_default();
            let length = from.len().min(into.len());
            into[..length].copy_from_slice(&from[..length]);
            length
        })
        .is_ok()
    );
}

proptest! {
    #[test]
    fn mutated_programs_do_no_harm(changes in prop::collection::vec((0..0x120_usize, any::<u8>()), 1..8), cut in 0..0x1200_usize) {
        let mut bytes = usual();
        for (at, value) in changes {
            bytes[at] = value;
        }
        bytes.truncate(cut.max(1));
        let mut driver = Driver::with_files(Archive::default().file("p", 0o755, &bytes));
        let free = driver.server().memory.frames.free_count();
        if driver.start("/p").is_ok() {
            driver.call(94, [0; 6]);
        }
        let server = driver.server();
        prop_assert_eq!(server.free_spaces.len(), 8);
        // The pages of the file and of the vDSO stay in their caches.
        prop_assert!(free - server.memory.frames.free_count() <= 3);
        prop_assert!(server.host.mapped.is_empty());
    }
}
