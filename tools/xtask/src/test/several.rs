//! Owns the test of a description that starts several hosted programs (`images/several.toml`): each has its output,
//! the words of its command come to it as they are written, and the first one's status is the system's.

use std::io::Write as _;
use std::time::Duration;

use image::LoadAddress;
use initrd::{job, root};
use machine::{Emulator, Verdict};
use miette::{IntoDiagnostic, Result, ensure};
use packages::host::Host;
use packages::loong64::Loong64;
use packages::shell::Shell;

use super::{Selection, Tally};
use crate::boot;
use crate::build::{self, Programs};
use crate::workspace::Workspace;

const NAME: &str = "a description starts its programs together";
/// How long the run may take.
const TIMEOUT: Duration = Duration::from_secs(120);
/// The first program's status.
const STATUS: u8 = 3;
/// What the programs write, in the order of the alphabet.
const OUTPUT: [&str; 3] = ["first", "loongarch64", "second:  two  spaces "];

/// Boots it.
pub(crate) fn run(
    shell: &Shell,
    workspace: &Workspace,
    host: &Host,
    programs: &Programs,
    selection: &Selection,
    tally: &mut Tally,
) {
    if selection.has(NAME) {
        tally.section(NAME);
        tally.add(NAME, start(shell, workspace, host, programs));
    }
}

fn start(shell: &Shell, workspace: &Workspace, host: &Host, programs: &Programs) -> Result<()> {
    let loong64 = Loong64::new(shell, host, &workspace.setup_folder());
    let archive = job::archive_without_job(&root::of_packages(&loong64, &[])?)?;
    let mut file = tempfile::NamedTempFile::new().into_diagnostic()?;
    file.write_all(&archive).into_diagnostic()?;
    let image = build::named_image(workspace, programs, "several", LoadAddress::DEFAULT)?;
    let mut machine = boot::machine(&image, TIMEOUT);
    machine.add_initrd(file.path());
    let emulator = Emulator::find()?;
    shell.announce(&machine.command(&emulator));
    let run = machine.run(&emulator, |_, _| {}).into_diagnostic()?;
    if run.verdict != (Verdict::Passed { exit_code: STATUS }) {
        return Err(boot::explain(&run, &image));
    }
    let output = String::from_utf8_lossy(&run.output);
    let mut lines: Vec<&str> = output.lines().map(|line| line.trim_end_matches('\r')).collect();
    lines.sort_unstable();
    ensure!(lines == OUTPUT, "the programs wrote {output:?}");
    Ok(())
}
