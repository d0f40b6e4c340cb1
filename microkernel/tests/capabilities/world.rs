//! A kernel on the mock machine with one thread, its capability space, and memory to retype.
//!
//! The thread invokes objects as a user does: label and words in registers, capabilities in its buffer.

use std::mem::offset_of;

use abi::message::IpcBuffer;
use abi::{CPtr, Error, MessageInfo, Method, ObjectType, Rights};
use microkernel::address::{PhysAddr, WindowAddr};
use microkernel::arch::mock::{MEMORY_BASE, MockMachine};
use microkernel::arch::{CoreId, Machine};
use microkernel::capability::cap::{Cap, FrameCap, Guard, Slot, UntypedCap};
use microkernel::capability::{derivation, space};
use microkernel::failure::{Failure, Refusal};
use microkernel::invariant;
use microkernel::kernel::{Kernel, OwnMemory};
use microkernel::object::create::{Blueprint, create};
use microkernel::object::store::Ref;
use microkernel::object::thread::Tcb;
use microkernel::syscall::invoke::invoke;

/// The thread's capabilities from the beginning, by slot.
pub(crate) mod at {
    pub(crate) const CNODE: u64 = 1;
    pub(crate) const TCB: u64 = 2;
    pub(crate) const UNTYPED: u64 = 3;
    pub(crate) const DEVICE: u64 = 4;
    pub(crate) const IRQ_CONTROL: u64 = 5;
    pub(crate) const SCHED_CONTROL: u64 = 6;
    pub(crate) const ASID_CONTROL: u64 = 7;
    pub(crate) const DEBUG: u64 = 8;
    pub(crate) const HOST_CONTROL: u64 = 9;
    /// The first slot that is empty.
    pub(crate) const FREE: u64 = 16;
}

/// Radix of the thread's CNode; its guard covers the bits above.
pub(crate) const RADIX: u8 = 8;
/// Base-2 logarithm of the Untyped's bytes.
pub(crate) const UNTYPED_BITS: u8 = 20;

const IDLE: u64 = 0;
const IRQ_SLOTS: u64 = 0x1000;
const EMPTY_ROOT: u64 = 0x4000;
const CNODE: u64 = 0x8000;
const TCB: u64 = 0xa000;
const BUFFER: u64 = 0xc000;
const UNTYPED: u64 = 1 << UNTYPED_BITS;

pub(crate) struct World {
    pub(crate) k: Kernel<MockMachine>,
    pub(crate) thread: Ref<Tcb>,
    /// How often a call came back preempted.
    pub(crate) restarts: u64,
    /// The most that a call touched without asking whether it should give way.
    pub(crate) longest: u64,
}

fn at_offset<T>(offset: u64) -> Ref<T> {
    Ref::from_raw(PhysAddr(MEMORY_BASE + offset).in_window().0).unwrap()
}

impl World {
    pub(crate) fn new() -> Self {
        let own = OwnMemory {
            idle: at_offset(IDLE),
            irq_slots: at_offset(IRQ_SLOTS),
            empty_root: PhysAddr(MEMORY_BASE + EMPTY_ROOT),
        };
        let mut k = Kernel::new(MockMachine::new(2 << UNTYPED_BITS), own);
        let thread: Ref<Tcb> = at_offset(TCB);
        let plan = Blueprint {
            object_type: ObjectType::Tcb,
            size_bits: 10,
            base: thread.address(),
            is_device: false,
            clean: 0,
        };
        let tcb = create(&k, &plan).unwrap();
        let cnode: Ref<Slot> = at_offset(CNODE);
        let guard = Guard { bits: 64 - RADIX, value: 0 };
        let root = Cap::CNode { base: cnode, radix: RADIX, guard };
        let memory = at_offset::<Slot>(UNTYPED).address();
        let untyped =
            UntypedCap { base: memory, size_bits: UNTYPED_BITS, is_device: false, free: 0, clean_end: 0 };
        let device =
            UntypedCap { base: WindowAddr(0x9000_0000_1000_0000), size_bits: 16, is_device: true, ..untyped };
        for (index, cap) in [
            (at::CNODE, root),
            (at::TCB, tcb),
            (at::UNTYPED, Cap::Untyped(untyped)),
            (at::DEVICE, Cap::Untyped(device)),
            (at::IRQ_CONTROL, Cap::IrqControl),
            (at::SCHED_CONTROL, Cap::SchedControl(CoreId(0))),
            (at::ASID_CONTROL, Cap::AsidControl),
            (at::DEBUG, Cap::Debug),
            (at::HOST_CONTROL, Cap::HostControl),
        ] {
            derivation::insert_root(&mut k, cap, cnode.element(index));
        }
        let [cspace, _, buffer_slot, ..] = [0, 1, 2, 3, 4].map(|i| slots_of(thread).element(i));
        derivation::insert(&mut k, root, cnode.element(at::CNODE), cspace);
        let buffer = FrameCap {
            base: at_offset::<Slot>(BUFFER).address(),
            size_bits: 14,
            is_device: false,
            rights: Rights::READ_WRITE,
            mapping: None,
        };
        derivation::insert_root(&mut k, Cap::Frame(buffer), buffer_slot);
        k.core().current.set(Some(thread));
        let world = Self { k, thread, restarts: 0, longest: 0 };
        world.check();
        world
    }

    /// A world whose Untyped is as full of old data as memory is at boot.
    pub(crate) fn with_old_data() -> Self {
        let world = Self::new();
        let Cap::Untyped(untyped) = world.cap(at::UNTYPED) else { panic!("no Untyped") };
        for offset in (0..1 << UNTYPED_BITS).step_by(8) {
            world.k.machine.store(untyped.base.offset(offset), 0xdead_dead_dead_dead);
        }
        world
    }

    /// Everything that must hold.
    #[track_caller]
    pub(crate) fn check(&self) {
        if let Err(broken) = invariant::check(&self.k, &[]) {
            panic!("{broken}");
        }
    }

    pub(crate) fn slot(&self, pointer: u64) -> Ref<Slot> {
        space::lookup(&self.k, self.thread, CPtr(pointer)).unwrap()
    }

    pub(crate) fn cap(&self, pointer: u64) -> Cap {
        self.k.get(self.slot(pointer)).cap()
    }

    /// Invokes once.
    pub(crate) fn try_call(
        &mut self,
        target: u64,
        method: Method,
        caps: &[u64],
        words: &[u64],
    ) -> Result<Vec<u64>, Failure> {
        self.write_message(caps, words);
        self.repeat_call(target, method, caps.len(), words.len())
    }

    /// Invokes with what lies in the registers already, as a restart does.
    pub(crate) fn repeat_call(
        &mut self,
        target: u64,
        method: Method,
        caps: usize,
        words: usize,
    ) -> Result<Vec<u64>, Failure> {
        self.k.machine.touched.set(0);
        self.k.machine.longest.set(0);
        let slot = space::lookup(&self.k, self.thread, CPtr(target))?;
        let info = MessageInfo::new(method.label(), u8::try_from(words).unwrap())
            .with_caps(u8::try_from(caps).unwrap());
        let result = invoke(&mut self.k, self.thread, slot, info);
        self.longest = self.longest.max(self.k.machine.longest.get());
        assert_eq!(self.k.machine.parked, 0, "the other cores stay parked");
        self.check();
        result.map(|answer| answer.words().to_vec())
    }

    /// Invokes, again and again while preempted.
    #[track_caller]
    pub(crate) fn call(
        &mut self,
        target: u64,
        method: Method,
        caps: &[u64],
        words: &[u64],
    ) -> Result<Vec<u64>, Refusal> {
        self.write_message(caps, words);
        loop {
            match self.repeat_call(target, method, caps.len(), words.len()) {
                Ok(answer) => return Ok(answer),
                Err(Failure::Refused(refusal)) => return Err(refusal),
                Err(Failure::Preempted) => self.restarts += 1,
            }
            assert!(self.restarts < 1_000_000, "no progress");
        }
    }

    pub(crate) fn write_message(&self, caps: &[u64], words: &[u64]) {
        let tcb = self.k.get(self.thread);
        let buffer = WindowAddr(tcb.ipc_buffer.get());
        for (index, word) in words.iter().enumerate() {
            match tcb.message_register(index) {
                Some(register) => register.set(*word),
                None => self
                    .k
                    .machine
                    .store(buffer.offset((offset_of!(IpcBuffer, words) + 8 * index) as u64), *word),
            }
        }
        for (index, cap) in caps.iter().enumerate() {
            self.k.machine.store(buffer.offset((offset_of!(IpcBuffer, caps) + 8 * index) as u64), *cap);
        }
    }

    pub(crate) fn retype(
        &mut self,
        untyped: u64,
        object_type: ObjectType,
        size_bits: u64,
        first: u64,
        count: u64,
    ) -> Result<Vec<u64>, Refusal> {
        let words = [object_type.raw(), size_bits, 0, 0, first, count];
        self.call(untyped, Method::UntypedRetype, &[at::CNODE], &words)
    }

    /// A CNode method on slots of the thread's own CNode.
    pub(crate) fn copy(&mut self, into: u64, from: u64, rights: Rights) -> Result<Vec<u64>, Refusal> {
        self.call(at::CNODE, Method::CNodeCopy, &[at::CNODE], &[into, 64, from, 64, rights.raw()])
    }

    pub(crate) fn mint(
        &mut self,
        into: u64,
        from: u64,
        rights: Rights,
        badge: u64,
    ) -> Result<Vec<u64>, Refusal> {
        self.call(at::CNODE, Method::CNodeMint, &[at::CNODE], &[into, 64, from, 64, rights.raw(), badge])
    }

    pub(crate) fn move_cap(&mut self, into: u64, from: u64) -> Result<Vec<u64>, Refusal> {
        self.call(at::CNODE, Method::CNodeMove, &[at::CNODE], &[into, 64, from, 64])
    }

    pub(crate) fn delete(&mut self, slot: u64) -> Result<Vec<u64>, Refusal> {
        self.call(at::CNODE, Method::CNodeDelete, &[], &[slot, 64])
    }

    pub(crate) fn revoke(&mut self, slot: u64) -> Result<Vec<u64>, Refusal> {
        self.call(at::CNODE, Method::CNodeRevoke, &[], &[slot, 64])
    }

    /// True when a Retype of everything succeeds and is undone: nothing holds the Untyped.
    pub(crate) fn untyped_is_whole(&mut self) -> bool {
        let whole = self.retype(at::UNTYPED, ObjectType::Untyped, UNTYPED_BITS.into(), 255, 1).is_ok();
        whole && self.delete(255).is_ok()
    }
}

/// The first of a thread's own slots.
pub(crate) fn slots_of(thread: Ref<Tcb>) -> Ref<Slot> {
    microkernel::capability::codec::tcb_slots(thread)
}

/// A refusal with nothing more to say than the error.
pub(crate) fn refused(error: Error, argument: u64, detail: u64) -> Result<Vec<u64>, Refusal> {
    Err(Refusal { error, argument, detail })
}

/// The error of a refusal alone.
pub(crate) fn error(result: Result<Vec<u64>, Refusal>) -> Option<Error> {
    result.err().map(|refusal| refusal.error)
}
