//! A kernel on the mock with one calling thread, for stories about memory and interrupts.

use std::vec::Vec;

use abi::mapping::MapEntry;
use abi::message::REGISTERS;
use abi::{MessageInfo, Method, ObjectType, Rights};
use microkernel::address::{PhysAddr, WindowAddr};
use microkernel::arch::Machine;
use microkernel::arch::mock::{MEMORY_BASE, MockMachine};
use microkernel::capability::cap::{Cap, FrameCap, Guard, Mapping, Slot, UntypedCap};
use microkernel::capability::derivation;
use microkernel::failure::{Failure, Refusal};
use microkernel::kernel::{Kernel, OwnMemory};
use microkernel::object::asid::AsidPool;
use microkernel::object::create::{Blueprint, create};
use microkernel::object::notification::Notification;
use microkernel::object::page_table::PageTable;
use microkernel::object::store::Ref;
use microkernel::object::thread::Tcb;
use microkernel::object::vspace::VSpace;
use microkernel::syscall::invoke::invoke;

pub(crate) const READ: u64 = 1;
pub(crate) const WRITE: u64 = 2;
pub(crate) const BOTH: u64 = 3;
pub(crate) const NO_EXECUTE: u64 = 1;
pub(crate) const UNCACHED: u64 = 2;

/// Where the test's capabilities are: number `n` is slot `n` of the caller's CNode.
pub(crate) const POOL: u64 = 1;
pub(crate) const ASID_CONTROL: u64 = 2;
pub(crate) const IRQ_CONTROL: u64 = 3;
pub(crate) const CNODE: u64 = 4;
const FIRST_FREE: u64 = 8;
const RADIX: u8 = 12;

/// Memory that frames stand for; nothing reads or writes it.
const FRAME_MEMORY: u64 = 0x10_0000_0000;

#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) k: Kernel<MockMachine>,
    pub(crate) caller: Ref<Tcb>,
    buffer: WindowAddr,
    slots: Ref<Slot>,
    next_slot: u64,
    next_memory: u64,
    next_frame: u64,
}

impl World {
    pub(crate) fn new(bytes: u64) -> Self {
        Self::sized(bytes, RADIX)
    }

    /// A world whose caller has 2^`radix` slots.
    pub(crate) fn sized(bytes: u64, radix: u8) -> Self {
        let mut memory = Bump(MEMORY_BASE);
        let own = OwnMemory {
            idle: memory.object(),
            irq_slots: memory.array(64),
            empty_root: PhysAddr(memory.object::<PageTable>().address().physical().0),
        };
        let caller: Ref<Tcb> = memory.object();
        let slots = memory.array::<Slot>(1 << radix);
        let buffer = memory.object::<PageTable>().address();
        let pool: Ref<AsidPool> = memory.object();
        let mut k = Kernel::new(MockMachine::new(bytes), own);
        let cnode = Cap::CNode { base: slots, radix, guard: Guard { bits: 64 - radix, value: 0 } };
        k.get(caller).slots[0].set_cap(cnode);
        k.get(caller).ipc_buffer.set(buffer.0);
        k.cores[0].current.set(Some(caller));
        k.asids.pools[0] = Some(pool);
        for (slot, cap) in [
            (POOL, Cap::AsidPool(pool)),
            (ASID_CONTROL, Cap::AsidControl),
            (IRQ_CONTROL, Cap::IrqControl),
            (CNODE, cnode),
        ] {
            derivation::insert_root(&mut k, cap, slots.element(slot));
        }
        let next_memory = memory.0;
        Self { k, caller, buffer, slots, next_slot: FIRST_FREE, next_memory, next_frame: FRAME_MEMORY }
    }

    /// Calls a method of capability `target`.
    pub(crate) fn call(
        &mut self,
        target: u64,
        method: Method,
        caps: &[u64],
        words: &[u64],
    ) -> Result<Vec<u64>, Failure> {
        for (index, cap) in caps.iter().enumerate() {
            let offset = core::mem::offset_of!(abi::IpcBuffer, caps) + index * 8;
            self.k.machine.store(self.buffer.offset(offset as u64), *cap);
        }
        for (register, word) in REGISTERS.iter().zip(words) {
            self.k.get(self.caller).registers[*register].set(*word);
        }
        let length = u8::try_from(words.len()).unwrap();
        let info = MessageInfo::new(method.label(), length).with_caps(u8::try_from(caps.len()).unwrap());
        let answer = invoke(&mut self.k, self.caller, self.slots.element(target), info)?;
        Ok(answer.words().to_vec())
    }

    pub(crate) fn slot(&self, number: u64) -> Ref<Slot> {
        self.slots.element(number)
    }

    pub(crate) fn cap(&self, number: u64) -> Cap {
        self.k.get(self.slot(number)).cap()
    }

    pub(crate) fn add(&mut self, cap: Cap) -> u64 {
        let number = self.empty_slot();
        derivation::insert_root(&mut self.k, cap, self.slots.element(number));
        number
    }

    pub(crate) fn empty_slot(&mut self) -> u64 {
        self.next_slot += 1;
        self.next_slot - 1
    }

    /// A copy as CNode.Copy makes it.
    pub(crate) fn copy(&mut self, number: u64) -> u64 {
        let slot = self.slot(number);
        let cap = derivation::derive(&self.k, slot, self.cap(number)).unwrap();
        let into = self.empty_slot();
        derivation::insert(&mut self.k, cap, slot, self.slots.element(into));
        into
    }

    pub(crate) fn object<T>(&mut self) -> Ref<T> {
        let mut memory = Bump(self.next_memory);
        let object = memory.object();
        self.next_memory = memory.0;
        object
    }

    pub(crate) fn table(&mut self) -> u64 {
        let table = self.object();
        self.add(Cap::PageTable { table, mapping: None })
    }

    /// A VSpace without an identifier.
    pub(crate) fn bare_space(&mut self) -> u64 {
        let base = self.object::<VSpace>().address();
        let plan =
            Blueprint { object_type: ObjectType::VSpace, size_bits: 15, base, is_device: false, clean: 0 };
        let space = create(&self.k, &plan).unwrap();
        self.add(space)
    }

    pub(crate) fn space(&mut self) -> u64 {
        let space = self.bare_space();
        self.call(POOL, Method::AsidPoolAssign, &[space], &[]).unwrap();
        space
    }

    pub(crate) fn space_ref(&self, number: u64) -> Ref<VSpace> {
        match self.cap(number) {
            Cap::VSpace(space) => space,
            other => panic!("{other:?} is no space"),
        }
    }

    pub(crate) fn frame(&mut self, size_bits: u8) -> u64 {
        self.frame_with(size_bits, Rights::READ_WRITE, false)
    }

    pub(crate) fn frame_with(&mut self, size_bits: u8, rights: Rights, is_device: bool) -> u64 {
        let start = self.next_frame.next_multiple_of(1 << size_bits);
        self.next_frame = start + (1 << size_bits);
        let base = PhysAddr(start).in_window();
        self.add(Cap::Frame(FrameCap { base, size_bits, is_device, rights, mapping: None }))
    }

    /// Puts an entry of MapMany's list into the caller's buffer.
    pub(crate) fn list(&self, index: u64, entry: MapEntry) {
        let place = self.buffer.offset(abi::message::LIST_OFFSET as u64 + 16 * index);
        self.k.machine.store(place, entry.first);
        self.k.machine.store(place.offset(8), entry.second);
    }

    /// MapMany with one entry in registers.
    pub(crate) fn map_many(&mut self, space: u64, entry: MapEntry) -> Result<Vec<u64>, Failure> {
        self.call(space, Method::VSpaceMapMany, &[], &[0, entry.first, entry.second])
    }

    /// Gives a space this many new tables; the first one's number.
    pub(crate) fn give_tables(&mut self, space: u64, count: u64) -> u64 {
        let tables: Vec<u64> = (0..count).map(|_| self.table()).collect();
        let first = tables.first().copied().unwrap_or(0);
        let given = self.call(space, Method::VSpaceGiveTables, &[CNODE], &[first, 64, count]);
        assert_eq!(given, Ok(vec![count]));
        first
    }

    pub(crate) fn untyped(&mut self, size_bits: u8) -> u64 {
        self.next_memory = self.next_memory.next_multiple_of(1 << size_bits);
        let base = PhysAddr(self.next_memory).in_window();
        self.next_memory += 1 << size_bits;
        self.add(Cap::Untyped(UntypedCap { base, size_bits, is_device: false, free: 0, clean_end: 0 }))
    }

    pub(crate) fn notification(&mut self, badge: u64, rights: Rights) -> (u64, Ref<Notification>) {
        let notification = self.object();
        (self.add(Cap::Notification { notification, badge, rights }), notification)
    }

    pub(crate) fn frame_memory(&self, number: u64) -> u64 {
        match self.cap(number) {
            Cap::Frame(frame) => frame.base.physical().0,
            other => panic!("{other:?} is no frame"),
        }
    }

    pub(crate) fn mapping(&self, number: u64) -> Option<Mapping> {
        match self.cap(number) {
            Cap::Frame(FrameCap { mapping, .. }) | Cap::PageTable { mapping, .. } => mapping,
            other => panic!("{other:?} is not mapped anywhere"),
        }
    }

    /// What the tables say of an address: the leaf's word and base-2 logarithm of its bytes. Read word by
    /// word as the hardware does, with none of the kernel's own code.
    pub(crate) fn walk(&self, root: u64, address: u64) -> (u64, u32) {
        let mut table = root;
        for shift in [36, 25, 14] {
            let entry = self.k.machine.load(PhysAddr(table + (address >> shift & 2047) * 8).in_window());
            match (shift, entry) {
                (36 | 25, 0) => return (0, 14),
                (14, leaf) => return (leaf, 14),
                (25, leaf) if leaf & 1 << 6 != 0 => return (leaf, 25),
                // Above the address are counts of the kernel's own.
                _ => table = entry & 0xffff_ffff_c000,
            }
        }
        unreachable!("the last level ends the walk")
    }

    /// What the tables of space `number` say.
    pub(crate) fn translate(&self, number: u64, address: u64) -> (u64, u32) {
        self.walk(self.space_ref(number).address().physical().0 + 0x4000, address)
    }

    pub(crate) fn take_flushes(&mut self) -> Vec<(u64, Option<u64>)> {
        let flushes = core::mem::take(&mut self.k.machine.flushes);
        flushes.into_iter().map(|(asid, page)| (asid.0, page.map(|page| page.0))).collect()
    }
}

struct Bump(u64);

impl Bump {
    fn object<T>(&mut self) -> Ref<T> {
        self.array(1)
    }

    fn array<T>(&mut self, count: u64) -> Ref<T> {
        let start = self.0.next_multiple_of((align_of::<T>() as u64).max(64));
        self.0 = start + count * size_of::<T>() as u64;
        Ref::from_raw(PhysAddr(start).in_window().0).unwrap()
    }
}

/// The refusal of a call that must have been refused: error, argument, detail.
pub(crate) fn refusal<T: core::fmt::Debug>(result: Result<T, Failure>) -> (abi::Error, u64, u64) {
    match result {
        Err(Failure::Refused(Refusal { error, argument, detail })) => (error, argument, detail),
        other => panic!("not refused: {other:?}"),
    }
}
