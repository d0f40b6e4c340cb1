//! The short way through a pipe: one piece that the slot at hand satisfies, without a look at anything else.
//!
//! What is not so plain (a packet, a second slot, an end without its other end, memory that is not there) is left to
//! [`Server::read_pipe`] and [`Server::write_pipe`], which begin anew: nothing has been taken or counted by then.

use super::{Merge, PipeId, Slot};
use crate::address::PAGE_BYTES;
use crate::host::Host;
use crate::number::{to_u64, to_usize};
use crate::server::Server;
use crate::user::UserSlice;

impl<H: Host> Server<H> {
    /// Reads from a pipe's first slot all that is wanted, or all that is in the pipe; `None` when the general way is
    /// to say what happens.
    #[inline]
    pub(in crate::file) fn read_pipe_shortly(&mut self, id: PipeId, to: UserSlice) -> Option<u64> {
        let pipe = self.files.pipes.get(id)?;
        let slot = *pipe.slots.front()?;
        let there = to_u64(slot.length);
        let bytes = if to.bytes() <= there { to.bytes() } else { there };
        let satisfied = bytes == to.bytes() || pipe.slots.len() == 1;
        if bytes == 0 || !satisfied || slot.merge == Merge::No || pipe.is_full() {
            return None;
        }
        self.view().ok()?.frame_to_user(slot.frame, slot.offset, to.first(bytes)).ok()?;
        let pipe = self.files.pipes.get_mut(id)?;
        if bytes == there && pipe.spare.is_none() {
            pipe.spare = Some(slot.frame);
            pipe.slots.pop_front();
        } else {
            self.take_from_pipe(id, to_usize(bytes));
        }
        Some(bytes)
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
