//! What is to be shown of what was typed, until the output has room for it.
//!
//! Echoes are queued and not put out at once, so that a block of them is shown whole. A signal that flushes the queues
//! takes those along that were not shown; what was typed in the same block before it is never seen, as on Linux.

use super::output::Output;
use super::settings::{OutputModes, Settings};
use alloc::collections::VecDeque;

/// So much is shown at once, though more of the block is to come.
const BLOCK: usize = 256;
/// More than this is not kept.
const MOST: usize = 4096 - (BLOCK + 32);
/// The byte that Linux's queue needs two places for.
const ESCAPED: u8 = 0xff;

/// One thing to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// A character.
    Plain(u8),
    /// A control character, as `^` and a letter.
    Control(u8),
    /// Back over a tab.
    EraseTab {
        /// Columns in front of it, modulo 8, counted from a tab before it or from the line's start.
        columns: u8,
        /// From which of the two.
        from: TabStart,
    },
    /// The line that is typed begins here.
    LineStart,
    /// The cursor has moved back.
    Back,
}

/// Where the columns before a tab are counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TabStart {
    /// Another tab.
    Tab,
    /// The start of the line that is typed.
    Line,
}

/// The queue.
#[derive(Debug, Default)]
pub struct Echoes {
    queue: VecDeque<Echo>,
    /// What the queue weighs.
    weight: usize,
    /// What of it may be shown.
    committed: usize,
}

impl Echo {
    /// Places that Linux's queue needs for it: they decide when a block is shown.
    const fn weight(self) -> usize {
        match self {
            Self::Plain(ESCAPED) | Self::Control(_) | Self::LineStart | Self::Back => 2,
            Self::Plain(_) => 1,
            Self::EraseTab { .. } => 3,
        }
    }
}

impl Echoes {
    /// Adds something.
    pub fn add(&mut self, echo: Echo) {
        self.weight += echo.weight();
        self.queue.push_back(echo);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.queue.clear();
        (self.weight, self.committed) = (0, 0);
    }

    /// Shows what is there if that is a block.
    pub fn commit(&mut self, output: &mut Output, settings: &Settings) {
        if self.weight >= BLOCK && self.weight % BLOCK <= self.committed % BLOCK {
            self.show(output, settings);
        }
    }

    /// Shows what was added since the last time; what found no room then waits for more of it.
    pub fn flush(&mut self, output: &mut Output, settings: &Settings) {
        if self.committed != self.weight {
            self.show(output, settings);
        }
    }

    /// Shows everything, as far as there is room.
    pub fn show(&mut self, output: &mut Output, settings: &Settings) {
        self.committed = self.weight;
        while let Some(echo) = self.queue.front().copied() {
            if !show_one(echo, output, settings) {
                break;
            }
            self.drop_first();
        }
        while self.weight >= MOST {
            self.drop_first();
        }
    }

    fn drop_first(&mut self) {
        let weight = self.queue.pop_front().map_or(0, Echo::weight);
        self.weight -= weight;
        self.committed -= weight;
    }
}

/// Shows one thing; says whether there was room.
fn show_one(echo: Echo, output: &mut Output, settings: &Settings) -> bool {
    match echo {
        Echo::Plain(ESCAPED) => {
            let shown = output.put(&[ESCAPED]) == 1;
            output.column = output.column.wrapping_add(u32::from(shown));
            shown
        }
        Echo::Plain(character) if settings.output.contains(OutputModes::OPOST) => {
            output.put_processed(character, settings).is_ok()
        }
        Echo::Plain(character) => output.put(&[character]) == 1,
        Echo::Control(character) => {
            if output.room() < 2 {
                return false;
            }
            output.put(&[b'^', character ^ 0o100]);
            output.column = output.column.wrapping_add(2);
            true
        }
        Echo::EraseTab { columns, from } => {
            let start = if from == TabStart::Line { output.line_column } else { 0 };
            let back = 8 - (u32::from(columns).wrapping_add(start) & 7);
            let backs = [8; 8];
            let Some(backs) = backs.get(..crate::number::index(back)) else { return false };
            if output.room() < backs.len() {
                return false;
            }
            output.put(backs);
            output.column = output.column.saturating_sub(back);
            true
        }
        Echo::LineStart => {
            output.line_column = output.column;
            true
        }
        Echo::Back => {
            output.back();
            true
        }
    }
}
