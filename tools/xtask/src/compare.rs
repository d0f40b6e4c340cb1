//! Owns `cargo xtask compare`: hosted programs on Debian's Linux, against what is recorded of them.

use std::process::ExitCode;

use clap::Args;
use hosted::manifest::{Manifest, Systems, Test};
use hosted::recorded::Recorded;
use hosted::{build, on_linux};
use linux::{Oracle, Outcome};
use miette::Result;
use packages::compiler::Compiler;
use packages::host::Host;
use packages::loong64::Loong64;
use packages::shell::{Shell, Verbosity};

use crate::test::Tally;
use crate::workspace::Workspace;

/// What to compare.
#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// Only these tests, the tests whose names begin with these and a `-`, or those of a step such as A2.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Take what Linux does as what is right, and write it to tests/hosted/recorded.toml.
    #[arg(long)]
    record: bool,
}

/// Runs the tests on Linux and says what differs from the record.
pub(crate) fn run(
    shell: &Shell,
    workspace: &Workspace,
    host: &Host,
    arguments: &CompareArguments,
) -> Result<ExitCode> {
    let manifest = Manifest::load()?;
    let tests: Vec<&Test> =
        manifest.select(&arguments.names).filter(|test| test.on == Systems::Both).collect();
    let loong64 = Loong64::new(shell, host, &workspace.setup_folder());
    let compiler = Compiler::provide(&loong64)?;
    let oracle = Oracle::provide(&loong64, &compiler)?;
    let files =
        build::files_of_tests(&loong64, &compiler, &manifest, &tests, &workspace.target().join("hosted"))?;
    let mut tally = Tally::default();
    tally.section(&format!("{} tests on Debian's Linux {}", tests.len(), oracle.version()));
    let outcomes = on_linux::run(&oracle, &manifest, &files, &tests)?;
    let mut recorded = Recorded::load()?;
    for (test, outcome) in tests.iter().zip(&outcomes) {
        match recorded.differs(&test.name, outcome) {
            None => tally.pass(&test.name),
            Some(differs) => tally.fail(&test.name, &differs),
        }
        if shell.verbosity() == Verbosity::Verbose {
            show(outcome);
        }
        if arguments.record {
            recorded.take(&test.name, outcome)?;
        }
    }
    if arguments.record {
        oracle.version().clone_into(&mut recorded.kernel);
        recorded.store(&manifest)?;
        println!("recorded in tests/hosted/recorded.toml; look at what changed there");
        return Ok(ExitCode::SUCCESS);
    }
    Ok(tally.finish())
}

/// Shows all that a program wrote, and how it ended.
fn show(outcome: &Outcome) {
    for stream in [&outcome.output, &outcome.errors] {
        print!("{}", String::from_utf8_lossy(stream));
    }
    println!("({})", outcome.end);
}
