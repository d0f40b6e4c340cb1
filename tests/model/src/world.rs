//! A small world for the hot path: a client, a server that waits with a Reply, and what belongs to them,
//! laid by hand into the mock machine's memory, where both the hot path's bytes and the core run on it.

use std::mem::offset_of;

use abi::Syscall;
use microkernel::address::{PhysAddr, WindowAddr};
use microkernel::arch::Machine;
use microkernel::arch::mock::{MEMORY_BASE, MockMachine};
use microkernel::capability::cap::{Slot, tag};
use microkernel::kernel::Core;
use microkernel::object::endpoint::{Endpoint, EndpointState};
use microkernel::object::reply::Reply;
use microkernel::object::sched_context::SchedContext;
use microkernel::object::store::{Ref, Store};
use microkernel::object::thread::{Tcb, ThreadState, register};
use microkernel::object::vspace::VSpace;

use crate::interpreter::{Memory, Registers};

/// Where the core's block appears to the hot path (KS0); it is no object of the store.
pub const CORE_ADDRESS: u64 = 0x9000_00ff_0000_0000;
/// Control registers that the hot path uses, by number.
pub mod control {
    /// Unit enables.
    pub const EUEN: u32 = 0x2;
    /// Where `ertn` goes.
    pub const ERA: u32 = 0x6;
    /// Identifier.
    pub const ASID: u32 = 0x18;
    /// Root of the lower half.
    pub const PGDL: u32 = 0x19;
    /// The core's block.
    pub const KS0: u32 = 0x30;
    /// The current thread.
    pub const KS1: u32 = 0x31;
}

/// Slots of both threads' capability space.
pub mod slot {
    /// The endpoint, with every right.
    pub const ENDPOINT: u64 = 1;
    /// The server's Reply.
    pub const REPLY: u64 = 2;
    /// Slots in all.
    pub const COUNT: u64 = 16;
}

/// The world: a machine's memory and where the objects lie in it.
#[derive(Clone, Debug)]
pub struct World {
    /// The machine.
    pub machine: MockMachine,
    /// Highest ready priority of the core.
    pub top_ready: u64,
    /// The thread that calls.
    pub client: Ref<Tcb>,
    /// The passive server.
    pub server: Ref<Tcb>,
    /// Where they meet.
    pub endpoint: Ref<Endpoint>,
    /// The server's Reply.
    pub reply: Ref<Reply>,
    /// A Reply below it on the context's stack, in a nested call.
    pub older_reply: Ref<Reply>,
    /// The client's scheduling context.
    pub context: Ref<SchedContext>,
    /// Their spaces: client's, server's.
    pub spaces: [Ref<VSpace>; 2],
    /// First slot of the capability space.
    pub slots: Ref<Slot>,
}

/// A reference at an offset in the mock's memory.
fn place<T>(offset: u64) -> Ref<T> {
    let address = PhysAddr(MEMORY_BASE + offset).in_window().0;
    match Ref::from_raw(address) {
        Some(reference) => reference,
        None => unreachable!("window addresses are not 0"),
    }
}

/// A badge that no other value in the world looks like.
pub const BADGE: u64 = 0xbad6_e000_0000_0001;

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl World {
    /// The client runs with its own context, the server waits at the endpoint.
    #[must_use]
    pub fn new() -> Self {
        let world = Self {
            machine: MockMachine::new(0x4_0000),
            top_ready: 0,
            client: place(0),
            server: place(0x400),
            endpoint: place(0x800),
            reply: place(0x840),
            older_reply: place(0x880),
            context: place(0xc00),
            spaces: [place(0x8000), place(0x1_0000)],
            slots: place(0x1000),
        };
        for (index, (thread, space)) in [world.client, world.server].into_iter().zip(world.spaces).enumerate()
        {
            let number = u64::try_from(index).unwrap_or(0) + 1;
            let tcb = world.machine.get(thread);
            tcb.cspace_size.set(slot::COUNT);
            tcb.cspace_base.set(world.slots.raw());
            tcb.priority.set(100);
            tcb.prmd.set(7);
            tcb.vspace.set(Some(space));
            for (register, value) in tcb.registers.iter().enumerate().skip(1) {
                value.set(number << 32 | u64::try_from(register).unwrap_or(0));
            }
            tcb.registers.first().into_iter().for_each(|pc| pc.set(0x1_2000_0000 + number * 0x1000));
            let space = world.machine.get(space);
            space.hardware_asid.set(number);
            space.root_address.set(0x10_0000 * number);
            space.asid.set(number + 1);
        }
        world.write(world.slots.element(slot::ENDPOINT), world.endpoint.raw() | tag::ENDPOINT | 15, BADGE);
        world.write(world.slots.element(slot::REPLY), world.reply.raw() | tag::REPLY | 1, 0);
        let server = world.machine.get(world.server);
        server.set_state(ThreadState::BlockedOnReceive, Some(world.reply));
        server.blocked_on.set(world.endpoint.raw());
        world.machine.get(world.reply).thread.set(Some(world.server));
        world.machine.get(world.endpoint).head.set(world.server.raw() | EndpointState::OneReceiver as u64);
        world.machine.get(world.client).sched_context.set(Some(world.context));
        let context = world.machine.get(world.context);
        context.thread.set(Some(world.client));
        context.budget.set(1_000_000);
        context.period.set(1_000_000);
        context.remaining.set(1_000_000);
        world
    }

    /// The client itself answers somebody: its context already has a Reply on its stack.
    pub fn nest(&self) {
        let older = self.machine.get(self.older_reply);
        older.sched_context.set(Some(self.context));
        older.thread.set(Some(self.server));
        self.machine.get(self.context).reply.set(Some(self.older_reply));
    }

    fn write(&self, slot: Ref<Slot>, object: u64, data: u64) {
        let slot = self.machine.get(slot);
        slot.object.set(object);
        slot.data.set(data);
    }

    /// The registers of a thread in `syscall 0`, before the first instruction of the kernel.
    #[must_use]
    pub fn registers(&self, thread: Ref<Tcb>, call: Syscall, arguments: [u64; 3]) -> Registers {
        let tcb = self.machine.get(thread);
        let mut registers = Registers::default();
        for (to, from) in registers.general.iter_mut().zip(&tcb.registers).skip(1) {
            *to = from.get();
        }
        for (to, value) in [register::A0, register::A1, register::A2].into_iter().zip(arguments) {
            registers.general.get_mut(to).into_iter().for_each(|place| *place = value);
        }
        registers.general.get_mut(register::A7).into_iter().for_each(|place| *place = call.raw());
        let space = tcb.vspace.get().map(|space| self.machine.get(space));
        registers.control.extend([
            (control::KS0, CORE_ADDRESS),
            (control::KS1, thread.raw()),
            (control::ERA, tcb.registers.first().map_or(0, core::cell::Cell::get)),
            (control::PGDL, space.map_or(0, |space| space.root_address.get())),
            (control::ASID, space.map_or(0, |space| space.hardware_asid.get())),
            (control::EUEN, tcb.euen.get()),
        ]);
        registers
    }

    /// True for an address that the mock's memory has.
    fn is_memory(address: u64) -> bool {
        let offset = WindowAddr(address).physical().0.wrapping_sub(MEMORY_BASE);
        address.is_multiple_of(8) && address >> 48 == 0x9000 && offset < 0x4_0000
    }
}

impl Memory for World {
    fn load(&mut self, address: u64) -> Option<u64> {
        if address == CORE_ADDRESS + u64::try_from(offset_of!(Core, top_ready)).ok()? {
            return Some(self.top_ready);
        }
        Self::is_memory(address).then(|| self.machine.load(WindowAddr(address)))
    }

    fn store(&mut self, address: u64, value: u64) -> Option<()> {
        Self::is_memory(address).then(|| self.machine.store(WindowAddr(address), value))
    }
}
