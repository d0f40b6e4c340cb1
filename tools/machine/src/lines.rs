//! Owns the four serial lines: sockets in a private folder, 8-bit clean, each read by a thread of its own.
//!
//! We listen and QEMU connects, so no line's first byte is lost and no port can be taken. A machine that is counted has
//! files instead: QEMU tries again later to write to a socket that is full (to an unread one after 278 bytes), and what it
//! tells the guest then would come at another instruction in each run.

use std::io::{ErrorKind, Read};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;

use crate::input::Ways;

/// A serial line, by what it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// The kernel's and the servers' log.
    Log,
    /// The program's standard input and output.
    Output,
    /// The program's standard error.
    Errors,
    /// Records, see [`abi::control`].
    Control,
}

impl Line {
    /// Every line, in the machine's order.
    pub(crate) const ALL: [Self; 4] = [Self::Log, Self::Output, Self::Errors, Self::Control];

    /// Returns the line's name, a word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Output => "output",
            Self::Errors => "errors",
            Self::Control => "control",
        }
    }

    /// Returns the line's socket or file in a folder.
    pub(crate) fn place(self, folder: &Path) -> PathBuf {
        folder.join(self.name())
    }
}

/// What was heard.
#[derive(Debug)]
pub(crate) enum Heard {
    /// Bytes on a line.
    Bytes(Line, Vec<u8>),
    /// A line was closed: the emulator ended.
    Closed,
    /// The guest's input could not be read on.
    InputFailed(std::io::Error),
    /// The run is to end: somebody has enough of it.
    GivenUp,
}

/// The sockets that the emulator connects to.
#[derive(Debug)]
pub(crate) struct Listeners {
    waiting: Vec<(Line, UnixListener)>,
    /// The other direction of the lines that have one.
    input: Option<UnixStream>,
    control: Option<UnixStream>,
}

impl Listeners {
    /// Makes the sockets in a folder that nobody else can enter.
    pub(crate) fn open(folder: &Path) -> std::io::Result<Self> {
        let open = |line: Line| {
            let listener = UnixListener::bind(line.place(folder))?;
            listener.set_nonblocking(true)?;
            Ok((line, listener))
        };
        let waiting = Line::ALL.into_iter().map(open).collect::<std::io::Result<_>>()?;
        Ok(Self { waiting, input: None, control: None })
    }

    /// Takes the connections that are there, and starts to read them; what remains is still to come.
    pub(crate) fn accept(&mut self, heard: &SyncSender<Heard>) -> std::io::Result<()> {
        let mut waiting = Vec::new();
        for (line, listener) in self.waiting.drain(..) {
            match listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(false)?;
                    match line {
                        Line::Output => self.input = Some(stream.try_clone()?),
                        Line::Control => self.control = Some(stream.try_clone()?),
                        Line::Log | Line::Errors => {}
                    }
                    let heard = heard.clone();
                    std::thread::spawn(move || read(line, stream, &heard));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => waiting.push((line, listener)),
                Err(error) => return Err(error),
            }
        }
        self.waiting = waiting;
        Ok(())
    }

    /// Returns whether every line is connected.
    pub(crate) fn complete(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns the way to the guest, once every line is connected.
    pub(crate) fn ways(&mut self) -> Option<Ways> {
        Some(Ways { input: self.input.take()?, control: self.control.take()? })
    }
}

fn read(line: Line, mut stream: UnixStream, heard: &SyncSender<Heard>) {
    let mut buffer = [0_u8; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => {
                let bytes = buffer.get(..length).unwrap_or_default().to_vec();
                if heard.send(Heard::Bytes(line, bytes)).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    // Nobody listens any more when the run was given up.
    let _ = heard.send(Heard::Closed);
}
