//! Owns `cargo xtask test`: every kind of test there is, and one line at the end that counts them.
//!
//! A kind of test is a module here; each adds what it did to the [`Tally`].

mod boots;
mod campaigns;
mod command;
mod crash;
mod echo;
mod figures;
mod ground;
mod guest;
mod host;
mod hosted;
mod killed;
mod random_code;
mod session;
mod several;
mod sources;
mod style;
mod tally;

use std::process::ExitCode;

use clap::Args;
use miette::Result;
use packages::host::Host;
use packages::shell::Shell;

use crate::build::Programs;
use crate::workspace::Workspace;
pub(crate) use hosted::tally_up;
pub(crate) use tally::Tally;

/// What to test.
#[derive(Debug, Args)]
pub(crate) struct TestArguments {
    /// Only tests whose name has this in it.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Run full campaigns instead of the short forms, 100 boots in a row among them.
    ///
    /// Host tests that have a long form see the variable BIXI_LONG.
    #[arg(long)]
    long: bool,
}

/// How thorough a campaign is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Campaign {
    /// For every commit.
    Short,
    /// For `--long`.
    Full,
}

/// A selection of tests by their names.
#[derive(Clone, Debug)]
pub(crate) struct Selection(Option<String>);

impl Selection {
    /// Returns whether a test is to run.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|wanted| name.contains(wanted.as_str()))
    }

    /// Returns the text that names must contain, if not every test is to run.
    pub(crate) fn text(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

/// Runs the tests and prints the count.
pub(crate) fn run(
    shell: &Shell,
    workspace: &Workspace,
    host: &Host,
    arguments: &TestArguments,
) -> Result<ExitCode> {
    let selection = Selection(arguments.name.clone());
    let campaign = if arguments.long { Campaign::Full } else { Campaign::Short };
    let mut tally = Tally::default();
    let programs = Programs::later(shell, workspace);
    if arguments.name.is_none() {
        tally.section("building kernel and servers");
        if let Err(error) = programs.build() {
            tally.fail("building kernel and servers", &format!("{error:?}"));
        }
    }
    style::run(shell, workspace, &selection, &mut tally);
    host::run(shell, workspace, &programs, &selection, campaign, &mut tally);
    guest::run(shell, workspace, &programs, &selection, campaign, &mut tally);
    ground::run(shell, workspace, &programs, &selection, &mut tally);
    crash::run(shell, workspace, &programs, &selection, &mut tally);
    echo::run(shell, workspace, &programs, &selection, campaign, &mut tally);
    hosted::run(shell, workspace, host, &programs, &selection, &mut tally);
    command::run(&selection, campaign, &mut tally);
    command::streams(&selection, &mut tally);
    command::packages(&selection, &mut tally);
    session::run(&selection, campaign, &mut tally);
    killed::run(&selection, &mut tally);
    several::run(shell, workspace, host, &programs, &selection, &mut tally);
    random_code::run(shell, workspace, host, &programs, (&selection, campaign), &mut tally);
    campaigns::run(shell, workspace, host, &programs, (&selection, campaign), &mut tally);
    boots::run(shell, workspace, &programs, &selection, campaign, &mut tally);
    figures::run(shell, workspace, host, &programs, &selection, &mut tally);
    if let (Some(text), true) = (selection.text(), tally.is_empty()) {
        packages::say!("no test has {text:?} in its name");
    }
    Ok(tally.finish())
}
