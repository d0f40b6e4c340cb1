//! `cargo xtask`: the one command that sets up, builds, runs, tests and measures Bixi.
//!
//! Each sub-command is a module; all of them start programs through [`packages::shell`] and look at files through
//! [`workspace`]. `--help` of each teaches what it does.

#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic where nobody reads: `packages::say`"
)]

mod bench;
mod boot;
mod build;
mod compare;
mod disk;
mod image_command;
mod members;
mod profile;
mod run;
mod setup;
mod symbols;
mod test;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use miette::{MietteHandlerOpts, Result};

use bench::BenchArguments;
use compare::CompareArguments;
use image_command::ImageArguments;
use packages::host::Host;
use packages::shell::{Shell, Verbosity};
use run::RunArguments;
use test::TestArguments;
use workspace::Workspace;

/// Builds, boots, tests and measures Bixi, a capability microkernel for 64-bit LoongArch.
#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    max_term_width = 100,
    arg_required_else_help = true
)]
struct Arguments {
    /// Show every command that is executed, and the guest's log as it comes.
    #[arg(long, short, global = true)]
    verbose: bool,
    #[command(subcommand)]
    command: SubCommand,
}

#[derive(Debug, Subcommand)]
enum SubCommand {
    /// Install what is missing on this machine.
    ///
    /// Looks for a Rust compiler (1.95 or newer), its libraries for the guest, and QEMU for LoongArch (10.0 or newer),
    /// and installs what is not there; installing packages needs root or sudo. Every other command does this first.
    /// Prints nothing when nothing is missing.
    Setup,
    /// Run a program on Bixi, or boot an image.
    ///
    /// Boots, runs one program made for Linux on loongarch64, powers off, and ends with the program's status. The log of
    /// kernel and servers is shown when something fails, or at once with --verbose.
    #[command(after_help = run::MORE_HELP)]
    Run(RunArguments),
    /// Build one bootable file from a system description.
    ///
    /// The file is an ELF for QEMU's -kernel: the kernel, the root server, and an archive with the other servers.
    Image(ImageArguments),
    /// Run the tests.
    ///
    /// Formatting and lints, tests on this machine (the check of the hot path's instructions among them), tests in the
    /// guest (at two load addresses), hosted programs against what Linux does, boots in a row, and the benchmarks' budgets.
    /// Prints what it skipped and why; the last line
    /// is `N passed, M failed`.
    Test(TestArguments),
    /// Measure, in executed instructions.
    ///
    /// Boots the benchmarks in QEMU under a plugin that counts instructions, loads, stores and CSR accesses between
    /// marks: figures that are the same on every machine. Fails when a median is above its budget in budgets.toml.
    Bench(BenchArguments),
    /// Run the hosted programs on Linux and on Bixi, and say what differs.
    ///
    /// Boots Debian's Linux for LoongArch in QEMU, runs the programs of tests/hosted there, and holds them against
    /// tests/hosted/recorded.toml; then boots Bixi and holds what they do there against what they did on Linux. Fetches
    /// that Linux and a C compiler if they are missing.
    Compare(CompareArguments),
}

impl SubCommand {
    /// What the longer commands put on the disk.
    fn disk(&self) -> Option<disk::Need> {
        match self {
            Self::Run(_) => Some(disk::RUN),
            Self::Test(_) => Some(disk::TEST),
            Self::Compare(_) | Self::Bench(_) => Some(disk::MEASURE),
            Self::Setup | Self::Image(_) => None,
        }
    }
}

fn main() -> ExitCode {
    end_by_a_panic_of_any_thread();
    // A log in an error keeps its lines as they are; the terminal wraps them. It fails only for a second hook.
    let _ = miette::set_hook(Box::new(|_| Box::new(MietteHandlerOpts::new().wrap_lines(false).build())));
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return wrong_usage(&error),
    };
    let failed = match arguments.command {
        // Not to be taken for a status of the program's.
        SubCommand::Run(_) => ExitCode::from(run::FAILED),
        _ => ExitCode::FAILURE,
    };
    carry_out(arguments).unwrap_or_else(|report| {
        packages::tell!("Error: {report:?}");
        failed
    })
}

fn carry_out(arguments: Arguments) -> Result<ExitCode> {
    let shell = Shell::new(if arguments.verbose { Verbosity::Verbose } else { Verbosity::Quiet });
    let workspace = Workspace::new();
    let host = Host::detect(&shell);
    if let Some(need) = arguments.command.disk() {
        need.check(&workspace)?;
    }
    setup::ensure(&shell, &workspace, &host)?;
    match arguments.command {
        SubCommand::Setup => Ok(ExitCode::SUCCESS),
        SubCommand::Run(arguments) => run::run(&shell, &workspace, &host, &arguments),
        SubCommand::Image(arguments) => {
            image_command::run(&shell, &workspace, &arguments).map(|()| ExitCode::SUCCESS)
        }
        SubCommand::Test(arguments) => test::run(&shell, &workspace, &host, &arguments),
        SubCommand::Bench(arguments) => bench::run(&shell, &workspace, &host, &arguments),
        SubCommand::Compare(arguments) => compare::run(&shell, &workspace, &host, &arguments),
    }
}

/// Prints help, or what is wrong with the arguments.
fn wrong_usage(error: &clap::Error) -> ExitCode {
    // Who has closed both streams is not told.
    let _ = error.print();
    let command = std::env::args_os().skip(1).find(|word| !word.as_encoded_bytes().starts_with(b"-"));
    match u8::try_from(error.exit_code()) {
        Ok(0) => ExitCode::SUCCESS,
        _ if command.is_some_and(|command| command == "run") => ExitCode::from(run::FAILED),
        Ok(status) => ExitCode::from(status),
        Err(_) => ExitCode::FAILURE,
    }
}

/// A thread that panics ends the command: another one would wait for it for ever.
fn end_by_a_panic_of_any_thread() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tell(panic);
        std::process::abort();
    }));
}
