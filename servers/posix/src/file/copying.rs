//! sendfile and copy_file_range: from one open file to another, through a page of the server's memory.

use super::descriptor::{OpenFile, OpenId, OpenKind, flags, most_moved};
use super::pieces::Source;
use super::positioned::write_at;
use super::transfer::{Held, Moved, flow, readable, writable, write_now};
use crate::Errno;
use crate::address::PAGE_SIZE;
use crate::dispatch::{Arguments, Flow};
use crate::executor::cx::Cx;
use crate::executor::wait::QueueId;
use crate::host::Host;
use crate::number::to_u64;
use crate::server::Server;
use crate::user::UserPtr;

/// sendfile(2).
pub fn sendfile<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let mut job = Sending::of(server, arguments)?;
    // What the target has no room for waits, and waits from the start: nothing is sent until all fits.
    let whole = matches!(server.files.open.get(job.to).map(|file| file.kind), Some(OpenKind::Node(_)));
    if !whole {
        return Ok(Flow::Wait);
    }
    let (result, _) = send(server, &mut job);
    finish(server, &job)?;
    Ok(flow(server, result?))
}

/// sendfile(2) to what may have to be waited for.
pub async fn sendfile_waiting<H: Host>(cx: &Cx<H>, arguments: Arguments) -> Result<u64, Errno> {
    let mut job = cx.attempt(|server| Sending::of(server, arguments))?;
    let _from = Held::new(cx, job.from)?;
    let _to = Held::new(cx, job.to)?;
    loop {
        let (result, queue) = cx.with(|server| send(server, &mut job))?;
        let result = match queue {
            None => result,
            Some(queue) => match cx.wait(Some(queue), None).await {
                Ok(_) => continue,
                Err(error) if job.done == 0 => Err(error),
                Err(_) => Ok(job.done),
            },
        };
        cx.attempt(|server| finish(server, &job))?;
        return result;
    }
}

/// What is sent where.
#[derive(Clone, Copy, Debug)]
struct Sending {
    from: OpenId,
    to: OpenId,
    /// Where reading goes on.
    offset: u64,
    /// Where the program wants to be told where reading ended; else the file's own offset moves.
    told: Option<UserPtr<u64>>,
    /// Bytes still to send.
    left: u64,
    /// Bytes sent.
    done: u64,
}

impl Sending {
    fn of<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Self, Errno> {
        let [to, from, offset, bytes, ..] = arguments.words();
        let told = UserPtr::<u64>::optional(offset)?;
        let given = match told {
            Some(pointer) => Some(server.view()?.read(pointer)?),
            None => None,
        };
        let from = readable(server, from)?;
        let source = server.files.open.get(from).ok_or(Errno::EBADF)?;
        let positioned = matches!(source.kind, OpenKind::Node(_) | OpenKind::Device(..) | OpenKind::Proc(_));
        if given.is_some() && !positioned {
            return Err(Errno::ESPIPE);
        }
        let offset = given.unwrap_or(source.offset);
        if offset.cast_signed() < 0 {
            return Err(Errno::EINVAL);
        }
        let to = writable(server, to)?;
        let target = server.files.open.get(to).ok_or(Errno::EBADF)?;
        // Only what can be looked at like a file can be sent.
        if !positioned || target.flags & flags::APPEND != 0 {
            return Err(Errno::EINVAL);
        }
        Ok(Self { from, to, offset, told, left: to_u64(most_moved(bytes)), done: 0 })
    }
}

/// Sends as much as goes now; says in which queue to wait when that is not all.
fn send<H: Host>(server: &mut Server<H>, job: &mut Sending) -> (Result<u64, Errno>, Option<QueueId>) {
    let mut buffer = core::mem::take(&mut server.files.page);
    buffer.resize(PAGE_SIZE, 0);
    let outcome = send_through(server, job, &mut buffer);
    server.files.page = buffer;
    match outcome {
        Ok(queue) => (Ok(job.done), queue),
        Err(error) if job.done == 0 => (Err(error), None),
        Err(_) => (Ok(job.done), None),
    }
}

fn send_through<H: Host>(
    server: &mut Server<H>,
    job: &mut Sending,
    buffer: &mut [u8],
) -> Result<Option<QueueId>, Errno> {
    let from = *server.files.open.get(job.from).ok_or(Errno::EBADF)?;
    while job.left != 0 {
        let length = crate::number::to_usize(job.left).min(PAGE_SIZE);
        let Some(part) = buffer.get_mut(..length) else { break };
        let read = read_own(server, &from, job.offset, part)?;
        if read == 0 {
            break;
        }
        let source = Source::Own(part.get(..read).unwrap_or_default());
        let (written, queue) = match write_now(server, job.to, &source)? {
            Moved::Bytes(written) => (written, None),
            Moved::Blocked(written, queue) => (written, Some(queue)),
        };
        job.offset += written;
        job.done += written;
        job.left -= written;
        if queue.is_some() {
            return Ok(queue);
        }
        if written < to_u64(read) {
            break;
        }
    }
    Ok(None)
}

/// Tells where reading ended.
fn finish<H: Host>(server: &mut Server<H>, job: &Sending) -> Result<(), Errno> {
    match job.told {
        Some(pointer) => server.view()?.write(pointer, &job.offset),
        None => {
            if let Some(file) = server.files.open.get_mut(job.from) {
                file.offset = job.offset;
            }
            Ok(())
        }
    }
}

/// Reads an open file into the server's memory.
fn read_own<H: Host>(
    server: &mut Server<H>,
    file: &OpenFile,
    offset: u64,
    into: &mut [u8],
) -> Result<usize, Errno> {
    match file.kind {
        OpenKind::Node(node) => {
            server.note_read(node);
            server.read_file_own(node, offset, into)
        }
        OpenKind::Device(super::device::Device::Null, _) => Ok(0),
        OpenKind::Device(super::device::Device::Zero | super::device::Device::Full, _) => {
            into.fill(0);
            Ok(into.len())
        }
        OpenKind::Proc(entry) => server.read_proc_own(entry, offset, into),
        _ => Err(Errno::EINVAL),
    }
}

/// copy_file_range(2).
pub fn copy_file_range<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [from, from_offset, to, to_offset, bytes, bits] = arguments.words();
    let job = Copying::of(server, [from, to], [from_offset, to_offset])?;
    if bits != 0 {
        return Err(Errno::EINVAL);
    }
    job.check(server)?;
    let mut buffer = core::mem::take(&mut server.files.page);
    buffer.resize(PAGE_SIZE, 0);
    let copied = job.copy(server, to_u64(most_moved(bytes)), &mut buffer);
    server.files.page = buffer;
    let done = copied?;
    for (end, pointer) in [&job.from, &job.to].into_iter().zip([from_offset, to_offset]) {
        match UserPtr::<u64>::optional(pointer)? {
            Some(pointer) => server.view()?.write(pointer, &(end.offset + done))?,
            None => {
                if let Some(file) = server.files.open.get_mut(end.open) {
                    file.offset = end.offset + done;
                }
            }
        }
    }
    Ok(done)
}

/// One side of a copy.
#[derive(Clone, Copy, Debug)]
struct Side {
    open: OpenId,
    offset: u64,
}

/// A copy between two regular files.
#[derive(Clone, Copy, Debug)]
struct Copying {
    from: Side,
    to: Side,
}

impl Copying {
    fn of<H: Host>(server: &mut Server<H>, fds: [u64; 2], offsets: [u64; 2]) -> Result<Self, Errno> {
        let [from, to] = fds;
        // Both must be there before either is looked at more closely.
        let opens = [server.descriptor(from)?.open, server.descriptor(to)?.open];
        let mut sides = [Side { open: opens[0], offset: 0 }, Side { open: opens[1], offset: 0 }];
        for (side, offset) in sides.iter_mut().zip(offsets) {
            side.offset = match UserPtr::<u64>::optional(offset)? {
                Some(pointer) => server.view()?.read(pointer)?,
                None => server.files.open.get(side.open).ok_or(Errno::EBADF)?.offset,
            };
        }
        let [from, to] = sides;
        Ok(Self { from, to })
    }

    fn check<H: Host>(&self, server: &Server<H>) -> Result<(), Errno> {
        let file = |side: &Side| server.files.open.get(side.open).copied().ok_or(Errno::EBADF);
        let (from, to) = (file(&self.from)?, file(&self.to)?);
        let (OpenKind::Node(source), OpenKind::Node(target)) = (from.kind, to.kind) else {
            return Err(Errno::EINVAL);
        };
        server.file_data(source)?;
        server.file_data(target)?;
        if !from.is_readable() || !to.is_writable() || to.flags & flags::APPEND != 0 {
            return Err(Errno::EBADF);
        }
        Ok(())
    }

    fn copy<H: Host>(&self, server: &mut Server<H>, bytes: u64, buffer: &mut [u8]) -> Result<u64, Errno> {
        let from = *server.files.open.get(self.from.open).ok_or(Errno::EBADF)?;
        let same = from.kind == server.files.open.get(self.to.open).ok_or(Errno::EBADF)?.kind;
        let size = from.node().map_or(0, |node| server.place_size(super::place::Place::Node(node)));
        let bytes = bytes.min(size.saturating_sub(self.from.offset));
        let apart = self.from.offset.abs_diff(self.to.offset);
        if same && apart < bytes {
            return Err(Errno::EINVAL);
        }
        let mut done = 0;
        while done < bytes {
            let length = crate::number::to_usize(bytes - done).min(buffer.len());
            let Some(part) = buffer.get_mut(..length) else { break };
            let read = read_own(server, &from, self.from.offset + done, part)?;
            let source = Source::Own(part.get(..read).unwrap_or_default());
            match write_at(server, self.to.open, self.to.offset + done, &source) {
                Ok(0) => break,
                Ok(written) => done += written,
                Err(error) if done == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(done)
    }
}
