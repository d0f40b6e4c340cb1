//! What is sent and received: a message's words past the registers, and the kernel's answers.
//!
//! Owned here: access to the thread's IPC buffer. Its address is in `$tp`, where whoever made the thread put it
//! with SetTlsBase ([`crate::thread`]); a thread without a buffer has 0 there. The kernel reads and writes the
//! buffer behind the compiler's back, so every access is a volatile one of a single word (C-5).

#![expect(unsafe_code, reason = "the IPC buffer is memory that the kernel shares")]

use core::ptr::NonNull;

use abi::mapping::{MAX_ENTRIES, MapEntry};
use abi::message::{IpcBuffer, LIST_OFFSET, MAX_CAPS, MAX_WORDS, REGISTER_WORDS, ReceiveSlot};
use abi::{CPtr, Error, MessageInfo};

use crate::error::InvocationError;
use crate::trap::{Received, thread_pointer};

/// This thread's IPC buffer.
#[derive(Debug)]
pub struct Buffer(NonNull<IpcBuffer>);

impl Buffer {
    /// The buffer of the thread that asks, if it has one.
    pub fn of_thread() -> Option<Self> {
        let address = usize::try_from(thread_pointer()).ok()?;
        NonNull::new(core::ptr::with_exposed_provenance_mut(address)).map(Self)
    }

    /// Word `index` of a message; those below 8 are in registers and not here.
    pub fn word(&self, index: usize) -> u64 {
        if (REGISTER_WORDS..MAX_WORDS).contains(&index) { self.read(index) } else { 0 }
    }

    /// Sets word `index` of a message, 8 to 119.
    pub fn set_word(&self, index: usize, word: u64) {
        if (REGISTER_WORDS..MAX_WORDS).contains(&index) {
            self.write(index, word);
        }
    }

    /// The badge that a capability arrived as, where [`MessageInfo::unwrapped`] says so.
    pub fn badge(&self, index: usize) -> u64 {
        if index < MAX_CAPS { self.read(MAX_WORDS + index) } else { 0 }
    }

    /// Sets capability `index` of the next message, 0 to 2.
    pub fn set_capability(&self, index: usize, capability: CPtr) {
        if index < MAX_CAPS {
            self.write(MAX_WORDS + index, capability.0);
        }
    }

    /// Sets where a received capability goes.
    pub fn set_receive(&self, slot: ReceiveSlot) {
        for (offset, word) in [slot.root, slot.index, slot.depth].into_iter().enumerate() {
            self.write(MAX_WORDS + MAX_CAPS + offset, word);
        }
    }

    /// Sets an entry of MapMany's list, 0 to 63 (C-41).
    pub fn set_map_entry(&self, index: usize, entry: MapEntry) {
        if index < MAX_ENTRIES {
            let first = LIST_OFFSET / size_of::<u64>() + 2 * index;
            self.write(first, entry.first);
            self.write(first + 1, entry.second);
        }
    }

    /// `index` is below the buffer's words: each caller has checked it.
    fn read(&self, index: usize) -> u64 {
        // SAFETY: `$tp` names a mapped IPC buffer of 2048 words for as long as the thread lives.
        unsafe { self.0.cast::<u64>().as_ptr().wrapping_add(index).read_volatile() }
    }

    fn write(&self, index: usize, word: u64) {
        // SAFETY: as in `read`.
        unsafe { self.0.cast::<u64>().as_ptr().wrapping_add(index).write_volatile(word) }
    }
}

impl Received {
    /// Word `index` of the message, from registers or buffer; 0 past its length.
    pub fn word(&self, index: usize) -> u64 {
        if index >= self.info.length() {
            return 0;
        }
        match self.words.get(index) {
            Some(word) => *word,
            None => Buffer::of_thread().map_or(0, |buffer| buffer.word(index)),
        }
    }

    /// The message, or the kernel's refusal of the call that was to receive it.
    ///
    /// # Errors
    /// What the kernel refused.
    #[inline(always)]
    pub fn accepted(self) -> Result<Self, InvocationError> {
        // One test on the usual way: another thread answered.
        if !self.info.is_from_kernel() || self.info.label() == 0 {
            return Ok(self);
        }
        let [argument, detail, ..] = self.words;
        Err(refused(self.info.label(), argument, detail))
    }
}

/// What the kernel's answer says; kept out of the callers, who seldom need it.
#[cold]
#[inline(never)]
fn refused(label: u64, argument: u64, detail: u64) -> InvocationError {
    match Error::from_label(label) {
        Some(error) => InvocationError { error, argument, detail },
        None => Error::InvalidCapability.into(),
    }
}

/// Describes a message of `words` words, which are at most 120.
#[inline(always)]
pub fn info(label: u64, words: usize) -> MessageInfo {
    MessageInfo::new(label, u8::try_from(words).unwrap_or(u8::MAX))
}
