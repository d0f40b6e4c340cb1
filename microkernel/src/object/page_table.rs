//! Page tables: 2048 entries, 16 KiB; the root is part of its VSpace.
//!
//! A table has one capability, of which no copy is made, and that says where the table is mapped. A table
//! that is not mapped is all zero: Retype makes it so, and Unmap leaves it so; what is empty in an upper
//! half's last tables is global (C-43). A table whose parent was
//! unmapped or whose space was deleted keeps its record and its entries, out of reach of any walk: whoever
//! acts on a record first looks whether the entry there still leads to this table.

use core::cell::Cell;

use abi::{Error, Method};

use crate::address::VirtAddr;
use crate::arch::Machine;
use crate::capability::cap::{Cap, Mapping};
use crate::failure::Failure;
use crate::kernel::Kernel;
use crate::object::stale::Stale;
use crate::object::store::Ref;
use crate::object::translation::{Content, Entry, Level, Place, Stop, walk};
use crate::object::vspace::{self, VSpace};
use crate::object::{asid, stock};
use crate::syscall::invoke::{Answer, Arguments, Target};

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

impl PageTable {
    /// The entry at `index`; an index past the end finds nothing.
    pub fn entry(&self, index: u64) -> Entry {
        Entry(self.cell(index).map_or(0, Cell::get))
    }

    /// Writes the entry at `index`.
    pub fn set_entry(&self, index: u64, entry: Entry) {
        if let Some(cell) = self.cell(index) {
            cell.set(entry.0);
        }
    }

    /// True when the `count` entries from `first` on are empty.
    ///
    /// Eight at a time, so that a whole table is looked through in one bounded step (C-3).
    pub fn is_empty(&self, first: u64, count: u64) -> bool {
        let entries = self.range(first, count);
        entries
            .chunks(8)
            .all(|chunk| Entry(chunk.iter().fold(0, |all, entry| all | entry.get())).is_nothing())
    }

    /// The `count` entries from `first` on, as far as there are so many.
    pub fn range(&self, first: u64, count: u64) -> &[Cell<u64>] {
        let end = first.saturating_add(count).min(ENTRIES as u64);
        let range = usize::try_from(first).unwrap_or(ENTRIES)..usize::try_from(end).unwrap_or(ENTRIES);
        self.entries.get(range).unwrap_or_default()
    }

    /// Writes the same to every entry, eight at a time (C-3).
    fn fill(&self, entry: Entry) {
        let (chunks, _) = self.entries.as_chunks::<8>();
        for chunk in chunks {
            chunk.iter().for_each(|cell| cell.set(entry.0));
        }
    }

    /// The entry at `index` modulo the number of entries.
    #[inline(always)]
    pub fn place(&self, index: u64) -> &Cell<u64> {
        let [first, ..] = &self.entries;
        self.cell(index % ENTRIES as u64).unwrap_or(first)
    }

    fn cell(&self, index: u64) -> Option<&Cell<u64>> {
        self.entries.get(usize::try_from(index).ok()?)
    }
}

/// What `PageTable.Map` asks for, checked.
#[derive(Debug)]
struct Map {
    place: Place,
    mapping: Mapping,
}

/// Decodes and invokes a method on a page table's capability.
///
/// # Errors
///
/// As the method's row says.
pub fn invoke<M: Machine>(
    k: &mut Kernel<M>,
    target: &Target,
    method: Method,
    arguments: &Arguments,
) -> Result<Answer, Failure> {
    let (table, mapping) = match target.cap {
        Cap::PageTable { table, mapping } => (table, mapping),
        Cap::GivenTable { table, asid, stock } if method == Method::PageTableUnmap => {
            stock::take_back(k, table, asid, stock)?;
            k.get(target.slot).set_cap(Cap::PageTable { table, mapping: None });
            return Ok(Answer::default());
        }
        Cap::GivenTable { .. } => return Err(Error::AlreadyMapped.into()),
        _ => return Err(Error::IllegalOperation.into()),
    };
    match method {
        Method::PageTableMap => {
            let space = vspace::argument(k, arguments.cap_slot(0)?, 0)?;
            let map = decode_map(k, mapping, space, VirtAddr(arguments.word(0)))?;
            let below = map.place.level.below();
            let nothing = Entry::nothing(below, vspace::half(k, space));
            if nothing != Entry::EMPTY {
                k.get(table).fill(nothing);
            }
            k.get(map.place.table).set_entry(map.place.index, Entry::table(table));
            stock::recount(k, space, map.place.level, map.mapping.address, 1, 0);
            // Nothing becomes stale: what was cached as missing is as invalid in the empty table.
            k.get(target.slot).set_cap(Cap::PageTable { table, mapping: Some(map.mapping) });
        }
        Method::PageTableUnmap => {
            if mapping.is_none() {
                return Err(Error::NotMapped.into());
            }
            finalise(k, table, mapping);
            k.machine.clear(table.address(), size_of::<PageTable>() as u64);
            k.get(target.slot).set_cap(Cap::PageTable { table, mapping: None });
        }
        _ => return Err(Error::IllegalOperation.into()),
    }
    Ok(Answer::default())
}

/// Checks a Map: the space is usable, a table is missing for the address, and this one is free to be it.
fn decode_map<M: Machine>(
    k: &Kernel<M>,
    mapping: Option<Mapping>,
    space: Ref<VSpace>,
    address: VirtAddr,
) -> Result<Map, Failure> {
    if mapping.is_some() {
        return Err(Error::AlreadyMapped.into());
    }
    vspace::check_address(k, space, address, 1)?;
    let asid = vspace::identifier(k, space, 0)?;
    match walk(k, vspace::root(space), address, Level::Last) {
        Err(Stop::Missing(place)) => {
            let first = VirtAddr(address.0 & !(place.level.bytes() - 1));
            Ok(Map { place, mapping: Mapping { asid, address: first } })
        }
        Ok(_) | Err(Stop::Leaf(_)) => Err(Failure::about(Error::AlreadyMapped, 1, 0)),
    }
}

/// Takes the table out of the space that its record names, if it is there.
///
/// The table keeps its entries: Unmap clears them, and a deleted table's memory is cleared with its
/// Untyped. What was mapped through it keeps records that find nothing from now on.
pub fn finalise<M: Machine>(k: &mut Kernel<M>, table: Ref<PageTable>, mapping: Option<Mapping>) {
    let Some(mapping) = mapping else { return };
    let Some(space) = asid::space_of(k, &mapping) else { return };
    let Some(place) = find(k, vspace::root(space), table, mapping.address) else { return };
    k.get(place.table).set_entry(place.index, Entry::EMPTY);
    stock::recount(k, space, place.level, mapping.address, 0, 1);
    let mut stale = Stale::default();
    stale.note_everything();
    stale.flush(k, space);
}

/// The entry that leads to `table` on the way to `address`.
fn find<M: Machine>(
    k: &Kernel<M>,
    root: Ref<PageTable>,
    table: Ref<PageTable>,
    address: VirtAddr,
) -> Option<Place> {
    [Level::Root, Level::Middle].into_iter().find_map(|level| {
        let place = walk(k, root, address, level).ok()?;
        let found = k.get(place.table).entry(place.index).content(level);
        (found == Content::Table(table)).then_some(place)
    })
}
