//! Device registers: plain loads and stores, each done exactly once and in order (CASES 48).

#![expect(unsafe_code, reason = "device access")]

use core::ptr::NonNull;

/// Byte registers of a device, mapped uncached.
#[derive(Debug)]
pub struct ByteRegisters {
    base: NonNull<u8>,
    bytes: usize,
}

impl ByteRegisters {
    /// The registers that root mapped at `address`.
    ///
    /// # Safety
    /// `bytes` bytes from `address` on are mapped registers of a device that nobody else drives, for as long as
    /// the value lives.
    pub unsafe fn new(address: u64, bytes: u64) -> Option<Self> {
        let base = core::ptr::with_exposed_provenance_mut(usize::try_from(address).ok()?);
        Some(Self { base: NonNull::new(base)?, bytes: usize::try_from(bytes).ok()? })
    }

    /// Reads the register at `offset`; outside of the device, 0.
    pub fn read(&self, offset: usize) -> u8 {
        if offset >= self.bytes {
            return 0;
        }
        // SAFETY: inside the registers that `new` was promised.
        unsafe { self.base.as_ptr().wrapping_add(offset).read_volatile() }
    }

    /// Writes the register at `offset`; outside of the device, nothing.
    pub fn write(&self, offset: usize, value: u8) {
        if offset < self.bytes {
            // SAFETY: inside the registers that `new` was promised.
            unsafe { self.base.as_ptr().wrapping_add(offset).write_volatile(value) }
        }
    }
}

/// Registers of 32 bits, mapped uncached.
#[derive(Debug)]
pub struct WordRegisters {
    base: NonNull<u32>,
    words: usize,
}

impl WordRegisters {
    /// The registers that are mapped at `address`, a multiple of 4.
    ///
    /// # Safety
    /// `words` words from `address` on are mapped registers of a device that nobody else drives, for as long as
    /// the value lives.
    pub unsafe fn new(address: u64, words: usize) -> Option<Self> {
        let base = core::ptr::with_exposed_provenance_mut(usize::try_from(address).ok()?);
        NonNull::new(base).filter(|base| base.is_aligned()).map(|base| Self { base, words })
    }

    /// Reads the register at `offset` bytes; outside of the device, 0.
    pub fn read(&self, offset: usize) -> u32 {
        if offset / 4 >= self.words {
            return 0;
        }
        // SAFETY: inside the registers that `new` was promised.
        unsafe { self.base.as_ptr().wrapping_add(offset / 4).read_volatile() }
    }

    /// Writes the register at `offset` bytes; outside of the device, nothing.
    pub fn write(&self, offset: usize, value: u32) {
        if offset / 4 < self.words {
            // SAFETY: inside the registers that `new` was promised.
            unsafe { self.base.as_ptr().wrapping_add(offset / 4).write_volatile(value) }
        }
    }
}
