//! The serial lines without the console: for root's own panic, and for the end of a system whose console is
//! gone. Root maps the page of the serial lines at its start and touches it only here.

#![expect(unsafe_code, reason = "device registers that root has mapped")]

use core::fmt::{self, Write};

use abi::control::{Record, Text};
use runtime::device::ByteRegisters;
use runtime::log::SerialLine;

use crate::boot::DEBUG;

/// Where root maps the page.
pub(crate) const SERIAL_PAGE_ADDRESS: u64 = 0x1_a000_0000;
/// The page's physical address (QEMU's `hw/loongarch/virt.c`).
pub(crate) const SERIAL_PAGE_PHYSICAL: u64 = 0x1fe0_0000;
/// Where the registers of line 0 lie in the page.
const FIRST_LINE: u64 = 0x1e0;
/// From one line's registers to the next one's.
const LINE_STRIDE: u64 = 0x100;
/// Transmitter holding register.
const THR: usize = 0;
/// Line status register, and its bit for an empty transmitter.
const LSR: usize = 5;
const HOLDING_EMPTY: u8 = 0x20;
/// The bit that says that the last byte is out, too.
const ALL_EMPTY: u8 = 0x40;
/// Looks at a transmitter that stays full before its byte is given up (CASES 49).
const LOOKS: u32 = 1_000_000;
/// How long a line may take to get its last bytes out: 8 s of a counter of 100 MHz. They stay in the device for as long
/// as whoever listens outside is not scheduled; an emulator that ends then loses them.
const LAST_BYTES_TICKS: u64 = 800_000_000;
/// Every line.
const LINES: [SerialLine; 4] = [SerialLine::Log, SerialLine::Output, SerialLine::Errors, SerialLine::Control];
/// The status of a system that root itself had to end.
pub(crate) const FAILED: u8 = 101;

/// A serial line, written to directly.
struct Direct(Option<ByteRegisters>);

impl Direct {
    fn open(line: SerialLine) -> Self {
        let address = SERIAL_PAGE_ADDRESS + FIRST_LINE + u64::from(line.number()) * LINE_STRIDE;
        // SAFETY: root maps the page before anything can go wrong; whoever else drives it has stopped, or
        // loses nothing but the order of bytes.
        Self(unsafe { ByteRegisters::new(address, LINE_STRIDE) })
    }
}

impl Write for Direct {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let registers = self.0.as_ref().ok_or(fmt::Error)?;
        for byte in text.bytes() {
            let mut looks = 0..LOOKS;
            while registers.read(LSR) & HOLDING_EMPTY == 0 && looks.next().is_some() {}
            registers.write(THR, byte);
        }
        Ok(())
    }
}

/// Writes one line.
pub(crate) fn line(line: SerialLine, text: fmt::Arguments<'_>) {
    let _ = writeln!(Direct::open(line), "{text}");
}

/// Root's own panic: who and where, the exit record, and the machine's end.
pub(crate) fn panicked(what: fmt::Arguments<'_>) -> ! {
    line(SerialLine::Log, format_args!("root: {what}"));
    let panic = Record::Panic { place: Text::new("root") };
    line(SerialLine::Control, format_args!("{panic}"));
    line(SerialLine::Control, format_args!("{}", Record::Exit { code: FAILED }));
    halt()
}

/// Waits until every byte has left the machine, or has had its time.
fn drain() {
    let end = runtime::trap::counter().saturating_add(LAST_BYTES_TICKS);
    for registers in LINES.into_iter().filter_map(|line| Direct::open(line).0) {
        while registers.read(LSR) & ALL_EMPTY == 0 && runtime::trap::counter() < end {}
    }
}

/// Powers the machine off.
pub(crate) fn halt() -> ! {
    drain();
    loop {
        // A kernel without Debug stays here, and the tool ends the machine after the exit record.
        let _ = DEBUG.halt();
        runtime::stubs::yield_now();
    }
}
