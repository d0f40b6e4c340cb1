//! Owns how a run is judged.

use std::fmt;
use std::process::ExitStatus;
use std::time::Duration;

use abi::control::Record;

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The guest wrote its exit record and powered off.
    Passed {
        /// The status in the record.
        exit_code: u8,
    },
    /// The guest ended otherwise.
    Failed(Failure),
    /// The guest's time was up, or it wrote its exit record and then did not power off.
    Hung {
        /// How long it had run.
        after: Duration,
    },
    /// Whoever followed the run gave it up.
    GivenUp,
}

/// How a run failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Kernel or server panicked; who.
    Panic(String),
    /// The machine was powered off without an exit record.
    NoExitRecord,
    /// The control line had a line that is no record: the line, and why.
    BadRecord(String, String),
    /// The emulator ended by itself: how, and what it printed.
    Emulator(String, String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed { exit_code } => write!(f, "ended with exit code {exit_code}"),
            Self::Failed(failure) => failure.fmt(f),
            Self::GivenUp => f.write_str("was stopped: nobody followed it any longer"),
            Self::Hung { after } => write!(f, "hung: stopped after {:.1} s", after.as_secs_f64()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic(place) => write!(f, "failed: panic in {place}"),
            Self::NoExitRecord => f.write_str("failed: powered off without an exit record"),
            Self::BadRecord(line, why) => {
                write!(f, "failed: {line:?} on the control line is no record: {why}")
            }
            Self::Emulator(how, printed) => write!(f, "failed: QEMU ended by itself ({how}): {printed}"),
        }
    }
}

/// How a run came to its end.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The emulator ended, with this status and these messages of its own.
    ByItself(ExitStatus, String),
    /// It was stopped after this time.
    Stopped(Duration),
    /// It was stopped because nobody followed it any longer.
    GivenUp,
}

/// Judges a run by its end, its control line and its log.
pub(crate) fn judge(ended: &Ended, control: &str, log: &str) -> Verdict {
    let mut exit_code = None;
    let mut panic = kernel_panicked(log).then(|| "the kernel".to_owned());
    let mut bad_record = None;
    for line in control.lines().filter(|line| !line.is_empty()) {
        match Record::parse(line) {
            Ok(Record::Exit { code }) => exit_code = Some(code),
            Ok(Record::Panic { place }) => panic = panic.or_else(|| Some(place.to_string())),
            Ok(_) => {}
            Err(why) => bad_record = bad_record.or_else(|| Some((line.to_owned(), why.to_string()))),
        }
    }
    match (ended, panic, bad_record, exit_code) {
        (Ended::GivenUp, ..) => Verdict::GivenUp,
        (_, Some(place), ..) => Verdict::Failed(Failure::Panic(place)),
        (Ended::Stopped(after), ..) => Verdict::Hung { after: *after },
        (_, _, Some((line, why)), _) => Verdict::Failed(Failure::BadRecord(line, why)),
        (Ended::ByItself(status, printed), ..) if !status.success() => {
            Verdict::Failed(Failure::Emulator(status.to_string(), printed.trim().to_owned()))
        }
        (.., Some(exit_code)) => Verdict::Passed { exit_code },
        (.., None) => Verdict::Failed(Failure::NoExitRecord),
    }
}

/// The kernel's crash report begins a line; a server's log lines begin with the server's name.
fn kernel_panicked(log: &str) -> bool {
    log.lines().any(|line| line.starts_with("PANIC:"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn ended(status: i32) -> Ended {
        Ended::ByItself(ExitStatus::from_raw(status), "no such CPU".into())
    }

    #[test]
    fn an_exit_record_and_a_power_off_is_a_pass() {
        let control = "test name=a result=passed\nexit code=7\n";
        assert_eq!(judge(&ended(0), control, ""), Verdict::Passed { exit_code: 7 });
    }

    #[test]
    fn a_missing_exit_record_is_a_failure() {
        let control = "test name=a result=passed\n";
        assert_eq!(judge(&ended(0), control, "all is well"), Verdict::Failed(Failure::NoExitRecord));
        let cut = judge(&ended(0), "exit cod", "");
        assert!(matches!(cut, Verdict::Failed(Failure::BadRecord(..))), "{cut}");
    }

    #[test]
    fn a_panic_is_a_failure_whatever_else_was_recorded() {
        let by_log = judge(&ended(0), "exit code=0\n", "boot\nPANIC: out of memory\n  at 0x1234\n");
        assert_eq!(by_log, Verdict::Failed(Failure::Panic("the kernel".into())));
        let by_record =
            judge(&ended(0), "panic where=console\nexit code=0\n", "console: PANIC: said by a server");
        assert_eq!(by_record, Verdict::Failed(Failure::Panic("console".into())));
    }

    #[test]
    fn a_guest_that_does_not_end_hung_even_after_its_exit_record() {
        let after = Duration::from_secs(3);
        assert_eq!(judge(&Ended::Stopped(after), "", ""), Verdict::Hung { after });
        assert_eq!(judge(&Ended::Stopped(after), "exit code=0\n", ""), Verdict::Hung { after });
    }

    #[test]
    fn an_emulator_that_ends_by_itself_is_told_with_its_words() {
        let verdict = judge(&ended(1 << 8), "", "");
        assert_eq!(verdict.to_string(), "failed: QEMU ended by itself (exit status: 1): no such CPU");
    }
}
