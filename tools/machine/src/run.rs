//! Owns one run from start to end.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, sync_channel};
use std::time::{Duration, Instant};

use abi::control::Record;
use miette::Diagnostic;
use thiserror::Error;

use crate::emulator::Emulator;
use crate::fit::{self, FitError};
use crate::guest::{Answers, Guest, POWER_OFF_TIMEOUT};
use crate::heard::{HeardSoFar, Listener, Watcher};
use crate::initrd;
use crate::input::{self, Keyboard, Plain, Source};
use crate::lines::{Heard, Line, Listeners};
use crate::machine::Machine;
use crate::verdict::{Ended, Verdict};

/// How long the emulator may take to connect its lines.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// Why a run did not take place.
#[derive(Debug, Error, Diagnostic)]
pub enum RunError {
    /// The image cannot be booted on this machine.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Fit(#[from] FitError),
    /// Folder or sockets for the serial lines cannot be made.
    #[error("cannot make the sockets for the serial lines in {folder}")]
    #[diagnostic(help(
        "set TMPDIR to a folder that can be written and whose path is shorter than 80 characters"
    ))]
    Sockets {
        /// Where.
        folder: String,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// The emulator's program does not start.
    #[error("cannot start {program}")]
    Start {
        /// The program.
        program: String,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// The emulator refused its arguments, or could not use a file.
    #[error("QEMU did not start the machine: {printed}")]
    Refused {
        /// What it printed.
        printed: String,
    },
}

/// A run that took place.
#[derive(Clone, Debug)]
pub struct Run {
    /// How it ended.
    pub verdict: Verdict,
    /// What was printed on the log line; bytes that are no UTF-8 are replaced.
    pub log: String,
    /// What was printed on the standard output line.
    pub output: Vec<u8>,
    /// What was printed on the standard error line.
    pub errors: Vec<u8>,
    /// The control line.
    pub control: String,
    /// Whether the emulator still answered when it was stopped.
    pub emulator: Answers,
}

impl Run {
    /// Returns the control line's records; lines that are none are left out (they made the run fail).
    pub fn records(&self) -> impl Iterator<Item = Record<'_>> {
        self.control.lines().filter_map(|line| Record::parse(line).ok())
    }
}

/// How much may have been heard and not yet told, in pieces: then the guest's lines wait for the listener.
const PIECES: usize = 64;

impl Machine {
    /// Runs the machine until it powers off or its time is up; `watch` hears everything as it comes. The guest's
    /// input ends at once.
    ///
    /// # Errors
    /// The machine could not be started. How a started one ended is in the result.
    pub fn run(&self, emulator: &Emulator, watch: impl FnMut(Line, &[u8])) -> Result<Run, RunError> {
        self.run_with(emulator, Box::new(std::io::empty()), &mut Watcher(watch))
    }

    /// Runs the machine until it powers off, its time is up or the listener gives up; the guest's input comes from
    /// a source.
    ///
    /// # Errors
    /// As for [`Self::run`].
    pub fn run_with(
        &self,
        emulator: &Emulator,
        source: Source,
        listener: &mut dyn Listener,
    ) -> Result<Run, RunError> {
        self.run_for(emulator, Box::new(Plain(source)), listener)
    }

    /// Runs the machine for somebody who sits at its terminal, until it powers off, its time is up or either gives up.
    ///
    /// # Errors
    /// As for [`Self::run`].
    pub fn run_for(
        &self,
        emulator: &Emulator,
        keyboard: Box<dyn Keyboard>,
        listener: &mut dyn Listener,
    ) -> Result<Run, RunError> {
        fit::check(&self.image, self.memory_mib)?;
        if let Some(file) = &self.initrd {
            initrd::check(&self.image, file, self.memory_mib)?;
        }
        let folder = tempfile::Builder::new().prefix("bixi-").tempdir();
        let folder = folder.map_err(|source| sockets_error(&std::env::temp_dir(), source))?;
        if self.counting.is_some() {
            return self.run_alone(emulator, folder.path(), listener);
        }
        let mut listeners =
            Listeners::open(folder.path()).map_err(|source| sockets_error(folder.path(), source))?;
        let started = Instant::now();
        let mut guest = Guest::start(self, emulator, folder.path())?;
        let (sender, receiver) = sync_channel(PIECES);
        while !listeners.complete() {
            listeners.accept(&sender).map_err(|source| sockets_error(folder.path(), source))?;
            if guest.has_ended() || started.elapsed() > CONNECT_TIMEOUT {
                guest.stop();
                return Err(RunError::Refused { printed: guest.messages() });
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let ready = listeners.ways().map(|ways| input::pass_on(keyboard, ways, sender));
        let mut heard = HeardSoFar::new(listener.keeps());
        let mut ears = Ears { receiver, ready, open: Line::ALL.len() };
        let ended = match ears.listen(started.checked_add(self.timeout), &mut heard, listener) {
            LinesEnded::Closed => {
                let (status, printed) = (guest.wait(), guest.messages());
                if !status.success() && heard.is_empty() {
                    // It connected its lines and then did not like the rest.
                    return Err(RunError::Refused { printed });
                }
                Ended::ByItself(status, printed)
            }
            LinesEnded::TimedOut => Ended::Stopped(started.elapsed()),
            LinesEnded::GivenUp => Ended::GivenUp,
        };
        Ok(heard.into_run(&ended, guest.stop()))
    }

    /// Runs the machine with files for its lines, so that nothing that takes our time reaches the guest; the listener
    /// hears everything at the end.
    fn run_alone(
        &self,
        emulator: &Emulator,
        folder: &Path,
        listener: &mut dyn Listener,
    ) -> Result<Run, RunError> {
        let started = Instant::now();
        let mut guest = Guest::start(self, emulator, folder)?;
        while !guest.has_ended() && started.elapsed() < self.timeout {
            std::thread::sleep(Duration::from_millis(2));
        }
        let by_itself = guest.has_ended();
        let answers = guest.stop();
        let (status, printed) = (guest.wait(), guest.messages());
        let mut heard = HeardSoFar::new(listener.keeps());
        let mut given_up = false;
        for line in Line::ALL {
            // An emulator that refuses its arguments makes none of the files.
            let bytes = std::fs::read(line.place(folder)).unwrap_or_default();
            given_up |= !bytes.is_empty() && heard.take(line, &bytes, listener).is_break();
        }
        if by_itself && !status.success() && heard.is_empty() {
            return Err(RunError::Refused { printed });
        }
        let ended = match (by_itself, given_up) {
            (_, true) => Ended::GivenUp,
            (true, false) => Ended::ByItself(status, printed),
            (false, false) => Ended::Stopped(started.elapsed()),
        };
        Ok(heard.into_run(&ended, answers))
    }
}

fn sockets_error(folder: &Path, source: std::io::Error) -> RunError {
    RunError::Sockets { folder: folder.display().to_string(), source }
}

/// Why listening came to its end.
#[derive(Clone, Copy, Debug)]
enum LinesEnded {
    Closed,
    TimedOut,
    GivenUp,
}

/// What is listened with.
#[derive(Debug)]
struct Ears {
    receiver: Receiver<Heard>,
    /// Who waits to be told that the guest reads its input.
    ready: Option<Sender<()>>,
    /// Lines that the emulator has not closed.
    open: usize,
}

impl Ears {
    /// Listens to all lines until the emulator closes them, the time is up, or the listener has enough.
    fn listen(
        &mut self,
        mut deadline: Option<Instant>,
        heard: &mut HeardSoFar,
        listener: &mut dyn Listener,
    ) -> LinesEnded {
        while self.open > 0 {
            let patience = listener.deadline();
            let first = [deadline, patience].into_iter().flatten().min();
            match self.next(first) {
                Ok(Heard::Bytes(line, bytes)) => {
                    let had_ended = heard.has_exit_record();
                    if heard.take(line, &bytes, listener).is_break() {
                        return LinesEnded::GivenUp;
                    }
                    if heard.is_input_ready()
                        && let Some(ready) = self.ready.take()
                    {
                        // Whoever reads the source has ended only if that is over.
                        let _ = ready.send(());
                    }
                    if heard.has_exit_record() && !had_ended {
                        let soon = Instant::now() + POWER_OFF_TIMEOUT;
                        deadline = Some(deadline.map_or(soon, |deadline| deadline.min(soon)));
                    }
                }
                Ok(Heard::InputFailed(error)) => listener.input_failed(&error),
                Ok(Heard::GivenUp) => return LinesEnded::GivenUp,
                Ok(Heard::Closed) => self.open -= 1,
                Err(RecvTimeoutError::Timeout) if first == patience => return LinesEnded::GivenUp,
                Err(RecvTimeoutError::Timeout) => return LinesEnded::TimedOut,
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        LinesEnded::Closed
    }

    fn next(&self, deadline: Option<Instant>) -> Result<Heard, RecvTimeoutError> {
        match deadline {
            Some(deadline) => self.receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())),
            None => self.receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
        }
    }
}
