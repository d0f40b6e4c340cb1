//! Places the kernel at its load address, with the archive behind it.
//!
//! The kernel is linked at 0 and relocates itself (its start-up code applies the relative relocations), so
//! its bytes stay as they are; what moves is what loaders and debuggers read: segments, sections, symbols,
//! debug information. One place in its data is patched, the `BootImageHeader`.

use crate::debug_info;
use crate::elf::{ElfImage, Segment, read};
use crate::machine::LoadAddress;
use crate::mistake::Mistake;
use abi::boot_archive::{ARCHIVE_ALIGN, BOOT_IMAGE_HEADER_SIZE, BOOT_IMAGE_SECTION, BootImageHeader};
use object::elf::{ET_DYN, ET_EXEC, PF_R};
use std::path::Path;

/// A kernel that can carry an archive.
#[derive(Debug)]
pub(crate) struct Kernel {
    image: ElfImage,
    /// Bytes that it occupies in memory.
    pub(crate) mem_size: u64,
    /// The address of its header, as linked.
    header_at: u64,
}

/// The finished file.
pub(crate) struct Placed {
    pub(crate) file: Vec<u8>,
    /// Bytes that kernel and archive occupy in memory.
    pub(crate) mem_size: u64,
    /// What was lost on the way, to be shown.
    pub(crate) note: Option<String>,
}

impl Kernel {
    pub(crate) fn read(path: &Path, bytes: &[u8]) -> Result<Self, Mistake> {
        let refuse = |reason: String| {
            Mistake::new(format!("`{}` cannot be the kernel: {reason}", path.display()))
                .help("build it with `cargo xtask`, or give the path of a built `microkernel`")
        };
        let image = read(bytes).map_err(|error| refuse(error.to_string()))?;
        if image.kind != ET_DYN.0 {
            return Err(refuse(String::from("it is not position-independent, so it cannot be moved")));
        }
        let first = image.segments.first().map(|segment| segment.vaddr);
        if first != Some(0) {
            return Err(refuse(String::from("it is not linked at address 0")));
        }
        let mem_size = image.segments.iter().map(Segment::end).max().unwrap_or(0);
        if mem_size > 1 << 32 {
            return Err(refuse(String::from("its segments reach beyond 4 GiB")));
        }
        let section = image.section(BOOT_IMAGE_SECTION);
        let section = section.ok_or_else(|| refuse(format!("it has no section `{BOOT_IMAGE_SECTION}`")))?;
        let mut kernel = Self { header_at: section.address, mem_size, image };
        match kernel.header_bytes() {
            Some(bytes) if *bytes == BootImageHeader::UNPATCHED.to_bytes() => Ok(kernel),
            Some(bytes) if bytes.starts_with(b"BIXIBOOT") => {
                Err(refuse(String::from("it is an image already, with an archive in it")))
            }
            _ => Err(refuse(format!("its section `{BOOT_IMAGE_SECTION}` holds no boot header"))),
        }
    }

    fn header_bytes(&mut self) -> Option<&mut [u8]> {
        let (at, size) = (self.header_at, BOOT_IMAGE_HEADER_SIZE as u64);
        self.image.segments.iter_mut().find_map(|segment| segment.file_bytes_mut(at, size))
    }

    /// Puts the archive behind the kernel's memory and everything to its final address.
    pub(crate) fn place(mut self, archive: Vec<u8>, load: LoadAddress) -> Placed {
        let archive_offset = self.mem_size.next_multiple_of(ARCHIVE_ALIGN);
        let archive_size = archive.len() as u64;
        let image_end = archive_offset + archive_size;
        let header =
            BootImageHeader { archive_offset, archive_size, image_end, ..BootImageHeader::UNPATCHED };
        if let Some(bytes) = self.header_bytes() {
            bytes.copy_from_slice(&header.to_bytes());
        }
        self.image.segments.push(Segment {
            flags: PF_R.0,
            vaddr: archive_offset,
            paddr: archive_offset,
            mem_size: archive_size,
            data: archive,
        });
        let note = debug_info::move_by(&mut self.image, load.in_window()).err();
        self.image.move_by(load.in_window(), load.physical());
        // Its addresses are final now, and a debugger must not move them again.
        self.image.kind = ET_EXEC.0;
        Placed {
            file: self.image.write(),
            mem_size: image_end,
            note: note.map(|reason| format!("the kernel's debug information was left out: {reason}")),
        }
    }
}
