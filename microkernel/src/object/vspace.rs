//! Address spaces.

use core::cell::Cell;

use crate::object::page_table::PageTable;

/// An address space: what belongs to it, and behind that its root table.
///
/// The first two words are what a switch loads: `hardware_asid` is 0 while the space has no hardware
/// identifier (none assigned, or stolen), and sends the hot path to the slow one (C-11).
#[derive(Debug)]
#[repr(C, align(16384))]
pub struct VSpace {
    /// The hardware identifier, 1 to 1023, or 0.
    pub hardware_asid: Cell<u64>,
    /// The root table's physical address, for PGDL.
    pub root_address: Cell<u64>,
    /// The identifier from its pool, plus 1; 0: none, and nothing runs in it.
    pub asid: Cell<u64>,
    /// 0 until the first assignment makes it lower (1) or upper (2) (C-43).
    pub half: Cell<u64>,
    /// For windows and the stock of tables (C-41).
    pub reserved: [Cell<u64>; 2044],
    /// The root table.
    pub root: PageTable,
}

const _: () = assert!(size_of::<VSpace>() == 1 << 15);
