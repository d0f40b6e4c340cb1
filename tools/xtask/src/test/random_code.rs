//! Owns the campaign of random bytes as programs (issue of hosting: the host lives, every page comes back).

use std::time::{SystemTime, UNIX_EPOCH};

use hosted::on_bixi::Bixi;
use hosted::random_code::{self, Findings};
use image::LoadAddress;
use machine::Emulator;
use miette::{Result, ensure};
use packages::compiler::Compiler;
use packages::host::Host;
use packages::loong64::Loong64;
use packages::shell::Shell;

use super::{Campaign, Selection, Tally};
use crate::boot;
use crate::build::{self, Programs};
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
    let findings = find(shell, workspace, host, programs, seed..seed.saturating_add(rounds));
    tally.add(NAME, findings.and_then(|findings| verdict(&findings, rounds)));
}

fn seed_of_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_secs())
}

fn find(
    shell: &Shell,
    workspace: &Workspace,
    host: &Host,
    programs: &Programs,
    seeds: std::ops::Range<u64>,
) -> Result<Findings> {
    let loong64 = Loong64::new(shell, host, &workspace.setup_folder());
    let compiler = Compiler::provide(&loong64)?;
    let image = build::named_image(workspace, programs, build::HOSTING, LoadAddress::DEFAULT)?;
    let bixi = Bixi { machine: boot::machine(&image, std::time::Duration::MAX), emulator: Emulator::find()? };
    random_code::run(&bixi, &loong64, &compiler, &workspace.target().join("hosted"), seeds)
}

/// Tells the rounds that were skipped, and fails for bad ones or for too many skipped.
fn verdict(findings: &Findings, rounds: u64) -> Result<()> {
    for (seed, fault) in &findings.skipped {
        println!("skipped: seed {seed}: QEMU fails by itself, each time ({fault:?})");
    }
    let bad: String = findings.bad.iter().map(|(seed, why)| format!("\nseed {seed}: {why}")).collect();
    ensure!(findings.bad.is_empty(), "{} of {rounds} rounds are bad:{bad}", findings.bad.len());
    let skipped = findings.skipped.len();
    let few = u64::try_from(skipped).is_ok_and(|skipped| skipped * 100 < rounds);
    ensure!(few, "{skipped} of {rounds} rounds were skipped, which is 1 % or more");
    Ok(())
}
