//! What may stand in a host's text: exactly one `break`, which is Enter (C-24), and instructions of the vector unit in
//! its vector file alone (C-30).
//!
//! The unit's registers are the current program's while its host runs: an instruction that the compiler put anywhere
//! else would change them. A second `break` would enter a program with registers that are the host's.

use std::ops::Range;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSection, ObjectSymbol};

use crate::section::{SectionError, default_kernel};

/// Bytes of the header that the text begins with, which are addresses ([`abi::upper::HostHeader`]).
const HEADER_BYTES: u64 = size_of::<abi::upper::HostHeader>() as u64;
/// What the vector file's routines lie between.
const VECTOR_FILE: [&str; 2] = ["bixi_vector_file", "bixi_vector_file_end"];

/// A host's text.
#[derive(Clone, Debug)]
pub struct HostText {
    /// Link address of the first word behind the header.
    pub address: u64,
    /// The instructions.
    pub words: Vec<u32>,
    /// Where the vector file is.
    pub vector_file: Range<u64>,
}

/// Something that must not be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stray {
    /// A `break` besides the first.
    Break(u64),
    /// There is no `break`.
    NoBreak,
    /// An instruction of the vector unit outside the vector file.
    Vector(u64, u32),
}

/// Where `cargo xtask` leaves the posix server.
#[must_use]
pub fn default_host() -> PathBuf {
    default_kernel().with_file_name("posix")
}

impl HostText {
    /// Reads a host's ELF file.
    ///
    /// # Errors
    ///
    /// The file is missing, no ELF file, or lacks text or the vector file's symbols.
    pub fn read(host: &Path) -> Result<Self, SectionError> {
        let bytes = std::fs::read(host).map_err(|error| SectionError::File(host.to_owned(), error))?;
        let file = object::File::parse(&*bytes).map_err(SectionError::Elf)?;
        let section = file.section_by_name(".text").ok_or(SectionError::Section)?;
        let data = section.data().map_err(SectionError::Elf)?;
        let header = usize::try_from(HEADER_BYTES).map_err(|_| SectionError::Section)?;
        let (words, rest) = data.get(header..).ok_or(SectionError::Section)?.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(SectionError::Section);
        }
        let symbol = |name: &str| {
            let found = file.symbols().find(|symbol| symbol.name() == Ok(name));
            found.map(|symbol| symbol.address()).ok_or_else(|| SectionError::Symbol(name.to_owned()))
        };
        let [start, end] = VECTOR_FILE;
        Ok(Self {
            address: section.address() + HEADER_BYTES,
            words: words.iter().map(|word| u32::from_le_bytes(*word)).collect(),
            vector_file: symbol(start)?..symbol(end)?,
        })
    }

    /// What must not be there.
    #[must_use]
    pub fn strays(&self) -> Vec<Stray> {
        let mut strays = Vec::new();
        let mut breaks = 0;
        for (word, address) in self.words.iter().zip((self.address..).step_by(4)) {
            if is_break(*word) {
                breaks += 1;
                if breaks > 1 {
                    strays.push(Stray::Break(address));
                }
            }
            if is_vector(*word) && !self.vector_file.contains(&address) {
                strays.push(Stray::Vector(address, *word));
            }
        }
        if breaks == 0 {
            strays.push(Stray::NoBreak);
        }
        strays
    }
}

const fn is_break(word: u32) -> bool {
    word >> 15 == 0x2a_0000 >> 15
}

/// Whether an instruction reads or writes a register of the unit: FP, LSX, LASX (manual volumes 1 and 2, opcode tables).
#[must_use]
pub const fn is_vector(word: u32) -> bool {
    match word >> 24 {
        // Arithmetic, conversions, moves to and from general registers; fused, comparing and selecting instructions.
        0x01 | 0x08..=0x0d => true,
        // fld, fst; vld, vst, xvld, xvst; vldrepl, vstelm and their wide forms.
        0x2b..=0x2c | 0x30..=0x33 => true,
        // With an index register: fldx to xvstx; those that check bounds.
        0x38 => matches!(word >> 16 & 0xff, 0x30..=0x4f | 0x74..=0x77),
        // bceqz, bcnez.
        0x48..=0x4b => true,
        // LSX, LASX.
        0x70..=0x77 => true,
        _ => false,
    }
}
