//! Owns what the tools say to the guest: lines in the records' form, on the control line's other direction.
//!
//! Input for programs travels on line 1 as it is, every byte value meaning itself. Where it ends is said here, by
//! how many bytes it had, so that nothing in it can end it early and neither line need wait for the other.

use core::fmt;

use super::{Pairs, RecordError};

/// One line from the tools to the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Standard input ends.
    InputEnds {
        /// Bytes that it had, counted from the guest's [`super::Record::InputReady`].
        after: u64,
    },
    /// The window of the terminal that somebody sits at has another size.
    Window {
        /// Lines of text.
        rows: u16,
        /// Characters in a line.
        columns: u16,
    },
}

impl Request {
    /// No request has more bytes, its end included.
    pub const BYTES: usize = 64;

    /// Reads one line, with or without its end.
    ///
    /// # Errors
    /// The line is no request.
    pub fn parse(line: &str) -> Result<Self, RecordError> {
        let (kind, pairs) = Pairs::of_line(line);
        match kind {
            "input-ends" => Ok(Self::InputEnds { after: pairs.number("after")? }),
            "window" => Ok(Self::Window { rows: pairs.number("rows")?, columns: pairs.number("columns")? }),
            _ => Err(RecordError::UnknownKind),
        }
    }
}

impl fmt::Display for Request {
    /// Writes the request without the line's end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InputEnds { after } => write!(f, "input-ends after={after}"),
            Self::Window { rows, columns } => write!(f, "window rows={rows} columns={columns}"),
        }
    }
}
