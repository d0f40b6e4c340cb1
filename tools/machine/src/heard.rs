//! Owns what a run's lines have carried so far: what is kept, and the control line's records as they come.

use std::ops::ControlFlow;
use std::time::Instant;

use abi::control::Record;

use crate::guest::Answers;
use crate::lines::Line;
use crate::run::Run;
use crate::verdict::{Ended, judge};

/// Somebody who follows a run while it goes on. Breaking off ends the run.
pub trait Listener {
    /// Something was printed on a line.
    fn bytes(&mut self, line: Line, bytes: &[u8]) -> ControlFlow<()>;

    /// The guest has written a record.
    fn record(&mut self, _record: &Record<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// When the listener will have waited long enough; looked at before every wait.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// The input that the guest was promised could not be read on; for the guest it has ended.
    fn input_failed(&mut self, _error: &std::io::Error) {}

    /// What the result is to have of the program's output and errors.
    fn keeps(&self) -> Keep {
        Keep::Everything
    }
}

/// What a run's result has of the program's output and errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// All of it.
    Everything,
    /// Nothing: it was passed on, and may be endless.
    Nothing,
}

/// A listener that does not speak.
pub(crate) struct Watcher<F>(pub(crate) F);

impl<F: FnMut(Line, &[u8])> Listener for Watcher<F> {
    fn bytes(&mut self, line: Line, bytes: &[u8]) -> ControlFlow<()> {
        (self.0)(line, bytes);
        ControlFlow::Continue(())
    }
}

/// Everything that the lines have carried, as far as it is kept.
#[derive(Debug)]
pub(crate) struct HeardSoFar {
    keep: Keep,
    any: bool,
    log: Vec<u8>,
    output: Vec<u8>,
    errors: Vec<u8>,
    /// Whole lines of the control line, without those of `--strace`.
    control: String,
    /// What came after the last of them.
    partial: Vec<u8>,
    exit_record: bool,
    input_ready: bool,
}

impl HeardSoFar {
    pub(crate) fn new(keep: Keep) -> Self {
        Self {
            keep,
            any: false,
            log: Vec::new(),
            output: Vec::new(),
            errors: Vec::new(),
            control: String::new(),
            partial: Vec::new(),
            exit_record: false,
            input_ready: false,
        }
    }

    /// Takes bytes in, and tells the listener.
    pub(crate) fn take(&mut self, line: Line, bytes: &[u8], listener: &mut dyn Listener) -> ControlFlow<()> {
        self.any = true;
        listener.bytes(line, bytes)?;
        match (line, self.keep) {
            (Line::Log, _) => self.log.extend_from_slice(bytes),
            (Line::Output, Keep::Everything) => self.output.extend_from_slice(bytes),
            (Line::Errors, Keep::Everything) => self.errors.extend_from_slice(bytes),
            (Line::Output | Line::Errors, Keep::Nothing) => {}
            (Line::Control, _) => return self.take_control(bytes, listener),
        }
        ControlFlow::Continue(())
    }

    fn take_control(&mut self, bytes: &[u8], listener: &mut dyn Listener) -> ControlFlow<()> {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.partial.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let line = String::from_utf8_lossy(&std::mem::take(&mut self.partial)).into_owned();
                self.take_record(&line, listener)?;
            }
        }
        ControlFlow::Continue(())
    }

    fn take_record(&mut self, line: &str, listener: &mut dyn Listener) -> ControlFlow<()> {
        let record = Record::parse(line);
        match record {
            Ok(Record::Exit { .. }) => self.exit_record = true,
            Ok(Record::InputReady) => self.input_ready = true,
            _ => {}
        }
        if !matches!(record, Ok(Record::Strace { .. })) {
            self.control.push_str(line);
        }
        // A line that is no record makes the run fail at its end.
        record.map_or(ControlFlow::Continue(()), |record| listener.record(&record))
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.any
    }

    pub(crate) fn has_exit_record(&self) -> bool {
        self.exit_record
    }

    /// Whether the guest reads its input by now.
    pub(crate) fn is_input_ready(&self) -> bool {
        self.input_ready
    }

    pub(crate) fn into_run(mut self, ended: &Ended, emulator: Answers) -> Run {
        let log = String::from_utf8_lossy(&self.log).into_owned();
        self.control.push_str(&String::from_utf8_lossy(&self.partial));
        let verdict = judge(ended, &self.control, &log);
        Run { verdict, log, output: self.output, errors: self.errors, control: self.control, emulator }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Told(Vec<String>);

    impl Listener for Told {
        fn bytes(&mut self, _: Line, _: &[u8]) -> ControlFlow<()> {
            ControlFlow::Continue(())
        }

        fn record(&mut self, record: &Record<'_>) -> ControlFlow<()> {
            self.0.push(record.to_string());
            if matches!(record, Record::Exit { .. }) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        }

        fn keeps(&self) -> Keep {
            Keep::Nothing
        }
    }

    #[test]
    fn records_are_told_when_their_line_is_whole_and_strace_is_not_kept() {
        let mut told = Told(Vec::new());
        let mut heard = HeardSoFar::new(told.keeps());
        for piece in ["strace te", "xt=a\ninput-", "ready\nnonsense\n", "bench name=x n="] {
            assert!(heard.take(Line::Control, piece.as_bytes(), &mut told).is_continue());
        }
        assert_eq!(told.0, ["strace text=a", "input-ready"]);
        assert!(heard.is_input_ready() && !heard.has_exit_record());
        assert!(heard.take(Line::Output, b"much", &mut told).is_continue());
        assert!(heard.take(Line::Control, b"1\nexit code=0\nexit code=1\n", &mut told).is_break());
        assert!(heard.has_exit_record());
        let run = heard.into_run(&Ended::GivenUp, Answers::Yes);
        assert_eq!(run.control, "input-ready\nnonsense\nbench name=x n=1\nexit code=0\n");
        assert_eq!(run.output, b"");
    }
}
