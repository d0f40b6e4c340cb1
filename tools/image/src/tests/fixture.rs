//! A small kernel and small programs, and a folder with them.

use crate::elf::{ElfImage, Section, Segment};
use crate::{BuildRequest, Form, LoadAddress};
use abi::boot_archive::{BOOT_IMAGE_SECTION, BootImageHeader};
use abi::upper::{HEADER_MAGIC, TEXT};
use object::elf::{ET_DYN, ET_EXEC, R_LARCH_64, SHF_ALLOC, SHT_PROGBITS, SHT_RELA, SHT_STRTAB, SHT_SYMTAB};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Where the fixture's kernel has its boot header, a symbol of four bytes, and its end.
pub(super) const HEADER_AT: u64 = 0x4010;
pub(super) const SYMBOL_AT: u64 = 0x20;
pub(super) const KERNEL_END: u64 = 0xc000;
const SERVER_BASE: u64 = 0x1_2000_0000;

/// A folder with a kernel, `root`, `console`, `host`, and programs that are none.
pub(super) fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    put("microkernel", &kernel().write());
    put("root", &program().write());
    put("console", &program().write());
    put("host", &host().write());
    let mut headless = host();
    headless.segments[0].data[0] = 0;
    put("headless", &headless.write());
    put("script", b"#!/bin/sh\necho hello\n");
    let mut foreign = program().write();
    foreign[18..20].copy_from_slice(&62_u16.to_le_bytes());
    put("foreign", &foreign);
    let mut cut = program().write();
    cut.truncate(0x4008);
    put("cut", &cut);
    let mut loose = program();
    loose.segments[0].flags = 7;
    put("loose", &loose.write());
    folder
}

pub(super) fn request(folder: &Path, description: &Path) -> BuildRequest {
    BuildRequest {
        description: description.to_path_buf(),
        kernel: folder.join("microkernel"),
        program_folders: vec![folder.to_path_buf()],
        output: folder.join("image"),
        load_address: LoadAddress::DEFAULT,
        form: Form::Elf,
    }
}

/// Text of 64 bytes at 0, data with the boot header at 0x4000, zeros to 0xc000.
pub(super) fn kernel() -> ElfImage {
    let mut data = vec![0; 0x30];
    data[0x10..0x30].copy_from_slice(&BootImageHeader::UNPATCHED.to_bytes());
    ElfImage {
        kind: ET_DYN.0,
        flags: 0x41,
        entry: 4,
        segments: vec![segment(5, 0, vec![1; 64], 64), segment(6, 0x4000, data, 0x8000)],
        sections: vec![
            section("", 0, 0, 0, Vec::new()),
            loaded(".text", 0, 64),
            loaded(BOOT_IMAGE_SECTION, HEADER_AT, 32),
            // One address word and one that only looks like one.
            section(".debug_line", SHT_PROGBITS.0, 0, 0, [SYMBOL_AT.to_le_bytes(); 2].concat()),
            section(".rela.debug_line", SHT_RELA.0, 5, 3, relocation(0, 1)),
            section(".symtab", SHT_SYMTAB.0, 6, 0, symbols()),
            section(".strtab", SHT_STRTAB.0, 0, 0, b"\0bixi_symbol\0bixi_constant\0".to_vec()),
            section(".shstrtab", SHT_STRTAB.0, 0, 0, Vec::new()),
        ],
    }
}

/// Text that begins in mid-page, and a page of zeros that can be written.
pub(super) fn program() -> ElfImage {
    ElfImage {
        kind: ET_EXEC.0,
        flags: 0x41,
        entry: SERVER_BASE + 0x100,
        segments: vec![
            segment(5, SERVER_BASE + 0x100, vec![2; 0x20], 0x20),
            segment(6, SERVER_BASE + 0x4000, Vec::new(), 0x4000),
        ],
        sections: vec![
            section("", 0, 0, 0, Vec::new()),
            section(".debug_info", SHT_PROGBITS.0, 0, 0, vec![3; 0x1000]),
            loaded(".text", SERVER_BASE + 0x100, 0x20),
            section(".symtab", SHT_SYMTAB.0, 4, 1, symbol(1, 2, SERVER_BASE + 0x110)),
            section(".strtab", SHT_STRTAB.0, 0, 0, b"\0main\0".to_vec()),
            section(".shstrtab", SHT_STRTAB.0, 0, 0, Vec::new()),
        ],
    }
}

/// A host: its header, and an instruction for each of its addresses.
pub(super) fn host() -> ElfImage {
    let entries = [0x30, 0x34, 0x38, 0x3c, 0x40].map(|offset| TEXT + offset);
    let words = core::iter::once(HEADER_MAGIC).chain(entries);
    let mut text: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    text.resize(0x44, 2);
    ElfImage { entry: TEXT + 0x30, segments: vec![segment(5, TEXT, text, 0x44)], ..program() }
}

fn segment(flags: u32, vaddr: u64, data: Vec<u8>, mem_size: u64) -> Segment {
    Segment { flags, vaddr, paddr: vaddr, mem_size, data }
}

fn section(name: &str, kind: u32, link: u32, info: u32, data: Vec<u8>) -> Section {
    let entry_size = if data.is_empty() { 0 } else { 24 };
    Section {
        name: name.as_bytes().to_vec(),
        kind,
        flags: 0,
        address: 0,
        size: data.len() as u64,
        link,
        info,
        align: 1,
        entry_size,
        data,
    }
}

fn loaded(name: &str, address: u64, size: u64) -> Section {
    let flags = SHF_ALLOC.0;
    Section { flags, address, size, ..section(name, SHT_PROGBITS.0, 0, 0, Vec::new()) }
}

fn symbols() -> Vec<u8> {
    [symbol(0, 0, 0), symbol(1, 1, SYMBOL_AT), symbol(13, 0xfff1, SYMBOL_AT)].concat()
}

fn symbol(name: u32, section: u16, value: u64) -> Vec<u8> {
    let mut symbol = name.to_le_bytes().to_vec();
    symbol.extend([0x12, 0]);
    symbol.extend(section.to_le_bytes());
    symbol.extend(value.to_le_bytes());
    symbol.extend(4_u64.to_le_bytes());
    symbol
}

fn relocation(offset: u64, symbol: u32) -> Vec<u8> {
    let mut relocation = offset.to_le_bytes().to_vec();
    relocation.extend(R_LARCH_64.0.to_le_bytes());
    relocation.extend(symbol.to_le_bytes());
    relocation.extend([0; 8]);
    relocation
}
