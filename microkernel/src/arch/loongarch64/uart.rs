//! The kernel's log: the first serial line, output by polling.
//!
//! Owns the transmitter of line 0 until a console server takes the device; the other three lines belong
//! to user space from the start. Neighbours: `crash` and `selftest` print through [`Log`].
#![expect(unsafe_code, reason = "names the device's registers once")]

use core::fmt;

use super::window::DeviceRegister;

/// Physical address of the first ns16550a (QEMU `virt`; the device tree's `stdout-path`).
const LINE_0: u64 = 0x1fe0_01e0;

/// Line status: transmitter holding register empty.
const TRANSMITTER_EMPTY: u8 = 1 << 5;

/// Polls before a byte is dropped: a line that never becomes ready must not stop the kernel.
const PATIENCE: u32 = 1_000_000;

/// Writes one byte to the log.
pub fn put_byte(byte: u8) {
    // SAFETY: QEMU's `virt` board has the ns16550a there; reading the line status changes nothing that
    // the transmitter needs, and writing the holding register sends a byte.
    let (data, status) = unsafe { registers() };
    for _ in 0..PATIENCE {
        if status.read() & TRANSMITTER_EMPTY != 0 {
            break;
        }
    }
    data.write(byte);
}

/// Transmitter holding register and line status register.
///
/// # Safety
///
/// The device must be an ns16550a with byte-wide registers one byte apart.
const unsafe fn registers() -> (DeviceRegister<u8>, DeviceRegister<u8>) {
    // SAFETY: the caller answers for the device.
    let data = unsafe { DeviceRegister::new(LINE_0) };
    // SAFETY: as above.
    let status = unsafe { DeviceRegister::new(LINE_0 + 5) };
    (data, status)
}

/// The kernel's log as a place to write formatted text to.
#[derive(Debug)]
pub struct Log;

impl fmt::Write for Log {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(put_byte);
        Ok(())
    }
}

/// Prints one line to the kernel's log.
#[macro_export]
macro_rules! log_line {
    ($($argument:tt)*) => {{
        use core::fmt::Write as _;
        // The log never fails: `Log::write_str` always answers `Ok`.
        let _ = writeln!($crate::arch::loongarch64::uart::Log, $($argument)*);
    }};
}
