//! The Bixi microkernel's portable core.
//!
//! Principles:
//!
//! - The whole mutable state is one value, [`kernel::Kernel`], over a [`arch::Machine`]: the real one or
//!   the mock that host tests run on. There are no globals.
//! - No `&mut` to an object ever exists (C-5): the store lends `&T` whose fields are cells, because a
//!   sender may be the receiver and a source slot the destination.
//! - Decoding checks everything and changes nothing; invoking cannot fail (C-2).
//! - The kernel allocates nothing and follows no user pointer.
//! - The hot path is assembly of its own (`arch::loongarch64::hot_path`); this crate is the slow path,
//!   and refuses nothing that the hot path lets through (C-9).
//!
//! The path of a message is the reading order: [`entry`], [`syscall`], [`ipc`], [`scheduler`].
#![cfg_attr(target_os = "none", no_std)]

pub mod address;
pub mod arch;
pub mod boot;
pub mod capability;
pub mod entry;
pub mod event_log;
pub mod failure;
#[cfg(not(target_os = "none"))]
pub mod invariant;
pub mod ipc;
pub mod kernel;
pub mod log;
pub mod object;
pub mod scheduler;
pub mod syscall;
