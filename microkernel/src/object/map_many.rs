//! `VSpace.MapMany`: maps, protects and unmaps runs of pages of windows (C-41).
//!
//! A list is worked off entry by entry, each word read once (C-5), until one cannot be done, or an interrupt
//! is pending. Either way the answer's first word says how many entries were done, the second how many
//! pages of the next (C-2). Nothing is undone.
//!
//! Pages are mapped by leaves of 16 KiB. A large leaf, which a Frame's own Map made, is in the way of all
//! three operations. What else a run meets it replaces, changes or removes, and passes over what is not there.
//!
//! What is done for each page and for each entry is counted (BUDGETS): it only loads, stores and adds up. What
//! is done once a table ([`reach`]) or once a window is kept out of the way.

mod reach;

use core::cell::Cell;

use abi::mapping::{MAX_ENTRIES, MapEntry, Operation};
use abi::message::LIST_OFFSET;
use abi::{Error, LOWER_HALF_END, PAGE_BYTES};

use self::reach::{Hand, Missing};
use crate::address::{VirtAddr, WindowAddr};
use crate::arch::Machine;
use crate::failure::Failure;
use crate::kernel::Kernel;
use crate::object::page_table::{ENTRIES, PageTable};
use crate::object::stale::{self, Stale};
use crate::object::store::Ref;
use crate::object::thread::Tcb;
use crate::object::translation::Entry;
use crate::object::vspace::{self, VSpace};
use crate::object::window::Window;
use crate::syscall::invoke::{Answer, Arguments};

/// First page number that is not in the lower half.
const END: u64 = LOWER_HALF_END / PAGE_BYTES;
/// Pages that one table translates.
const TABLE: u64 = ENTRIES as u64;
/// Most entries of a table that one loop goes over.
const CHUNK: u64 = 128;
/// Steps between two polls for interrupts (C-3): a page of a run is one.
const STEPS: u64 = 256;
/// The number of no window.
const NO_WINDOW: u64 = u64::MAX;
/// Bytes of an entry.
const ENTRY_BYTES: u64 = size_of::<MapEntry>() as u64;
/// Entries of which so many change more pairs than are flushed one by one (C-42), unless they say something twice.
const CERTAINLY_MANY: u64 = 2 * stale::MAX_PAIRS as u64;
/// Entries of a list between two polls, beside those that long runs make.
const POLLED: u64 = 8;

/// Decodes and invokes MapMany for `thread`.
///
/// # Errors
///
/// As the method's row says; argument and detail are entries done and pages of the next.
#[inline(never)]
pub fn invoke<M: Machine>(
    k: &mut Kernel<M>,
    thread: Ref<Tcb>,
    space: Ref<VSpace>,
    arguments: &Arguments,
) -> Result<Answer, Failure> {
    let count = arguments.word(0);
    if count > MAX_ENTRIES as u64 {
        return Err(Failure::about(Error::RangeError, 0, 0));
    }
    let buffer = k.get(thread).ipc_buffer.get();
    if count != 0 && buffer == 0 {
        return Err(Error::NoIpcBuffer.into());
    }
    let mut stale = Stale::default();
    let mut batch = Batch::new(k, space, &mut stale);
    let ended = match count {
        0 => batch
            .one(MapEntry { first: arguments.word(1), second: arguments.word(2) })
            .map(|()| 1)
            .map_err(|end| (end, 0)),
        _ => batch.list(WindowAddr(buffer).offset(LIST_OFFSET as u64), count),
    };
    batch.put_down();
    let pages = batch.pages;
    stale.flush(k, space);
    match ended {
        Ok(entries) => Ok(Answer::from_iter([entries, 0])),
        Err((End::Interrupt, entries)) => Ok(Answer::from_iter([entries, pages])),
        Err((End::Error(error), entries)) => Err(Failure::about(error, entries, pages)),
    }
}

/// Why a list was not worked off to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// An interrupt is pending.
    Interrupt,
    /// An entry cannot be done.
    Error(Error),
}

impl From<Error> for End {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// A call that is being worked off. What each entry needs lies first.
#[repr(C)]
struct Batch<'k, M: Machine> {
    /// The table that was worked in last.
    hand: Hand<'k>,
    /// The number of the window that was read last.
    number: u64,
    window: Window,
    stale: &'k mut Stale,
    k: &'k Kernel<M>,
    root: &'k PageTable,
    space: Ref<VSpace>,
    /// Pages that are done of an entry that is not.
    pages: u64,
    /// Steps since interrupts were polled for.
    steps: u64,
}

/// What is done to each page of a run, decoded.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// The leaf of the first; each that follows leads one page further on.
    Map(Entry),
    /// What leads into the window in hand gets the access of this leaf.
    Protect(Entry),
    Unmap,
}

impl<'k, M: Machine> Batch<'k, M> {
    #[inline(always)]
    fn new(k: &'k Kernel<M>, space: Ref<VSpace>, stale: &'k mut Stale) -> Self {
        Self {
            hand: Hand::nothing(k, space),
            number: NO_WINDOW,
            window: Window::NOTHING,
            stale,
            k,
            root: k.get(vspace::root(space)),
            space,
            pages: 0,
            steps: 0,
        }
    }

    /// Carries out the entries of a list; answers how many, also with what ended it before.
    #[inline(never)]
    fn list(&mut self, list: WindowAddr, count: u64) -> Result<u64, (End, u64)> {
        if count > CERTAINLY_MANY {
            self.stale.note_everything();
        }
        let end = list.offset(count * ENTRY_BYTES);
        let done = |place: WindowAddr| (place.0 - list.0) / ENTRY_BYTES;
        let mut place = list;
        loop {
            let poll_at = end.min(place.offset(POLLED * ENTRY_BYTES));
            while place != poll_at {
                let (first, second) = (self.k.machine.load(place), self.k.machine.load(place.offset(8)));
                self.listed(MapEntry { first, second }).map_err(|end| (end, done(place)))?;
                place = place.offset(ENTRY_BYTES);
            }
            if place == end {
                return Ok(count);
            }
            self.poll().map_err(|end| (end, done(place)))?;
        }
    }

    #[inline(always)]
    fn listed(&mut self, entry: MapEntry) -> Result<(), End> {
        if entry.maps_one_page() {
            self.map_page(entry)
        } else if entry.unmaps_one_page() {
            self.unmap_page(entry)
        } else {
            self.one(entry)
        }
    }

    /// Map of one page.
    #[inline(always)]
    fn map_page(&mut self, entry: MapEntry) -> Result<(), End> {
        self.take_window(entry.window())?;
        let leaf = self.window.leaf(entry.window_page(), 1, entry.access())?;
        if self.hand.number != entry.page() / TABLE {
            self.reach(entry.page(), Missing::Build)?;
        }
        let old = self.hand.entry(entry.page()).replace(leaf.0);
        self.hand.filled = self.hand.filled.wrapping_add(u64::from(old == 0));
        if old != leaf.0 {
            self.stale.note_page(address(entry.page()));
        }
        Ok(())
    }

    /// Unmap of one page.
    #[inline(always)]
    fn unmap_page(&mut self, entry: MapEntry) -> Result<(), End> {
        if self.hand.number != entry.page() / TABLE && self.reach(entry.page(), Missing::PassOver)? != 0 {
            return Ok(());
        }
        let old = self.hand.entry(entry.page()).take();
        if old != 0 {
            self.hand.filled = self.hand.filled.wrapping_sub(1);
            self.stale.note_page(address(entry.page()));
        }
        Ok(())
    }

    /// Carries out any entry.
    #[inline(never)]
    fn one(&mut self, entry: MapEntry) -> Result<(), End> {
        let change = self.decode(entry)?;
        while self.pages < entry.count() {
            if self.steps >= STEPS {
                self.poll()?;
            }
            let (page, left) = (entry.page() + self.pages, entry.count() - self.pages);
            self.pages += self.chunk(change, page, left)?;
        }
        self.pages = 0;
        Ok(())
    }

    fn decode(&mut self, entry: MapEntry) -> Result<Change, Error> {
        let Some(operation) = entry.operation() else { return Err(Error::InvalidArgument) };
        if entry.page() + entry.count() > END {
            return Err(Error::RangeError);
        }
        Ok(match operation {
            Operation::Map => {
                self.take_window(entry.window())?;
                Change::Map(self.window.leaf(entry.window_page(), entry.count(), entry.access())?)
            }
            Operation::Protect => {
                self.take_window(entry.window())?;
                Change::Protect(self.window.leaf(0, 0, entry.access())?)
            }
            Operation::Unmap => Change::Unmap,
        })
    }

    #[inline(always)]
    fn take_window(&mut self, number: u64) -> Result<(), Error> {
        if self.number == number { Ok(()) } else { self.read_window(number) }
    }

    #[inline(never)]
    fn read_window(&mut self, number: u64) -> Result<(), Error> {
        // Until it is read it is no window.
        self.number = NO_WINDOW;
        self.window.read(self.k, self.space, number)?;
        self.number = number;
        Ok(())
    }

    #[inline(never)]
    fn poll(&mut self) -> Result<(), End> {
        self.steps = 0;
        if self.k.machine.preemption_pending() { Err(End::Interrupt) } else { Ok(()) }
    }

    /// Does what it can of `left` pages from `page` on in one table; answers how many these were.
    fn chunk(&mut self, change: Change, page: u64, left: u64) -> Result<u64, Error> {
        if self.hand.number != page / TABLE {
            let missing = if matches!(change, Change::Map(_)) { Missing::Build } else { Missing::PassOver };
            let gap = self.reach(page, missing)?;
            if gap != 0 {
                return Ok(gap.min(left));
            }
        }
        let index = page % TABLE;
        let count = left.min(CHUNK).min(TABLE - index);
        let entries = self.hand.table.range(index, count);
        let (filled, changed) = match change {
            Change::Map(first) => map(entries, first.0 + self.pages * PAGE_BYTES),
            Change::Unmap => unmap(entries),
            Change::Protect(leaf) => protect(entries, &self.window, leaf),
        };
        self.hand.filled = self.hand.filled.wrapping_add(filled);
        if changed != 0 {
            self.stale.note_pages(address(page), count);
        }
        self.steps += count;
        Ok(count)
    }
}

const fn address(page: u64) -> VirtAddr {
    VirtAddr(page * PAGE_BYTES)
}

/// Each loop answers how many entries it filled, and not 0 if some entry changed.
#[inline(always)]
fn map(entries: &[Cell<u64>], first: u64) -> (u64, u64) {
    let (mut leaf, mut filled, mut changed) = (first, 0, 0);
    for entry in entries {
        let old = entry.replace(leaf);
        filled += u64::from(old == 0);
        changed |= old ^ leaf;
        leaf += PAGE_BYTES;
    }
    (filled, changed)
}

#[inline(always)]
fn protect(entries: &[Cell<u64>], window: &Window, rights: Entry) -> (u64, u64) {
    let mut changed = 0;
    for entry in entries {
        let old = Entry(entry.get());
        if window.shows(old) {
            let new = old.with_access_of(rights);
            entry.set(new.0);
            changed |= old.0 ^ new.0;
        }
    }
    (0, changed)
}

#[inline(always)]
fn unmap(entries: &[Cell<u64>]) -> (u64, u64) {
    let (mut filled, mut changed) = (0_u64, 0);
    for entry in entries {
        let old = entry.take();
        filled = filled.wrapping_sub(u64::from(old != 0));
        changed |= old;
    }
    (filled, changed)
}
