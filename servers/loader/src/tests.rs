//! A small executable by hand, then one mistake after the other, each with its name.

use crate::{ElfError, HostProgram, PAGE_SIZE, Program, SegmentAccess};
use abi::upper::{DATA, HEADER_MAGIC, LEAF_BYTES, PART_BYTES, RODATA, TEXT};
use std::vec;
use std::vec::Vec;

const BASE: u64 = 0x1_2000_0000;
/// Where the first program header begins, and the bytes of each.
const HEADERS: usize = 64;
const HEADER: usize = 56;

fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    bytes[at..at + field.len()].copy_from_slice(field);
}

fn program_header(kind: u32, flags: u32, offset: u64, vaddr: u64, file: u64, memory: u64) -> Vec<u8> {
    let mut header = Vec::new();
    header.extend(kind.to_le_bytes());
    header.extend(flags.to_le_bytes());
    for word in [offset, vaddr, vaddr, file, memory, PAGE_SIZE] {
        header.extend(word.to_le_bytes());
    }
    header
}

/// Text of 16 bytes, then data that begins in mid-page with two pages of zeros behind it.
fn small() -> Vec<u8> {
    let mut bytes = vec![0; 0x200];
    put(&mut bytes, 0, b"\x7fELF\x02\x01\x01");
    put(&mut bytes, 16, &[2, 0, 2, 1, 1, 0, 0, 0]);
    put(&mut bytes, 24, &(BASE + 0x100).to_le_bytes());
    put(&mut bytes, 32, &(HEADERS as u64).to_le_bytes());
    put(&mut bytes, 52, &[64, 0, 56, 0, 2, 0]);
    put(&mut bytes, HEADERS, &program_header(1, 5, 0x100, BASE + 0x100, 16, 16));
    put(&mut bytes, HEADERS + HEADER, &program_header(1, 6, 0x110, BASE + 0x4110, 0x20, 0x8000));
    bytes[0x100..0x130].fill(7);
    bytes
}

fn refused(change: impl FnOnce(&mut Vec<u8>)) -> ElfError {
    let mut bytes = small();
    change(&mut bytes);
    Program::parse(&bytes).unwrap_err()
}

fn with_header(index: usize, header: Vec<u8>) -> ElfError {
    refused(|bytes| put(bytes, HEADERS + HEADER * index, &header))
}

#[test]
fn a_small_executable_has_its_pages() {
    let bytes = small();
    let program = Program::parse(&bytes).unwrap();
    assert_eq!((program.entry(), program.page_count()), (BASE + 0x100, 4));
    let segments: Vec<_> = program.segments().collect();
    assert_eq!(segments[0].access, SegmentAccess::ReadExecute);
    let pages: Vec<_> = segments[1].pages().collect();
    assert_eq!((pages[0].vaddr, pages[0].data_at, pages[0].data), (BASE + 0x4000, 0x110, &[7; 0x20][..]));
    assert_eq!((pages[1].vaddr, pages[1].data_at, pages[1].data), (BASE + 0x8000, 0, &[][..]));
    assert_eq!(pages.len(), 3);
}

#[test]
fn data_over_a_page_boundary_is_cut_at_it() {
    let mut bytes = small();
    bytes.resize(0x110 + 0x5000, 9);
    put(&mut bytes, HEADERS + HEADER, &program_header(1, 6, 0x110, BASE + 0x4110, 0x5000, 0x5000));
    let program = Program::parse(&bytes).unwrap();
    let pages: Vec<_> = program.segments().nth(1).unwrap().pages().collect();
    let cuts: Vec<_> = pages.iter().map(|page| (page.data_at, page.data.len())).collect();
    assert_eq!(cuts, [(0x110, 0x3ef0), (0, 0x1110)]);
}

#[test]
fn each_mistake_in_the_file_header_has_its_name() {
    assert_eq!(Program::parse(b"").unwrap_err(), ElfError::NotElf);
    assert_eq!(Program::parse(b"#!/bin/sh\n").unwrap_err(), ElfError::NotElf);
    assert_eq!(refused(|bytes| bytes[5] = 2), ElfError::ByteOrder);
    assert_eq!(refused(|bytes| bytes[18..20].fill(0)), ElfError::Machine(0));
    assert_eq!(refused(|bytes| put(bytes, 18, &[62, 0])), ElfError::Machine(62));
    assert_eq!(refused(|bytes| bytes[16] = 1), ElfError::NotExecutable(1));
    assert_eq!(refused(|bytes| bytes[16] = 3), ElfError::Dynamic);
    assert_eq!(refused(|bytes| bytes[56] = 0), ElfError::NoSegments);
    assert_eq!(refused(|bytes| bytes.truncate(HEADERS + HEADER)), ElfError::Truncated);
    assert_eq!(refused(|bytes| bytes.truncate(0x10f)), ElfError::Truncated);
    let entry = |entry: u64| refused(|bytes| put(bytes, 24, &entry.to_le_bytes()));
    assert_eq!(entry(BASE + 0x102), ElfError::Entry(BASE + 0x102));
    assert_eq!(entry(BASE + 0x4110), ElfError::Entry(BASE + 0x4110));
    assert_eq!(entry(0), ElfError::Entry(0));
}

#[test]
fn each_mistake_in_a_segment_has_its_name() {
    let second = |flags, offset, vaddr, file, memory| {
        with_header(1, program_header(1, flags, offset, vaddr, file, memory))
    };
    assert_eq!(second(7, 0x110, BASE + 0x4110, 8, 8), ElfError::WriteExecute(1));
    assert_eq!(second(3, 0x110, BASE + 0x4110, 8, 8), ElfError::WriteExecute(1));
    assert_eq!(second(0, 0x110, BASE + 0x4110, 8, 8), ElfError::NoAccess(1));
    assert_eq!(second(6, 0x110, BASE + 0x4110, 9, 8), ElfError::FileLargerThanMemory(1));
    assert_eq!(second(6, 0x110, BASE + 0x4110, 0x1000, 0x1000), ElfError::Truncated);
    assert_eq!(second(6, u64::MAX, BASE + 0x4110, 8, 8), ElfError::Wraps(1));
    assert_eq!(second(6, 0x110, BASE + 0x4110, 8, u64::MAX), ElfError::Wraps(1));
    assert_eq!(second(6, 0x110, BASE + 0x4110, 8, 1 << 47), ElfError::Address(1));
    assert_eq!(second(6, 0x110, 0x10, 8, 8), ElfError::Address(1));
    assert_eq!(second(6, 0x110, BASE + 0x108, 8, 8), ElfError::Overlap(1));
    assert_eq!(second(6, 0x110, BASE - 0x4000, 8, 8), ElfError::Overlap(1));
    assert_eq!(second(6, 0x110, BASE + 0x110, 8, 8), ElfError::SharedPage(1));
    assert_eq!(with_header(1, program_header(2, 6, 0, 0, 0, 0)), ElfError::Dynamic);
    assert_eq!(with_header(1, program_header(3, 4, 0, 0, 0, 0)), ElfError::Dynamic);
    assert_eq!(with_header(1, program_header(7, 4, 0, 0, 0, 0)), ElfError::ThreadLocal);
}

#[test]
fn more_segments_than_there_are_slots_are_refused() {
    let count = 17_u16;
    let mut bytes = small();
    bytes.resize(HEADERS + HEADER * usize::from(count), 0);
    put(&mut bytes, 56, &count.to_le_bytes());
    for index in 0..usize::from(count) {
        let header = program_header(1, 5, 0, BASE + PAGE_SIZE * index as u64, 16, 0x200);
        put(&mut bytes, HEADERS + HEADER * index, &header);
    }
    assert_eq!(Program::parse(&bytes).unwrap_err(), ElfError::TooManySegments);
}

/// The start of a host's header: where its text begins in [`small_host`].
const HOST_TEXT: usize = 0x100;

/// A host: text with its header, constants, data with zeros behind it.
fn small_host() -> Vec<u8> {
    let mut bytes = small();
    bytes.resize(0x300, 0);
    put(&mut bytes, 24, &(TEXT + 0x30).to_le_bytes());
    put(&mut bytes, 56, &[3, 0]);
    put(&mut bytes, HEADERS, &program_header(1, 5, HOST_TEXT as u64, TEXT, 0x40, 0x40));
    bytes[HEADERS + 2 * HEADER..HEADERS + 3 * HEADER].fill(0);
    // The third header lies where the text would: behind all else.
    put(&mut bytes, 32, &0x200_u64.to_le_bytes());
    put(&mut bytes, 0x200, &program_header(1, 5, HOST_TEXT as u64, TEXT, 0x40, 0x40));
    put(&mut bytes, 0x200 + HEADER, &program_header(1, 4, 0x180, RODATA, 8, 8));
    put(&mut bytes, 0x200 + 2 * HEADER, &program_header(1, 6, 0x180, DATA, 8, 0x1_0000));
    for (index, word) in [HEADER_MAGIC, 0x30, 0x34, 0x38, 0x3c, 0x30].into_iter().enumerate() {
        let word = if index == 0 { word } else { TEXT + word };
        put(&mut bytes, HOST_TEXT + 8 * index, &word.to_le_bytes());
    }
    bytes
}

#[test]
fn a_host_has_its_header_and_its_three_segments() {
    let bytes = small_host();
    let host = HostProgram::parse(&bytes).unwrap();
    assert_eq!((host.header.start, host.header.interrupted), (TEXT + 0x30, TEXT + 0x3c));
    assert_eq!(host.segments().map(|segment| segment.vaddr).collect::<Vec<_>>(), [TEXT, RODATA, DATA]);
    assert_eq!(Program::parse(&bytes).unwrap_err(), ElfError::Address(0), "a host is no ordinary server");
    assert_eq!(HostProgram::parse(&small()).unwrap_err(), ElfError::Address(0), "and the other way round");
}

#[test]
fn each_mistake_in_a_host_has_its_name() {
    let changed = |at: usize, field: &[u8]| {
        let mut bytes = small_host();
        put(&mut bytes, at, field);
        HostProgram::parse(&bytes).unwrap_err()
    };
    let header = |index: usize, header: Vec<u8>| changed(0x200 + index * HEADER, &header);
    assert_eq!(
        header(1, program_header(1, 4, 0x180, RODATA - 0x4000, 8, 8)),
        ElfError::HostPlace(SegmentAccess::Read)
    );
    assert_eq!(header(1, program_header(1, 4, 0x180, RODATA, 8, LEAF_BYTES + 1)), ElfError::Overlap(2));
    assert_eq!(
        header(2, program_header(1, 6, 0x180, DATA, 8, PART_BYTES / 2)),
        ElfError::HostPlace(SegmentAccess::ReadWrite)
    );
    assert_eq!(
        header(2, program_header(1, 4, 0x180, RODATA + 0x4000, 8, 8)),
        ElfError::HostPlace(SegmentAccess::Read),
        "two segments of constants"
    );
    assert_eq!(changed(HOST_TEXT, b"BIXISERV"), ElfError::NoHostHeader);
    let data = program_header(1, 6, 0x180, DATA, 8, 8);
    assert_eq!(header(0, data), ElfError::Overlap(1));
    for word in 1..6 {
        for entry in [TEXT + 0x40, TEXT + 2, RODATA] {
            assert_eq!(changed(HOST_TEXT + 8 * word, &entry.to_le_bytes()), ElfError::HostEntry(entry));
        }
    }
}
