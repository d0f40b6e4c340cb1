//! Finds what the firmware and the image tool left in memory, and makes a [`MachineDescription`] of it.
//!
//! Owns the reads of memory that belongs to nobody yet: EFI system table, device tree, command line, and
//! the header that the image tool patched into this kernel. Every pointer found there is checked for a
//! signature before it is followed, and nothing is kept by reference but the boot archive.
//!
//! QEMU's `-kernel` leaves a small EFI system table at `$a2` (its first configuration table is damaged:
//! skipped, since no known identifier matches), and the device tree at 1 MiB.
#![expect(unsafe_code, reason = "reads memory by physical address")]

use abi::boot_archive::{BOOT_IMAGE_MAGIC, BootImageHeader};
use arrayvec::ArrayVec;

use super::boot::image;
use super::machine_description::{COMMAND_LINE_BYTES, DescriptionError, MachineDescription, Reserved};
use super::{cpu, window};
use crate::address::PhysAddr;
use crate::boot::memory::Range;

/// The header that the image tool patches in the kernel's file. Read volatile: see [`boot_image`].
#[used]
#[unsafe(link_section = ".bixi.boot")]
static BOOT_IMAGE: BootImageHeader = BootImageHeader::UNPATCHED;

/// What the machine handed to the kernel in `$a1` and `$a2`, physical addresses.
#[derive(Clone, Copy, Debug)]
pub struct Handover {
    /// The command line, ended by a zero byte.
    pub command_line: u64,
    /// The EFI system table.
    pub system_table: u64,
}

/// Where the boot archive is in memory, if this image has one.
#[derive(Clone, Copy, Debug)]
pub struct ArchivePlace {
    /// Its physical range.
    pub range: Range,
    /// Its bytes: read-only for everybody for as long as the machine runs.
    pub bytes: &'static [u8],
}

/// EFI's "IBI SYST".
const SYSTEM_TABLE_SIGNATURE: u64 = 0x5453_5953_2049_4249;

/// Offset of the number of configuration tables in the system table (UEFI §4.3).
const TABLE_COUNT_OFFSET: u64 = 0x68;

/// Offset of their address.
const TABLES_OFFSET: u64 = 0x70;

/// Bytes of a configuration table's entry: identifier and address.
const TABLE_ENTRY_BYTES: u64 = 24;

/// Configuration tables that are looked at.
const MOST_TABLES: u64 = 64;

/// EFI_DTB_TABLE_GUID b1b621d5-f19c-41a5-830b-d9152c69aae0.
const DEVICE_TREE_TABLE: [u8; 16] =
    [0xd5, 0x21, 0xb6, 0xb1, 0x9c, 0xf1, 0xa5, 0x41, 0x83, 0x0b, 0xd9, 0x15, 0x2c, 0x69, 0xaa, 0xe0];

/// LINUX_EFI_INITRD_MEDIA_GUID 5568e427-68fc-4f3d-ac74-ca555231cc68.
const INITIAL_FILES_TABLE: [u8; 16] =
    [0x27, 0xe4, 0x68, 0x55, 0xfc, 0x68, 0x3d, 0x4f, 0xac, 0x74, 0xca, 0x55, 0x52, 0x31, 0xcc, 0x68];

/// Where QEMU puts the device tree.
const USUAL_DEVICE_TREE: u64 = 0x10_0000;

/// The device tree's magic number.
const DEVICE_TREE_MAGIC: u32 = 0xd00d_feed;

/// Largest device tree believed.
const LARGEST_DEVICE_TREE: u32 = 4 << 20;

/// What QEMU keeps for boot information and device tree.
const FIRMWARE_MEMORY: Range = Range { start: 0, end: 2 << 20 };

/// Describes the machine from what it handed over.
///
/// # Errors
///
/// See [`DescriptionError`].
pub fn describe(handover: Handover) -> Result<MachineDescription, DescriptionError> {
    let tables = find_tables(handover.system_table);
    let tree_place = tables.device_tree.unwrap_or(USUAL_DEVICE_TREE);
    let (tree_range, blob) = device_tree(tree_place).ok_or(DescriptionError::NoDeviceTree)?;
    let mut description = MachineDescription::from_device_tree(blob)?;
    description.counter_frequency_hz = cpu::counter_frequency_hz();
    description.physical_address_bits = cpu::physical_address_bits();
    description.command_line = command_line(handover.command_line);
    description.initial_files = tables.initial_files.filter(|range| range.bytes() > 0);

    description.reserve(Reserved::Firmware, FIRMWARE_MEMORY)?;
    description.reserve(Reserved::Firmware, tree_range)?;
    description.reserve(Reserved::Kernel, image_range())?;
    if let Some(archive) = boot_archive() {
        description.reserve(Reserved::Archive, archive.range)?;
    }
    if let Some(range) = description.initial_files {
        description.reserve(Reserved::InitialFiles, range)?;
    }
    Ok(description)
}

/// The boot archive that the image tool put behind the kernel.
#[must_use]
pub fn boot_archive() -> Option<ArchivePlace> {
    let place = boot_image().archive()?;
    let base = image_range().start;
    let range = Range { start: base + place.start, end: base + place.end };
    let length = usize::try_from(range.bytes()).ok()?;
    // SAFETY: the loader put the archive there with the image, the range is reserved in the description
    // of memory, and it is mapped read-only wherever it is mapped: the bytes never change.
    let bytes = unsafe { core::slice::from_raw_parts(pointer(range.start), length) };
    Some(ArchivePlace { range, bytes })
}

/// The header as the image tool left it.
fn boot_image() -> BootImageHeader {
    // SAFETY: a valid static; volatile, since the compiler knows only what it was built with.
    let header = unsafe { (&raw const BOOT_IMAGE).read_volatile() };
    debug_assert_eq!(header.magic, BOOT_IMAGE_MAGIC);
    header
}

/// Physical range of the kernel's image.
fn image_range() -> Range {
    let image = image();
    let physical = |address: usize| window::physical_address(core::ptr::without_provenance::<u8>(address)).0;
    Range { start: physical(image.start), end: physical(image.end) }
}

/// What the configuration tables lead to.
#[derive(Default)]
struct Tables {
    device_tree: Option<u64>,
    initial_files: Option<Range>,
}

/// Walks the EFI configuration tables; without a system table, none are found.
fn find_tables(system_table: u64) -> Tables {
    let mut found = Tables::default();
    if system_table == 0 || !system_table.is_multiple_of(8) {
        return found;
    }
    if read::<u64>(system_table) != SYSTEM_TABLE_SIGNATURE {
        return found;
    }
    let count = u64::from(read::<u32>(system_table + TABLE_COUNT_OFFSET)).min(MOST_TABLES);
    let tables = read::<u64>(system_table + TABLES_OFFSET);
    for entry in (0..count).map(|index| tables + index * TABLE_ENTRY_BYTES) {
        let place = read::<u64>(entry + 16);
        match read::<[u8; 16]>(entry) {
            DEVICE_TREE_TABLE => found.device_tree = Some(place),
            INITIAL_FILES_TABLE => {
                let (start, size) = (read::<u64>(place), read::<u64>(place + 8));
                found.initial_files = Some(Range::sized(start, size));
            }
            _ => {}
        }
    }
    found
}

/// The device tree at `place`, if one is there.
fn device_tree(place: u64) -> Option<(Range, &'static [u8])> {
    let [magic, size] = [read::<u32>(place), read::<u32>(place + 4)].map(u32::from_be);
    if magic != DEVICE_TREE_MAGIC || size > LARGEST_DEVICE_TREE {
        return None;
    }
    let length = usize::try_from(size).ok()?;
    // SAFETY: the magic number says that a device tree of this size is there, in memory that nobody
    // writes before it has been reserved or given away, and the kernel keeps no reference.
    let blob = unsafe { core::slice::from_raw_parts(pointer(place), length) };
    Some((Range::sized(place, u64::from(size)), blob))
}

/// Copies the command line.
fn command_line(place: u64) -> ArrayVec<u8, COMMAND_LINE_BYTES> {
    (place..).map(read::<u8>).take(COMMAND_LINE_BYTES).take_while(|&byte| byte != 0).collect()
}

/// A pointer into the memory window.
fn pointer<T>(physical: u64) -> *const T {
    window::pointer(PhysAddr(physical & window::PHYSICAL_MASK).in_window())
}

/// Reads plain data at a physical address, aligned or not.
fn read<T: Copy>(physical: u64) -> T {
    // SAFETY: the window maps every physical address; `T` is a plain number or array of bytes, for which
    // every pattern is valid. An address without memory is a machine error, reported as a crash.
    unsafe { pointer::<T>(physical).read_unaligned() }
}
