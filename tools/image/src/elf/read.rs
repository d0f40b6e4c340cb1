//! Takes an ELF file apart.

use super::{ElfImage, Section, Segment};
use loader::{ElfError, MACHINE};
use object::LittleEndian;
use object::elf::{FileHeader64, PT_LOAD, SHT_NOBITS};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};

/// Reads any 64-bit LoongArch ELF; `loader` and `kernel` say what else it must be.
pub(crate) fn read(bytes: &[u8]) -> Result<ElfImage, ElfError> {
    if bytes.get(..4) != Some(b"\x7fELF") {
        return Err(ElfError::NotElf);
    }
    let truncated = |_| ElfError::Truncated;
    match (bytes.get(4), bytes.get(5)) {
        (_, Some(2)) => return Err(ElfError::ByteOrder),
        (Some(1), _) => return Err(ElfError::Class),
        _ => {}
    }
    let header = FileHeader64::<LittleEndian>::parse(bytes).map_err(truncated)?;
    let order = header.endian().map_err(|_| ElfError::ByteOrder)?;
    let machine = header.e_machine(order).0;
    if machine != MACHINE {
        return Err(ElfError::Machine(machine));
    }
    let mut segments = Vec::new();
    for program in header.program_headers(order, bytes).map_err(truncated)? {
        if program.p_type(order) != PT_LOAD || program.p_memsz(order) == 0 {
            continue;
        }
        let data = program.data(order, bytes).map_err(|()| ElfError::Truncated)?;
        segments.push(Segment {
            flags: program.p_flags(order).0,
            vaddr: program.p_vaddr(order),
            paddr: program.p_paddr(order),
            mem_size: program.p_memsz(order),
            data: data.to_vec(),
        });
    }
    let table = header.sections(order, bytes).map_err(truncated)?;
    let mut sections = Vec::new();
    for section in table.iter() {
        let mut out = Section {
            name: table.section_name(order, section).map_err(truncated)?.to_vec(),
            kind: section.sh_type(order).0,
            flags: section.sh_flags(order).0,
            address: section.sh_addr(order),
            size: section.sh_size(order),
            link: section.sh_link(order),
            info: section.sh_info(order),
            align: section.sh_addralign(order),
            entry_size: section.sh_entsize(order),
            data: Vec::new(),
        };
        if !out.is_loaded() && out.kind != SHT_NOBITS.0 {
            out.data = section.data(order, bytes).map_err(truncated)?.to_vec();
        }
        sections.push(out);
    }
    Ok(ElfImage {
        kind: header.e_type(order).0,
        flags: header.e_flags(order).0,
        entry: header.e_entry(order),
        segments,
        sections,
    })
}
