//! A kernel on the mock with threads that make calls as programs do: operation and arguments in registers,
//! in through the kernel's entries, out through what the machine's exit would load.
//!
//! All threads share one capability space; number `n` is slot `n` of it. An administrator of the highest
//! priority waits for interrupt [`LINE`] and carries out what [`World::admin`] asks for, so whatever a story
//! does to others from outside preempts the thread that runs. Every entry is followed by the check of
//! [`invariant::threads`], and of C-8 on the registers of whoever goes on.

mod happening;
mod making;

use std::mem::offset_of;

use abi::message::{IpcBuffer, REGISTERS};
use abi::{Error, MessageInfo, Method, Rights, Syscall};
use microkernel::address::{PhysAddr, WindowAddr};
use microkernel::arch::mock::{MEMORY_BASE, MockMachine};
use microkernel::arch::{CoreId, HardwareAsid, Interrupt, IrqLine, Machine, Ticks};
use microkernel::capability::cap::{Cap, FrameCap, Guard, Place, Slot};
use microkernel::capability::derivation;
use microkernel::entry::{self, Exception};
use microkernel::invariant;
use microkernel::invariant::threads::Objects;
use microkernel::kernel::{Kernel, OwnMemory};
use microkernel::object::asid::AsidPool;
use microkernel::object::endpoint::Endpoint;
use microkernel::object::notification::Notification;
use microkernel::object::page_table::PageTable;
use microkernel::object::reply::Reply;
use microkernel::object::sched_context::SchedContext;
use microkernel::object::store::Ref;
use microkernel::object::thread::{self, Exit, Tcb, TcbSlot, register, slots};
use microkernel::object::vspace::VSpace;

/// The CNode's own capability.
pub(crate) const CNODE: u64 = 1;
/// SchedControl of the only core.
pub(crate) const SCHED_CONTROL: u64 = 2;
/// Debug.
pub(crate) const DEBUG: u64 = 3;
/// The administrator's Tcb.
pub(crate) const ADMIN: u64 = 4;
const ADMIN_EVENT: u64 = 5;
const SPACE: u64 = 6;
const FIRST_FREE: u64 = 8;
const RADIX: u8 = 15;
/// What a world needs beside its CNode and its threads.
const FIXED_BYTES: u64 = 256 << 10;
/// What the administrator waits for.
const LINE: IrqLine = IrqLine(9);
/// Stands in registers that nobody may see again.
const POISON: u64 = 0xdead_0000_dead_0000;

/// A second in ticks of the mock's clock.
pub(crate) const SECOND: u64 = 100_000_000;
/// The budget and period of contexts that never end in a story.
pub(crate) const LONG: u64 = SECOND * 1000;

/// A thread: its object and the number of its capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thread {
    pub(crate) tcb: Ref<Tcb>,
    pub(crate) cap: u64,
    /// Its IPC buffer.
    pub(crate) buffer: WindowAddr,
}

/// What a thread puts into registers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Call<'a> {
    pub(crate) a0: u64,
    pub(crate) info: MessageInfo,
    pub(crate) a2: u64,
    pub(crate) t0: u64,
    pub(crate) words: &'a [u64],
}

/// What a thread finds in its registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) badge: u64,
    pub(crate) info: MessageInfo,
    pub(crate) words: [u64; 8],
}

impl Received {
    /// The error that the kernel answered.
    pub(crate) fn error(&self) -> Option<Error> {
        if self.info.is_from_kernel() { Error::from_label(self.info.label()) } else { None }
    }

    /// The words that the message has.
    pub(crate) fn message(&self) -> &[u64] {
        &self.words[..self.info.length().min(8)]
    }

    /// True for "done, nothing brought back".
    pub(crate) fn is_plain_success(&self) -> bool {
        (self.badge, self.info, self.words) == (0, MessageInfo::from_kernel(0, 0), [0; 8])
    }
}

#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) k: Kernel<MockMachine>,
    pub(crate) objects: Objects,
    admin: Thread,
    cnode: Ref<Slot>,
    next_slot: u64,
    next_memory: u64,
    unchecked: bool,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with_memory(1 << 20)
    }

    pub(crate) fn with_memory(bytes: u64) -> Self {
        Self::sized(bytes, RADIX)
    }

    /// A world with `bytes` for threads and 2^radix slots.
    pub(crate) fn sized(bytes: u64, radix: u8) -> Self {
        let mut next_memory = MEMORY_BASE;
        let own = OwnMemory {
            idle: take(&mut next_memory, 1),
            irq_slots: take(&mut next_memory, 64),
            empty_root: take::<PageTable>(&mut next_memory, 1).address().physical(),
        };
        let cnode = take::<Slot>(&mut next_memory, 1 << radix);
        let pool = take::<AsidPool>(&mut next_memory, 1);
        let k = Kernel::new(MockMachine::new(bytes + FIXED_BYTES + (32 << radix)), own);
        let nobody = Thread { tcb: own.idle, cap: 0, buffer: WindowAddr(0) };
        let objects = Objects::default();
        let mut world =
            Self { k, objects, admin: nobody, cnode, next_slot: FIRST_FREE, next_memory, unchecked: false };
        let space = world.object::<VSpace>();
        let home = Cap::CNode { base: cnode, radix, guard: Guard { bits: 64 - radix, value: 0 } };
        for (slot, cap) in [
            (CNODE, home),
            (SCHED_CONTROL, Cap::SchedControl(CoreId(0))),
            (DEBUG, Cap::Debug),
            (SPACE, Cap::VSpace(space)),
        ] {
            derivation::insert_root(&mut world.k, cap, cnode.element(slot));
        }
        world.k.asids.pools[0] = Some(pool);
        let place = microkernel::object::asid::Place { number: 0, index: 3 };
        microkernel::object::asid::assign(&world.k, space, pool, place);
        world.begin_admin();
        world
    }

    /// Lets the administrator run for the first time, up to where it waits.
    fn begin_admin(&mut self) {
        self.admin = self.bare_thread(255);
        let event = self.object::<Notification>();
        self.objects.notifications.push(event);
        let cap = Cap::Notification { notification: event, badge: 1, rights: Rights::READ_WRITE };
        derivation::insert_root(&mut self.k, cap, self.cnode.element(ADMIN_EVENT));
        let (from, into) = (self.cnode.element(ADMIN_EVENT), self.k.irq_slots.element(LINE.0));
        derivation::insert(&mut self.k, cap, from, into);
        self.copy_to(self.admin.cap, ADMIN);
        let context = self.new_context();
        self.bind_by_hand(context, self.admin, LONG);
        microkernel::object::thread::life::resume(&mut self.k, self.admin.tcb).unwrap();
        self.timer();
        self.syscall(self.admin, Syscall::Wait, Call { a0: ADMIN_EVENT, ..Call::default() });
        assert_eq!(self.running(), None);
    }

    /// The thread whose registers are the machine's; none when the idle thread is.
    pub(crate) fn running(&self) -> Option<Ref<Tcb>> {
        Some(self.k.current()).filter(|current| self.k.core().idle.get() != Some(*current))
    }

    pub(crate) fn is_running(&self, thread: Thread) -> bool {
        self.running() == Some(thread.tcb)
    }
}

/// The information of a message with a number of words.
pub(crate) fn info(label: u64, length: usize) -> MessageInfo {
    MessageInfo::new(label, u8::try_from(length).unwrap())
}

fn take<T>(next: &mut u64, count: u64) -> Ref<T> {
    let start = next.next_multiple_of(align_of::<T>().max(64) as u64);
    *next = start + count * size_of::<T>() as u64;
    Ref::from_raw(PhysAddr(start).in_window().0).unwrap()
}
