//! Owns the test of the figures: they are within their budgets, and the same in two runs.

use miette::{Result, miette};

use super::{Selection, Tally};
use crate::bench::{Bench, Suite, check_budgets, same_minimum_and_median};
use crate::build::Programs;
use crate::workspace::Workspace;
use packages::shell::Shell;

/// Measures IPC twice.
pub(crate) fn run(
    shell: &Shell,
    workspace: &Workspace,
    programs: &Programs,
    selection: &Selection,
    tally: &mut Tally,
) {
    let (budgets, equal) = ("IPC within its budgets", "two runs give the same minimum and median");
    if !selection.has(budgets) && !selection.has(equal) {
        return;
    }
    tally.section("figures");
    let measure = || -> Result<_> {
        let bench = Bench::build(shell, workspace, programs, Suite::Ipc)?;
        Ok((bench.measure(shell, None)?, bench.measure(shell, None)?))
    };
    let (first, second) = match measure() {
        Ok(reports) => reports,
        Err(error) => return tally.fail("IPC benchmark", &format!("{error:?}")),
    };
    print!("{}", first.to_table());
    let within = check_budgets(workspace, &first)
        .and_then(|within| if within { Ok(()) } else { Err(miette!("see the errors above")) });
    tally.add(budgets, within);
    tally.add(equal, same_minimum_and_median(&first, &second));
}
