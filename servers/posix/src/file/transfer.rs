//! read and write and their kin.
//!
//! A call is answered at once if something can be moved now; else it waits, and its `async fn` begins again.
//! What is moved before an error is the result, as Linux has it.

use super::descriptor::{OpenId, OpenKind, flags};
use super::pieces::{Pieces, Put, Source};
use super::pipe::Short;
use super::stream::{read_input, write_stream};
use crate::Errno;
use crate::dispatch::{Arguments, Flow};
use crate::executor::cx::Cx;
use crate::executor::wait::QueueId;
use crate::host::Host;
use crate::server::Server;
use crate::terminal::transfer::Patience;
use crate::user::UserSlice;

/// The number of read(2), which a parked one is known by.
const READ: u64 = 63;

/// What a call could do at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moved {
    /// So many bytes, and that is the result.
    Bytes(u64),
    /// Nothing, or less than all: the call waits in this queue for more.
    Blocked(u64, QueueId),
}

/// read(2).
pub fn read<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let open = readable(server, arguments.word(0))?;
    if let Some(file) = server.files.open.get(open)
        && let OpenKind::Pipe(pipe, _) = file.kind
        && let Ok(to) = UserSlice::new(arguments.word(1), arguments.word(2))
    {
        let waits = !file.is_nonblocking();
        match server.read_pipe_shortly(pipe, to) {
            Short::Done(done) => return Ok(flow(server, done)),
            Short::Waits(queue) if waits => return server.park_read(open, queue, READ, arguments),
            Short::Waits(_) | Short::General => {}
        }
    }
    read_generally(server, open, arguments)
}

/// A parked read(2) once more; `None` when there is still nothing.
pub(crate) fn read_parked<H: Host>(
    server: &mut Server<H>,
    open: OpenId,
    arguments: Arguments,
) -> Result<Option<u64>, Errno> {
    let to = UserSlice::new(arguments.word(1), arguments.word(2))?;
    if let Some(file) = server.files.open.get(open)
        && let OpenKind::Pipe(pipe, _) = file.kind
        && let Short::Done(done) = server.read_pipe_shortly(pipe, to)
    {
        return Ok(Some(done));
    }
    let pieces = Pieces::one(arguments.word(1), arguments.word(2))?;
    match read_now(server, open, &pieces)? {
        Moved::Bytes(done) => Ok(Some(done)),
        Moved::Blocked(..) => Ok(None),
    }
}

/// Where one waits for something to read from a pipe.
pub(crate) fn read_queue<H: Host>(server: &Server<H>, open: OpenId) -> Option<QueueId> {
    match server.files.open.get(open)?.kind {
        OpenKind::Pipe(pipe, _) => server.files.pipes.get(pipe).map(|pipe| pipe.readable),
        _ => None,
    }
}

/// What is not on the short way; it has a stack frame of its own.
#[inline(never)]
fn read_generally<H: Host>(
    server: &mut Server<H>,
    open: OpenId,
    arguments: Arguments,
) -> Result<Flow, Errno> {
    let pieces = Pieces::one(arguments.word(1), arguments.word(2))?;
    match read_now(server, open, &pieces)? {
        Moved::Bytes(done) => Ok(flow(server, done)),
        Moved::Blocked(..) => match read_queue(server, open) {
            Some(queue) => server.park_read(open, queue, READ, arguments),
            None => Ok(Flow::Wait),
        },
    }
}

/// read(2) of what is not there yet.
pub async fn read_waiting<H: Host>(cx: &Cx<H>, arguments: Arguments) -> Result<u64, Errno> {
    let pieces = Pieces::one(arguments.word(1), arguments.word(2))?;
    read_later(cx, arguments.word(0), pieces).await
}

/// readv(2).
pub fn readv<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let open = readable(server, arguments.word(0))?;
    let pieces = Pieces::vector(server, arguments.word(1), arguments.word(2))?;
    read_at_once(server, open, &pieces)
}

/// readv(2) of what is not there yet.
pub async fn readv_waiting<H: Host>(cx: &Cx<H>, arguments: Arguments) -> Result<u64, Errno> {
    let pieces = cx.attempt(|server| Pieces::vector(server, arguments.word(1), arguments.word(2)))?;
    read_later(cx, arguments.word(0), pieces).await
}

/// write(2).
pub fn write<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let open = writable(server, arguments.word(0))?;
    if let Some(file) = server.files.open.get(open)
        && let OpenKind::Pipe(pipe, _) = file.kind
        && file.flags & flags::DIRECT == 0
        && let Ok(from) = UserSlice::new(arguments.word(1), arguments.word(2))
        && let Some(done) = server.write_pipe_shortly(pipe, from)
    {
        return Ok(flow(server, done));
    }
    write_generally(server, open, arguments)
}

/// As [`read_generally`].
#[inline(never)]
fn write_generally<H: Host>(
    server: &mut Server<H>,
    open: OpenId,
    arguments: Arguments,
) -> Result<Flow, Errno> {
    write_at_once(server, open, &Pieces::one(arguments.word(1), arguments.word(2))?)
}

/// write(2) of more than there is room for.
pub async fn write_waiting<H: Host>(cx: &Cx<H>, arguments: Arguments) -> Result<u64, Errno> {
    let pieces = Pieces::one(arguments.word(1), arguments.word(2))?;
    write_later(cx, arguments.word(0), pieces).await
}

/// writev(2).
pub fn writev<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let open = writable(server, arguments.word(0))?;
    let pieces = Pieces::vector(server, arguments.word(1), arguments.word(2))?;
    write_at_once(server, open, &pieces)
}

/// writev(2) of more than there is room for.
pub async fn writev_waiting<H: Host>(cx: &Cx<H>, arguments: Arguments) -> Result<u64, Errno> {
    let pieces = cx.attempt(|server| Pieces::vector(server, arguments.word(1), arguments.word(2)))?;
    write_later(cx, arguments.word(0), pieces).await
}

/// The open file of a descriptor that may be read.
#[inline]
pub(super) fn readable<H: Host>(server: &Server<H>, fd: u64) -> Result<OpenId, Errno> {
    let open = server.descriptor(fd)?.open;
    match server.files.open.get(open) {
        Some(file) if file.is_readable() => Ok(open),
        _ => Err(Errno::EBADF),
    }
}

/// The open file of a descriptor that may be written.
#[inline]
pub(super) fn writable<H: Host>(server: &Server<H>, fd: u64) -> Result<OpenId, Errno> {
    let open = server.descriptor(fd)?.open;
    match server.files.open.get(open) {
        Some(file) if file.is_writable() => Ok(open),
        _ => Err(Errno::EBADF),
    }
}

#[inline]
fn read_at_once<H: Host>(server: &mut Server<H>, open: OpenId, pieces: &Pieces) -> Result<Flow, Errno> {
    match read_now(server, open, pieces)? {
        Moved::Bytes(done) => Ok(flow(server, done)),
        Moved::Blocked(..) => Ok(Flow::Wait),
    }
}

#[inline]
fn write_at_once<H: Host>(server: &mut Server<H>, open: OpenId, pieces: &Pieces) -> Result<Flow, Errno> {
    if !fits(server, open, pieces.bytes) {
        return Ok(Flow::Wait);
    }
    match write_now(server, open, &Source::user(pieces))? {
        Moved::Bytes(done) => Ok(flow(server, done)),
        Moved::Blocked(done, _) => {
            // The waiting call begins from the start: it is told what has been written by then.
            server.thread_mut()?.written = done;
            Ok(Flow::Wait)
        }
    }
}

/// Whether a write that may wait need not; a stream's tells afterwards.
#[inline]
fn fits<H: Host>(server: &Server<H>, open: OpenId, bytes: u64) -> bool {
    let Some(file) = server.files.open.get(open) else { return true };
    if let OpenKind::Terminal(handle, _) = file.kind
        && server.is_background(handle)
    {
        // Only the waiting call can be begun again after the signal that this may cost.
        return false;
    }
    if file.is_nonblocking() {
        return true;
    }
    match file.kind {
        OpenKind::Pipe(pipe, _) => {
            server.files.pipes.get(pipe).is_none_or(|pipe| pipe.readers == 0 || pipe.certain_room() >= bytes)
        }
        OpenKind::Terminal(handle, _) => server.terminal_fits(handle, bytes),
        _ => true,
    }
}

/// A result, and whether somebody else became ready by it.
#[inline]
pub(super) fn flow<H: Host>(server: &Server<H>, done: u64) -> Flow {
    if server.ready.is_empty() || server.has_tick() { Flow::Done(done) } else { Flow::Woke(done) }
}

/// Reads what is there now.
#[inline]
pub(super) fn read_now<H: Host>(
    server: &mut Server<H>,
    open: OpenId,
    pieces: &Pieces,
) -> Result<Moved, Errno> {
    let file = *server.files.open.get(open).ok_or(Errno::EBADF)?;
    let (read, queue) = match file.kind {
        OpenKind::Node(node) => {
            let done = server.read_file(node, file.offset, pieces)?;
            move_offset(server, open, file.offset + done);
            return Ok(Moved::Bytes(done));
        }
        OpenKind::Pipe(pipe, _) => {
            let queue = server.files.pipes.get(pipe).ok_or(Errno::EBADF)?.readable;
            (server.read_pipe(pipe, pieces)?, queue)
        }
        OpenKind::Device(device, _) => (server.read_device(device, pieces)?, server.files.input_ready),
        OpenKind::Input => (read_input(server, pieces)?, server.files.input_ready),
        OpenKind::Event(event) => {
            let queue = server.files.events.get(event).ok_or(Errno::EBADF)?.readable;
            (server.read_event(event, pieces)?, queue)
        }
        OpenKind::Proc(entry) => {
            let done = server.read_proc(entry, file.offset, pieces)?;
            move_offset(server, open, file.offset + done);
            return Ok(Moved::Bytes(done));
        }
        OpenKind::Signals(wanted) => (server.read_signals(wanted, pieces)?, server.files.signal_arrived),
        OpenKind::Terminal(handle, _) => {
            let patience = if file.is_nonblocking() { Patience::Takes } else { Patience::Waits };
            let queue = server.terminal_queue(handle).ok_or(Errno::EIO)?;
            if server.is_background(handle) {
                // Only the waiting call can be begun again after the signal that this may cost.
                return Ok(Moved::Blocked(0, queue));
            }
            (server.read_terminal(handle, pieces, patience)?, queue)
        }
        OpenKind::Output(_) => return Err(Errno::EBADF),
    };
    match read {
        Some(done) => Ok(Moved::Bytes(done)),
        None if file.is_nonblocking() => Err(Errno::EAGAIN),
        None => Ok(Moved::Blocked(0, queue)),
    }
}

/// Writes what there is room for now.
#[inline]
pub(super) fn write_now<H: Host>(
    server: &mut Server<H>,
    open: OpenId,
    source: &Source<'_>,
) -> Result<Moved, Errno> {
    let file = *server.files.open.get(open).ok_or(Errno::EBADF)?;
    let (put, queue) = match file.kind {
        OpenKind::Node(node) => {
            let offset = if file.flags & flags::APPEND != 0 {
                server.data_size(server.file_data(node)?)
            } else {
                file.offset
            };
            let done = server.write_file(node, offset, source)?;
            move_offset(server, open, offset + done);
            return Ok(Moved::Bytes(done));
        }
        OpenKind::Pipe(pipe, _) => {
            let queue = server.files.pipes.get(pipe).ok_or(Errno::EBADF)?.writable;
            (server.write_pipe(pipe, &file, source)?, queue)
        }
        OpenKind::Output(stream) => (write_stream(server, stream, source)?, server.files.output_ready),
        OpenKind::Device(device, _) => (server.write_device(device, source)?, server.files.output_ready),
        OpenKind::Event(event) => {
            let queue = server.files.events.get(event).ok_or(Errno::EBADF)?.writable;
            (server.write_event(event, source)?.map_or(Put::Full(0), Put::Done), queue)
        }
        OpenKind::Terminal(handle, _) => {
            let queue = server.terminal_queue(handle).ok_or(Errno::EIO)?;
            (server.write_terminal(handle, source)?, queue)
        }
        OpenKind::Proc(entry) => return server.write_proc(entry, source).map(Moved::Bytes),
        OpenKind::Input => return Err(Errno::EBADF),
        OpenKind::Signals(_) => return Err(Errno::EINVAL),
    };
    match put {
        Put::Done(done) => Ok(Moved::Bytes(done)),
        Put::Full(done) if !file.is_nonblocking() => Ok(Moved::Blocked(done, queue)),
        Put::Full(0) => Err(Errno::EAGAIN),
        Put::Full(done) => Ok(Moved::Bytes(done)),
    }
}

#[inline]
fn move_offset<H: Host>(server: &mut Server<H>, open: OpenId, offset: u64) {
    if let Some(file) = server.files.open.get_mut(open) {
        file.offset = offset;
    }
}

/// An open file that stays open while a call waits on it, whatever becomes of its descriptors.
pub(super) struct Held<'a, H: Host> {
    cx: &'a Cx<H>,
    pub(super) open: OpenId,
}

impl<'a, H: Host> Held<'a, H> {
    pub(super) fn new(cx: &'a Cx<H>, open: OpenId) -> Result<Self, Errno> {
        cx.with(|server| server.hold_open(open))?;
        Ok(Self { cx, open })
    }
}

impl<H: Host> Drop for Held<'_, H> {
    fn drop(&mut self) {
        // A server that is being taken down has no files to close.
        let _ = self.cx.with(|server| server.release_open(self.open));
    }
}

async fn read_later<H: Host>(cx: &Cx<H>, fd: u64, pieces: Pieces) -> Result<u64, Errno> {
    let held = Held::new(cx, cx.attempt(|server| readable(server, fd))?)?;
    let kind = cx.attempt(|server| Ok(server.files.open.get(held.open).ok_or(Errno::EBADF)?.kind))?;
    if let OpenKind::Terminal(handle, _) = kind {
        return crate::terminal::transfer::read_later(cx, handle, &pieces).await;
    }
    loop {
        match cx.attempt(|server| read_now(server, held.open, &pieces))? {
            Moved::Bytes(done) => return Ok(done),
            Moved::Blocked(_, queue) => {
                cx.wait(Some(queue), None).await?;
            }
        }
    }
}

async fn write_later<H: Host>(cx: &Cx<H>, fd: u64, pieces: Pieces) -> Result<u64, Errno> {
    let mut done = cx.attempt(|server| Ok(core::mem::take(&mut server.thread_mut()?.written)))?;
    let held = match cx.attempt(|server| writable(server, fd)).and_then(|open| Held::new(cx, open)) {
        Ok(held) => held,
        Err(error) => return if done == 0 { Err(error) } else { Ok(done) },
    };
    loop {
        let source = Source::User { pieces: &pieces, done };
        let queue = match cx.attempt(|server| write_now(server, held.open, &source)) {
            Ok(Moved::Bytes(more)) => return Ok(done + more),
            Ok(Moved::Blocked(more, queue)) => {
                done += more;
                queue
            }
            Err(error) => return if done == 0 { Err(error) } else { Ok(done) },
        };
        if let Err(error) = cx.wait(Some(queue), None).await {
            return if done == 0 { Err(error) } else { Ok(done) };
        }
    }
}
