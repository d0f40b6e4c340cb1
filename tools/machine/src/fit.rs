//! Owns the check that an image fits the machine's memory, before the emulator fails with less to say.

use std::path::{Path, PathBuf};

use miette::Diagnostic;
use object::Endianness;
use object::elf::{EM_LOONGARCH, FileHeader64, PT_LOAD};
use object::read::elf::{FileHeader, ProgramHeader};
use thiserror::Error;

/// Why an image cannot be booted.
#[derive(Debug, Error, Diagnostic)]
pub enum FitError {
    /// There is no such file, or it cannot be read.
    #[error("cannot read the image {}", image.display())]
    Unreadable {
        /// The file.
        image: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// The file is no image.
    #[error("{} is no bootable image: it is not an ELF file for 64-bit LoongArch", image.display())]
    #[diagnostic(help("`cargo xtask image` makes one from a system description"))]
    NotAnImage {
        /// The file.
        image: PathBuf,
    },
    /// The image needs memory that the machine does not have.
    #[error(
        "the image {} does not fit: it needs memory from {start:#x} to {end:#x} ({needed_kib} KiB), \
         and a machine of {memory_mib} MiB has {available}",
        image.display()
    )]
    #[diagnostic(help("give the machine more memory, or the image another load address"))]
    TooLarge {
        /// The file.
        image: PathBuf,
        /// First physical address that the image takes.
        start: u64,
        /// Physical address after its last.
        end: u64,
        /// What lies between, in KiB.
        needed_kib: u64,
        /// The machine's memory.
        memory_mib: u64,
        /// Where that memory lies.
        available: String,
    },
    /// The files that go with the image need memory that the machine does not have.
    #[error(
        "the guest's files do not fit: {} has {needed_mib} MiB, and a machine of {memory_mib} MiB has at most {free_mib} MiB \
         in one piece for them",
        initrd.display()
    )]
    #[diagnostic(help("give the machine more memory, or the guest fewer files"))]
    InitrdTooLarge {
        /// The file.
        initrd: PathBuf,
        /// Its size.
        needed_mib: u64,
        /// The machine's memory.
        memory_mib: u64,
        /// The larger of the two pieces of memory that a file may lie in, without what the guest needs itself.
        free_mib: u64,
    },
}

/// QEMU's `virt` has memory at 0 up to here, and the rest from [`HIGH_MEMORY`].
const LOW_MEMORY_BYTES: u64 = 256 << 20;
const HIGH_MEMORY: u64 = 0x8000_0000;

/// Direct boot takes physical addresses' lower 48 bits.
const PHYSICAL_MASK: u64 = (1 << 48) - 1;

/// How an EFI program begins; it is not placed by its segments, and says itself when memory is short.
const EFI_PROGRAM: &[u8] = b"MZ";

/// Checks that every segment of the image lies in the machine's memory.
pub(crate) fn check(image: &Path, memory_mib: u64) -> Result<(), FitError> {
    let unreadable = |source| FitError::Unreadable { image: image.to_path_buf(), source };
    let bytes = std::fs::read(image).map_err(unreadable)?;
    if bytes.starts_with(EFI_PROGRAM) {
        return Ok(());
    }
    let segments = segments(&bytes).ok_or_else(|| FitError::NotAnImage { image: image.to_path_buf() })?;
    let memory = memory_mib << 20;
    let low = 0..memory.min(LOW_MEMORY_BYTES);
    let high = HIGH_MEMORY..HIGH_MEMORY.saturating_add(memory.saturating_sub(LOW_MEMORY_BYTES));
    let lies_in =
        |range: &std::ops::Range<u64>, start: u64, end: u64| range.start <= start && end <= range.end;
    for (start, size) in segments {
        let end = start.saturating_add(size);
        if !lies_in(&low, start, end) && !lies_in(&high, start, end) {
            return Err(FitError::TooLarge {
                image: image.to_path_buf(),
                start,
                end,
                needed_kib: size.div_ceil(1024),
                memory_mib,
                available: format!(
                    "{:#x} to {:#x} and {:#x} to {:#x}",
                    low.start, low.end, high.start, high.end
                ),
            });
        }
    }
    Ok(())
}

/// Memory that a guest needs besides its files, at least.
const OWN_MIB: u64 = 64;

/// Checks that the guest's files find room: QEMU puts them into one piece of memory, and then says only that it cannot.
pub(crate) fn check_initrd(initrd: &Path, memory_mib: u64) -> Result<(), FitError> {
    let data = initrd.metadata();
    let data = data.map_err(|source| FitError::Unreadable { image: initrd.to_path_buf(), source })?;
    let low_mib = memory_mib.min(LOW_MEMORY_BYTES >> 20);
    let free_mib = low_mib.saturating_sub(OWN_MIB).max(memory_mib - low_mib);
    let needed_mib = data.len().div_ceil(1 << 20);
    if needed_mib <= free_mib && needed_mib + OWN_MIB <= memory_mib {
        return Ok(());
    }
    Err(FitError::InitrdTooLarge { initrd: initrd.to_path_buf(), needed_mib, memory_mib, free_mib })
}

/// Returns physical start and size of each segment that is loaded, or nothing if this is no LoongArch ELF file.
fn segments(bytes: &[u8]) -> Option<Vec<(u64, u64)>> {
    let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    if header.e_machine(endian) != EM_LOONGARCH || endian != Endianness::Little {
        return None;
    }
    let headers = header.program_headers(endian, bytes).ok()?;
    let loaded = headers.iter().filter(|segment| segment.p_type(endian) == PT_LOAD);
    Some(loaded.map(|segment| (segment.p_paddr(endian) & PHYSICAL_MASK, segment.p_memsz(endian))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_must_fit_into_one_piece_of_memory() {
        let file = tempfile::NamedTempFile::new().unwrap_or_else(|error| unreachable!("{error}"));
        let fits = |file_mib: u64, memory_mib| {
            file.as_file().set_len(file_mib << 20).is_ok() && check_initrd(file.path(), memory_mib).is_ok()
        };
        assert!(fits(0, 128) && fits(64, 128) && fits(192, 256) && fits(700, 1024));
        assert!(!fits(65, 128) && !fits(193, 256) && !fits(193, 300) && !fits(1000, 1024));
    }
}
