//! Owns the emulator's process.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::child::start_with_us;
use crate::emulator::Emulator;
use crate::machine::Machine;
use crate::run::RunError;

/// How long the guest may take from its exit record to the power being off.
pub(crate) const POWER_OFF_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an emulator may take to end when it is asked to, on a busy computer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// Whether the emulator ended when it was asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// It did, or it ended by itself.
    Yes,
    /// It had to be killed: it is in an endless loop of its own.
    No,
}

/// The emulator's process; it does not outlive this value, nor the thread that has started it.
#[derive(Debug)]
pub(crate) struct Guest {
    process: Child,
    messages: Option<JoinHandle<String>>,
}

impl Guest {
    pub(crate) fn start(machine: &Machine, emulator: &Emulator, folder: &Path) -> Result<Self, RunError> {
        let start_error =
            |source| RunError::Start { program: emulator.program.display().to_string(), source };
        let mut command = Command::new(&emulator.program);
        command.args(machine.arguments(emulator, folder));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = start_with_us(&mut command).map_err(start_error)?;
        let messages = process.stderr.take().map(|mut stream| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                // What was read before an error is all there is to show.
                let _ = stream.read_to_end(&mut bytes);
                String::from_utf8_lossy(&bytes).into_owned()
            })
        });
        Ok(Self { process, messages })
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.process.try_wait(), Ok(None))
    }

    /// Waits for the end of a process that has closed its lines; one that lingers is stopped.
    pub(crate) fn wait(&mut self) -> std::process::ExitStatus {
        let deadline = Instant::now() + POWER_OFF_TIMEOUT;
        while !self.has_ended() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.stop();
        self.process.wait().unwrap_or_default()
    }

    /// Stops the process, and says whether it listened. Does nothing to one that has ended.
    ///
    /// An emulator that does not end when it is asked to does not come back to its own main loop: whatever the
    /// guest does, that is the emulator's fault.
    pub(crate) fn stop(&mut self) -> Answers {
        let asked = Instant::now();
        if !self.has_ended()
            && let Ok(number) = i32::try_from(self.process.id())
            && let Some(process) = rustix::process::Pid::from_raw(number)
        {
            // It fails only for a process that is gone already, which is waited for below.
            let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
            while !self.has_ended() && asked.elapsed() < ANSWER_TIMEOUT {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        let answers = if self.has_ended() { Answers::Yes } else { Answers::No };
        // Both fail only for a process that is gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
        answers
    }

    /// Returns what the emulator itself printed, once it has ended.
    pub(crate) fn messages(&mut self) -> String {
        self.messages.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.stop();
    }
}
