//! Runs programs on Debian's Linux for LoongArch in QEMU, to say what Bixi must do.
//!
//! Linux is the oracle: what a hosted program prints and how it ends there is recorded, and Bixi must do the same. Many
//! programs run in one boot, each with its own result; a boot takes some seconds.
//!
//! Reading order: [`oracle`] (a run), [`program`] (what is run), [`plan`] (how the guest's first process is told),
//! [`report`] (what it answers), [`kernel`] (Debian's kernel, made bootable).

mod kernel;
mod oracle;
mod plan;
mod program;
mod report;
mod zboot;

pub use oracle::Oracle;
pub use program::{End, Group, Outcome, Program};
