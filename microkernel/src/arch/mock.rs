//! A machine for host tests: a piece of memory, a clock that the test sets, and a record of what was asked.
#![expect(unsafe_code, reason = "the object store lends typed references into its memory")]

use core::cell::Cell;
use core::mem::offset_of;
use std::boxed::Box;
use std::vec::Vec;

use abi::context::{Context, Width};

use super::{CoreId, HardwareAsid, Interrupt, IrqLine, Machine, Ticks};
use crate::address::{PhysAddr, VirtAddr, WindowAddr};
use crate::object::store::{Object, Ref, Store};

/// Physical address of the mock's first byte.
pub const MEMORY_BASE: u64 = 0x100_0000;

/// A block of memory as aligned as the largest object.
#[derive(Debug)]
#[repr(C, align(32768))]
struct Block([Cell<u64>; 4096]);

impl Clone for Block {
    /// The whole block at once: explorations clone machines by the ten thousand.
    fn clone(&self) -> Self {
        // SAFETY: a block is made of cells of plain words, which own nothing, and `self` is borrowed here,
        // where nobody else writes to it: cells are not shared between threads.
        unsafe { core::ptr::read(self) }
    }
}

/// The machine.
#[derive(Clone, Debug)]
pub struct MockMachine {
    memory: Box<[Block]>,
    /// What `now` answers.
    pub time: Ticks,
    /// What the timer was last set to.
    pub deadline: Option<Ticks>,
    /// What `preemption_pending` answers.
    pub preempt: bool,
    /// Objects and words touched since preemption was last asked for.
    pub touched: Cell<u64>,
    /// The most that were touched without asking: a measure for C-3.
    pub longest: Cell<u64>,
    /// Root and identifier that were last made current.
    pub space: (PhysAddr, HardwareAsid),
    /// Every flush that was asked for: identifier, and the address of a page flush.
    pub flushes: Vec<(HardwareAsid, Option<VirtAddr>)>,
    /// How often everything was flushed.
    pub flush_all_count: usize,
    /// Interrupts that `claim_interrupt` hands out, first first.
    pub pending: Vec<Interrupt>,
    /// Lines that may interrupt, a bit each.
    pub unmasked: u64,
    /// What was logged.
    pub log: Vec<u8>,
    /// True once powered off.
    pub off: bool,
    /// How often the other cores are parked.
    pub parked: usize,
    /// Block and system-call entry of the host that runs, if one does.
    pub host: Option<(u64, u64)>,
    /// Root of the upper half that was last made current.
    pub upper: PhysAddr,
    /// The widest vector unit.
    pub width: Width,
    /// What the vector unit holds: the words of a context from `fcc` on, and those of `vector`.
    pub unit: Unit,
}

/// The mock's vector unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    /// Condition flags and FCSR0.
    pub control: [u64; 2],
    /// The registers' lanes.
    pub lanes: [[u64; 4]; 32],
}

impl Unit {
    /// Each word of the unit up to a width, with its offset in a context.
    fn words(&mut self, width: Width) -> impl Iterator<Item = (u64, &mut u64)> {
        let control = (offset_of!(Context, fcc) as u64..).step_by(8).zip(&mut self.control);
        let registers = (offset_of!(Context, vector) as u64..).step_by(32).zip(&mut self.lanes);
        let lanes = registers.flat_map(move |(at, lanes)| (at..).step_by(8).zip(lanes).take(width.lanes()));
        control.chain(lanes)
    }
}

impl MockMachine {
    /// A machine with `bytes` of memory (rounded up to 32 KiB) from [`MEMORY_BASE`] on.
    pub fn new(bytes: u64) -> Self {
        let blocks = usize::try_from(bytes.div_ceil(32768)).unwrap_or(usize::MAX);
        Self {
            memory: (0..blocks).map(|_| Block([const { Cell::new(0) }; 4096])).collect(),
            time: Ticks(0),
            deadline: None,
            preempt: false,
            touched: Cell::new(0),
            longest: Cell::new(0),
            space: (PhysAddr(0), HardwareAsid(0)),
            flushes: Vec::new(),
            flush_all_count: 0,
            pending: Vec::new(),
            unmasked: 0,
            log: Vec::new(),
            off: false,
            parked: 0,
            host: None,
            upper: PhysAddr(0),
            width: Width::Lasx,
            unit: Unit::default(),
        }
    }

    /// Counts what is touched.
    fn touch(&self, count: u64) {
        self.touched.set(self.touched.get() + count);
        self.longest.set(self.longest.get().max(self.touched.get()));
    }

    /// The word at a window address; panics outside the memory, as the machine would take a bus error.
    fn word(&self, address: WindowAddr) -> &Cell<u64> {
        let offset = address.physical().0.wrapping_sub(MEMORY_BASE) / 8;
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        match self.memory.get(offset / 4096).and_then(|block| block.0.get(offset % 4096)) {
            Some(cell) => cell,
            None => unreachable!("{address:x?} is outside the mock's memory"),
        }
    }
}

impl Store for MockMachine {
    fn get<T: Object>(&self, reference: Ref<T>) -> &T {
        self.touch(1);
        assert_eq!(reference.raw() % align_of::<T>() as u64, 0, "{reference:?} is not aligned");
        let first = self.word(reference.address());
        let _last = self.word(reference.address().offset(size_of::<T>() as u64 - 8));
        let place = core::ptr::from_ref(first).cast::<T>();
        // SAFETY: the whole object lies in `memory` (both ends were found, and blocks are contiguous), is
        // aligned as checked, and `T: Object` takes every bit pattern and has interior cells only.
        unsafe { &*place }
    }
}

impl Machine for MockMachine {
    fn core(&self) -> CoreId {
        CoreId(0)
    }
    fn now(&self) -> Ticks {
        self.time
    }
    fn ticks_per_second(&self) -> u64 {
        100_000_000
    }
    fn set_deadline(&mut self, deadline: Option<Ticks>) {
        self.deadline = deadline;
    }
    fn preemption_pending(&self) -> bool {
        self.touched.set(0);
        self.preempt
    }
    fn set_space(&mut self, root: PhysAddr, asid: HardwareAsid) {
        self.space = (root, asid);
    }
    fn flush_asid(&mut self, asid: HardwareAsid) {
        self.flushes.push((asid, None));
    }
    fn flush_page(&mut self, asid: HardwareAsid, address: VirtAddr) {
        self.flushes.push((asid, Some(address)));
    }
    fn flush_all(&mut self) {
        self.flush_all_count += 1;
    }
    fn enter_host(&mut self, block: u64, system_call: u64) {
        self.host = Some((block, system_call));
    }
    fn enter_native(&mut self) {
        self.host = None;
    }
    fn set_upper(&mut self, root: PhysAddr) {
        self.upper = root;
    }
    fn vector_width(&self) -> Width {
        self.width
    }
    fn save_vector(&mut self, context: WindowAddr, width: Width) {
        let mut unit = core::mem::take(&mut self.unit);
        for (offset, word) in unit.words(width) {
            self.store(context.offset(offset), *word);
        }
        self.unit = unit;
    }
    fn load_vector(&mut self, context: WindowAddr, width: Width) {
        let mut unit = core::mem::take(&mut self.unit);
        for (offset, word) in unit.words(width) {
            *word = self.load(context.offset(offset));
        }
        self.unit = unit;
    }
    fn load(&self, address: WindowAddr) -> u64 {
        self.touch(1);
        self.word(address).get()
    }
    fn store(&self, address: WindowAddr, value: u64) {
        self.touch(1);
        self.word(address).set(value);
    }
    fn clear(&self, address: WindowAddr, bytes: u64) {
        self.touch(bytes / 8);
        for offset in (0..bytes).step_by(8) {
            self.word(address.offset(offset)).set(0);
        }
    }
    fn clear_used(&self, address: WindowAddr, bytes: u64) {
        self.clear(address, bytes);
    }
    fn claim_interrupt(&mut self) -> Interrupt {
        if self.pending.is_empty() { Interrupt::Spurious } else { self.pending.remove(0) }
    }
    fn has_line(&self, line: IrqLine) -> bool {
        line.0 < 32
    }
    fn mask(&mut self, line: IrqLine) {
        self.unmasked &= !(1 << line.0);
    }
    fn unmask(&mut self, line: IrqLine) {
        self.unmasked |= 1 << line.0;
    }
    fn put_byte(&mut self, byte: u8) {
        self.log.push(byte);
    }
    fn power_off(&mut self) {
        self.off = true;
    }
    fn lock(&self) {}
    fn unlock(&self) {}
    fn park_others(&mut self) {
        self.parked += 1;
    }
    fn unpark_others(&mut self) {
        self.parked -= 1;
    }
}
