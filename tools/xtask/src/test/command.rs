//! Owns the test of the command as its users know it: boots, runs one line of shell, gives its output and its status,
//! and nothing else.

use std::process::{Child, Command, Stdio};

use machine::start_with_us;
use miette::{IntoDiagnostic, Result, ensure, miette};
use packages::shell::last_lines;

use super::{Campaign, Selection, Tally};

/// What is run. How many entries the root has is not known here: the same number each time.
const WORDS: [&str; 4] = ["busybox", "sh", "-c", "echo hello; uname -m; ls / | wc -l; exit 7"];
/// Its status.
const STATUS: i32 = 7;
/// How long a run may take, in seconds.
const TIMEOUT: &str = "120";

/// Runs it again and again.
pub(crate) fn run(selection: &Selection, campaign: Campaign, tally: &mut Tally) {
    let count = match campaign {
        Campaign::Short => 2,
        Campaign::Full => 100,
    };
    let name = format!("{count} runs of one command in a row");
    if selection.has(&name) {
        tally.section(&name);
        tally.add(&name, runs(count));
    }
}

/// A terminal's description lies in a package that Debian takes for granted.
const DESCRIBED: [&str; 7] = ["--package", "ncurses-bin", "--", "tput", "-T", "xterm", "bold"];
/// What turns bold letters on there.
const BOLD: &[u8] = b"\x1b[1m";

/// Runs a program that counts on one of Debian's essential packages.
pub(crate) fn packages(selection: &Selection, tally: &mut Tally) {
    let name = "a package finds what Debian takes for granted";
    if selection.has(name) {
        tally.section("a program of a package");
        tally.add(name, is_described());
    }
}

fn is_described() -> Result<()> {
    let mut command = Command::new(std::env::current_exe().into_diagnostic()?);
    command.args(["run", "--timeout", TIMEOUT]).args(DESCRIBED);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = start_with_us(&mut command).and_then(Child::wait_with_output).into_diagnostic()?;
    let told = String::from_utf8_lossy(&run.stderr);
    ensure!(run.status.success(), "it ended with {}\n{}", run.status, last_lines(&told, 30));
    ensure!(run.stdout == BOLD, "it wrote {:?}", String::from_utf8_lossy(&run.stdout));
    Ok(())
}

/// Where a command's standard output leads, and what becomes of the command.
const STREAMS: [(&str, &[&str], &str, i32, &str); 6] = [
    ("a reader that has left, test", &["test", NOTHING], "| true", 141, ""),
    ("a full device, test", &["test", NOTHING], ">/dev/full", 1, "Error: cannot write to standard output: "),
    ("errors to a full device, run", &["run", "--", NOTHING], "2>/dev/full", 127, ""),
    ("a reader that has left, run", &["run", "--", "yes"], "| true", 141, ""),
    (
        "a full device, run",
        &["run", "--", "yes"],
        ">/dev/full",
        125,
        "bixi: cannot write the program's output: ",
    ),
    ("a folder to read, run", &["run", "--", "cat"], "</", 125, "bixi: cannot read standard input: "),
];
/// The name of no test and no program.
const NOTHING: &str = "nothing-has-this-name";

/// Runs commands whose streams fail.
pub(crate) fn streams(selection: &Selection, tally: &mut Tally) {
    let of = |name: &str| format!("streams that fail: {name}");
    if STREAMS.iter().any(|(name, ..)| selection.has(&of(name))) {
        tally.section("commands whose streams fail");
    }
    for (name, words, stream, status, errors) in STREAMS {
        if selection.has(&of(name)) {
            tally.add(&of(name), fails(words, stream, status, errors));
        }
    }
}

fn fails(words: &[&str], stream: &str, status: i32, errors: &str) -> Result<()> {
    // A reader is gone for certain once the pipe's other side has ended; the command takes longer than that.
    let script = format!("set -o pipefail; \"$@\" {stream}");
    let mut command = Command::new("bash");
    command.args(["-c", &script, "bash"]).arg(std::env::current_exe().into_diagnostic()?).args(words);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let run = start_with_us(&mut command).and_then(Child::wait_with_output).into_diagnostic()?;
    let told = String::from_utf8_lossy(&run.stderr);
    ensure!(run.status.code() == Some(status), "it ended with {}\n{}", run.status, last_lines(&told, 30));
    ensure!(told.starts_with(errors) && told.is_empty() == errors.is_empty(), "standard error has {told:?}");
    Ok(())
}

fn runs(count: usize) -> Result<()> {
    let mut first = None;
    let mut failures = Vec::new();
    for number in 1..=count {
        match once(first.as_deref()) {
            Ok(output) => drop(first.get_or_insert(output)),
            Err(report) => failures.push(format!("run {number}: {report:?}")),
        }
    }
    if failures.is_empty() {
        return Ok(());
    }
    // How often it fails says much about why, so all runs are made.
    Err(miette!(help = failures.join("\n"), "{} of {count} runs failed", failures.len()))
}

/// Returns the output, which must be that of the run before.
fn once(before: Option<&str>) -> Result<String> {
    let mut command = Command::new(std::env::current_exe().into_diagnostic()?);
    command.args(["run", "--timeout", TIMEOUT, "--"]).args(WORDS);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = start_with_us(&mut command).and_then(Child::wait_with_output).into_diagnostic()?;
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).into_diagnostic();
    let (output, errors) = (text(run.stdout)?, text(run.stderr)?);
    let status = run.status;
    ensure!(status.code() == Some(STATUS), "it ended with {status}\n{}", last_lines(&errors, 30));
    ensure!(errors.is_empty(), "standard error has {errors:?}");
    ensure!(before.is_none_or(|before| before == output), "it wrote {output:?}, and {before:?} before");
    let mut lines = output.split('\n');
    let entries = (lines.next(), lines.next(), lines.next(), lines.next(), lines.next());
    match entries {
        (Some("hello"), Some("loongarch64"), Some(count), Some(""), None)
            if count.parse().is_ok_and(|count: usize| count > 5) => {}
        _ => return Err(miette!("it wrote {output:?}")),
    }
    Ok(output)
}
