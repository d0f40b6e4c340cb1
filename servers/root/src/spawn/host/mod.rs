//! Building a host (C-44, C-45): its upper half, its contexts and thread, and what its programs are made of.
//!
//! Reading order: [`build`] below, [`upper`] what is mapped in the upper half, [`ground`] spaces, page tables and
//! windows, [`clock`] the time of day. A host is built when every other server has what it was promised, since it is
//! given all that is left; it is never built anew.

mod clock;
mod ground;
mod upper;

use abi::description::HostPlan;
use abi::upper::{self as place, HostHeader, HostInfo, INFO_MAGIC, Mapped, TIMER_BIT};
use abi::{CPtr, ObjectType, PAGE_BITS, PAGE_BYTES, Rights};
use loader::HostProgram;
use runtime::InvocationError;
use runtime::memory::retype;
use runtime::registers::{A0, PC, Registers, Resume, SP, TP};
use runtime::space::{Access, map};
use runtime::stubs::{CNode, Frame, Host, Notification, Tcb, VSpace};
use runtime::thread::{Thread, guard};

use super::{Building, Order, Places, SpawnError, Spawned, Step};
use crate::boot::{HOST_CONTROL, TCB};
use crate::image::{bytes_of, filled_page};
use crate::information::Information;
use crate::parts::Owner;
use crate::territory::Territory;

const PLACES: Places = Places {
    information: place::SERVER_INFO,
    ipc_buffer: place::IPC_BUFFER,
    stack_top: place::STACK_TOP,
    rings: place::RINGS,
};
/// What part of its memory becomes page tables (C-45).
const TABLES_PART: u64 = 64;
/// Bytes of all that is small: thread, time, VSpace, timer, pools, information, IPC buffer.
const OTHER_BYTES: u64 = 0x8_0000;
/// Slots beside those of spaces and tables: fixed ones, channels, and some that stay empty.
const OTHER_SLOTS: u64 = 256;
/// Page tables of the upper half beside the initrd's: those of 13 parts, and of what has small leaves.
const UPPER_TABLES: u64 = 64;

/// Base-2 logarithm of the slots of a host that may be given `bytes` of memory.
fn radix(plan: HostPlan, bytes: u64) -> u8 {
    let slots = OTHER_SLOTS + u64::from(plan.spaces) + bytes / TABLES_PART / PAGE_BYTES;
    let bits = slots.next_power_of_two().trailing_zeros();
    u8::try_from(bits).unwrap_or(u8::MAX).max(abi::server::CNODE_RADIX)
}

/// Bytes for the host's kernel objects, page tables and small pages.
pub(super) fn home_bytes(order: &Order<'_>, plan: HostPlan) -> u64 {
    let cnode = 1 << (radix(plan, order.root.pool.bytes()) + abi::object::SLOT_BITS);
    let tables = UPPER_TABLES + order.boot.info.initrd_bytes / place::LEAF_BYTES;
    cnode + tables * PAGE_BYTES + place::STACK_BYTES + OTHER_BYTES
}

/// Builds a host, not yet running.
pub(super) fn build(
    order: &mut Order<'_>,
    territory: &Territory,
    plan: HostPlan,
) -> Result<Spawned, SpawnError> {
    let program = HostProgram::parse(order.executable()?).map_err(SpawnError::Elf)?;
    let mut memory = territory.memory();
    let radix = radix(plan, order.root.pool.bytes());
    let cnode =
        CNode(memory.make(ObjectType::CNode, radix + abi::object::SLOT_BITS).step("capability space")?);
    let space = VSpace(memory.make(ObjectType::VSpace, 0).step("upper half")?);
    HOST_CONTROL.assign_upper(space).step("upper half")?;
    let information = Information::new(order.boot.info, &order.server, order.restarts, radix);
    let mut building = Building { order, memory, cnode, radix, space, places: PLACES, information };

    let mut host = empty_information(plan);
    host.heap = building.upper_image(&program, plan).step("image")?;
    building.stack(place::STACK_BYTES).step("stack")?;
    host.initrd = building.initrd().step("initrd")?;
    let tcb = building.host_thread(&program.header, plan, &mut host).step("thread")?;
    building.channels().step("channels")?;
    building.timer(&mut host).step("timer")?;
    building.ground(plan, &mut host)?;
    host.realtime_offset_ns = building.realtime_offset_ns().step("clock")?;
    building.seed(&mut host);
    building.information_page().step("information")?;
    building.host_information_page(&host).step("information")?;
    // The image's text was written as data.
    runtime::trap::instruction_barrier();
    Ok(Spawned { tcb })
}

fn empty_information(plan: HostPlan) -> HostInfo {
    HostInfo {
        magic: INFO_MAGIC,
        host_slot: 0,
        timer_slot: 0,
        timer_notification_slot: 0,
        contexts: plan.contexts(),
        spaces: Default::default(),
        tables: Default::default(),
        window_count: 0,
        windows: Default::default(),
        heap: Mapped::default(),
        initrd: Mapped::default(),
        realtime_offset_ns: 0,
        seed_bytes: 0,
        seed: [0; 64],
    }
}

impl Building<'_, '_> {
    /// Makes contexts, Host and the host's thread.
    fn host_thread(
        &mut self,
        header: &HostHeader,
        plan: HostPlan,
        info: &mut HostInfo,
    ) -> Result<Tcb, InvocationError> {
        let context_bits = plan.contexts().trailing_zeros();
        let context_bits = u8::try_from(context_bits).unwrap_or(u8::MAX);
        let contexts = self.contexts(context_bits)?;
        let host = self.order.root.make(ObjectType::Host, context_bits + abi::context::ENTRY_BITS)?;
        let host = Host(host);
        host.configure(HOST_CONTROL, self.space, contexts)?;

        let Order { endpoint, fault_badge, server, .. } = &*self.order;
        let (priority, most) = (u64::from(server.priority), u64::from(server.max_controlled_priority));
        let fault_handler = self.memory.mint(endpoint.0, Rights::ALL, *fault_badge)?;
        let tcb = Tcb(self.memory.make(ObjectType::Tcb, 0)?);
        let ipc_buffer = Frame(self.memory.make(ObjectType::Frame, PAGE_BITS)?);
        map(&mut self.memory, self.space, ipc_buffer, place::IPC_BUFFER, Access::ReadWrite)?;
        // ConfigureHost gives it the upper half.
        tcb.set_space(fault_handler, self.cnode, CPtr::NULL, guard(self.radix))?;
        tcb.set_ipc_buffer(ipc_buffer)?;
        tcb.set_tls_base(place::IPC_BUFFER)?;
        tcb.set_mc_priority(TCB, most)?;
        tcb.set_priority(TCB, priority)?;
        let HostHeader { system_call, fault, interrupted, own_fault, .. } = *header;
        tcb.configure_host(host, place::IPC_BUFFER, system_call, fault, interrupted, own_fault)?;
        tcb.write_registers(Resume::Leave, &first_registers(header))?;
        if let Some(notification) = self.own_notification() {
            // What is signalled brings it back from a program (C-27).
            tcb.bind_notification(notification)?;
        }
        self.give_usual(Thread { tcb, ipc_buffer })?;
        info.host_slot = self.give_next(host.0)?.0;
        Ok(tcb)
    }

    fn own_notification(&self) -> Option<Notification> {
        self.order.parts.notification_of(Owner::Server(self.order.index))
    }

    /// Puts a copy of a capability of root's into the host's next slot.
    fn give_next(&mut self, source: CPtr) -> Result<CPtr, InvocationError> {
        let to = self.information.take_slots(1);
        self.give(source, to.0, Rights::ALL)?;
        Ok(to)
    }

    fn timer(&mut self, info: &mut HostInfo) -> Result<(), InvocationError> {
        let timer = self.memory.make(ObjectType::Timer, 0)?;
        info.timer_slot = self.give_next(timer)?.0;
        let owner = Owner::Server(self.order.index);
        let signal = self.order.parts.signal_to(&mut self.memory, owner, 1 << TIMER_BIT)?;
        info.timer_notification_slot = self.give_next(signal)?.0;
        Ok(())
    }

    fn seed(&self, info: &mut HostInfo) {
        let given = self.order.boot.info;
        info.seed = given.rng_seed;
        info.seed_bytes = given.rng_seed_bytes;
    }

    fn host_information_page(&mut self, info: &HostInfo) -> Result<(), InvocationError> {
        let frame = filled_page(self.order.root, &mut self.memory, 0, bytes_of(info))?;
        map(&mut self.memory, self.space, frame, place::HOST_INFO, Access::Read)
    }

    /// Makes objects of one type from an Untyped, straight into the host's slots.
    fn retype_for_host(
        &self,
        untyped: CPtr,
        object: ObjectType,
        size_bits: u8,
        first: CPtr,
        count: u64,
    ) -> Result<(), InvocationError> {
        retype(self.cnode, untyped, object, size_bits, first, count)
    }
}

fn first_registers(header: &HostHeader) -> Registers {
    let mut registers: Registers = [0; 32];
    let values = [
        (PC, header.start),
        (SP, place::STACK_TOP),
        (TP, place::IPC_BUFFER),
        (A0, place::SERVER_INFO),
        (A0 + 1, place::HOST_INFO),
    ];
    for (number, value) in values {
        if let Some(register) = registers.get_mut(number) {
            *register = value;
        }
    }
    registers
}
