//! Spaces and contexts: pages of windows seen from a space, where the host reaches them as a program's memory.

use abi::context::CONTEXT_BITS;
use abi::mapping::{Access, MapEntry};
use abi::server::slot;
use abi::upper::CONTEXTS;
use abi::{CPtr, PAGE_BYTES};
use runtime::host::{calls, copy};
use runtime::mapping::{give_tables, map_one};
use runtime::memory::DEPTH;
use runtime::stubs::{CNode, Host, PageTable, VSpace};

use crate::checks::Given;
use crate::failure::{Failure, equal, holds};
use crate::word::Word;

/// Where a space shows pages: two tables lead there.
const SHOWN: u64 = 0x1_4000_0000;
/// Tables for one place of a space.
const TABLES: u64 = 2;

impl Given {
    fn host(&self) -> Host {
        Host(CPtr(self.info.host_slot))
    }

    fn space(&self, number: u64) -> VSpace {
        VSpace(CPtr(self.info.spaces.start + number))
    }

    fn spaces(&self) -> u64 {
        self.info.spaces.end - self.info.spaces.start
    }
}

/// Makes a space current with two tables at hand, lets `look` use it, and takes the tables back.
fn visit(
    given: &Given,
    (space, context): (VSpace, u64),
    look: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let first = given.info.tables.start;
    give_tables(space, CNode(CPtr(slot::CNODE)), first, DEPTH, TABLES)?;
    given.host().set_space(space, context)?;
    calls::switch(context)?;
    look()?;
    for table in first..first + TABLES {
        PageTable(CPtr(table)).unmap()?;
    }
    Ok(())
}

/// Shows the first and the last page of each window in a space.
fn look_at_windows(given: &Given, space: VSpace) -> Result<(), Failure> {
    for (window, number) in given.windows().iter().zip(0_u8..) {
        for (page, place) in [(0, SHOWN), (window.bytes / PAGE_BYTES - 1, SHOWN + PAGE_BYTES)] {
            let entry = MapEntry::map(place / PAGE_BYTES, 1, Access::READ_WRITE, number, page);
            map_one(space, entry)?;
            let word = Word::at(window.address + page * PAGE_BYTES);
            word.set(place ^ u64::from(number));
            equal(
                "a word seen from the space",
                load(place)?,
                (place ^ u64::from(number)) & u64::from(u32::MAX),
            )?;
            clear(place)?;
            equal("a word that the space has changed", word.get(), 0)?;
            map_one(space, MapEntry::unmap(place / PAGE_BYTES, 1))?;
        }
    }
    Ok(())
}

pub(crate) fn show_windows(given: &Given) -> Result<(), Failure> {
    for number in 0..given.spaces() {
        let space = given.space(number);
        visit(given, (space, 1), || look_at_windows(given, space))?;
    }
    Ok(())
}

/// The same for the last of both; the last context's memory is there too.
pub(crate) fn last(given: &Given) -> Result<(), Failure> {
    let (space, context) = (given.space(given.spaces() - 1), given.info.contexts - 1);
    let memory = Word::at(CONTEXTS + (context << CONTEXT_BITS));
    equal("the last context's first word", memory.get(), 0)?;
    memory.set(1);
    visit(given, (space, context), || look_at_windows(given, space))
}

pub(crate) fn hole(given: &Given) -> Result<(), Failure> {
    visit(given, (given.space(0), 1), || holds("nothing can be read there", load(SHOWN).is_err()))
}

#[expect(unsafe_code, reason = "the routines for a program's memory")]
fn load(address: u64) -> Result<u64, Failure> {
    // SAFETY: a constant of the lower half, aligned.
    unsafe { copy::load_word(address) }.map_err(|_| Failure::new(format_args!("{address:#x} is not there")))
}

#[expect(unsafe_code, reason = "the routines for a program's memory")]
fn clear(address: u64) -> Result<(), Failure> {
    // SAFETY: a constant of the lower half.
    unsafe { copy::zero(address, 8) }.map_err(|_| Failure::new(format_args!("{address:#x} is not there")))
}
