//! Owns `cargo xtask run`: boot an image and pass on what it prints and how it ends.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use image::LoadAddress;
use machine::Verdict;
use miette::Result;

use crate::boot;
use crate::build::{self, Programs};
use crate::workspace::Workspace;
use packages::shell::Shell;

/// What to boot.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Boot the system that images/NAME.toml describes.
    #[arg(long, value_name = "NAME", default_value = "bench")]
    image: String,
    /// Stop the guest after so many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,
}

/// Boots; the guest's exit code becomes this command's.
pub(crate) fn run(shell: &Shell, workspace: &Workspace, arguments: &RunArguments) -> Result<ExitCode> {
    let programs = Programs::build(shell, workspace)?;
    let image = build::named_image(workspace, &programs, &arguments.image, LoadAddress::DEFAULT)?;
    let run = boot::boot(shell, &image, None, Duration::from_secs(arguments.timeout))?;
    boot::pass_on(&run)?;
    match run.verdict {
        Verdict::Passed { exit_code } => Ok(ExitCode::from(exit_code)),
        Verdict::Failed(_) | Verdict::Hung { .. } => Err(boot::explain(&run, &image)),
    }
}
