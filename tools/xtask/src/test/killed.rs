//! Owns the test that nothing is left of a command that was killed: its emulator ends with it.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use machine::start_with_us;
use miette::{IntoDiagnostic, Result, ensure, miette};
use rustix::process::{Pid, test_kill_process};

use super::{Selection, Tally};

const NAME: &str = "a command that is killed leaves no emulator";
/// How long the program's first word may take.
const BOOT_S: u64 = 300;
/// How long the emulator may take to end behind its command, on a busy machine.
const END: Duration = Duration::from_secs(20);

/// Kills a run while its program sleeps.
pub(crate) fn run(selection: &Selection, tally: &mut Tally) {
    if selection.has(NAME) {
        tally.section(NAME);
        tally.add(NAME, kill());
    }
}

fn kill() -> Result<()> {
    let mut command = Command::new(std::env::current_exe().into_diagnostic()?);
    command.args(["run", "--timeout", &BOOT_S.to_string(), "--"]);
    command.args(["sh", "-c", "echo here; sleep 1000"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut process = start_with_us(&mut command).into_diagnostic()?;
    let killed = kill_when_it_runs(&mut process);
    // Whatever came of it: a process that has ended is no error.
    let _ = process.kill();
    let _ = process.wait();
    let emulators = killed?;
    ensure!(!emulators.is_empty(), "the command has started no emulator");
    let deadline = Instant::now() + END;
    while emulators.iter().any(|emulator| is_alive(*emulator)) {
        ensure!(Instant::now() < deadline, "the command was killed, and {emulators:?} run on");
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Waits for the program's first word and kills the command; the processes that it had started are returned.
fn kill_when_it_runs(process: &mut Child) -> Result<Vec<Pid>> {
    let mut word = [0; 5];
    let output = process.stdout.as_mut().ok_or_else(|| miette!("the command has no output"))?;
    output.read_exact(&mut word).into_diagnostic()?;
    ensure!(&word == b"here\n", "the program wrote {word:?}");
    let emulators = children(process.id())?;
    process.kill().into_diagnostic()?;
    process.wait().into_diagnostic()?;
    Ok(emulators)
}

/// The processes whose parent is the one given.
fn children(parent: u32) -> Result<Vec<Pid>> {
    let parent = format!("PPid:\t{parent}");
    let entries = std::fs::read_dir("/proc").into_diagnostic()?.flatten();
    let pid = |entry: std::fs::DirEntry| {
        let number = entry.file_name().to_string_lossy().parse().ok()?;
        // A process that ends meanwhile is nobody's child.
        let status = std::fs::read_to_string(entry.path().join("status")).ok()?;
        status.lines().any(|line| line == parent).then(|| Pid::from_raw(number))?
    };
    Ok(entries.filter_map(pid).collect())
}

/// Whether a process runs; one that has ended and that nobody waits for does not.
fn is_alive(process: Pid) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.as_raw_nonzero()));
    let is_dead = status.is_ok_and(|status| status.lines().any(|line| line.starts_with("State:\tZ")));
    test_kill_process(process).is_ok() && !is_dead
}
