//! The core's [`Machine`] on LoongArch64: one core, memory through the direct-mapped window.
//!
//! Owns nothing of its own but the lock; each answer is one call into the module that owns the register
//! or device. Objects and frames are reached at their window address, so that a reference is a pointer.
#![expect(unsafe_code, reason = "lends objects at their addresses, switches address spaces")]

use core::hint::spin_loop;
use core::sync::atomic::{AtomicBool, Ordering};

use abi::context::Width;

use super::interrupt_controller::InterruptController;
use super::registers::{ASID, ECFG, ESTAT, LINE_BOARD, LINE_TIMER, PGDH, PGDL, read_counter};
use super::uart::SerialLine;
use super::{cpu, paging, power, timer, trap, vector, window};
use crate::address::{PhysAddr, VirtAddr, WindowAddr};
use crate::arch::{CoreId, HardwareAsid, Interrupt, IrqLine, Machine, Ticks};
use crate::object::store::{Object, Ref, Store};

/// The machine. There is one value, made at boot.
#[derive(Debug)]
pub struct LoongArch64 {
    ticks_per_second: u64,
    interrupts: InterruptController,
    locked: AtomicBool,
    vector_width: Width,
}

impl LoongArch64 {
    /// Takes over the interrupt controllers and the interrupt lines of the boot core.
    ///
    /// # Safety
    ///
    /// Called once, by the boot core, after [`cpu::initialise_core`]; the vectors must be the kernel's own
    /// before interrupts are turned on.
    #[must_use]
    pub unsafe fn take() -> Self {
        let core = u8::try_from(cpu::core_number()).unwrap_or(0);
        // SAFETY: the caller calls this once.
        let interrupts = unsafe { InterruptController::take(core) };
        cpu::enable_lines(1 << LINE_BOARD | 1 << LINE_TIMER);
        Self {
            ticks_per_second: cpu::counter_frequency_hz(),
            interrupts,
            locked: AtomicBool::new(false),
            vector_width: vector::widest(),
        }
    }
}

impl Store for LoongArch64 {
    #[inline]
    fn get<T: Object>(&self, reference: Ref<T>) -> &T {
        // SAFETY: a reference is the window address of memory that was retyped to a `T` (see `Ref`), which
        // is aligned, mapped for as long as the kernel runs, and made of cells; nobody holds `&mut` (C-5).
        unsafe { &*window::pointer::<T>(reference.address()) }
    }
}

impl Machine for LoongArch64 {
    #[inline]
    fn core(&self) -> CoreId {
        // One core runs (C-51): the first, whatever its number on the board.
        CoreId(0)
    }

    #[inline]
    fn now(&self) -> Ticks {
        Ticks(read_counter())
    }

    fn ticks_per_second(&self) -> u64 {
        self.ticks_per_second
    }

    fn set_deadline(&mut self, deadline: Option<Ticks>) {
        match deadline {
            Some(Ticks(counter)) => timer::arm(counter),
            None => timer::stop(),
        }
    }

    #[inline]
    fn preemption_pending(&self) -> bool {
        cpu::interrupt_pending()
    }

    #[inline]
    fn set_space(&mut self, root: PhysAddr, asid: HardwareAsid) {
        // SAFETY: the kernel runs in the window, so no translation in use changes; between the two writes
        // nothing touches the lower half.
        unsafe { PGDL.write(root.0) };
        // SAFETY: as above; the core hands out each identifier to one space at a time.
        unsafe { ASID.write(asid.0) };
    }

    fn flush_all(&mut self) {
        paging::invalidate_all();
    }

    fn enter_host(&mut self, block: u64, system_call: u64) {
        trap::use_hosted_vectors(block, system_call);
    }

    fn enter_native(&mut self) {
        trap::use_native_vectors();
    }

    fn set_upper(&mut self, root: PhysAddr) {
        // SAFETY: the kernel runs in the window; nothing of it is mapped in the upper half.
        unsafe { PGDH.write(root.0) };
        paging::invalidate_global();
    }

    fn vector_width(&self) -> Width {
        self.vector_width
    }

    fn save_vector(&mut self, context: WindowAddr, width: Width) {
        vector::save(context, width);
    }

    fn load_vector(&mut self, context: WindowAddr, width: Width) {
        vector::load(context, width);
    }

    fn flush_asid(&mut self, asid: HardwareAsid) {
        paging::invalidate_space(asid);
    }

    fn flush_page(&mut self, asid: HardwareAsid, address: VirtAddr) {
        paging::invalidate_pair(asid, address);
    }

    #[inline]
    fn load(&self, address: WindowAddr) -> u64 {
        // SAFETY: the address lies in memory that a capability pins, in the window; volatile, since
        // anybody may be changing the word (C-5).
        unsafe { window::pointer::<u64>(address).read_volatile() }
    }

    #[inline]
    fn store(&self, address: WindowAddr, value: u64) {
        // SAFETY: as for `load`.
        unsafe { window::pointer::<u64>(address).write_volatile(value) };
    }

    fn clear(&self, address: WindowAddr, bytes: u64) {
        for offset in (0..bytes).step_by(64) {
            let line = window::pointer::<[u64; 8]>(address.offset(offset));
            // SAFETY: the caller owns the memory; nobody else can see it yet.
            unsafe { line.write([0; 8]) };
        }
    }

    fn clear_used(&self, address: WindowAddr, bytes: u64) {
        // Two cache lines at a time: 36 instructions each.
        const STEP: u64 = 128;
        let lines = window::pointer::<[u64; 16]>(address);
        let count = usize::try_from(bytes / STEP).unwrap_or(0);
        // SAFETY: as in `clear`, and any bytes are words.
        let lines = unsafe { core::slice::from_raw_parts(lines, count) };
        let first = lines.iter().position(|line| line.iter().fold(0, |all, word| all | word) != 0);
        // From there on without looking: what was used is used as a whole, and looking costs more than writing.
        // A piece smaller than a step is not looked at either.
        let clean = first.unwrap_or(count) as u64 * STEP;
        self.clear(address.offset(clean), bytes - clean);
    }

    fn claim_interrupt(&mut self) -> Interrupt {
        let pending = ESTAT.read() & ECFG.read();
        if pending & 1 << LINE_TIMER != 0 {
            timer::acknowledge();
            return Interrupt::Timer;
        }
        if pending & 1 << LINE_BOARD == 0 {
            return Interrupt::Spurious;
        }
        match self.interrupts.claim() {
            Some(line) => Interrupt::Device(IrqLine(u64::from(line.number()))),
            None => Interrupt::Spurious,
        }
    }

    fn has_line(&self, line: IrqLine) -> bool {
        self.interrupts.line(line.0).is_some()
    }

    fn mask(&mut self, line: IrqLine) {
        if let Some(line) = self.interrupts.line(line.0) {
            self.interrupts.mask(line);
        }
    }

    fn unmask(&mut self, line: IrqLine) {
        if let Some(line) = self.interrupts.line(line.0) {
            self.interrupts.unmask(line);
        }
    }

    fn put_byte(&mut self, byte: u8) {
        SerialLine::log().put_byte(byte);
    }

    fn power_off(&mut self) {
        power::request_off();
    }

    #[inline]
    fn lock(&self) {
        while self.locked.swap(true, Ordering::Acquire) {
            spin_loop();
        }
    }

    #[inline]
    fn unlock(&self) {
        self.locked.store(false, Ordering::Release);
    }

    fn park_others(&mut self) {
        // One core runs (C-51): there is no other whose hot path could read what is removed.
    }

    fn unpark_others(&mut self) {}
}
