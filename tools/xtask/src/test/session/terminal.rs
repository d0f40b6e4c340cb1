//! Owns a run of the command at a terminal of the test's: a pty, whose other end types and looks.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use machine::start_with_us;
use miette::{IntoDiagnostic, Result, ensure, miette};
use packages::shell::last_lines;
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};

/// How long the machine has until the shell's first prompt, and the whole session.
pub(super) const BOOT: Duration = Duration::from_secs(300);
/// How long an answer may take on a busy machine.
pub(super) const ANSWER: Duration = Duration::from_secs(120);
/// A key that comes before the job is in the foreground is the shell's: it is typed again after so long.
const AGAIN: Duration = Duration::from_secs(2);
/// The shell's prompt.
pub(super) const PROMPT: &str = "/ # ";
/// Lines of what was seen that a failure shows.
const SHOWN: usize = 40;

/// A run of the command at a pty.
pub(super) struct Session {
    process: Child,
    master: File,
    terminal: OwnedFd,
    heard: Receiver<Vec<u8>>,
    /// All that was seen.
    seen: Vec<u8>,
    /// How much of it was waited for.
    past: usize,
}

impl Session {
    /// Starts the command `run` with these words.
    pub(super) fn start(window: Winsize, words: &[&str]) -> Result<Self> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).into_diagnostic()?;
        grantpt(&master).into_diagnostic()?;
        unlockpt(&master).into_diagnostic()?;
        let name = ptsname(&master, Vec::new()).into_diagnostic()?;
        let terminal =
            open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).into_diagnostic()?;
        tcsetwinsize(&terminal, window).into_diagnostic()?;
        let stream = || terminal.try_clone().map(Stdio::from).into_diagnostic();
        let mut command = Command::new(std::env::current_exe().into_diagnostic()?);
        command.arg("run").args(["--timeout", &BOOT.as_secs().to_string()]).args(words);
        command.stdin(stream()?).stdout(stream()?).stderr(stream()?).process_group(0);
        let process = start_with_us(&mut command).into_diagnostic()?;
        let master = File::from(master);
        let mut reader = master.try_clone().into_diagnostic()?;
        let (sender, heard) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // An error is the terminal's end.
            while let Ok(length) = reader.read(&mut buffer)
                && length != 0
            {
                if sender.send(buffer.get(..length).unwrap_or_default().to_vec()).is_err() {
                    return;
                }
            }
        });
        Ok(Self { process, master, terminal, heard, seen: Vec::new(), past: 0 })
    }

    /// Types keys.
    pub(super) fn send(&mut self, keys: &str) -> Result<()> {
        self.master.write_all(keys.as_bytes()).into_diagnostic()
    }

    /// Enters a line; waits for its echo, for an answer behind it, and for the next prompt.
    pub(super) fn enter(&mut self, line: &str, answer: &str) -> Result<()> {
        self.begin(line)?;
        self.wait_for(answer, ANSWER)?;
        self.wait_for(PROMPT, ANSWER)
    }

    /// Enters a line that starts something in the foreground, or has no answer; waits until the shell has read it: a
    /// key that makes a signal would take back what is not yet read.
    pub(super) fn begin(&mut self, line: &str) -> Result<()> {
        self.send(line)?;
        self.wait_for(line, ANSWER)?;
        self.send("\r")?;
        self.wait_for("\n", ANSWER)
    }

    /// Presses keys until they are answered.
    pub(super) fn press(&mut self, key: &str, answer: &str) -> Result<()> {
        let started = Instant::now();
        loop {
            self.send(key)?;
            match self.wait_for(answer, AGAIN) {
                Err(error) if started.elapsed() > ANSWER => return Err(error),
                Err(_) => {}
                Ok(()) => return Ok(()),
            }
        }
    }

    /// Changes the window.
    pub(super) fn resize(&mut self, window: Winsize) -> Result<()> {
        tcsetwinsize(&self.terminal, window).into_diagnostic()?;
        // The command has this terminal, but not as its controlling one: nobody else tells it.
        let pid = self.pid().ok_or_else(|| miette!("the command has no number"))?;
        kill_process(pid, Signal::WINCH).into_diagnostic()
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.process.id()).ok().and_then(Pid::from_raw)
    }

    /// Waits for a text behind all that was waited for.
    pub(super) fn wait_for(&mut self, text: &str, most: Duration) -> Result<()> {
        let deadline = Instant::now() + most;
        loop {
            let new = self.seen.get(self.past..).unwrap_or_default();
            if let Some(place) = new.windows(text.len()).position(|window| window == text.as_bytes()) {
                self.past += place + text.len();
                return Ok(());
            }
            match self.heard.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.seen.extend(bytes),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Err(miette!(
                        "{text:?} was not seen within {} s\n{}",
                        most.as_secs(),
                        self.shown()
                    ));
                }
            }
        }
    }

    /// The command ends with a status, and gives the terminal back as it was.
    pub(super) fn end(mut self, status: i32) -> Result<()> {
        let ended = self.wait_for_end()?;
        ensure!(
            ended.code() == Some(status),
            "the command ended with {ended}, not with {status}\n{}",
            self.shown()
        );
        let now = tcgetattr(self.terminal.as_fd()).into_diagnostic()?;
        let usual = rustix::termios::LocalModes::ICANON | rustix::termios::LocalModes::ECHO;
        ensure!(now.local_modes.contains(usual), "the terminal was left raw");
        Ok(())
    }

    fn wait_for_end(&mut self) -> Result<ExitStatus> {
        let deadline = Instant::now() + ANSWER;
        while Instant::now() < deadline {
            if let Some(status) = self.process.try_wait().into_diagnostic()? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(miette!("the command did not end\n{}", self.shown()))
    }

    fn shown(&self) -> String {
        last_lines(&String::from_utf8_lossy(&self.seen), SHOWN)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The emulator is in the command's group. All of it fails only for processes that are gone already.
        if let Some(group) = self.pid() {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.process.wait();
    }
}
