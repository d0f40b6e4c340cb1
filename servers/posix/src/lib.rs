//! The POSIX server: unmodified Linux programs for LoongArch64, hosted in user space.
//!
//! All of it but what touches the machine is a library of plain data and functions, tested on the
//! developer's machine. The machine is one trait, [`host::Host`]; the bare-metal binary implements it with
//! the kernel's Host object, MapMany and the assembly of its trampolines, [`mock`] with plain memory.
//!
//! The way of a call is the reading order: [`dispatch`] (one table: number, arguments, handler), the
//! handler's module ([`memory`], …), [`user`] (the only way to a program's memory, C-29).
//!
//! Invariants:
//! - The whole mutable state is one value, [`server::Server`]; nothing here is global.
//! - A program's pointer is a [`user::UserPtr`] or [`user::UserSlice`] and is used through [`user`] alone.
//! - No program can make the server panic: what a program gives is answered with an [`Errno`].
#![cfg_attr(target_os = "none", no_std)]

extern crate alloc;

pub mod address;
pub mod dispatch;
pub mod errno;
pub mod executor;
pub mod file;
pub mod futex;
pub mod host;
pub mod job;
pub mod memory;
#[cfg(not(target_os = "none"))]
pub mod mock;
pub mod number;
pub mod process;
pub mod program;
pub mod random;
pub mod server;
pub mod signal;
pub mod slots;
pub mod terminal;
#[cfg(test)]
pub(crate) mod testing;
pub mod time;
pub mod user;

pub use errno::Errno;
