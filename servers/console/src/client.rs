//! A client: its ring, and the line that its entries are gathered into.

use abi::ring::{ConsoleEntry, ENTRY_TEXT_BYTES};
use abi::server::End;
use heapless::Vec;
use runtime::ring::{Consumer, Wake};
use runtime::server::Channel;
use runtime::stubs::Notification;

/// The longest line that is kept together; a longer one is sent in pieces.
pub(crate) const LINE_BYTES: usize = 1024;

/// The lines that are streams of bytes: nothing of them is kept back (`abi::ring`).
const STREAMS: core::ops::RangeInclusive<usize> = 1..=2;

/// What the oldest entry of the ring waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Oldest {
    /// It was not looked at yet, or there is none.
    Unread,
    /// It completed a line, which waits for its serial line.
    Whole { line: usize },
    /// Its line is being sent.
    Sending,
}

/// Another server's end of a channel.
#[derive(Debug)]
pub(crate) struct Client {
    ring: Consumer<ConsoleEntry>,
    peer: Notification,
    /// The pieces of an incomplete line to each serial line.
    text: [Vec<u8, LINE_BYTES>; crate::LINES],
    oldest: Oldest,
    /// The ring's other side broke its rules: it is not served any longer.
    broken: bool,
}

impl Client {
    /// The client at the other end of a channel that this server consumes.
    pub(crate) fn of_channel(channel: &Channel) -> Option<Self> {
        if channel.end() != Some(End::Consumer) {
            return None;
        }
        Some(Self {
            ring: channel.consumer()?,
            peer: channel.peer_notification(),
            text: [const { Vec::new() }; crate::LINES],
            oldest: Oldest::Unread,
            broken: false,
        })
    }

    /// Takes entries until one completes a line; true when any was taken.
    pub(crate) fn gather(&mut self) -> bool {
        let mut moved = false;
        while self.oldest == Oldest::Unread {
            let Some(entry) = self.next() else { break };
            moved = true;
            let line = usize::try_from(entry.line).ok().filter(|line| *line < crate::LINES);
            let bytes = usize::try_from(entry.length).ok().and_then(|length| entry.text.get(..length));
            let (Some(line), Some(bytes)) = (line, bytes) else {
                self.broken = true;
                break;
            };
            if self.append(line, bytes) {
                self.oldest = Oldest::Whole { line };
            } else {
                self.complete();
            }
        }
        moved
    }

    /// The line that is ready to be sent, and the number of its serial line.
    pub(crate) fn whole_line(&self) -> Option<(usize, &[u8])> {
        match self.oldest {
            Oldest::Whole { line } => Some((line, self.text.get(line)?)),
            Oldest::Unread | Oldest::Sending => None,
        }
    }

    /// The line was copied to its serial line.
    pub(crate) fn line_taken(&mut self) {
        if let Oldest::Whole { line } = self.oldest {
            if let Some(text) = self.text.get_mut(line) {
                text.clear();
            }
            self.oldest = Oldest::Sending;
        }
    }

    /// The line has left the machine.
    pub(crate) fn line_sent(&mut self) {
        self.oldest = Oldest::Unread;
        self.complete();
    }

    /// Says that the console sleeps; false when there is something to do after all.
    pub(crate) fn sleeps(&mut self) -> bool {
        if self.broken || self.oldest != Oldest::Unread {
            return true;
        }
        self.ring.sleeps().unwrap_or_else(|_| {
            self.broken = true;
            true
        })
    }

    fn next(&mut self) -> Option<ConsoleEntry> {
        if self.broken {
            return None;
        }
        self.ring.peek().unwrap_or_else(|_| {
            self.broken = true;
            None
        })
    }

    fn complete(&mut self) {
        match self.ring.complete() {
            Ok(Wake::Needed) => {
                // A client that is gone needs no signal.
                let _ = self.peer.signal();
            }
            Ok(Wake::NotNeeded) => {}
            Err(_) => self.broken = true,
        }
    }

    /// Appends bytes; true when they are to be sent: the line is a stream, or it is whole, or so long that it has to
    /// be sent as it is.
    fn append(&mut self, line: usize, bytes: &[u8]) -> bool {
        let Some(text) = self.text.get_mut(line) else { return false };
        // There is room for one more entry: a line that has none left was sent.
        let _ = text.extend_from_slice(bytes);
        STREAMS.contains(&line) || bytes.last() == Some(&b'\n') || text.len() + ENTRY_TEXT_BYTES > LINE_BYTES
    }
}
