//! A server's last words: what it panics about goes to root, which knows its name and what is to follow.
//!
//! The text travels as the words of one message (seL4's Call, so that the thread stops here): no ring, no lock
//! and no memory is needed, and it works in the console as well as in its clients.

use core::fmt::{self, Write};

use abi::server::{parent, slot};
use abi::{CPtr, Syscall};

use crate::message::{Buffer, info};
use crate::trap::{Arguments, trap};

/// Tells root what went wrong, and stops.
pub fn last_words(what: fmt::Arguments<'_>) -> ! {
    let mut text = Text { bytes: [0; parent::TEXT_BYTES], length: 0 };
    // The text never refuses; a value's own formatter may, and then what came before it is what there is.
    let _ = text.write_fmt(what);
    text.send();
    loop {
        // Root does not answer a panic; without an endpoint, this still stops here.
        trap(Syscall::Wait, Arguments::of(CPtr(slot::PARENT)));
        trap(Syscall::Yield, Arguments::of(CPtr::NULL));
    }
}

struct Text {
    bytes: [u8; parent::TEXT_BYTES],
    length: usize,
}

impl Text {
    fn send(&self) {
        let mut arguments = Arguments::of(CPtr(slot::PARENT));
        let buffer = Buffer::of_thread();
        let in_registers = arguments.words.len();
        let words = 1 + self.length.div_ceil(8);
        // A thread without a buffer says what fits into registers.
        let words = if buffer.is_some() { words } else { words.min(in_registers) };
        arguments.info = info(parent::PANIC, words);
        let length = self.length.min((words - 1) * 8) as u64;
        let text = self
            .bytes
            .chunks_exact(8)
            .map(|chunk| chunk.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)));
        for (index, word) in core::iter::once(length).chain(text).take(words).enumerate() {
            match (arguments.words.get_mut(index), &buffer) {
                (Some(place), _) => *place = word,
                (None, Some(buffer)) => buffer.set_word(index, word),
                (None, None) => {}
            }
        }
        trap(Syscall::Call, arguments);
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            if let Some(place) = self.bytes.get_mut(self.length) {
                *place = byte;
                self.length += 1;
            }
        }
        Ok(())
    }
}
