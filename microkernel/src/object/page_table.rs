//! Page tables: 2048 entries, 16 KiB; the root is part of its VSpace.

use core::cell::Cell;

/// Entries in a table.
pub const ENTRIES: usize = 2048;

/// A page table.
#[derive(Debug)]
#[repr(C, align(16384))]
pub struct PageTable {
    /// Leaves, or physical addresses of the next tables; 0 is nothing.
    pub entries: [Cell<u64>; ENTRIES],
}

const _: () = assert!(size_of::<PageTable>() == 1 << abi::PAGE_BITS);
