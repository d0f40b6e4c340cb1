//! Reading and writing another thread's registers: up to 32 words, past what travels in registers.

use abi::{Error, Method, Syscall};

use crate::error::InvocationError;
use crate::message::{Buffer, info};
use crate::stubs::Tcb;
use crate::trap::{Arguments, trap};

/// Words of a thread's register file; word 0 is the pc, word `n` register `$rn`.
pub const COUNT: usize = 32;
/// Index of the pc.
pub const PC: usize = 0;
/// Index of `$tp`.
pub const TP: usize = 2;
/// Index of `$sp`.
pub const SP: usize = 3;
/// Index of `$a0`.
pub const A0: usize = 4;

/// A thread's pc and general registers.
pub type Registers = [u64; COUNT];

/// Words before the registers in a message of WriteRegisters.
const HEADER: usize = 2;

/// Whether the thread runs on once its registers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// It stays as it is.
    Leave,
    /// It becomes runnable.
    Run,
}

impl Tcb {
    /// Writes all registers.
    ///
    /// # Errors
    /// As the row says; NoIpcBuffer when the calling thread has none.
    #[inline(never)]
    pub fn write_registers(self, resume: Resume, registers: &Registers) -> Result<(), InvocationError> {
        let buffer = Buffer::of_thread().ok_or(Error::NoIpcBuffer)?;
        let mut arguments = Arguments::of(self.0);
        arguments.info = info(Method::TcbWriteRegisters.label(), HEADER + COUNT);
        let resume = u64::from(resume == Resume::Run);
        for (index, word) in [resume, 0].into_iter().chain(registers.iter().copied()).enumerate() {
            match arguments.words.get_mut(index) {
                Some(place) => *place = word,
                None => buffer.set_word(index, word),
            }
        }
        trap(Syscall::Call, arguments).accepted().map(drop)
    }

    /// Reads all registers.
    ///
    /// # Errors
    /// As the row says.
    #[inline(never)]
    pub fn read_registers(self) -> Result<Registers, InvocationError> {
        let mut arguments = Arguments::of(self.0);
        arguments.info = info(Method::TcbReadRegisters.label(), HEADER);
        let [first, count, ..] = &mut arguments.words;
        *first = 0;
        *count = COUNT as u64;
        let answer = trap(Syscall::Call, arguments).accepted()?;
        Ok(core::array::from_fn(|index| answer.word(index)))
    }
}
