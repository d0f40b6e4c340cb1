//! Untyped memory: Retype makes objects of it (seL4 manual §2.4).
//!
//! Objects lie one behind the other from the start of the memory on; when none is left, the next Retype
//! begins at the start again. Memory is cleared before it is handed out, a page's length at a time, and how
//! far it is clean is kept in the capability, so that an interrupted Retype goes on where it was (C-3).

use abi::object::ObjectSize;
use abi::{Error, Method, ObjectType, PAGE_BYTES};

use crate::address::WindowAddr;
use crate::arch::Machine;
use crate::capability::cap::{Cap, Slot, UntypedCap};
use crate::capability::{derivation, space};
use crate::failure::Failure;
use crate::kernel::Kernel;
use crate::object::create::{Blueprint, create};
use crate::object::store::Ref;
use crate::object::thread::Tcb;
use crate::syscall::invoke::{Answer, Arguments, Target};

/// Most objects that one Retype makes.
pub const MAX_COUNT: u64 = 256;

/// Retype's words.
mod word {
    pub(super) const OBJECT_TYPE: usize = 0;
    pub(super) const SIZE_BITS: usize = 1;
    pub(super) const NODE_INDEX: usize = 2;
    pub(super) const NODE_DEPTH: usize = 3;
    pub(super) const FIRST_SLOT: usize = 4;
    pub(super) const COUNT: usize = 5;
}

/// A Retype that was checked.
struct Retype {
    object_type: ObjectType,
    size_bits: u8,
    count: u64,
    /// The first slot to fill.
    first: Ref<Slot>,
    /// Where the first object begins in the Untyped.
    start: u64,
}

/// Methods of an Untyped.
///
/// Errors: as the table says.
pub fn invoke<M: Machine>(
    k: &mut Kernel<M>,
    target: &Target,
    method: Method,
    arguments: &Arguments,
) -> Result<Answer, Failure> {
    let (Method::UntypedRetype, Cap::Untyped(untyped)) = (method, target.cap) else {
        return Err(Error::IllegalOperation.into());
    };
    let retype = decode(k, target, &untyped, arguments)?;
    reset(k, target.slot, &retype);
    if !untyped.is_device && retype.object_type != ObjectType::Untyped {
        clear(k, target.slot, retype.start + (retype.count << retype.size_bits))?;
    }
    make_objects(k, target, &retype)?;
    Ok(Answer::default())
}

fn decode<M: Machine>(
    k: &Kernel<M>,
    target: &Target,
    untyped: &UntypedCap,
    arguments: &Arguments,
) -> Result<Retype, Failure> {
    let object_type = decode_type(untyped, arguments)?;
    let size_bits = decode_size(object_type, arguments)?;
    let count = arguments.word(word::COUNT);
    if !(1..=MAX_COUNT).contains(&count) {
        return Err(arguments.refuse_word(word::COUNT, Error::RangeError, MAX_COUNT));
    }
    let first = decode_slots(k, arguments, count)?;

    let used = if derivation::has_children(k, target.slot) { untyped.free } else { 0 };
    let total = 1 << untyped.size_bits;
    let start = used.next_multiple_of(1 << size_bits);
    if start + (count << size_bits) > total {
        return Err(Failure::about(Error::NotEnoughMemory, 0, total - used));
    }
    Ok(Retype { object_type, size_bits, count, first, start })
}

fn decode_type(untyped: &UntypedCap, arguments: &Arguments) -> Result<ObjectType, Failure> {
    match ObjectType::from_raw(arguments.word(word::OBJECT_TYPE)) {
        Some(object_type @ (ObjectType::Untyped | ObjectType::Frame)) => Ok(object_type),
        // Pools are made by AsidControl; a device's memory holds no objects.
        Some(object_type)
            if !untyped.is_device
                && object_type != ObjectType::AsidPool
                && object_type.size() != ObjectSize::None =>
        {
            Ok(object_type)
        }
        _ => Err(arguments.refuse_word(word::OBJECT_TYPE, Error::InvalidArgument, 0)),
    }
}

/// The size in bits: the type's own, for which 0 may stand, or the one asked for.
fn decode_size(object_type: ObjectType, arguments: &Arguments) -> Result<u8, Failure> {
    let asked = arguments.word(word::SIZE_BITS);
    let refuse = |limit: u8| arguments.refuse_word(word::SIZE_BITS, Error::RangeError, limit.into());
    match object_type.size() {
        ObjectSize::Fixed(bits) if asked == 0 || asked == bits.into() => Ok(bits),
        ObjectSize::Fixed(bits) => Err(refuse(bits)),
        ObjectSize::Variable(min, max) => match u8::try_from(asked) {
            Ok(bits) if bits < min => Err(refuse(min)),
            Ok(bits) if bits <= max => Ok(bits),
            _ => Err(refuse(max)),
        },
        ObjectSize::None => Err(arguments.refuse_word(word::OBJECT_TYPE, Error::InvalidArgument, 0)),
    }
}

/// The first of `count` empty slots side by side in one CNode: the root itself for depth 0.
fn decode_slots<M: Machine>(k: &Kernel<M>, arguments: &Arguments, count: u64) -> Result<Ref<Slot>, Failure> {
    let root = k.get(arguments.cap_slot(0)?).cap();
    let node = match arguments.word(word::NODE_DEPTH) {
        0 => root,
        depth => {
            let slot = space::lookup_slot(k, &root, arguments.word(word::NODE_INDEX), depth)
                .map_err(|failure| arguments.about_word(word::NODE_INDEX, failure))?;
            k.get(slot).cap()
        }
    };
    let Cap::CNode { base, radix, .. } = node else {
        return Err(Failure::about(Error::LookupFailed, 0, 0));
    };
    let (slots, first) = (1 << radix, arguments.word(word::FIRST_SLOT));
    if first >= slots {
        return Err(arguments.refuse_word(word::FIRST_SLOT, Error::RangeError, slots - 1));
    }
    if count > slots - first {
        return Err(arguments.refuse_word(word::COUNT, Error::RangeError, slots - first));
    }
    let first_slot = base.element(first);
    match (0..count).find(|index| !k.get(first_slot.element(*index)).is_empty()) {
        Some(index) => Err(arguments.refuse_word(word::FIRST_SLOT, Error::SlotOccupied, first + index)),
        None => Ok(first_slot),
    }
}

/// What the capability says now.
fn current<M: Machine>(k: &Kernel<M>, slot: Ref<Slot>) -> Option<UntypedCap> {
    match k.get(slot).cap() {
        Cap::Untyped(untyped) => Some(untyped),
        _ => None,
    }
}

/// Gives away what lies before the first new object, after taking back everything if nothing is in use.
fn reset<M: Machine>(k: &Kernel<M>, slot: Ref<Slot>, retype: &Retype) {
    let Some(untyped) = current(k, slot) else { return };
    let clean_end = if retype.start < untyped.free { 0 } else { untyped.clean_end };
    k.get(slot).set_cap(Cap::Untyped(UntypedCap { free: retype.start, clean_end, ..untyped }));
}

/// Clears the memory up to `end` that is not known to be clean, in pieces.
fn clear<M: Machine>(k: &Kernel<M>, slot: Ref<Slot>, end: u64) -> Result<(), Failure> {
    while let Some(untyped) = current(k, slot) {
        let from = untyped.clean_end.max(untyped.free);
        if from >= end {
            break;
        }
        let clean_end = (from + 1).next_multiple_of(PAGE_BYTES).min(1 << untyped.size_bits);
        k.machine.clear_used(untyped.base.offset(from), clean_end - from);
        k.get(slot).set_cap(Cap::Untyped(UntypedCap { clean_end, ..untyped }));
        if k.machine.preemption_pending() {
            return Err(Failure::Preempted);
        }
    }
    Ok(())
}

/// Makes one object after the other; when preempted, the caller's message asks for those that are left.
fn make_objects<M: Machine>(k: &mut Kernel<M>, target: &Target, retype: &Retype) -> Result<(), Failure> {
    for made in 0..retype.count {
        if made != 0 && k.machine.preemption_pending() {
            ask_for_the_rest(k, target.thread, made);
            return Err(Failure::Preempted);
        }
        make_object(k, target.slot, retype, made);
    }
    Ok(())
}

fn ask_for_the_rest<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>, made: u64) {
    let caller = k.get(thread);
    if let Some(first) = caller.message_register(word::FIRST_SLOT) {
        first.set(first.get() + made);
    }
    if let Some(count) = caller.message_register(word::COUNT) {
        count.set(count.get() - made);
    }
}

fn make_object<M: Machine>(k: &mut Kernel<M>, slot: Ref<Slot>, retype: &Retype, index: u64) {
    let Some(untyped) = current(k, slot) else { return };
    let bytes = 1 << retype.size_bits;
    let offset = retype.start + index * bytes;
    let plan = Blueprint {
        object_type: retype.object_type,
        size_bits: retype.size_bits,
        base: WindowAddr(untyped.base.0 + offset),
        is_device: untyped.is_device,
        clean: untyped.clean_end.saturating_sub(offset).min(bytes),
    };
    k.get(slot).set_cap(Cap::Untyped(UntypedCap { free: offset + bytes, ..untyped }));
    if let Some(cap) = create(k, &plan) {
        derivation::insert(k, cap, slot, retype.first.element(index));
    }
}
