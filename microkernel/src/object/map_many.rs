//! `VSpace.MapMany`: maps, protects and unmaps runs of pages of windows (C-41).
//!
//! A list is worked off entry by entry, each word read once (C-5), until one cannot be done, or an interrupt
//! is pending. Either way the answer's first word says how many entries were done, the second how many
//! pages of the next (C-2). Nothing is undone.
//!
//! Pages are mapped by leaves of 16 KiB. A large leaf, which a Frame's own Map made, is in the way of all
//! three operations. What else a run meets it replaces, changes or removes, and passes over what is not there.
//!
//! The three loops over a table's entries are what is counted (BUDGETS): they only load, store and add up.

use core::cell::Cell;

use abi::mapping::{MAX_ENTRIES, MapEntry, Operation};
use abi::message::LIST_OFFSET;
use abi::{Error, LOWER_HALF_END, PAGE_BYTES};

use crate::address::{VirtAddr, WindowAddr};
use crate::arch::Machine;
use crate::failure::Failure;
use crate::kernel::Kernel;
use crate::object::page_table::{ENTRIES, PageTable};
use crate::object::stale::Stale;
use crate::object::stock::{self, Tables};
use crate::object::store::Ref;
use crate::object::thread::Tcb;
use crate::object::translation::{Content, Entry, Level};
use crate::object::vspace::{self, VSpace};
use crate::object::window::Window;
use crate::syscall::invoke::{Answer, Arguments};

/// First page number that is not in the lower half.
const END: u64 = LOWER_HALF_END / PAGE_BYTES;
/// Most entries that one loop goes over.
const CHUNK: u64 = 128;
/// Pages between two polls for interrupts (C-3), where reaching a table counts as [`REACH`].
const STEPS: u64 = 256;
/// What finding a chunk's table costs, in pages.
const REACH: u64 = 8;

/// Decodes and invokes MapMany for `thread`.
///
/// # Errors
///
/// As the method's row says; argument and detail are entries done and pages of the next.
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
    let mut batch = Batch::new(space);
    let ended = if count == 0 {
        batch.one(k, MapEntry { first: arguments.word(1), second: arguments.word(2) })
    } else {
        batch.list(k, WindowAddr(buffer).offset(LIST_OFFSET as u64), count)
    };
    let Batch { entries, pages, stale, .. } = batch;
    stale.flush(k, space);
    match ended {
        Ok(()) | Err(End::Interrupt) => Ok(Answer::from_iter([entries, pages])),
        Err(End::Error(error)) => Err(Failure::about(error, entries, pages)),
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

/// A call that is being worked off.
struct Batch {
    space: Ref<VSpace>,
    /// Entries that are done.
    entries: u64,
    /// Pages of the next that are done.
    pages: u64,
    /// Steps since interrupts were polled for.
    steps: u64,
    /// The window that was read last, and its number.
    window: Option<(u64, Window)>,
    stale: Stale,
}

/// What is done to each page of a run, decoded.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// The leaf of the first; each that follows leads one page further on.
    Map(Entry),
    /// What leads into the window gets the rights of this leaf.
    Protect(Window, Entry),
    Unmap,
}

/// How a chunk's entries changed.
#[derive(Clone, Copy, Debug, Default)]
struct Changed {
    filled: u64,
    emptied: u64,
    /// Not 0: some entry is another.
    bits: u64,
}

/// The table on the last level that translates a page, or what stands in its place.
enum Found {
    Table { last: Ref<PageTable>, middle: Ref<PageTable>, entry: Entry },
    Nothing(Level),
}

impl Batch {
    fn new(space: Ref<VSpace>) -> Self {
        Self { space, entries: 0, pages: 0, steps: 0, window: None, stale: Stale::default() }
    }

    fn list<M: Machine>(&mut self, k: &Kernel<M>, list: WindowAddr, count: u64) -> Result<(), End> {
        for index in 0..count {
            let place = list.offset(index * size_of::<MapEntry>() as u64);
            let (first, second) = (k.machine.load(place), k.machine.load(place.offset(8)));
            self.one(k, MapEntry { first, second })?;
        }
        Ok(())
    }

    /// Carries out one entry.
    fn one<M: Machine>(&mut self, k: &Kernel<M>, entry: MapEntry) -> Result<(), End> {
        let change = self.decode(k, entry)?;
        let (first, count) = (entry.page(), entry.count());
        while self.pages < count {
            if self.steps >= STEPS {
                self.steps = 0;
                if k.machine.preemption_pending() {
                    return Err(End::Interrupt);
                }
            }
            self.pages += self.chunk(k, &change, first + self.pages, count - self.pages)?;
        }
        self.pages = 0;
        self.entries += 1;
        Ok(())
    }

    fn decode<M: Machine>(&mut self, k: &Kernel<M>, entry: MapEntry) -> Result<Change, Error> {
        let Some((operation, access)) = entry.operation() else { return Err(Error::InvalidArgument) };
        if entry.page() + entry.count() > END {
            return Err(Error::RangeError);
        }
        Ok(match operation {
            Operation::Unmap => Change::Unmap,
            Operation::Map => {
                let window = self.window(k, entry.window())?;
                Change::Map(window.leaf(entry.window_page(), entry.count(), access)?)
            }
            Operation::Protect => {
                let window = self.window(k, entry.window())?;
                Change::Protect(window, window.leaf(0, 0, access)?)
            }
        })
    }

    fn window<M: Machine>(&mut self, k: &Kernel<M>, number: u64) -> Result<Window, Error> {
        match self.window {
            Some((of, window)) if of == number => Ok(window),
            _ => {
                let window = Window::of(k, self.space, number)?;
                self.window = Some((number, window));
                Ok(window)
            }
        }
    }

    /// Does what it can of `left` pages from `page` on in one table, and answers how many that were.
    fn chunk<M: Machine>(
        &mut self,
        k: &Kernel<M>,
        change: &Change,
        page: u64,
        left: u64,
    ) -> Result<u64, Error> {
        let (last, middle, above) = match (self.find(k, page)?, change) {
            (Found::Table { last, middle, entry }, _) => (last, middle, entry),
            (Found::Nothing(_), Change::Map(_)) => {
                stock::provide(k, self.space, address(page))?;
                self.steps += REACH;
                return Ok(0);
            }
            (Found::Nothing(level), _) => {
                self.steps += REACH;
                let pages = level.bytes() / PAGE_BYTES;
                return Ok(left.min(pages - page % pages));
            }
        };
        let index = page % ENTRIES as u64;
        let count = left.min(CHUNK).min(ENTRIES as u64 - index);
        let entries = k.get(last).range(index, count);
        let changed = match change {
            Change::Map(first) => map(entries, first.0 + self.pages * PAGE_BYTES),
            Change::Protect(window, leaf) => protect(entries, window, *leaf),
            Change::Unmap => unmap(entries),
        };
        self.steps += count + REACH;
        if changed.bits != 0 {
            self.stale.note_pages(address(page), count);
        }
        if changed.filled != changed.emptied && above.is_stock() {
            let now = above.recounted(changed.filled, changed.emptied);
            if now.filled() != 0 {
                k.get(middle).set_entry(Level::Middle.index(address(page)), now);
            } else {
                self.empty(k, page, changed.emptied);
            }
        }
        Ok(count)
    }

    /// The last entries of a table of the stock were emptied.
    #[inline(never)]
    fn empty<M: Machine>(&mut self, k: &Kernel<M>, page: u64, emptied: u64) {
        if stock::recount(k, self.space, Level::Last, address(page), 0, emptied) == Tables::Returned {
            self.stale.note_everything();
        }
    }

    fn find<M: Machine>(&self, k: &Kernel<M>, page: u64) -> Result<Found, Error> {
        let address = address(page);
        let root = k.get(vspace::root(self.space)).entry(Level::Root.index(address));
        let Some(middle) = root.next_table() else { return Ok(Found::Nothing(Level::Root)) };
        let entry = k.get(middle).entry(Level::Middle.index(address));
        match entry.content(Level::Middle) {
            Content::Table(last) => Ok(Found::Table { last, middle, entry }),
            Content::Empty => Ok(Found::Nothing(Level::Middle)),
            Content::Leaf(_) => Err(Error::AlreadyMapped),
        }
    }
}

const fn address(page: u64) -> VirtAddr {
    VirtAddr(page * PAGE_BYTES)
}

fn map(entries: &[Cell<u64>], first: u64) -> Changed {
    let (mut leaf, mut filled, mut bits) = (first, 0, 0);
    for entry in entries {
        let old = entry.replace(leaf);
        filled += u64::from(old == 0);
        bits |= old ^ leaf;
        leaf += PAGE_BYTES;
    }
    Changed { filled, emptied: 0, bits }
}

fn protect(entries: &[Cell<u64>], window: &Window, rights: Entry) -> Changed {
    let mut bits = 0;
    for entry in entries {
        let old = Entry(entry.get());
        if window.shows(old) {
            let new = old.with_access_of(rights);
            entry.set(new.0);
            bits |= old.0 ^ new.0;
        }
    }
    Changed { filled: 0, emptied: 0, bits }
}

fn unmap(entries: &[Cell<u64>]) -> Changed {
    let (mut emptied, mut bits) = (0, 0);
    for entry in entries {
        let old = entry.take();
        emptied += u64::from(old != 0);
        bits |= old;
    }
    Changed { filled: 0, emptied, bits }
}
