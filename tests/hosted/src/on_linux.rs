//! Owns running tests on Linux, all in one boot.

use linux::cpio::Archive;
use linux::{End, Group, Oracle, Outcome, Program};
use miette::{IntoDiagnostic, Result, WrapErr};

use crate::ENVIRONMENT;
use crate::build::Built;
use crate::manifest::{Call, Test};

/// Where the programs lie in the guest.
pub const GUEST_FOLDER: &str = "/hosted";

/// Runs tests and returns what the judged program of each did, in order.
///
/// # Errors
/// Linux did not come to its end, or a program is not there.
pub fn run(oracle: &Oracle, built: &Built, tests: &[&Test]) -> Result<Vec<Outcome>> {
    let groups: Vec<Group> = tests.iter().map(|test| group(test)).collect();
    let outcomes = oracle.run(&files(built, tests)?, &groups)?;
    let mut rest = outcomes.as_slice();
    Ok(groups
        .iter()
        .filter_map(|group| {
            let (of_group, after) = rest.split_at_checked(group.programs.len())?;
            rest = after;
            judged(of_group)
        })
        .collect())
}

/// Returns the first program's outcome; that of another stands for it if that one did not end well.
fn judged(outcomes: &[Outcome]) -> Option<Outcome> {
    let (first, others) = outcomes.split_first()?;
    let bad = others.iter().find(|other| other.end != End::Exited(0));
    Some(bad.unwrap_or(first).clone())
}

fn group(test: &Test) -> Group {
    let mut programs = vec![program(&test.call, &test.input)];
    programs.extend(test.together.iter().map(|call| program(call, &[])));
    Group { programs, time_limit: test.time_limit }
}

fn program(call: &Call, input: &[u8]) -> Program {
    let path = format!("{GUEST_FOLDER}/{}", call.program);
    let mut arguments = vec![path.clone()];
    arguments.extend(call.words.iter().cloned());
    let environment = ENVIRONMENT.map(str::to_owned).to_vec();
    Program { path, arguments, environment, input: input.to_vec() }
}

fn files(built: &Built, tests: &[&Test]) -> Result<Archive> {
    let calls = tests.iter().flat_map(|test| std::iter::once(&test.call).chain(&test.together));
    let mut programs: Vec<&str> = calls.map(|call| call.program.as_str()).collect();
    programs.sort_unstable();
    programs.dedup();
    let mut files = Archive::new();
    files.folder(GUEST_FOLDER.trim_start_matches('/'), 0o755);
    for program in programs {
        let path = built.path(program);
        let content = std::fs::read(&path).into_diagnostic();
        let content = content.wrap_err_with(|| format!("cannot read {}", path.display()))?;
        files.file(&format!("{GUEST_FOLDER}/{program}").replacen('/', "", 1), 0o755, &content);
    }
    Ok(files)
}
