//! What an invocation is given and what it answers.
//!
//! Everything is read once, before anything is checked (C-5); only the registers that WriteRegisters brings
//! along are left to it.

use core::mem::offset_of;

use abi::invocation::Row;
use abi::message::{IpcBuffer, REGISTER_WORDS};
use abi::{CPtr, Error, MessageInfo, Method};
use arrayvec::ArrayVec;

use crate::address::WindowAddr;
use crate::arch::Machine;
use crate::capability::cap::{Cap, Slot};
use crate::capability::space;
use crate::failure::Failure;
use crate::kernel::Kernel;
use crate::object::store::Ref;
use crate::object::thread::Tcb;

/// Most words that a method has in its row.
pub const MAX_ARGUMENTS: usize = 8;
/// Most words that a method has in the row of its answer.
pub const MAX_ANSWER: usize = 2;
/// Most words that WriteRegisters reads: its row's two and the registers.
const MAX_WRITTEN: usize = 34;

/// The words of a successful answer. It is passed on from hand to hand, so it is small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// What the method's row says.
    Words(ArrayVec<u64, MAX_ANSWER>),
    /// ReadRegisters: these registers of that thread, as they are now.
    Registers {
        /// Whose.
        thread: Ref<Tcb>,
        /// The first.
        first: usize,
        /// How many.
        count: usize,
    },
}

impl Answer {
    /// An answer of one word.
    pub fn word(word: u64) -> Self {
        Self::from_iter([word])
    }

    /// The words of the row.
    pub fn words(&self) -> &[u64] {
        match self {
            Self::Words(words) => words,
            Self::Registers { .. } => &[],
        }
    }
}

impl Default for Answer {
    fn default() -> Self {
        Self::Words(ArrayVec::new())
    }
}

impl FromIterator<u64> for Answer {
    /// Takes the first [`MAX_ANSWER`] words.
    fn from_iter<I: IntoIterator<Item = u64>>(words: I) -> Self {
        Self::Words(words.into_iter().take(MAX_ANSWER).collect())
    }
}

/// The object that is invoked.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The thread that calls.
    pub thread: Ref<Tcb>,
    /// Where the capability lies.
    pub slot: Ref<Slot>,
    /// The capability.
    pub cap: Cap,
}

/// The arguments of a method, as many as its row of the table names.
#[derive(Clone, Debug)]
pub struct Arguments {
    caps: ArrayVec<Option<Ref<Slot>>, { abi::message::MAX_CAPS }>,
    words: ArrayVec<u64, MAX_ARGUMENTS>,
    /// Words of the message.
    length: usize,
}

impl Arguments {
    /// No arguments yet, of a message that `info` describes.
    pub fn of(info: MessageInfo) -> Self {
        Self { caps: ArrayVec::new(), words: ArrayVec::new(), length: info.length() }
    }

    /// Reads what the method of `row` needs of the message that `thread` sent.
    ///
    /// Errors: [`Error::TruncatedMessage`], [`Error::NoIpcBuffer`], and a capability's lookup.
    pub fn read<M: Machine>(
        &mut self,
        k: &Kernel<M>,
        thread: Ref<Tcb>,
        row: &Row,
        info: MessageInfo,
    ) -> Result<(), Failure> {
        let (caps, words) = (row.caps.len(), row.words.len());
        if info.caps() < caps {
            return Err(Failure::about(Error::TruncatedMessage, 0, caps as u64));
        }
        if self.length < words {
            return Err(Failure::about(Error::TruncatedMessage, caps as u64, words as u64));
        }
        let needs_buffer = match row.method {
            // The registers follow the row's words.
            Method::TcbWriteRegisters => self.length > REGISTER_WORDS,
            _ => caps != 0 || words > REGISTER_WORDS,
        };
        let buffer = k.get(thread).ipc_buffer.get();
        if buffer == 0 && needs_buffer {
            return Err(Failure::new(Error::NoIpcBuffer));
        }
        let buffer = WindowAddr(buffer);
        for index in 0..caps {
            // A row has no more than fit.
            let _ = self.caps.try_push(read_cap(k, thread, buffer, index)?);
        }
        self.words.extend((0..words.min(MAX_ARGUMENTS)).map(|index| read_word(k, thread, buffer, index)));
        Ok(())
    }

    /// Word `index` of the row; 0 where the row has no such word.
    pub fn word(&self, index: usize) -> u64 {
        self.words.get(index).copied().unwrap_or(0)
    }

    /// The words that follow the row's in the message of `thread`: WriteRegisters'. To be read once.
    pub fn further_words<M: Machine>(&self, k: &Kernel<M>, thread: Ref<Tcb>) -> ArrayVec<u64, MAX_WRITTEN> {
        let buffer = WindowAddr(k.get(thread).ipc_buffer.get());
        let range = self.words.len()..self.length.min(MAX_WRITTEN);
        range.map(|index| read_word(k, thread, buffer, index)).collect()
    }

    /// The slot that capability argument `index` names; it may be empty.
    ///
    /// Errors: [`Error::InvalidCapability`] for the null pointer.
    pub fn cap_slot(&self, index: usize) -> Result<Ref<Slot>, Failure> {
        self.optional_cap_slot(index).ok_or(Failure::about(Error::InvalidCapability, index as u64, 0))
    }

    /// The slot that capability argument `index` names; `None` for the null pointer.
    pub fn optional_cap_slot(&self, index: usize) -> Option<Ref<Slot>> {
        self.caps.get(index).copied().flatten()
    }

    /// The same failure said of word `index`.
    pub fn about_word(&self, index: usize, failure: Failure) -> Failure {
        failure.of_argument((self.caps.len() + index) as u64)
    }

    /// What is said of word `index`: its place in the row, capabilities first.
    pub fn refuse_word(&self, index: usize, error: Error, detail: u64) -> Failure {
        Failure::about(error, (self.caps.len() + index) as u64, detail)
    }
}

/// The slot that the buffer's capability `index` names, looked up now: a method sees slots, not addresses.
fn read_cap<M: Machine>(
    k: &Kernel<M>,
    thread: Ref<Tcb>,
    buffer: WindowAddr,
    index: usize,
) -> Result<Option<Ref<Slot>>, Failure> {
    match k.machine.load(buffer.offset((offset_of!(IpcBuffer, caps) + index * 8) as u64)) {
        0 => Ok(None),
        pointer => match space::lookup(k, thread, CPtr(pointer)) {
            Ok(slot) => Ok(Some(slot)),
            Err(failure) => Err(failure.of_argument(index as u64)),
        },
    }
}

fn read_word<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>, buffer: WindowAddr, index: usize) -> u64 {
    match k.get(thread).message_register(index) {
        Some(word) => word.get(),
        None => k.machine.load(buffer.offset((offset_of!(IpcBuffer, words) + index * 8) as u64)),
    }
}
