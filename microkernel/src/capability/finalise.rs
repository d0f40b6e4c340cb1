//! What goes with a capability: the last one of an object takes the object with it.

use abi::object::SLOT_BITS;

use super::cap::{Cap, Place, Slot, ZombieKind};
use super::codec::tcb_slots;
use super::derivation::is_final;
use crate::arch::Machine;
use crate::failure::Failure;
use crate::kernel::Kernel;
use crate::object::store::Ref;
use crate::object::thread::{self, TCB_SLOTS};
use crate::object::{
    asid, endpoint, frame, host, interrupt, notification, page_table, reply, sched_context, stock, timer,
    vspace, window,
};

/// Ends what the capability in `slot` alone holds up, and answers what stays in the slot: nothing, or the
/// Zombie of a container that must be emptied first.
///
/// Errors: `Preempted`; the capability is still whole and what was ended stays ended.
pub(super) fn finalise<M: Machine>(k: &mut Kernel<M>, slot: Ref<Slot>) -> Result<Cap, Failure> {
    let cap = k.get(slot).cap();
    if let Cap::Frame(frame) = cap {
        if k.get(slot).place() == Place::Window {
            window::finalise(k, slot, &frame)?;
        } else {
            // Each capability has a mapping of its own.
            frame::finalise(k, &frame)?;
        }
        return Ok(Cap::Null);
    }
    if !is_final(k, slot) {
        return Ok(Cap::Null);
    }
    match cap {
        Cap::CNode { base, radix, .. } => {
            Ok(Cap::Zombie { base, kind: ZombieKind::CNode { radix }, remaining: 1 << radix })
        }
        Cap::Tcb(thread) => {
            thread::finalise(k, thread);
            Ok(Cap::Zombie { base: tcb_slots(thread), kind: ZombieKind::Tcb, remaining: TCB_SLOTS })
        }
        Cap::Host { host, size_bits } => {
            host::finalise(k, host, size_bits);
            let remaining = 1 << (size_bits - SLOT_BITS);
            Ok(Cap::Zombie { base: host.cast(), kind: ZombieKind::Host { size_bits }, remaining })
        }
        Cap::AsidPool(pool) => asid::finalise_pool(k, pool).map(|()| Cap::Null),
        Cap::PageTable { table, mapping } => {
            page_table::finalise(k, table, mapping);
            Ok(Cap::Null)
        }
        Cap::GivenTable { table, asid, stock } => {
            stock::finalise_table(k, table, asid, stock).map(|()| Cap::Null)
        }
        Cap::VSpace(space) => vspace::finalise(k, space).map(|()| Cap::Null),
        Cap::Timer(timer) => timer::finalise(k, timer).map(|()| Cap::Null),
        Cap::IrqHandler(line) => interrupt::finalise(k, line).map(|()| Cap::Null),
        Cap::Endpoint { endpoint, .. } => endpoint::finalise(k, endpoint).map(|()| Cap::Null),
        Cap::Notification { notification, .. } => notification::finalise(k, notification).map(|()| Cap::Null),
        Cap::Reply { reply, .. } => {
            reply::finalise(k, reply);
            Ok(Cap::Null)
        }
        Cap::SchedContext(context) => {
            sched_context::finalise(k, context);
            Ok(Cap::Null)
        }
        _ => Ok(Cap::Null),
    }
}
