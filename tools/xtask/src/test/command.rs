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
