//! The line discipline: between what is typed and what programs read, and between what they write and what is shown.
//!
//! It is plain data: it takes bytes and gives bytes, and says which signals were typed. Who waits, who may read, and
//! who is at the other end is [`super::terminal`]'s. What it does is Linux's N_TTY, byte for byte, which
//! `tests/terminal.rs` compares with a real one; where the columns are wrong there, they are wrong here.
//!
//! Invariant: with ICANON `input`'s lines are whole up to the last end; without it there are no lines.

use super::echo::{Echo, Echoes};
use super::input::{Input, MOST, Took};
use super::output::{Held, Output};
use super::settings::{InputModes, LocalModes, OutputModes, Settings, Special};
use crate::process::Signal;

/// A line discipline.
#[derive(Debug)]
pub struct Discipline {
    pub(super) settings: Settings,
    /// Characters that are more than themselves, a bit each: what the settings make special.
    pub(super) special: [u64; 4],
    /// What was typed and not read.
    pub(super) input: Input,
    /// What is to be shown of it.
    pub(super) echoes: Echoes,
    /// What was printed and not taken.
    pub output: Output,
    /// What the next character is after LNEXT.
    pub(super) next: Next,
    /// Whether erased characters are being shown (ECHOPRT).
    pub(super) erasing: Erasing,
}

/// How the next character is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// As what it is.
    Usual,
    /// As a character and nothing more.
    Literal,
}

/// Whether erased characters are being shown, between `\` and `/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Erasing {
    /// They are not.
    No,
    /// They are.
    Shown,
}

/// What became of bytes that were typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// How many were taken; the queue is full for the rest.
    pub taken: usize,
    /// The signals that were typed.
    pub signals: Signals,
}

/// Signals that were typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signals {
    typed: [Option<Signal>; 3],
}

impl Signals {
    /// Each once.
    pub fn iter(&self) -> impl Iterator<Item = Signal> {
        self.typed.into_iter().flatten()
    }

    pub(super) fn add(&mut self, signal: Signal) {
        if !self.typed.contains(&Some(signal))
            && let Some(place) = self.typed.iter_mut().find(|place| place.is_none())
        {
            *place = Some(signal);
        }
    }
}

/// When there is something to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// For a read.
    Reading,
    /// For poll, which without VTIME wants VMIN bytes at once.
    Polling,
}

/// Which queues are flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// What was typed.
    Input,
    /// What was printed.
    Output,
    /// Both.
    Both,
}

impl Discipline {
    /// A new one.
    pub fn new(settings: Settings) -> Self {
        let mut made = Self {
            settings,
            special: [0; 4],
            input: Input::default(),
            echoes: Echoes::default(),
            output: Output::default(),
            next: Next::Usual,
            erasing: Erasing::No,
        };
        made.special = made.special_characters();
        made
    }

    /// The settings.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Changes the settings; what was typed is read by the new ones.
    pub fn set(&mut self, settings: Settings) {
        let before = core::mem::replace(&mut self.settings, settings);
        if (before.local ^ settings.local).intersects(LocalModes::ICANON | LocalModes::EXTPROC) {
            if settings.local.contains(LocalModes::ICANON) {
                self.input.to_lines();
            } else {
                self.input.to_bytes();
            }
            self.erasing = Erasing::No;
            self.next = Next::Usual;
        }
        self.special = self.special_characters();
        let held = before.input.contains(InputModes::IXON) && !settings.input.contains(InputModes::IXON);
        if held && self.output.held != Held::Asked {
            self.let_go();
            self.show_echoes();
        }
    }

    /// Whether what is typed is lines.
    pub fn has_lines(&self) -> bool {
        self.settings.local & (LocalModes::ICANON | LocalModes::EXTPROC) == LocalModes::ICANON
    }

    /// Whether there is something to read.
    pub fn is_readable(&self, wish: For) -> bool {
        if self.has_lines() {
            return self.input.has_line();
        }
        let (minimum, time) =
            (self.settings.character(Special::Minimum), self.settings.character(Special::Time));
        let wanted = if wish == For::Polling && time == 0 { minimum.max(1) } else { 1 };
        self.input.len() >= usize::from(wanted)
    }

    /// Bytes to read: FIONREAD.
    pub fn readable(&self) -> usize {
        if self.has_lines() { self.input.in_lines() } else { self.input.len() }
    }

    /// Takes what there is, up to the end of a line; [`Discipline::is_readable`] said that there is something.
    pub fn read(&mut self, into: &mut [u8]) -> Took {
        if self.has_lines() {
            return self.input.take_line(into);
        }
        let taken = self.input.take(into);
        let only_end = self.settings.local.contains(LocalModes::ICANON)
            && self.input.is_empty()
            && into.get(..taken) == Some(&[self.settings.character(Special::EndOfFile)]);
        // With EXTPROC an EOF that comes alone ends a read, as if it had ended a line.
        if only_end { Took::Line(0) } else { Took::Part(taken) }
    }

    /// A read was filled to its last byte.
    pub fn read_was_filled(&mut self) {
        if self.has_lines() {
            self.input.skip_end_of_file();
        }
    }

    /// Prints bytes; returns how many there was room for.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        self.show_echoes();
        if !self.settings.output.contains(OutputModes::OPOST) {
            return self.output.put(bytes);
        }
        let mut done = 0;
        for byte in bytes {
            if self.output.put_processed(*byte, &self.settings).is_err() {
                break;
            }
            done += 1;
        }
        done
    }

    /// Throws away what is in the queues.
    pub fn flush(&mut self, which: Flush) {
        if which != Flush::Output {
            self.input.clear();
            self.erasing = Erasing::No;
        }
        if which != Flush::Input {
            self.output.give();
            self.output.flush();
        }
    }

    /// Holds the output (TCOOFF).
    pub const fn hold(&mut self) {
        self.output.held = Held::Asked;
    }

    /// Lets the output go that [`Discipline::hold`] holds (TCOON).
    pub fn release(&mut self) {
        if self.output.held == Held::Asked {
            self.output.held = Held::No;
        }
    }

    /// Lets the output go, unless a program holds it.
    pub(super) fn let_go(&mut self) {
        if self.output.held == Held::Typed {
            self.output.held = Held::No;
        }
    }

    pub(super) fn has(&self, mode: LocalModes) -> bool {
        self.settings.local.contains(mode)
    }

    pub(super) fn echo(&mut self, echo: Echo) {
        self.echoes.add(echo);
    }

    pub(super) fn show_echoes(&mut self) {
        self.echoes.show(&mut self.output, &self.settings);
    }

    pub(super) fn commit_echoes(&mut self) {
        self.echoes.commit(&mut self.output, &self.settings);
    }

    /// How many characters can be taken in at once, and whether that means that the last one is written over.
    pub(super) fn room(&mut self) -> usize {
        let marks = self.settings.input.contains(InputModes::PARMRK);
        let free = MOST - self.input.len().min(MOST);
        // With PARMRK each may become three.
        let free = if marks { free.div_ceil(3) } else { free };
        if free > 1 {
            return free - 1;
        }
        // A line that is too long to be kept still ends, and can still be edited: its last character is lost.
        let endless = self.settings.local.contains(LocalModes::ICANON) && !self.input.has_line();
        if endless && free == 0 {
            self.input.take_back(1);
        }
        usize::from(endless)
    }
}
