//! What is fixed in the machine that an image is made for: QEMU's `virt` (10.0.2).
//!
//! Facts from QEMU's `hw/loongarch/virt.c` and `boot.c`: memory below 256 MiB, the rest from 0x8000_0000;
//! `-kernel` uses the first 2 MiB for its own tables.

use abi::boot_archive::ARCHIVE_ALIGN;
use std::ops::Range;

/// Where memory behind the devices begins.
const HIGH_MEMORY: u64 = 0x8000_0000;
/// Bytes of memory before the devices.
const LOW_MEMORY_SIZE: u64 = 0x1000_0000;
/// The physical addresses of devices.
pub(crate) const DEVICE_WINDOW: Range<u64> = LOW_MEMORY_SIZE..HIGH_MEMORY;
/// The inputs of the PCH-PIC.
pub(crate) const INTERRUPT_INPUTS: u64 = 64;
/// What QEMU keeps at the beginning of memory for the boot tables and the device tree.
pub(crate) const BOOT_TABLES_END: u64 = 0x20_0000;
/// The kernel runs in the cached window, at this much above its physical address.
pub(crate) const KERNEL_WINDOW: u64 = 0x9000_0000_0000_0000;

/// The devices that every image knows by name: name, address, bytes, input of the PCH-PIC.
pub(crate) const DEVICES: [(&str, u64, u64, u32); 4] = [
    ("serial0", 0x1fe0_01e0, 0x100, 2),
    ("serial1", 0x1fe0_02e0, 0x100, 3),
    ("serial2", 0x1fe0_03e0, 0x100, 4),
    ("serial3", 0x1fe0_04e0, 0x100, 5),
];

/// Registers that the kernel drives itself: whoever has their page has the machine.
pub(crate) const KERNEL_REGISTERS: [(&str, Range<u64>); 2] =
    [("interrupt controller", 0x1000_0000..0x1000_0400), ("power switch", 0x100e_001c..0x100e_0020)];

/// The ranges of physical addresses that are memory in a machine with so many bytes of it.
pub(crate) fn memory_ranges(bytes: u64) -> [Range<u64>; 2] {
    let low = bytes.min(LOW_MEMORY_SIZE);
    [0..low, HIGH_MEMORY..HIGH_MEMORY.saturating_add(bytes - low)]
}

/// Where an image is loaded: a physical address, on a page boundary.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LoadAddress(u64);

impl LoadAddress {
    /// Directly behind QEMU's boot tables.
    pub const DEFAULT: Self = Self(BOOT_TABLES_END);

    /// The address, or None if it is not on a 16 KiB boundary or beyond 2^47.
    pub fn new(address: u64) -> Option<Self> {
        (address.is_multiple_of(ARCHIVE_ALIGN) && address < 1 << 47).then_some(Self(address))
    }

    /// The physical address.
    pub const fn physical(self) -> u64 {
        self.0
    }

    /// The address at which the kernel sees its own first byte.
    pub const fn in_window(self) -> u64 {
        KERNEL_WINDOW + self.0
    }
}

impl Default for LoadAddress {
    fn default() -> Self {
        Self::DEFAULT
    }
}
