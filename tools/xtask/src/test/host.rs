//! Owns the tests that run on the developer's machine: cargo runs them, their closing lines are counted.

use super::{Campaign, Selection, Tally, sources};
use crate::build::Programs;
use crate::members::{self, of_host, options};
use crate::workspace::Workspace;
use packages::progress::Progress;
use packages::shell::Shell;

/// Set for tests that have a long form: they look for this variable.
const LONG: &str = "BIXI_LONG";

/// The package whose tests look at kernel and servers as they were built.
const READS_PROGRAMS: &str = "model";

/// Runs them; only packages with a test that is to run are built.
pub(crate) fn run(
    shell: &Shell,
    workspace: &Workspace,
    programs: &Programs,
    selection: &Selection,
    campaign: Campaign,
    tally: &mut Tally,
) {
    let has_any = |package: &String| {
        selection.text().is_none_or(|wanted| {
            members::place_of(workspace, package).is_some_and(|folder| sources::has_test(&folder, wanted))
        })
    };
    let packages: Vec<String> = of_host(workspace).into_iter().filter(has_any).collect();
    if packages.is_empty() {
        return;
    }
    tally.section("host tests");
    if packages.iter().any(|package| package == READS_PROGRAMS)
        && let Err(error) = programs.build()
    {
        tally.fail("host tests", &format!("{error:?}"));
    }
    let mut command = workspace.cargo(shell);
    command.args(["test", "--quiet", "--no-fail-fast"]).args(options(&packages));
    if campaign == Campaign::Full {
        command.env(LONG, "1").env("PROPTEST_CASES", "10000");
    }
    if let Some(text) = selection.text() {
        command.arg("--").arg(text);
    }
    let progress = Progress::wait_for(shell, "building and running the host tests");
    let output = shell.output(&mut command);
    drop(progress);
    let output = match output {
        Ok(output) => output,
        Err(error) => return tally.fail("host tests", &format!("{error:?}")),
    };
    let printed = String::from_utf8_lossy(&output.stdout);
    let counts = Counts::of(&printed);
    if !output.status.success() {
        failed_parts(&printed).for_each(|part| packages::say!("{part}"));
        packages::say!("{}", String::from_utf8_lossy(&output.stderr));
        if counts.failed == 0 {
            tally.fail("host tests", "they do not build, or one of them ended its process");
        }
    }
    packages::say!("{} passed, {} failed", counts.passed, counts.failed);
    tally.add_counts(counts.passed, counts.failed);
    if counts.ignored > 0 {
        tally.skip("host tests", &format!("{} are marked `#[ignore]`", counts.ignored));
    }
}

/// Returns what those test binaries printed in which something failed.
fn failed_parts(printed: &str) -> impl Iterator<Item = &str> {
    printed
        .split("\nrunning ")
        .filter(|part| part.contains("test result: FAILED") || !part.contains("test result: "))
}

/// What the closing lines of test binaries add up to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: usize,
    failed: usize,
    ignored: usize,
}

impl Counts {
    /// Reads `test result: ok. 8 passed; 0 failed; 0 ignored; …`.
    fn of(printed: &str) -> Self {
        let mut counts = Self::default();
        for line in printed.lines().filter_map(|line| line.strip_prefix("test result: ")) {
            let mut last_number = 0;
            for word in line.split([' ', ';']) {
                match word {
                    "passed" => counts.passed += last_number,
                    "failed" => counts.failed += last_number,
                    "ignored" => counts.ignored += last_number,
                    word => last_number = word.parse().unwrap_or(last_number),
                }
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_are_added_up() {
        let printed = "running 2 tests\n..\n\
            test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
            noise: 7 passed\n\
            test result: FAILED. 8 passed; 3 failed; 0 ignored; 0 measured; 5 filtered out; finished in 4.92s\n";
        assert_eq!(Counts::of(printed), Counts { passed: 10, failed: 3, ignored: 1 });
    }

    #[test]
    fn only_what_failed_is_shown() {
        let printed = "\nrunning 1 test\n.\ntest result: ok. 1 passed\n\nrunning 2 tests\nwhy\ntest result: FAILED. 0 passed\n";
        assert_eq!(
            failed_parts(printed).collect::<String>(),
            "2 tests\nwhy\ntest result: FAILED. 0 passed\n"
        );
        let killed = "\nrunning 1 test\nsignal: 11";
        assert!(
            failed_parts(killed).any(|part| part.contains("signal: 11")),
            "a binary without a result failed"
        );
    }
}
