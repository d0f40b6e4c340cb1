//! Windows and MapMany (C-41): many pages in one call, from Frames that are bound to the space, with tables
//! that were given to it beforehand.

use abi::mapping::{Access, MAX_ENTRIES, MapEntry};
use abi::{Error, ObjectType, PAGE_BITS, PAGE_BYTES, Rights};
use runtime::mapping::{give_tables, map_list, map_one};
use runtime::memory::{DEPTH, retype};
use runtime::message::Buffer;
use runtime::stubs::{Frame, PageTable, VSpace};
use runtime::{CPtr, InvocationError};

use super::mapping::is_mapped;
use super::stories;
use crate::kit::failure::{Outcome, equal, holds, refused};
use crate::kit::stage::{CNODE, HERE, Stage};
use crate::kit::word::Word;

stories! {
    a_window_shows_its_pages,
    a_list_maps_pages_in_any_order,
    a_page_that_comes_beside_another_is_seen_at_once,
    protecting_takes_effect_at_once,
    the_stock_gives_and_gets_back,
    a_revoked_window_is_gone_from_both_spaces,
    a_deleted_space_gives_its_tables_back,
    hostile_entries_do_no_harm,
}

/// A page 256 GiB from all that is mapped by capabilities, since the stock builds below the root; its address.
const PAGE: u64 = 0x100_0000;
const ADDRESS: u64 = PAGE * PAGE_BYTES;
/// Pages of a window, as bits.
const WINDOW_BITS: u8 = 6;

/// Tables in consecutive slots.
fn tables(stage: &mut Stage, bits: u8) -> Result<CPtr, InvocationError> {
    let untyped = stage.memory.take_untyped(PAGE_BITS + bits)?;
    let first = stage.memory.slots.take_run(1 << bits)?;
    retype(CNODE, untyped, ObjectType::PageTable, PAGE_BITS, first, 1 << bits)?;
    Ok(first)
}

/// Gives a space 2^`bits` tables and a window 0; its Frame.
fn furnish(stage: &mut Stage, space: VSpace, bits: u8) -> Result<Frame, InvocationError> {
    let first = tables(stage, bits)?;
    give_tables(space, CNODE, first.0, DEPTH, 1 << bits)?;
    let frame = Frame(stage.memory.make(ObjectType::Frame, PAGE_BITS + WINDOW_BITS)?);
    space.bind_window(frame, 0)?;
    Ok(frame)
}

const fn map(page: u64, count: u16, access: Access, window_page: u64) -> MapEntry {
    MapEntry::map(page, count, access, 0, window_page)
}

fn word(page: u64) -> Word {
    Word::at(ADDRESS + page * PAGE_BYTES + 40)
}

fn a_window_shows_its_pages(stage: &mut Stage) -> Outcome {
    furnish(stage, HERE, 2)?;
    map_one(HERE, map(PAGE, 64, Access::READ_WRITE, 0))?;
    for page in 0..64 {
        word(page).set(page + 1);
    }
    // The same pages again, in another order and in another table.
    map_one(HERE, map(PAGE + 2048, 32, Access::READ, 32))?;
    map_one(HERE, map(PAGE + 2048 + 32, 32, Access::READ, 0))?;
    for page in 0..64 {
        equal("a page's word", word(2048 + page).get(), (page + 32) % 64 + 1)?;
    }
    map_one(HERE, MapEntry::unmap(PAGE, 4096))?;
    for page in [0, 1, 63, 2048, 2048 + 63] {
        holds("gone", !is_mapped(stage, HERE, ADDRESS + page * PAGE_BYTES)?)?;
    }
    Ok(())
}

fn a_list_maps_pages_in_any_order(stage: &mut Stage) -> Outcome {
    furnish(stage, HERE, 3)?;
    let place = |index: u64| (index * 37) % 80 + (index % 3) * 2048;
    let mut entries = heapless::Vec::<MapEntry, 128>::new();
    for index in 0..64 {
        let _ = entries.push(map(PAGE + place(index), 1, Access::READ_WRITE, index));
    }
    map_list(HERE, &entries)?;
    for index in 0..64 {
        word(place(index)).set(index);
    }
    // More than one call takes, and the last one first.
    entries.clear();
    for index in (0..64).rev() {
        let _ = entries.push(MapEntry::unmap(PAGE + place(index), 1));
        let _ = entries.push(map(PAGE + place(index), 1, Access::READ, 63 - index));
    }
    map_list(HERE, &entries)?;
    for index in 0..64 {
        equal("the page behind it now", word(place(index)).get(), 63 - index)?;
    }
    map_one(HERE, MapEntry::unmap(PAGE, 6144))?;
    holds("gone", !is_mapped(stage, HERE, ADDRESS)?)
}

fn a_page_that_comes_beside_another_is_seen_at_once(stage: &mut Stage) -> Outcome {
    furnish(stage, HERE, 1)?;
    for round in 0..100 {
        map_one(HERE, map(PAGE, 1, Access::READ_WRITE, 0))?;
        word(0).set(round);
        map_one(HERE, map(PAGE + 1, 1, Access::READ_WRITE, 1))?;
        word(1).set(!round);
        map_one(HERE, MapEntry::unmap(PAGE, 1))?;
        equal("odd alone", word(1).get(), !round)?;
        map_one(HERE, map(PAGE, 1, Access::READ_WRITE, 1))?;
        equal("both the same", word(0).get(), !round)?;
        map_one(HERE, map(PAGE, 1, Access::READ, 0))?;
        equal("replaced", word(0).get(), round)?;
        map_one(HERE, MapEntry::unmap(PAGE, 2))?;
    }
    Ok(())
}

fn protecting_takes_effect_at_once(stage: &mut Stage) -> Outcome {
    furnish(stage, HERE, 1)?;
    map_one(HERE, map(PAGE, 40, Access::READ_WRITE, 0))?;
    for (from, count) in [(3, 1), (0, 40)] {
        word(from).set(7);
        map_one(HERE, MapEntry::protect(PAGE + from, count, Access::READ, 0))?;
        equal("still there", word(from).get(), 7)?;
        holds("not to be written", !is_writable(stage, ADDRESS + from * PAGE_BYTES)?)?;
        map_one(HERE, MapEntry::protect(PAGE + from, count, Access::READ_WRITE, 0))?;
        word(from).set(8);
    }
    let copy = Frame(stage.memory.make(ObjectType::Frame, PAGE_BITS)?);
    let read_only = Frame(stage.memory.copy(copy.0, Rights::READ)?);
    HERE.bind_window(read_only, 1)?;
    let entry = MapEntry::map(PAGE, 1, Access::READ_WRITE, 1, 0);
    refused("more than the window may", map_one(HERE, entry), Error::MissingRight)
}

/// Whether a word can be written: see [`is_mapped`].
fn is_writable(stage: &mut Stage, address: u64) -> Result<bool, crate::kit::failure::Failure> {
    super::mapping::is_accessible(stage, HERE, super::mapping::write, address)
}

fn the_stock_gives_and_gets_back(stage: &mut Stage) -> Outcome {
    let first = tables(stage, 2)?;
    let frame = Frame(stage.memory.make(ObjectType::Frame, PAGE_BITS)?);
    HERE.bind_window(frame, 0)?;
    let entry = map(PAGE, 1, Access::READ, 0);
    refused("no stock", map_one(HERE, entry), Error::NeedTable)?;
    give_tables(HERE, CNODE, first.0, DEPTH, 1)?;
    refused("two are needed", map_one(HERE, entry), Error::NeedTable)?;
    give_tables(HERE, CNODE, first.0 + 1, DEPTH, 1)?;
    refused("given already", give_tables(HERE, CNODE, first.0, DEPTH, 1), Error::AlreadyMapped)?;
    refused("nobody's to map", PageTable(first).map(HERE, 0x70_0000_0000), Error::AlreadyMapped)?;
    for _ in 0..50 {
        map_one(HERE, entry)?;
        refused("in use", PageTable(first).unmap(), Error::InvalidState)?;
        map_one(HERE, MapEntry::unmap(PAGE, 1))?;
    }
    PageTable(first).unmap()?;
    PageTable(CPtr(first.0 + 1)).unmap()?;
    refused("the stock is empty", map_one(HERE, entry), Error::NeedTable)?;
    give_tables(HERE, CNODE, first.0, DEPTH, 4)?;
    map_one(HERE, entry)?;
    // A table in use cannot be taken out alone: the stock goes with it.
    for table in first.0..first.0 + 4 {
        stage.memory.delete(CPtr(table))?;
    }
    holds("gone with its tables", !is_mapped(stage, HERE, ADDRESS)?)
}

fn a_revoked_window_is_gone_from_both_spaces(stage: &mut Stage) -> Outcome {
    let there = stage.there()?;
    furnish(stage, there, 3)?;
    let frame = furnish(stage, HERE, 3)?;
    there.bind_window(frame, 3)?;
    for round in 0..20 {
        map_one(HERE, map(PAGE + round * 100, 64, Access::READ_WRITE, 0))?;
        map_one(there, MapEntry::map(PAGE + 7, 2, Access::READ, 3, round))?;
        Word::at(ADDRESS + round * 100 * PAGE_BYTES).set(round);
        holds("mapped there", is_mapped(stage, there, ADDRESS + 7 * PAGE_BYTES)?)?;
        CNODE.revoke(frame.0.0, DEPTH)?;
        holds("gone here", !is_mapped(stage, HERE, ADDRESS + round * 100 * PAGE_BYTES)?)?;
        holds("gone there", !is_mapped(stage, there, ADDRESS + 7 * PAGE_BYTES)?)?;
        refused("not bound", map_one(HERE, map(PAGE, 1, Access::READ, 0)), Error::NotBound)?;
        HERE.bind_window(frame, 0)?;
        there.bind_window(frame, 3)?;
    }
    Ok(())
}

fn a_deleted_space_gives_its_tables_back(stage: &mut Stage) -> Outcome {
    let first = tables(stage, 3)?;
    let frame = Frame(stage.memory.make(ObjectType::Frame, PAGE_BITS + WINDOW_BITS)?);
    for _ in 0..20 {
        let there = stage.there()?;
        give_tables(there, CNODE, first.0, DEPTH, 8)?;
        there.bind_window(frame, 0)?;
        map_one(there, map(PAGE, 64, Access::READ_WRITE, 0))?;
        map_one(there, map(PAGE * 3, 64, Access::READ_WRITE, 0))?;
        holds("mapped there", is_mapped(stage, there, ADDRESS)?)?;
        // The threads that looked have capabilities of it.
        CNODE.revoke(there.0.0, DEPTH)?;
        stage.memory.delete(there.0)?;
        for table in first.0..first.0 + 8 {
            PageTable(CPtr(table)).unmap()?;
        }
    }
    Ok(())
}

fn hostile_entries_do_no_harm(stage: &mut Stage) -> Outcome {
    let there = stage.there()?;
    let frame = furnish(stage, there, 3)?;
    let mut random = Random(0xb1c1_5eed);
    let mut right = 0;
    for _ in 0..2000 {
        let Some(list) = Buffer::of_thread() else { return refused("a buffer", Ok(()), Error::NoIpcBuffer) };
        for index in 0..MAX_ENTRIES {
            list.set_map_entry(index, random.entry());
        }
        right += u64::from(there.map_many(random.next() % 70, random.next(), random.next()).is_ok());
        if random.next().is_multiple_of(64) {
            CNODE.revoke(frame.0.0, DEPTH)?;
            there.bind_window(frame, u64::from(random.next().is_multiple_of(4)))?;
        }
    }
    holds("some were right, some not", (100..1900).contains(&right))?;
    // What they left behind can be unmapped, whatever it is.
    for table in 0..4 {
        map_one(there, MapEntry::unmap(PAGE + table * 2048, 2048))?;
    }
    let first = tables(stage, 0)?;
    map_one(there, map(PAGE, 1, Access::READ, 0)).or_else(|_| {
        there.bind_window(frame, 0)?;
        map_one(there, map(PAGE, 1, Access::READ, 0))
    })?;
    give_tables(there, CNODE, first.0, DEPTH, 1)?;
    PageTable(first).unmap()?;
    Ok(())
}

/// Numbers that look random (xorshift64*, Vigna 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 8
    }

    /// An entry that is more often right than not, so that lists come to something.
    fn entry(&mut self) -> MapEntry {
        let (page, count) = (self.next() % 5000, u16::try_from(self.next() % 70).unwrap_or(0));
        let access = if self.next().is_multiple_of(2) { Access::READ_WRITE } else { Access::READ };
        let window = u8::from(self.next().is_multiple_of(256));
        let page = PAGE + page;
        match self.next() % 512 {
            0 => MapEntry { first: self.next() << 8 | self.next() & 0xff, second: self.next() },
            1 => MapEntry::map(page, count, access, window, self.next()),
            2..200 => MapEntry::unmap(page, count),
            200..300 => MapEntry::protect(page, count, access, window),
            _ => MapEntry::map(page, count % 16, access, window, self.next() % 48),
        }
    }
}
