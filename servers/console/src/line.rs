//! One serial line: the text that it is sending, and the interrupt that says when it can take more.

use heapless::Vec;
use runtime::server::Device;
use runtime::stubs::IrqHandler;

use crate::client::LINE_BYTES;
use crate::uart::{Interrupts, Uart};

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
}

#[derive(Debug)]
struct Sending {
    client: usize,
    text: Vec<u8, LINE_BYTES>,
    sent: usize,
}

impl Line {
    /// Takes a device over.
    pub(crate) fn open(device: &Device, badge_bit: u64) -> Option<Self> {
        let irq = device.interrupt();
        let line = Self { uart: Uart::new(device.registers()?), irq, badge_bit, sending: None };
        line.acknowledge();
        Some(line)
    }

    /// Whether another text can be sent.
    pub(crate) fn is_idle(&self) -> bool {
        self.sending.is_none()
    }

    /// Begins to send a client's text.
    pub(crate) fn send(&mut self, client: usize, text: &[u8]) {
        let mut copy = Vec::new();
        let _ = copy.extend_from_slice(text);
        self.sending = Some(Sending { client, text: copy, sent: 0 });
    }

    /// Sends what the device takes; answers the client whose text is out.
    pub(crate) fn progress(&mut self) -> Option<usize> {
        let sending = self.sending.as_mut()?;
        while let Some(byte) = sending.text.get(sending.sent) {
            if !self.uart.put(*byte) {
                // The interrupt comes when the device is empty, at once if it is so by now.
                self.uart.enable(Interrupts::Transmit);
                return None;
            }
            sending.sent += 1;
        }
        let mut looks = 0..LAST_BYTE_LOOKS;
        while !self.uart.is_done() && looks.next().is_some() {}
        self.uart.enable(Interrupts::None);
        self.sending.take().map(|sending| sending.client)
    }

    /// The server's notification was signalled with these bits.
    pub(crate) fn interrupted(&mut self, badges: u64) {
        if badges & self.badge_bit != 0 {
            // Its cause is gone before the line may interrupt again, or it would at once.
            self.uart.enable(Interrupts::None);
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
