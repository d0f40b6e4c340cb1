//! Memory objects: pages that several areas show, of a file or of a shared anonymous mapping.
//!
//! Invariant: an object lives as long as somebody counts on it: one reference for each page of each area
//! that shows it, and one for whoever made it (a file in the file table) until dropped. Its pages hold one
//! reference to each frame, so that a frame that an area also maps is never exclusive.

use super::frames::Frames;
use super::page_map::PageMap;
use crate::address::{Frame, PAGE_SIZE, Page, PageRange};
use crate::host::Host;
use crate::number::{index, to_usize};
use alloc::vec::Vec;

/// An object's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(u32);

/// Where an object's pages come from when they are first looked at.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// Zeros: shared anonymous memory. Its pages end at `bytes`.
    Zeros,
    /// Bytes that stay where they are: a file of the initrd.
    Bytes(&'static [u8]),
}

/// Every object.
#[derive(Debug, Default)]
pub struct Objects {
    table: Vec<Option<Object>>,
    unused: Vec<u32>,
}

#[derive(Debug)]
struct Object {
    references: u64,
    bytes: u64,
    source: Source,
    pages: PageMap,
}

/// Why an object has no page to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPage {
    /// The page lies behind the object's end: SIGBUS.
    BeyondEnd,
    /// No frame is left.
    OutOfMemory,
}

impl Objects {
    /// A new object of `bytes` bytes with `references` references.
    pub fn create(&mut self, source: Source, bytes: u64, references: u64) -> ObjectId {
        let object = Object { references, bytes, source, pages: PageMap::default() };
        if let Some(number) = self.unused.pop()
            && let Some(place) = self.table.get_mut(index(number))
        {
            *place = Some(object);
            return ObjectId(number);
        }
        self.table.push(Some(object));
        // More than 2^32 objects do not fit into memory.
        ObjectId(crate::number::low_u32(self.table.len() as u64 - 1))
    }

    /// Adds references.
    pub fn share(&mut self, id: ObjectId, references: u64) {
        if let Some(object) = self.get_mut(id) {
            object.references += references;
        }
    }

    /// Takes references away; the last frees the object and its pages.
    pub fn release(&mut self, id: ObjectId, references: u64, frames: &mut Frames) {
        let Some(place) = self.table.get_mut(index(id.0)) else { return };
        let Some(object) = place else { return };
        object.references = object.references.saturating_sub(references);
        if object.references == 0 {
            let everything = PageRange { start: Page(0), end: Page(u64::MAX) };
            object.pages.drain(everything, |_, frame| frames.release(frame));
            *place = None;
            self.unused.push(id.0);
        }
    }

    /// The frame of an object's page, filled if nobody looked at it before; the object keeps its reference.
    ///
    /// # Errors
    /// [`NoPage`] when there is none.
    pub fn page<H: Host>(
        &mut self,
        id: ObjectId,
        page: Page,
        frames: &mut Frames,
        host: &mut H,
    ) -> Result<Frame, NoPage> {
        let object = self.get_mut(id).ok_or(NoPage::BeyondEnd)?;
        if page.address() >= object.bytes {
            return Err(NoPage::BeyondEnd);
        }
        if let Some(frame) = object.pages.get(page) {
            return Ok(frame);
        }
        let bytes = match object.source {
            Source::Zeros => &[],
            Source::Bytes(bytes) => bytes.get(to_usize(page.address())..).unwrap_or_default(),
        };
        let part = bytes.get(..PAGE_SIZE).unwrap_or(bytes);
        let frame = if part.len() == PAGE_SIZE { frames.take() } else { frames.take_zeroed(host) };
        let frame = frame.ok_or(NoPage::OutOfMemory)?;
        if !part.is_empty() {
            host.write_frame(frames.locate(frame), 0, part);
        }
        object.pages.insert(page, frame);
        Ok(frame)
    }

    /// The frame of an object's page if it has been filled.
    pub fn filled(&self, id: ObjectId, page: Page) -> Option<Frame> {
        self.table.get(index(id.0))?.as_ref()?.pages.get(page)
    }

    /// How many objects live.
    pub fn len(&self) -> usize {
        self.table.len() - self.unused.len()
    }

    /// Whether no object lives.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn get_mut(&mut self, id: ObjectId) -> Option<&mut Object> {
        self.table.get_mut(index(id.0))?.as_mut()
    }
}
