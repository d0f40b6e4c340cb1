//! What both sides of a trap, and the tools, compile against: the table of calls, the table of invocations,
//! messages, objects, errors, faults and boot information.
//!
//! One table, many readers: [`for_each_syscall!`] and [`for_each_invocation!`] hand their rows to a
//! callback macro. The kernel expands them to its decoder, the runtime to its stubs, the tests to
//! "every method × every wrong argument". A golden test locks every number, size and offset.
//!
//! Contracts: C-1 (objects), C-6 to C-8 (the native call), C-61 (rings).
#![no_std]

#[cfg(test)]
extern crate std;

pub mod boot_archive;
pub mod boot_info;
pub mod capability;
pub mod context;
pub mod control;
pub mod description;
pub mod error;
pub mod fault;
mod fields;
pub mod invocation;
pub mod job;
pub mod mapping;
pub mod message;
pub mod object;
pub mod ring;
pub mod server;
pub mod syscall;
pub mod upper;

pub use capability::{CPtr, Rights};
pub use error::Error;
pub use invocation::Method;
pub use message::{IpcBuffer, MessageInfo};
pub use object::ObjectType;
pub use syscall::Syscall;

/// Bytes in a base page: 16 KiB (C-40).
pub const PAGE_BYTES: u64 = 1 << PAGE_BITS;
/// Base-2 logarithm of [`PAGE_BYTES`].
pub const PAGE_BITS: u8 = 14;
/// Base-2 logarithm of a large leaf: 32 MiB, one entry of the second level (C-40).
pub const LARGE_PAGE_BITS: u8 = 25;
/// First address that a program or ordinary server may not use: Linux's 47 bits.
pub const LOWER_HALF_END: u64 = 1 << 47;
/// First address of the upper half, where hosts live (C-44); it reaches to the last address there is.
pub const UPPER_HALF_START: u64 = !(LOWER_HALF_END - 1);
