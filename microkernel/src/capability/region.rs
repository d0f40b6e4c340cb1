//! What memory a capability stands for, and when two stand for the same.

use abi::object::{ObjectSize, SLOT_BITS};

use super::cap::{Cap, ZombieKind, tag};
use super::codec::{TCB_SLOTS_OFFSET, encode};

/// A piece of memory that belongs to an object, as window addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its first byte.
    pub start: u64,
    /// Its length, not 0.
    pub bytes: u64,
}

impl Region {
    /// True when all of `other` lies in it.
    pub const fn contains(self, other: Self) -> bool {
        other.start >= self.start && other.start - self.start + other.bytes <= self.bytes
    }

    /// True when some byte lies in both.
    pub const fn overlaps(self, other: Self) -> bool {
        self.start < other.start + other.bytes && other.start < self.start + self.bytes
    }
}

/// The memory of the object behind `cap`; `None` for a capability without an object.
pub fn region(cap: &Cap) -> Option<Region> {
    let size_bits = match cap {
        Cap::Untyped(untyped) => untyped.size_bits,
        Cap::Frame(frame) => frame.size_bits,
        Cap::Host { size_bits, .. } => *size_bits,
        Cap::CNode { radix, .. } => radix + SLOT_BITS,
        Cap::Zombie { base, kind: ZombieKind::CNode { radix }, .. } => {
            return Some(Region { start: base.raw(), bytes: 1 << (radix + SLOT_BITS) });
        }
        Cap::Zombie { base, kind: ZombieKind::Host { size_bits }, .. } => {
            return Some(Region { start: base.raw(), bytes: 1 << size_bits });
        }
        Cap::Zombie { base, kind: ZombieKind::Tcb, .. } => {
            let ObjectSize::Fixed(size_bits) = abi::ObjectType::Tcb.size() else { return None };
            return Some(Region { start: base.raw() - TCB_SLOTS_OFFSET, bytes: 1 << size_bits });
        }
        _ => match cap.object_type()?.size() {
            ObjectSize::Fixed(size_bits) => size_bits,
            ObjectSize::Variable(..) | ObjectSize::None => return None,
        },
    };
    let (object, _) = encode(*cap);
    Some(Region { start: object & !tag::MASK, bytes: 1 << size_bits })
}

/// True when `child` lies in what `parent` stands for, so that it may derive from it.
///
/// A Zombie has no kin: it is the last capability of its object.
pub fn same_region(parent: &Cap, child: &Cap) -> bool {
    match (parent, child) {
        (Cap::Untyped(_), _) | (Cap::Frame(_), Cap::Frame(_)) => match (region(parent), region(child)) {
            (Some(outer), Some(inner)) => outer.contains(inner),
            _ => false,
        },
        (Cap::IrqControl, Cap::IrqControl | Cap::IrqHandler(_)) => true,
        (Cap::IrqHandler(line), Cap::IrqHandler(other)) => line == other,
        (Cap::SchedControl(core), Cap::SchedControl(other)) => core == other,
        (Cap::AsidControl, Cap::AsidControl)
        | (Cap::HostControl, Cap::HostControl)
        | (Cap::Debug, Cap::Debug) => true,
        _ => {
            parent.object_type().is_some()
                && parent.object_type() == child.object_type()
                && region(parent).is_some()
                && region(parent) == region(child)
        }
    }
}

/// True when both are capabilities of one object, so that the object outlives either of them.
///
/// Untyped memory has no object: each capability stands for itself.
pub fn same_object(one: &Cap, other: &Cap) -> bool {
    match (one, other) {
        (Cap::Untyped(_), _) | (_, Cap::Untyped(_)) | (Cap::IrqControl, Cap::IrqHandler(_)) => false,
        (Cap::Frame(_), Cap::Frame(_)) => region(one) == region(other),
        _ => same_region(one, other),
    }
}
