//! pread64, pwrite64, preadv, pwritev, preadv2, pwritev2: at an offset of their own.

use super::descriptor::{OpenId, OpenKind, flags};
use super::pieces::{Pieces, Put, Source};
use super::transfer;
use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::server::Server;

/// pread64(2).
pub fn pread64<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [fd, buffer, bytes, offset, ..] = arguments.words();
    let offset = checked(offset)?;
    let open = readable(server, fd)?;
    read_at(server, open, offset, &Pieces::one(buffer, bytes)?)
}

/// pwrite64(2).
pub fn pwrite64<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [fd, buffer, bytes, offset, ..] = arguments.words();
    let offset = checked(offset)?;
    let open = writable(server, fd)?;
    write_at(server, open, offset, &Source::user(&Pieces::one(buffer, bytes)?))
}

/// preadv(2).
pub fn preadv<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [fd, pieces, count, offset, ..] = arguments.words();
    let offset = checked(offset)?;
    let open = readable(server, fd)?;
    let pieces = Pieces::vector(server, pieces, count)?;
    read_at(server, open, offset, &pieces)
}

/// pwritev(2).
pub fn pwritev<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [fd, pieces, count, offset, ..] = arguments.words();
    let offset = checked(offset)?;
    let open = writable(server, fd)?;
    let pieces = Pieces::vector(server, pieces, count)?;
    write_at(server, open, offset, &Source::user(&pieces))
}

/// The open file of a descriptor that has places and may be read. What has none says so before anything else.
fn readable<H: Host>(server: &Server<H>, fd: u64) -> Result<OpenId, Errno> {
    has_places(server, fd)?;
    transfer::readable(server, fd)
}

/// The same of one that may be written.
fn writable<H: Host>(server: &Server<H>, fd: u64) -> Result<OpenId, Errno> {
    has_places(server, fd)?;
    transfer::writable(server, fd)
}

fn has_places<H: Host>(server: &Server<H>, fd: u64) -> Result<(), Errno> {
    let open = server.descriptor(fd)?.open;
    match server.files.open.get(open).ok_or(Errno::EBADF)?.kind {
        OpenKind::Node(_) | OpenKind::Proc(_) | OpenKind::Device(..) => Ok(()),
        _ => Err(Errno::ESPIPE),
    }
}

fn checked(offset: u64) -> Result<u64, Errno> {
    if offset.cast_signed() < 0 { Err(Errno::EINVAL) } else { Ok(offset) }
}

/// Reads an open file from an offset that is not its own.
pub(super) fn read_at<H: Host>(
    server: &mut Server<H>,
    open: OpenId,
    offset: u64,
    pieces: &Pieces,
) -> Result<u64, Errno> {
    match server.files.open.get(open).ok_or(Errno::EBADF)?.kind {
        OpenKind::Node(node) => server.read_file(node, offset, pieces),
        OpenKind::Proc(entry) => server.read_proc(entry, offset, pieces),
        OpenKind::Device(device, _) => server.read_device(device, pieces)?.ok_or(Errno::EAGAIN),
        _ => Err(Errno::ESPIPE),
    }
}

/// Writes an open file at an offset that is not its own; to its end all the same if it only ever grows.
pub(super) fn write_at<H: Host>(
    server: &mut Server<H>,
    open: OpenId,
    offset: u64,
    source: &Source<'_>,
) -> Result<u64, Errno> {
    let file = *server.files.open.get(open).ok_or(Errno::EBADF)?;
    match file.kind {
        OpenKind::Node(node) => {
            let appends = file.flags & flags::APPEND != 0;
            let offset = if appends { server.data_size(server.file_data(node)?) } else { offset };
            server.write_file(node, offset, source)
        }
        OpenKind::Device(device, _) => match server.write_device(device, source)? {
            Put::Done(done) => Ok(done),
            Put::Full(0) => Err(Errno::EAGAIN),
            Put::Full(done) => Ok(done),
        },
        OpenKind::Proc(entry) => server.write_proc(entry, source),
        _ => Err(Errno::ESPIPE),
    }
}
