//! One serial line: the text that it is sending, the bytes that it receives, and the interrupt that says when it can
//! go on with either.

use heapless::Vec;
use runtime::server::Device;
use runtime::stubs::IrqHandler;

use crate::client::LINE_BYTES;
use crate::uart::{Interrupts, Shared, Uart};

/// Looks at the transmitter after the last byte, before it is believed to be done: a device that never
/// says so does not stop the console (CASES 49).
const LAST_BYTE_LOOKS: u32 = 1000;

/// A serial line.
#[derive(Debug)]
pub(crate) struct Line {
    uart: Uart,
    irq: Option<IrqHandler>,
    badge_bit: u64,
    sending: Option<Sending>,
    /// What it waits for.
    waits: Interrupts,
}

/// Whose text it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    /// A client's.
    Client(usize),
    /// The console's own.
    Console,
}

#[derive(Debug)]
struct Sending {
    sender: Sender,
    text: Vec<u8, LINE_BYTES>,
    sent: usize,
}

impl Line {
    /// Takes a device over.
    pub(crate) fn open(device: &Device, badge_bit: u64, shared: Shared) -> Option<Self> {
        let irq = device.interrupt();
        let uart = Uart::new(device.registers()?, shared);
        let line = Self { uart, irq, badge_bit, sending: None, waits: Interrupts::empty() };
        line.acknowledge();
        Some(line)
    }

    /// Whether another text can be sent.
    pub(crate) fn is_idle(&self) -> bool {
        self.sending.is_none()
    }

    /// Begins to send a text.
    pub(crate) fn send(&mut self, sender: Sender, text: &[u8]) {
        let mut copy = Vec::new();
        let _ = copy.extend_from_slice(text);
        self.sending = Some(Sending { sender, text: copy, sent: 0 });
    }

    /// Sends what the device takes; answers whose text is out.
    pub(crate) fn progress(&mut self) -> Option<Sender> {
        let sending = self.sending.as_mut()?;
        while let Some(byte) = sending.text.get(sending.sent) {
            if !self.uart.put(*byte) {
                // The interrupt comes when the device is empty, at once if it is so by now.
                self.wait_for(Interrupts::TRANSMIT);
                return None;
            }
            sending.sent += 1;
        }
        let mut looks = 0..LAST_BYTE_LOOKS;
        while !self.uart.is_done() && looks.next().is_some() {}
        self.wait_no_longer_for(Interrupts::TRANSMIT);
        self.sending.take().map(|sending| sending.sender)
    }

    /// Takes what was received, as much as `into` has room for; when there is no more, its interrupt says so.
    pub(crate) fn receive(&mut self, into: &mut [u8]) -> usize {
        let mut received = 0;
        for place in into {
            let Some(byte) = self.uart.take() else {
                self.wait_for(Interrupts::RECEIVE);
                return received;
            };
            *place = byte;
            received += 1;
        }
        received
    }

    /// Leaves what is received in the device, which then takes no more from outside.
    pub(crate) fn hold_back(&mut self) {
        self.wait_no_longer_for(Interrupts::RECEIVE);
    }

    fn wait_for(&mut self, event: Interrupts) {
        self.waits |= event;
        self.uart.enable(self.waits);
    }

    fn wait_no_longer_for(&mut self, event: Interrupts) {
        self.waits -= event;
        self.uart.enable(self.waits);
    }

    /// The server's notification was signalled with these bits.
    pub(crate) fn interrupted(&mut self, badges: u64) {
        if badges & self.badge_bit != 0 {
            // Its cause is gone before the line may interrupt again, or it would at once; who still waits says so.
            self.waits = Interrupts::empty();
            self.uart.enable(self.waits);
            self.acknowledge();
        }
    }

    fn acknowledge(&self) {
        if let Some(irq) = self.irq {
            // Refused only if root gave no handler; the transmitter is looked at again with every text.
            let _ = irq.ack();
        }
    }
}
