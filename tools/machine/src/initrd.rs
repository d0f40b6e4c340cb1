//! Owns where QEMU puts the guest's files, which depends on its version and on where the image is (CASES 43).
//!
//! From QEMU's `hw/loongarch/boot.c`: the file follows the image at a distance of four times the image's size. Up to
//! 10.0 that is all, and only the machine's whole memory, as if it had no hole, is the limit: a file that reaches
//! the devices is cut there without a word. From 10.1 on a file that does not fit below the devices is put where
//! high memory begins, whatever lies there. An image behind the file's place in high memory works with both.

use std::path::Path;

use crate::fit::{self, FitError, HIGH_MEMORY, LOW_MEMORY_BYTES};

/// What a guest in low memory keeps of it besides its files, at least.
const OWN_BYTES: u64 = 64 << 20;
/// Between a file's place in high memory and the image.
const STEP: u64 = 2 << 20;
/// QEMU rounds a file's place up to this.
const ALIGNMENT: u64 = 64 << 10;

/// Returns the physical address that an image must be loaded at, so that a file of so many bytes goes with it; none if
/// the file fits into low memory with an image at the usual place.
#[must_use]
pub const fn load_address(bytes: u64) -> Option<u64> {
    if bytes <= LOW_MEMORY_BYTES - OWN_BYTES {
        None
    } else {
        Some(HIGH_MEMORY + bytes.next_multiple_of(STEP))
    }
}

/// Returns one past the file's last address as QEMU up to 10.0 places it behind the segments of an image.
fn end_behind(segments: &[(u64, u64)], bytes: u64) -> u64 {
    let high = segments.iter().map(|(start, size)| start.saturating_add(*size)).max().unwrap_or(0);
    let size = segments.iter().fold(0_u64, |sum, (_, size)| sum.saturating_add(*size));
    high.saturating_add(size.saturating_mul(4)).next_multiple_of(ALIGNMENT).saturating_add(bytes)
}

/// Returns the least memory in MiB of a machine in which QEMU does not refuse the file; 0 if the image is not Bixi's.
pub(crate) fn least_memory_mib(image: &Path, bytes: u64) -> u64 {
    let segments = std::fs::read(image).ok().and_then(|image| fit::segments(&image));
    segments.map_or(0, |segments| end_behind(&segments, bytes).div_ceil(1 << 20))
}

/// Checks that the guest's files find room: QEMU says only that it cannot, or nothing.
pub(crate) fn check(image: &Path, initrd: &Path, memory_mib: u64) -> Result<(), FitError> {
    let unreadable = |file: &Path, source| FitError::Unreadable { image: file.to_path_buf(), source };
    let bytes = initrd.metadata().map_err(|source| unreadable(initrd, source))?.len();
    let image_bytes = std::fs::read(image).map_err(|source| unreadable(image, source))?;
    let memory = memory_mib << 20;
    let low = memory.min(LOW_MEMORY_BYTES);
    let fits = match fit::segments(&image_bytes) {
        // An EFI program; QEMU places it at the beginning of memory.
        None => bytes.saturating_add(OWN_BYTES) <= low,
        Some(segments) => {
            let end = end_behind(&segments, bytes);
            let first = segments.iter().map(|(start, _)| *start).min().unwrap_or(0);
            if first < HIGH_MEMORY {
                end <= low && bytes.saturating_add(OWN_BYTES) <= memory
            } else {
                end <= memory && HIGH_MEMORY.saturating_add(bytes) <= first
            }
        }
    };
    if fits {
        return Ok(());
    }
    Err(FitError::InitrdTooLarge {
        initrd: initrd.to_path_buf(),
        needed_mib: bytes.div_ceil(1 << 20),
        memory_mib,
        least_mib: least_memory_mib(image, bytes).max((bytes + OWN_BYTES).div_ceil(1 << 20)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_small_file_leaves_the_image_where_it_is() {
        assert_eq!(load_address(0), None);
        assert_eq!(load_address(192 * MIB), None);
        assert_eq!(load_address(192 * MIB + 1), Some(HIGH_MEMORY + 194 * MIB));
    }

    #[test]
    fn files_follow_the_image_at_four_times_its_size() {
        // As QEMU 10.0.2 was seen to do it: 0x1880000 for an image of 8 MiB at 2 MiB.
        let segments = [(0x20_0000, 0x48_0000)];
        assert_eq!(end_behind(&segments, 7), 0x188_0007);
    }

    #[test]
    fn a_file_that_reaches_the_devices_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        let file = folder.path().join("file");
        let fits = |load: u64, file_mib: u64, memory_mib| {
            std::fs::write(&image, crate::fit::tests::elf(load, 4 * MIB)).unwrap();
            std::fs::File::create(&file).unwrap().set_len(file_mib * MIB).unwrap();
            check(&image, &file, memory_mib).is_ok()
        };
        let low = 2 * MIB;
        assert!(fits(low, 0, 128) && fits(low, 64, 128) && fits(low, 192, 1280));
        assert!(!fits(low, 65, 128), "the guest itself has no room");
        assert!(!fits(low, 245, 1280), "the file would lie over the devices");
        let high = load_address(245 * MIB).unwrap();
        assert!(fits(high, 245, 2600) && !fits(high, 245, 2500), "QEMU 10.0 counts the hole as memory");
        assert!(!fits(HIGH_MEMORY, 245, 4096), "QEMU 10.1 would put the file over the image");
    }
}
