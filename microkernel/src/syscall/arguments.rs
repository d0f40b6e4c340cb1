//! What an invocation is given and what it answers.
//!
//! Everything is read once, before anything is checked: the registers and the buffer are not looked at
//! again (C-5).

use core::mem::offset_of;

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

/// Most words that a method reads: WriteRegisters' two and the registers.
pub const MAX_ARGUMENTS: usize = 34;
/// Most words that a method answers: ReadRegisters'.
pub const MAX_ANSWER: usize = 32;

/// The words of a successful answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer(ArrayVec<u64, MAX_ANSWER>);

impl Answer {
    /// An answer of one word.
    pub fn word(word: u64) -> Self {
        Self::from_iter([word])
    }

    /// The words.
    pub fn words(&self) -> &[u64] {
        &self.0
    }
}

impl FromIterator<u64> for Answer {
    /// Takes the first [`MAX_ANSWER`] words.
    fn from_iter<I: IntoIterator<Item = u64>>(words: I) -> Self {
        Self(words.into_iter().take(MAX_ANSWER).collect())
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
}

impl Arguments {
    /// Reads what `method` needs of the message that `thread` sent.
    ///
    /// Errors: [`Error::TruncatedMessage`], [`Error::NoIpcBuffer`], and a capability's lookup.
    pub fn read<M: Machine>(
        k: &Kernel<M>,
        thread: Ref<Tcb>,
        method: Method,
        info: MessageInfo,
    ) -> Result<Self, Failure> {
        let row = method.row();
        if info.caps() < row.caps.len() {
            return Err(Failure::about(Error::TruncatedMessage, 0, row.caps.len() as u64));
        }
        if info.length() < row.words.len() {
            return Err(Failure::about(
                Error::TruncatedMessage,
                row.caps.len() as u64,
                row.words.len() as u64,
            ));
        }
        let words = match method {
            // The registers follow the row's words.
            Method::TcbWriteRegisters => info.length().min(MAX_ARGUMENTS),
            _ => row.words.len(),
        };
        let buffer = k.get(thread).ipc_buffer.get();
        if buffer == 0 && (!row.caps.is_empty() || words > REGISTER_WORDS) {
            return Err(Failure::new(Error::NoIpcBuffer));
        }
        let buffer = WindowAddr(buffer);
        Ok(Self {
            caps: (0..row.caps.len())
                .map(|index| read_cap(k, thread, buffer, index))
                .collect::<Result<_, _>>()?,
            words: (0..words).map(|index| read_word(k, thread, buffer, index)).collect(),
        })
    }

    /// Word `index` of the row; 0 where the row has no such word.
    pub fn word(&self, index: usize) -> u64 {
        self.words.get(index).copied().unwrap_or(0)
    }

    /// Every word, also those that follow the row's in WriteRegisters.
    pub fn words(&self) -> &[u64] {
        &self.words
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
