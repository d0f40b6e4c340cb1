//! The boot archive: what the image tool appends to the kernel, and the one checked reader of it.
//!
//! Owned here: the header that the image tool patches in the kernel ([`BootImageHeader`]), the archive's
//! layout, and [`BootArchive`], which the kernel uses to place root, root to find the other servers' ELFs,
//! and the tools in their tests.
//!
//! Invariant: a [`BootArchive`] exists only for bytes that passed every check of [`BootArchive::parse`];
//! its accessors cannot fail. The archive is read-only and shared, so nothing changes between check and use.
//!
//! Layout, all little-endian, every data block aligned to [`ARCHIVE_ALIGN`] so that it can be mapped:
//!
//! | at | what |
//! | --- | --- |
//! | 0 | header, [`HEADER_SIZE`] bytes |
//! | then | root's segments, [`SEGMENT_SIZE`] bytes each, ascending by address |
//! | then | entries, [`ENTRY_SIZE`] bytes each |
//! | next aligned offset | data of the segments, then of the entries, ascending, without overlap |

mod error;

pub use self::error::ArchiveError;
use crate::fields::Fields;
use core::ops::Range;

/// What the patched header in the kernel's section [`BOOT_IMAGE_SECTION`] begins with: "BIXIBOOT".
pub const BOOT_IMAGE_MAGIC: u64 = u64::from_le_bytes(*b"BIXIBOOT");
/// The kernel's section that holds nothing but its [`BootImageHeader`].
pub const BOOT_IMAGE_SECTION: &str = ".bixi.boot";
/// What an archive begins with: "BIXIARCH".
pub const ARCHIVE_MAGIC: u64 = u64::from_le_bytes(*b"BIXIARCH");
/// The layout described in this file; a reader refuses any other.
pub const ARCHIVE_VERSION: u32 = 1;
/// Alignment of the archive in memory and of each data block in it: one page (C-40).
pub const ARCHIVE_ALIGN: u64 = 0x4000;
/// Bytes of the archive's header.
pub const HEADER_SIZE: usize = 64;
/// Bytes of one root segment in the table.
pub const SEGMENT_SIZE: usize = 40;
/// Bytes of one entry in the table.
pub const ENTRY_SIZE: usize = 64;
/// The longest name of an entry, in bytes.
pub const NAME_SIZE: usize = 32;
/// The most segments that root may have.
pub const MAX_SEGMENTS: usize = 16;
/// The most entries that an archive may have.
pub const MAX_ENTRIES: usize = 128;
/// Root lives below this address: the lower half has 47 bits (C-44).
pub const ROOT_ADDRESS_END: u64 = 1 << 47;

/// Where the kernel finds its archive: in the kernel's own data, patched by the image tool.
///
/// The kernel places `BootImageHeader::UNPATCHED` in [`BOOT_IMAGE_SECTION`] and reads it with a volatile
/// read, since the compiler would otherwise believe the value that it was built with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(C)]
pub struct BootImageHeader {
    /// [`BOOT_IMAGE_MAGIC`].
    pub magic: u64,
    /// Offset of the archive from the kernel's first byte in memory, in bytes.
    pub archive_offset: u64,
    /// Bytes of the archive; 0 in a kernel that the image tool has not seen.
    pub archive_size: u64,
    /// Offset from the kernel's first byte to the end of what the image occupies in memory, in bytes.
    pub image_end: u64,
}

/// Bytes of a [`BootImageHeader`].
pub const BOOT_IMAGE_HEADER_SIZE: usize = 32;
const _: () = assert!(size_of::<BootImageHeader>() == BOOT_IMAGE_HEADER_SIZE);

impl BootImageHeader {
    /// What stands in a kernel before the image tool has been there.
    pub const UNPATCHED: Self =
        Self { magic: BOOT_IMAGE_MAGIC, archive_offset: 0, archive_size: 0, image_end: 0 };

    /// The archive's place relative to the kernel's first byte, or None if this kernel has no archive.
    pub fn archive(&self) -> Option<Range<u64>> {
        if self.magic != BOOT_IMAGE_MAGIC || self.archive_size == 0 {
            return None;
        }
        let end = self.archive_offset.checked_add(self.archive_size)?;
        (self.archive_offset.is_multiple_of(ARCHIVE_ALIGN) && end <= self.image_end)
            .then_some(self.archive_offset..end)
    }

    /// The header as it stands in the kernel's file.
    pub fn to_bytes(&self) -> [u8; BOOT_IMAGE_HEADER_SIZE] {
        let mut bytes = [0; BOOT_IMAGE_HEADER_SIZE];
        let words = [self.magic, self.archive_offset, self.archive_size, self.image_end];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}

/// What a segment's pages may be used for; there is no write with execute.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SegmentAccess {
    /// Constants.
    Read,
    /// Data: each page of it is a fresh frame.
    ReadWrite,
    /// Text.
    ReadExecute,
}

impl SegmentAccess {
    /// The number that stands in the table.
    pub const fn code(self) -> u64 {
        match self {
            Self::Read => 1,
            Self::ReadWrite => 2,
            Self::ReadExecute => 3,
        }
    }

    fn from_code(code: u64) -> Option<Self> {
        [Self::Read, Self::ReadWrite, Self::ReadExecute].into_iter().find(|access| access.code() == code)
    }
}

/// One run of root's pages with equal access.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RootSegment {
    /// First address, a multiple of [`ARCHIVE_ALIGN`].
    pub vaddr: u64,
    /// Where its data lies in the archive, a multiple of [`ARCHIVE_ALIGN`].
    pub offset: u64,
    /// Bytes that come from the archive; a last partial page goes on with zeros there too.
    pub file_size: u64,
    /// Bytes in memory, at least `file_size`; zeros behind it.
    pub mem_size: u64,
    /// What its pages may be used for.
    pub access: SegmentAccess,
}

/// What an entry holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EntryKind {
    /// The compiled system description (`abi::description`).
    Description,
    /// A server's ELF.
    Program,
    /// Any other file.
    Data,
}

impl EntryKind {
    /// The number that stands in the table.
    pub const fn code(self) -> u32 {
        match self {
            Self::Description => 1,
            Self::Program => 2,
            Self::Data => 3,
        }
    }

    fn from_code(code: u32) -> Option<Self> {
        [Self::Description, Self::Program, Self::Data].into_iter().find(|kind| kind.code() == code)
    }
}

/// One named block of the archive.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Entry<'a> {
    /// Its name: printable ASCII, unique in the archive.
    pub name: &'a str,
    /// What it holds.
    pub kind: EntryKind,
    /// Where it lies in the archive, a multiple of [`ARCHIVE_ALIGN`].
    pub offset: u64,
    /// Its size in bytes; zeros follow up to the next multiple of [`ARCHIVE_ALIGN`].
    pub size: u64,
    /// Its bytes.
    pub data: &'a [u8],
}

/// A checked archive.
#[derive(Clone, Copy, Debug)]
pub struct BootArchive<'a> {
    bytes: &'a [u8],
    root_entry: u64,
    segments: &'a [u8],
    entries: &'a [u8],
}

impl<'a> BootArchive<'a> {
    /// Checks every field of the archive that `bytes` begins with.
    ///
    /// # Errors
    /// The first rule that is broken, in the order of the layout.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ArchiveError> {
        let header = Header::read(bytes)?;
        let bytes = usize::try_from(header.size)
            .ok()
            .and_then(|size| bytes.get(..size))
            .ok_or(ArchiveError::Truncated)?;
        let segments_end = HEADER_SIZE + header.segment_count * SEGMENT_SIZE;
        let entries_end = segments_end + header.entry_count * ENTRY_SIZE;
        let segments = bytes.get(HEADER_SIZE..segments_end).ok_or(ArchiveError::Truncated)?;
        let entries = bytes.get(segments_end..entries_end).ok_or(ArchiveError::Truncated)?;
        let archive = Self { bytes, root_entry: header.root_entry, segments, entries };
        let data_end = archive.check_segments(entries_end as u64)?;
        archive.check_entries(data_end)?;
        Ok(archive)
    }

    /// Bytes of the whole archive, a multiple of [`ARCHIVE_ALIGN`].
    pub fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The address at which root begins; it lies in a segment that can be executed.
    pub fn root_entry(&self) -> u64 {
        self.root_entry
    }

    /// Root's segments, ascending by address, with their bytes.
    pub fn root_segments(&self) -> impl Iterator<Item = (RootSegment, &'a [u8])> + use<'a> {
        let bytes = self.bytes;
        self.segments.chunks_exact(SEGMENT_SIZE).filter_map(move |record| {
            let segment = read_segment(record)?;
            Some((segment, block(bytes, segment.offset, segment.file_size)?))
        })
    }

    /// All entries, in the order of the table.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'a>> + use<'a> {
        let bytes = self.bytes;
        self.entries.chunks_exact(ENTRY_SIZE).filter_map(move |record| read_entry(bytes, record).ok())
    }

    /// The entry with this name.
    pub fn find(&self, name: &str) -> Option<Entry<'a>> {
        self.entries().find(|entry| entry.name == name)
    }

    /// The compiled system description.
    pub fn description(&self) -> Option<Entry<'a>> {
        self.entries().find(|entry| entry.kind == EntryKind::Description)
    }

    /// Returns the end of the last segment's data.
    fn check_segments(&self, tables_end: u64) -> Result<u64, ArchiveError> {
        let (mut data_end, mut address_end, mut entry_found) = (tables_end, ARCHIVE_ALIGN, false);
        for (index, record) in self.segments.chunks_exact(SEGMENT_SIZE).enumerate() {
            let segment = read_segment(record).ok_or(ArchiveError::SegmentAccess(index))?;
            let aligned = (segment.vaddr | segment.offset).is_multiple_of(ARCHIVE_ALIGN);
            if !aligned || segment.mem_size == 0 || segment.file_size > segment.mem_size {
                return Err(ArchiveError::SegmentShape(index));
            }
            // Page 0 is never root's, so that a null pointer faults.
            let end = segment.vaddr.checked_add(segment.mem_size).filter(|end| *end <= ROOT_ADDRESS_END);
            let end = end.ok_or(ArchiveError::SegmentAddress(index))?;
            if segment.vaddr < address_end {
                return Err(ArchiveError::SegmentAddress(index));
            }
            address_end = end;
            if segment.offset < data_end || block(self.bytes, segment.offset, segment.file_size).is_none() {
                return Err(ArchiveError::SegmentData(index));
            }
            data_end = segment.offset + segment.file_size;
            entry_found |= segment.access == SegmentAccess::ReadExecute
                && (segment.vaddr..end).contains(&self.root_entry);
        }
        if entry_found { Ok(data_end) } else { Err(ArchiveError::RootEntry(self.root_entry)) }
    }

    fn check_entries(&self, mut data_end: u64) -> Result<(), ArchiveError> {
        for (index, record) in self.entries.chunks_exact(ENTRY_SIZE).enumerate() {
            let entry = read_entry(self.bytes, record).map_err(|fault| fault.at(index))?;
            if self.entries().take(index).any(|earlier| earlier.name == entry.name) {
                return Err(ArchiveError::EntryTwice(index));
            }
            if !entry.offset.is_multiple_of(ARCHIVE_ALIGN) || entry.offset < data_end {
                return Err(ArchiveError::EntryData(index));
            }
            data_end = entry.offset + entry.size;
        }
        Ok(())
    }
}

/// The header's fields after the checks that need no table.
struct Header {
    size: u64,
    root_entry: u64,
    segment_count: usize,
    entry_count: usize,
}

impl Header {
    fn read(bytes: &[u8]) -> Result<Self, ArchiveError> {
        let header = bytes.get(..HEADER_SIZE).ok_or(ArchiveError::Truncated)?;
        let mut fields = Fields(header);
        if fields.u64() != Some(ARCHIVE_MAGIC) {
            return Err(ArchiveError::BadMagic);
        }
        let version = fields.u32().ok_or(ArchiveError::Truncated)?;
        if version != ARCHIVE_VERSION {
            return Err(ArchiveError::BadVersion(version));
        }
        let segments = fields.u32().ok_or(ArchiveError::Truncated)?;
        let entries = fields.u32().ok_or(ArchiveError::Truncated)?;
        let reserved = fields.u32().ok_or(ArchiveError::Truncated)?;
        let size = fields.u64().ok_or(ArchiveError::Truncated)?;
        let root_entry = fields.u64().ok_or(ArchiveError::Truncated)?;
        if reserved != 0 || !fields.rest_is_zero() {
            return Err(ArchiveError::ReservedNotZero);
        }
        if !size.is_multiple_of(ARCHIVE_ALIGN) {
            return Err(ArchiveError::BadSize);
        }
        let segment_count = checked_count(segments, 1, MAX_SEGMENTS);
        let entry_count = checked_count(entries, 0, MAX_ENTRIES);
        Ok(Self {
            size,
            root_entry,
            segment_count: segment_count.ok_or(ArchiveError::SegmentCount(segments))?,
            entry_count: entry_count.ok_or(ArchiveError::EntryCount(entries))?,
        })
    }
}

fn checked_count(count: u32, least: usize, most: usize) -> Option<usize> {
    usize::try_from(count).ok().filter(|count| (least..=most).contains(count))
}

fn read_segment(record: &[u8]) -> Option<RootSegment> {
    let mut fields = Fields(record);
    Some(RootSegment {
        vaddr: fields.u64()?,
        offset: fields.u64()?,
        file_size: fields.u64()?,
        mem_size: fields.u64()?,
        access: SegmentAccess::from_code(fields.u64()?)?,
    })
}

/// What is wrong with one entry, before its place in the table is known.
enum EntryFault {
    Kind,
    Name,
    Data,
    Reserved,
}

impl EntryFault {
    fn at(self, index: usize) -> ArchiveError {
        match self {
            Self::Kind => ArchiveError::EntryKind(index),
            Self::Name => ArchiveError::EntryName(index),
            Self::Data => ArchiveError::EntryData(index),
            Self::Reserved => ArchiveError::ReservedNotZero,
        }
    }
}

fn read_entry<'a>(bytes: &'a [u8], record: &'a [u8]) -> Result<Entry<'a>, EntryFault> {
    let (name, rest) = record.split_at_checked(NAME_SIZE).ok_or(EntryFault::Name)?;
    let mut fields = Fields(rest);
    let kind = fields.u32().and_then(EntryKind::from_code).ok_or(EntryFault::Kind)?;
    let reserved = fields.u32().ok_or(EntryFault::Reserved)?;
    let offset = fields.u64().ok_or(EntryFault::Data)?;
    let size = fields.u64().ok_or(EntryFault::Data)?;
    if reserved != 0 || !fields.rest_is_zero() {
        return Err(EntryFault::Reserved);
    }
    let name = read_name(name).ok_or(EntryFault::Name)?;
    let data = block(bytes, offset, size).ok_or(EntryFault::Data)?;
    Ok(Entry { name, kind, offset, size, data })
}

/// A name is padded with NULs; printable ASCII alone, so that it can be logged anywhere.
fn read_name(field: &[u8]) -> Option<&str> {
    let length = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    let (name, padding) = field.split_at_checked(length)?;
    let printable = !name.is_empty() && name.iter().all(u8::is_ascii_graphic);
    let padded = padding.iter().all(|byte| *byte == 0);
    if printable && padded { core::str::from_utf8(name).ok() } else { None }
}

fn block(bytes: &[u8], offset: u64, size: u64) -> Option<&[u8]> {
    let end = usize::try_from(offset.checked_add(size)?).ok()?;
    bytes.get(usize::try_from(offset).ok()?..end)
}

#[cfg(test)]
mod tests;
