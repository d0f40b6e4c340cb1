//! The board's interrupt controllers: PCH-PIC inputs, delivered through EIOINTC to one core.
//!
//! Owns both controllers. A line is a PCH-PIC input, 0 to 63; EIOINTC's vector has the same number. All
//! lines are level-triggered and *masked on delivery*: [`claim`] masks the line before it answers, and
//! [`unmask`] (IrqHandler.Ack) raises it again if the device still asserts. Acknowledging EIOINTC alone
//! would lose a line that is still asserted. Each call here leaves the guest under KVM, so none is on a
//! hot path (C-12).
//!
//! Registers: 7A1000 manual chapter 5 (PCH-PIC), 3A5000 manual chapter 11 (EIOINTC, in the I/O space).
#![expect(unsafe_code, reason = "device registers and the I/O space")]

use super::registers::{LINE_BOARD, read_io, set_io_bits, write_io};
use super::window::{DeviceRegister, halves};

/// A PCH-PIC input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line(u8);

/// PCH-PIC inputs that the registers have room for.
pub const LINES: u8 = 64;

impl Line {
    /// The line of this number, if there can be one.
    #[must_use]
    pub const fn new(number: u8) -> Option<Self> {
        if number < LINES { Some(Self(number)) } else { None }
    }

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

/// Words of 32 vectors that PCH-PIC inputs fill.
const WORDS: [u32; 2] = [0, 1];

/// Masks every line, routes all of them to `core` (0 to 3), and clears what is pending.
pub fn initialise(core: u8) {
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
    for word in WORDS {
        // SAFETY: the inputs behind these vectors are masked.
        unsafe { write_io(ENABLE + 4 * word, u32::MAX) };
        // SAFETY: as above.
        unsafe { write_io(BOUNCE + 4 * word, 0) };
        // SAFETY: takes back what was pending before anybody could handle it.
        unsafe { write_io(PENDING + 4 * word, u32::MAX) };
    }
}

/// Inputs that this board has.
#[must_use]
pub fn inputs() -> u8 {
    // SAFETY: PCH-PIC is there on QEMU's `virt` board; the register is read-only.
    let identity = unsafe { DeviceRegister::<u32>::new(PIC + PIC_IDENTITY_HIGH) }.read();
    let [_, _, last, _] = identity.to_le_bytes();
    last.saturating_add(1).min(LINES)
}

/// Stops a line.
pub fn mask(line: Line) {
    set_pic(PIC_MASK, get_pic(PIC_MASK) | line.bit());
}

/// Lets a line interrupt; it does at once if its device asserts it.
pub fn unmask(line: Line) {
    set_pic(PIC_MASK, get_pic(PIC_MASK) & !line.bit());
}

/// Takes one pending line and masks it; `None` when none is (a spurious interrupt: EIOINTC's signal to
/// the core can outlive its cause).
#[must_use]
pub fn claim() -> Option<Line> {
    let (word, pending) =
        WORDS.iter().map(|&word| (word, read_io(PENDING + 4 * word))).find(|&(_, p)| p != 0)?;
    let bit = pending.trailing_zeros();
    let line = Line::new(u8::try_from(32 * word + bit).ok()?)?;
    mask(line);
    // SAFETY: takes back the line that was just masked.
    unsafe { write_io(PENDING + 4 * word, 1 << bit) };
    Some(line)
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

fn get_pic(register: u64) -> u64 {
    let [low, high] = pic(register).map(DeviceRegister::read);
    u64::from(low) | u64::from(high) << 32
}

fn set_pic(register: u64, value: u64) {
    for (half, word) in pic(register).into_iter().zip(halves(value)) {
        half.write(word);
    }
}
