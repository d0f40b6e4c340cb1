//! Owns the checks of form: formatting, and the lints of the workspace's table for host and guest.

use std::process::Command;

use super::{Selection, Tally};
use crate::members::{of_guest, of_host, options};
use crate::workspace::{GUEST_TARGET, Workspace};
use packages::progress::Progress;
use packages::shell::Shell;

/// Runs them.
pub(crate) fn run(shell: &Shell, workspace: &Workspace, selection: &Selection, tally: &mut Tally) {
    let cargo = |arguments: &[&str], packages: Vec<String>| {
        let mut command = workspace.cargo(shell);
        command.args(arguments).args(packages);
        command
    };
    let checks: [(&str, &str, Command); 4] = [
        ("formatting", "cargo-fmt", cargo(&["fmt", "--all", "--check"], vec![])),
        (
            "lints, host",
            "cargo-clippy",
            cargo(&["clippy", "--quiet", "--all-targets"], options(&of_host(workspace))),
        ),
        (
            "lints, counter",
            "cargo-clippy",
            cargo(&["clippy", "--quiet", "--release", "-p", "counter", "--features", "plugin"], vec![]),
        ),
        (
            "lints, guest",
            "cargo-clippy",
            cargo(
                &["clippy", "--quiet", "--release", "--target", GUEST_TARGET],
                options(&of_guest(workspace)),
            ),
        ),
    ];
    let chosen: Vec<_> = checks.into_iter().filter(|(name, ..)| selection.has(name)).collect();
    if !chosen.is_empty() {
        tally.section("formatting and lints");
    }
    for (name, program, mut command) in chosen {
        if shell.find(program).is_none() {
            tally.skip(name, &format!("{program} is not installed"));
            continue;
        }
        let progress = Progress::wait_for(shell, name);
        let result = shell.read(&mut command);
        drop(progress);
        tally.add(name, result.map(drop));
    }
}
