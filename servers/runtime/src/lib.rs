//! What every server stands on: the way into the kernel, typed capabilities, start and panic, rings, memory.
//!
//! Reading order is a call's: [`stubs`] has a method for each row of the table of invocations, [`message`]
//! what is sent and received, [`trap`] the one instruction that enters the kernel. [`start`] and [`panic`] are
//! a server's first and last moments; [`server`] is what root gave it. [`ring`] and [`log`] speak to other
//! servers without waiting for them (C-61); [`memory`], [`space`] and [`thread`] build objects from Untypeds; [`host`] is for servers that host programs.
//!
//! There is no global state: a thread's IPC buffer is found through `$tp`, everything else is passed on.

#![no_std]

#[cfg(test)]
extern crate std;

pub mod calendar;
pub mod device;
pub mod error;
pub mod host;
pub mod log;
pub mod mapping;
pub mod mark;
pub mod memory;
pub mod message;
pub mod panic;
pub mod registers;
pub mod ring;
pub mod server;
pub mod space;
pub mod start;
pub mod stubs;
pub mod thread;
pub mod trap;

pub use abi::{self, CPtr, Error, MessageInfo, Rights};
pub use error::InvocationError;
