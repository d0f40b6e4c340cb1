//! Owns what is run on the oracle, and how that ended.

use std::fmt;
use std::time::Duration;

/// A program to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Where it lies in the guest.
    pub path: String,
    /// Its arguments, the name it is called by first.
    pub arguments: Vec<String>,
    /// Its environment, `NAME=VALUE` each.
    pub environment: Vec<String>,
    /// What it reads from its standard input, a pipe.
    pub input: Vec<u8>,
}

/// Programs that run at the same time; whatever they start is stopped when all of them have ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The programs, sixteen at most.
    pub programs: Vec<Program>,
    /// How long they may take.
    pub time_limit: Duration,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By exit, with this status.
    Exited(u8),
    /// By a signal.
    Killed(u8),
    /// It did not end in time and was stopped.
    Late,
    /// The kernel refused to execute it, with this error number.
    Unstarted(u8),
    /// Linux itself ended before it.
    Never,
}

impl End {
    /// Returns the status that a shell shows: 128 and the signal for a program that a signal ended.
    #[must_use]
    pub fn status(self) -> Option<u8> {
        match self {
            Self::Exited(status) => Some(status),
            Self::Killed(signal) => Some(128_u8.saturating_add(signal)),
            Self::Late | Self::Unstarted(_) | Self::Never => None,
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(status) => write!(f, "exit status {status}"),
            Self::Killed(signal) => write!(f, "signal {signal} (status {})", 128 + u32::from(*signal)),
            Self::Late => f.write_str("stopped: its time was up"),
            Self::Unstarted(error) => write!(f, "not started: error {error}"),
            Self::Never => f.write_str("never ended: Linux ended before it"),
        }
    }
}

/// What a program wrote, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What it wrote to its standard output.
    pub output: Vec<u8>,
    /// What it wrote to its standard error.
    pub errors: Vec<u8>,
    /// How it ended.
    pub end: End,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_a_shells() {
        assert_eq!(End::Exited(7).status(), Some(7));
        assert_eq!(End::Killed(11).status(), Some(139));
        assert_eq!(End::Late.status(), None);
        assert_eq!(End::Killed(11).to_string(), "signal 11 (status 139)");
    }
}
