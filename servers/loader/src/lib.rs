//! From a server's ELF to the pages that it asks for, all checked.
//!
//! Owned here: which executables a server may be. Root loads with this, and the image tool refuses with the
//! same code at build time what root would refuse at boot. It allocates nothing, maps nothing and copies
//! nothing: root takes the pages one by one ([`Segment::pages`]) and fills fresh frames.
//!
//! Invariant: a [`Program`] exists only for a static LoongArch executable whose segments lie in the lower
//! half, ascend, share no page, and are never both writable and executable. A [`HostProgram`] is the same for the
//! upper half, laid out as `abi::upper` says.

#![no_std]

#[cfg(test)]
extern crate std;

mod error;
mod host;
mod segment;

pub use self::error::ElfError;
pub use self::host::HostProgram;
pub use self::segment::{Page, Segment};
pub use abi::boot_archive::SegmentAccess;

use abi::UPPER_HALF_START;
use abi::boot_archive::{ARCHIVE_ALIGN, MAX_SEGMENTS, ROOT_ADDRESS_END};
use core::ops::RangeInclusive;
use elf::ElfBytes;
use elf::endian::LittleEndian;
use elf::file::{Class, FileHeader};
use elf::segment::ProgramHeader;

/// Bytes of a page (C-40).
pub const PAGE_SIZE: u64 = ARCHIVE_ALIGN;
/// `e_machine` of LoongArch (loongarch.md, "ABI").
pub const MACHINE: u16 = 258;

/// Where a server's addresses begin and end. Page 0 stays empty, so that a null pointer faults.
const LOWER_HALF: RangeInclusive<u64> = PAGE_SIZE..=ROOT_ADDRESS_END;
/// The same for a host's.
const UPPER_HALF: RangeInclusive<u64> = UPPER_HALF_START..=u64::MAX;

/// A checked executable.
#[derive(Clone, Debug)]
pub struct Program<'a> {
    entry: u64,
    segments: [Option<Segment<'a>>; MAX_SEGMENTS],
}

impl<'a> Program<'a> {
    /// Checks an ELF file.
    ///
    /// # Errors
    /// The first rule that the file breaks, file header first, then the program headers in their order.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ElfError> {
        Self::parse_within(bytes, LOWER_HALF)
    }

    fn parse_within(bytes: &'a [u8], addresses: RangeInclusive<u64>) -> Result<Self, ElfError> {
        let file = open(bytes)?;
        let mut program = Self { entry: file.ehdr.e_entry, segments: [None; MAX_SEGMENTS] };
        let mut slots = program.segments.iter_mut();
        let mut previous: Option<Segment<'a>> = None;
        for (index, header) in file.segments().ok_or(ElfError::NoSegments)?.iter().enumerate() {
            if !check_type(header.p_type)? || header.p_memsz == 0 {
                continue;
            }
            let segment = check_segment(bytes, &header, index, &addresses)?;
            if let Some(previous) = previous {
                check_order(&previous, &segment, index)?;
            }
            *slots.next().ok_or(ElfError::TooManySegments)? = Some(segment);
            previous = Some(segment);
        }
        previous.ok_or(ElfError::NoSegments)?;
        program.check_entry()?;
        Ok(program)
    }

    /// The address of its first instruction.
    pub fn entry(&self) -> u64 {
        self.entry
    }

    /// Its segments, ascending by address.
    pub fn segments(&self) -> impl Iterator<Item = Segment<'a>> {
        self.segments.iter().flatten().copied()
    }

    /// Pages of all segments together.
    pub fn page_count(&self) -> u64 {
        self.segments().map(|segment| segment.page_count()).sum()
    }

    fn check_entry(&self) -> Result<(), ElfError> {
        let mut text = self.segments().filter(|segment| segment.access == SegmentAccess::ReadExecute);
        let inside = text.any(|segment| (segment.vaddr..segment.end()).contains(&self.entry));
        if inside && self.entry.is_multiple_of(4) { Ok(()) } else { Err(ElfError::Entry(self.entry)) }
    }
}

fn open(bytes: &[u8]) -> Result<ElfBytes<'_, LittleEndian>, ElfError> {
    if bytes.get(..4) != Some(b"\x7fELF") {
        return Err(ElfError::NotElf);
    }
    // The byte order is looked at first: the parser would only call it unsupported.
    if bytes.get(5).is_some_and(|order| *order != 1) {
        return Err(ElfError::ByteOrder);
    }
    let file = ElfBytes::<LittleEndian>::minimal_parse(bytes).map_err(|_| ElfError::Truncated)?;
    let FileHeader { class, e_machine, e_type, .. } = file.ehdr;
    if e_machine != MACHINE {
        return Err(ElfError::Machine(e_machine));
    }
    if class != Class::ELF64 {
        return Err(ElfError::Class);
    }
    match e_type {
        elf::abi::ET_EXEC => Ok(file),
        elf::abi::ET_DYN => Err(ElfError::Dynamic),
        other => Err(ElfError::NotExecutable(other)),
    }
}

/// Whether a program header describes memory; refuses what needs a dynamic linker or thread-local storage.
fn check_type(kind: u32) -> Result<bool, ElfError> {
    match kind {
        elf::abi::PT_LOAD => Ok(true),
        elf::abi::PT_INTERP | elf::abi::PT_DYNAMIC => Err(ElfError::Dynamic),
        elf::abi::PT_TLS => Err(ElfError::ThreadLocal),
        _ => Ok(false),
    }
}

fn check_segment<'a>(
    bytes: &'a [u8],
    header: &ProgramHeader,
    index: usize,
    addresses: &RangeInclusive<u64>,
) -> Result<Segment<'a>, ElfError> {
    let access = match header.p_flags & (elf::abi::PF_R | elf::abi::PF_W | elf::abi::PF_X) {
        0 => return Err(ElfError::NoAccess(index)),
        flags if flags & elf::abi::PF_W != 0 && flags & elf::abi::PF_X != 0 => {
            return Err(ElfError::WriteExecute(index));
        }
        flags if flags & elf::abi::PF_W != 0 => SegmentAccess::ReadWrite,
        flags if flags & elf::abi::PF_X != 0 => SegmentAccess::ReadExecute,
        _ => SegmentAccess::Read,
    };
    if header.p_filesz > header.p_memsz {
        return Err(ElfError::FileLargerThanMemory(index));
    }
    let end = header.p_vaddr.checked_add(header.p_memsz).ok_or(ElfError::Wraps(index))?;
    if !addresses.contains(&header.p_vaddr) || !addresses.contains(&end) {
        return Err(ElfError::Address(index));
    }
    let file_end = header.p_offset.checked_add(header.p_filesz).ok_or(ElfError::Wraps(index))?;
    let start = usize::try_from(header.p_offset).map_err(|_| ElfError::Truncated)?;
    let file_end = usize::try_from(file_end).map_err(|_| ElfError::Truncated)?;
    let data = bytes.get(start..file_end).ok_or(ElfError::Truncated)?;
    Ok(Segment { vaddr: header.p_vaddr, mem_size: header.p_memsz, data, access })
}

fn check_order(previous: &Segment<'_>, next: &Segment<'_>, index: usize) -> Result<(), ElfError> {
    if next.vaddr < previous.end() {
        return Err(ElfError::Overlap(index));
    }
    if next.first_page() < previous.end_page() {
        return Err(ElfError::SharedPage(index));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
