//! Owns booting again and again: what fails once in a hundred boots fails for somebody every day.

use std::time::Duration;

use image::LoadAddress;
use miette::{Result, miette};

use super::guest::LOAD_ADDRESSES;
use super::{Campaign, Selection, Tally};
use crate::boot;
use crate::build::{self, Programs};
use crate::workspace::Workspace;
use packages::shell::Shell;

/// How long one boot may take.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Boots in a row, alternating between the load addresses.
pub(crate) fn run(
    shell: &Shell,
    workspace: &Workspace,
    programs: &Programs,
    selection: &Selection,
    campaign: Campaign,
    tally: &mut Tally,
) {
    let count = match campaign {
        Campaign::Short => 5,
        Campaign::Full => 100,
    };
    let name = format!("{count} boots in a row");
    if selection.has(&name) {
        tally.section(&name);
        tally.add(&name, boots(shell, workspace, programs, count));
    }
}

fn boots(shell: &Shell, workspace: &Workspace, programs: &Programs, count: usize) -> Result<()> {
    let addresses = LOAD_ADDRESSES.into_iter().filter_map(LoadAddress::new);
    let images: Vec<_> = addresses
        .map(|address| build::named_image(workspace, programs, "test", address))
        .collect::<Result<_>>()?;
    let mut failures = Vec::new();
    for (number, image) in images.iter().cycle().take(count).enumerate() {
        if let Err(report) = boot::boot_to_success(shell, image, None, TIMEOUT) {
            failures.push(format!("boot {}: {report:?}", number + 1));
        }
    }
    if failures.is_empty() {
        return Ok(());
    }
    // How often it fails says much about why, so all boots are made.
    Err(miette!(help = failures.join("\n"), "{} of {count} boots failed", failures.len()))
}
