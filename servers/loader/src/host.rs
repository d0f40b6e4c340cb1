//! Executables of hosts: three segments at fixed places of the upper half, and a header in the text.

use abi::boot_archive::SegmentAccess;
use abi::upper::{DATA, HEADER_MAGIC, HostHeader, LEAF_BYTES, PART_BYTES, RODATA, TEXT};
use core::ops::Range;

use crate::{ElfError, Program, Segment, UPPER_HALF};

/// A checked executable of a host.
#[derive(Clone, Copy, Debug)]
pub struct HostProgram<'a> {
    /// What its text begins with.
    pub header: HostHeader,
    /// From [`TEXT`] on.
    pub text: Segment<'a>,
    /// In the leaf at [`RODATA`], if it has any.
    pub constants: Option<Segment<'a>>,
    /// From [`DATA`] on, if it has any; the part's other half is for the heap.
    pub data: Option<Segment<'a>>,
}

/// Where a host's segment of each kind lies.
const fn place(access: SegmentAccess) -> Range<u64> {
    match access {
        SegmentAccess::ReadExecute => TEXT..TEXT + LEAF_BYTES,
        SegmentAccess::Read => RODATA..RODATA + LEAF_BYTES,
        SegmentAccess::ReadWrite => DATA..TEXT + PART_BYTES / 2,
    }
}

impl<'a> HostProgram<'a> {
    /// Checks an ELF file.
    ///
    /// # Errors
    /// The first rule that the file breaks: those of a server's first, then a host's own.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ElfError> {
        let program = Program::parse_within(bytes, UPPER_HALF)?;
        let (mut text, mut constants, mut data) = (None, None, None);
        for segment in program.segments() {
            let place = place(segment.access);
            let which = match segment.access {
                SegmentAccess::ReadExecute => &mut text,
                SegmentAccess::Read => &mut constants,
                SegmentAccess::ReadWrite => &mut data,
            };
            let fits = segment.vaddr >= place.start && segment.end() <= place.end;
            if !fits || which.replace(segment).is_some() {
                return Err(ElfError::HostPlace(segment.access));
            }
        }
        // There is one: the entry point is in it.
        let text = text.ok_or(ElfError::Entry(program.entry()))?;
        Ok(Self { header: header(&text)?, text, constants, data })
    }

    /// Its segments.
    pub fn segments(&self) -> impl Iterator<Item = Segment<'a>> + use<'a> {
        [Some(self.text), self.constants, self.data].into_iter().flatten()
    }
}

fn header(text: &Segment<'_>) -> Result<HostHeader, ElfError> {
    let mut words = text
        .data
        .chunks_exact(8)
        .map(|word| word.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte)));
    let mut word = || words.next().unwrap_or(0);
    // In the order of the header's fields.
    let header = HostHeader {
        magic: word(),
        start: word(),
        system_call: word(),
        fault: word(),
        interrupted: word(),
        own_fault: word(),
    };
    if header.magic != HEADER_MAGIC || text.vaddr != TEXT {
        return Err(ElfError::NoHostHeader);
    }
    let entries = [header.start, header.system_call, header.fault, header.interrupted, header.own_fault];
    let inside = |entry: &u64| (TEXT..text.end()).contains(entry) && entry.is_multiple_of(4);
    match entries.into_iter().find(|entry| !inside(entry)) {
        Some(outside) => Err(ElfError::HostEntry(outside)),
        None => Ok(header),
    }
}
