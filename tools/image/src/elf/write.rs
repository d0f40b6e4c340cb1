//! Lays an ELF file out: file header, program headers, segments, other sections, section headers.

use super::{ElfImage, Section};
use abi::boot_archive::ARCHIVE_ALIGN;
use loader::MACHINE;
use object::elf::{PT_LOAD, SHT_NOBITS, SHT_STRTAB};

const FILE_HEADER: u64 = 64;
const PROGRAM_HEADER: u64 = 56;
const SECTION_HEADER: u64 = 64;
/// The section with the sections' names, which is written anew.
const NAMES: &[u8] = b".shstrtab";

impl ElfImage {
    /// The file. A segment's offset is congruent to its address modulo the page size.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = Output { bytes: Vec::new() };
        let segment_count = self.segments.len() as u64;
        out.pad_to(FILE_HEADER + segment_count * PROGRAM_HEADER);
        let mut offsets = Vec::new();
        for segment in &self.segments {
            let phase = segment.vaddr % ARCHIVE_ALIGN;
            let behind = out.len().saturating_sub(phase).next_multiple_of(ARCHIVE_ALIGN);
            out.pad_to(behind + phase);
            offsets.push(out.len());
            out.bytes.extend_from_slice(&segment.data);
        }
        let (headers, names_index) = self.write_sections(&mut out, &offsets);
        out.align_to(8);
        let headers_at = out.len();
        for header in &headers {
            out.bytes.extend_from_slice(header);
        }
        let counts = [self.segments.len(), headers.len(), names_index];
        out.overwrite(0, &self.file_header(headers_at, counts));
        out.overwrite(FILE_HEADER, &self.program_headers(&offsets));
        out.bytes
    }

    fn file_header(&self, sections_at: u64, counts: [usize; 3]) -> Vec<u8> {
        let [segments, sections, names] = counts.map(|count| u16::try_from(count).unwrap_or(u16::MAX));
        let mut header = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        put_u16(&mut header, &[self.kind, MACHINE]);
        put_u32(&mut header, &[1]);
        put_u64(&mut header, &[self.entry, FILE_HEADER, sections_at]);
        put_u32(&mut header, &[self.flags]);
        put_u16(&mut header, &[64, 56, segments, 64, sections, names]);
        header
    }

    fn program_headers(&self, offsets: &[u64]) -> Vec<u8> {
        let mut headers = Vec::new();
        for (segment, offset) in self.segments.iter().zip(offsets) {
            put_u32(&mut headers, &[PT_LOAD.0, segment.flags]);
            let file_size = segment.data.len() as u64;
            let words = [*offset, segment.vaddr, segment.paddr, file_size, segment.mem_size, ARCHIVE_ALIGN];
            put_u64(&mut headers, &words);
        }
        headers
    }

    /// Writes what is not loaded; returns the headers, and the number of the section with the names.
    fn write_sections(&self, out: &mut Output, offsets: &[u64]) -> (Vec<Vec<u8>>, usize) {
        let others = self.sections.iter().filter(|section| section.name != NAMES);
        let (mut names, mut headers) = (vec![0], Vec::new());
        let names_index = self.sections.iter().position(|section| section.name == NAMES);
        for section in others {
            let name = put_name(&mut names, &section.name);
            let offset = self.place(section, out, offsets);
            headers.push(section_header(section, name, offset));
        }
        if headers.is_empty() {
            return (headers, 0);
        }
        let names_index = names_index.unwrap_or(headers.len());
        let name = put_name(&mut names, NAMES);
        let section = Section {
            name: NAMES.to_vec(),
            kind: SHT_STRTAB.0,
            flags: 0,
            address: 0,
            size: names.len() as u64,
            link: 0,
            info: 0,
            align: 1,
            entry_size: 0,
            data: names,
        };
        let header = section_header(&section, name, out.len());
        out.bytes.extend_from_slice(&section.data);
        // In its old place, so that the numbers of the others stay what symbols and links say.
        headers.insert(names_index.min(headers.len()), header);
        (headers, names_index)
    }

    /// Where a section's bytes lie in the file; writes them if no segment has.
    fn place(&self, section: &Section, out: &mut Output, offsets: &[u64]) -> u64 {
        if section.is_loaded() {
            let inside = |segment: &super::Segment| {
                let end = section.address.saturating_add(section.size);
                segment.vaddr <= section.address && end <= segment.end()
            };
            let mut places = self.segments.iter().zip(offsets);
            let place = places.find(|(segment, _)| inside(segment));
            return place.map_or(0, |(segment, offset)| {
                offset + (section.address - segment.vaddr).min(segment.data.len() as u64)
            });
        }
        if section.kind != SHT_NOBITS.0 && !section.data.is_empty() {
            out.align_to(section.align.clamp(1, ARCHIVE_ALIGN));
        }
        let offset = out.len();
        out.bytes.extend_from_slice(&section.data);
        offset
    }
}

fn section_header(section: &Section, name: u32, offset: u64) -> Vec<u8> {
    let mut header = Vec::new();
    put_u32(&mut header, &[name, section.kind]);
    let offset = if section.kind == 0 { 0 } else { offset };
    put_u64(&mut header, &[section.flags, section.address, offset, section.size]);
    put_u32(&mut header, &[section.link, section.info]);
    put_u64(&mut header, &[section.align, section.entry_size]);
    debug_assert_eq!(header.len() as u64, SECTION_HEADER);
    header
}

fn put_name(names: &mut Vec<u8>, name: &[u8]) -> u32 {
    if name.is_empty() {
        return 0;
    }
    let at = u32::try_from(names.len()).unwrap_or(0);
    names.extend_from_slice(name);
    names.push(0);
    at
}

struct Output {
    bytes: Vec<u8>,
}

impl Output {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn pad_to(&mut self, length: u64) {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > self.bytes.len() {
            self.bytes.resize(length, 0);
        }
    }

    fn align_to(&mut self, align: u64) {
        self.pad_to(self.len().next_multiple_of(align));
    }

    fn overwrite(&mut self, at: u64, bytes: &[u8]) {
        let place = usize::try_from(at).ok().and_then(|at| self.bytes.get_mut(at..)?.get_mut(..bytes.len()));
        if let Some(place) = place {
            place.copy_from_slice(bytes);
        }
    }
}

fn put_u16(bytes: &mut Vec<u8>, fields: &[u16]) {
    bytes.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
}

fn put_u32(bytes: &mut Vec<u8>, fields: &[u32]) {
    bytes.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
}

fn put_u64(bytes: &mut Vec<u8>, fields: &[u64]) {
    bytes.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
}
