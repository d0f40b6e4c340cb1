//! Owns the campaign of random bytes as programs (issue of hosting: the host lives, every page comes back).

use std::time::{SystemTime, UNIX_EPOCH};

use hosted::manifest::{Manifest, Test};
use hosted::random_code;
use packages::host::Host;
use packages::shell::Shell;

use super::campaigns::{find, verdict};
use super::{Campaign, Selection, Tally};
use crate::build::Programs;
use crate::workspace::Workspace;

const NAME: &str = "random bytes as programs";

/// Set to a seed that was printed, the campaign begins with it.
const SEED: &str = "BIXI_SEED";

/// Runs it.
pub(crate) fn run(
    shell: &Shell,
    workspace: &Workspace,
    host: &Host,
    programs: &Programs,
    (selection, campaign): (&Selection, Campaign),
    tally: &mut Tally,
) {
    if !selection.has(NAME) {
        return;
    }
    let rounds = match campaign {
        Campaign::Short => 200,
        Campaign::Full => 10_000,
    };
    let seed = std::env::var(SEED).ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(seed_of_now);
    tally.section(&format!("{rounds} times {NAME}, from {SEED}={seed} on"));
    let tests: Vec<Test> = (seed..seed.saturating_add(rounds)).map(random_code::test).collect();
    let rounds = tests.len();
    let manifest = Manifest { programs: vec![random_code::program()], tests: Vec::new() };
    let findings = find(shell, workspace, host, programs, (&manifest, tests));
    tally.add(NAME, findings.and_then(|findings| verdict(&findings, rounds)));
}

fn seed_of_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_secs())
}
