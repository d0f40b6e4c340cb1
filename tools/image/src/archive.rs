//! Writes the boot archive (`abi::boot_archive` has its layout and reader).

use abi::boot_archive::{
    ARCHIVE_ALIGN, ARCHIVE_MAGIC, ARCHIVE_VERSION, ArchiveError, BootArchive, ENTRY_SIZE, EntryKind,
    HEADER_SIZE, NAME_SIZE, SEGMENT_SIZE,
};
use loader::{Program, Segment};

/// One block of the archive to be.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its name, unique in the archive; at most 32 characters of printable ASCII.
    pub name: String,
    /// What it holds.
    pub kind: EntryKind,
    /// Its bytes.
    pub data: Vec<u8>,
}

/// Writes an archive with root as a flat list of segments, and with the blocks in their order.
///
/// # Errors
/// What the reader refuses: too many segments or blocks, a name that is none or stands twice.
pub fn write_archive(root: &Program<'_>, blocks: &[Block]) -> Result<Vec<u8>, ArchiveError> {
    let segments: Vec<Segment<'_>> = root.segments().collect();
    let tables = HEADER_SIZE + segments.len() * SEGMENT_SIZE + blocks.len() * ENTRY_SIZE;
    let mut data = Data { at: (tables as u64).next_multiple_of(ARCHIVE_ALIGN), bytes: Vec::new() };

    let mut records = Vec::new();
    for segment in &segments {
        // Whole pages: the segment begins at its first page, with zeros before its data.
        let lead = segment.vaddr - segment.first_page();
        let file_size = if segment.data.is_empty() { 0 } else { lead + segment.data.len() as u64 };
        let offset = data.put(lead, segment.data);
        let mem_size = segment.end_page() - segment.first_page();
        put_u64(&mut records, &[segment.first_page(), offset, file_size, mem_size, segment.access.code()]);
    }
    for block in blocks {
        let offset = data.put(0, &block.data);
        let mut name = [0; NAME_SIZE];
        let field = name.get_mut(..block.name.len()).ok_or(ArchiveError::EntryName(0))?;
        field.copy_from_slice(block.name.as_bytes());
        records.extend_from_slice(&name);
        put_u32(&mut records, &[block.kind.code(), 0]);
        put_u64(&mut records, &[offset, block.data.len() as u64, 0]);
    }

    let mut archive = Vec::new();
    put_u64(&mut archive, &[ARCHIVE_MAGIC]);
    put_u32(&mut archive, &[ARCHIVE_VERSION, small(segments.len()), small(blocks.len()), 0]);
    put_u64(&mut archive, &[data.at + data.bytes.len() as u64, root.entry()]);
    archive.resize(HEADER_SIZE, 0);
    archive.extend_from_slice(&records);
    archive.resize(tables.next_multiple_of(PAGE), 0);
    archive.extend_from_slice(&data.bytes);
    BootArchive::parse(&archive)?;
    Ok(archive)
}

const PAGE: usize = 0x4000;
const _: () = assert!(PAGE as u64 == ARCHIVE_ALIGN);

/// The data behind the tables, each block on a page boundary.
struct Data {
    /// Where the first block lies in the archive.
    at: u64,
    bytes: Vec<u8>,
}

impl Data {
    /// Appends `lead` zeros and the bytes, up to a page boundary; returns their place in the archive.
    fn put(&mut self, lead: u64, bytes: &[u8]) -> u64 {
        let offset = self.at + self.bytes.len() as u64;
        if !bytes.is_empty() {
            self.bytes.extend(std::iter::repeat_n(0, usize::try_from(lead).unwrap_or(0)));
            self.bytes.extend_from_slice(bytes);
            self.bytes.resize(self.bytes.len().next_multiple_of(PAGE), 0);
        }
        offset
    }
}

fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn put_u32(bytes: &mut Vec<u8>, fields: &[u32]) {
    bytes.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
}

fn put_u64(bytes: &mut Vec<u8>, fields: &[u64]) {
    bytes.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
}
