//! Owns the ways of a running guest's streams to the user's.

use std::io::{ErrorKind, Write};
use std::ops::ControlFlow;

use abi::control::Record;
use machine::{Keep, Line, Listener};

/// What the user sees besides the program's own output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// Nothing.
    Program,
    /// The log of kernel and servers, and their records.
    Everything,
}

/// How lines of ours end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lines {
    /// As everywhere.
    Usual,
    /// The terminal is raw: a line's end does not go back to its beginning.
    Raw,
}

/// The user's streams: output and errors are passed on at once, as they come.
#[derive(Debug)]
pub(super) struct Streams {
    shown: Shown,
    lines: Lines,
    /// Why the user's standard output takes no more; a broken pipe where nobody reads it.
    pub(super) refused: Option<ErrorKind>,
    /// The user's standard input could not be read to its end.
    pub(super) input_failed: bool,
}

impl Streams {
    pub(super) fn new(shown: Shown, lines: Lines) -> Self {
        Self { shown, lines, refused: None, input_failed: false }
    }

    /// Writes lines that are not the program's to standard error.
    fn tell(&self, text: &[u8]) {
        match self.lines {
            Lines::Usual => errors(text),
            Lines::Raw => errors(&returned(text)),
        }
    }

    /// Passes output on; where nobody reads it the program has no reason to go on.
    fn output(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        let mut to = std::io::stdout().lock();
        match to.write_all(bytes).and_then(|()| to.flush()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                if error.kind() != ErrorKind::BrokenPipe {
                    self.tell(format!("bixi: cannot write the program's output: {error}\n").as_bytes());
                }
                self.refused = Some(error.kind());
                ControlFlow::Break(())
            }
        }
    }
}

/// Writes to the user's standard error, which may be closed: then there is nobody to tell.
fn errors(bytes: &[u8]) {
    let _ = std::io::stderr().write_all(bytes);
}

/// With a carriage return before every newline.
fn returned(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 8);
    for &byte in text {
        if byte == b'\n' {
            out.push(b'\r');
        }
        out.push(byte);
    }
    out
}

impl Listener for Streams {
    fn bytes(&mut self, line: Line, bytes: &[u8]) -> ControlFlow<()> {
        match (line, self.shown) {
            (Line::Output, _) => return self.output(bytes),
            (Line::Errors, _) => errors(bytes),
            (Line::Log | Line::Control, Shown::Everything) => self.tell(bytes),
            (Line::Log | Line::Control, Shown::Program) => {}
        }
        ControlFlow::Continue(())
    }

    fn record(&mut self, record: &Record<'_>) -> ControlFlow<()> {
        if let (Record::Strace { text }, Shown::Program) = (record, self.shown) {
            self.tell(format!("{text}\n").as_bytes());
        }
        ControlFlow::Continue(())
    }

    fn input_failed(&mut self, error: &std::io::Error) {
        self.tell(format!("bixi: cannot read standard input: {error}\n").as_bytes());
        self.input_failed = true;
    }

    fn keeps(&self) -> Keep {
        Keep::Nothing
    }
}
