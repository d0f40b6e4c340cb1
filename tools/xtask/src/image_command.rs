//! Owns `cargo xtask image`: one bootable file from a system description.

use std::path::PathBuf;

use clap::Args;
use image::LoadAddress;
use miette::Result;

use crate::build::{self, Programs};
use crate::workspace::Workspace;
use packages::shell::Shell;

/// What to make of what.
#[derive(Debug, Args)]
pub(crate) struct ImageArguments {
    /// The system description.
    #[arg(value_name = "SYSTEM.toml")]
    description: PathBuf,
    /// The file to write.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// The physical address that the image is loaded at, such as 0x200000.
    #[arg(long, value_name = "ADDRESS", value_parser = parse_load_address)]
    load_address: Option<LoadAddress>,
}

/// Builds the image.
pub(crate) fn run(shell: &Shell, workspace: &Workspace, arguments: &ImageArguments) -> Result<()> {
    let address = arguments.load_address.unwrap_or_default();
    let programs = Programs::later(shell, workspace);
    let image = build::image_of(&programs, &arguments.description, &arguments.output, address)?;
    packages::say!(
        "{}: boots with `qemu-system-loongarch64 -machine virt -m {}M -kernel`",
        image.file.display(),
        image.memory_mib
    );
    Ok(())
}

/// Reads an address in hexadecimal (`0x…`) or decimal.
pub(crate) fn parse_load_address(text: &str) -> Result<LoadAddress, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    let number = number.map_err(|error| format!("no number: {error}"))?;
    LoadAddress::new(number).ok_or_else(|| format!("{number:#x} is not on a 16 KiB boundary below 2^47"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_in_both_notations() {
        assert_eq!(parse_load_address("0x90000000").unwrap().physical(), 0x9000_0000);
        assert_eq!(parse_load_address("2097152").unwrap(), LoadAddress::DEFAULT);
        assert!(parse_load_address("0x200001").unwrap_err().contains("boundary"));
        assert!(parse_load_address("high").unwrap_err().contains("no number"));
    }
}
