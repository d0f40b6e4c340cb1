//! The shape of page tables, the page-walk registers, and the address space of nobody.
//!
//! Owns the page size (16 KiB), the three levels of 2,048 entries (C-40), the bits of an entry, and
//! [`EMPTY_ROOT`], the root that is current when no address space is. Both halves have trees of the same
//! shape: bits 46 to 36 index the root, 35 to 25 the middle directory, 24 to 14 the leaf table.
#![expect(unsafe_code, reason = "writes the page-walk registers and invalidates the TLB")]

use core::arch::asm;
use core::sync::atomic::AtomicU64;

use super::registers::{ASID, PGDH, PGDL, PWCH, PWCL, STLBPS, TLBIDX, TLBREHI};
use super::window::{physical_address, pointer};
use crate::address::{PhysAddr, VirtAddr};
use crate::arch::HardwareAsid;

/// Bits of an address within a page.
pub const PAGE_BITS: u32 = 14;

/// Bits of an index into a table.
pub const INDEX_BITS: u32 = 11;

/// Entries of a table.
pub const TABLE_ENTRIES: usize = 1 << INDEX_BITS;

/// PWCL: leaf table, then directory 1; directory 2 is absent.
const WALK_LOW: u64 = PAGE_BITS as u64
    | (INDEX_BITS as u64) << 5
    | ((PAGE_BITS + INDEX_BITS) as u64) << 10
    | (INDEX_BITS as u64) << 15;

/// PWCH: directory 3 is the root.
const WALK_HIGH: u64 = (PAGE_BITS + 2 * INDEX_BITS) as u64 | (INDEX_BITS as u64) << 6;

/// Bits of a page-table entry (manual §5.4.2; 7 and 8 are read by hardware walkers alone).
pub mod entry {
    /// The entry translates.
    pub const VALID: u64 = 1;
    /// Stores are allowed.
    pub const DIRTY: u64 = 1 << 1;
    /// Privilege level 2: a host's page (C-21).
    pub const LEVEL_2: u64 = 2 << 2;
    /// Privilege level 3: everybody's page.
    pub const LEVEL_3: u64 = 3 << 2;
    /// Coherent cached memory.
    pub const CACHED: u64 = 1 << 4;
    /// In a leaf table: global. In a directory: a leaf of the directory's size.
    pub const GLOBAL_OR_HUGE: u64 = 1 << 6;
    /// Present, for hardware walkers.
    pub const PRESENT: u64 = 1 << 7;
    /// Writable, for hardware walkers.
    pub const WRITABLE: u64 = 1 << 8;
    /// Of a leaf in a directory: global.
    pub const HUGE_GLOBAL: u64 = 1 << 12;
    /// No loads.
    pub const NO_READ: u64 = 1 << 61;
    /// No fetches.
    pub const NO_EXECUTE: u64 = 1 << 62;
    /// The privilege level alone may use the page, not those above it.
    pub const RESTRICTED: u64 = 1 << 63;
}

/// A page table: 2,048 entries of 64 bits in one 16 KiB page.
#[derive(Debug)]
#[repr(C, align(16384))]
pub struct Table(pub [AtomicU64; TABLE_ENTRIES]);

impl Table {
    /// A table of zeros.
    #[must_use]
    pub const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; TABLE_ENTRIES])
    }
}

impl Default for Table {
    fn default() -> Self {
        Self::new()
    }
}

/// The root that maps nothing: current in either half when no address space is. Never written.
pub static EMPTY_ROOT: Table = Table::new();

/// Physical address of [`EMPTY_ROOT`].
#[must_use]
pub fn empty_root() -> PhysAddr {
    physical_address(&raw const EMPTY_ROOT)
}

/// Sets this core's page walk and page size, makes the empty space current, and empties the TLB.
pub fn initialise_core() {
    // SAFETY: the kernel runs in a direct-mapped window, which none of these registers touches.
    unsafe { PWCL.write(WALK_LOW) };
    // SAFETY: as above.
    unsafe { PWCH.write(WALK_HIGH) };
    // SAFETY: as above; the TLB is emptied below before anything is mapped.
    unsafe { STLBPS.write(u64::from(PAGE_BITS)) };
    // SAFETY: as above.
    unsafe { TLBREHI.write(u64::from(PAGE_BITS)) };
    // SAFETY: as above.
    unsafe { TLBIDX.write(u64::from(PAGE_BITS) << 24) };
    // SAFETY: the empty root maps nothing.
    unsafe { PGDL.write(empty_root().0) };
    // SAFETY: as above.
    unsafe { PGDH.write(empty_root().0) };
    // SAFETY: identifier 0 is nobody's (C-11).
    unsafe { ASID.write(0) };
    invalidate_all();
}

/// Empties this core's TLB.
pub fn invalidate_all() {
    // SAFETY: removes cached translations; the tables are the truth.
    unsafe { asm!("dbar 0", "invtlb 0x0, $zero, $zero", options(nostack)) };
}

/// Removes this core's global entries (C-43).
pub fn invalidate_global() {
    // SAFETY: as for `invalidate_all`.
    unsafe { asm!("dbar 0", "invtlb 0x2, $zero, $zero", options(nostack)) };
}

/// Removes this core's entries of one address-space identifier, global ones excepted.
pub fn invalidate_space(HardwareAsid(identifier): HardwareAsid) {
    // SAFETY: as for `invalidate_all`.
    unsafe { asm!("dbar 0", "invtlb 0x4, {}, $zero", in(reg) identifier, options(nostack)) };
}

/// Removes the entry of the page pair that holds `address`, of one identifier or global.
pub fn invalidate_pair(HardwareAsid(identifier): HardwareAsid, VirtAddr(address): VirtAddr) {
    // SAFETY: as for `invalidate_all`.
    unsafe {
        asm!("dbar 0", "invtlb 0x6, {}, {}", in(reg) identifier, in(reg) address, options(nostack));
    };
}

/// Whether a page-invalid exception at `address` was caused by a stale entry, and may simply be retried.
///
/// Where the refill handler refuses addresses that are not canonical (C-22), the invalid pair that it
/// fills hides the upper half's page with the same low 48 bits. The page-invalid path asks here first:
/// the pair is removed, and the tables are read again.
#[must_use]
pub fn retry_invalid(address: VirtAddr) -> bool {
    let space = HardwareAsid(ASID.read() & 0x3ff);
    invalidate_pair(space, address);
    let root = match address.0 >> (3 * INDEX_BITS + PAGE_BITS) {
        0 => PGDL.read(),
        NOT_LOWER => PGDH.read(),
        _ => return false,
    };
    let directory = next(root, address, 2);
    if directory == 0 {
        return false;
    }
    let leaves = next(directory, address, 1);
    let leaf =
        if leaves == 0 || leaves & entry::GLOBAL_OR_HUGE != 0 { leaves } else { next(leaves, address, 0) };
    leaf & entry::VALID != 0
}

/// Bits 63 to 47 of an upper-half address.
const NOT_LOWER: u64 = 0x1_ffff;

/// The entry of `table` that leads to `address`, `level` levels above the leaves.
fn next(table: u64, address: VirtAddr, level: u32) -> u64 {
    let index = address.0 >> (PAGE_BITS + level * INDEX_BITS) & (TABLE_ENTRIES as u64 - 1);
    let place = PhysAddr(table & ADDRESS_MASK).in_window().offset(8 * index);
    // SAFETY: tables that a root leads to are memory; a core may be changing the entry, a word is read whole.
    unsafe { pointer::<u64>(place).read_volatile() }
}

/// The bits of an entry that are a table's physical address.
const ADDRESS_MASK: u64 = 0x0000_ffff_ffff_c000;
