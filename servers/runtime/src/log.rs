//! Text for a serial line, through the console's ring (C-61): a server's log, its control records, and streams.
//!
//! Owned here: the cutting of text into entries. The console keeps the pieces of a line together, and takes an
//! entry out once its line has left the machine, so an empty ring means that everything has been said.

use core::fmt::{self, Write};

use abi::control::Record;
use abi::ring::{ConsoleEntry, ENTRY_TEXT_BYTES};

use crate::ring::{Producer, RingError, Wake};
use crate::server::Events;
use crate::stubs::Notification;

/// One of the four serial lines (DESIGN §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SerialLine {
    /// Line 0: the log of kernel and servers.
    Log,
    /// Line 1: standard output, a stream of bytes.
    Output,
    /// Line 2: standard error, a stream of bytes.
    Errors,
    /// Line 3: records for the tool that started the machine.
    Control,
}

impl SerialLine {
    /// The line's number.
    pub const fn number(self) -> u32 {
        match self {
            Self::Log => 0,
            Self::Output => 1,
            Self::Errors => 2,
            Self::Control => 3,
        }
    }
}

/// A client's end of its channel to the console.
#[derive(Debug)]
pub struct Console {
    ring: Producer<ConsoleEntry>,
    console: Notification,
    badge_bit: u64,
    /// What else the server waits for, by the same notification.
    pub events: Events,
}

impl Console {
    /// Speaks through `ring`; `console` wakes the console, `badge_bit` of `events` says that it has made room.
    pub fn new(ring: Producer<ConsoleEntry>, console: Notification, badge_bit: u64, events: Events) -> Self {
        Self { ring, console, badge_bit, events }
    }

    /// Writes one line to the log.
    pub fn log(&mut self, text: fmt::Arguments<'_>) {
        self.line(SerialLine::Log, text);
    }

    /// Writes one record to the control line.
    pub fn record(&mut self, record: &Record<'_>) {
        self.line(SerialLine::Control, format_args!("{record}"));
    }

    /// Writes bytes to a stream, and waits while there is no room for them.
    pub fn stream(&mut self, line: SerialLine, bytes: &[u8]) {
        for piece in bytes.chunks(ENTRY_TEXT_BYTES) {
            let length = u32::try_from(piece.len()).unwrap_or(0);
            let mut entry = ConsoleEntry { line: line.number(), length, text: [0; ENTRY_TEXT_BYTES] };
            entry.text.iter_mut().zip(piece).for_each(|(place, byte)| *place = *byte);
            // Without the console there is nobody to tell.
            if self.push(&entry).is_err() {
                return;
            }
        }
        self.wake();
    }

    /// Waits until the console has written everything.
    pub fn flush(&mut self) {
        // A console that is gone or broken cannot be waited for.
        let _ = self.wait_until_used_below(1);
    }

    fn line(&mut self, line: SerialLine, text: fmt::Arguments<'_>) {
        let entry = ConsoleEntry { line: line.number(), length: 0, text: [0; ENTRY_TEXT_BYTES] };
        let mut writer = LineWriter { console: self, entry };
        // Without the console there is nobody to tell; a panic still reaches root by itself.
        let _ = writer.write_fmt(text).and_then(|()| writer.write_str("\n")).and_then(|()| writer.push());
        self.wake();
    }

    fn wake(&self) {
        if self.ring.wake() == Wake::Needed {
            let _ = self.console.signal();
        }
    }

    fn push(&mut self, entry: &ConsoleEntry) -> Result<(), RingError> {
        loop {
            match self.ring.push(entry) {
                Err(RingError::Full) => self.wait_until_used_below(self.ring.capacity())?,
                done => return done,
            }
        }
    }

    fn wait_until_used_below(&mut self, below: u32) -> Result<(), RingError> {
        self.wake();
        while self.ring.sleeps_until_used_below(below)? {
            self.events.wait_for(self.badge_bit);
        }
        Ok(())
    }
}

struct LineWriter<'a> {
    console: &'a mut Console,
    entry: ConsoleEntry,
}

impl LineWriter<'_> {
    fn push(&mut self) -> fmt::Result {
        if self.entry.length == 0 {
            return Ok(());
        }
        let result = self.console.push(&self.entry).map_err(|_| fmt::Error);
        self.entry.length = 0;
        result
    }
}

impl Write for LineWriter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            let at = usize::try_from(self.entry.length).unwrap_or(ENTRY_TEXT_BYTES);
            if let Some(place) = self.entry.text.get_mut(at) {
                *place = byte;
                self.entry.length += 1;
            }
            if at + 1 >= ENTRY_TEXT_BYTES {
                self.push()?;
            }
        }
        Ok(())
    }
}
