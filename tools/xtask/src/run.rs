//! Owns `cargo xtask run`: boot an image and pass on what goes in, what comes out and how it ends.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use image::LoadAddress;
use machine::{Emulator, Verdict};
use miette::Result;

use crate::boot;
use crate::build::{self, Programs};
use crate::workspace::Workspace;
use packages::shell::{Shell, Verbosity};
use streams::{Shown, Streams};

mod streams;

/// What to boot.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Boot the system that images/NAME.toml describes.
    #[arg(long, value_name = "NAME", default_value = "bench")]
    image: String,
    /// Stop the guest after so many seconds, with status 124.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,
}

/// The status of a run that was stopped because its time was up, as timeout(1) has it.
const TIMED_OUT: u8 = 124;
/// The status of a program that SIGPIPE has ended: nobody reads its output.
const BROKEN_PIPE: u8 = 128 + 13;

/// Boots; the guest's exit code becomes this command's.
pub(crate) fn run(shell: &Shell, workspace: &Workspace, arguments: &RunArguments) -> Result<ExitCode> {
    let programs = Programs::build(shell, workspace)?;
    let image = build::named_image(workspace, &programs, &arguments.image, LoadAddress::DEFAULT)?;
    let machine = boot::machine(&image, Duration::from_secs(arguments.timeout));
    let shown = match shell.verbosity() {
        Verbosity::Verbose => Shown::Everything,
        Verbosity::Quiet => Shown::Program,
    };
    let mut streams = Streams::new(shown);
    let emulator = Emulator::find()?;
    shell.announce(&machine.command(&emulator));
    let run = machine.run_with(&emulator, Box::new(std::io::stdin()), &mut streams)?;
    match run.verdict {
        Verdict::Passed { exit_code } => Ok(ExitCode::from(exit_code)),
        Verdict::GivenUp => Ok(ExitCode::from(BROKEN_PIPE)),
        Verdict::Hung { .. } => {
            eprintln!("{:?}", boot::explain(&run, &image));
            Ok(ExitCode::from(TIMED_OUT))
        }
        Verdict::Failed(_) => Err(boot::explain(&run, &image)),
    }
}
