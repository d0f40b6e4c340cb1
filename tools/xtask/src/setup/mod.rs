//! Owns what a machine needs before it can build and run Bixi, and how to get it.
//!
//! Each need looks at the real state (the compiler compiles, the emulator answers), never at a note that it was
//! installed once. Nothing is printed and no package command runs when nothing is missing.

mod qemu;
mod rust_source;
mod rust_target;

use miette::Result;
use packages::host::Host;
use packages::shell::Shell;

use crate::workspace::Workspace;

/// Provides everything that is missing; called first by every command.
pub(crate) fn ensure(shell: &Shell, workspace: &Workspace, host: &Host) -> Result<()> {
    rust_target::check_compiler(shell)?;
    rust_target::ensure(shell, workspace, host)?;
    qemu::ensure(shell, workspace, host)
}
