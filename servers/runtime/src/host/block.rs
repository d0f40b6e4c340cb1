//! The per-core block: what the entries need before there is a stack.
//!
//! It lies in the [`local`](abi::message::IpcBuffer::local) words of the host thread's IPC buffer, so that one
//! register, `$tp`, leads compiled code to both; ConfigureHost is given the buffer's address, which is then in
//! `$t0` at every entry, and SetTlsBase is given the same.

use core::mem::offset_of;

use abi::message::IpcBuffer;

/// Numbers of system calls that the table has; all others go to [`Block::unknown`].
pub const TABLE_ENTRIES: usize = 512;

/// What becomes of one system call.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TableEntry {
    /// Address of the code that the dispatch jumps to: a leaf, `bixi_host_call` or `bixi_host_full_call`.
    pub entry: u64,
    /// For the latter two the handler, as [`super::Answer`] says.
    pub handler: u64,
}

const _: () = assert!(size_of::<TableEntry>() == 16);

/// The block. All addresses are the host's own.
#[derive(Debug)]
#[repr(C)]
pub struct Block {
    /// The current [`abi::context::Context`]: changed together with Switch.
    pub context: u64,
    /// [`TABLE_ENTRIES`] entries of [`TableEntry`].
    pub table: u64,
    /// One past the stack, which is empty at every entry but that of the host's own faults.
    pub stack: u64,
    /// What handlers find in `$a6`.
    pub state: u64,
    /// The handler of numbers that the table does not have.
    pub unknown: u64,
    /// What leaves answer for the current context: see [`crate::host_leaves!`].
    pub identity: u64,
    /// The host's own, for whatever its handlers want to find by `$tp`.
    pub own: [u64; 16],
}

/// Where the block begins in the IPC buffer.
pub const BLOCK: usize = offset_of!(IpcBuffer, local);
const _: () = assert!(BLOCK + size_of::<Block>() <= 2048, "reached by 12-bit offsets from `$tp`");
const _: () = assert!(offset_of!(IpcBuffer, list) >= BLOCK + size_of::<Block>());
