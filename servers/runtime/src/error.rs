//! Why the kernel refused a call, with what it said about it.

use core::fmt;

use abi::Error;

/// A refusal of the kernel's (C-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvocationError {
    /// The named error.
    pub error: Error,
    /// Which argument was wrong: its index in the method's row, capabilities first.
    pub argument: u64,
    /// Bits of a lookup that were left, or the limit that was passed.
    pub detail: u64,
}

impl InvocationError {
    /// An error that says nothing more than its name.
    pub const fn plain(error: Error) -> Self {
        Self { error, argument: 0, detail: 0 }
    }
}

impl From<Error> for InvocationError {
    fn from(error: Error) -> Self {
        Self::plain(error)
    }
}

impl fmt::Display for InvocationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} (argument {}, detail {:#x})", self.error, self.argument, self.detail)
    }
}

impl core::error::Error for InvocationError {}
