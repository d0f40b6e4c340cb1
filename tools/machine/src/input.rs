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

/// The way to the guest.
#[derive(Debug)]
pub(crate) struct Ways {
    pub(crate) input: UnixStream,
    pub(crate) control: UnixStream,
}

/// Starts to pass a source on as soon as the answer is told that the guest is ready; dropping it instead ends that.
///
/// The thread may outlive the run, while it waits for its source.
pub(crate) fn pass_on(source: Source, ways: Ways, heard: SyncSender<Heard>) -> Sender<()> {
    let (ready, wait): (_, Receiver<()>) = channel();
    std::thread::spawn(move || {
        if wait.recv().is_err() {
            return;
        }
        match send(source, ways) {
            Ok(()) => {}
            // The other side is gone when nobody listens any more.
            Err(error) => drop(heard.send(Heard::InputFailed(error))),
        }
    });
    ready
}

/// Sends everything; only the source's errors count, since a guest may end before it has read all.
fn send(mut source: Source, mut ways: Ways) -> std::io::Result<()> {
    let mut buffer = [0_u8; 4096];
    let mut sent = 0_u64;
    let end = loop {
        match source.read(&mut buffer) {
            Ok(0) => break Ok(()),
            Ok(length) => {
                if ways.input.write_all(buffer.get(..length).unwrap_or_default()).is_err() {
                    return Ok(());
                }
                sent += u64::try_from(length).unwrap_or(0);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => break Err(error),
        }
    };
    let request = format!("{}\n", Request::InputEnds { after: sent });
    let _ = ways.control.write_all(request.as_bytes());
    end
}
