//! The direct-mapped windows: how the kernel reaches physical memory and device registers.
//!
//! Owns windows 0 and 1. Memory is reached through 0x9000… (cached), devices through 0x8000… (strongly
//! ordered, uncached), both at PLV0 only, without TLB or page table. A program's access to them is an
//! address error. Neighbours: `boot` sets the windows, `paging` maps what lies outside them.
#![expect(unsafe_code, reason = "device registers are reached by volatile access")]

use super::registers::low_word;
use crate::address::{PhysAddr, WINDOW_BASE, WindowAddr};

/// DMW0: segment 8, strongly ordered uncached, PLV0.
pub const DEVICE_WINDOW: u64 = 0x8000_0000_0000_0001;

/// DMW1: segment 9, coherent cached, PLV0.
pub const MEMORY_WINDOW: u64 = 0x9000_0000_0000_0011;

/// Where devices appear: physical address 0 in the uncached window.
pub const DEVICE_BASE: u64 = 0x8000_0000_0000_0000;

/// Bits of a window address that are the physical address.
pub const PHYSICAL_MASK: u64 = 0x0000_ffff_ffff_ffff;

const _: () = assert!(MEMORY_WINDOW & !0xff == WINDOW_BASE);
const _: () = assert!(size_of::<usize>() == size_of::<u64>());

/// A pointer to what lies at an address in the window of memory.
#[must_use]
pub fn pointer<T>(address: WindowAddr) -> *mut T {
    core::ptr::with_exposed_provenance_mut(usize::from_le_bytes(address.0.to_le_bytes()))
}

/// The physical address of something in the window of memory, such as the kernel's own image.
#[must_use]
pub fn physical_address<T: ?Sized>(object: *const T) -> PhysAddr {
    PhysAddr(u64::from_le_bytes(object.addr().to_le_bytes()) & PHYSICAL_MASK)
}

/// A device register of 8, 32 or 64 bits at a physical address, in the uncached window.
///
/// Accesses are single plain loads and stores: under KVM nothing else may touch a device (no atomic, no
/// vector instruction: it would be an address error).
#[derive(Clone, Copy, Debug)]
pub struct DeviceRegister<T> {
    address: *mut T,
}

impl<T: Copy> DeviceRegister<T> {
    /// The register at `physical`.
    ///
    /// # Safety
    ///
    /// A device register of this width must be there, and the caller must own what it does.
    #[must_use]
    pub const unsafe fn new(physical: u64) -> Self {
        let address = usize::from_le_bytes((DEVICE_BASE | physical & PHYSICAL_MASK).to_le_bytes());
        Self { address: core::ptr::with_exposed_provenance_mut(address) }
    }

    /// Reads the register.
    #[inline]
    #[must_use]
    pub fn read(self) -> T {
        // SAFETY: `new`'s caller said that the register exists; the window is always mapped.
        unsafe { self.address.read_volatile() }
    }

    /// Writes the register.
    #[inline]
    pub fn write(self, value: T) {
        // SAFETY: as for `read`; the effect is owned by the caller of `new`.
        unsafe { self.address.write_volatile(value) };
    }
}

/// The two 32-bit halves of a 64-bit device value, low half first.
#[must_use]
pub const fn halves(value: u64) -> [u32; 2] {
    [low_word(value), low_word(value >> 32)]
}
