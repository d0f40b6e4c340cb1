//! Owns the records of the control line: the one writer (the guest's) and the one reader (the tools').
//!
//! A record is a line of words: what it is, then `key=value` pairs. Values are percent-encoded, so that no name or
//! reason can forge a second record. The line has no other user, and a guest that ended without an exit record
//! counts as failed. In the other direction the same line carries the tools' [`Request`]s, in the same form.

mod command;
mod request;
mod text;

#[cfg(test)]
mod tests;

use core::fmt;

pub use command::Command;
pub use request::Request;
pub use text::Text;

/// How one test of the guest's ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestResult {
    /// It ran to its end and every check held.
    Passed,
    /// A check did not hold.
    Failed,
    /// It did not run; the reason says what the machine or the kernel lacks.
    Skipped,
}

/// Whether the machine enforces what a boot self-test probed (C-60).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelfTestResult {
    /// The machine does what the manual says.
    Enforced,
    /// It does not; tests that need it are skipped.
    Missing,
}

/// One line of the control line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// The run is over, and this is its status; the guest powers off next.
    Exit {
        /// 0 for success, as a process's exit status.
        code: u8,
    },
    /// A test ended.
    Test {
        /// The test's name.
        name: Text<'a>,
        /// How it ended.
        result: TestResult,
        /// Why it failed or was skipped; empty when it passed.
        reason: Text<'a>,
    },
    /// A boot self-test's finding.
    SelfTest {
        /// What was probed.
        name: Text<'a>,
        /// Whether the machine enforces it.
        result: SelfTestResult,
        /// What was seen.
        detail: Text<'a>,
    },
    /// A benchmark ran; the counter has its figures under the same label.
    Bench {
        /// The label, at most eight ASCII characters.
        name: Text<'a>,
        /// How many samples were taken.
        n: u64,
    },
    /// Kernel or server panicked; the log line says more.
    Panic {
        /// Who: `kernel`, or the server's name.
        place: Text<'a>,
    },
    /// The console reads the input lines from now on: whatever came before may be lost.
    InputReady,
    /// A hosted program made a call, or a call of its ended (`--strace`).
    Strace {
        /// The call as a person reads it.
        text: Text<'a>,
    },
    /// A hosted program that the job asked for has ended, with whatever was started with it.
    Program {
        /// Its place in the job, from 0.
        number: u64,
        /// Its status, 128 and the number of the signal that ended it.
        status: u8,
        /// All that the server has put on the standard output line by now, in bytes.
        output: u64,
        /// The same of standard error.
        errors: u64,
        /// Page frames that the server has free by now.
        frames: u64,
        /// Processes, contexts, open files and other things that there are more, or fewer, than before it was started.
        left: u64,
    },
}

impl fmt::Display for Record<'_> {
    /// Writes the record without the line's end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Exit { code } => write!(f, "exit code={code}"),
            Self::Test { name, result, reason } => {
                write!(f, "test name={} result={}", name.encoded(), result.word())?;
                if reason.is_empty() { Ok(()) } else { write!(f, " reason={}", reason.encoded()) }
            }
            Self::SelfTest { name, result, detail } => {
                write!(
                    f,
                    "selftest name={} result={} detail={}",
                    name.encoded(),
                    result.word(),
                    detail.encoded()
                )
            }
            Self::Bench { name, n } => write!(f, "bench name={} n={n}", name.encoded()),
            Self::Panic { place } => write!(f, "panic where={}", place.encoded()),
            Self::InputReady => f.write_str("input-ready"),
            Self::Strace { text } => write!(f, "strace text={}", text.encoded()),
            Self::Program { number, status, output, errors, frames, left } => {
                write!(f, "program number={number} status={status} output={output} errors={errors}")?;
                write!(f, " frames={frames} left={left}")
            }
        }
    }
}

/// Why a line is not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordError {
    /// The first word is no kind of record.
    UnknownKind,
    /// A key that this kind needs is not there.
    MissingKey(&'static str),
    /// A key's value is not one that this kind allows.
    BadValue(&'static str),
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKind => f.write_str("the first word names no kind of record"),
            Self::MissingKey(key) => write!(f, "`{key}=` is missing"),
            Self::BadValue(key) => write!(f, "`{key}=` has a value that does not fit"),
        }
    }
}

impl core::error::Error for RecordError {}

impl<'a> Record<'a> {
    /// Reads one line, with or without its end.
    pub fn parse(line: &'a str) -> Result<Self, RecordError> {
        let (kind, pairs) = Pairs::of_line(line);
        match kind {
            "exit" => Ok(Self::Exit { code: pairs.number("code")? }),
            "test" => Ok(Self::Test {
                name: pairs.text("name")?,
                result: TestResult::of_word(pairs.value("result")?).ok_or(RecordError::BadValue("result"))?,
                reason: pairs.text("reason").or_else(RecordError::optional)?,
            }),
            "selftest" => Ok(Self::SelfTest {
                name: pairs.text("name")?,
                result: SelfTestResult::of_word(pairs.value("result")?)
                    .ok_or(RecordError::BadValue("result"))?,
                detail: pairs.text("detail")?,
            }),
            "bench" => Ok(Self::Bench { name: pairs.text("name")?, n: pairs.number("n")? }),
            "panic" => Ok(Self::Panic { place: pairs.text("where")? }),
            "input-ready" => Ok(Self::InputReady),
            "strace" => Ok(Self::Strace { text: pairs.text("text")? }),
            "program" => Ok(Self::Program {
                number: pairs.number("number")?,
                status: pairs.number("status")?,
                output: pairs.number("output")?,
                errors: pairs.number("errors")?,
                frames: pairs.number("frames")?,
                left: pairs.number("left")?,
            }),
            _ => Err(RecordError::UnknownKind),
        }
    }
}

impl RecordError {
    /// Takes a missing text for an empty one; a bad text stays an error.
    fn optional<'a>(self) -> Result<Text<'a>, Self> {
        match self {
            Self::MissingKey(_) => Ok(Text::new("")),
            other => Err(other),
        }
    }
}

/// The words of a record after its kind.
pub(crate) struct Pairs<'a>(&'a str);

impl<'a> Pairs<'a> {
    /// Parts a line, without its end, into its kind and the rest.
    pub(crate) fn of_line(line: &'a str) -> (&'a str, Self) {
        let line = line.trim_end_matches(['\r', '\n']);
        let (kind, words) = line.split_once(' ').unwrap_or((line, ""));
        (kind, Self(words))
    }

    fn value(&self, key: &'static str) -> Result<&'a str, RecordError> {
        self.0
            .split(' ')
            .find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
            .ok_or(RecordError::MissingKey(key))
    }

    pub(crate) fn number<T: core::str::FromStr>(&self, key: &'static str) -> Result<T, RecordError> {
        self.value(key)?.parse().map_err(|_| RecordError::BadValue(key))
    }

    pub(crate) fn text(&self, key: &'static str) -> Result<Text<'a>, RecordError> {
        Text::of_encoded(self.value(key)?).ok_or(RecordError::BadValue(key))
    }
}

impl TestResult {
    fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        [Self::Passed, Self::Failed, Self::Skipped].into_iter().find(|result| result.word() == word)
    }
}

impl SelfTestResult {
    fn word(self) -> &'static str {
        match self {
            Self::Enforced => "enforced",
            Self::Missing => "missing",
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        [Self::Enforced, Self::Missing].into_iter().find(|result| result.word() == word)
    }
}
