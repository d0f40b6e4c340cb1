//! Owns passing input on to the guest: bytes on the line that is for them, and where they end on the control line.
//!
//! Nothing is sent before the guest says that it reads. A guest that reads slowly makes the writer wait, and so the
//! source: nothing is gathered here.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};

use abi::control::Request;

use crate::lines::Heard;

/// Where a program's standard input comes from.
pub type Source = Box<dyn Read + Send>;

/// Somebody who sits at the guest's terminal.
pub trait Keyboard: Send {
    /// The guest reads from now on; `ender` ends the run from elsewhere.
    ///
    /// # Errors
    /// The terminal cannot be used; for the guest the input has ended.
    fn begin(&mut self, ender: Ender) -> std::io::Result<()>;

    /// Waits for what happens next; at most a buffer's length is typed at once.
    ///
    /// # Errors
    /// The terminal cannot be read on; for the guest the input has ended.
    fn next(&mut self, buffer: &mut [u8]) -> std::io::Result<Happened>;
}

/// What somebody did who sits at a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// So many bytes were typed, and lie in the buffer.
    Typed(usize),
    /// The window has this size now.
    Window {
        /// Lines of text.
        rows: u16,
        /// Characters in a line.
        columns: u16,
    },
    /// The terminal is gone.
    Gone,
    /// The run is to be given up.
    GiveUp,
}

/// Ends a run from elsewhere.
#[derive(Clone, Debug)]
pub struct Ender(SyncSender<Heard>);

impl Ender {
    /// The run is given up.
    pub fn end(&self) {
        // A run that is over needs no end.
        let _ = self.0.send(Heard::GivenUp);
    }
}

/// A source that nobody sits at.
pub(crate) struct Plain(pub(crate) Source);

impl Keyboard for Plain {
    fn begin(&mut self, _: Ender) -> std::io::Result<()> {
        Ok(())
    }

    fn next(&mut self, buffer: &mut [u8]) -> std::io::Result<Happened> {
        Ok(match self.0.read(buffer)? {
            0 => Happened::Gone,
            length => Happened::Typed(length),
        })
    }
}

/// The way to the guest.
#[derive(Debug)]
pub(crate) struct Ways {
    pub(crate) input: UnixStream,
    pub(crate) control: UnixStream,
}

/// Starts to pass input on as soon as the answer is told that the guest is ready; dropping it instead ends that.
///
/// The thread may outlive the run, while it waits for somebody to type.
pub(crate) fn pass_on(
    mut keyboard: Box<dyn Keyboard>,
    mut ways: Ways,
    heard: SyncSender<Heard>,
) -> Sender<()> {
    let (ready, wait): (_, Receiver<()>) = channel();
    std::thread::spawn(move || {
        if wait.recv().is_err() {
            return;
        }
        let mut sent = 0;
        let begun = keyboard.begin(Ender(heard.clone()));
        let end = begun.and_then(|()| send(keyboard.as_mut(), &mut ways, &mut sent));
        let news = match end {
            Ok(End::GivenUp) => Some(Heard::GivenUp),
            Ok(End::Input) => None,
            Err(error) => Some(Heard::InputFailed(error)),
        };
        let request = format!("{}\n", Request::InputEnds { after: sent });
        // The other side is gone when the guest has ended.
        let _ = ways.control.write_all(request.as_bytes());
        if let Some(news) = news {
            // Nobody listens any more when the run is over.
            let _ = heard.send(news);
        }
    });
    ready
}

/// Why nothing more is passed on.
enum End {
    /// There is nothing more, or the guest has ended before it has read all.
    Input,
    /// The run is to end.
    GivenUp,
}

/// Sends everything; only the keyboard's errors count, since a guest may end before it has read all.
fn send(keyboard: &mut dyn Keyboard, ways: &mut Ways, sent: &mut u64) -> std::io::Result<End> {
    let mut buffer = [0_u8; 4096];
    loop {
        let written = match keyboard.next(&mut buffer) {
            Ok(Happened::Typed(length)) => {
                *sent += u64::try_from(length).unwrap_or(0);
                ways.input.write_all(buffer.get(..length).unwrap_or_default())
            }
            Ok(Happened::Window { rows, columns }) => {
                ways.control.write_all(format!("{}\n", Request::Window { rows, columns }).as_bytes())
            }
            Ok(Happened::Gone) => return Ok(End::Input),
            Ok(Happened::GiveUp) => return Ok(End::GivenUp),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => return Err(error),
        };
        if written.is_err() {
            return Ok(End::Input);
        }
    }
}
