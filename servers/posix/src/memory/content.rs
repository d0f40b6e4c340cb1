//! Reading and writing what objects hold: programs' calls on files, without a page fault and without a copy
//! in between.

use super::area::{Area, Backing};
use super::object::{Look, ObjectId, ToFill};
use super::space::{Memory, View};
use crate::address::{Frame, PAGE_BYTES, PAGE_SIZE, Page, PageRange};
use crate::host::{Host, Reserve};
use crate::number::{to_u64, to_usize};
use crate::user::{Short, UserSlice};
use alloc::vec::Vec;

/// Frames that files leave to programs: one in so many of all.
const LEFT_TO_PROGRAMS: u64 = 64;

/// Where the bytes of a write come from.
#[derive(Clone, Copy, Debug)]
pub enum Bytes<'a> {
    /// A program's memory.
    User(UserSlice),
    /// The server's.
    Own(&'a [u8]),
}

impl Bytes<'_> {
    /// How many.
    pub const fn len(self) -> u64 {
        match self {
            Self::User(slice) => slice.bytes(),
            Self::Own(bytes) => to_u64(bytes.len()),
        }
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// All but the first `bytes`.
    #[must_use]
    pub fn after(self, bytes: u64) -> Self {
        match self {
            Self::User(slice) => Self::User(slice.after(bytes)),
            Self::Own(own) => Self::Own(own.get(to_usize(bytes)..).unwrap_or_default()),
        }
    }

    /// The first `bytes`.
    #[must_use]
    pub fn first(self, bytes: u64) -> Self {
        match self {
            Self::User(slice) => Self::User(slice.first(bytes)),
            Self::Own(own) => Self::Own(own.get(..to_usize(bytes)).unwrap_or(own)),
        }
    }
}

/// Why a write to an object ended early, after so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Bytes written.
    pub done: u64,
    /// Why not more.
    pub why: Why,
}

/// Why a write ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The program's memory ended.
    Fault,
    /// No frame is left.
    NoSpace,
}

impl Memory {
    /// Whether files may take a frame more.
    pub fn has_room_for_files<H: Host>(&self, host: &H) -> bool {
        let frames = self.frames.free_count() > self.frames.total() / LEFT_TO_PROGRAMS;
        frames && host.reserve() == Reserve::Plenty
    }

    /// Reads an object's bytes into the server's memory; all of them must lie before the object's end.
    pub fn read_object<H: Host>(&self, host: &mut H, object: ObjectId, offset: u64, into: &mut [u8]) {
        let mut done = 0;
        while done < into.len() {
            let at = offset + to_u64(done);
            let inside = to_usize(at % PAGE_BYTES);
            let length = (into.len() - done).min(PAGE_SIZE - inside);
            let Some(place) = into.get_mut(done..done + length) else { return };
            match self.objects.look(object, Page::of(at)) {
                Look::Frame(frame) => {
                    host.read_frame(self.frames.locate(frame), inside, place);
                }
                Look::Bytes(bytes) => {
                    let part = bytes.get(inside..).unwrap_or_default();
                    let known = part.len().min(length);
                    let (with, without) = place.split_at_mut(known);
                    with.copy_from_slice(part.get(..known).unwrap_or_default());
                    without.fill(0);
                }
            }
            done += length;
        }
    }
}

impl<H: Host> View<'_, H> {
    /// Writes an object's bytes to a program; all of them must lie before the object's end.
    ///
    /// # Errors
    /// [`Short`] where the program's memory ends.
    pub fn read_object(&mut self, object: ObjectId, offset: u64, to: UserSlice) -> Result<(), Short> {
        let mut done = 0;
        while done < to.bytes() {
            let at = offset + done;
            let inside = to_usize(at % PAGE_BYTES);
            let length = (to.bytes() - done).min(to_u64(PAGE_SIZE - inside));
            let piece = to.after(done).first(length);
            let copied = match self.memory.objects.look(object, Page::of(at)) {
                Look::Frame(frame) => self.frame_to_user(frame, inside, piece),
                Look::Bytes(bytes) => {
                    let part = bytes.get(inside..).unwrap_or_default();
                    let part = part.get(..to_usize(length)).unwrap_or(part);
                    self.write_bytes(part, piece).and_then(|()| {
                        let zeros = piece.after(to_u64(part.len()));
                        let written = self.write_zeros(zeros);
                        written.map_err(|short| Short { done: part.len() + short.done })
                    })
                }
            };
            copied.map_err(|short| Short { done: to_usize(done) + short.done })?;
            done += length;
        }
        Ok(())
    }

    /// Writes bytes into an object, whose end moves up with them.
    ///
    /// # Errors
    /// [`Stopped`] says how many bytes are in it and why not more.
    pub fn write_object(&mut self, object: ObjectId, offset: u64, from: Bytes<'_>) -> Result<(), Stopped> {
        let mut done = 0;
        while done < from.len() {
            let at = offset + done;
            let inside = to_usize(at % PAGE_BYTES);
            let length = (from.len() - done).min(to_u64(PAGE_SIZE - inside));
            let piece = from.after(done).first(length);
            let copied = self.write_page(object, Page::of(at), inside, piece);
            let bytes = copied.map_or_else(|stopped| stopped.done, |()| length);
            if bytes != 0 {
                self.memory.objects.extend(object, at + bytes);
            }
            copied.map_err(|stopped| Stopped { done: done + stopped.done, ..stopped })?;
            done += length;
        }
        Ok(())
    }

    fn write_page(
        &mut self,
        object: ObjectId,
        page: Page,
        inside: usize,
        piece: Bytes<'_>,
    ) -> Result<(), Stopped> {
        let no_space = Stopped { done: 0, why: Why::NoSpace };
        let whole = to_usize(piece.len()) == PAGE_SIZE;
        let there = matches!(self.memory.objects.look(object, page), Look::Frame(_));
        if !there && !self.memory.has_room_for_files(self.host) {
            return Err(no_space);
        }
        let Memory { objects, frames, .. } = &mut *self.memory;
        let (frame, fresh) = if whole {
            match objects.page_to_fill(object, page, frames).ok_or(no_space)? {
                ToFill::Old(frame) => (frame, false),
                ToFill::Fresh(frame) => (frame, true),
            }
        } else {
            (objects.page_beyond(object, page, frames, self.host).ok_or(no_space)?, false)
        };
        let copied = self.bytes_to_frame(piece, frame, inside);
        if let Err(stopped) = copied
            && fresh
        {
            // Nobody sees what the frame held before.
            let at = self.memory.frames.locate(frame);
            let done = to_usize(stopped.done);
            self.host.zero_part(at, done, PAGE_SIZE - done);
        }
        copied
    }

    /// Takes an object's pages from `first` on out of the space, private copies too.
    pub fn hide_object(&mut self, object: ObjectId, first: Page) {
        let shown = |area: &Area| match area.backing {
            Backing::Object { object: other, page } if other == object => {
                let skip = first.0.saturating_sub(page);
                (skip < area.range.pages())
                    .then(|| PageRange { start: area.range.start.plus(skip), end: area.range.end })
            }
            _ => None,
        };
        let ranges: Vec<PageRange> = self.space.areas.iter().filter_map(shown).collect();
        for range in ranges {
            self.release_pages(range);
        }
    }

    /// Writes bytes into a frame.
    ///
    /// # Errors
    /// [`Stopped`] where the program's memory ends.
    pub fn bytes_to_frame(&mut self, from: Bytes<'_>, frame: Frame, offset: usize) -> Result<(), Stopped> {
        let at = self.memory.frames.locate(frame);
        match from {
            Bytes::Own(bytes) => {
                self.host.write_frame(at, offset, bytes);
                Ok(())
            }
            Bytes::User(slice) => {
                let copied = self.user_to_frame(slice, frame, offset);
                copied.map_err(|short| Stopped { done: to_u64(short.done), why: Why::Fault })
            }
        }
    }
}
