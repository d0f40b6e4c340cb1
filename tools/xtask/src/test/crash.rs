//! Owns the kernel's own end: a kernel that was damaged on purpose must say who, where and what came before,
//! and the run must end by itself as a failure.

use std::fs;
use std::time::Duration;

use image::LoadAddress;
use machine::{Failure, Verdict};
use miette::{IntoDiagnostic, Result, ensure, miette};
use object::{Object as _, ObjectSection as _, ObjectSegment as _, ObjectSymbol as _};
use packages::shell::Shell;

use super::{Selection, Tally};
use crate::build::{self, Image, Programs};
use crate::workspace::Workspace;
use crate::{boot, symbols};

/// How long a damaged kernel may take to say so.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The Rust function behind every interrupt; by the first one the kernel has calls to tell of.
const DAMAGED_FUNCTION: &str = "enter_interrupt";

/// A damage, and what the report must have.
struct Story {
    name: &'static str,
    damage: fn(&mut [u8]) -> Result<()>,
    expected: &'static [&'static str],
}

const STORIES: [Story; 2] = [
    Story {
        name: "an exception in the kernel is reported with registers, names, thread and events",
        damage: plant_undefined_instruction,
        expected: &["PANIC: kernel exception 0xd", "r28", DAMAGED_FUNCTION, "thread", "event"],
    },
    Story {
        name: "a panic at boot is reported with names",
        damage: spoil_archive,
        expected: &["PANIC: the system cannot start: Archive", "boot.rs", "panic_fmt"],
    },
];

/// Boots each damaged kernel.
pub(crate) fn run(
    shell: &Shell,
    workspace: &Workspace,
    programs: &Programs,
    selection: &Selection,
    tally: &mut Tally,
) {
    for story in STORIES.iter().filter(|story| selection.has(story.name)) {
        tally.section(story.name);
        tally.add(story.name, crash(shell, workspace, programs, story));
    }
}

fn crash(shell: &Shell, workspace: &Workspace, programs: &Programs, story: &Story) -> Result<()> {
    let address =
        LoadAddress::new(super::guest::LOAD_ADDRESSES[0]).ok_or_else(|| miette!("no load address"))?;
    let image = build::named_image(workspace, programs, "test", address)?;
    let mut bytes = fs::read(&image.file).into_diagnostic()?;
    (story.damage)(&mut bytes)?;
    let file = image.file.with_extension("damaged.elf");
    fs::write(&file, bytes).into_diagnostic()?;
    let run = boot::boot(shell, &Image { file, ..image.clone() }, None, TIMEOUT)?;
    let log = symbols::name_addresses(&run.log, &image.kernel);
    ensure!(
        matches!(run.verdict, Verdict::Failed(Failure::Panic(_))),
        "the guest {}, and its log ends: {}",
        run.verdict,
        packages::shell::last_lines(&log, 30)
    );
    for part in story.expected {
        ensure!(log.contains(part), "the report does not have `{part}`:\n{log}");
    }
    Ok(())
}

/// Makes the first instruction of a function undefined.
fn plant_undefined_instruction(image: &mut [u8]) -> Result<()> {
    let place = {
        let elf = object::File::parse(&*image).into_diagnostic()?;
        let symbol = elf
            .symbols()
            .find(|symbol| symbol.name().is_ok_and(|name| name.contains(DAMAGED_FUNCTION)))
            .ok_or_else(|| miette!("the kernel has no function {DAMAGED_FUNCTION}"))?;
        let section = symbol.section_index().and_then(|index| elf.section_by_index(index).ok());
        let section = section.ok_or_else(|| miette!("{DAMAGED_FUNCTION} is in no section"))?;
        let (offset, _) = section.file_range().ok_or_else(|| miette!("the text is not in the file"))?;
        usize::try_from(offset + symbol.address() - section.address()).into_diagnostic()?
    };
    let word = image.get_mut(place..place + 4).ok_or_else(|| miette!("the text ends early"))?;
    word.fill(0);
    Ok(())
}

/// Damages the boot archive's first word: the archive is a segment of its own, which begins with its magic number.
fn spoil_archive(image: &mut [u8]) -> Result<()> {
    let magic = abi::boot_archive::ARCHIVE_MAGIC.to_le_bytes();
    let place = {
        let elf = object::File::parse(&*image).into_diagnostic()?;
        let archive =
            elf.segments().find(|segment| segment.data().is_ok_and(|data| data.starts_with(&magic)));
        let (offset, _) = archive.ok_or_else(|| miette!("the image has no archive"))?.file_range();
        usize::try_from(offset).into_diagnostic()?
    };
    image
        .get_mut(place..place + magic.len())
        .ok_or_else(|| miette!("the archive is not in the file"))?
        .fill(0xff);
    Ok(())
}
