//! What a good image looks like: addresses, patched header, archive, debug information.

use super::fixture::{self, HEADER_AT, KERNEL_END, SYMBOL_AT};
use crate::elf::{self, ElfImage};
use crate::kernel::Kernel;
use crate::{DESCRIPTION_ENTRY, LoadAddress, build, programs};
use abi::boot_archive::{BootArchive, EntryKind, SegmentAccess};
use abi::description::Description;
use loader::Program;
use std::fs;
use std::path::Path;

const DESCRIPTION: &str = r#"
[system]
name = "right"
memory = "512MiB"

[[server]]
name = "client"
program = "console"
priority = 90
after = ["console"]
arguments = ["--fast", "two words"]

[[server]]
name = "console"
priority = 100
devices = ["serial0", "serial3"]
memory = "1MiB"
capabilities = ["debug"]

[[channel]]
name = "log"
from = "client"
to = "console"
kind = "ring"
entries = 64
"#;

fn built(load: u64) -> ElfImage {
    let folder = fixture::folder();
    let description = folder.path().join("right.toml");
    fs::write(&description, DESCRIPTION).unwrap();
    let mut request = fixture::request(folder.path(), &description);
    request.load_address = LoadAddress::new(load).unwrap();
    let built = build(&request).unwrap();
    assert_eq!((built.memory_bytes, built.system.as_str()), (512 << 20, "right"));
    assert_eq!(built.notes, Vec::<String>::new());
    assert_eq!(built.entries.len(), 2, "one program runs twice");
    elf::read(&fs::read(&built.path).unwrap()).unwrap()
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

#[test]
fn everything_moves_with_the_load_address() {
    for load in [0x20_0000, 0x8400_0000] {
        let image = built(load);
        let base = 0x9000_0000_0000_0000 + load;
        assert_eq!((image.entry, image.kind), (base + 4, 2));
        let places: Vec<_> = image.segments.iter().map(|one| (one.vaddr, one.paddr, one.flags)).collect();
        assert_eq!(
            places,
            [(base, load, 5), (base + 0x4000, load + 0x4000, 6), (base + KERNEL_END, load + KERNEL_END, 4)]
        );
        assert_eq!(image.section(".text").unwrap().address, base);
        let symbols = &image.section(".symtab").unwrap().data;
        assert_eq!(word(symbols, 24 + 8), base + SYMBOL_AT);
        assert_eq!(word(symbols, 48 + 8), SYMBOL_AT, "an absolute symbol stays");
        let lines = &image.section(".debug_line").unwrap().data;
        assert_eq!((word(lines, 0), word(lines, 8)), (base + SYMBOL_AT, SYMBOL_AT));
        assert!(image.section(".rela.debug_line").is_none());
    }
}

#[test]
fn the_archive_lies_where_the_header_says() {
    let image = built(0x20_0000);
    let header = &image.segments[1].data[0x10..0x30];
    assert_eq!(HEADER_AT, 0x4010);
    let archive = &image.segments[2];
    assert_eq!(&header[..8], b"BIXIBOOT");
    assert_eq!(word(header, 8), KERNEL_END);
    assert_eq!(word(header, 16), archive.mem_size);
    assert_eq!(word(header, 24), KERNEL_END + archive.mem_size);
    let archive = BootArchive::parse(&archive.data).unwrap();
    assert_eq!(archive.root_entry(), 0x1_2000_0100);
    let segments: Vec<_> = archive.root_segments().collect();
    assert_eq!((segments[0].0.vaddr, segments[0].0.access), (0x1_2000_0000, SegmentAccess::ReadExecute));
    assert_eq!(segments[0].1.len(), 0x120);
    assert_eq!((segments[0].1[0xff], segments[0].1[0x100]), (0, 2));
    assert_eq!((segments[1].0.file_size, segments[1].0.mem_size), (0, 0x4000));
}

#[test]
fn root_finds_the_description_and_the_programs() {
    let image = built(0x20_0000);
    let archive = BootArchive::parse(&image.segments[2].data).unwrap();
    let entry = archive.description().unwrap();
    assert_eq!(entry.name, DESCRIPTION_ENTRY);
    let description = Description::parse(entry.data).unwrap();
    let names: Vec<_> = description.servers().map(|server| server.name).collect();
    assert_eq!(names, ["console", "client"], "in the order of starting");
    let client = description.server(1).unwrap();
    assert_eq!(client.arguments().collect::<Vec<_>>(), ["--fast", "two words"]);
    assert_eq!((client.budget_us, client.period_us), (10_000, 10_000));
    let channel = description.channels().next().unwrap();
    assert_eq!((channel.from, channel.to, channel.entries), (1, 0, 64));
    let devices: Vec<_> = description.devices().map(|one| (one.name, one.interrupt, one.server)).collect();
    assert_eq!(devices, [("serial0", Some(2), 0), ("serial3", Some(5), 0)]);
    for server in description.servers() {
        let program = archive.find(server.program).unwrap();
        assert_eq!(program.kind, EntryKind::Program);
        assert_eq!(Program::parse(program.data).unwrap().entry(), 0x1_2000_0100);
    }
}

#[test]
fn a_stripped_program_keeps_its_symbols() {
    let whole = fixture::program().write();
    let stripped = programs::strip(&whole, programs::Kind::Server).unwrap();
    assert!(stripped.len() + 0x1000 <= whole.len());
    let image = elf::read(&stripped).unwrap();
    assert!(image.section(".debug_info").is_none());
    let symbols = image.section(".symtab").unwrap();
    // .text is the first section now, and the names the third.
    assert_eq!((elf::symbol_section(&symbols.data), symbols.link), (Some(1), 3));
    assert_eq!(word(&symbols.data, 8), 0x1_2000_0110);
}

#[test]
fn what_is_written_is_read_again() {
    let bytes = fixture::kernel().write();
    assert_eq!(elf::read(&bytes).unwrap().write(), bytes);
}

#[test]
fn a_kernel_without_relocations_loses_its_lines_and_says_so() {
    let mut kernel = fixture::kernel();
    kernel.retain_sections(|section| section.name != b".rela.debug_line");
    let kernel = Kernel::read(Path::new("microkernel"), &kernel.write()).unwrap();
    let placed = kernel.place(vec![0; 0x4000], LoadAddress::DEFAULT);
    assert!(placed.note.unwrap().contains("--emit-relocs"));
    let image = elf::read(&placed.file).unwrap();
    assert!(image.section(".debug_line").is_none());
    assert!(image.section(".symtab").is_some());
}

#[test]
fn what_cannot_be_a_kernel_is_refused() {
    let refused = |change: &dyn Fn(&mut ElfImage)| {
        let mut kernel = fixture::kernel();
        change(&mut kernel);
        let mistake = Kernel::read(Path::new("microkernel"), &kernel.write()).unwrap_err();
        mistake.alone().to_string()
    };
    assert!(refused(&|kernel| kernel.kind = 2).contains("not position-independent"));
    assert!(refused(&|kernel| kernel.segments[0].vaddr = 0x4000).contains("not linked at address 0"));
    assert!(refused(&|kernel| kernel.segments[1].mem_size = 1 << 40).contains("beyond 4 GiB"));
    assert!(refused(&|kernel| kernel.sections[2].name = b".bixi".to_vec()).contains("no section"));
    assert!(refused(&|kernel| kernel.sections[2].address = 0).contains("holds no boot header"));
    assert!(refused(&|kernel| kernel.segments[1].data[0x18] = 1).contains("an image already"));
    let foreign = Kernel::read(Path::new("microkernel"), b"MZ").unwrap_err().alone().to_string();
    assert!(foreign.contains("not an ELF file"));
}
