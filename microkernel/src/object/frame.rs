//! Frames: memory that is mapped into address spaces, or pinned.
//!
//! A frame is mapped whole, at a multiple of its own size: so all its leaves lie side by side in one
//! table. Frames of 32 MiB and more use large leaves, smaller ones pages of 16 KiB. Each capability maps
//! its frame once at most and remembers where; copies begin unmapped. A record can outlive the mapping (a
//! table on the way was unmapped, the space was deleted), so whoever acts on one touches only entries that
//! really lead to this frame.
//!
//! Map and Unmap of long frames give way to interrupts and go on when the call is made again (C-3). Should
//! another thread map something in the way meanwhile, Map then answers `AlreadyMapped` and the capability
//! stays mapped in part; Unmap takes that back.

use abi::{Error, LARGE_PAGE_BITS, Method, Rights};

use crate::address::{PhysAddr, VirtAddr};
use crate::arch::Machine;
use crate::capability::cap::{Cap, FrameCap, Mapping};
use crate::failure::Failure;
use crate::kernel::Kernel;
use crate::object::asid;
use crate::object::stale::Stale;
use crate::object::stock::{self, Tables};
use crate::object::store::Ref;
use crate::object::translation::{Attributes, Entry, Level, Place, Stop, walk};
use crate::object::vspace::{self, VSpace};
use crate::syscall::invoke::{Answer, Arguments, Target};

/// Leaves that are looked at or written between two polls for interrupts (C-3).
const STEPS: u64 = 128;

/// The leaves of one frame: where the first lies, and how many follow it in the same table.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: Place,
    address: VirtAddr,
    memory: PhysAddr,
    count: u64,
}

/// One leaf of a [`Run`].
#[derive(Clone, Copy, Debug)]
struct Leaf {
    index: u64,
    address: VirtAddr,
    memory: PhysAddr,
}

/// What `Frame.Map` asks for, checked.
#[derive(Clone, Copy, Debug)]
struct Map {
    space: Ref<VSpace>,
    mapping: Mapping,
    run: Run,
    rights: Rights,
    attributes: Attributes,
}

/// Decodes and invokes a method on a frame's capability.
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
    let Cap::Frame(frame) = target.cap else {
        return Err(Error::IllegalOperation.into());
    };
    match method {
        Method::FrameMap => {
            let map = decode_map(k, &frame, arguments)?;
            k.get(target.slot).set_cap(Cap::Frame(FrameCap { mapping: Some(map.mapping), ..frame }));
            write(k, &map)?;
        }
        Method::FrameUnmap => {
            if frame.mapping.is_none() {
                return Err(Error::NotMapped.into());
            }
            finalise(k, &frame)?;
            k.get(target.slot).set_cap(Cap::Frame(FrameCap { mapping: None, ..frame }));
        }
        Method::FrameGetAddress => return Ok(Answer::word(frame.base.physical().0)),
        _ => return Err(Error::IllegalOperation.into()),
    }
    Ok(Answer::default())
}

/// Checks a Map, whose arguments are the space, then address, rights and attributes.
fn decode_map<M: Machine>(
    k: &mut Kernel<M>,
    frame: &FrameCap,
    arguments: &Arguments,
) -> Result<Map, Failure> {
    let space = vspace::argument(k, arguments.cap_slot(0)?, 0)?;
    let address = VirtAddr(arguments.word(0));
    let asked = Rights::from_raw(arguments.word(1)).ok_or(Failure::about(Error::InvalidArgument, 2, 0))?;
    let attributes =
        Attributes::from_bits(arguments.word(2)).ok_or(Failure::about(Error::InvalidArgument, 3, 0))?;

    let rights = asked.intersection(frame.rights);
    // A page that can be written and not read would not be enforced everywhere (no NR through `ldpte`).
    if !rights.contains(Rights::READ) {
        return Err(Failure::about(Error::InvalidArgument, 2, 0));
    }
    let attributes = if frame.is_device { attributes | Attributes::UNCACHED } else { attributes };
    let bytes = 1 << frame.size_bits;
    if !address.0.is_multiple_of(bytes) {
        return Err(Failure::about(Error::AlignmentError, 1, bytes));
    }
    vspace::check_address(k, space, address, 1)?;
    let asid = vspace::identifier(k, space, 0)?;
    let mapping = Mapping { asid, address };
    if frame.mapping.is_some_and(|at| at != mapping) {
        return Err(Error::AlreadyMapped.into());
    }
    let first = walk(k, vspace::root(space), address, level(frame)).map_err(|stop| match stop {
        Stop::Missing(place) => Failure::about(Error::NoPageTable, 1, u64::from(place.level.bits())),
        Stop::Leaf(_) => Failure::about(Error::AlreadyMapped, 1, 0),
    })?;
    let run = Run::new(frame, first, address);
    if frame.mapping.is_some() {
        run.check_own(k)?;
    } else if !k.get(first.table).is_empty(first.index, run.count) {
        return Err(Failure::about(Error::AlreadyMapped, 1, 0));
    }
    Ok(Map { space, mapping, run, rights, attributes })
}

/// Writes the leaves of a checked Map that are not yet as they should be.
fn write<M: Machine>(k: &mut Kernel<M>, map: &Map) -> Result<(), Failure> {
    let half = vspace::half(k, map.space);
    map.run.change(k, map.space, |level, leaf, _| {
        Some(Entry::leaf(level, leaf.memory, map.rights, map.attributes).in_half(level, half))
    })
}

/// Takes the frame out of the space where this capability mapped it. It must be called for each
/// capability that goes, not only the last one.
///
/// # Errors
///
/// Preempted: part is done; the capability still says that it is mapped.
pub fn finalise<M: Machine>(k: &mut Kernel<M>, frame: &FrameCap) -> Result<(), Failure> {
    let Some(mapping) = frame.mapping else { return Ok(()) };
    let Some(space) = asid::space_of(k, &mapping) else { return Ok(()) };
    let Ok(first) = walk(k, vspace::root(space), mapping.address, level(frame)) else { return Ok(()) };
    let run = Run::new(frame, first, mapping.address);
    let half = vspace::half(k, space);
    run.change(k, space, |level, leaf, old| {
        old.is_leaf_of(level, leaf.memory).then_some(Entry::nothing(level, half))
    })
}

/// The level on which a frame's leaves lie.
const fn level(frame: &FrameCap) -> Level {
    if frame.size_bits >= LARGE_PAGE_BITS { Level::Middle } else { Level::Last }
}

impl Run {
    fn new(frame: &FrameCap, first: Place, address: VirtAddr) -> Self {
        let count = (1 << frame.size_bits) >> first.level.bits();
        Self { first, address, memory: frame.base.physical(), count }
    }

    fn leaf(&self, number: u64) -> Leaf {
        let offset = number << self.first.level.bits();
        Leaf {
            index: self.first.index + number,
            address: VirtAddr(self.address.0 + offset),
            memory: PhysAddr(self.memory.0 + offset),
        }
    }

    /// Refuses a run in which an entry leads elsewhere.
    fn check_own<M: Machine>(&self, k: &Kernel<M>) -> Result<(), Failure> {
        for number in 0..self.count {
            let leaf = self.leaf(number);
            let entry = k.get(self.first.table).entry(leaf.index);
            if !entry.is_nothing() && !entry.is_leaf_of(self.first.level, leaf.memory) {
                return Err(Failure::about(Error::AlreadyMapped, 1, 0));
            }
            self.give_way(k, number)?;
        }
        Ok(())
    }

    /// Replaces each entry by what `new` says, if it says something, and flushes what that made stale.
    fn change<M: Machine>(
        &self,
        k: &mut Kernel<M>,
        space: Ref<VSpace>,
        new: impl Fn(Level, Leaf, Entry) -> Option<Entry>,
    ) -> Result<(), Failure> {
        let level = self.first.level;
        let (mut filled, mut emptied) = (0, 0);
        let mut stale = Stale::default();
        let mut result = Ok(());
        for number in 0..self.count {
            let leaf = self.leaf(number);
            let table = k.get(self.first.table);
            let old = table.entry(leaf.index);
            if let Some(entry) = new(level, leaf, old).filter(|entry| *entry != old) {
                table.set_entry(leaf.index, entry);
                stale.note(level, leaf.address, old);
                filled += u64::from(old.is_nothing());
                emptied += u64::from(entry.is_nothing());
            }
            result = self.give_way(k, number);
            if result.is_err() {
                break;
            }
        }
        if stock::recount(k, space, level, self.address, filled, emptied) == Tables::Returned {
            stale.note_everything();
        }
        stale.flush(k, space);
        result
    }

    /// After each [`STEPS`] leaves, not after the last one: stops when an interrupt waits.
    fn give_way<M: Machine>(&self, k: &Kernel<M>, number: u64) -> Result<(), Failure> {
        let due = (number + 1).is_multiple_of(STEPS) && number + 1 < self.count;
        if due && k.machine.preemption_pending() { Err(Failure::Preempted) } else { Ok(()) }
    }
}
