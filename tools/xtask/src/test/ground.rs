//! Owns the tests of what root makes a host of: a host that looks at everything it was given, and hosts that do what
//! they must not, of which root must say who, what and where.

use std::io::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use image::LoadAddress;
use machine::{Emulator, Failure, Run, Verdict};
use miette::{IntoDiagnostic, Result, ensure, miette};
use packages::shell::Shell;
use tempfile::NamedTempFile;

use super::{Selection, Tally, guest};
use crate::build::{self, Image, Programs};
use crate::workspace::Workspace;
use crate::{boot, symbols};

/// How long a run may take.
const TIMEOUT: Duration = Duration::from_secs(120);
/// The image, its server, and its program.
const NAME: &str = "ground";
/// Words of the initrd that the host compares; some bytes that make no word follow.
const WORDS: u64 = 600_001;
/// The check that the tool makes itself.
const CLOCK: &str = "a host knows the time of day";
/// How far the guest's clock may be off, which counts whole seconds and is read while the machine starts.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(30);

/// What a host is asked to do by the first bytes of its initrd, and what root says of it then.
struct Misdeed {
    name: &'static str,
    asked: &'static [u8; 8],
    expected: &'static [&'static str],
}

const WRITER: &str = "Word";

const MISDEEDS: [Misdeed; 4] = [
    Misdeed {
        name: "a host that writes to its text is reported",
        asked: b"text    ",
        expected: &["root: ground: page fault at pc 0xffff8000", "address 0xffff800000000000,", WRITER],
    },
    Misdeed {
        name: "a host that writes to the initrd is reported",
        asked: b"initrd  ",
        expected: &["root: ground: page fault at pc 0xffff8000", "address 0xffff80c0", WRITER],
    },
    Misdeed {
        name: "a host whose stack overflows is reported",
        asked: b"stack   ",
        expected: &["root: ground: page fault at pc 0xffff8000", "address 0xffff801001fbfff8,", WRITER],
    },
    Misdeed {
        name: "a host that panics is reported",
        asked: b"panic   ",
        expected: &["root: ground: panic: on purpose"],
    },
];

/// Boots each of them.
pub(crate) fn run(
    shell: &Shell,
    workspace: &Workspace,
    programs: &Programs,
    selection: &Selection,
    tally: &mut Tally,
) {
    let image = || build::named_image(workspace, programs, NAME, LoadAddress::DEFAULT);
    if selection.has(CLOCK) || guest::may_tell(workspace, NAME, NAME, selection) {
        tally.section("what a host is given");
        match image().and_then(|image| checks(shell, &image, selection, tally)) {
            Ok(()) => {}
            Err(error) => tally.fail("what a host is given", &format!("{error:?}")),
        }
    }
    for misdeed in MISDEEDS.iter().filter(|misdeed| selection.has(misdeed.name)) {
        tally.section(misdeed.name);
        tally.add(misdeed.name, image().and_then(|image| commit(shell, &image, misdeed)));
    }
}

fn checks(shell: &Shell, image: &Image, selection: &Selection, tally: &mut Tally) -> Result<()> {
    let words = (0..WORDS).map(|index| index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut initrd: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    initrd.extend(b"end");
    let run = start(shell, image, &initrd)?;
    guest::record(&run, NAME, selection, tally);
    if !matches!(run.verdict, Verdict::Passed { .. }) {
        return Err(boot::explain(&run, image));
    }
    if selection.has(CLOCK) {
        tally.add(CLOCK, check_clock(&run.log));
    }
    Ok(())
}

fn check_clock(log: &str) -> Result<()> {
    let digits = log.lines().find_map(|line| line.trim_end().strip_prefix("ground: realtime_ns="));
    let digits = digits.ok_or_else(|| miette!("the guest does not say what time it is:\n{log}"))?;
    let seen = Duration::from_nanos(digits.parse().into_diagnostic()?);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).into_diagnostic()?;
    ensure!(now.abs_diff(seen) < CLOCK_TOLERANCE, "{now:?} since 1970, and the guest says {seen:?}");
    Ok(())
}

fn commit(shell: &Shell, image: &Image, misdeed: &Misdeed) -> Result<()> {
    let run = start(shell, image, misdeed.asked)?;
    let log = symbols::name_addresses(&run.log, &image.kernel);
    let failed = matches!(run.verdict, Verdict::Failed(Failure::Panic(_)));
    ensure!(failed, "the guest {}, and its log is:\n{log}", run.verdict);
    for part in misdeed.expected {
        ensure!(log.contains(part), "the report does not have `{part}`:\n{log}");
    }
    Ok(())
}

/// Boots the image with an initrd.
fn start(shell: &Shell, image: &Image, initrd: &[u8]) -> Result<Run> {
    let mut file = NamedTempFile::new().into_diagnostic()?;
    file.write_all(initrd).into_diagnostic()?;
    let mut machine = boot::machine(image, TIMEOUT);
    machine.add_initrd(file.path());
    let emulator = Emulator::find()?;
    shell.announce(&machine.command(&emulator));
    machine.run(&emulator, |_, _| {}).into_diagnostic()
}
