//! Owns the hosted programs' tests on Bixi: each must do what is recorded of it on Linux.

use hosted::manifest::{Manifest, Test};
use hosted::on_bixi::OnBixi;
use hosted::recorded::Recorded;
use miette::Result;
use packages::host::Host;
use packages::loong64::Loong64;
use packages::shell::Shell;

use super::{Selection, Tally};
use crate::build::Programs;
use crate::compare::{Hosted, differs};
use crate::workspace::Workspace;

/// The steps of the project that Bixi has come to: their tests must pass.
const STEPS: [&str; 3] = ["A2", "A3", "A4"];

/// Runs them.
pub(crate) fn run(
    shell: &Shell,
    workspace: &Workspace,
    host: &Host,
    programs: &Programs,
    selection: &Selection,
    tally: &mut Tally,
) {
    if let Err(error) = try_run(shell, workspace, host, programs, selection, tally) {
        tally.fail("hosted programs", &format!("{error:?}"));
    }
}

fn try_run(
    shell: &Shell,
    workspace: &Workspace,
    host: &Host,
    programs: &Programs,
    selection: &Selection,
    tally: &mut Tally,
) -> Result<()> {
    let manifest = Manifest::load()?;
    let recorded = Recorded::load()?;
    let is_due = |test: &&Test| STEPS.contains(&test.step.as_str()) && selection.has(&name(test));
    let tests: Vec<&Test> = manifest.tests.iter().filter(is_due).collect();
    if tests.is_empty() {
        return Ok(());
    }
    tally.section("hosted programs");
    let loong64 = Loong64::new(shell, host, &workspace.setup_folder());
    let hosted = Hosted::provide(&loong64, workspace, &manifest, tests)?;
    hosted.on_bixi(shell, workspace, programs, |test, done| {
        tally_up(tally, &name(test), test, differs(&recorded, test, done), done);
    })?;
    Ok(())
}

/// Counts what a test did on Bixi.
pub(crate) fn tally_up(tally: &mut Tally, name: &str, test: &Test, differs: Option<String>, done: &OnBixi) {
    match (done.skipped(test), differs) {
        (Some(reason), _) => tally.skip(name, reason),
        (None, None) => tally.pass(name),
        (None, Some(told)) => tally.fail(name, &told),
    }
}

fn name(test: &Test) -> String {
    format!("hosted {}", test.name)
}
