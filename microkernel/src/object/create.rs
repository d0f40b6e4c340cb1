//! What an object is right after it was made: Retype and boot put objects into memory here.

use abi::object::SLOT_BITS;
use abi::{ObjectType, Rights};

use crate::address::WindowAddr;
use crate::arch::Machine;
use crate::capability::cap::{Cap, FrameCap, Guard, Place, Slot, UntypedCap};
use crate::kernel::Kernel;
use crate::object::endpoint::Endpoint;
use crate::object::notification::Notification;
use crate::object::reply::Reply;
use crate::object::sched_context::SchedContext;
use crate::object::store::Ref;
use crate::object::thread::{self, Tcb};
use crate::object::timer::Timer;
use crate::object::vspace::VSpace;

/// An object that is to be.
#[derive(Clone, Copy, Debug)]
pub struct Blueprint {
    /// Its type: one that Retype makes.
    pub object_type: ObjectType,
    /// Base-2 logarithm of its bytes.
    pub size_bits: u8,
    /// Where it lies: aligned to its size, and all zero unless it is an Untyped or a device's.
    pub base: WindowAddr,
    /// Device memory.
    pub is_device: bool,
    /// For an Untyped: how many of its bytes, from its start, are known to be zero.
    pub clean: u64,
}

/// Brings the object into its first state and answers its original capability; `None` for a type that is
/// not made from memory.
pub fn create<M: Machine>(k: &Kernel<M>, plan: &Blueprint) -> Option<Cap> {
    let base = Ref::<Slot>::from_raw(plan.base.0)?;
    let home = thread::home_word(k.machine.core());
    Some(match plan.object_type {
        ObjectType::Untyped => Cap::Untyped(UntypedCap {
            base: plan.base,
            size_bits: plan.size_bits,
            is_device: plan.is_device,
            free: 0,
            clean_end: plan.clean,
        }),
        ObjectType::CNode => {
            Cap::CNode { base, radix: plan.size_bits.checked_sub(SLOT_BITS)?, guard: Guard::default() }
        }
        ObjectType::Tcb => {
            let thread: Ref<Tcb> = base.cast();
            for slot in &k.get(thread).slots {
                slot.set_place(Place::Tcb);
            }
            thread::initialise(k, thread);
            Cap::Tcb(thread)
        }
        ObjectType::Endpoint => {
            let endpoint: Ref<Endpoint> = base.cast();
            k.get(endpoint).home.set(home);
            Cap::Endpoint { endpoint, badge: 0, rights: Rights::ALL }
        }
        ObjectType::Reply => {
            let reply: Ref<Reply> = base.cast();
            k.get(reply).home.set(home);
            Cap::Reply { reply, rights: Rights::GRANT }
        }
        ObjectType::Notification => {
            let notification: Ref<Notification> = base.cast();
            k.get(notification).home.set(home);
            Cap::Notification { notification, badge: 0, rights: Rights::READ_WRITE }
        }
        ObjectType::SchedContext => {
            let context: Ref<SchedContext> = base.cast();
            k.get(context).home.set(home);
            Cap::SchedContext(context)
        }
        ObjectType::Timer => {
            let timer: Ref<Timer> = base.cast();
            k.get(timer).home.set(home);
            Cap::Timer(timer)
        }
        ObjectType::PageTable => Cap::PageTable { table: base.cast(), mapping: None },
        ObjectType::Frame => Cap::Frame(FrameCap {
            base: plan.base,
            size_bits: plan.size_bits,
            is_device: plan.is_device,
            rights: Rights::READ_WRITE,
            mapping: None,
        }),
        ObjectType::VSpace => {
            let space: Ref<VSpace> = base.cast();
            let root = core::mem::offset_of!(VSpace, root) as u64;
            k.get(space).root_address.set(plan.base.offset(root).physical().0);
            k.get(space).windows.iter().for_each(|slot| slot.set_place(Place::Window));
            Cap::VSpace(space)
        }
        ObjectType::Host => Cap::Host { host: base.cast(), size_bits: plan.size_bits },
        _ => return None,
    })
}
