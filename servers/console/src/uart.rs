//! The registers of an ns16550a, of which a byte wide one lies at each address (NS16550A data sheet, §8).

use runtime::device::ByteRegisters;

/// Transmitter holding register.
const THR: usize = 0;
/// Interrupt enable register.
const IER: usize = 1;
/// FIFO control register.
const FCR: usize = 2;
/// Line status register.
const LSR: usize = 5;

/// FCR: FIFOs on.
const FIFO_ENABLE: u8 = 1;
/// IER: the transmitter is empty.
const TRANSMIT_EMPTY: u8 = 2;
/// LSR: the transmitter's FIFO is empty.
const HOLDING_EMPTY: u8 = 0x20;
/// LSR: the last bit is out too.
const ALL_EMPTY: u8 = 0x40;
/// Bytes that are put into an empty transmitter: half of its FIFO, since the kernel may write to line 0 too.
const FIFO_BYTES: u8 = 8;

/// Which events interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interrupts {
    /// None.
    None,
    /// The transmitter is empty.
    Transmit,
}

/// A serial device, transmitting.
#[derive(Debug)]
pub(crate) struct Uart {
    registers: ByteRegisters,
    /// Bytes that the FIFO takes before its state is looked at again.
    room: u8,
    enabled: Interrupts,
}

impl Uart {
    pub(crate) fn new(registers: ByteRegisters) -> Self {
        // The kernel's log may be in the FIFO: it is switched on, not cleared.
        registers.write(FCR, FIFO_ENABLE);
        registers.write(IER, 0);
        Self { registers, room: 0, enabled: Interrupts::None }
    }

    /// Sends a byte; false when there is no room for it.
    pub(crate) fn put(&mut self, byte: u8) -> bool {
        if self.room == 0 && self.registers.read(LSR) & HOLDING_EMPTY != 0 {
            self.room = FIFO_BYTES;
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
        let bits = match interrupts {
            Interrupts::None => 0,
            Interrupts::Transmit => TRANSMIT_EMPTY,
        };
        self.registers.write(IER, bits);
    }
}
