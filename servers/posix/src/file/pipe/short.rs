//! The short way through a pipe: one piece that the slot at hand satisfies, without a look at anything else.
//!
//! What is not so plain (a packet, a second slot, an end without its other end, memory that is not there) is left to
//! [`Server::read_pipe`] and [`Server::write_pipe`], which begin anew: nothing has been taken or counted by then.

use super::{Merge, PipeId, Slot};
use crate::address::PAGE_BYTES;
use crate::executor::wait::QueueId;
use crate::host::Host;
use crate::number::{to_u64, to_usize};
use crate::server::Server;
use crate::user::UserSlice;

/// What a short read came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::file) enum Short {
    /// So many bytes were read.
    Done(u64),
    /// There is nothing, and who waits for something waits here.
    Waits(QueueId),
    /// The general way is to say what happens.
    General,
}

impl<H: Host> Server<H> {
    /// Reads from a pipe's first slot all that is wanted, or all that is in the pipe.
    #[inline]
    pub(in crate::file) fn read_pipe_shortly(&mut self, id: PipeId, to: UserSlice) -> Short {
        let Some(pipe) = self.files.pipes.get(id) else { return Short::General };
        let Some(slot) = pipe.slots.front() else {
            let waits = pipe.writers != 0 && !to.is_empty();
            return if waits { Short::Waits(pipe.readable) } else { Short::General };
        };
        let (frame, offset, there) = (slot.frame, slot.offset, to_u64(slot.length));
        let bytes = if to.bytes() <= there { to.bytes() } else { there };
        let satisfied = bytes == to.bytes() || pipe.slots.len() == 1;
        if bytes == 0 || !satisfied || slot.merge == Merge::No || pipe.is_full() {
            return Short::General;
        }
        let Ok(mut view) = self.view() else { return Short::General };
        if view.frame_to_user(frame, offset, to.first(bytes)).is_err() {
            return Short::General;
        }
        match self.files.pipes.get_mut(id) {
            Some(pipe) if bytes == there && pipe.spare.is_none() => {
                pipe.spare = Some(frame);
                pipe.slots.pop_front();
            }
            _ => self.take_from_pipe(id, to_usize(bytes)),
        }
        Short::Done(bytes)
    }

    /// Writes one piece of at most a page behind a pipe's last bytes, or into the first slot of an empty one; `None`
    /// when the general way is to say what happens.
    #[inline]
    pub(in crate::file) fn write_pipe_shortly(&mut self, id: PipeId, from: UserSlice) -> Option<u64> {
        let pipe = self.files.pipes.get_mut(id)?;
        let bytes = from.bytes();
        if pipe.readers == 0 || bytes == 0 || bytes > PAGE_BYTES {
            return None;
        }
        let Some(last) = pipe.slots.back().copied() else {
            let frame = pipe.spare?;
            let readable = pipe.readable;
            self.view().ok()?.user_to_frame(from, frame, 0).ok()?;
            let pipe = self.files.pipes.get_mut(id)?;
            pipe.spare = None;
            pipe.slots.push_back(Slot { frame, offset: 0, length: to_usize(bytes), merge: Merge::Yes });
            self.waits.wake_all(readable, &mut self.ready);
            return Some(bytes);
        };
        let end = last.offset + last.length;
        if last.merge == Merge::No || to_u64(end) + bytes > PAGE_BYTES {
            return None;
        }
        self.view().ok()?.user_to_frame(from, last.frame, end).ok()?;
        self.files.pipes.get_mut(id)?.slots.back_mut()?.length += to_usize(bytes);
        Some(bytes)
    }
}
