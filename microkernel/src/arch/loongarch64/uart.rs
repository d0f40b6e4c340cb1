//! The kernel's log: the first serial line, output by polling.
//!
//! Owns the transmitter of line 0 until a console server takes the device; the other three lines belong
//! to user space from the start, but that a crash writes its last record to the control line.
//! Neighbours: `crash` and `selftest` print through [`SerialLine::log()`].
#![expect(unsafe_code, reason = "names the devices' registers once")]

use core::fmt;

use super::window::DeviceRegister;

/// One of the board's four ns16550a (QEMU `virt`; the first is the device tree's `stdout-path`).
#[derive(Clone, Copy, Debug)]
pub struct SerialLine {
    physical: u64,
}

impl SerialLine {
    /// Line 0: log of kernel and servers.
    #[must_use]
    pub const fn log() -> Self {
        Self { physical: LOG }
    }

    /// Line 3: control records.
    #[must_use]
    pub const fn control() -> Self {
        Self { physical: CONTROL }
    }

    /// Writes one byte.
    pub fn put_byte(self, byte: u8) {
        // SAFETY: QEMU's `virt` board has an ns16550a there; reading the line status changes nothing that
        // the transmitter needs.
        let status = unsafe { DeviceRegister::<u8>::new(self.physical + LINE_STATUS) };
        // SAFETY: as above; writing the holding register sends a byte.
        let data = unsafe { DeviceRegister::<u8>::new(self.physical) };
        for _ in 0..PATIENCE {
            if status.read() & TRANSMITTER_EMPTY != 0 {
                break;
            }
        }
        data.write(byte);
    }

    /// Waits until the last byte is out, or has had its time: a machine that is switched off before loses it.
    pub fn flush(self) {
        // SAFETY: as in `put_byte`.
        let status = unsafe { DeviceRegister::<u8>::new(self.physical + LINE_STATUS) };
        for _ in 0..PATIENCE {
            if status.read() & ALL_EMPTY != 0 {
                break;
            }
        }
    }
}

impl fmt::Write for SerialLine {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(|byte| self.put_byte(byte));
        Ok(())
    }
}

/// Physical address of line 0.
pub const LOG: u64 = 0x1fe0_01e0;

/// Physical address of line 3.
const CONTROL: u64 = 0x1fe0_04e0;

/// Offset of the line status register.
const LINE_STATUS: u64 = 5;

/// Line status: transmitter holding register empty.
const TRANSMITTER_EMPTY: u8 = 1 << 5;

/// Line status: holding register and shift register empty.
const ALL_EMPTY: u8 = 1 << 6;

/// Polls before a byte is sent all the same: a line that never becomes ready must not stop the kernel.
const PATIENCE: u32 = 1_000_000;

/// Prints one line to the kernel's log.
#[macro_export]
macro_rules! log_line {
    ($($argument:tt)*) => {{
        use core::fmt::Write as _;
        // A serial line never fails: `write_str` always answers `Ok`.
        let _ = writeln!($crate::arch::loongarch64::uart::SerialLine::log(), $($argument)*);
    }};
}
