//! From a page to the table that translates it: once for all entries that follow each other in one table.
//!
//! The table is held *in hand*, and what was filled and emptied in it meanwhile is added to the stock's count
//! when it is put down: before another is looked for, and at the end.

use core::cell::Cell;

use abi::{Error, PAGE_BYTES};

use super::{Batch, TABLE, address};
use crate::arch::Machine;
use crate::kernel::Kernel;
use crate::object::page_table::PageTable;
use crate::object::stock::{self, Tables};
use crate::object::store::Ref;
use crate::object::translation::{Entry, Level};
use crate::object::vspace::{self, VSpace};

/// The number of no table.
const NOWHERE: u64 = u64::MAX;
/// Steps that looking for a table is.
const REACH_STEPS: u64 = 8;

/// A table of the last level, in hand.
pub(super) struct Hand<'k> {
    /// Which: the number of its first page, by the pages of a table.
    pub(super) number: u64,
    pub(super) table: &'k PageTable,
    /// How many more of its entries are filled than when it was taken up, modulo 2^64.
    pub(super) filled: u64,
    /// The entry that leads to it.
    above: &'k Cell<u64>,
}

/// What is done about a table that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    Build,
    PassOver,
}

impl<'k> Hand<'k> {
    /// No table: one whose number is nobody's.
    pub(super) fn nothing<M: Machine>(k: &'k Kernel<M>, space: Ref<VSpace>) -> Self {
        let table = k.get(vspace::root(space));
        Self { number: NOWHERE, table, filled: 0, above: table.place(0) }
    }

    /// The entry of a page that the table translates.
    #[inline(always)]
    pub(super) fn entry(&self, page: u64) -> &'k Cell<u64> {
        self.table.place(page)
    }
}

impl<'k, M: Machine> Batch<'k, M> {
    /// Takes up the table that translates `page`; answers 0, or for how many pages there is none.
    ///
    /// The usual case calls nothing: the one in hand keeps some entry, and the other is there.
    #[inline(never)]
    pub(super) fn reach(&mut self, page: u64, missing: Missing) -> Result<u64, Error> {
        let before = Entry(self.hand.above.get());
        let now = before.recounted(self.hand.filled, 0);
        if !before.is_stock() || now.filled() == 0 {
            return self.reach_slowly(page, missing);
        }
        self.hand.above.set(now.0);
        self.hand.number = NOWHERE;
        self.hand.filled = 0;
        self.steps += REACH_STEPS;
        match self.find(page) {
            Ok(Ok(hand)) => {
                self.hand = hand;
                Ok(0)
            }
            _ => self.reach_slowly(page, missing),
        }
    }

    #[inline(never)]
    fn reach_slowly(&mut self, page: u64, missing: Missing) -> Result<u64, Error> {
        self.put_down();
        self.steps += REACH_STEPS;
        let mut found = self.find(page)?;
        if found.is_err() && missing == Missing::Build {
            stock::provide(self.k, self.space, address(page))?;
            found = self.find(page)?;
        }
        match found {
            Ok(hand) => {
                self.hand = hand;
                Ok(0)
            }
            Err(level) => Ok(gap(page, level)),
        }
    }

    /// The table that translates `page`, or on which level the way to it ends.
    #[inline(always)]
    fn find(&self, page: u64) -> Result<Result<Hand<'k>, Level>, Error> {
        let address = address(page);
        let root = Entry(self.root.place(Level::Root.index(address)).get());
        let Some(middle) = root.next_table() else { return Ok(Err(Level::Root)) };
        let above = self.k.get(middle).place(Level::Middle.index(address));
        let entry = Entry(above.get());
        if entry.is_large() {
            return Err(Error::AlreadyMapped);
        }
        let Some(last) = entry.next_table() else { return Ok(Err(Level::Middle)) };
        Ok(Ok(Hand { number: page / TABLE, table: self.k.get(last), filled: 0, above }))
    }

    /// Lays down the table in hand; an empty one of the stock returns there.
    #[inline(always)]
    pub(super) fn put_down(&mut self) {
        let entry = Entry(self.hand.above.get());
        if self.hand.filled != 0 && entry.is_stock() {
            let now = entry.recounted(self.hand.filled, 0);
            if now.filled() == 0 {
                self.give_back();
            } else {
                self.hand.above.set(now.0);
            }
        }
        self.hand.number = NOWHERE;
        self.hand.filled = 0;
    }

    #[inline(never)]
    fn give_back(&mut self) {
        let address = address(self.hand.number * TABLE);
        if stock::recount(self.k, self.space, Level::Last, address, self.hand.filled, 0) == Tables::Returned {
            self.stale.note_everything();
        }
    }
}

/// From `page` to the end of what an entry on this level covers.
const fn gap(page: u64, level: Level) -> u64 {
    let pages = level.bytes() / PAGE_BYTES;
    pages - page % pages
}
