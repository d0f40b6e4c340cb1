//! The kernel's whole mutable state.

use core::cell::Cell;
use core::mem::offset_of;

use crate::address::PhysAddr;
use crate::arch::{CoreId, HardwareAsid, Machine, Ticks};
use crate::capability::cap::Slot;
use crate::event_log::EventLog;
use crate::object::asid::AsidPool;
use crate::object::host::{Host, HostedContext};
use crate::object::sched_context::SchedContext;
use crate::object::store::{Object, Ref};
use crate::object::thread::{Exit, Tcb, ThreadState};
use crate::object::timer::Timer;
use crate::object::vspace::VSpace;
use crate::scheduler::ready_queue::ReadyQueue;

/// Cores that the kernel can hold; one runs (C-51).
pub const MAX_CORES: usize = 1;
/// Pools that can exist at a time: 65,536 address spaces.
pub const ASID_POOLS: usize = 128;
/// Upper halves that can exist at a time.
pub const UPPER_SPACES: usize = 16;
/// Hardware identifiers, with the empty space's 0.
pub const HARDWARE_ASIDS: usize = 1024;
/// PRMD of the idle thread: the kernel's own privilege level, with interrupts on.
const IDLE_PRMD: u64 = 4;

/// What belongs to one core; the hot path reaches it through KS0.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Core {
    /// Highest priority in the ready queue, 0 when it is empty: a thread with at least this priority may be
    /// switched to without asking the scheduler.
    pub top_ready: Cell<u64>,
    /// Top of the kernel's stack.
    pub stack_top: Cell<u64>,
    /// The thread whose registers are the machine's. The hot path changes it in KS1 only; the way into the
    /// slow path writes it here, the way out reads it.
    pub current: Cell<Option<Ref<Tcb>>>,
    /// The core's idle thread.
    pub idle: Cell<Option<Ref<Tcb>>>,
    /// Words for the entry code.
    pub scratch: [Cell<u64>; 4],

    /// The context that is being charged since `charged_from`.
    pub charged: Cell<Option<Ref<SchedContext>>>,
    /// When the current charge began.
    pub charged_from: Cell<Ticks>,
    /// The space whose root PGDL holds; none for the empty space.
    pub space: Cell<Option<Ref<VSpace>>>,
    /// The threads that can run.
    pub ready: ReadyQueue,
    /// First of the threads that wait for their refill.
    pub release_head: Cell<Option<Ref<Tcb>>>,
    /// The timer object that is due first, the root of all that are armed.
    pub timers: Cell<Option<Ref<Timer>>>,
    /// What the timer is set to; [`Ticks::NEVER`] when it is not set or has rung.
    pub deadline: Cell<Ticks>,
    /// Not 0: the vectors are those of hosts (C-13).
    pub hosted: Cell<u64>,
    /// The upper half whose root PGDH holds; none for the empty one.
    pub upper: Cell<Option<Ref<VSpace>>>,
    /// The context whose state is in the vector unit (C-30).
    pub vector_owner: Cell<Option<Ref<HostedContext>>>,
    /// Its Host.
    pub vector_host: Cell<Option<Ref<Host>>>,
}

const _: () = assert!(offset_of!(Core, ready) % 8 == 0);

/// Which address spaces have which identifiers.
#[derive(Clone, Debug)]
pub struct AsidTable {
    /// The pools, by the high bits of an identifier.
    pub pools: [Option<Ref<AsidPool>>; ASID_POOLS],
    /// The upper halves, by their own identifiers (C-43).
    pub upper: [Option<Ref<VSpace>>; UPPER_SPACES],
    /// The spaces that have a hardware identifier, by that.
    pub hardware: [Option<Ref<VSpace>>; HARDWARE_ASIDS],
    /// Where the search for the next to lend or steal begins.
    pub next: usize,
    /// Stocks of page tables that there have been: each has a number of its own for ever.
    pub stocks: u64,
}

/// The kernel: a machine, its cores, and what all share. Everything else lies in objects.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Kernel<M: Machine> {
    /// What belongs to each core.
    pub cores: [Core; MAX_CORES],
    /// Address-space identifiers.
    pub asids: AsidTable,
    /// Slots of the notifications that interrupts signal: [`crate::arch::IRQ_LINES`] of them.
    pub irq_slots: Ref<Slot>,
    /// Lines that have a handler, a bit each.
    pub irq_taken: u64,
    /// The space that threads without one run in: an empty root, identifier 0.
    pub empty_root: PhysAddr,
    /// What happened last, for a panic.
    pub log: EventLog,
    /// The machine.
    pub machine: M,
}

/// Memory that the kernel keeps for itself: all zero, taken at boot, never given back.
#[derive(Clone, Copy, Debug)]
pub struct OwnMemory {
    /// The boot core's idle thread.
    pub idle: Ref<Tcb>,
    /// Slots of the notifications that interrupts signal: [`crate::arch::IRQ_LINES`] of them.
    pub irq_slots: Ref<Slot>,
    /// A page table that nothing is ever written to.
    pub empty_root: PhysAddr,
}

impl Core {
    /// A core with nothing to run but its idle thread.
    pub const fn new(idle: Ref<Tcb>) -> Self {
        Self {
            top_ready: Cell::new(0),
            stack_top: Cell::new(0),
            current: Cell::new(Some(idle)),
            idle: Cell::new(Some(idle)),
            scratch: [const { Cell::new(0) }; 4],
            charged: Cell::new(None),
            charged_from: Cell::new(Ticks(0)),
            space: Cell::new(None),
            ready: ReadyQueue::new(),
            release_head: Cell::new(None),
            timers: Cell::new(None),
            deadline: Cell::new(Ticks::NEVER),
            hosted: Cell::new(0),
            upper: Cell::new(None),
            vector_owner: Cell::new(None),
            vector_host: Cell::new(None),
        }
    }
}

impl<M: Machine> Kernel<M> {
    /// A kernel in which nothing is: no address space, no interrupt handler, and the idle thread current.
    pub fn new(machine: M, own: OwnMemory) -> Self {
        let kernel = Self {
            cores: [Core::new(own.idle)],
            asids: AsidTable {
                pools: [None; ASID_POOLS],
                upper: [None; UPPER_SPACES],
                hardware: [None; HARDWARE_ASIDS],
                next: 1,
                stocks: 0,
            },
            irq_slots: own.irq_slots,
            irq_taken: 0,
            empty_root: own.empty_root,
            log: EventLog::default(),
            machine,
        };
        let idle = kernel.get(own.idle);
        idle.set_state(ThreadState::Idle, None);
        idle.prmd.set(IDLE_PRMD);
        idle.exit.set(Exit::Full as u64);
        kernel
    }

    /// The object at `reference`.
    pub fn get<T: Object>(&self, reference: Ref<T>) -> &T {
        self.machine.get(reference)
    }

    /// The block of the core that executes this.
    pub fn core(&self) -> &Core {
        let CoreId(index) = self.machine.core();
        // A core's number is below MAX_CORES by construction; the first stands in where it is not.
        self.cores.get(index).unwrap_or(&self.cores[0])
    }

    /// The block of the core that a thread is at home on.
    pub fn home_core(&self, thread: Ref<Tcb>) -> &Core {
        let CoreId(index) = self.get(thread).home_core();
        self.cores.get(index).unwrap_or(&self.cores[0])
    }

    /// The thread whose call, fault or interrupt is being handled; the idle thread when none ran.
    pub fn current(&self) -> Ref<Tcb> {
        let core = self.core();
        match core.current.get().or(core.idle.get()) {
            Some(thread) => thread,
            None => unreachable!("a core has its idle thread from boot on"),
        }
    }

    /// The identifier of the empty space.
    pub const EMPTY_ASID: HardwareAsid = HardwareAsid(0);
}
