//! Moves the kernel's DWARF to where the kernel is loaded, so that a debugger needs no other file (CASES 44).
//!
//! The kernel is linked with `--emit-relocs`: its file still says which words of the debug sections are
//! addresses (`R_LARCH_64` against a symbol in a loaded section). Everything else in DWARF is relative.

use crate::elf::{ElfImage, SYMBOL_SIZE, Section, symbol_section};
use object::elf::{R_LARCH_64, SHT_RELA};

/// Bytes of one relocation.
const RELOCATION_SIZE: usize = 24;

/// Adds `delta` to every address in the debug sections, and drops the relocations, which nobody needs then.
///
/// # Errors
/// If the file does not say where the addresses are. Then the debug sections are left out: wrong line numbers
/// are worse than none.
pub(crate) fn move_by(image: &mut ElfImage, delta: u64) -> Result<(), &'static str> {
    let places = places(image);
    let has_lines = image.section(".debug_line").is_some();
    for (section, offset) in &places {
        let section = image.sections.get_mut(*section);
        let word = section.and_then(|section| section.data.get_mut(*offset..)?.first_chunk_mut::<8>());
        if let Some(word) = word {
            *word = u64::from_le_bytes(*word).wrapping_add(delta).to_le_bytes();
        }
    }
    image.retain_sections(|section| section.is_loaded() || section.kind != SHT_RELA.0);
    if has_lines && places.is_empty() {
        image.retain_sections(|section| !section.is_debug_info());
        return Err("it is not linked with `--emit-relocs`, so nothing says where addresses are in it");
    }
    Ok(())
}

/// Every address in a debug section, as number of the section and offset in it.
fn places(image: &ElfImage) -> Vec<(usize, usize)> {
    let mut places = Vec::new();
    for table in image.sections.iter().filter(|section| section.kind == SHT_RELA.0) {
        let Some(target) = usize::try_from(table.info).ok() else { continue };
        let symbols = usize::try_from(table.link).ok().and_then(|link| image.sections.get(link));
        let is_debug_info = image.sections.get(target).is_some_and(Section::is_debug_info);
        let Some(symbols) = symbols.filter(|_| is_debug_info) else { continue };
        for relocation in table.data.chunks_exact(RELOCATION_SIZE) {
            places.extend(address_place(image, symbols, relocation).map(|offset| (target, offset)));
        }
    }
    places
}

/// The offset of the word that a relocation is about, if that word is an address in memory.
fn address_place(image: &ElfImage, symbols: &Section, relocation: &[u8]) -> Option<usize> {
    let (offset, rest) = relocation.split_first_chunk::<8>()?;
    let (kind, rest) = rest.split_first_chunk::<4>()?;
    let symbol = usize::try_from(u32::from_le_bytes(*rest.first_chunk()?)).ok()?;
    if u32::from_le_bytes(*kind) != R_LARCH_64.0 {
        return None;
    }
    let symbol = symbols.data.get(symbol.checked_mul(SYMBOL_SIZE)?..)?.get(..SYMBOL_SIZE)?;
    let section = image.sections.get(usize::from(symbol_section(symbol)?))?;
    if section.is_loaded() { usize::try_from(u64::from_le_bytes(*offset)).ok() } else { None }
}
