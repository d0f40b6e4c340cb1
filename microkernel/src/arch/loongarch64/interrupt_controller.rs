//! The board's interrupt controllers: PCH-PIC inputs, delivered through EIOINTC to one core.
//!
//! Owns both controllers. A line is a PCH-PIC input, 0 to 63; EIOINTC's vector has the same number. All
//! lines are level-triggered and *masked on delivery*: `claim` masks the line before it answers, and
//! `unmask` (IrqHandler.Ack) raises it again if the device still asserts. Acknowledging EIOINTC alone
//! would lose a line that is still asserted. Each call here leaves the guest under KVM, so none is on a
//! hot path (C-12).
//!
//! Registers: 7A1000 manual chapter 5 (PCH-PIC), 3A5000 manual chapter 11 (EIOINTC, in the I/O space).
#![expect(unsafe_code, reason = "device registers and the I/O space")]

use super::registers::{LINE_BOARD, read_io, set_io_bits, write_io};
use super::window::{DeviceRegister, halves};

/// A PCH-PIC input that the board has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line(u8);

/// PCH-PIC inputs that the registers have room for.
const LINES: u8 = 64;

impl Line {
    /// The line's number.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Its bit in PCH-PIC's 64-bit registers.
    const fn bit(self) -> u64 {
        1 << self.0
    }
}

/// PCH-PIC's physical address.
const PIC: u64 = 0x1000_0000;

/// PCH-PIC: high word of its identity; the number of inputs less one in bits 16 to 23.
const PIC_IDENTITY_HIGH: u64 = 0x4;

/// PCH-PIC: 1 = masked.
const PIC_MASK: u64 = 0x20;

/// PCH-PIC: 1 = delivered as a message to EIOINTC.
const PIC_MESSAGE: u64 = 0x40;

/// PCH-PIC: 1 = edge-triggered.
const PIC_EDGE: u64 = 0x60;

/// PCH-PIC: route byte of each input.
const PIC_ROUTE: u64 = 0x100;

/// PCH-PIC: EIOINTC vector of each input.
const PIC_VECTOR: u64 = 0x200;

/// IOCSR: the chip's switches.
const MISC_FUNCTION: u32 = 0x420;

/// EIOINTC is on, a bit of the register above.
const EXTENDED_INTERRUPTS: u64 = 1 << 48;

/// EIOINTC: for each 32 vectors a byte, a bitmap of the interrupt pins. The first word has the four bytes
/// of vectors 0 to 127. The controller takes whole words only (QEMU mistakes a byte for one).
const PIN_MAP: u32 = 0x14c0;

/// EIOINTC: enabled vectors.
const ENABLE: u32 = 0x1600;

/// EIOINTC: vectors that may go to any core of their route.
const BOUNCE: u32 = 0x1680;

/// EIOINTC: pending vectors of this core; writing 1 takes one back.
const PENDING: u32 = 0x1800;

/// EIOINTC: route byte of each vector, a bitmap of cores.
const ROUTE: u32 = 0x1c00;

/// The pin map that leads to interrupt line [`LINE_BOARD`] (HWI0 is line 2).
const PIN: u8 = 1 << (LINE_BOARD - 2);

/// Both controllers, as one. Keeps PCH-PIC's mask, so that a change is one access.
#[derive(Debug)]
pub struct InterruptController {
    inputs: u8,
    masked: u64,
}

impl InterruptController {
    /// Takes the controllers: every line masked and routed to `core` (0 to 3), nothing pending.
    ///
    /// # Safety
    ///
    /// Called once; a second value would believe another mask.
    #[must_use]
    pub unsafe fn take(core: u8) -> Self {
        set_pic(PIC_MASK, u64::MAX);
        set_pic(PIC_EDGE, 0);
        set_pic(PIC_MESSAGE, u64::MAX);
        for line in 0..LINES {
            pic_byte(PIC_ROUTE, line).write(1);
            pic_byte(PIC_VECTOR, line).write(line);
        }
        // SAFETY: turns the controller on.
        unsafe { set_io_bits(MISC_FUNCTION, EXTENDED_INTERRUPTS) };
        // SAFETY: the pins of vectors that this module owns.
        unsafe { write_io(PIN_MAP, u32::from_le_bytes([PIN; 4])) };
        for route in (ROUTE..).step_by(4).take(usize::from(LINES / 4)) {
            // SAFETY: routing of the vectors that this module owns.
            unsafe { write_io(route, u32::from_le_bytes([1 << (core & 3); 4])) };
        }
        let controller = Self { inputs: inputs(), masked: u64::MAX };
        for word in controller.words() {
            // SAFETY: the inputs behind these vectors are masked.
            unsafe { write_io(ENABLE + 4 * word, u32::MAX) };
            // SAFETY: as above.
            unsafe { write_io(BOUNCE + 4 * word, 0) };
            // SAFETY: takes back what was pending before anybody could handle it.
            unsafe { write_io(PENDING + 4 * word, u32::MAX) };
        }
        controller
    }

    /// The line of this number, if the board has it.
    #[must_use]
    pub fn line(&self, number: u64) -> Option<Line> {
        u8::try_from(number).ok().filter(|&number| number < self.inputs).map(Line)
    }

    /// Stops a line.
    pub fn mask(&mut self, line: Line) {
        self.masked |= line.bit();
        self.write_mask(line);
    }

    /// Lets a line interrupt; it does at once if its device asserts it.
    pub fn unmask(&mut self, line: Line) {
        self.masked &= !line.bit();
        self.write_mask(line);
    }

    /// Takes one pending line and masks it; `None` when none is (a spurious interrupt: EIOINTC's signal
    /// to the core can outlive its cause).
    #[must_use]
    pub fn claim(&mut self) -> Option<Line> {
        let pending = self.words().map(|word| (word, read_io(PENDING + 4 * word)));
        let (word, bits) = pending.into_iter().find(|&(_, bits)| bits != 0)?;
        let bit = bits.trailing_zeros();
        let line = Line(u8::try_from(32 * word + bit).ok()?);
        self.mask(line);
        // SAFETY: takes back the line that was just masked.
        unsafe { write_io(PENDING + 4 * word, 1 << bit) };
        Some(line)
    }

    /// EIOINTC's words of 32 vectors that the inputs fill.
    fn words(&self) -> core::ops::Range<u32> {
        0..u32::from(self.inputs).div_ceil(32)
    }

    /// Writes the half of PCH-PIC's mask that holds the line.
    fn write_mask(&self, line: Line) {
        let [low, high] = pic(PIC_MASK);
        let [low_mask, high_mask] = halves(self.masked);
        if line.0 < 32 { low.write(low_mask) } else { high.write(high_mask) }
    }
}

/// Inputs that this board has: 32 on QEMU, 64 on a 7A1000.
fn inputs() -> u8 {
    // SAFETY: PCH-PIC is there on QEMU's `virt` board; the register is read-only.
    let identity = unsafe { DeviceRegister::<u32>::new(PIC + PIC_IDENTITY_HIGH) }.read();
    let [_, _, last, _] = identity.to_le_bytes();
    last.saturating_add(1).min(LINES)
}

/// One of PCH-PIC's 64-bit registers, as two 32-bit ones.
fn pic(register: u64) -> [DeviceRegister<u32>; 2] {
    // SAFETY: PCH-PIC is there on QEMU's `virt` board, and this module owns it.
    [0, 4].map(|half| unsafe { DeviceRegister::new(PIC + register + half) })
}

/// One of PCH-PIC's bytes for each input.
fn pic_byte(register: u64, line: u8) -> DeviceRegister<u8> {
    // SAFETY: as for `pic`.
    unsafe { DeviceRegister::new(PIC + register + u64::from(line)) }
}

fn set_pic(register: u64, value: u64) {
    for (half, word) in pic(register).into_iter().zip(halves(value)) {
        half.write(word);
    }
}
