//! The terminals that there are: the system's own, on the console's first line, and ptys.
//!
//! Each has a line discipline ([`Line`]), a window, and the session that it controls. What comes out of its output
//! queue goes to the console ([`super::serial`]) or to whoever reads the pty's master ([`super::pty`]).
//!
//! Invariants:
//! - A terminal is in the table while a file of either end is open; the system's always is.
//! - `session` and `foreground` hold a use of their numbers each, so that neither is given to another process.

use super::line::Line;
use super::settings::Settings;
use crate::define_id;
use crate::executor::wait::QueueId;
use crate::file::tree::NodeId;
use crate::number::{index, low_u32};
use crate::process::Pid;
use crate::slots::Slots;
use zerocopy::{FromBytes, Immutable, IntoBytes};

define_id! {
    /// A terminal.
    TerminalId
}

/// Most terminals.
const MOST: usize = 4096;

/// Linux's `struct winsize`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct WindowSize {
    /// Lines of text.
    pub rows: u16,
    /// Characters in a line.
    pub columns: u16,
    /// Pixels across.
    pub width: u16,
    /// Pixels down.
    pub height: u16,
}

/// What is at a terminal's other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The console.
    Serial,
    /// A pty's master.
    Pty(Pty),
}

/// A pty's own part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pty {
    /// Its number in /dev/pts.
    pub number: u32,
    /// Its node there, while its master is open.
    pub node: Option<NodeId>,
    /// Whether it can be opened.
    pub lock: Lock,
    /// Whether its master is open.
    pub master: Master,
    /// What became of the files of its terminal.
    pub seen: Seen,
    /// Who waits at the master.
    pub changed: QueueId,
}

/// Whether a pty can be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// It cannot, not until the master's holder says so.
    Locked,
    /// It can.
    Open,
}

/// A pty's master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Master {
    /// It is open.
    Open,
    /// It is no more, and the terminal has hung up.
    Closed,
}

/// Whether a pty's terminal was ever open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Not yet: the master waits for it.
    No,
    /// It was: when nobody has it open the master finds its end.
    Yes,
}

/// Whether a terminal can be opened again while it is open (TIOCEXCL).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclusive {
    /// It can.
    No,
    /// Only by root.
    Yes,
}

/// A terminal.
#[derive(Debug)]
pub struct Terminal {
    /// Its line.
    pub line: Line,
    /// Its window.
    pub window: WindowSize,
    /// What is at its other end.
    pub kind: Kind,
    /// The session that it controls; it stays here when the session's processes lost it with its last file.
    pub session: Option<Pid>,
    /// The group that is in its foreground.
    pub foreground: Option<Pid>,
    /// How often it hung up: files opened before the last time are dead.
    pub hangups: u32,
    /// Open files of it, not the master's, that live.
    pub opens: u32,
    /// Open files that died when it hung up.
    pub dead: u32,
    /// Who may open it.
    pub exclusive: Exclusive,
    /// Who waits for it: to read, to write, for poll.
    pub changed: QueueId,
}

/// Which end of a terminal a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The terminal itself.
    Terminal,
    /// The pty's master.
    Master,
}

/// What an open file of a terminal knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    /// Of which terminal.
    pub terminal: TerminalId,
    /// Which end.
    pub end: End,
    /// How often it had hung up when the file was opened.
    pub hangups: u32,
}

/// All terminals.
#[derive(Debug)]
pub struct Terminals {
    /// By their places.
    pub table: Slots<TerminalId, Terminal>,
    /// The system's own, if somebody sits there.
    pub system: Option<TerminalId>,
}

impl Default for Terminals {
    fn default() -> Self {
        Self { table: Slots::new(MOST), system: None }
    }
}

impl Terminals {
    /// A terminal.
    pub fn get(&self, id: TerminalId) -> Option<&Terminal> {
        self.table.get(id)
    }

    /// A terminal, to change it.
    pub fn get_mut(&mut self, id: TerminalId) -> Option<&mut Terminal> {
        self.table.get_mut(id)
    }

    /// The pty of a number.
    pub fn pty(&self, number: u32) -> Option<TerminalId> {
        let is = |terminal: &Terminal| matches!(terminal.kind, Kind::Pty(pty) if pty.number == number);
        self.table.iter().find(|(_, terminal)| is(terminal)).map(|(id, _)| id)
    }

    /// The lowest number that no pty has.
    pub fn free_number(&self) -> u32 {
        let mut used = [0_u64; MOST.div_ceil(64)];
        for (_, terminal) in self.table.iter() {
            if let Kind::Pty(pty) = &terminal.kind
                && let Some(word) = used.get_mut(index(pty.number / 64))
            {
                *word |= 1 << (pty.number % 64);
            }
        }
        let free = (0..).zip(used).find(|(_, word)| *word != u64::MAX);
        free.map_or(low_u32(MOST as u64), |(number, word)| number * 64 + word.trailing_ones())
    }
}

impl Terminal {
    /// One that nobody has open.
    pub fn new(kind: Kind, settings: Settings, window: WindowSize, changed: QueueId) -> Self {
        Self {
            line: Line::new(settings),
            window,
            kind,
            session: None,
            foreground: None,
            hangups: 0,
            opens: 0,
            dead: 0,
            exclusive: Exclusive::No,
            changed,
        }
    }

    /// The pty's part.
    pub const fn pty(&self) -> Option<&Pty> {
        match &self.kind {
            Kind::Pty(pty) => Some(pty),
            Kind::Serial => None,
        }
    }

    /// The pty's part, to change it.
    pub const fn pty_mut(&mut self) -> Option<&mut Pty> {
        match &mut self.kind {
            Kind::Pty(pty) => Some(pty),
            Kind::Serial => None,
        }
    }

    /// A file of it, opened now.
    pub const fn handle(&self, terminal: TerminalId, end: End) -> Handle {
        Handle { terminal, end, hangups: self.hangups }
    }

    /// Whether a file of it is dead.
    pub fn has_hung_up(&self, handle: Handle) -> bool {
        handle.end == End::Terminal && handle.hangups != self.hangups
    }

    /// The device's numbers.
    pub const fn device(&self, end: End) -> (u32, u32) {
        match (&self.kind, end) {
            (Kind::Serial, _) => (4, 64),
            (Kind::Pty(_), End::Master) => (5, 2),
            (Kind::Pty(pty), End::Terminal) => (136 + pty.number / 256, pty.number % 256),
        }
    }
}
