//! Pipes: frames in a queue, as Linux's pages are, so that a pipe is full and free exactly when Linux's is.
//!
//! Invariant: no slot is empty, each holds one reference to its frame, and there are at most `most` of them. A
//! write of at most PIPE_BUF bytes goes in as a whole: it fits behind the last slot's bytes or into one slot.

use super::descriptor::OpenFile;
use super::node::Time;
use super::pieces::{Pieces, Put, Source, so_far};
use super::tree::NodeId;
use crate::Errno;
use crate::address::{Frame, PAGE_BYTES, PAGE_SIZE};
use crate::define_id;
use crate::executor::wait::QueueId;
use crate::host::Host;
use crate::memory::content::{Stopped, Why};
use crate::number::{to_u64, to_usize};
use crate::server::Server;
use alloc::collections::VecDeque;

mod short;

pub(super) use short::Short;

define_id! {
    /// A pipe.
    PipeId
}

/// Slots of a new pipe (Linux's PIPE_DEF_BUFFERS).
const SLOTS: usize = 16;
/// Most bytes that a program without privileges may ask for (pipe-max-size).
const MOST_BYTES: u64 = 1 << 20;

/// Which ends of a pipe an open file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The one that is read.
    Read,
    /// The one that is written.
    Write,
    /// Both (a FIFO opened for both).
    Both,
}

impl End {
    /// Whether it reads.
    pub const fn reads(self) -> bool {
        !matches!(self, Self::Write)
    }

    /// Whether it writes.
    pub const fn writes(self) -> bool {
        !matches!(self, Self::Read)
    }
}

/// A pipe.
#[derive(Debug)]
pub struct Pipe {
    slots: VecDeque<Slot>,
    most: usize,
    /// A frame that was emptied and is used again.
    spare: Option<Frame>,
    /// Open files that read it.
    pub readers: u32,
    /// Open files that write it.
    pub writers: u32,
    /// Openings for reading, ever: a FIFO's writer waits for the next.
    pub reader_count: u64,
    /// Openings for writing, ever.
    pub writer_count: u64,
    /// Who waits for bytes, or for somebody who writes.
    pub readable: QueueId,
    /// Who waits for room, or for somebody who reads.
    pub writable: QueueId,
    /// The FIFO that it belongs to.
    pub node: Option<NodeId>,
    /// st_ino of a pipe without a name.
    pub number: u64,
    /// When it was made.
    pub born: Time,
}

/// Bytes in a frame.
#[derive(Clone, Copy, Debug)]
struct Slot {
    frame: Frame,
    offset: usize,
    length: usize,
    /// Whether a write may add to it (not to a packet).
    merge: Merge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Merge {
    Yes,
    No,
}

impl Pipe {
    /// Bytes in it.
    pub fn bytes(&self) -> u64 {
        self.slots.iter().map(|slot| to_u64(slot.length)).sum()
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether every slot is used.
    pub fn is_full(&self) -> bool {
        self.slots.len() >= self.most
    }

    /// Bytes that certainly go in at once.
    pub fn certain_room(&self) -> u64 {
        to_u64(self.most.saturating_sub(self.slots.len())) * PAGE_BYTES
    }

    /// How much it can hold.
    pub const fn capacity(&self) -> u64 {
        self.most as u64 * PAGE_BYTES
    }
}

impl<H: Host> Server<H> {
    /// A new pipe without ends.
    ///
    /// # Errors
    /// ENFILE when there are too many.
    pub(super) fn create_pipe(&mut self, node: Option<NodeId>) -> Result<PipeId, Errno> {
        let (readable, writable) = (self.waits.create(), self.waits.create());
        self.files.last_anonymous += 1;
        let pipe = Pipe {
            slots: VecDeque::with_capacity(SLOTS),
            most: SLOTS,
            spare: None,
            readers: 0,
            writers: 0,
            reader_count: 0,
            writer_count: 0,
            readable,
            writable,
            node,
            number: self.files.last_anonymous,
            born: self.now(),
        };
        self.files.pipes.insert(pipe).ok_or_else(|| {
            self.waits.destroy(readable, &mut self.ready);
            self.waits.destroy(writable, &mut self.ready);
            Errno::ENFILE
        })
    }

    /// An end of a pipe is opened.
    pub(super) fn open_pipe(&mut self, id: PipeId, end: End) {
        let Some(pipe) = self.files.pipes.get_mut(id) else { return };
        if end.reads() {
            pipe.readers += 1;
            pipe.reader_count += 1;
            self.waits.wake_all(pipe.writable, &mut self.ready);
        }
        if end.writes() {
            pipe.writers += 1;
            pipe.writer_count += 1;
            self.waits.wake_all(pipe.readable, &mut self.ready);
        }
    }

    /// An end of a pipe is closed; the last one frees it.
    pub(super) fn close_pipe(&mut self, id: PipeId, end: End) {
        let Some(pipe) = self.files.pipes.get_mut(id) else { return };
        pipe.readers -= u32::from(end.reads());
        pipe.writers -= u32::from(end.writes());
        if pipe.readers != 0 || pipe.writers != 0 {
            if pipe.readers == 0 {
                self.waits.wake_all(pipe.writable, &mut self.ready);
            }
            if pipe.writers == 0 {
                self.waits.wake_all(pipe.readable, &mut self.ready);
            }
            return;
        }
        let Some(pipe) = self.files.pipes.remove(id) else { return };
        for frame in pipe.slots.iter().map(|slot| slot.frame).chain(pipe.spare) {
            self.memory.frames.release(frame);
        }
        self.waits.destroy(pipe.readable, &mut self.ready);
        self.waits.destroy(pipe.writable, &mut self.ready);
        if let Some(node) = pipe.node {
            if let Some(node) = self.files.tree.get_mut(node) {
                node.content = super::node::Content::Fifo(None);
            }
            self.release_node(node);
        }
    }

    /// Reads what is in a pipe; `None` when that is nothing and somebody may still write.
    pub(super) fn read_pipe(&mut self, id: PipeId, pieces: &Pieces) -> Result<Option<u64>, Errno> {
        if pieces.bytes == 0 {
            return Ok(Some(0));
        }
        let pipe = self.files.pipes.get(id).ok_or(Errno::EBADF)?;
        if pipe.is_empty() {
            return Ok((pipe.writers == 0).then_some(0));
        }
        let was_full = pipe.is_full();
        let mut done = 0;
        // Bytes of the first slot that were copied. As on Linux they are taken out once all is well with the
        // slot's part: after a fault within it they are still there, and nothing of them counts.
        let mut copied = 0;
        let mut fault = false;
        'pieces: for mut piece in pieces.iter() {
            while !piece.is_empty() {
                let Some(slot) = self.files.pipes.get(id).and_then(|pipe| pipe.slots.front()).copied() else {
                    break 'pieces;
                };
                let part = piece.first(to_u64(slot.length - copied));
                if self.view()?.frame_to_user(slot.frame, slot.offset + copied, part).is_err() {
                    fault = true;
                    break 'pieces;
                }
                copied += to_usize(part.bytes());
                piece = piece.after(part.bytes());
                let packet = slot.merge == Merge::No;
                if copied == slot.length || packet {
                    done += to_u64(copied);
                    // What was not read of a packet is gone.
                    self.take_from_pipe(id, slot.length);
                    copied = 0;
                }
                if packet {
                    break 'pieces;
                }
            }
        }
        if !fault && copied != 0 {
            done += to_u64(copied);
            self.take_from_pipe(id, copied);
        }
        if was_full && let Some(pipe) = self.files.pipes.get(id).filter(|pipe| !pipe.is_full()) {
            self.waits.wake_all(pipe.writable, &mut self.ready);
        }
        if fault { so_far(done).map(Some) } else { Ok(Some(done)) }
    }

    /// Bytes of the first slot were read.
    fn take_from_pipe(&mut self, id: PipeId, bytes: usize) {
        let Some(pipe) = self.files.pipes.get_mut(id) else { return };
        let Some(slot) = pipe.slots.front_mut() else { return };
        slot.offset += bytes;
        slot.length -= bytes.min(slot.length);
        if slot.length != 0 {
            return;
        }
        let frame = slot.frame;
        pipe.slots.pop_front();
        if pipe.spare.is_none() {
            pipe.spare = Some(frame);
        } else {
            self.memory.frames.release(frame);
        }
    }

    /// Writes as much to a pipe as there is room for now.
    pub(super) fn write_pipe(
        &mut self,
        id: PipeId,
        file: &OpenFile,
        source: &Source<'_>,
    ) -> Result<Put, Errno> {
        let pipe = self.files.pipes.get(id).ok_or(Errno::EBADF)?;
        if source.bytes() == 0 {
            return Ok(Put::Done(0));
        }
        if pipe.readers == 0 {
            self.broken_pipe();
            return Err(Errno::EPIPE);
        }
        let merge = if file.flags & super::descriptor::flags::DIRECT != 0 { Merge::No } else { Merge::Yes };
        let was_empty = pipe.is_empty();
        // As Linux: what is over from whole pages goes behind the last bytes, if it fits there.
        let over = source.bytes() % PAGE_BYTES;
        let fits = pipe.slots.back().is_some_and(|slot| {
            slot.merge == Merge::Yes && to_u64(slot.offset + slot.length) + over <= PAGE_BYTES
        });
        let merging = if fits { over } else { 0 };
        let mut filling = Filling { pipe: id, merge, merging, fresh: false, unit: 0 };
        let mut done = 0;
        let mut why = None;
        for mut piece in source.iter() {
            while !piece.is_empty() && why.is_none() {
                let outcome = self.add_to_pipe(&mut filling, piece);
                let bytes = outcome.unwrap_or_else(|stopped| stopped.done);
                done += bytes;
                piece = piece.after(bytes);
                why = match outcome {
                    Ok(0) => Some(None),
                    Ok(_) => None,
                    Err(stopped) => Some(Some(stopped.why)),
                };
            }
        }
        if why == Some(Some(Why::Fault)) {
            // As on Linux: of a slot that could not be filled as far as was meant nothing counts.
            self.take_back(id, filling.unit);
            done -= filling.unit;
        }
        if was_empty
            && done != 0
            && let Some(pipe) = self.files.pipes.get(id)
        {
            self.waits.wake_all(pipe.readable, &mut self.ready);
        }
        match why {
            Some(Some(Why::Fault)) if done == 0 => Err(Errno::EFAULT),
            Some(Some(Why::NoSpace)) if done == 0 => Err(Errno::ENOMEM),
            Some(None) => Ok(Put::Full(done)),
            _ => Ok(Put::Done(done)),
        }
    }

    /// Puts the beginning of a piece into one slot; returns how much, 0 when every slot is used.
    fn add_to_pipe(
        &mut self,
        filling: &mut Filling,
        piece: crate::memory::content::Bytes<'_>,
    ) -> Result<u64, Stopped> {
        let stopped = |why| Stopped { done: 0, why };
        let pipe = self.files.pipes.get_mut(filling.pipe).ok_or(stopped(Why::Fault))?;
        let room = |slot: &&Slot| slot.offset + slot.length < PAGE_SIZE;
        let behind = pipe.slots.back().filter(|slot| filling.merging != 0 || filling.fresh && room(slot));
        let slot = match behind {
            Some(slot) => *slot,
            None if pipe.is_full() => return Ok(0),
            None => {
                let frame = pipe.spare.take().or_else(|| self.memory.frames.take());
                let frame = frame.ok_or(stopped(Why::NoSpace))?;
                filling.unit = 0;
                Slot { frame, offset: 0, length: 0, merge: filling.merge }
            }
        };
        let end = slot.offset + slot.length;
        let part = piece.first(if filling.merging != 0 { filling.merging } else { to_u64(PAGE_SIZE - end) });
        let result = match self.view() {
            Ok(mut view) => view.bytes_to_frame(part, slot.frame, end),
            Err(_) => Err(stopped(Why::Fault)),
        };
        let bytes = result.map_or_else(|stopped| stopped.done, |()| part.len());
        let Some(pipe) = self.files.pipes.get_mut(filling.pipe) else { return Ok(0) };
        let grown = Slot { length: slot.length + to_usize(bytes), ..slot };
        match pipe.slots.back_mut() {
            Some(last) if last.frame == slot.frame => *last = grown,
            _ if bytes == 0 => pipe.spare = Some(slot.frame),
            _ => {
                pipe.slots.push_back(grown);
            }
        }
        filling.unit += bytes;
        if filling.merging != 0 {
            filling.merging -= bytes;
            if filling.merging == 0 {
                filling.unit = 0;
            }
        } else {
            filling.fresh = true;
        }
        result.map(|()| bytes)
    }

    /// Takes the last bytes of the last slot back out of a pipe.
    fn take_back(&mut self, id: PipeId, bytes: u64) {
        let Some(pipe) = self.files.pipes.get_mut(id).filter(|_| bytes != 0) else { return };
        let Some(slot) = pipe.slots.back_mut() else { return };
        slot.length -= to_usize(bytes).min(slot.length);
        if slot.length == 0
            && let Some(slot) = pipe.slots.pop_back()
            && let Some(second) = pipe.spare.replace(slot.frame)
        {
            self.memory.frames.release(second);
        }
    }

    /// Sets how much a pipe can hold (F_SETPIPE_SZ).
    pub(super) fn resize_pipe(&mut self, id: PipeId, bytes: u64) -> Result<u64, Errno> {
        let privileged = self.who().user == 0;
        let pipe = self.files.pipes.get_mut(id).ok_or(Errno::EBADF)?;
        if bytes > 1 << 31 {
            return Err(Errno::EINVAL);
        }
        let bytes = bytes.max(PAGE_BYTES).next_power_of_two();
        if bytes > pipe.capacity() && bytes > MOST_BYTES && !privileged {
            return Err(Errno::EPERM);
        }
        let most = to_usize(bytes / PAGE_BYTES);
        if pipe.slots.len() > most {
            return Err(Errno::EBUSY);
        }
        let more = most > pipe.most;
        pipe.most = most;
        if more {
            self.waits.wake_all(pipe.writable, &mut self.ready);
        }
        Ok(bytes)
    }
}

/// A write that fills slots.
#[derive(Debug)]
struct Filling {
    pipe: PipeId,
    merge: Merge,
    /// Bytes still to go behind what was last written before.
    merging: u64,
    /// Bytes that were put into the slot in hand.
    unit: u64,
    /// Whether the last slot is this write's own, to be filled to its end.
    fresh: bool,
}
