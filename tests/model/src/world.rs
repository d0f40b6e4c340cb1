//! A small world for the hot path: a client, a server that waits with a Reply, and what belongs to them,
//! laid by hand into the mock machine's memory, where both the hot path's bytes and the core run on it.

use std::mem::offset_of;

use abi::{Rights, Syscall};
use microkernel::address::{PhysAddr, WindowAddr};
use microkernel::arch::Machine;
use microkernel::arch::mock::{MEMORY_BASE, MockMachine};
use microkernel::capability::cap::{Cap, Guard, Slot};
use microkernel::kernel::{Core, Kernel, OwnMemory};
use microkernel::object::endpoint::{Endpoint, EndpointState};
use microkernel::object::reply::Reply;
use microkernel::object::sched_context::SchedContext;
use microkernel::object::store::{Ref, Store};
use microkernel::object::thread::{Tcb, ThreadState, register};
use microkernel::object::vspace::VSpace;
use microkernel::scheduler::ready_queue::{self, Place};

use crate::interpreter::{Memory, Registers};

/// Where the core's block appears to the hot path (KS0); it is no object of the store.
pub const CORE_ADDRESS: u64 = 0x9000_00ff_0000_0000;
/// Control registers that the hot path uses, by number.
pub mod control {
    /// Mode before the trap.
    pub const PRMD: u32 = 0x1;
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
    /// A host's block.
    pub const KS2: u32 = 0x32;
    /// A host's entry for system calls.
    pub const KS3: u32 = 0x33;
    /// Scratch.
    pub const KS4: u32 = 0x34;
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
    /// Priority of the third thread, if it is ready.
    pub ready: Option<u64>,
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
    /// A third thread, which other threads may have to make way for.
    pub other: Ref<Tcb>,
}

/// Radix of the capability space.
const RADIX: u8 = 4;

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
            ready: None,
            client: place(0),
            server: place(0x400),
            endpoint: place(0x800),
            reply: place(0x840),
            older_reply: place(0x880),
            context: place(0xc00),
            spaces: [place(0x8000), place(0x1_0000)],
            slots: place(0x1000),
            other: place(0x1400),
        };
        for (index, (thread, space)) in [world.client, world.server].into_iter().zip(world.spaces).enumerate()
        {
            let number = u64::try_from(index).unwrap_or(0) + 1;
            let tcb = world.machine.get(thread);
            tcb.slots.first().into_iter().for_each(|root| {
                root.set_cap(Cap::CNode {
                    base: world.slots,
                    radix: RADIX,
                    guard: Guard { bits: 64 - RADIX, value: 0 },
                });
            });
            tcb.cspace_size.set(slot::COUNT);
            tcb.cspace_base.set(world.slots.raw());
            tcb.priority.set(100);
            tcb.prmd.set(7);
            tcb.tls_base.set(number << 40);
            tcb.vspace.set(Some(space));
            for (register, value) in tcb.registers.iter().enumerate().skip(1) {
                value.set(number << 32 | u64::try_from(register).unwrap_or(0));
            }
            tcb.tls_base.set(number << 32 | 0x7_1500);
            tcb.registers.first().into_iter().for_each(|pc| pc.set(0x1_2000_0000 + number * 0x1000));
            let root = space.address().physical().0 + offset_of!(VSpace, root) as u64;
            let space = world.machine.get(space);
            space.hardware_asid.set(number);
            space.root_address.set(root);
            space.asid.set(number + 1);
        }
        world.set_rights(Rights::ALL, Rights::ALL);
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

    /// Gives both threads these rights to the endpoint and to the Reply.
    pub fn set_rights(&self, endpoint: Rights, reply: Rights) {
        let cap = Cap::Endpoint { endpoint: self.endpoint, badge: BADGE, rights: endpoint };
        self.machine.get(self.slots.element(slot::ENDPOINT)).set_cap(cap);
        let cap = Cap::Reply { reply: self.reply, rights: reply.intersection(Rights::GRANT) };
        self.machine.get(self.slots.element(slot::REPLY)).set_cap(cap);
    }

    /// The kernel's value over this memory, with `thread` running on the client's context.
    #[must_use]
    pub fn kernel(&self, thread: Ref<Tcb>) -> Kernel<MockMachine> {
        let own = OwnMemory {
            idle: place(0x1800),
            irq_slots: place(0x2000),
            empty_root: PhysAddr(MEMORY_BASE + 0x4000),
        };
        let k = Kernel::new(self.machine.clone(), own);
        let core = k.core();
        core.current.set(Some(thread));
        core.charged.set(Some(self.context));
        core.space.set(k.get(thread).vspace.get());
        if let Some(priority) = self.ready {
            let other = k.get(self.other);
            other.priority.set(priority);
            ready_queue::insert(&k, self.other, Place::Last);
        }
        k
    }

    /// The machine's memory as words, without what only one of the two paths keeps there: saved registers
    /// and [`Tcb::attempt`] of threads, `can_grant` of a Reply that waits, and the third thread.
    #[must_use]
    pub fn words(&self, machine: &MockMachine) -> Vec<(u64, u64)> {
        let threads = [self.client, self.server].map(Ref::raw);
        let saved = offset_of!(Tcb, registers) as u64..offset_of!(Tcb, registers) as u64 + 256;
        let is_kept = |address: u64| {
            let in_thread = threads.iter().any(|thread| {
                let offset = address.wrapping_sub(*thread);
                saved.contains(&offset) || offset == offset_of!(Tcb, attempt) as u64
            });
            let waits = [self.reply, self.older_reply].iter().any(|reply| {
                address == reply.raw() + offset_of!(Reply, can_grant) as u64
                    && machine.get(*reply).sched_context.get().is_none()
            });
            !in_thread && !waits && !(0x1400..0x1c00).contains(&(address - self.client.raw()))
        };
        let end = self.spaces.iter().map(|space| space.raw() + 64);
        let objects = self.client.raw()..self.client.raw() + 0x2000;
        objects
            .step_by(8)
            .chain(end.flat_map(|end| (end - 64..end).step_by(8)))
            .filter(|address| is_kept(*address))
            .map(|address| (address, machine.load(WindowAddr(address))))
            .collect()
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
            return Some(self.ready.unwrap_or(0));
        }
        Self::is_memory(address).then(|| self.machine.load(WindowAddr(address)))
    }

    fn store(&mut self, address: u64, value: u64) -> Option<()> {
        Self::is_memory(address).then(|| self.machine.store(WindowAddr(address), value))
    }
}
