//! Standard input: from line 1 into a client's ring, byte for byte, and its end from a request on line 3. Requests that
//! are the client's, a terminal's window, go on into the same ring.
//!
//! Invariant: a byte is taken from the device only when the ring has room for it. Otherwise it stays there, the device
//! takes no more from outside, and whoever sends waits; so nothing is lost, however slow the reader is.

use core::fmt::Write;

use abi::control::Request;
use abi::ring::{ConsoleEntry, ENTRY_TEXT_BYTES};
use abi::server::End;
use heapless::String;
use runtime::ring::{Producer, RingError, Wake};
use runtime::server::Channel;
use runtime::stubs::Notification;

use crate::line::Line;

/// The line that input comes from.
pub(crate) const INPUT_LINE: usize = 1;

/// A client's standard input.
#[derive(Debug)]
pub(crate) struct Input {
    ring: Producer<ConsoleEntry>,
    peer: Notification,
    /// Bytes that came so far.
    received: u64,
    /// How many come in all, once that was said.
    ends_after: Option<u64>,
    /// The window's last size, while the client was not told of it.
    window: Option<Request>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// More may come.
    Open,
    /// More may come, and lies in the device: the ring was full.
    Full,
    /// The client was told of the end, or its side of the ring broke the rules.
    Closed,
}

impl Input {
    /// The client at the other end of a channel that this server submits to.
    pub(crate) fn of_channel(channel: &Channel) -> Option<Self> {
        if channel.end() != Some(End::Producer) {
            return None;
        }
        Some(Self {
            ring: channel.producer()?,
            peer: channel.peer_notification(),
            received: 0,
            ends_after: None,
            window: None,
            state: State::Open,
        })
    }

    /// A request was made on the control line.
    pub(crate) fn requested(&mut self, request: Request) {
        match request {
            Request::InputEnds { after } => self.ends_after = Some(after),
            Request::Window { .. } => self.window = Some(request),
        }
    }

    /// Moves what was received into the ring; true when anything was moved.
    pub(crate) fn take_from(&mut self, line: &mut Line) -> bool {
        let mut moved = false;
        if self.state == State::Full {
            self.state = State::Open;
        }
        while self.state == State::Open {
            match self.next_entry(line) {
                Ok(true) => moved = true,
                Ok(false) => break,
                Err(_) => self.state = State::Closed,
            }
        }
        if self.state != State::Open {
            line.hold_back();
        }
        if moved && self.ring.wake() == Wake::Needed {
            // A client that is gone needs no signal.
            let _ = self.peer.signal();
        }
        moved
    }

    /// Says that the console sleeps; false when there is room for more by now.
    pub(crate) fn sleeps(&mut self) -> bool {
        if self.state != State::Full {
            // What was there was taken: the line's interrupt tells of more.
            return true;
        }
        self.ring.sleeps_until_used_below(self.ring.capacity()).unwrap_or_else(|_| {
            self.state = State::Closed;
            true
        })
    }

    /// Puts in one entry; false when there is nothing to put in, or no room.
    fn next_entry(&mut self, line: &mut Line) -> Result<bool, RingError> {
        if self.ring.used()? == self.ring.capacity() {
            self.state = State::Full;
            return Ok(false);
        }
        if let Some(window) = self.window.take() {
            self.ring.push(&request_entry(&window))?;
            return Ok(true);
        }
        let mut entry = ConsoleEntry { line: 1, length: 0, text: [0; ENTRY_TEXT_BYTES] };
        let received = line.receive(&mut entry.text);
        if received == 0 {
            if self.ends_after.is_none_or(|end| self.received < end) {
                return Ok(false);
            }
            self.state = State::Closed;
        }
        entry.length = u32::try_from(received).unwrap_or(0);
        self.received = self.received.saturating_add(u64::from(entry.length));
        self.ring.push(&entry)?;
        Ok(true)
    }
}

fn request_entry(request: &Request) -> ConsoleEntry {
    let mut text: String<ENTRY_TEXT_BYTES> = String::new();
    // A request of the client's fits into an entry: abi's tests hold it to that.
    let _ = write!(text, "{request}");
    let mut entry = ConsoleEntry { line: 3, length: 0, text: [0; ENTRY_TEXT_BYTES] };
    for (place, byte) in entry.text.iter_mut().zip(text.bytes()) {
        *place = byte;
        entry.length += 1;
    }
    entry
}
