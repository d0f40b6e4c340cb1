//! FIFOs and pipe2: how the ends of a pipe are opened.

use super::descriptor::{OnExec, OpenFile, OpenKind, flags};
use super::node::Content;
use super::pipe::{End, PipeId};
use super::tree::NodeId;
use crate::Errno;
use crate::dispatch::Arguments;
use crate::executor::cx::Cx;
use crate::host::Host;
use crate::number::low_u32;
use crate::server::Server;
use crate::user::UserPtr;

/// pipe2(2).
pub fn pipe2<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let bits = low_u32(arguments.word(1));
    if bits & !(flags::CLOEXEC | flags::NONBLOCK | flags::DIRECT) != 0 {
        return Err(Errno::EINVAL);
    }
    let pipe = server.create_pipe(None)?;
    server.open_pipe(pipe, End::Read);
    server.open_pipe(pipe, End::Write);
    let kept = bits & (flags::NONBLOCK | flags::DIRECT);
    let read = OpenFile::new(OpenKind::Pipe(pipe, End::Read), kept & flags::NONBLOCK);
    let write = OpenFile::new(OpenKind::Pipe(pipe, End::Write), kept | flags::WRONLY);
    let read = match server.install(read, OnExec::of(bits)) {
        Ok(read) => read,
        Err(error) => {
            // The other end has no file yet that could close it.
            server.close_pipe(pipe, End::Write);
            return Err(error);
        }
    };
    let ends = server.install(write, OnExec::of(bits)).and_then(|write| {
        let numbers = [low_u32(read), low_u32(write)];
        let told = UserPtr::new(arguments.word(0)).and_then(|to| server.view()?.write(to, &numbers));
        told.inspect_err(|_| server.close_number(low_u32(write)))
    });
    ends.inspect_err(|_| server.close_number(low_u32(read)))?;
    Ok(0)
}

impl<H: Host> Server<H> {
    /// Closes a descriptor that the same call has made.
    fn close_number(&mut self, fd: u32) {
        if let Some(descriptor) = self.descriptors().ok().and_then(|table| table.take(fd)) {
            self.release_open(descriptor.open);
        }
    }

    /// Opens a FIFO; `None` when the call has to wait for the other end.
    pub(super) fn open_fifo(&mut self, id: NodeId, bits: u32) -> Result<Option<OpenKind>, Errno> {
        let end = end_of(bits);
        let pipe = match self.files.tree.get(id).map(|node| &node.content) {
            Some(Content::Fifo(pipe)) => *pipe,
            _ => return Err(Errno::ENXIO),
        };
        let partner = pipe.and_then(|pipe| self.files.pipes.get(pipe)).is_some_and(|pipe| match end {
            End::Read => pipe.writers != 0,
            End::Write => pipe.readers != 0,
            End::Both => true,
        });
        let waits = !partner && end != End::Both;
        if waits && bits & flags::NONBLOCK == 0 {
            return Ok(None);
        }
        if waits && end == End::Write {
            return Err(Errno::ENXIO);
        }
        let pipe = self.fifo_pipe(id)?;
        self.open_pipe(pipe, end);
        Ok(Some(OpenKind::Pipe(pipe, end)))
    }

    /// The pipe of a FIFO, made when it is opened first; it holds the node.
    fn fifo_pipe(&mut self, id: NodeId) -> Result<PipeId, Errno> {
        if let Some(Content::Fifo(Some(pipe))) = self.files.tree.get(id).map(|node| &node.content) {
            return Ok(*pipe);
        }
        let pipe = self.create_pipe(Some(id))?;
        if let Some(node) = self.files.tree.get_mut(id) {
            node.content = Content::Fifo(Some(pipe));
        }
        self.files.tree.hold(id);
        Ok(pipe)
    }
}

const fn end_of(bits: u32) -> End {
    match bits & flags::ACCESS {
        0 => End::Read,
        flags::WRONLY => End::Write,
        _ => End::Both,
    }
}

/// An end of a FIFO that is open and has no open file yet: closed again if the call ends before it has one.
struct Opened<'a, H: Host> {
    cx: &'a Cx<H>,
    pipe: PipeId,
    end: Option<End>,
}

impl<H: Host> Drop for Opened<'_, H> {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            // A server that is being taken down has no pipes to close.
            let _ = self.cx.with(|server| server.close_pipe(self.pipe, end));
        }
    }
}

/// Opens a FIFO and waits until somebody opens the other end.
pub(super) async fn wait_for_partner<H: Host>(cx: &Cx<H>, id: NodeId, bits: u32) -> Result<u64, Errno> {
    let end = end_of(bits);
    let mut opened = cx.attempt(|server| {
        let pipe = server.fifo_pipe(id)?;
        server.open_pipe(pipe, end);
        Ok(Opened { cx, pipe, end: Some(end) })
    })?;
    let pipe = opened.pipe;
    let count = |server: &Server<H>| match server.files.pipes.get(pipe) {
        Some(pipe) if end == End::Write => (pipe.reader_count, pipe.readers, pipe.writable),
        Some(pipe) => (pipe.writer_count, pipe.writers, pipe.readable),
        // It is open, so it is there.
        None => (u64::MAX, 1, server.files.input_ready),
    };
    let (before, ..) = cx.with(|server| count(server))?;
    loop {
        let (now, partners, queue) = cx.with(|server| count(server))?;
        // Somebody may have come and gone again: that counts.
        if now != before || partners != 0 {
            break;
        }
        cx.wait(Some(queue), None).await?;
    }
    opened.end = None;
    let kept = bits & !(flags::CREAT | flags::EXCL | flags::TRUNC | flags::NOCTTY | flags::CLOEXEC);
    cx.attempt(|server| server.install(OpenFile::new(OpenKind::Pipe(pipe, end), kept), OnExec::of(bits)))
}
