//! Owns the check of standard input and output: what goes in comes out, byte for byte, through small rings and a guest
//! that dawdles, and its end arrives.

use std::ops::ControlFlow;
use std::time::Duration;

use image::LoadAddress;
use machine::{Emulator, Line, Listener, Verdict};
use miette::{Result, ensure};
use packages::shell::Shell;

use super::{Campaign, Selection, Tally};
use crate::boot;
use crate::build::{self, Programs};
use crate::workspace::Workspace;

/// How long a run may take: every byte is an access to a device.
const TIMEOUT: Duration = Duration::from_secs(300);

/// What the guest's program is given.
struct Story {
    name: &'static str,
    bytes: usize,
}

/// Boots the echo with each input.
pub(crate) fn run(
    shell: &Shell,
    workspace: &Workspace,
    programs: &Programs,
    selection: &Selection,
    campaign: Campaign,
    tally: &mut Tally,
) {
    let much = match campaign {
        Campaign::Short => 40_000,
        Campaign::Full => 4_000_000,
    };
    let stories = [
        Story { name: "no input ends at once", bytes: 0 },
        Story { name: "input comes out again byte for byte", bytes: much },
    ];
    for story in stories.iter().filter(|story| selection.has(story.name)) {
        tally.section(story.name);
        tally.add(story.name, echo(shell, workspace, programs, story.bytes));
    }
}

fn echo(shell: &Shell, workspace: &Workspace, programs: &Programs, count: usize) -> Result<()> {
    let image = build::named_image(workspace, programs, "echo", LoadAddress::DEFAULT)?;
    let machine = boot::machine(&image, TIMEOUT);
    let emulator = Emulator::find()?;
    shell.announce(&machine.command(&emulator));
    let input = bytes(count);
    let run = machine.run_with(&emulator, Box::new(std::io::Cursor::new(input.clone())), &mut Silent)?;
    let expected = Verdict::Passed { exit_code: u8::try_from(count % 251).unwrap_or(0) };
    if run.verdict != expected {
        return Err(boot::explain(&run, &image));
    }
    let same = input.iter().zip(&run.output).take_while(|(one, other)| one == other).count();
    ensure!(
        run.output == input,
        "of {count} bytes {} came out, and they differ from byte {same} on",
        run.output.len()
    );
    ensure!(run.errors == format!("{count} bytes").into_bytes(), "the guest counted otherwise");
    Ok(())
}

/// Every value of a byte, in an order without a period that a ring's size divides.
fn bytes(count: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_le_bytes()[3]
    };
    (0..count).map(|_| next()).collect()
}

struct Silent;

impl Listener for Silent {
    fn bytes(&mut self, _: Line, _: &[u8]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_of_a_byte_is_sent() {
        let sent = bytes(40_000);
        assert!((0..=u8::MAX).all(|value| sent.contains(&value)));
    }
}
