//! Where root's own lines go: into its ring to the console, and straight to the device when that has no room or
//! the console is gone. Root never waits here: whoever it waited for might be the one that has failed.

#![expect(unsafe_code, reason = "a ring that root has mapped for itself")]

use core::fmt::{self, Write};
use core::ptr::NonNull;

use abi::boot_info::SelfTests;
use abi::control::{Record, SelfTestResult, Text};
use abi::ring::{ConsoleEntry, ENTRY_TEXT_BYTES};
use heapless::String;
use runtime::log::SerialLine;
use runtime::ring::{Producer, Wake};
use runtime::stubs::Notification;

use crate::emergency;

/// The longest line of root's; what is longer is cut off.
const LINE_BYTES: usize = 1200;

/// Root's voice.
#[derive(Debug, Default)]
pub(crate) struct Report {
    ring: Option<(Producer<ConsoleEntry>, Notification)>,
    /// The console has failed, and was not built anew.
    console_lost: bool,
}

impl Report {
    /// Speaks to the console from now on, which `console` wakes.
    ///
    /// `address` is where root has mapped its ring, for good, and this is its only producer.
    pub(crate) fn open(&mut self, address: NonNull<u8>, entries: u64, console: Notification) {
        // SAFETY: as said above: the caller has mapped the ring and calls this once.
        let ring = unsafe { Producer::attach(address, entries) };
        self.ring = ring.ok().map(|ring| (ring, console));
    }

    /// The console has failed.
    pub(crate) fn console_lost(&mut self) {
        self.console_lost = true;
    }

    /// The console was built anew, and goes on with the ring as it is.
    pub(crate) fn console_back(&mut self) {
        self.console_lost = false;
    }

    /// Writes one line to the log.
    pub(crate) fn log(&mut self, text: fmt::Arguments<'_>) {
        self.line(SerialLine::Log, format_args!("root: {text}"));
    }

    /// Writes one record to the control line.
    pub(crate) fn record(&mut self, record: &Record<'_>) {
        self.line(SerialLine::Control, format_args!("{record}"));
    }

    /// Writes what the machine enforces (C-60).
    pub(crate) fn self_tests(&mut self, seen: &SelfTests) {
        let tests = [
            ("plv2", seen.plv2_denied, "PLV2 is denied privileged instructions"),
            ("canonical", seen.canonical_checked, "addresses that are not canonical are refused"),
            ("no_execute", seen.no_execute, "NX through ldpte"),
            ("no_read", seen.no_read, "NR through ldpte"),
            ("restricted_plv", seen.restricted_plv, "RPLV through ldpte"),
            ("stlb_page_size", seen.stlb_page_size, "STLBPS takes the page size"),
            ("save_registers", seen.save_registers, "SAVE registers"),
            ("hypervisor", seen.hypervisor, "a hypervisor is there"),
        ];
        for (name, value, detail) in tests {
            let result = if value != 0 { SelfTestResult::Enforced } else { SelfTestResult::Missing };
            self.record(&Record::SelfTest { name: Text::new(name), result, detail: Text::new(detail) });
        }
    }

    /// Whether everything is out, or nobody is there to bring it out.
    pub(crate) fn is_out(&self) -> bool {
        self.console_lost || self.ring.as_ref().is_none_or(|(ring, _)| ring.used().unwrap_or(0) == 0)
    }

    fn line(&mut self, line: SerialLine, text: fmt::Arguments<'_>) {
        let mut buffer: String<LINE_BYTES> = String::new();
        // Cut off where it is too long.
        let _ = buffer.write_fmt(text);
        if self.put_into_ring(line, &buffer).is_none() {
            emergency::line(line, format_args!("{buffer}"));
        }
    }

    /// None when there is no room for the whole line.
    fn put_into_ring(&mut self, line: SerialLine, text: &str) -> Option<()> {
        let (ring, console) = self.ring.as_mut().filter(|_| !self.console_lost)?;
        let entries = u32::try_from((text.len() + 1).div_ceil(ENTRY_TEXT_BYTES)).ok()?;
        let room = ring.capacity().checked_sub(ring.used().ok()?)?;
        if room < entries {
            return None;
        }
        let mut bytes = text.bytes().chain(core::iter::once(b'\n'));
        for _ in 0..entries {
            let mut entry = ConsoleEntry { line: line.number(), length: 0, text: [0; ENTRY_TEXT_BYTES] };
            for (place, byte) in entry.text.iter_mut().zip(&mut bytes) {
                *place = byte;
                entry.length += 1;
            }
            ring.push(&entry).ok()?;
        }
        if ring.wake() == Wake::Needed {
            // Refused only when the console is gone, which root learns by its fault.
            let _ = console.signal();
        }
        Some(())
    }
}
