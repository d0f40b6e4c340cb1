//! Owns `cargo xtask compare`: hosted programs on Debian's Linux and on Bixi, side by side.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use hosted::build::{self, GuestFile};
use hosted::manifest::{Manifest, Systems, Test};
use hosted::on_bixi::{Bixi, OnBixi};
use hosted::on_linux;
use hosted::recorded::{Expected, Recorded};
use image::LoadAddress;
use linux::{Oracle, Outcome};
use machine::Emulator;
use miette::{Result, miette};
use packages::compiler::Compiler;
use packages::host::Host;
use packages::loong64::Loong64;
use packages::shell::{Shell, Verbosity};

use crate::boot;
use crate::build::{HOSTING, Programs, named_image};
use crate::test::{Tally, tally_up};
use crate::workspace::Workspace;

/// What to compare.
#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// Only these tests, the tests whose names begin with these and a `-`, or those of a step such as A2.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Where to run them; on Bixi alone, they are held against tests/hosted/recorded.toml.
    #[arg(long, value_enum, default_value_t = Where::Both)]
    on: Where,
    /// Take what Linux does as what is right, and write it to tests/hosted/recorded.toml; nothing runs on Bixi.
    #[arg(long)]
    record: bool,
}

/// Where tests are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Where {
    /// On Debian's Linux, against what is recorded of it.
    Linux,
    /// On Bixi, against what is recorded of Linux.
    Bixi,
    /// On both, against each other.
    Both,
}

/// The hosted programs, ready to be run.
pub(crate) struct Hosted<'a> {
    pub(crate) manifest: &'a Manifest,
    pub(crate) tests: Vec<&'a Test>,
    compiler: Compiler,
    files: Vec<GuestFile>,
}

impl<'a> Hosted<'a> {
    /// Provides the programs of tests.
    pub(crate) fn provide(
        loong64: &Loong64<'_>,
        workspace: &Workspace,
        manifest: &'a Manifest,
        tests: Vec<&'a Test>,
    ) -> Result<Self> {
        let compiler = Compiler::provide(loong64)?;
        let folder = workspace.target().join("hosted");
        let files = build::files_of_tests(loong64, &compiler, manifest, &tests, &folder)?;
        Ok(Self { manifest, tests, compiler, files })
    }

    /// Runs them on Bixi; `told` hears of each as it ends.
    pub(crate) fn on_bixi(
        &self,
        shell: &Shell,
        workspace: &Workspace,
        programs: &Programs,
        told: impl FnMut(&Test, &OnBixi),
    ) -> Result<Vec<OnBixi>> {
        let image = named_image(workspace, programs, HOSTING, LoadAddress::DEFAULT)?;
        let machine = boot::machine(&image, std::time::Duration::MAX);
        let emulator = Emulator::find()?;
        shell.announce(&machine.command(&emulator));
        Bixi { machine, emulator }.run(self.manifest, &self.files, &self.tests, told)
    }
}

/// Runs the tests where they are to run, and says what differs.
pub(crate) fn run(
    shell: &Shell,
    workspace: &Workspace,
    host: &Host,
    arguments: &CompareArguments,
) -> Result<ExitCode> {
    let manifest = Manifest::load()?;
    let on = if arguments.record { Where::Linux } else { arguments.on };
    for name in &arguments.names {
        if manifest.select(std::slice::from_ref(name)).next().is_none() {
            return Err(miette!("tests/hosted/manifest.toml has no test {name:?}"));
        }
    }
    let tests: Vec<&Test> = manifest
        .select(&arguments.names)
        .filter(|test| on == Where::Bixi || test.on == Systems::Both)
        .collect();
    if tests.is_empty() {
        return Err(miette!("these tests run on Bixi alone: `--on bixi` runs them"));
    }
    let loong64 = Loong64::new(shell, host, &workspace.setup_folder());
    let hosted = Hosted::provide(&loong64, workspace, &manifest, tests)?;
    let mut recorded = Recorded::load()?;
    let mut tally = Tally::default();
    if on != Where::Bixi {
        let oracle = Oracle::provide(&loong64, &hosted.compiler)?;
        tally.section(&format!("{} tests on Debian's Linux {}", hosted.tests.len(), oracle.version()));
        let outcomes = on_linux::run(&oracle, &manifest, &hosted.files, &hosted.tests)?;
        for (test, outcome) in hosted.tests.iter().zip(&outcomes) {
            match recorded.differs(&test.name, outcome) {
                None => tally.pass(&test.name),
                Some(differs) => tally.fail(&test.name, &differs),
            }
            show(shell, outcome);
        }
        if arguments.record {
            return record(&mut recorded, &hosted, &oracle, &outcomes);
        }
        // What Linux did now is what Bixi is held against.
        for (test, outcome) in hosted.tests.iter().zip(&outcomes) {
            if let Ok(expected) = Expected::of(outcome) {
                recorded.test.insert(test.name.clone(), expected);
            }
        }
    }
    if on != Where::Linux {
        let programs = Programs::later(shell, workspace);
        tally.section(&format!("{} tests on Bixi", hosted.tests.len()));
        hosted.on_bixi(shell, workspace, &programs, |test, done| {
            tally_up(&mut tally, &test.name, test, differs(&recorded, test, done), done);
            show(shell, &done.outcome);
        })?;
    }
    Ok(tally.finish())
}

/// Says what a test did otherwise on Bixi than on Linux.
pub(crate) fn differs(recorded: &Recorded, test: &Test, done: &OnBixi) -> Option<String> {
    let outcome = &done.outcome;
    let differs = match &test.expected {
        Some(expected) => expected.differs(outcome.end.status(), &outcome.output, &outcome.errors),
        None => recorded.differs(&test.name, outcome),
    };
    let left = (done.left != 0).then(|| format!("it left {} things behind in the server\n", done.left));
    let told: String =
        [differs, left, done.boot.as_ref().map(|boot| format!("{boot}\n"))].into_iter().flatten().collect();
    (!told.is_empty()).then_some(told)
}

fn record(
    recorded: &mut Recorded,
    hosted: &Hosted<'_>,
    oracle: &Oracle,
    outcomes: &[Outcome],
) -> Result<ExitCode> {
    for (test, outcome) in hosted.tests.iter().zip(outcomes) {
        recorded.take(&test.name, outcome)?;
    }
    oracle.version().clone_into(&mut recorded.kernel);
    recorded.store(hosted.manifest)?;
    packages::say!("recorded in tests/hosted/recorded.toml; look at what changed there");
    Ok(ExitCode::SUCCESS)
}

/// Shows all that a program wrote, and how it ended, to a user who wants to see it.
fn show(shell: &Shell, outcome: &Outcome) {
    if shell.verbosity() == Verbosity::Verbose {
        for stream in [&outcome.output, &outcome.errors] {
            packages::say::output(format_args!("{}", String::from_utf8_lossy(stream)));
        }
        packages::say!("({})", outcome.end);
    }
}
