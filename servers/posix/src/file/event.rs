//! eventfd: a counter that can be waited for.

use super::descriptor::{OnExec, OpenFile, OpenKind, flags};
use super::pieces::{Pieces, Source};
use crate::Errno;
use crate::define_id;
use crate::dispatch::Arguments;
use crate::executor::wait::QueueId;
use crate::host::Host;
use crate::number::low_u32;
use crate::server::Server;
use zerocopy::IntoBytes;

define_id! {
    /// A counter.
    EventId
}

/// Reading takes one instead of all (EFD_SEMAPHORE).
const SEMAPHORE: u32 = 1;
/// Bytes of a value.
const BYTES: u64 = 8;
/// The counter stays below this.
pub const MOST: u64 = u64::MAX;

/// A counter.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Its value.
    pub count: u64,
    /// How it is read.
    pub mode: Mode,
    /// Who waits for a value.
    pub readable: QueueId,
    /// Who waits for room.
    pub writable: QueueId,
}

/// How a counter is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All of it.
    Sum,
    /// One of it.
    Semaphore,
}

/// eventfd2(2).
pub fn eventfd2<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let bits = low_u32(arguments.word(1));
    if bits & !(SEMAPHORE | flags::CLOEXEC | flags::NONBLOCK) != 0 {
        return Err(Errno::EINVAL);
    }
    let mode = if bits & SEMAPHORE != 0 { Mode::Semaphore } else { Mode::Sum };
    let (readable, writable) = (server.waits.create(), server.waits.create());
    let count = u64::from(low_u32(arguments.word(0)));
    let Some(event) = server.files.events.insert(Event { count, mode, readable, writable }) else {
        server.waits.destroy(readable, &mut server.ready);
        server.waits.destroy(writable, &mut server.ready);
        return Err(Errno::ENFILE);
    };
    let file = OpenFile::new(OpenKind::Event(event), flags::RDWR | (bits & flags::NONBLOCK));
    server.install(file, OnExec::of(bits))
}

impl<H: Host> Server<H> {
    pub(super) fn close_event(&mut self, id: EventId) {
        if let Some(event) = self.files.events.remove(id) {
            self.waits.destroy(event.readable, &mut self.ready);
            self.waits.destroy(event.writable, &mut self.ready);
        }
    }

    /// Takes the counter's value; `None` when it is 0.
    pub(super) fn read_event(&mut self, id: EventId, pieces: &Pieces) -> Result<Option<u64>, Errno> {
        if pieces.bytes < BYTES {
            return Err(Errno::EINVAL);
        }
        let event = self.files.events.get_mut(id).ok_or(Errno::EBADF)?;
        if event.count == 0 {
            return Ok(None);
        }
        let value = if event.mode == Mode::Semaphore { 1 } else { event.count };
        event.count -= value;
        self.waits.wake_all(event.writable, &mut self.ready);
        let bytes = value.to_le_bytes();
        let mut left = bytes.as_slice();
        for piece in pieces.iter() {
            let piece = piece.first(left.len() as u64);
            let (now, after) = left.split_at(crate::number::to_usize(piece.bytes()));
            self.view()?.write_bytes(now, piece)?;
            left = after;
        }
        Ok(Some(BYTES))
    }

    /// Adds to the counter; `None` when there is no room.
    pub(super) fn write_event(&mut self, id: EventId, source: &Source<'_>) -> Result<Option<u64>, Errno> {
        if source.bytes() < BYTES {
            return Err(Errno::EINVAL);
        }
        let mut value = 0_u64;
        let mut place = value.as_mut_bytes();
        for piece in source.iter() {
            let piece = piece.first(place.len() as u64);
            let (now, after) = place.split_at_mut(crate::number::to_usize(piece.len()));
            match piece {
                crate::memory::content::Bytes::User(slice) => self.view()?.read_bytes(slice, now)?,
                crate::memory::content::Bytes::Own(own) => now.copy_from_slice(own),
            }
            place = after;
        }
        if value == MOST {
            return Err(Errno::EINVAL);
        }
        let event = self.files.events.get_mut(id).ok_or(Errno::EBADF)?;
        let Some(sum) = event.count.checked_add(value).filter(|sum| *sum < MOST) else { return Ok(None) };
        event.count = sum;
        if value != 0 {
            self.waits.wake_all(event.readable, &mut self.ready);
        }
        Ok(Some(BYTES))
    }
}
