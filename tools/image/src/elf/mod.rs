//! ELF files as they are taken apart and written again.
//!
//! Owned here: [`ElfImage`], a file without offsets: segments carry their bytes, and so do the sections that
//! are not loaded. `read` makes one, `write` lays it out anew, so that moving, stripping and appending are
//! plain changes of values. Neighbours: `kernel` and `programs` change it, `debug_info` moves its DWARF.

mod read;
mod write;

pub(crate) use self::read::read;

use object::elf::{SHF_ALLOC, SHF_INFO_LINK, SHT_RELA, SHT_SYMTAB, STT_FILE, STT_TLS};

/// Bytes of one symbol, and where its type, section and value stand.
pub(crate) const SYMBOL_SIZE: usize = 24;
const SYMBOL_TYPE: usize = 4;
const SYMBOL_SECTION: usize = 6;
const SYMBOL_VALUE: usize = 8;
/// Section numbers from here on are not sections (absolute symbols, for instance).
const RESERVED_SECTIONS: u16 = 0xff00;

/// An ELF file for 64-bit LoongArch.
#[derive(Debug)]
pub(crate) struct ElfImage {
    /// `e_type`.
    pub(crate) kind: u16,
    /// `e_flags`.
    pub(crate) flags: u32,
    pub(crate) entry: u64,
    /// What is loaded, ascending by address.
    pub(crate) segments: Vec<Segment>,
    /// The sections, the empty first one included.
    pub(crate) sections: Vec<Section>,
}

/// A PT_LOAD.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) flags: u32,
    pub(crate) vaddr: u64,
    pub(crate) paddr: u64,
    pub(crate) mem_size: u64,
    pub(crate) data: Vec<u8>,
}

impl Segment {
    pub(crate) fn end(&self) -> u64 {
        self.vaddr.saturating_add(self.mem_size)
    }

    /// The bytes in the file that are loaded to these addresses.
    pub(crate) fn file_bytes_mut(&mut self, vaddr: u64, size: u64) -> Option<&mut [u8]> {
        let start = vaddr.checked_sub(self.vaddr)?;
        let end = start.checked_add(size)?;
        self.data.get_mut(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
    }
}

/// A section; its bytes are here only if it is not loaded.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) name: Vec<u8>,
    pub(crate) kind: u32,
    pub(crate) flags: u64,
    pub(crate) address: u64,
    pub(crate) size: u64,
    pub(crate) link: u32,
    pub(crate) info: u32,
    pub(crate) align: u64,
    pub(crate) entry_size: u64,
    pub(crate) data: Vec<u8>,
}

impl Section {
    pub(crate) fn is_loaded(&self) -> bool {
        self.flags & SHF_ALLOC.0 != 0
    }

    pub(crate) fn is_debug_info(&self) -> bool {
        !self.is_loaded() && (self.name.starts_with(b".debug_") || self.name.starts_with(b".rela.debug_"))
    }
}

impl ElfImage {
    /// Adds `delta` to every address: segments, sections, symbols, entry. Physical addresses become
    /// `physical` higher than the old addresses. Debug information is `debug_info`'s.
    pub(crate) fn move_by(&mut self, delta: u64, physical: u64) {
        self.entry = self.entry.wrapping_add(delta);
        for segment in &mut self.segments {
            segment.paddr = segment.vaddr.wrapping_add(physical);
            segment.vaddr = segment.vaddr.wrapping_add(delta);
        }
        let loaded: Vec<bool> = self.sections.iter().map(Section::is_loaded).collect();
        for section in &mut self.sections {
            if section.is_loaded() {
                section.address = section.address.wrapping_add(delta);
            }
            if section.kind == SHT_SYMTAB.0 {
                move_symbols(&mut section.data, delta, &loaded);
            }
        }
    }

    /// Leaves the sections for which `keep` is false out, and numbers the others anew.
    pub(crate) fn retain_sections(&mut self, keep: impl Fn(&Section) -> bool) {
        let mut numbers: Vec<u16> = Vec::new();
        let mut next = 0;
        for section in &self.sections {
            numbers.push(next);
            next += u16::from(keep(section));
        }
        let renumber = |old: u32| {
            let new = usize::try_from(old).ok().and_then(|old| numbers.get(old));
            new.copied().map_or(0, u32::from)
        };
        self.sections.retain(keep);
        for section in &mut self.sections {
            section.link = renumber(section.link);
            if section.kind == SHT_RELA.0 || section.flags & SHF_INFO_LINK.0 != 0 {
                section.info = renumber(section.info);
            }
            if section.kind == SHT_SYMTAB.0 {
                renumber_symbols(&mut section.data, &numbers);
            }
        }
    }

    pub(crate) fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name.as_bytes())
    }
}

fn move_symbols(table: &mut [u8], delta: u64, loaded: &[bool]) {
    for symbol in table.chunks_exact_mut(SYMBOL_SIZE) {
        let kind = symbol.get(SYMBOL_TYPE).map_or(0, |info| info & 0xf);
        let section = symbol_section(symbol).map(usize::from);
        let in_memory = section.and_then(|section| loaded.get(section)).copied().unwrap_or(false);
        if !in_memory || kind == STT_TLS.0 || kind == STT_FILE.0 {
            continue;
        }
        let value = symbol.get_mut(SYMBOL_VALUE..).and_then(|rest| rest.first_chunk_mut::<8>());
        if let Some(value) = value {
            *value = u64::from_le_bytes(*value).wrapping_add(delta).to_le_bytes();
        }
    }
}

fn renumber_symbols(table: &mut [u8], numbers: &[u16]) {
    for symbol in table.chunks_exact_mut(SYMBOL_SIZE) {
        let Some(old) = symbol_section(symbol).filter(|old| *old < RESERVED_SECTIONS) else { continue };
        let new = numbers.get(usize::from(old)).copied().unwrap_or(0);
        if let Some(place) = symbol.get_mut(SYMBOL_SECTION..).and_then(|rest| rest.first_chunk_mut::<2>()) {
            *place = new.to_le_bytes();
        }
    }
}

/// The number of the section that a symbol is in.
pub(crate) fn symbol_section(symbol: &[u8]) -> Option<u16> {
    let field = symbol.get(SYMBOL_SECTION..)?.first_chunk::<2>()?;
    Some(u16::from_le_bytes(*field))
}
