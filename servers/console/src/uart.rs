//! The registers of an ns16550a, of which a byte wide one lies at each address (NS16550A data sheet, §8).

use bitflags::bitflags;
use runtime::device::ByteRegisters;

/// Receiver buffer register, read; transmitter holding register, written.
const RBR: usize = 0;
const THR: usize = 0;
/// Interrupt enable register.
const IER: usize = 1;
/// FIFO control register.
const FCR: usize = 2;
/// Line status register.
const LSR: usize = 5;

/// FCR: FIFOs on; the receiver interrupts at 14 bytes, or when a few have lain there for a while.
const FIFO_ENABLE: u8 = 0xc1;
/// LSR: the receiver has a byte.
const DATA_READY: u8 = 1;
/// LSR: the transmitter's FIFO is empty.
const HOLDING_EMPTY: u8 = 0x20;
/// LSR: the last bit is out too.
const ALL_EMPTY: u8 = 0x40;
/// Bytes of the transmitter's FIFO.
const FIFO_BYTES: u8 = 16;

bitflags! {
    /// Which events interrupt (IER).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct Interrupts: u8 {
        /// The receiver has bytes.
        const RECEIVE = 1;
        /// The transmitter is empty.
        const TRANSMIT = 2;
    }
}

/// Who else writes to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shared {
    /// The kernel does, to line 0: half of an empty FIFO is left to it.
    WithKernel,
    /// Nobody.
    No,
}

/// A serial device.
#[derive(Debug)]
pub(crate) struct Uart {
    registers: ByteRegisters,
    /// Bytes that an empty FIFO takes.
    fifo: u8,
    /// Bytes that the FIFO takes before its state is looked at again.
    room: u8,
    enabled: Interrupts,
}

impl Uart {
    /// Takes a device over. Switching the FIFOs on clears the receiver's: nothing may have been sent to it yet.
    pub(crate) fn new(registers: ByteRegisters, shared: Shared) -> Self {
        // The kernel's log may be in the transmitter's FIFO: it is switched on, not cleared.
        registers.write(FCR, FIFO_ENABLE);
        registers.write(IER, 0);
        let fifo = match shared {
            Shared::WithKernel => FIFO_BYTES / 2,
            Shared::No => FIFO_BYTES,
        };
        Self { registers, fifo, room: 0, enabled: Interrupts::empty() }
    }

    /// Takes a byte that the receiver has.
    pub(crate) fn take(&self) -> Option<u8> {
        (self.registers.read(LSR) & DATA_READY != 0).then(|| self.registers.read(RBR))
    }

    /// Sends a byte; false when there is no room for it.
    pub(crate) fn put(&mut self, byte: u8) -> bool {
        if self.room == 0 && self.registers.read(LSR) & HOLDING_EMPTY != 0 {
            self.room = self.fifo;
        }
        let Some(room) = self.room.checked_sub(1) else { return false };
        self.room = room;
        self.registers.write(THR, byte);
        true
    }

    /// Whether every byte is out.
    pub(crate) fn is_done(&self) -> bool {
        self.registers.read(LSR) & ALL_EMPTY != 0
    }

    /// Sets which events interrupt; what is set already costs no access.
    pub(crate) fn enable(&mut self, interrupts: Interrupts) {
        if self.enabled == interrupts {
            return;
        }
        self.enabled = interrupts;
        self.registers.write(IER, interrupts.bits());
    }
}
