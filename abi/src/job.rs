//! The job: which hosted programs are to run, as lines of text in the records' form ([`crate::control`]).
//!
//! It travels as the first member, [`MEMBER`], of the initrd, and is no part of the guest's file system. Lines after
//! [`Line::Next`] or [`Line::Beside`] are of another program; programs are numbered from 0 in the job's order.
//!
//! The job is over when the last of its programs has ended; with them ends whatever they have started. Its status is
//! its first program's, and the machine powers off with it.

use core::fmt;

use crate::control::{Pairs, RecordError, Text};

/// The name of the member of the archive.
pub const MEMBER: &str = "bixi-job";

/// One line of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// One more argument of the program. The first one names it: a path, or a name that is looked up in its `PATH`.
    Argument(Text<'a>),
    /// One more string of its environment, `NAME=VALUE`.
    Environment(Text<'a>),
    /// The folder that it starts in, `/` without this line.
    Directory(Text<'a>),
    /// Its calls, and those of all other programs, are told on the control line.
    Strace,
    /// Somebody sits at a terminal: programs' streams are that terminal, with a window of this size.
    Terminal {
        /// Lines of text.
        rows: u16,
        /// Characters in a line.
        columns: u16,
    },
    /// Another program, to be started when all before it have ended.
    Next,
    /// Another program, to be started together with the one before it.
    Beside,
}

impl fmt::Display for Line<'_> {
    /// Writes the line without its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Argument(text) => write!(f, "argument value={}", text.encoded()),
            Self::Environment(text) => write!(f, "environment value={}", text.encoded()),
            Self::Directory(text) => write!(f, "directory value={}", text.encoded()),
            Self::Strace => f.write_str("strace value=yes"),
            Self::Terminal { rows, columns } => write!(f, "terminal value=yes rows={rows} columns={columns}"),
            Self::Next => f.write_str("next"),
            Self::Beside => f.write_str("beside"),
        }
    }
}

impl<'a> Line<'a> {
    /// Reads one line, with or without its end.
    ///
    /// # Errors
    /// The line is none of a job.
    pub fn parse(line: &'a str) -> Result<Self, RecordError> {
        let (kind, pairs) = Pairs::of_line(line);
        match kind {
            "argument" => pairs.text("value").map(Self::Argument),
            "environment" => pairs.text("value").map(Self::Environment),
            "directory" => pairs.text("value").map(Self::Directory),
            "strace" if pairs.text("value")? == Text::new("yes") => Ok(Self::Strace),
            "terminal" if pairs.text("value")? == Text::new("yes") => {
                Ok(Self::Terminal { rows: pairs.number("rows")?, columns: pairs.number("columns")? })
            }
            "strace" | "terminal" => Err(RecordError::BadValue("value")),
            "next" => Ok(Self::Next),
            "beside" => Ok(Self::Beside),
            _ => Err(RecordError::UnknownKind),
        }
    }
}

/// Reads a job, line by line.
pub fn lines(text: &str) -> impl Iterator<Item = Result<Line<'_>, RecordError>> {
    text.lines().map(Line::parse)
}

#[cfg(test)]
mod tests {
    use std::string::{String, ToString};
    use std::vec::Vec;

    use super::*;

    #[test]
    fn a_job_reads_as_it_was_written() {
        let job = [
            Line::Argument(Text::of_bytes(b"sh")),
            Line::Argument(Text::of_bytes(b"two words\nnext \xff")),
            Line::Argument(Text::of_bytes(b"")),
            Line::Environment(Text::of_bytes(b"PATH=/bin")),
            Line::Directory(Text::of_bytes(b"/tmp")),
            Line::Strace,
            Line::Terminal { rows: 24, columns: 65535 },
            Line::Beside,
            Line::Argument(Text::of_bytes(b"true")),
            Line::Next,
            Line::Argument(Text::of_bytes(b"false")),
        ];
        let text: String = job.iter().map(|line| line.to_string() + "\n").collect();
        assert_eq!(text.lines().count(), job.len(), "no argument makes a line of its own:\n{text}");
        assert_eq!(lines(&text).collect::<Result<Vec<_>, _>>().unwrap(), job);
        let Ok(Line::Argument(word)) = Line::parse("argument value=a%ffb") else { panic!("an argument") };
        assert_eq!(word.plain_bytes().collect::<Vec<_>>(), b"a\xffb");
    }

    #[test]
    fn what_is_no_line_is_refused() {
        assert_eq!(Line::parse("argument"), Err(RecordError::MissingKey("value")));
        assert_eq!(Line::parse("argument value=%"), Err(RecordError::BadValue("value")));
        assert_eq!(Line::parse("strace value=no"), Err(RecordError::BadValue("value")));
        assert_eq!(Line::parse("terminal value=yes rows=1"), Err(RecordError::MissingKey("columns")));
        assert_eq!(
            Line::parse("terminal value=yes rows=65536 columns=1"),
            Err(RecordError::BadValue("rows"))
        );
        assert_eq!(Line::parse("terminal value=no rows=1 columns=1"), Err(RecordError::BadValue("value")));
        assert_eq!(Line::parse(""), Err(RecordError::UnknownKind));
    }
}
