//! `cargo xtask`: the one command that sets up, builds, runs, tests and measures Bixi.
//!
//! Each sub-command is a module; all of them start programs through [`shell`] and look at files through
//! [`workspace`]. `--help` of each teaches what it does.

mod setup;
mod shell;
mod workspace;

use clap::{Parser, Subcommand};
use miette::Result;

use setup::Host;
use shell::{Shell, Verbosity};
use workspace::Workspace;

/// Builds, boots, tests and measures Bixi, a capability microkernel for LoongArch.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 100)]
struct Arguments {
    /// Show every command that is executed, and the guest's log.
    #[arg(long, short, global = true)]
    verbose: bool,
    #[command(subcommand)]
    command: SubCommand,
}

#[derive(Debug, Subcommand)]
enum SubCommand {
    /// Install what is missing on this machine.
    ///
    /// Looks for a Rust compiler (1.95 or newer), its libraries for the guest, and QEMU for LoongArch (10.0 or
    /// newer), and installs what is not there; installing packages needs root or sudo. Every other command does
    /// this first. Prints nothing when nothing is missing.
    Setup,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let shell = Shell::new(if arguments.verbose { Verbosity::Verbose } else { Verbosity::Quiet });
    let workspace = Workspace::new();
    let host = Host::detect(&shell);
    setup::ensure(&shell, &workspace, &host)?;
    match arguments.command {
        SubCommand::Setup => Ok(()),
    }
}
