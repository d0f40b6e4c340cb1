//! What a host stands on (C-20 to C-30): its calls, its per-core block, the entries that the kernel goes to, and
//! the routines that touch a program's memory.
//!
//! A program's registers lie in its [`Context`], which the host has mapped: the common saver of a system call
//! writes there what compiled code may destroy, the kernel everything when a program faults or is interrupted.
//! So whoever looks at a program, copies it or rewrites it reads and writes that memory, and says with [`Next`]
//! how the program goes on.
//!
//! Reading order: [`header`] (how a host begins, made by [`crate::host_main!`]), [`block`], [`entries`] (assembly,
//! made by [`crate::host_entries!`]), [`calls`], [`copy`], [`signal`] and `vector` (a program's memory and unit), [`frame`]
//! (pages of the host's own). Exactly one `break` stands in a host's text, in [`entries`]: it is Enter (C-24).

pub mod block;
pub mod calls;
pub mod copy;
pub mod entries;
pub mod frame;
pub mod header;
pub mod signal;
#[cfg(target_arch = "loongarch64")]
pub mod vector;

pub use abi::context::{Context, Width};
pub use block::{Block, TableEntry};
pub use entries::{Answer, Next};
