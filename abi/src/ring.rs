//! The layout of a ring between two servers that must not wait for each other (C-61).
//!
//! One direction is a [`RingHeader`] and a power of two of entries behind it. Indices run free in 32
//! bits; the producer alone writes `head`, the consumer alone writes `tail`. Each is stored with release
//! and loaded with acquire order. A side that is about to sleep sets its `sleeps` word, looks once more,
//! and then waits; the other side signals only when it saw that word set, and clears it.

use core::mem::offset_of;

/// The shared words of one direction; each side's words lie in a cache line of their own.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct RingHeader {
    /// Entries ever put in, modulo 2^32; written by the producer.
    pub head: u32,
    /// Not 0: the producer sleeps until there is room.
    pub producer_sleeps: u32,
    /// Unused.
    pub reserved: [u32; 14],
    /// Entries ever taken out, modulo 2^32; written by the consumer.
    pub tail: u32,
    /// Not 0: the consumer sleeps until there is an entry.
    pub consumer_sleeps: u32,
    /// Unused.
    pub reserved_too: [u32; 14],
}

/// Bytes of one entry.
pub const ENTRY_BYTES: usize = 64;
/// Most bytes of text in an entry.
pub const ENTRY_TEXT_BYTES: usize = 56;

/// An entry of a ring to or from the console: a piece of text of one serial line.
///
/// To the console: lines 0 and 3 are lines of text, each sent whole; lines 1 and 2 are streams of bytes, and each
/// entry is sent at once. From the console: bytes of line 1 as they came, an entry without bytes saying that the input
/// has ended, after which none comes; and on line 3 requests that are not the console's own
/// ([`crate::control::Request`]), each in one entry.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ConsoleEntry {
    /// The serial line, 0 to 3.
    pub line: u32,
    /// Bytes of `text` that count, at most [`ENTRY_TEXT_BYTES`].
    pub length: u32,
    /// The text, 8-bit transparent.
    pub text: [u8; ENTRY_TEXT_BYTES],
}

const _: () = assert!(size_of::<RingHeader>() == 128);
const _: () = assert!(offset_of!(RingHeader, tail) == 64);
const _: () = assert!(size_of::<ConsoleEntry>() == ENTRY_BYTES);
