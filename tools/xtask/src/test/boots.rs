//! Owns booting again and again: what fails once in a hundred boots fails for somebody every day.

use std::time::Duration;

use image::LoadAddress;
use miette::{Result, WrapErr};

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
    for (number, image) in images.iter().cycle().take(count).enumerate() {
        boot::boot_to_success(shell, image, None, TIMEOUT)
            .wrap_err_with(|| format!("boot {} of {count}", number + 1))?;
    }
    Ok(())
}
