//! Translation: what an entry of a page table says, and the walk to it.
//!
//! Owns the bits of an entry (manual vol. 1 §5.4.2) and the shape of the tree (C-40): three levels of 2048
//! entries over 47 bits. Leaves are pages of 16 KiB in the last level and of 32 MiB in the middle one.
//! An entry of zero is empty at every level; so no table lies at physical address 0, which boot withholds.
//!
//! Neighbours: [`super::frame`] and [`super::page_table`] decide what is written, [`super::stale`] what the
//! TLB must forget.

use abi::{LARGE_PAGE_BITS, LOWER_HALF_END, PAGE_BITS, Rights};
use bitflags::bitflags;

use crate::address::{PhysAddr, VirtAddr};
use crate::arch::Machine;
use crate::kernel::Kernel;
use crate::object::page_table::PageTable;
use crate::object::store::Ref;

/// Bits of an index into a table.
pub const INDEX_BITS: u32 = 11;

/// Bits of an entry.
pub mod bit {
    /// The TLB may use it.
    pub const VALID: u64 = 1;
    /// Stores are allowed.
    pub const DIRTY: u64 = 1 << 1;
    /// Privilege level 3 may use it: every page of a lower half (C-21).
    pub const PLV3: u64 = 3 << 2;
    /// Of that only this: privilege level 2 may use it, every page of an upper half.
    pub const PLV2: u64 = 2 << 2;
    /// Coherent cached; without it strongly ordered, uncached.
    pub const CACHED: u64 = 1 << 4;
    /// In a directory: a leaf of the directory's size.
    pub const HUGE: u64 = 1 << 6;
    /// In a leaf table: global, every entry of an upper half and none of a lower one (C-43).
    pub const GLOBAL: u64 = 1 << 6;
    /// Of a leaf in a directory: global.
    pub const HUGE_GLOBAL: u64 = 1 << 12;
    /// What a hardware walker takes for valid; the TLB ignores it.
    pub const PRESENT: u64 = 1 << 7;
    /// What a hardware walker takes for writable; the TLB ignores it.
    pub const WRITABLE: u64 = 1 << 8;
    /// The physical address, of a table or of a leaf.
    pub const ADDRESS: u64 = (1 << 48) - (1 << super::PAGE_BITS);
    /// In an entry that leads to a table of the space's stock: how many of the table's entries are filled.
    /// (Hardware looks at no bit above the address: Linux keeps its own addresses there.)
    pub const FILLED: u64 = 0xfff << FILLED_SHIFT;
    /// Where the number begins.
    pub const FILLED_SHIFT: u32 = 48;
    /// In an entry that leads to a table: it is one of the space's stock (C-41).
    pub const STOCK: u64 = 1 << 60;
    /// No loads.
    pub const NO_READ: u64 = 1 << 61;
    /// No fetches.
    pub const NO_EXECUTE: u64 = 1 << 62;
}

bitflags! {
    /// How memory is mapped, beyond rights: the attributes of `Frame.Map`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Attributes: u64 {
        /// Instructions are not fetched from it.
        const NO_EXECUTE = 1;
        /// It is not cached.
        const UNCACHED = 2;
    }
}

/// A level of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The root, part of its VSpace: each entry covers 64 GiB.
    Root,
    /// Each entry covers 32 MiB.
    Middle,
    /// Each entry is a page of 16 KiB.
    Last,
}

impl Level {
    /// Base-2 logarithm of the bytes that one entry covers.
    pub const fn bits(self) -> u8 {
        match self {
            Self::Root => LARGE_PAGE_BITS + 11,
            Self::Middle => LARGE_PAGE_BITS,
            Self::Last => PAGE_BITS,
        }
    }

    /// The bytes that one entry covers.
    pub const fn bytes(self) -> u64 {
        1 << self.bits()
    }

    /// Which entry of a table on this level translates `address`.
    pub const fn index(self, address: VirtAddr) -> u64 {
        (address.0 >> self.bits()) & ((1 << INDEX_BITS) - 1)
    }

    /// The level of the tables that this level's entries lead to.
    pub const fn below(self) -> Self {
        match self {
            Self::Root => Self::Middle,
            Self::Middle | Self::Last => Self::Last,
        }
    }
}

const _: () = assert!(Level::Root.bits() as u32 + INDEX_BITS == LOWER_HALF_END.trailing_zeros());

/// A half of the address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Programs' and ordinary servers', at privilege level 3.
    Lower,
    /// A host's, at privilege level 2, the same whatever lower half is below it.
    Upper,
}

/// An entry as it stands in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Entry(pub u64);

/// What an entry means on its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing.
    Empty,
    /// The next table.
    Table(Ref<PageTable>),
    /// Memory from this address on.
    Leaf(PhysAddr),
}

impl Entry {
    /// Nothing.
    pub const EMPTY: Self = Self(0);

    /// Nothing, as it stands in a table on `level` of this half. A TLB entry is global only if both of its
    /// pages are, so empty ones beside an upper half's pages say so too (C-43).
    pub const fn nothing(level: Level, half: Half) -> Self {
        match (level, half) {
            (Level::Last, Half::Upper) => Self(bit::GLOBAL),
            _ => Self::EMPTY,
        }
    }

    /// True for an entry that leads nowhere.
    pub const fn is_nothing(self) -> bool {
        self.0 & !bit::GLOBAL == 0
    }

    /// The same leaf on `level` in this half.
    pub const fn in_half(self, level: Level, half: Half) -> Self {
        let global = match (level, half) {
            (_, Half::Lower) => return self,
            (Level::Last, Half::Upper) => bit::GLOBAL,
            (_, Half::Upper) => bit::HUGE_GLOBAL,
        };
        Self(self.0 & !bit::PLV3 | bit::PLV2 | global)
    }

    /// An entry that leads to `table`.
    pub const fn table(table: Ref<PageTable>) -> Self {
        Self(table.address().physical().0)
    }

    /// An entry that leads to an empty table of the stock.
    pub const fn stock_table(table: Ref<PageTable>) -> Self {
        Self(Self::table(table).0 | bit::STOCK)
    }

    /// True for an entry that leads to a table of the stock.
    pub const fn is_stock(self) -> bool {
        self.0 & bit::STOCK != 0
    }

    /// How many entries of the stock's table behind this are filled.
    pub const fn filled(self) -> u64 {
        (self.0 & bit::FILLED) >> bit::FILLED_SHIFT
    }

    /// The same after some of the table's entries were filled and some emptied: the number stays within its
    /// bits, 0 to 2048, so the whole word is added to.
    #[must_use]
    pub const fn recounted(self, filled: u64, emptied: u64) -> Self {
        let now = Self(self.0.wrapping_add(filled.wrapping_sub(emptied) << bit::FILLED_SHIFT));
        debug_assert!((now.0 ^ self.0) & !bit::FILLED == 0, "more was emptied than was filled");
        now
    }

    /// A leaf on `level` for PLV3. `rights` hold READ, and WRITE if it may be written.
    ///
    /// V and D are set from the start, and P and W with them: neither this kernel nor a hardware walker
    /// tracks which pages were used.
    pub const fn leaf(level: Level, memory: PhysAddr, rights: Rights, attributes: Attributes) -> Self {
        let mut bits = memory.0 & bit::ADDRESS | bit::VALID | bit::PRESENT | bit::PLV3;
        if rights.contains(Rights::WRITE) {
            bits |= bit::DIRTY | bit::WRITABLE;
        }
        if !rights.contains(Rights::READ) {
            bits |= bit::NO_READ;
        }
        if attributes.contains(Attributes::NO_EXECUTE) {
            bits |= bit::NO_EXECUTE;
        }
        if !attributes.contains(Attributes::UNCACHED) {
            bits |= bit::CACHED;
        }
        if matches!(level, Level::Middle) {
            bits |= bit::HUGE;
        }
        Self(bits)
    }

    /// What the entry means on `level`.
    pub const fn content(self, level: Level) -> Content {
        let is_leaf = match level {
            Level::Root => false,
            Level::Middle => self.0 & bit::HUGE != 0,
            Level::Last => true,
        };
        let address = PhysAddr(self.0 & bit::ADDRESS);
        match Ref::from_raw(address.in_window().0) {
            _ if self.is_nothing() => Content::Empty,
            Some(table) if !is_leaf => Content::Table(table),
            _ => Content::Leaf(address),
        }
    }

    /// The table that this entry of a root leads to.
    pub const fn next_table(self) -> Option<Ref<PageTable>> {
        match self.content(Level::Root) {
            Content::Table(table) => Some(table),
            Content::Empty | Content::Leaf(_) => None,
        }
    }

    /// True for an entry of a directory that is a large leaf.
    pub const fn is_large(self) -> bool {
        self.0 & bit::HUGE != 0
    }

    /// The same leaf with the access that another has.
    #[must_use]
    pub const fn with_access_of(self, other: Self) -> Self {
        const ACCESS: u64 = bit::DIRTY | bit::WRITABLE | bit::NO_EXECUTE;
        Self(self.0 & !ACCESS | other.0 & ACCESS)
    }

    /// True for a leaf of the last level that leads into the `bytes` of memory from `base` on.
    pub const fn is_leaf_within(self, base: PhysAddr, bytes: u64) -> bool {
        self.0 & bit::VALID != 0 && (self.0 & bit::ADDRESS).wrapping_sub(base.0) < bytes
    }

    /// True for a leaf of `memory` on `level`.
    pub fn is_leaf_of(self, level: Level, memory: PhysAddr) -> bool {
        self.content(level) == Content::Leaf(memory)
    }
}

/// Where an entry lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its table.
    pub table: Ref<PageTable>,
    /// Its index there.
    pub index: u64,
    /// The table's level.
    pub level: Level,
}

/// Why a walk ended above the level that it was to reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The entry here is empty.
    Missing(Place),
    /// A large leaf is here.
    Leaf(Place),
}

/// Finds the entry for `address`, which is in the half of the root's space, on level `to`.
///
/// # Errors
///
/// What stands in the way, and where.
pub fn walk<M: Machine>(
    k: &Kernel<M>,
    root: Ref<PageTable>,
    address: VirtAddr,
    to: Level,
) -> Result<Place, Stop> {
    let mut place = Place { table: root, index: Level::Root.index(address), level: Level::Root };
    while place.level != to {
        match k.get(place.table).entry(place.index).content(place.level) {
            Content::Empty => return Err(Stop::Missing(place)),
            Content::Leaf(_) => return Err(Stop::Leaf(place)),
            Content::Table(table) => {
                let level = place.level.below();
                place = Place { table, index: level.index(address), level };
            }
        }
    }
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_for_user_space_has_the_manuals_bits() {
        let page = Entry::leaf(Level::Last, PhysAddr(0x8000_4000), Rights::READ_WRITE, Attributes::empty());
        assert_eq!(page.0, 0x8000_4000 | 0b1_1001_1111);
        let read_only = Entry::leaf(Level::Last, PhysAddr(0x4000), Rights::READ, Attributes::NO_EXECUTE);
        assert_eq!(read_only.0, 1 << 62 | 0x4000 | 0b0_1001_1101);
        let device = Entry::leaf(Level::Middle, PhysAddr(1 << 25), Rights::READ, Attributes::UNCACHED);
        assert_eq!(device.0, 1 << 25 | 0b0_1100_1101);
    }

    #[test]
    fn the_levels_cover_47_bits_without_overlap() {
        let address = VirtAddr(0x5a5a_1234_8000);
        let rebuilt = [Level::Root, Level::Middle, Level::Last]
            .iter()
            .map(|level| level.index(address) << level.bits())
            .sum::<u64>();
        assert_eq!(rebuilt, address.0 & !0x3fff);
    }

    #[test]
    fn a_directory_entry_is_a_table_unless_huge() {
        let memory = PhysAddr(1 << 25);
        let leaf = Entry::leaf(Level::Middle, memory, Rights::READ, Attributes::empty());
        assert_eq!(leaf.content(Level::Middle), Content::Leaf(memory));
        assert!(!leaf.is_leaf_of(Level::Middle, PhysAddr(2 << 25)));
        let table = Ref::from_raw(memory.in_window().0).map(Entry::table);
        assert!(table.is_some_and(|entry| matches!(entry.content(Level::Middle), Content::Table(_))));
        assert_eq!(Entry::EMPTY.content(Level::Last), Content::Empty);
    }
}
