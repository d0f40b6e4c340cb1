//! What was typed and not read yet: whole lines, then the line in the making; without lines, just bytes.
//!
//! Positions count all bytes that ever came, so that they stay true while bytes are taken.
//!
//! Invariant: `ends` ascends and lies within the queue; `whole` is not behind the last byte and, while there are
//! lines, not before the first.
//! A line that EOF ended has the byte 0 as its end, which nobody reads.

use super::settings::DISABLED;
use crate::number::{to_u64, to_usize};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Most bytes that are kept: what a line of 4,095 characters and its end need.
pub const MOST: usize = 4096;

/// The queue.
#[derive(Debug, Default)]
pub struct Input {
    bytes: VecDeque<u8>,
    /// Where lines end.
    ends: VecDeque<u64>,
    /// The position of the first byte.
    first: u64,
    /// Up to where lines are whole. Without lines: where the first byte was when there ceased to be lines.
    whole: u64,
}

/// What taking from a line came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Took {
    /// So many bytes, and the line is at its end.
    Line(usize),
    /// So many bytes; there may be more of the line.
    Part(usize),
}

impl Input {
    /// All bytes, read by lines or not.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether a whole line is there.
    pub const fn has_line(&self) -> bool {
        self.whole != self.first
    }

    /// Bytes of the line in the making.
    pub fn unfinished(&self) -> usize {
        to_usize(self.end() - self.whole)
    }

    /// Bytes of whole lines, the ends that nobody reads left out.
    pub fn in_lines(&self) -> usize {
        let unread = self.ends.iter().filter(|end| self.at(**end) == DISABLED).count();
        to_usize(self.whole - self.first) - unread
    }

    /// Adds a byte.
    pub fn push(&mut self, byte: u8) {
        self.bytes.push_back(byte);
    }

    /// Adds a byte that ends the line.
    pub fn end_line(&mut self, byte: u8) {
        self.ends.push_back(self.end());
        self.bytes.push_back(byte);
        self.whole = self.end();
    }

    /// Takes the last bytes of the line in the making back.
    pub fn take_back(&mut self, bytes: usize) -> Vec<u8> {
        let kept = self.bytes.len() - bytes.min(self.unfinished());
        self.bytes.split_off(kept).into()
    }

    /// The line in the making.
    pub fn unfinished_bytes(&self) -> impl DoubleEndedIterator<Item = u8> {
        self.bytes.range(self.bytes.len() - self.unfinished()..).copied()
    }

    /// Throws the line in the making away.
    pub fn kill_line(&mut self) {
        self.bytes.truncate(self.bytes.len() - self.unfinished());
    }

    /// Throws everything away.
    pub fn clear(&mut self) {
        self.first = self.end();
        self.whole = self.first;
        self.bytes.clear();
        self.ends.clear();
    }

    /// From now on what is there is one line, or none.
    pub fn to_lines(&mut self) {
        self.ends.clear();
        if !self.bytes.is_empty() {
            self.ends.push_back(self.end() - 1);
        }
        self.whole = self.end();
    }

    /// From now on what is there is bytes.
    pub fn to_bytes(&mut self) {
        self.ends.clear();
        self.whole = self.first;
    }

    /// Takes bytes, not looking at lines.
    pub fn take(&mut self, into: &mut [u8]) -> usize {
        let mut taken = 0;
        for (place, byte) in into.iter_mut().zip(self.bytes.iter()) {
            *place = *byte;
            taken += 1;
        }
        self.drop_first(taken);
        taken
    }

    /// Takes from the first line; there is one.
    pub fn take_line(&mut self, into: &mut [u8]) -> Took {
        let there = to_usize(self.whole - self.first).min(into.len());
        let end = self.ends.front().map(|end| to_usize(*end - self.first)).filter(|end| *end < there);
        let copied = match end {
            Some(end) if self.bytes.get(end) == Some(&DISABLED) => end,
            Some(end) => end + 1,
            None => there,
        };
        for (place, byte) in into.iter_mut().zip(self.bytes.iter().take(copied)) {
            *place = *byte;
        }
        match end {
            Some(end) => {
                self.ends.pop_front();
                self.drop_first(end + 1);
                Took::Line(copied)
            }
            None => {
                self.drop_first(there);
                Took::Part(copied)
            }
        }
    }

    /// A reader had room for exactly a line that EOF ended: the EOF is not one of its own.
    pub fn skip_end_of_file(&mut self) {
        if self.has_line() && self.ends.front() == Some(&self.first) && self.bytes.front() == Some(&DISABLED)
        {
            self.ends.pop_front();
            self.drop_first(1);
        }
    }

    fn drop_first(&mut self, bytes: usize) {
        self.bytes.drain(..bytes.min(self.bytes.len()));
        self.first += to_u64(bytes);
    }

    fn at(&self, position: u64) -> u8 {
        self.bytes.get(to_usize(position - self.first)).copied().unwrap_or(DISABLED)
    }

    fn end(&self) -> u64 {
        self.first + to_u64(self.bytes.len())
    }
}
