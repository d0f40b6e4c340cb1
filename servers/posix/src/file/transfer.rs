//! read and write and their kin, lseek.
//!
//! A call is answered at once if everything can be moved now; else it waits, and its `async fn` moves all of
//! it from the start. What is moved before an error is the result, as Linux has it.

use super::descriptor::{OpenFile, OpenKind, flags};
use super::pieces::{Pieces, so_far};
use super::stream::{Written, read_input, write_piece};
use super::tree::Content;
use crate::Errno;
use crate::dispatch::{Arguments, Flow};
use crate::executor::cx::Cx;
use crate::host::Host;
use crate::number::{low_u32, to_usize};
use crate::server::Server;

/// read(2).
pub fn read<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let file = readable(server, arguments.word(0))?;
    let pieces = Pieces::one(arguments.word(1), arguments.word(2))?;
    read_now(server, arguments.word(0), file, &pieces)
}

/// read(2) of what is not there yet.
pub async fn read_waiting<H: Host>(cx: &Cx<H>, arguments: Arguments) -> Result<u64, Errno> {
    let pieces = Pieces::one(arguments.word(1), arguments.word(2))?;
    read_later(cx, pieces).await
}

/// readv(2).
pub fn readv<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let file = readable(server, arguments.word(0))?;
    let pieces = Pieces::vector(server, arguments.word(1), arguments.word(2))?;
    read_now(server, arguments.word(0), file, &pieces)
}

/// readv(2) of what is not there yet.
pub async fn readv_waiting<H: Host>(cx: &Cx<H>, arguments: Arguments) -> Result<u64, Errno> {
    let pieces = cx.attempt(|server| Pieces::vector(server, arguments.word(1), arguments.word(2)))?;
    read_later(cx, pieces).await
}

/// pread64(2).
pub fn pread64<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [fd, buffer, bytes, offset, ..] = arguments.words();
    if offset.cast_signed() < 0 {
        return Err(Errno::EINVAL);
    }
    let file = readable(server, fd)?;
    let OpenKind::Node(_) = file.kind else { return Err(Errno::ESPIPE) };
    read_node(server, file.kind, offset, &Pieces::one(buffer, bytes)?)
}

/// write(2).
pub fn write<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let file = writable(server, arguments.word(0))?;
    write_now(server, file, &Pieces::one(arguments.word(1), arguments.word(2))?)
}

/// write(2) of more than there is room for.
pub async fn write_waiting<H: Host>(cx: &Cx<H>, arguments: Arguments) -> Result<u64, Errno> {
    let pieces = Pieces::one(arguments.word(1), arguments.word(2))?;
    write_later(cx, arguments, pieces).await
}

/// writev(2).
pub fn writev<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let file = writable(server, arguments.word(0))?;
    let pieces = Pieces::vector(server, arguments.word(1), arguments.word(2))?;
    write_now(server, file, &pieces)
}

/// writev(2) of more than there is room for.
pub async fn writev_waiting<H: Host>(cx: &Cx<H>, arguments: Arguments) -> Result<u64, Errno> {
    let pieces = cx.attempt(|server| Pieces::vector(server, arguments.word(1), arguments.word(2)))?;
    write_later(cx, arguments, pieces).await
}

/// lseek(2).
pub fn lseek<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [fd, offset, whence, ..] = arguments.words();
    let file = *server.open_file(fd)?;
    if file.flags & flags::PATH != 0 {
        return Err(Errno::EBADF);
    }
    let OpenKind::Node(node) = file.kind else { return Err(Errno::ESPIPE) };
    let size = server.files.tree.size(node).cast_signed();
    let offset = offset.cast_signed();
    let inside = (0..size).contains(&offset);
    let target = match low_u32(whence) {
        0 => offset,
        1 => file.offset.cast_signed().checked_add(offset).ok_or(Errno::EINVAL)?,
        2 => size.checked_add(offset).ok_or(Errno::EINVAL)?,
        // No file has holes: data is where one asks, the hole at the end.
        3 if inside => offset,
        4 if inside => size,
        3 | 4 => return Err(Errno::ENXIO),
        _ => return Err(Errno::EINVAL),
    };
    let target = u64::try_from(target).map_err(|_| Errno::EINVAL)?;
    server.open_file_mut(fd)?.offset = target;
    Ok(target)
}

fn readable<H: Host>(server: &Server<H>, fd: u64) -> Result<OpenFile, Errno> {
    server
        .open_file(fd)
        .copied()
        .and_then(|file| if file.is_readable() { Ok(file) } else { Err(Errno::EBADF) })
}

fn writable<H: Host>(server: &Server<H>, fd: u64) -> Result<OpenFile, Errno> {
    server
        .open_file(fd)
        .copied()
        .and_then(|file| if file.is_writable() { Ok(file) } else { Err(Errno::EBADF) })
}

fn read_now<H: Host>(
    server: &mut Server<H>,
    fd: u64,
    file: OpenFile,
    pieces: &Pieces,
) -> Result<Flow, Errno> {
    match file.kind {
        OpenKind::Node(_) => {
            let done = read_node(server, file.kind, file.offset, pieces)?;
            server.open_file_mut(fd)?.offset = file.offset + done;
            Ok(Flow::Done(done))
        }
        OpenKind::Input => match read_input(server, pieces)? {
            Some(done) => Ok(Flow::Done(done)),
            None if file.flags & flags::NONBLOCK != 0 => Err(Errno::EAGAIN),
            None => Ok(Flow::Wait),
        },
        OpenKind::Output(_) => Err(Errno::EBADF),
    }
}

async fn read_later<H: Host>(cx: &Cx<H>, pieces: Pieces) -> Result<u64, Errno> {
    loop {
        // The file may have been closed or replaced while the thread slept: Linux reads the one it began with,
        // which is standard input, the only one that waits.
        let queue = match cx.with(|server| (read_input(server, &pieces), server.files.input_ready))? {
            (Ok(None), queue) => queue,
            (Ok(Some(done)), _) => return Ok(done),
            (Err(error), _) => return Err(error),
        };
        cx.wait(Some(queue), None).await?;
    }
}

fn write_now<H: Host>(server: &mut Server<H>, file: OpenFile, pieces: &Pieces) -> Result<Flow, Errno> {
    let stream = match file.kind {
        OpenKind::Output(stream) => stream,
        OpenKind::Input => return Err(Errno::EBADF),
        OpenKind::Node(_) => return Err(Errno::EROFS),
    };
    let room = server.host.stream_room(stream) as u64;
    if pieces.bytes > room && file.flags & flags::NONBLOCK == 0 {
        return Ok(Flow::Wait);
    }
    if room == 0 && pieces.bytes != 0 {
        return Err(Errno::EAGAIN);
    }
    let mut done = 0;
    for piece in pieces.iter() {
        match write_piece(server, stream, piece)? {
            Written::All => done += piece.bytes(),
            Written::Full(bytes) => return Ok(Flow::Done(done + bytes)),
            Written::Fault(bytes) => return so_far(done + bytes).map(Flow::Done),
        }
    }
    Ok(Flow::Done(done))
}

async fn write_later<H: Host>(cx: &Cx<H>, arguments: Arguments, pieces: Pieces) -> Result<u64, Errno> {
    let OpenKind::Output(stream) = cx.attempt(|server| writable(server, arguments.word(0)))?.kind else {
        return Err(Errno::EBADF);
    };
    let mut done = 0;
    for mut piece in pieces.iter() {
        loop {
            match cx.attempt(|server| write_piece(server, stream, piece))? {
                Written::All => break,
                Written::Fault(bytes) => return so_far(done + bytes),
                Written::Full(bytes) => {
                    done += bytes;
                    piece = piece.after(bytes);
                }
            }
            let queue = cx.with(|server| server.files.output_ready)?;
            if let Err(error) = cx.wait(Some(queue), None).await {
                return if done == 0 { Err(error) } else { Ok(done) };
            }
        }
        done += piece.bytes();
    }
    Ok(done)
}
/// Reads a node of the tree at an offset.
fn read_node<H: Host>(
    server: &mut Server<H>,
    kind: OpenKind,
    offset: u64,
    pieces: &Pieces,
) -> Result<u64, Errno> {
    let OpenKind::Node(node) = kind else { return Err(Errno::EINVAL) };
    let bytes = match server.files.tree.get(node).map(|node| &node.content) {
        Some(Content::File(bytes, _)) => *bytes,
        Some(Content::Directory(_)) => return Err(Errno::EISDIR),
        _ => return Err(Errno::EINVAL),
    };
    let mut rest = bytes.get(to_usize(offset)..).unwrap_or_default();
    let mut done = 0;
    let mut view = server.view()?;
    for piece in pieces.iter() {
        let part = rest.get(..to_usize(piece.bytes())).unwrap_or(rest);
        if let Err(short) = view.write_bytes(part, piece) {
            return so_far(done + short.done as u64);
        }
        done += part.len() as u64;
        rest = rest.get(part.len()..).unwrap_or_default();
    }
    Ok(done)
}
