//! Address-space identifiers: pools that assign them, and the hardware's 1023 that are lent (C-42).
//!
//! An identifier from a pool names a space in the records of what is mapped. A hardware identifier tags
//! cached translations; a space has one from when it is first made current until another space needs it.
//! Whoever gets a hardware identifier gets it without translations of its last owner: it is flushed when
//! it is taken away, or by [`super::vspace::activate`] when it was stolen.

use core::cell::Cell;

use abi::object::ASIDS_PER_POOL;
use abi::{Error, LOWER_HALF_END, Method};

use crate::arch::{HardwareAsid, Machine};
use crate::capability::cap::{Cap, Mapping, Slot, UntypedCap};
use crate::capability::{derivation, space};
use crate::failure::Failure;
use crate::kernel::{HARDWARE_ASIDS, Kernel};
use crate::object::host;
use crate::object::store::Ref;
use crate::object::vspace::{self, HALF_LOWER, HALF_NONE, HALF_UPPER, VSpace};
use crate::syscall::invoke::{Answer, Arguments, Target};

/// Base-2 logarithm of a pool's bytes.
const POOL_BITS: u8 = 12;
/// Spaces that are taken from a pool between two polls for interrupts (C-3).
const STEPS: usize = 32;
/// Hardware identifiers that are looked at for a free one before the next is stolen.
const LOOK_AHEAD: usize = 16;

/// A pool: entry `i` is the space with identifier `pool * 512 + i`.
#[derive(Debug)]
#[repr(C, align(4096))]
pub struct AsidPool {
    /// The spaces.
    pub spaces: [Cell<Option<Ref<VSpace>>>; ASIDS_PER_POOL],
}

const _: () = assert!(size_of::<AsidPool>() == 1 << POOL_BITS);

/// Says that a lent hardware identifier was another space's and has to be flushed.
#[derive(Clone, Copy, Debug)]
pub struct Robbed;

/// Decodes and invokes `AsidControl.MakePool`.
///
/// # Errors
///
/// As the method's row says.
pub fn invoke_control<M: Machine>(
    k: &mut Kernel<M>,
    method: Method,
    arguments: &Arguments,
) -> Result<Answer, Failure> {
    if method != Method::AsidControlMakePool {
        return Err(Error::IllegalOperation.into());
    }
    let source = arguments.cap_slot(0)?;
    let untyped = decode_untyped(k, source)?;
    let number = k.asids.pools.iter().position(Option::is_none);
    let number = number.ok_or(Failure::about(Error::NoAsid, 0, k.asids.pools.len() as u64))?;
    let root = k.get(arguments.cap_slot(1)?).cap();
    let destination = space::lookup_slot(k, &root, arguments.word(0), arguments.word(1))
        .map_err(|failure| failure.of_argument(2))?;
    if k.get(destination).cap() != Cap::Null {
        return Err(Failure::about(Error::SlotOccupied, 2, 0));
    }
    let pool = Ref::from_raw(untyped.base.0).ok_or(Failure::new(Error::InvalidCapability))?;

    let bytes = 1 << POOL_BITS;
    k.machine.clear(untyped.base, bytes);
    k.get(source).set_cap(Cap::Untyped(UntypedCap { free: bytes, ..untyped }));
    derivation::insert(k, Cap::AsidPool(pool), source, destination);
    if let Some(entry) = k.asids.pools.get_mut(number) {
        *entry = Some(pool);
    }
    Ok(Answer::default())
}

/// The Untyped that becomes a pool: ordinary memory of exactly a pool's size, and nothing made from it.
fn decode_untyped<M: Machine>(k: &Kernel<M>, source: Ref<Slot>) -> Result<UntypedCap, Failure> {
    match k.get(source).cap() {
        Cap::Untyped(untyped) if untyped.is_device => Err(Failure::about(Error::InvalidCapability, 0, 0)),
        Cap::Untyped(untyped) if untyped.size_bits < POOL_BITS => {
            Err(Failure::about(Error::NotEnoughMemory, 0, 1 << untyped.size_bits))
        }
        Cap::Untyped(_) if derivation::has_children(k, source) => {
            Err(Failure::about(Error::RevokeFirst, 0, 0))
        }
        Cap::Untyped(untyped) if untyped.size_bits == POOL_BITS => Ok(untyped),
        _ => Err(Failure::about(Error::InvalidCapability, 0, 0)),
    }
}

/// Decodes and invokes `AsidPool.Assign`.
///
/// # Errors
///
/// As the method's row says.
pub fn invoke_pool<M: Machine>(
    k: &mut Kernel<M>,
    target: &Target,
    method: Method,
    arguments: &Arguments,
) -> Result<Answer, Failure> {
    let Cap::AsidPool(pool) = target.cap else {
        return Err(Error::IllegalOperation.into());
    };
    if method != Method::AsidPoolAssign {
        return Err(Error::IllegalOperation.into());
    }
    let space = vspace::argument(k, arguments.cap_slot(0)?, 0)?;
    if k.get(space).half.get() != HALF_NONE {
        return Err(Failure::about(Error::AlreadyBound, 0, 0));
    }
    let number = k.asids.pools.iter().position(|entry| *entry == Some(pool));
    let index = k.get(pool).spaces.iter().position(|entry| entry.get().is_none());
    let (Some(number), Some(index)) = (number, index) else {
        return Err(Error::NoAsid.into());
    };

    assign(k, space, pool, Place { number, index });
    Ok(Answer::default())
}

/// An identifier, as pool and index in it.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The pool's number.
    pub number: usize,
    /// The entry in it.
    pub index: usize,
}

/// Makes `space` a lower one with the free identifier at `place` of `pool`.
pub fn assign<M: Machine>(k: &Kernel<M>, space: Ref<VSpace>, pool: Ref<AsidPool>, place: Place) {
    let identifier = place.number * ASIDS_PER_POOL + place.index;
    if let Some(entry) = k.get(pool).spaces.get(place.index) {
        entry.set(Some(space));
    }
    let object = k.get(space);
    object.asid.set(identifier as u64 + 1);
    object.half.set(HALF_LOWER);
    object.hardware_asid.set(0);
    object.root_address.set(vspace::root(space).address().physical().0);
}

/// Makes `space` an upper half. Its identifier is one of the kernel's own few, since every upper half has
/// the hardware's identifier of whatever lower half is below it.
///
/// # Errors
///
/// `AlreadyBound`, `NoAsid`.
pub fn assign_upper<M: Machine>(k: &mut Kernel<M>, space: Ref<VSpace>) -> Result<(), Failure> {
    if k.get(space).half.get() != HALF_NONE {
        return Err(Failure::about(Error::AlreadyBound, 0, 0));
    }
    let limit = k.asids.upper.len() as u64;
    let free = k.asids.upper.iter_mut().zip(1..).find(|(entry, _)| entry.is_none());
    let (entry, identifier) = free.ok_or(Failure::about(Error::NoAsid, 0, limit))?;
    *entry = Some(space);
    let object = k.get(space);
    object.asid.set(identifier);
    object.half.set(HALF_UPPER);
    Ok(())
}

/// The space in which something is mapped, if it is still there.
pub fn space_of<M: Machine>(k: &Kernel<M>, mapping: &Mapping) -> Option<Ref<VSpace>> {
    if mapping.address.0 < LOWER_HALF_END {
        return space(k, mapping.asid);
    }
    k.asids.upper.get(usize::from(mapping.asid)).copied().flatten()
}

/// The lower space with this identifier, if there is one.
pub fn space<M: Machine>(k: &Kernel<M>, identifier: u16) -> Option<Ref<VSpace>> {
    let identifier = usize::from(identifier);
    let pool = (*k.asids.pools.get(identifier / ASIDS_PER_POOL)?)?;
    k.get(pool).spaces.get(identifier % ASIDS_PER_POOL)?.get()
}

/// The hardware identifier of `space`: the one that it has, a free one, or one that is stolen in turn.
pub fn lend<M: Machine>(k: &mut Kernel<M>, space: Ref<VSpace>) -> (HardwareAsid, Option<Robbed>) {
    let has = HardwareAsid(k.get(space).hardware_asid.get());
    if has != Kernel::<M>::EMPTY_ASID {
        return (has, None);
    }
    let start = k.asids.next.max(1);
    let after = |index: usize| if index + 1 < HARDWARE_ASIDS { index + 1 } else { 1 };
    let is_free = |index: &usize| k.asids.hardware.get(*index).is_some_and(Option::is_none);
    let ahead = core::iter::successors(Some(start), |index| Some(after(*index))).take(LOOK_AHEAD);
    let index = ahead.into_iter().find(is_free).unwrap_or(start);

    k.asids.next = after(index);
    let previous = k.asids.hardware.get_mut(index).and_then(|owner| owner.replace(space));
    if let Some(robbed) = previous {
        k.get(robbed).hardware_asid.set(0);
    }
    k.get(space).hardware_asid.set(index as u64);
    (HardwareAsid(index as u64), previous.map(|_| Robbed))
}

/// Takes a space's identifiers away; where it is current, nothing is translated from now on.
pub fn release<M: Machine>(k: &mut Kernel<M>, space: Ref<VSpace>) {
    if k.get(space).half.get() == HALF_UPPER {
        return release_upper(k, space);
    }
    let object = k.get(space);
    let hardware = HardwareAsid(object.hardware_asid.replace(0));
    let identifier = object.asid.replace(0);
    object.stock.id.set(0);
    if let Some(entry) = identifier.checked_sub(1).and_then(|identifier| pool_entry(k, identifier)) {
        entry.set(None);
    }
    if hardware == Kernel::<M>::EMPTY_ASID {
        return;
    }
    // The root must not be walked while its translations are being forgotten, nor after; the way out
    // makes the space of whoever runs next current.
    vspace::leave(k);
    k.machine.flush_asid(hardware);
    let index = usize::try_from(hardware.0).unwrap_or(0);
    if let Some(owner) = k.asids.hardware.get_mut(index) {
        *owner = None;
    }
}

fn release_upper<M: Machine>(k: &mut Kernel<M>, space: Ref<VSpace>) {
    k.get(space).asid.set(0);
    if let Some(entry) = k.asids.upper.iter_mut().find(|entry| **entry == Some(space)) {
        *entry = None;
    }
    host::way_out::forget_upper(k, space);
}

fn pool_entry<M: Machine>(k: &Kernel<M>, identifier: u64) -> Option<&Cell<Option<Ref<VSpace>>>> {
    let identifier = usize::try_from(identifier).ok()?;
    let pool = (*k.asids.pools.get(identifier / ASIDS_PER_POOL)?)?;
    k.get(pool).spaces.get(identifier % ASIDS_PER_POOL)
}

/// Ends a pool with its last capability: its spaces are dead, nothing runs in them again.
///
/// # Errors
///
/// Preempted: some spaces are dead, the pool is still there.
pub fn finalise_pool<M: Machine>(k: &mut Kernel<M>, pool: Ref<AsidPool>) -> Result<(), Failure> {
    let mut taken = 0;
    for index in 0..ASIDS_PER_POOL {
        let Some(space) = k.get(pool).spaces.get(index).and_then(Cell::get) else { continue };
        release(k, space);
        taken += 1;
        if taken % STEPS == 0 && k.machine.preemption_pending() {
            return Err(Failure::Preempted);
        }
    }
    if let Some(entry) = k.asids.pools.iter_mut().find(|entry| **entry == Some(pool)) {
        *entry = None;
    }
    Ok(())
}
