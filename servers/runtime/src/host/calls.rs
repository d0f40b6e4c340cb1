//! The calls of a running host on its own Host. Context numbers are indices in the contexts frame.

use abi::{CPtr, Syscall};

use crate::error::InvocationError;
use crate::trap::{Arguments, trap};

/// Makes a context current (C-26).
///
/// # Errors
/// RangeError; InvalidState for a context without a space; Busy, NeedsSync.
pub fn switch(context: u64) -> Result<(), InvocationError> {
    trap(Syscall::Switch, Arguments::of(CPtr(context))).accepted().map(drop)
}

/// Brings a context's vector state to its memory (C-30): for fork, ptrace, and before it moves to another core.
///
/// # Errors
/// RangeError, NeedsSync.
pub fn sync_vector(context: u64) -> Result<(), InvocationError> {
    trap(Syscall::SyncVector, Arguments::of(CPtr(context))).accepted().map(drop)
}

/// Enters the current context with every register (C-25); `flags` are [`abi::context::enter`]'s. Comes back only
/// when refused; a host that is entered again begins at one of its entries with an empty stack.
///
/// # Errors
/// InvalidArgument; InvalidState without a current context.
pub fn enter_full(flags: u64) -> InvocationError {
    match trap(Syscall::EnterFull, Arguments::of(CPtr(flags))).accepted() {
        Err(refusal) => refusal,
        Ok(_) => abi::Error::InvalidState.into(),
    }
}
