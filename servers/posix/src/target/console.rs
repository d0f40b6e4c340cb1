//! The rings to and from the console (C-61): programs' streams, the log, what `--strace` tells.
//!
//! A program's output never waits here: what does not fit is the library's to keep back until there is room. Lines
//! of the log and records wait for the console, which is above the server and needs nothing of it.

use alloc::collections::VecDeque;
use core::fmt::{self, Write};

use abi::control::Request;
use abi::ring::{ConsoleEntry, ENTRY_TEXT_BYTES};
use abi::server::End;
use posix::host::{Input, Stream};
use runtime::log::SerialLine;
use runtime::ring::{Consumer, Producer, RingError, Wake};
use runtime::server::Server;
use runtime::stubs::Notification;

use super::bug;

/// Bytes of input that are taken out of the ring before a program asks for them.
const HELD: usize = 1 << 16;
/// The line whose entries are requests.
const CONTROL: u32 = 3;

/// What goes to the console.
#[derive(Debug)]
pub(super) struct Output {
    ring: Producer<ConsoleEntry>,
    console: Notification,
    /// The badge bit that says that there is room again.
    pub(super) badge: u64,
    own: Notification,
    /// Badges that came while this waited for the console.
    pub(super) met: u64,
}

/// What comes from the console.
#[derive(Debug)]
pub(super) struct InputRing {
    ring: Consumer<ConsoleEntry>,
    console: Notification,
    /// The badge bit that says that there is something.
    pub(super) badge: u64,
    held: VecDeque<u8>,
    ended: bool,
    window: Option<(u16, u16)>,
}

fn broken(error: RingError) -> ! {
    bug(format_args!("a ring of the console's is broken: {error:?}"))
}

impl Output {
    /// The server's channel to the console; `own` is what the server waits for.
    pub(super) fn of_server(server: &Server, own: Notification) -> Option<Self> {
        let (channel, badge) = server.channels().find(|(channel, _)| channel.end() == Some(End::Producer))?;
        let (ring, console) = (channel.producer()?, channel.peer_notification());
        Some(Self { ring, console, badge, own, met: 0 })
    }

    /// Bytes that fit now. When there are none, the console says when there are.
    pub(super) fn room(&self) -> usize {
        loop {
            let free = self.ring.capacity() - self.ring.used().unwrap_or_else(|error| broken(error));
            if free != 0 || self.sleeps() {
                return usize::try_from(free).unwrap_or(0) * ENTRY_TEXT_BYTES;
            }
        }
    }

    /// Puts in what fits; answers how many bytes that is.
    pub(super) fn write(&mut self, stream: Stream, bytes: &[u8]) -> usize {
        let line = match stream {
            Stream::StandardOutput => 1,
            Stream::StandardError => 2,
        };
        let mut done = 0;
        for piece in bytes.chunks(ENTRY_TEXT_BYTES) {
            if !self.push(line, piece) {
                break;
            }
            done += piece.len();
        }
        self.wake();
        done
    }

    /// Writes one line of text, waiting for room.
    pub(super) fn line(&mut self, line: SerialLine, text: fmt::Arguments<'_>) {
        let mut writer = Line { output: self, line: line.number(), piece: Piece::default() };
        // The writer refuses nothing.
        let _ = writer.write_fmt(text).and_then(|()| writer.write_str("\n"));
        writer.send();
        self.wake();
    }

    /// Waits until everything has left the machine.
    pub(super) fn flush(&mut self) {
        self.wait_until_used_below(1);
    }

    fn push(&mut self, line: u32, piece: &[u8]) -> bool {
        let mut entry = ConsoleEntry { line, length: 0, text: [0; ENTRY_TEXT_BYTES] };
        for (place, byte) in entry.text.iter_mut().zip(piece) {
            *place = *byte;
            entry.length += 1;
        }
        loop {
            match self.ring.push(&entry) {
                Ok(()) => return true,
                Err(RingError::Full) if self.sleeps() => return false,
                Err(RingError::Full) => {}
                Err(error) => broken(error),
            }
        }
    }

    /// Asks for a signal when the ring is no longer full; false when it is not full.
    fn sleeps(&self) -> bool {
        self.ring.sleeps_until_used_below(self.ring.capacity()).unwrap_or_else(|error| broken(error))
    }

    fn wake(&self) {
        if self.ring.wake() == Wake::Needed
            && let Err(refusal) = self.console.signal()
        {
            bug(format_args!("waking the console: {refusal}"));
        }
    }

    fn wait_until_used_below(&mut self, below: u32) {
        self.wake();
        while self.ring.sleeps_until_used_below(below).unwrap_or_else(|error| broken(error)) {
            match self.own.wait() {
                Ok(badges) => self.met |= badges,
                Err(refusal) => bug(format_args!("waiting for the console: {refusal}")),
            }
        }
    }
}

/// A piece of a line.
#[derive(Debug, Default)]
struct Piece {
    text: arrayvec::ArrayVec<u8, ENTRY_TEXT_BYTES>,
}

/// A line on its way into the ring.
struct Line<'a> {
    output: &'a mut Output,
    line: u32,
    piece: Piece,
}

impl Line<'_> {
    fn send(&mut self) {
        while !self.piece.text.is_empty() && !self.output.push(self.line, &self.piece.text) {
            self.output.wait_until_used_below(self.output.ring.capacity());
        }
        self.piece.text.clear();
    }
}

impl Write for Line<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            if self.piece.text.is_full() {
                self.send();
            }
            self.piece.text.try_push(byte).map_err(|_| fmt::Error)?;
        }
        Ok(())
    }
}

impl InputRing {
    /// The server's channel from the console.
    pub(super) fn of_server(server: &Server) -> Option<Self> {
        let (channel, badge) = server.channels().find(|(channel, _)| channel.end() == Some(End::Consumer))?;
        let (ring, console) = (channel.consumer()?, channel.peer_notification());
        Some(Self { ring, console, badge, held: VecDeque::new(), ended: false, window: None })
    }

    /// Looks at what is there, up to a buffer's length.
    pub(super) fn peek(&mut self, into: &mut [u8]) -> Input {
        self.hold(into.len().min(HELD));
        let bytes = into.len().min(self.held.len());
        for (place, byte) in into.iter_mut().zip(&self.held) {
            *place = *byte;
        }
        match bytes {
            0 if self.ended => Input::End,
            0 => Input::Empty,
            bytes => Input::Bytes(bytes),
        }
    }

    /// Forgets what was looked at.
    pub(super) fn take(&mut self, bytes: usize) {
        self.held.drain(..bytes.min(self.held.len()));
    }

    /// Takes entries until so many bytes are held; without any, the console says when there is one.
    fn hold(&mut self, wanted: usize) {
        while self.held.len() < wanted && !self.ended {
            match self.ring.peek().unwrap_or_else(|error| broken(error)) {
                Some(entry) => {
                    let bytes =
                        usize::try_from(entry.length).ok().and_then(|length| entry.text.get(..length));
                    let Some(bytes) = bytes else { broken(RingError::Corrupt) };
                    match entry.line {
                        CONTROL => self.requested(bytes),
                        _ if bytes.is_empty() => self.ended = true,
                        _ => self.held.extend(bytes),
                    }
                    self.complete();
                }
                None if self.ring.sleeps().unwrap_or_else(|error| broken(error)) => return,
                None => {}
            }
        }
    }

    /// The window's size, if it has changed; rows, then columns.
    pub(super) fn take_window(&mut self) -> Option<(u16, u16)> {
        self.window.take()
    }

    fn requested(&mut self, text: &[u8]) {
        match core::str::from_utf8(text).map(Request::parse) {
            Ok(Ok(Request::Window { rows, columns })) => self.window = Some((rows, columns)),
            // Others are the console's own.
            _ => broken(RingError::Corrupt),
        }
    }

    fn complete(&mut self) {
        let wake = self.ring.complete().unwrap_or_else(|error| broken(error));
        if wake == Wake::Needed
            && let Err(refusal) = self.console.signal()
        {
            bug(format_args!("waking the console: {refusal}"));
        }
    }
}
