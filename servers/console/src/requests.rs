//! What the tools ask for on the control line: gathered into lines and read.

use core::fmt::{self, Write};

use abi::control::{RecordError, Request};
use heapless::Vec;

use crate::line::Line;

/// The line that requests come from.
pub(crate) const CONTROL_LINE: usize = 3;

/// A line of the control line's, as far as it came.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    text: Vec<u8, { Request::BYTES }>,
    /// The line is longer than any request.
    excess: usize,
}

/// A line that is no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It is longer than any.
    TooLong,
    /// It is no text.
    NoText,
    /// It is text, and no request.
    Record(RecordError),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("console: a line on the control line is no request: ")?;
        match self {
            Self::TooLong => f.write_str("it is too long"),
            Self::NoText => f.write_str("it is no text"),
            Self::Record(error) => error.fmt(f),
        }?;
        f.write_char('\n')
    }
}

impl Requests {
    /// The next request that has come whole; None when there is none yet.
    pub(crate) fn next(&mut self, line: &mut Line) -> Option<Result<Request, Refused>> {
        let mut byte = [0];
        while line.receive(&mut byte) != 0 {
            let [byte] = byte;
            if byte == b'\n' {
                return Some(self.finish());
            }
            if self.text.push(byte).is_err() {
                self.excess += 1;
            }
        }
        None
    }

    fn finish(&mut self) -> Result<Request, Refused> {
        let Self { text, excess } = core::mem::take(self);
        if excess != 0 {
            return Err(Refused::TooLong);
        }
        let text = core::str::from_utf8(&text).map_err(|_| Refused::NoText)?;
        Request::parse(text).map_err(Refused::Record)
    }
}
