//! Owns the campaigns of hosted programs: each is one program again and again, which must end right every time and
//! leave nothing behind, neither a page nor anything else.

use std::time::Duration;

use hosted::build::files_of_tests;
use hosted::campaign::{self, Findings};
use hosted::manifest::{Call, Manifest, Test};
use hosted::on_bixi::Bixi;
use hosted::recorded::Expected;
use image::LoadAddress;
use machine::Emulator;
use miette::{Result, ensure, miette};
use packages::compiler::Compiler;
use packages::host::Host;
use packages::loong64::Loong64;
use packages::shell::Shell;

use super::{Campaign, Selection, Tally};
use crate::boot;
use crate::build::{self, Programs};
use crate::workspace::Workspace;

/// A program with some words, many times.
struct Repeated {
    name: &'static str,
    /// The test of the manifest that is repeated.
    test: &'static str,
    /// Its words here, if not those there, of which [`ROUND`] stands for the round's number; then what it writes.
    words: Option<(&'static [&'static str], &'static str)>,
    /// Rounds for every commit.
    short: usize,
    /// Rounds for `--long`.
    full: usize,
    /// How long a round may take.
    limit: Duration,
}

/// A word that is another one in each round.
const ROUND: &str = "{round}";

const CAMPAIGNS: [Repeated; 6] = [
    Repeated {
        name: "a handler changes every register at a break",
        test: "break-return-break",
        words: None,
        short: 10,
        full: 100,
        limit: Duration::from_secs(20),
    },
    Repeated {
        name: "a handler changes every register within rt_sigsuspend",
        test: "break-return-suspend",
        words: None,
        short: 10,
        full: 100,
        limit: Duration::from_secs(20),
    },
    Repeated {
        name: "a handler changes every register within a blocked read",
        test: "break-return-read",
        words: None,
        short: 10,
        full: 100,
        limit: Duration::from_secs(20),
    },
    Repeated {
        name: "10,000 frames are changed at random before rt_sigreturn",
        test: "mutated",
        words: Some((&[ROUND, "10000"], "ok\n")),
        short: 1,
        full: 10,
        limit: Duration::from_secs(120),
    },
    // 13 calls, 39 times: ten rounds of the campaign are 5,070 programs, twenty 10,140.
    Repeated {
        name: "a program that is killed in a call gives everything back",
        test: "killed",
        words: Some((&["39"], "ok\n")),
        short: 2,
        full: 20,
        limit: Duration::from_secs(300),
    },
    Repeated {
        name: "a thousand forks and execs leave nothing behind",
        test: "busybox-thousand",
        words: None,
        short: 2,
        full: 10,
        limit: Duration::from_secs(90),
    },
];

/// Runs them.
pub(crate) fn run(
    shell: &Shell,
    workspace: &Workspace,
    host: &Host,
    programs: &Programs,
    (selection, campaign): (&Selection, Campaign),
    tally: &mut Tally,
) {
    for repeated in &CAMPAIGNS {
        let rounds = match campaign {
            Campaign::Short => repeated.short,
            Campaign::Full => repeated.full,
        };
        let name = format!("{}, {rounds} times", repeated.name);
        if !selection.has(&name) {
            continue;
        }
        tally.section(&name);
        let tests = || -> Result<_> {
            let manifest = Manifest::load()?;
            let tests = (1..=rounds).map(|round| repeated.round(&manifest, round)).collect::<Result<_>>()?;
            Ok((manifest, tests))
        };
        let findings =
            tests().and_then(|(manifest, tests)| find(shell, workspace, host, programs, (&manifest, tests)));
        tally.add(&name, findings.and_then(|findings| verdict(&findings, rounds)));
    }
}

impl Repeated {
    fn round(&self, manifest: &Manifest, round: usize) -> Result<Test> {
        let test = manifest.test(self.test);
        let test = test.ok_or_else(|| miette!("tests/hosted/manifest.toml has no {}", self.test))?.clone();
        let (words, expected) = match self.words {
            Some((words, output)) => (
                words.iter().map(|word| word.replace(ROUND, &round.to_string())).collect(),
                Expected { output: output.to_owned(), ..Expected::default() },
            ),
            None => {
                let recorded = hosted::recorded::Recorded::load()?;
                let expected = recorded.test.get(self.test).cloned();
                (test.call.words, expected.ok_or_else(|| miette!("{} is not recorded", self.test))?)
            }
        };
        let call = Call { words, ..test.call };
        let name = format!("round {round}");
        Ok(Test { name, call, expected: Some(expected), time_limit: self.limit, ..test })
    }
}

/// Runs rounds of one program in a boot.
pub(super) fn find(
    shell: &Shell,
    workspace: &Workspace,
    host: &Host,
    programs: &Programs,
    (manifest, rounds): (&Manifest, Vec<Test>),
) -> Result<Findings> {
    let loong64 = Loong64::new(shell, host, &workspace.setup_folder());
    let compiler = Compiler::provide(&loong64)?;
    let first: Vec<&Test> = rounds.first().into_iter().collect();
    let files = files_of_tests(&loong64, &compiler, manifest, &first, &workspace.target().join("hosted"))?;
    let image = build::named_image(workspace, programs, build::HOSTING, LoadAddress::DEFAULT)?;
    let bixi = Bixi { machine: boot::machine(&image, Duration::MAX), emulator: Emulator::find()? };
    campaign::run(&bixi, manifest, &files, &rounds)
}

/// Tells the rounds that were skipped, and fails for bad ones or for too many skipped.
pub(super) fn verdict(findings: &Findings, rounds: usize) -> Result<()> {
    for (round, fault) in &findings.skipped {
        packages::say!("skipped: {round}: QEMU fails by itself, each time ({fault:?})");
    }
    let bad: String = findings.bad.iter().map(|(round, why)| format!("\n{round}: {why}")).collect();
    ensure!(findings.bad.is_empty(), "{} of {rounds} rounds are bad:{bad}", findings.bad.len());
    let skipped = findings.skipped.len();
    ensure!(skipped * 100 < rounds || skipped == 0, "{skipped} of {rounds} rounds were skipped, 1 % or more");
    Ok(())
}
