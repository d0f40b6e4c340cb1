//! From a number in `$a7` to an answer: one table, many readers.
//!
//! [`table`] has a row for each call that is there. From it come the array that the trampoline indexes
//! ([`entries`]), the waiting calls' futures ([`wait`]), the decoder of `--strace`, and the tests "every call ×
//! every pointer argument × every bad value". Any number at all has an answer (C-14): what is not there is
//! ENOSYS, and counted.

pub mod admission;
pub mod argument;
pub mod entries;
pub mod names;
pub mod strace;
pub mod table;

#[cfg(test)]
mod tests;

pub use argument::{Argument, Kind};
pub use strace::Strace;

use crate::Errno;
use crate::executor::cx::Cx;
use crate::host::Host;
use crate::number::to_usize;
use alloc::collections::BTreeMap;

/// `$a0` to `$a5`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arguments([u64; 6]);

impl Arguments {
    /// Of these registers.
    pub const fn new(words: [u64; 6]) -> Self {
        Self(words)
    }

    /// One argument.
    #[inline]
    pub fn word(&self, number: usize) -> u64 {
        self.0.get(number).copied().unwrap_or(0)
    }

    /// All of them.
    pub const fn words(&self) -> [u64; 6] {
        self.0
    }
}

/// What becomes of a thread after its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It goes on with this in `$a0`.
    Done(u64),
    /// It goes on with this in `$a0`, and others may have become ready: the slice alarm is seen to.
    Woke(u64),
    /// The call has to wait: its `async fn` takes over, from the start.
    Wait,
    /// The call has to wait, and it is noted for what ([`crate::executor::parked`]).
    Parked,
    /// It goes on with 0 after the others had their turn.
    Yield,
    /// Its registers were replaced: it goes on with those.
    Replaced,
    /// The same, and everything that was due to it has been seen to: what [`crate::host::Host::enter_flags`] says.
    Enter(u64),
    /// It is no more.
    Gone,
}

impl From<u64> for Flow {
    fn from(value: u64) -> Self {
        Self::Done(value)
    }
}

/// Calls that were made and are not there.
#[derive(Debug, Default)]
pub struct Unknown {
    counts: BTreeMap<u64, u64>,
}

/// Most different unknown numbers that are told apart; a program cannot fill memory with them.
const TOLD_APART: usize = 512;

impl Unknown {
    /// Counts one; says whether it is the first of its number.
    pub fn count(&mut self, number: u64) -> First {
        if let Some(count) = self.counts.get_mut(&number) {
            *count = count.saturating_add(1);
            return First::No;
        }
        if self.counts.len() >= TOLD_APART {
            return First::No;
        }
        self.counts.insert(number, 1);
        First::Yes
    }

    /// Every number with its count, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.counts.iter().map(|(number, count)| (*number, *count))
    }
}

/// Whether something happened for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// It did.
    Yes,
    /// It did not.
    No,
}

/// The rest of a call that waits.
///
/// # Errors
/// Those of the call; ENOSYS for one that never waits.
pub async fn wait<H: Host>(cx: &Cx<H>, number: u64, arguments: Arguments) -> Result<u64, Errno> {
    table::wait(cx, number, arguments).await
}

/// The row of a number.
pub fn row(number: u64) -> Option<&'static table::Row> {
    let position = table::ROWS.binary_search_by_key(&number, |row| row.number).ok()?;
    table::ROWS.get(position)
}

/// The argument of a row, by position.
pub fn argument(row: &table::Row, number: u64) -> Option<&'static Argument> {
    row.arguments.get(to_usize(number))
}
