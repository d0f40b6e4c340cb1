//! The hot path's section of the kernel's ELF: its bytes and the symbols in it and around it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSection, ObjectSymbol};

/// Name of the section (kernel.ld).
pub const SECTION: &str = ".hot_path";

/// What went wrong in reading it.
#[derive(Debug)]
pub enum SectionError {
    /// The file cannot be read.
    File(PathBuf, std::io::Error),
    /// The file is no ELF file, or is damaged.
    Elf(object::Error),
    /// The section is missing or not made of whole words.
    Section,
    /// A symbol is missing.
    Symbol(String),
}

impl std::fmt::Display for SectionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path, error) => {
                write!(f, "{}: {error}; `cargo xtask test` builds the kernel first", path.display())
            }
            Self::Elf(error) => write!(f, "the kernel's ELF file: {error}"),
            Self::Section => write!(f, "the kernel has no section {SECTION} of whole words"),
            Self::Symbol(name) => write!(f, "the kernel has no symbol {name}"),
        }
    }
}

impl std::error::Error for SectionError {}

/// The section, at the address at which it was linked.
#[derive(Clone, Debug)]
pub struct HotSection {
    /// Link address of the first word.
    pub address: u64,
    /// The instructions.
    pub words: Vec<u32>,
    /// Symbols of the whole kernel by name.
    pub symbols: BTreeMap<String, u64>,
}

/// Where `cargo xtask` leaves the kernel.
#[must_use]
pub fn default_kernel() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"), PathBuf::from);
    target.join("loongarch64-unknown-none-softfloat/release/microkernel")
}

impl HotSection {
    /// Reads the section from a kernel's ELF file.
    ///
    /// # Errors
    ///
    /// The file is missing, no ELF file, or lacks the section.
    pub fn read(kernel: &Path) -> Result<Self, SectionError> {
        let bytes = std::fs::read(kernel).map_err(|error| SectionError::File(kernel.to_owned(), error))?;
        let file = object::File::parse(&*bytes).map_err(SectionError::Elf)?;
        let section = file.section_by_name(SECTION).ok_or(SectionError::Section)?;
        let data = section.data().map_err(SectionError::Elf)?;
        let (words, rest) = data.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(SectionError::Section);
        }
        let symbols = file
            .symbols()
            .filter_map(|symbol| Some((symbol.name().ok()?.to_owned(), symbol.address())))
            .collect();
        Ok(Self {
            address: section.address(),
            words: words.iter().map(|word| u32::from_le_bytes(*word)).collect(),
            symbols,
        })
    }

    /// A symbol's link address.
    ///
    /// # Errors
    ///
    /// There is no such symbol.
    pub fn symbol(&self, name: &str) -> Result<u64, SectionError> {
        self.symbols.get(name).copied().ok_or_else(|| SectionError::Symbol(name.to_owned()))
    }

    /// The word at a link address, `None` outside the section.
    #[must_use]
    pub fn word(&self, address: u64) -> Option<u32> {
        let index = usize::try_from(address.checked_sub(self.address)? / 4).ok()?;
        self.words.get(index).copied()
    }
}
