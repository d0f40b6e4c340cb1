//! How an address finds a slot: guarded CNodes, over 64 bits (seL4 manual §3.3).
//!
//! Two ways in: [`lookup`] finds the capability that a thread names by a [`CPtr`], over all 64 bits;
//! [`lookup_slot`] finds the slot that a CNode method names by a CNode, an index and a depth. A failed
//! lookup says how many bits were left when it failed (C-2).

use abi::{CPtr, Error};

use super::cap::{Cap, Slot};
use crate::arch::Machine;
use crate::failure::Failure;
use crate::kernel::Kernel;
use crate::object::store::Ref;
use crate::object::thread::{Tcb, TcbSlot};

/// Bits of a capability pointer.
pub const CPTR_BITS: u64 = 64;

/// The slot that `pointer` names in the capability space of `thread`; it may be empty.
///
/// Errors: [`Error::LookupFailed`] without a capability space or at something that is no CNode,
/// [`Error::GuardMismatch`], [`Error::DepthMismatch`].
pub fn lookup<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>, pointer: CPtr) -> Result<Ref<Slot>, Failure> {
    let [root, ..] = &k.get(thread).slots;
    const { assert!(TcbSlot::CSpace as u64 == 0) };
    resolve(k, root.cap(), pointer.0, CPTR_BITS)
}

/// The slot at `index` of the CNode `root`, of whose address the low `depth` bits count; it may be empty.
///
/// Errors: as [`lookup`], and [`Error::RangeError`] for a depth that is not 1 to 64.
pub fn lookup_slot<M: Machine>(
    k: &Kernel<M>,
    root: &Cap,
    index: u64,
    depth: u64,
) -> Result<Ref<Slot>, Failure> {
    if !(1..=CPTR_BITS).contains(&depth) {
        return Err(Failure::about(Error::RangeError, 0, CPTR_BITS));
    }
    resolve(k, *root, index, depth)
}

/// Walks CNodes from `node` on until the low `left` bits of `address` are used up.
fn resolve<M: Machine>(
    k: &Kernel<M>,
    mut node: Cap,
    address: u64,
    mut left: u64,
) -> Result<Ref<Slot>, Failure> {
    loop {
        let Cap::CNode { base, radix, guard } = node else {
            return Err(Failure::about(Error::LookupFailed, 0, left));
        };
        let (radix, guard_bits) = (u64::from(radix), u64::from(guard.bits));
        if guard_bits > left
            || low_bits(address.unbounded_shr(shift(left - guard_bits)), guard_bits) != guard.value
        {
            return Err(Failure::about(Error::GuardMismatch, 0, left));
        }
        let Some(below) = left.checked_sub(guard_bits + radix) else {
            return Err(Failure::about(Error::DepthMismatch, 0, left));
        };
        let slot = base.element(low_bits(address.unbounded_shr(shift(below)), radix));
        if below == 0 {
            return Ok(slot);
        }
        // Each level takes a bit at least: a CNode has two slots or more.
        left = below;
        node = k.get(slot).cap();
    }
}

/// The low `bits` bits of `word`, 0 to 64.
const fn low_bits(word: u64, bits: u64) -> u64 {
    word & !u64::MAX.unbounded_shl(shift(bits))
}

/// A count of bits as shifts take it.
const fn shift(bits: u64) -> u32 {
    let [a, b, c, d, ..] = bits.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}
