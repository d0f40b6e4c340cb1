//! Windows: Frames of which a space may show any page (C-41).
//!
//! A window is a capability slot of the VSpace's, derived from the Frame that was given. Whatever empties
//! the slot, a Revoke of the Frame above all, first looks through the space's tables and clears what leads
//! into the Frame's memory, page by page with interrupts let in (C-3). From its first step on the window is
//! *going*: it shows nothing new, so the search need not begin again, and the Frame is free once it ends.

use core::mem::offset_of;

use abi::mapping::{Access, WINDOWS};
use abi::{Error, LOWER_HALF_END, PAGE_BYTES, Rights};

use crate::address::{PhysAddr, VirtAddr};
use crate::arch::Machine;
use crate::capability::cap::{Cap, FrameCap, Slot};
use crate::capability::derivation;
use crate::failure::Failure;
use crate::kernel::Kernel;
use crate::object::page_table::ENTRIES;
use crate::object::stale::Stale;
use crate::object::stock::{self, Tables};
use crate::object::store::Ref;
use crate::object::translation::{Attributes, Entry, Level, Place, Stop, walk};
use crate::object::vspace::{self, VSpace};
use crate::syscall::invoke::{Answer, Arguments};

/// Entries of tables that are looked at between two polls for interrupts (C-3).
const STEPS: u64 = 128;

/// What MapMany needs of a window, read from its slot.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Its memory's first byte.
    base: PhysAddr,
    /// How many pages it has.
    pages: u64,
    /// The leaf of its first page with each access; 0 where its rights do not allow it.
    leaves: [u64; Access::ALL.len()],
}

impl Window {
    /// A window of no pages.
    pub const NOTHING: Self = Self { base: PhysAddr(0), pages: 0, leaves: [0; Access::ALL.len()] };

    /// Becomes the window behind a number.
    ///
    /// # Errors
    ///
    /// `RangeError` for a number that is none's, `NotBound` where nothing is bound or what is bound is going.
    pub fn read<M: Machine>(&mut self, k: &Kernel<M>, space: Ref<VSpace>, number: u64) -> Result<(), Error> {
        if number >= WINDOWS as u64 {
            return Err(Error::RangeError);
        }
        let Cap::Frame(frame) = k.get(slot(space, number)).cap() else { return Err(Error::NotBound) };
        if is_going(k, space, number) {
            return Err(Error::NotBound);
        }
        self.base = frame.base.physical();
        self.pages = 1 << (frame.size_bits - abi::PAGE_BITS);
        for (place, access) in self.leaves.iter_mut().zip(Access::ALL) {
            *place = leaf(&frame, access);
        }
        Ok(())
    }

    /// The leaf of the window's page `page` with the access of this number.
    ///
    /// # Errors
    ///
    /// `MissingRight`, and `RangeError` unless `count` pages follow from it on.
    #[inline(always)]
    pub fn leaf(&self, page: u64, count: u64, access: u64) -> Result<Entry, Error> {
        if page + count > self.pages {
            return Err(Error::RangeError);
        }
        let leaf = usize::try_from(access).ok().and_then(|access| self.leaves.get(access)).copied();
        match leaf {
            Some(leaf) if leaf != 0 => Ok(Entry(leaf + page * PAGE_BYTES)),
            _ => Err(Error::MissingRight),
        }
    }

    /// True for a leaf that leads into the window.
    #[inline(always)]
    pub const fn shows(&self, leaf: Entry) -> bool {
        leaf.is_leaf_within(self.base, self.pages * PAGE_BYTES)
    }
}

/// The leaf of a Frame's first page with an access, 0 if its rights do not allow it.
fn leaf(frame: &FrameCap, access: Access) -> u64 {
    if !frame.rights.contains(access.rights()) {
        return 0;
    }
    let mut attributes = Attributes::empty();
    attributes.set(Attributes::UNCACHED, frame.is_device);
    attributes.set(Attributes::NO_EXECUTE, !access.executes());
    Entry::leaf(Level::Last, frame.base.physical(), access.rights(), attributes).0
}

/// The slot of a space's window.
pub const fn slot(space: Ref<VSpace>, number: u64) -> Ref<Slot> {
    const FIRST: u64 = (offset_of!(VSpace, windows) / size_of::<Slot>()) as u64;
    const { assert!(offset_of!(VSpace, windows).is_multiple_of(size_of::<Slot>())) };
    space.cast::<Slot>().element(FIRST + number)
}

fn is_going<M: Machine>(k: &Kernel<M>, space: Ref<VSpace>, number: u64) -> bool {
    usize::try_from(number)
        .ok()
        .and_then(|number| k.get(space).swept.get(number))
        .is_none_or(|at| at.get() != 0)
}

/// BindWindow.
///
/// # Errors
///
/// As the method's row says.
pub fn bind<M: Machine>(
    k: &mut Kernel<M>,
    space: Ref<VSpace>,
    arguments: &Arguments,
) -> Result<Answer, Failure> {
    let number = arguments.word(0);
    if number >= WINDOWS as u64 {
        return Err(arguments.refuse_word(0, Error::RangeError, WINDOWS as u64));
    }
    let slot = slot(space, number);
    let Some(source) = arguments.optional_cap_slot(0) else {
        derivation::delete(k, slot)?;
        return Ok(Answer::default());
    };
    let cap = k.get(source).cap();
    match cap {
        Cap::Frame(frame) if frame.rights.contains(Rights::READ) => {}
        Cap::Frame(_) => return Err(Failure::about(Error::MissingRight, 0, Rights::READ.raw())),
        _ => return Err(Failure::about(Error::InvalidCapability, 0, 0)),
    }
    if !k.get(slot).is_empty() {
        return Err(arguments.refuse_word(0, Error::AlreadyBound, 0));
    }
    let derived = derivation::derive(k, source, cap)?;
    derivation::insert(k, derived, source, slot);
    Ok(Answer::default())
}

/// Clears what shows a window of, before its slot is emptied.
///
/// # Errors
///
/// Preempted: part is done, and the window is going.
pub fn finalise<M: Machine>(k: &mut Kernel<M>, slot: Ref<Slot>, frame: &FrameCap) -> Result<(), Failure> {
    let Some((space, number)) = owner(slot) else { return Ok(()) };
    let object = k.get(space);
    let Some(swept) = object.swept.get(number) else { return Ok(()) };
    // In a dead space nothing runs, now or ever.
    if object.asid.get() == 0 {
        swept.set(0);
        return Ok(());
    }
    let mut sweep = Sweep {
        space,
        base: frame.base.physical(),
        bytes: 1 << frame.size_bits,
        address: VirtAddr(swept.get().saturating_sub(1) * Level::Last.bytes()),
        stale: Stale::default(),
    };
    let result = sweep.run(k);
    let next = sweep.address.0 / Level::Last.bytes() + 1;
    swept.set(if result.is_ok() { 0 } else { next });
    sweep.stale.flush(k, space);
    result
}

/// The space and number of a window's slot.
fn owner(slot: Ref<Slot>) -> Option<(Ref<VSpace>, usize)> {
    let space = Ref::from_raw(slot.raw() & !(size_of::<VSpace>() as u64 - 1))?;
    let number = (slot.raw() - self::slot(space, 0).raw()) / size_of::<Slot>() as u64;
    Some((space, usize::try_from(number).ok()?))
}

/// A search through a space for what leads into a piece of memory.
struct Sweep {
    space: Ref<VSpace>,
    base: PhysAddr,
    bytes: u64,
    /// What lies before is clear.
    address: VirtAddr,
    stale: Stale,
}

impl Sweep {
    fn run<M: Machine>(&mut self, k: &Kernel<M>) -> Result<(), Failure> {
        let mut looked_at = 0;
        while self.address.0 < LOWER_HALF_END {
            looked_at += self.step(k);
            if looked_at >= STEPS && self.address.0 < LOWER_HALF_END {
                looked_at = 0;
                if k.machine.preemption_pending() {
                    return Err(Failure::Preempted);
                }
            }
        }
        Ok(())
    }

    /// Looks at a few entries, goes on behind them, and answers how many they were.
    fn step<M: Machine>(&mut self, k: &Kernel<M>) -> u64 {
        match walk(k, vspace::root(self.space), self.address, Level::Last) {
            Ok(place) => {
                let count = STEPS.min(ENTRIES as u64 - place.index);
                self.clear(k, place, count);
                self.address.0 += count * Level::Last.bytes();
                count
            }
            // A large leaf is a Frame's own, whose capability takes it along.
            Err(Stop::Missing(place) | Stop::Leaf(place)) => {
                self.address.0 = (self.address.0 & !(place.level.bytes() - 1)) + place.level.bytes();
                1
            }
        }
    }

    /// Clears those of `count` entries that lead into the memory.
    fn clear<M: Machine>(&mut self, k: &Kernel<M>, place: Place, count: u64) {
        let mut emptied = 0;
        for entry in k.get(place.table).range(place.index, count) {
            if Entry(entry.get()).is_leaf_within(self.base, self.bytes) {
                entry.set(0);
                emptied += 1;
            }
        }
        if emptied != 0 {
            self.stale.note_pages(self.address, count);
            if stock::recount(k, self.space, Level::Last, self.address, 0, emptied) == Tables::Returned {
                self.stale.note_everything();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_leads_back_to_its_space() {
        let space = Ref::<VSpace>::from_raw(0x9000_0000_0008_0000);
        for number in 0..WINDOWS {
            let found = space.and_then(|space| owner(slot(space, number as u64)));
            assert_eq!(found, space.map(|space| (space, number)));
        }
    }
}
