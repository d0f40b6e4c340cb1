//! The stock of a space: page tables given to it beforehand, that MapMany builds with (C-41).
//!
//! Free tables are a list through themselves: the first word of one leads to the next, the second to the
//! one before, and all others are zero. Both are invalid as entries, so that a walk that still holds the
//! table finds nothing there. A table in use is counted: the entry that leads to it has [`bit::STOCK`] and
//! how many of its own entries are filled, whoever fills and empties them ([`recount`]); with the last one
//! it returns to the list. A stock's tables lie below the root, or below other tables of the stock.
//!
//! Giving a table leaves its capability where it is and writes into it whose it is: the identifier of the
//! space, and the number of the stock, which no other ever has. From then on nobody maps it. It comes back
//!
//! - when the space is deleted, or its pool: the stock's number is gone, and Unmap clears the table;
//! - by Unmap while it is free in the stock;
//! - by Delete or Revoke. Of a table in use nobody knows where it is, so then the space loses the whole
//!   stock, and all that is mapped through it.
//!
//! [`bit::STOCK`]: super::translation::bit::STOCK

use core::cell::Cell;

use abi::Error;

use crate::address::VirtAddr;
use crate::arch::Machine;
use crate::capability::cap::{Cap, Slot};
use crate::capability::space as capability_space;
use crate::failure::Failure;
use crate::kernel::Kernel;
use crate::object::asid;
use crate::object::page_table::{ENTRIES, PageTable};
use crate::object::stale::Stale;
use crate::object::store::Ref;
use crate::object::translation::{Entry, Level, Place, Stop, walk};
use crate::object::vspace::{self, VSpace};
use crate::syscall::invoke::{Answer, Arguments};

/// Most tables that one call gives.
pub const MAX_GIVEN: u64 = 64;
/// Entries of a root that are looked at between two polls for interrupts (C-3).
const STEPS: u64 = 256;
/// Says in the first word of a free table that it is one: of an entry in use, either this bit is clear or
/// the one below it (V) is set.
const FREE: u64 = 2;
/// The bits of a link that are not the table's address.
const LINK_FLAGS: u64 = 3;
/// Where a free table's link to the next lies.
const NEXT: u64 = 0;
/// Where its link to the one before lies.
const PREVIOUS: u64 = 1;

/// A space's stock.
#[derive(Debug)]
#[repr(C)]
pub struct Stock {
    /// Its number among all that there ever were; 0 while the space has none.
    pub id: Cell<u64>,
    /// The first free table.
    pub first: Cell<Option<Ref<PageTable>>>,
    /// How many are free.
    pub free: Cell<u64>,
    /// Entries of the root that were looked through since the stock is being dissolved; 0 while it is not.
    pub dissolved: Cell<u64>,
}

/// Whether emptying entries took a table out of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tables {
    /// The same are there.
    Stay,
    /// One at least has returned to the stock.
    Returned,
}

/// GiveTables: entry by entry (C-2).
///
/// # Errors
///
/// As the method's row says; the argument is how many were given.
pub fn give<M: Machine>(
    k: &mut Kernel<M>,
    space: Ref<VSpace>,
    asid: u16,
    arguments: &Arguments,
) -> Result<Answer, Failure> {
    let root = k.get(arguments.cap_slot(0)?).cap();
    let (index, depth, count) = (arguments.word(0), arguments.word(1), arguments.word(2));
    if count > MAX_GIVEN {
        return Err(Failure::about(Error::RangeError, 0, MAX_GIVEN));
    }
    let mut given = 0;
    while given < count && (given == 0 || !k.machine.preemption_pending()) {
        let slot = capability_space::lookup_slot(k, &root, index.wrapping_add(given), depth);
        let slot = slot.map_err(|failure| failure.of_argument(given))?;
        let table = free_to_give(k, slot).map_err(|error| Failure::about(error, given, 0))?;
        give_one(k, space, asid, table, slot);
        given += 1;
    }
    Ok(Answer::word(given))
}

fn free_to_give<M: Machine>(k: &Kernel<M>, slot: Ref<Slot>) -> Result<Ref<PageTable>, Error> {
    match k.get(slot).cap() {
        Cap::PageTable { table, mapping: None } => Ok(table),
        Cap::PageTable { .. } | Cap::GivenTable { .. } => Err(Error::AlreadyMapped),
        _ => Err(Error::InvalidCapability),
    }
}

fn give_one<M: Machine>(
    k: &mut Kernel<M>,
    space: Ref<VSpace>,
    asid: u16,
    table: Ref<PageTable>,
    slot: Ref<Slot>,
) {
    if k.get(space).stock.id.get() == 0 {
        k.asids.stocks += 1;
        k.get(space).stock.id.set(k.asids.stocks);
    }
    put(k, space, table);
    let stock = k.get(space).stock.id.get();
    k.get(slot).set_cap(Cap::GivenTable { table, asid, stock });
}

/// Puts a table that is all zero into the list.
fn put<M: Machine>(k: &Kernel<M>, space: Ref<VSpace>, table: Ref<PageTable>) {
    let stock = &k.get(space).stock;
    let next = stock.first.replace(Some(table));
    link(k, table, NEXT, next);
    link(k, table, PREVIOUS, None);
    if let Some(next) = next {
        link(k, next, PREVIOUS, Some(table));
    }
    stock.free.set(stock.free.get() + 1);
}

/// Takes a free table out of the list; it is all zero again.
fn unlink<M: Machine>(k: &Kernel<M>, space: Ref<VSpace>, table: Ref<PageTable>) {
    let (next, previous) = (linked(k, table, NEXT), linked(k, table, PREVIOUS));
    match previous {
        Some(previous) => link(k, previous, NEXT, next),
        None => k.get(space).stock.first.set(next),
    }
    if let Some(next) = next {
        link(k, next, PREVIOUS, previous);
    }
    for index in [NEXT, PREVIOUS] {
        k.get(table).set_entry(index, Entry::EMPTY);
    }
    let free = &k.get(space).stock.free;
    free.set(free.get().saturating_sub(1));
}

fn link<M: Machine>(k: &Kernel<M>, table: Ref<PageTable>, index: u64, to: Option<Ref<PageTable>>) {
    k.get(table).set_entry(index, Entry(to.map_or(0, Ref::raw) | FREE));
}

fn linked<M: Machine>(k: &Kernel<M>, table: Ref<PageTable>, index: u64) -> Option<Ref<PageTable>> {
    Ref::from_raw(k.get(table).entry(index).0 & !LINK_FLAGS)
}

fn is_free<M: Machine>(k: &Kernel<M>, table: Ref<PageTable>) -> bool {
    k.get(table).entry(NEXT).0 & LINK_FLAGS == FREE
}

/// Puts the tables that are missing on the way to `address` where they belong.
///
/// # Errors
///
/// `NeedTable`: the stock has too few; `NoPageTable`: below a table that was mapped by its capability, one is
/// mapped like that too; nothing was changed.
pub fn provide<M: Machine>(k: &Kernel<M>, space: Ref<VSpace>, address: VirtAddr) -> Result<(), Error> {
    let missing = match walk(k, vspace::root(space), address, Level::Last) {
        Err(Stop::Missing(place)) => place,
        Ok(_) => return Ok(()),
        Err(Stop::Leaf(_)) => return Err(Error::AlreadyMapped),
    };
    if missing.level == Level::Middle && !parent(k, space, address).is_stock() {
        return Err(Error::NoPageTable);
    }
    let needed = if missing.level == Level::Root { 2 } else { 1 };
    let stock = &k.get(space).stock;
    if stock.free.get() < needed || stock.dissolved.get() != 0 {
        return Err(Error::NeedTable);
    }
    let below = build(k, space, missing);
    if let Some(table) = below.filter(|_| missing.level == Level::Root) {
        build(k, space, Place { table, index: Level::Middle.index(address), level: Level::Middle });
    }
    recount(k, space, Level::Middle, address, 1, 0);
    Ok(())
}

/// The root's entry on the way to `address`.
fn parent<M: Machine>(k: &Kernel<M>, space: Ref<VSpace>, address: VirtAddr) -> Entry {
    k.get(vspace::root(space)).entry(Level::Root.index(address))
}

/// Lets an empty entry lead to the first free table.
fn build<M: Machine>(k: &Kernel<M>, space: Ref<VSpace>, place: Place) -> Option<Ref<PageTable>> {
    let table = k.get(space).stock.first.get()?;
    unlink(k, space, table);
    k.get(place.table).set_entry(place.index, Entry::stock_table(table));
    Some(table)
}

/// Entries of the table on `level` on the way to `address` were filled or emptied: keeps the stock's count of
/// them, and takes the table back when none is filled.
pub fn recount<M: Machine>(
    k: &Kernel<M>,
    space: Ref<VSpace>,
    level: Level,
    address: VirtAddr,
    filled: u64,
    emptied: u64,
) -> Tables {
    let (above, further) = match level {
        // The root is nobody's to give.
        Level::Root => return Tables::Stay,
        Level::Middle => (Level::Root, None),
        Level::Last => (Level::Middle, Some(Level::Middle)),
    };
    let Ok(place) = walk(k, vspace::root(space), address, above) else { return Tables::Stay };
    let entry = k.get(place.table).entry(place.index);
    if !entry.is_stock() {
        return Tables::Stay;
    }
    let now = entry.recounted(filled, emptied);
    if now.filled() != 0 {
        k.get(place.table).set_entry(place.index, now);
        return Tables::Stay;
    }
    k.get(place.table).set_entry(place.index, Entry::EMPTY);
    if let Some(table) = entry.next_table() {
        put(k, space, table);
    }
    if let Some(further) = further {
        recount(k, space, further, address, 0, 1);
    }
    Tables::Returned
}

/// The space that has this stock, if it still has it.
fn owner<M: Machine>(k: &Kernel<M>, asid: u16, stock: u64) -> Option<Ref<VSpace>> {
    asid::space(k, asid).filter(|space| k.get(*space).stock.id.get() == stock)
}

/// Takes a given table back from its stock, if it has any: it is all zero then.
///
/// # Errors
///
/// `InvalidState`: it is in use.
pub fn take_back<M: Machine>(
    k: &Kernel<M>,
    table: Ref<PageTable>,
    asid: u16,
    stock: u64,
) -> Result<(), Failure> {
    match owner(k, asid, stock) {
        Some(_) if !is_free(k, table) => return Err(Error::InvalidState.into()),
        Some(space) => unlink(k, space, table),
        None => k.machine.clear(table.address(), size_of::<PageTable>() as u64),
    }
    Ok(())
}

/// Ends a given table with its capability.
///
/// # Errors
///
/// Preempted: the stock is still there in part.
pub fn finalise_table<M: Machine>(
    k: &mut Kernel<M>,
    table: Ref<PageTable>,
    asid: u16,
    stock: u64,
) -> Result<(), Failure> {
    match owner(k, asid, stock) {
        None => Ok(()),
        Some(space) if is_free(k, table) => {
            unlink(k, space, table);
            Ok(())
        }
        Some(space) => dissolve(k, space),
    }
}

/// Ends a stock: no walk finds any of its tables from now on, and none of their capabilities the space.
/// Meanwhile nothing is built with it.
fn dissolve<M: Machine>(k: &mut Kernel<M>, space: Ref<VSpace>) -> Result<(), Failure> {
    let stock = &k.get(space).stock;
    let root = k.get(vspace::root(space));
    let mut result = Ok(());
    while result.is_ok() && stock.dissolved.get() < ENTRIES as u64 {
        let first = stock.dissolved.get();
        for entry in root.range(first, STEPS).iter().filter(|entry| Entry(entry.get()).is_stock()) {
            entry.set(0);
        }
        stock.dissolved.set(first + STEPS);
        if k.machine.preemption_pending() {
            result = Err(Failure::Preempted);
        }
    }
    if result.is_ok() {
        for word in [&stock.id, &stock.free, &stock.dissolved] {
            word.set(0);
        }
        stock.first.set(None);
    }
    let mut stale = Stale::default();
    stale.note_everything();
    stale.flush(k, space);
    result
}
