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
        "the guest's files do not fit: {} has {needed_mib} MiB, and the machine has {memory_mib} MiB where they need \
         one of {least_mib} MiB",
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
        /// The least that would do.
        least_mib: u64,
    },
}

/// QEMU's `virt` has memory at 0 up to here, and the rest from [`HIGH_MEMORY`].
pub(crate) const LOW_MEMORY_BYTES: u64 = 256 << 20;
pub(crate) const HIGH_MEMORY: u64 = 0x8000_0000;

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

/// Returns physical start and size of each segment that is loaded, or nothing if this is no LoongArch ELF file.
pub(crate) fn segments(bytes: &[u8]) -> Option<Vec<(u64, u64)>> {
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
pub(crate) mod tests {
    /// A LoongArch ELF file with one segment of so much memory.
    pub(crate) fn elf(start: u64, size: u64) -> Vec<u8> {
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(16, 0);
        let halves = |file: &mut Vec<u8>, values: &[u16]| {
            values.iter().for_each(|value| file.extend(value.to_le_bytes()));
        };
        let words = |file: &mut Vec<u8>, values: &[u64]| {
            values.iter().for_each(|value| file.extend(value.to_le_bytes()));
        };
        halves(&mut file, &[2, 258, 1, 0]);
        words(&mut file, &[start, 64, 0]);
        halves(&mut file, &[0, 0, 64, 56, 1, 0, 0, 0]);
        halves(&mut file, &[1, 0, 7, 0]);
        words(&mut file, &[0, start, start, 0, size, 0x1_0000]);
        file
    }

    #[test]
    fn segments_are_found() {
        assert_eq!(super::segments(&elf(0x20_0000, 0x1000)), Some(vec![(0x20_0000, 0x1000)]));
        assert_eq!(super::segments(b"MZ"), None);
    }
}
