//! Root itself: its objects, its address space, its thread.
//!
//! Its memory is in no Untyped, so it is never given back; the capabilities to it are originals.

use core::cell::Cell;

use abi::boot_info::{
    ARCHIVE_ADDRESS, BOOT_INFO_ADDRESS, BootInfo, IPC_BUFFER_ADDRESS, ROOT_CNODE_RADIX, STACK_TOP, slot,
};
use abi::object::{ASIDS_PER_POOL, ObjectSize, SLOT_BITS};
use abi::{ObjectType, PAGE_BITS, PAGE_BYTES};

use super::memory::BootMemory;
use super::space::{self, Use};
use super::{BootError, Description, take_cleared};
use crate::address::PhysAddr;
use crate::arch::Machine;
use crate::capability::cap::{Cap, Guard, Slot};
use crate::capability::codec::tcb_slots;
use crate::capability::derivation;
use crate::entry;
use crate::kernel::Kernel;
use crate::object::asid::{self, AsidPool, Place};
use crate::object::create::{Blueprint, create};
use crate::object::sched_context::{self, SchedContext};
use crate::object::store::Ref;
use crate::object::thread::{Tcb, TcbSlot, life, register};
use crate::object::vspace::{self, Owner, VSpace};

/// Bytes of root's stack.
const STACK_BYTES: u64 = 256 * 1024;
/// Root's time: round robin in turns of 10 ms.
const TURNS_PER_SECOND: u64 = 100;
/// Root's priority and the highest that it may give.
const PRIORITY: u64 = 255;
/// The first identifier of the first pool is root's.
pub const ASID: u16 = 0;

const _: () = assert!(size_of::<BootInfo>() as u64 <= PAGE_BYTES);

/// Root's objects.
#[derive(Debug)]
pub struct Root {
    /// The first slot of its CNode.
    cnode: Ref<Slot>,
    /// Its address space.
    pub space: Ref<VSpace>,
    /// The pool of its identifier.
    pub pool: Ref<AsidPool>,
    /// Its thread.
    pub thread: Ref<Tcb>,
    /// Its scheduling context.
    pub context: Ref<SchedContext>,
    /// Where its IPC buffer lies.
    pub buffer: PhysAddr,
    /// Where its boot information lies.
    pub info: PhysAddr,
}

impl Root {
    /// Makes the objects and maps all that root finds at its beginning.
    ///
    /// # Errors
    ///
    /// See [`BootError`].
    pub fn new<M: Machine>(
        k: &mut Kernel<M>,
        memory: &mut BootMemory,
        description: &Description<'_>,
    ) -> Result<Self, BootError> {
        let Cap::CNode { base: cnode, .. } =
            make(k, memory, ObjectType::CNode, ROOT_CNODE_RADIX + SLOT_BITS)?
        else {
            return Err(BootError::Internal);
        };
        let Cap::VSpace(space) = make_fixed(k, memory, ObjectType::VSpace)? else {
            return Err(BootError::Internal);
        };
        let (buffer, info) = Self::fill_space(k, memory, space, description)?;
        let Cap::Tcb(thread) = make_fixed(k, memory, ObjectType::Tcb)? else {
            return Err(BootError::Internal);
        };
        let Cap::SchedContext(context) = make_fixed(k, memory, ObjectType::SchedContext)? else {
            return Err(BootError::Internal);
        };
        let pool = super::reference(take_cleared(&k.machine, memory, bits_of(ObjectType::AsidPool)?)?)?;
        let place =
            Place { number: usize::from(ASID) / ASIDS_PER_POOL, index: usize::from(ASID) % ASIDS_PER_POOL };
        *k.asids.pools.get_mut(place.number).ok_or(BootError::Internal)? = Some(pool);
        asid::assign(k, space, pool, place);
        vspace::claim(k, space, Owner::Native).map_err(|_| BootError::Internal)?;
        Ok(Self { cnode, space, pool, thread, context, buffer, info })
    }

    /// Maps segments, stack, IPC buffer, boot information and archive; answers where the IPC buffer and
    /// the boot information lie.
    fn fill_space<M: Machine>(
        k: &Kernel<M>,
        memory: &mut BootMemory,
        space: Ref<VSpace>,
        description: &Description<'_>,
    ) -> Result<(PhysAddr, PhysAddr), BootError> {
        for segment in description.archive.root_segments() {
            space::map_segment(k, memory, space, description.archive_start, segment)?;
        }
        for page in (0..STACK_BYTES).step_by(1 << PAGE_BITS) {
            space::map_fresh(k, memory, space, STACK_TOP - STACK_BYTES + page, Use::Data)?;
        }
        let buffer = space::map_fresh(k, memory, space, IPC_BUFFER_ADDRESS, Use::Data)?;
        let info = space::map_fresh(k, memory, space, BOOT_INFO_ADDRESS, Use::Constant)?;
        for offset in (0..description.archive.size()).step_by(1 << PAGE_BITS) {
            let page = PhysAddr(description.archive_start.0 + offset);
            space::map(k, memory, space, ARCHIVE_ADDRESS + offset, (page, Use::Constant))?;
        }
        Ok((buffer, info))
    }

    /// The CNode's capability: slot numbers are addresses.
    pub const fn cnode_cap(&self) -> Cap {
        Cap::CNode {
            base: self.cnode,
            radix: ROOT_CNODE_RADIX,
            guard: Guard { bits: 64 - ROOT_CNODE_RADIX, value: 0 },
        }
    }

    /// Slot `number` of the CNode.
    pub const fn slot(&self, number: u64) -> Ref<Slot> {
        self.cnode.element(number)
    }

    /// Writes the boot information to its page.
    ///
    /// # Errors
    ///
    /// [`BootError::Internal`].
    pub fn show_boot_info<M: Machine>(&self, k: &Kernel<M>, info: BootInfo) -> Result<(), BootError> {
        let place: Ref<Cell<BootInfo>> = super::reference(self.info)?;
        k.get(place).set(info);
        Ok(())
    }

    /// Lets root run from `entry`, once its capabilities are in their slots.
    ///
    /// # Errors
    ///
    /// [`BootError::Internal`].
    pub fn run<M: Machine>(&self, k: &mut Kernel<M>, entry: u64) -> Result<(), BootError> {
        for (source, own) in [
            (slot::CNODE, TcbSlot::CSpace),
            (slot::VSPACE, TcbSlot::VSpace),
            (slot::IPC_BUFFER, TcbSlot::IpcBuffer),
        ] {
            let source = self.slot(source);
            let cap = k.get(source).cap();
            let cap = derivation::derive(k, source, cap).map_err(|_| BootError::Internal)?;
            derivation::insert(k, cap, source, tcb_slots(self.thread).element(own as u64));
        }
        let tcb = k.get(self.thread);
        for (number, value) in
            [(register::PC, entry), (register::SP, STACK_TOP), (register::A0, BOOT_INFO_ADDRESS)]
        {
            tcb.registers.get(number).ok_or(BootError::Internal)?.set(value);
        }
        tcb.priority.set(PRIORITY);
        tcb.max_priority.set(PRIORITY);
        let turn = k.machine.ticks_per_second() / TURNS_PER_SECOND;
        sched_context::configure(k, self.context, turn, turn, 0);
        sched_context::bind(k, self.context, self.thread);
        life::resume(k, self.thread).map_err(|_| BootError::Internal)?;
        entry::leave(k);
        Ok(())
    }
}

/// Makes an object of a type with one size.
fn make_fixed<M: Machine>(
    k: &Kernel<M>,
    memory: &mut BootMemory,
    object_type: ObjectType,
) -> Result<Cap, BootError> {
    make(k, memory, object_type, bits_of(object_type)?)
}

fn make<M: Machine>(
    k: &Kernel<M>,
    memory: &mut BootMemory,
    object_type: ObjectType,
    size_bits: u8,
) -> Result<Cap, BootError> {
    let base = take_cleared(&k.machine, memory, size_bits)?.in_window();
    create(k, &Blueprint { object_type, size_bits, base, is_device: false, clean: 0 })
        .ok_or(BootError::Internal)
}

fn bits_of(object_type: ObjectType) -> Result<u8, BootError> {
    match object_type.size() {
        ObjectSize::Fixed(bits) => Ok(bits),
        ObjectSize::Variable(..) | ObjectSize::None => Err(BootError::Internal),
    }
}
