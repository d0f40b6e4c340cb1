//! Owns `cargo xtask run`: boot an image and pass on what goes in, what comes out and how it ends.

mod command;
mod escape;
mod streams;
mod terminal;

use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use image::LoadAddress;
use machine::{Emulator, Machine, Verdict};
use miette::{IntoDiagnostic, Report, Result, WrapErr};
use packages::host::Host;
use packages::shell::{Shell, Verbosity};

use crate::boot;
use crate::build::{self, Image, Programs};
use crate::workspace::Workspace;
use command::Prepared;
use streams::{Lines, Shown, Streams};
use terminal::UserTerminal;

/// What to boot, and what to run on it.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Boot the system that images/NAME.toml describes; without CMD, only the programs that it names are run on it.
    #[arg(long, value_name = "NAME")]
    image: Option<String>,
    /// Lay the folder DIR over the guest's root file system; the last DIR is the topmost.
    #[arg(long, value_name = "DIR")]
    root: Vec<PathBuf>,
    /// Add Debian's package NAME for LoongArch, with what it needs.
    #[arg(long, value_name = "NAME", value_parser = parse_package)]
    package: Vec<String>,
    /// Set a variable of the program's environment.
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_variable)]
    env: Vec<String>,
    /// Print every call that a program makes to standard error.
    #[arg(long)]
    strace: bool,
    /// Stop after so many seconds, with status 124; without this a program may run for ever.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// Memory of the machine; without this the image's, and more if the files are large.
    #[arg(long, value_name = "MIB")]
    memory: Option<u64>,
    /// The program and its arguments; without it, a shell.
    ///
    /// A CMD with a `/` that exists here is carried in, to the same place as seen from the guest's root, which is the
    /// program's folder: `./hello` is the guest's `/hello`. Another one is looked up in the guest's PATH.
    #[arg(last = true, value_name = "CMD")]
    command: Vec<std::ffi::OsString>,
}

/// What `--help` says below the options.
pub(crate) const MORE_HELP: &str = "\
Examples:
  cargo xtask run -- busybox uname -a
  cargo xtask run -- ./hello world < input > output
  cargo xtask run --root rootfs --timeout 10 -- /usr/bin/tool
  cargo xtask run --package coreutils --strace -- ls -l /

The guest has Debian's static busybox with all its commands, a few files in /etc, and what --package, --root and CMD \
add, each in place of what was there. The program starts in / as root, with standard input, output and error passed on \
as they are, and this environment: PATH, HOME=/root, PWD=/, SHELL=/bin/sh, USER and LOGNAME=root, TERM as it is here, \
and what --env sets. Nothing but the program's own output is on standard output.

When standard input and output are a terminal the program has it as its own: job control, Ctrl-C and the window's size \
are the guest's. `exit` or Ctrl-D ends the shell and powers off; Ctrl-] twice stops the machine. Otherwise all three \
are plain streams.

Status: the program's own, 128 and the number of the signal that ended it, 126 if it cannot be executed, 127 if there \
is no such program, 124 when its time was up, 130 when the machine was stopped by Ctrl-], 141 when nobody reads its output any more, 125 when the arguments are wrong, \
standard input cannot be read or standard output not written, or the guest could not be run or failed itself.";

/// What is run if the user says nothing.
const SHELL: &str = "sh";
/// The status of a run that was stopped because its time was up, as timeout(1) has it.
const TIMED_OUT: u8 = 124;
/// The status of a run that did not come to its program, or not to its end.
pub(crate) const FAILED: u8 = 125;
/// The status of a run that the user stopped, as if by Ctrl-C.
const STOPPED: u8 = 128 + 2;
/// The status of a program that SIGPIPE has ended: nobody reads its output.
const BROKEN_PIPE: u8 = 128 + 13;

/// Boots and runs; the program's status, or the guest's exit code, becomes this command's.
pub(crate) fn run(
    shell: &Shell,
    workspace: &Workspace,
    host: &Host,
    arguments: &RunArguments,
) -> Result<ExitCode> {
    // A failure of ours must not be taken for one of the program's.
    let status = try_run(shell, workspace, host, arguments).unwrap_or_else(|report| told(&report, FAILED));
    Ok(ExitCode::from(status))
}

/// Tells an error; the status is returned.
fn told(report: &Report, status: u8) -> u8 {
    packages::tell!("{report:?}");
    status
}

fn try_run(shell: &Shell, workspace: &Workspace, host: &Host, arguments: &RunArguments) -> Result<u8> {
    let plain = arguments.command.is_empty() && arguments.image.is_some();
    let terminal = if plain { None } else { UserTerminal::find() };
    let prepared = if plain {
        None
    } else {
        match command::prepare(
            shell,
            workspace,
            host,
            arguments,
            terminal.as_ref().map(UserTerminal::window),
        )? {
            Prepared::Archive(archive) => Some(archive),
            Prepared::NotFound(report) => return Ok(told(&report, command::NOT_FOUND)),
        }
    };
    let programs = Programs::later(shell, workspace);
    let name = arguments.image.as_deref().unwrap_or(build::HOSTING);
    let timeout = arguments.timeout.map_or(Duration::MAX, Duration::from_secs);
    let mut image = build::named_image(workspace, &programs, name, LoadAddress::DEFAULT)?;
    let prepared = match prepared {
        None if image.programs != 0 => Some(command::files(shell, workspace, host, arguments)?),
        prepared => prepared,
    };
    let mut initrd = tempfile::Builder::new().prefix("bixi-").tempfile().into_diagnostic()?;
    if let Some(archive) = &prepared {
        std::io::Write::write_all(&mut initrd, archive)
            .into_diagnostic()
            .wrap_err_with(|| format!("cannot write {}", initrd.path().display()))?;
        if let Some(address) = machine::initrd::load_address(archive.len() as u64).and_then(LoadAddress::new)
        {
            image = build::named_image(workspace, &programs, name, address)?;
        }
    }
    let mut machine = boot::machine(&image, timeout);
    if prepared.is_some() {
        machine.add_initrd(initrd.path());
    }
    if let Some(memory) = arguments.memory {
        machine.memory_mib = memory;
    }
    execute(shell, &image, &machine, terminal)
}

fn execute(shell: &Shell, image: &Image, machine: &Machine, terminal: Option<UserTerminal>) -> Result<u8> {
    let shown = match shell.verbosity() {
        Verbosity::Verbose => Shown::Everything,
        Verbosity::Quiet => Shown::Program,
    };
    let lines = if terminal.is_some() { Lines::Raw } else { Lines::Usual };
    let mut streams = Streams::new(shown, lines);
    let emulator = Emulator::find()?;
    shell.announce(&machine.command(&emulator));
    let run = match &terminal {
        Some(terminal) => machine.run_for(&emulator, terminal.keyboard().into_diagnostic()?, &mut streams),
        None => machine.run_with(&emulator, Box::new(std::io::stdin()), &mut streams),
    };
    // What is told from here on finds the terminal as it was.
    drop(terminal);
    let run = run?;
    Ok(match run.verdict {
        // The program took what there was of its input for the whole.
        Verdict::Passed { .. } if streams.input_failed => FAILED,
        Verdict::Passed { exit_code } => exit_code,
        Verdict::GivenUp if streams.refused == Some(ErrorKind::BrokenPipe) => BROKEN_PIPE,
        Verdict::GivenUp if streams.refused.is_some() => FAILED,
        Verdict::GivenUp => UserTerminal::signal().map_or(STOPPED, |signal| 128 + signal),
        Verdict::Hung { .. } => {
            let late = "this run was stopped: its time was up, or it did not power off";
            told(&boot::explain(&run, image).wrap_err(late), TIMED_OUT)
        }
        Verdict::Failed(_) => told(&boot::explain(&run, image), FAILED),
    })
}

/// Reads `NAME=VALUE`.
fn parse_variable(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        Some((name, _)) if !name.is_empty() && !text.contains('\0') => Ok(text.to_owned()),
        _ => Err("it is not of the form NAME=VALUE".into()),
    }
}

/// Reads a package's name (Debian Policy 5.6.7); what apt would take for a wish to remove it is none.
fn parse_package(text: &str) -> Result<String, String> {
    let is_inside = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'+' | b'-' | b'.');
    let first = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if first && text.bytes().all(is_inside) && !text.ends_with('-') {
        return Ok(text.to_owned());
    }
    Err("a name of Debian's has a-z, 0-9, `+`, `-` and `.`, begins with a letter or digit, and does not end in `-`".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_have_names_of_debians() {
        for name in ["bash", "g++", "libc6", "lua5.4", "7zip", "xz-utils"] {
            assert_eq!(parse_package(name).unwrap(), name);
        }
        for no_name in
            ["", "a b", "a\n", "../a", "lib*", "bash=5", "bash/sid", "Bash", "bash-", "-x", ".", "é"]
        {
            assert!(parse_package(no_name).is_err(), "{no_name:?}");
        }
    }

    #[test]
    fn variables_have_a_name() {
        assert_eq!(parse_variable("A=b=c").unwrap(), "A=b=c");
        assert_eq!(parse_variable("A=").unwrap(), "A=");
        assert!(parse_variable("A").is_err() && parse_variable("=b").is_err());
    }
}
