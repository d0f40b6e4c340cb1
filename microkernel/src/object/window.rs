//! Windows: Frames of which a space may show any page (C-41).
//!
//! A window is a capability slot of the VSpace's, derived from the Frame that was given. Whatever empties
//! the slot, a Revoke of the Frame above all, first looks through the space's tables and clears what leads
//! into the Frame's memory, page by page with interrupts let in (C-3). From its first step on the window is
//! *going*: it shows nothing new, so the search need not begin again, and the Frame is free once it ends.

use core::mem::offset_of;

use abi::mapping::WINDOWS;
use abi::{Error, LOWER_HALF_END, Rights};

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
    /// How many bytes it has.
    bytes: u64,
    /// What may be asked for.
    rights: Rights,
    /// How it is mapped.
    attributes: Attributes,
}

impl Window {
    /// The window behind a number.
    ///
    /// # Errors
    ///
    /// `RangeError` for a number that is none's, `NotBound` where nothing is bound or what is bound is going.
    pub fn of<M: Machine>(k: &Kernel<M>, space: Ref<VSpace>, number: u64) -> Result<Self, Error> {
        if number >= WINDOWS as u64 {
            return Err(Error::RangeError);
        }
        match k.get(slot(space, number)).cap() {
            Cap::Frame(frame) if !is_going(k, space, number) => Ok(Self {
                base: frame.base.physical(),
                bytes: 1 << frame.size_bits,
                rights: frame.rights,
                attributes: if frame.is_device { Attributes::UNCACHED } else { Attributes::empty() },
            }),
            _ => Err(Error::NotBound),
        }
    }

    /// The leaf of the window's page `page`.
    ///
    /// # Errors
    ///
    /// `MissingRight`, and `RangeError` unless `count` pages follow from it on.
    pub fn leaf(&self, page: u64, count: u64, access: abi::mapping::Access) -> Result<Entry, Error> {
        let pages = self.bytes / Level::Last.bytes();
        if page > pages || count > pages - page {
            return Err(Error::RangeError);
        }
        let first = PhysAddr(self.base.0 + page * Level::Last.bytes());
        if !self.rights.contains(access.rights()) {
            return Err(Error::MissingRight);
        }
        let attributes =
            if access.executes() { self.attributes } else { self.attributes | Attributes::NO_EXECUTE };
        Ok(Entry::leaf(Level::Last, first, access.rights(), attributes))
    }

    /// True for a leaf that leads into the window.
    #[inline]
    pub const fn shows(&self, leaf: Entry) -> bool {
        leaf.is_leaf_within(self.base, self.bytes)
    }
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
