//! Programs' pointers: how they are made, and the only way to what they point at (C-29).
//!
//! A [`UserPtr`] or [`UserSlice`] proves that its bytes lie below 2^47. It proves nothing about what is
//! mapped there: every copy may find a page missing, asks [`crate::memory`] to resolve it as it would for
//! the program itself, and goes on, or ends with EFAULT or the bytes that came through.

mod copy;
mod pointer;

pub use copy::Short;
pub use pointer::{UserPtr, UserSlice};

#[cfg(test)]
mod tests;
