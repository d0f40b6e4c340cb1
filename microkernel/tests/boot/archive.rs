//! A boot archive made by hand, with a root of three segments.

use abi::boot_archive::{ARCHIVE_MAGIC, ARCHIVE_VERSION};

pub(crate) const PAGE: u64 = 0x4000;
pub(crate) const TEXT: u64 = 0x1_2000_0000;
pub(crate) const CONSTANTS: u64 = TEXT + 4 * PAGE;
pub(crate) const DATA: u64 = 0x1_2200_0000;
pub(crate) const ENTRY: u64 = TEXT + 0x100;
/// Bytes of the data segment in the archive: one page and a part of another that is no multiple of 8.
pub(crate) const DATA_FILE: u64 = PAGE + 1003;
/// Bytes of the data segment in memory: four pages.
pub(crate) const DATA_MEMORY: u64 = 3 * PAGE + 5;

/// The archive's bytes: eight pages.
pub(crate) fn archive(data_address: u64) -> Vec<u8> {
    let segments = [
        // address, offset, file, memory, access
        [TEXT, PAGE, PAGE + 20, PAGE + 20, 3],
        [CONSTANTS, 3 * PAGE, 100, 100, 1],
        [data_address, 4 * PAGE, DATA_FILE, DATA_MEMORY, 2],
    ];
    let size = 8 * PAGE;
    let mut bytes = Vec::new();
    bytes.extend(ARCHIVE_MAGIC.to_le_bytes());
    for word in [ARCHIVE_VERSION, 3, 0, 0] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(size.to_le_bytes());
    bytes.extend(ENTRY.to_le_bytes());
    bytes.resize(64, 0);
    for segment in segments {
        bytes.extend(segment.iter().flat_map(|word| word.to_le_bytes()));
    }
    bytes.resize(usize::try_from(size).unwrap(), 0);
    for [_, offset, file, ..] in segments {
        for at in offset..offset + file {
            bytes[usize::try_from(at).unwrap()] = byte(at);
        }
    }
    bytes
}

/// What the archive has at an offset that belongs to a segment.
pub(crate) fn byte(offset: u64) -> u8 {
    u8::try_from(offset * 7 % 251 + 1).unwrap()
}
