//! Everything that the core may ask of a machine.
//!
//! `loongarch64` is the machine; `mock` is a piece of memory with a clock, on which the host tests run.

pub mod loongarch64;
#[cfg(not(target_os = "none"))]
pub mod mock;

use abi::context::Width;

use crate::address::{PhysAddr, VirtAddr, WindowAddr};
use crate::object::store::Store;

/// A processor, by its index in [`crate::kernel::Kernel::cores`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreId(pub usize);

/// A point in time or a length, in ticks of the stable counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Ticks(pub u64);

impl Ticks {
    /// Later than any time.
    pub const NEVER: Self = Self(u64::MAX);
}

/// A hardware address-space identifier, 1 to 1023; 0 is the empty space's (C-42).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct HardwareAsid(pub u64);

/// An interrupt line as IrqControl names it: PCH-PIC inputs 0 to 63.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct IrqLine(pub u64);

/// Interrupt lines that a machine can have.
pub const IRQ_LINES: usize = 64;

/// One way in for an interrupt, as the machine found it pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// The timer reached its deadline.
    Timer,
    /// A device's line; it is masked until its handler acknowledges.
    Device(IrqLine),
    /// Nothing was pending after all.
    Spurious,
}

/// A machine: memory, clock, translation, interrupts, log.
///
/// Memory that user space can change meanwhile (buffers, lists) is read and written through `load` and
/// `store`, each word once (C-5).
pub trait Machine: Store {
    /// The core that executes this.
    fn core(&self) -> CoreId;
    /// The stable counter.
    fn now(&self) -> Ticks;
    /// Ticks of the stable counter in a second.
    fn ticks_per_second(&self) -> u64;
    /// Lets the timer interrupt at `deadline`, or never. A deadline that has passed interrupts at once.
    fn set_deadline(&mut self, deadline: Option<Ticks>);
    /// True when an interrupt waits that long work should give way to (C-3).
    fn preemption_pending(&self) -> bool;

    /// Makes a lower-half root table current, with its identifier (C-11); flushes nothing.
    fn set_space(&mut self, root: PhysAddr, asid: HardwareAsid);
    /// Forgets every translation of `asid` on this core.
    fn flush_asid(&mut self, asid: HardwareAsid);
    /// Forgets the pair of pages around `address` of `asid` on this core (C-42).
    fn flush_page(&mut self, asid: HardwareAsid, address: VirtAddr);

    /// Forgets every translation on this core.
    fn flush_all(&mut self);

    /// Takes traps as a host's: its per-core block and system-call entry in their registers (C-13).
    fn enter_host(&mut self, block: u64, system_call: u64);
    /// Takes traps as an ordinary thread's.
    fn enter_native(&mut self);
    /// Makes an upper half's root table current, and forgets what was global (C-43).
    fn set_upper(&mut self, root: PhysAddr);

    /// The widest vector unit that there is.
    fn vector_width(&self) -> Width;
    /// Writes the vector unit's registers, up to a width, to the context at an address (C-30).
    fn save_vector(&mut self, context: WindowAddr, width: Width);
    /// Loads them from there; nothing wider than `width` is enabled until the next save.
    fn load_vector(&mut self, context: WindowAddr, width: Width);

    /// Reads a word of memory that anybody may be changing.
    fn load(&self, address: WindowAddr) -> u64;
    /// Writes a word of memory that anybody may be reading.
    fn store(&self, address: WindowAddr, value: u64);
    /// Clears `bytes`, a multiple of 64, of memory that nobody else can see.
    fn clear(&self, address: WindowAddr, bytes: u64);
    /// The same, but writes nothing before the first byte that is not zero: memory that nobody has used since the
    /// machine was switched on is only read, and what emulates the machine need not have it.
    fn clear_used(&self, address: WindowAddr, bytes: u64);

    /// Takes the pending interrupt with the highest priority; a device's line comes back masked.
    fn claim_interrupt(&mut self) -> Interrupt;
    /// True for a line that exists.
    fn has_line(&self, line: IrqLine) -> bool;
    /// Keeps the line from interrupting.
    fn mask(&mut self, line: IrqLine);
    /// Lets the line interrupt.
    fn unmask(&mut self, line: IrqLine);

    /// Writes a byte to the log.
    fn put_byte(&mut self, byte: u8);
    /// Powers the machine off; where that takes time, returns meanwhile.
    fn power_off(&mut self);

    /// Takes the one lock of the slow path (C-50).
    fn lock(&self);
    /// Gives it back.
    fn unlock(&self);
    /// Stops the other cores until [`Machine::unpark`], before something is removed that their hot path may read.
    fn park_others(&mut self);
    /// Lets the other cores go on.
    fn unpark_others(&mut self);
}
