//! Owns the test of the figures: they are within their budgets, and the same in two runs.

use miette::{Result, miette};

use super::{Selection, Tally};
use crate::bench::{Bench, Suite, check_budgets, same_minimum_and_median};
use crate::build::Programs;
use crate::workspace::Workspace;
use packages::host::Host;
use packages::shell::Shell;

/// A suite, with the names of its two tests.
const SUITES: [(Suite, &str, &str); 4] = [
    (Suite::Ipc, "IPC within its budgets", "two runs of IPC give the same minimum and median"),
    (Suite::Hosting, "hosting within its budgets", "two runs of hosting give the same minimum and median"),
    (Suite::Map, "mapping within its budgets", "two runs of mapping give the same minimum and median"),
    (
        Suite::Hosted,
        "hosted operations within their budgets",
        "two runs of hosted operations give the same minimum and median",
    ),
];

/// Measures each suite twice.
pub(crate) fn run(
    shell: &Shell,
    workspace: &Workspace,
    host: &Host,
    programs: &Programs,
    selection: &Selection,
    tally: &mut Tally,
) {
    for (suite, budgets, equal) in SUITES {
        if !selection.has(budgets) && !selection.has(equal) {
            continue;
        }
        tally.section(&format!("figures: {}", suite.name()));
        let measure = || -> Result<_> {
            let bench = Bench::build(shell, workspace, host, programs, suite)?;
            Ok((bench.measure(shell, None)?, bench.measure(shell, None)?))
        };
        let (first, second) = match measure() {
            Ok(reports) => reports,
            Err(error) => {
                tally.fail(budgets, &format!("{error:?}"));
                continue;
            }
        };
        packages::say::output(format_args!("{}", suite.table(&first)));
        let within = check_budgets(workspace, &first)
            .and_then(|within| if within { Ok(()) } else { Err(miette!("see the errors above")) });
        tally.add(budgets, within);
        tally.add(equal, same_minimum_and_median(&first, &second));
    }
}
