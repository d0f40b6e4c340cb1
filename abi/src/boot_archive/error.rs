//! The errors of the archive's reader.

use core::fmt;

/// Which rule of the layout an archive breaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ArchiveError {
    /// There are fewer bytes than the header, the tables or the stated size need.
    Truncated,
    /// The first word is not [`ARCHIVE_MAGIC`](super::ARCHIVE_MAGIC).
    BadMagic,
    /// A layout that this reader does not know.
    BadVersion(u32),
    /// The stated size is no multiple of [`ARCHIVE_ALIGN`](super::ARCHIVE_ALIGN).
    BadSize,
    /// A reserved field is not zero.
    ReservedNotZero,
    /// More than [`MAX_SEGMENTS`](super::MAX_SEGMENTS) segments, or none.
    SegmentCount(u32),
    /// More than [`MAX_ENTRIES`](super::MAX_ENTRIES) entries.
    EntryCount(u32),
    /// Segment n: an access code that does not exist.
    SegmentAccess(usize),
    /// Segment n: address or offset not aligned, empty, or more bytes in the file than in memory.
    SegmentShape(usize),
    /// Segment n: not within the lower half, wraps, or not above the segment before.
    SegmentAddress(usize),
    /// Segment n: its data overlaps the block before, or ends beyond the archive.
    SegmentData(usize),
    /// Root's entry point is not in a segment that can be executed.
    RootEntry(u64),
    /// Entry n: a kind that does not exist.
    EntryKind(usize),
    /// Entry n: its name is empty, not printable ASCII, or has bytes behind its end.
    EntryName(usize),
    /// Entry n: an earlier entry has the same name.
    EntryTwice(usize),
    /// Entry n: its data is not aligned, overlaps the block before, or ends beyond the archive.
    EntryData(usize),
}

impl fmt::Display for ArchiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("boot archive: truncated"),
            Self::BadMagic => f.write_str("boot archive: does not begin with BIXIARCH"),
            Self::BadVersion(version) => write!(f, "boot archive: unknown version {version}"),
            Self::BadSize => f.write_str("boot archive: size is not a whole number of pages"),
            Self::ReservedNotZero => f.write_str("boot archive: a reserved field is not zero"),
            Self::SegmentCount(count) => write!(f, "boot archive: {count} root segments"),
            Self::EntryCount(count) => write!(f, "boot archive: {count} entries"),
            Self::SegmentAccess(index) => write!(f, "boot archive: root segment {index}: unknown access"),
            Self::SegmentShape(index) => {
                write!(f, "boot archive: root segment {index}: not aligned, empty, or larger than its memory")
            }
            Self::SegmentAddress(index) => {
                write!(f, "boot archive: root segment {index}: address out of range or not ascending")
            }
            Self::SegmentData(index) => {
                write!(f, "boot archive: root segment {index}: data overlaps or ends beyond the archive")
            }
            Self::RootEntry(entry) => write!(f, "boot archive: root's entry {entry:#x} is not in its text"),
            Self::EntryKind(index) => write!(f, "boot archive: entry {index}: unknown kind"),
            Self::EntryName(index) => write!(f, "boot archive: entry {index}: malformed name"),
            Self::EntryTwice(index) => write!(f, "boot archive: entry {index}: name used twice"),
            Self::EntryData(index) => {
                write!(f, "boot archive: entry {index}: data not aligned, overlapping or beyond the archive")
            }
        }
    }
}

impl core::error::Error for ArchiveError {}
