//! Owns running an image, and telling a person how it ended.

use std::io::Write;
use std::time::Duration;

use abi::control::{Record, TestResult};
use machine::{Counting, Emulator, Line, Machine, Run, Verdict};
use miette::{Report, Result, miette};
use packages::progress::Progress;
use packages::shell::{Shell, Verbosity, last_lines};

use crate::build::Image;
use crate::symbols;

/// How many lines of the log an error shows.
const LOG_LINES: usize = 60;

/// Returns a machine that boots an image.
pub(crate) fn machine(image: &Image, timeout: Duration) -> Machine {
    let mut machine = Machine::new(&image.file);
    machine.memory_mib = image.memory_mib;
    machine.timeout = timeout;
    machine
}

/// Boots an image and waits for its end; everything that it logs is shown at once if the user wants to see it.
pub(crate) fn boot(
    shell: &Shell,
    image: &Image,
    counting: Option<Counting>,
    timeout: Duration,
) -> Result<Run> {
    let mut machine = machine(image, timeout);
    machine.counting = counting;
    boot_machine(shell, &machine)
}

fn boot_machine(shell: &Shell, machine: &Machine) -> Result<Run> {
    let emulator = Emulator::find()?;
    shell.announce(&machine.command(&emulator));
    let _progress = Progress::wait_for(shell, "running the guest");
    let verbose = shell.verbosity() == Verbosity::Verbose;
    let run = machine.run(&emulator, |line, bytes| {
        if verbose && matches!(line, Line::Log | Line::Control) {
            // The user's terminal may be gone; the run goes on.
            let _ = std::io::stderr().write_all(bytes);
        }
    })?;
    Ok(run)
}

/// Boots an image that must pass with exit code 0.
pub(crate) fn boot_to_success(
    shell: &Shell,
    image: &Image,
    counting: Option<Counting>,
    timeout: Duration,
) -> Result<Run> {
    let mut machine = machine(image, timeout);
    machine.counting = counting;
    boot_machine_to_success(shell, image, &machine)
}

/// The same with a machine that is described already.
pub(crate) fn boot_machine_to_success(shell: &Shell, image: &Image, machine: &Machine) -> Result<Run> {
    let run = boot_machine(shell, machine)?;
    match run.verdict {
        Verdict::Passed { exit_code: 0 } => Ok(run),
        _ => Err(explain(&run, image)),
    }
}

/// Explains a run that did not pass: failed tests, and the end of its log with a panic's addresses as names.
pub(crate) fn explain(run: &Run, image: &Image) -> Report {
    let log = symbols::name_addresses(&run.log, &image.kernel);
    let log = last_lines(&log, LOG_LINES);
    let log = if log.is_empty() {
        "The guest logged nothing.".to_owned()
    } else {
        format!("The log's end:\n{log}")
    };
    miette!(help = failed_tests(run) + &log, "the guest {}", run.verdict)
}

fn failed_tests(run: &Run) -> String {
    let line = |record| match record {
        Record::Test { name, result: TestResult::Failed, reason } => {
            Some(format!("FAILED: {name}: {reason}\n"))
        }
        _ => None,
    };
    run.records().filter_map(line).collect()
}
