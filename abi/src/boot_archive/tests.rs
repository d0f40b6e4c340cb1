//! The smallest archive, and one broken field after the other. The random ones stand in tools/image.

use super::*;
use std::vec;
use std::vec::Vec;

const PAGE: usize = 0x4000;

fn put(bytes: &mut [u8], at: usize, word: u64) {
    bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
}

/// Text at 0x1_2000_0000, data with a zeroed page behind it, one description.
fn small() -> Vec<u8> {
    let mut bytes = vec![0; 4 * PAGE];
    put(&mut bytes, 0, ARCHIVE_MAGIC);
    put(&mut bytes, 8, u64::from(ARCHIVE_VERSION) | 2 << 32);
    put(&mut bytes, 16, 1);
    put(&mut bytes, 24, 4 * 0x4000);
    put(&mut bytes, 32, 0x1_2000_0010);
    for (index, word) in [0x1_2000_0000, 0x4000, 0x100, 0x100, 3].into_iter().enumerate() {
        put(&mut bytes, SEGMENTS + 8 * index, word);
    }
    for (index, word) in [0x1_2000_4000, 0x8000, 8, 0x8000, 2].into_iter().enumerate() {
        put(&mut bytes, SEGMENTS + SEGMENT_SIZE + 8 * index, word);
    }
    bytes[ENTRIES..ENTRIES + 6].copy_from_slice(b"system");
    put(&mut bytes, ENTRIES + 32, 1);
    put(&mut bytes, ENTRIES + 40, 0xc000);
    put(&mut bytes, ENTRIES + 48, 5);
    bytes[3 * PAGE..3 * PAGE + 5].copy_from_slice(b"hello");
    bytes
}

const SEGMENTS: usize = HEADER_SIZE;
const ENTRIES: usize = HEADER_SIZE + 2 * SEGMENT_SIZE;

#[test]
fn the_smallest_archive_is_read() {
    let bytes = small();
    let archive = BootArchive::parse(&bytes).unwrap();
    assert_eq!(archive.size(), 4 * 0x4000);
    assert_eq!(archive.root_entry(), 0x1_2000_0010);
    let segments: Vec<_> = archive.root_segments().collect();
    assert_eq!(segments.len(), 2);
    assert_eq!(segments[0].0.access, SegmentAccess::ReadExecute);
    assert_eq!(segments[1].0.mem_size, 0x8000);
    assert_eq!(segments[1].1, &[0; 8]);
    let description = archive.description().unwrap();
    assert_eq!((description.name, description.data), ("system", &b"hello"[..]));
    assert_eq!(archive.find("system"), Some(description));
    assert_eq!(archive.find("syste"), None);
}

#[test]
fn bytes_behind_the_archive_do_not_matter() {
    let mut bytes = small();
    bytes.extend_from_slice(b"next");
    assert_eq!(BootArchive::parse(&bytes).unwrap().size(), 4 * 0x4000);
}

#[test]
fn each_broken_field_has_its_error() {
    let table = [
        (0, 0, ArchiveError::BadMagic),
        (8, 2 << 32 | 9, ArchiveError::BadVersion(9)),
        (8, 1, ArchiveError::SegmentCount(0)),
        (8, 1 | 17 << 32, ArchiveError::SegmentCount(17)),
        (16, 129, ArchiveError::EntryCount(129)),
        (16, 1 << 32 | 1, ArchiveError::ReservedNotZero),
        (24, 0x4001, ArchiveError::BadSize),
        (24, 5 * 0x4000, ArchiveError::Truncated),
        (24, 0, ArchiveError::Truncated),
        (32, 0x1_2000_0100, ArchiveError::RootEntry(0x1_2000_0100)),
        (32, 0x1_2000_4000, ArchiveError::RootEntry(0x1_2000_4000)),
        (40, 1, ArchiveError::ReservedNotZero),
        (SEGMENTS, 0x1_2000_0001, ArchiveError::SegmentShape(0)),
        (SEGMENTS, 0, ArchiveError::SegmentAddress(0)),
        (SEGMENTS, 0x1_2000_8000, ArchiveError::SegmentAddress(1)),
        (SEGMENTS, ROOT_ADDRESS_END, ArchiveError::SegmentAddress(0)),
        (SEGMENTS, u64::MAX - 0x3fff, ArchiveError::SegmentAddress(0)),
        (SEGMENTS + 8, 0, ArchiveError::SegmentData(0)),
        (SEGMENTS + 8, 0x8000, ArchiveError::SegmentData(1)),
        (SEGMENTS + 8, u64::MAX - 0x3fff, ArchiveError::SegmentData(0)),
        (SEGMENTS + 16, 0x101, ArchiveError::SegmentShape(0)),
        (SEGMENTS + 24, 0, ArchiveError::SegmentShape(0)),
        (SEGMENTS + 32, 0, ArchiveError::SegmentAccess(0)),
        (SEGMENTS + 32, 4, ArchiveError::SegmentAccess(0)),
        (ENTRIES, 0, ArchiveError::EntryName(0)),
        (ENTRIES, 0x20, ArchiveError::EntryName(0)),
        (ENTRIES + 24, 1, ArchiveError::EntryName(0)),
        (ENTRIES + 32, 0, ArchiveError::EntryKind(0)),
        (ENTRIES + 32, 1 << 32 | 1, ArchiveError::ReservedNotZero),
        (ENTRIES + 40, 0x8000, ArchiveError::EntryData(0)),
        (ENTRIES + 40, 0xc001, ArchiveError::EntryData(0)),
        (ENTRIES + 48, 0x4001, ArchiveError::EntryData(0)),
        (ENTRIES + 48, u64::MAX, ArchiveError::EntryData(0)),
        (ENTRIES + 56, 1, ArchiveError::ReservedNotZero),
    ];
    for (at, word, error) in table {
        let mut bytes = small();
        put(&mut bytes, at, word);
        assert_eq!(BootArchive::parse(&bytes).unwrap_err(), error, "word {word:#x} at {at}");
    }
}

#[test]
fn a_name_stands_once() {
    let mut bytes = small();
    put(&mut bytes, 16, 2);
    let first = bytes[ENTRIES..ENTRIES + ENTRY_SIZE].to_vec();
    bytes[ENTRIES + ENTRY_SIZE..ENTRIES + 2 * ENTRY_SIZE].copy_from_slice(&first);
    assert_eq!(BootArchive::parse(&bytes).unwrap_err(), ArchiveError::EntryTwice(1));
}

#[test]
fn every_shorter_archive_is_refused() {
    let bytes = small();
    for length in 0..bytes.len() {
        assert_eq!(BootArchive::parse(&bytes[..length]).unwrap_err(), ArchiveError::Truncated);
    }
}

#[test]
fn a_kernel_without_archive_says_so() {
    assert_eq!(BootImageHeader::UNPATCHED.archive(), None);
    let patched = BootImageHeader {
        archive_offset: 0x4000,
        archive_size: 0x8000,
        image_end: 0xc000,
        ..BootImageHeader::UNPATCHED
    };
    assert_eq!(patched.archive(), Some(0x4000..0xc000));
    assert_eq!(BootImageHeader { image_end: 0xbfff, ..patched }.archive(), None);
    assert_eq!(BootImageHeader { archive_offset: 0x4001, ..patched }.archive(), None);
    assert_eq!(BootImageHeader { archive_offset: u64::MAX - 0x3fff, ..patched }.archive(), None);
    assert_eq!(&patched.to_bytes()[..8], b"BIXIBOOT");
    assert_eq!(&patched.to_bytes()[16..24], &0x8000_u64.to_le_bytes());
}
