//! Memory objects: pages that several areas show, of a file or of a shared anonymous mapping.
//!
//! Invariant: an object lives as long as somebody counts on it: one reference for each page of each area
//! that shows it, and one for whoever made it (a file in the file table) until dropped. Its pages hold one
//! reference to each frame, so that a frame that an area also maps is never exclusive.

use super::frames::Frames;
use super::page_map::PageMap;
use crate::address::{Frame, PAGE_BYTES, PAGE_SIZE, Page, PageRange};
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
    /// The number of the file's node, if it has one.
    file: Option<u32>,
}

/// What an object has at a page, without anything being filled.
#[derive(Clone, Copy, Debug)]
pub enum Look {
    /// A frame.
    Frame(Frame),
    /// The source's bytes, at most a page of them; behind them zeros.
    Bytes(&'static [u8]),
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
        let object = Object { references, bytes, source, pages: PageMap::default(), file: None };
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
        if page.address() >= self.get(id).ok_or(NoPage::BeyondEnd)?.bytes {
            return Err(NoPage::BeyondEnd);
        }
        self.page_beyond(id, page, frames, host).ok_or(NoPage::OutOfMemory)
    }

    /// As [`Objects::page`], for a page that may lie behind the end, which is about to move; `None` when no
    /// frame is left.
    pub fn page_beyond<H: Host>(
        &mut self,
        id: ObjectId,
        page: Page,
        frames: &mut Frames,
        host: &mut H,
    ) -> Option<Frame> {
        let object = self.get_mut(id)?;
        if let Some(frame) = object.pages.get(page) {
            return Some(frame);
        }
        let part = object.source_page(page);
        let frame = if part.len() == PAGE_SIZE { frames.take() } else { frames.take_zeroed(host) }?;
        if !part.is_empty() {
            host.write_frame(frames.locate(frame), 0, part);
        }
        object.pages.insert(page, frame);
        Some(frame)
    }

    /// The frame of an object's page for somebody who is about to write all of it: what is in it does not
    /// matter unless it was there before, and whoever takes it must leave no byte unwritten.
    pub fn page_to_fill(&mut self, id: ObjectId, page: Page, frames: &mut Frames) -> Option<ToFill> {
        let object = self.get_mut(id)?;
        if let Some(frame) = object.pages.get(page) {
            return Some(ToFill::Old(frame));
        }
        let frame = frames.take()?;
        object.pages.insert(page, frame);
        Some(ToFill::Fresh(frame))
    }

    /// What an object has at a page.
    #[inline]
    pub fn look(&self, id: ObjectId, page: Page) -> Look {
        let Some(object) = self.get(id) else { return Look::Bytes(&[]) };
        match object.pages.get(page) {
            Some(frame) => Look::Frame(frame),
            None => Look::Bytes(object.source_page(page)),
        }
    }

    /// Where an object ends, in bytes.
    #[inline]
    pub fn bytes(&self, id: ObjectId) -> u64 {
        self.get(id).map_or(0, |object| object.bytes)
    }

    /// Moves an object's end up; what is between was never there and is zeros.
    pub fn extend(&mut self, id: ObjectId, bytes: u64) {
        if let Some(object) = self.get_mut(id) {
            object.bytes = object.bytes.max(bytes);
        }
    }

    /// Moves an object's end down; what was behind it is forgotten. Mappings of it are the caller's matter.
    pub fn cut<H: Host>(&mut self, id: ObjectId, bytes: u64, frames: &mut Frames, host: &mut H) {
        let Some(object) = self.get_mut(id) else { return };
        object.bytes = bytes;
        if let Source::Bytes(source) = &mut object.source {
            *source = source.get(..to_usize(bytes)).unwrap_or(source);
        }
        let whole = Page(bytes.div_ceil(PAGE_BYTES));
        object.pages.drain(PageRange { start: whole, end: Page(u64::MAX) }, |_, frame| frames.release(frame));
        let inside = to_usize(bytes % PAGE_BYTES);
        if inside != 0
            && let Some(frame) = object.pages.get(Page::of(bytes))
        {
            host.zero_part(frames.locate(frame), inside, PAGE_SIZE - inside);
        }
    }

    /// The first page from `page` on that holds something.
    pub fn next_data(&self, id: ObjectId, page: Page) -> Option<Page> {
        let object = self.get(id)?;
        if !object.source_page(page).is_empty() {
            return Some(page);
        }
        object.pages.next(page, Page(u64::MAX)).map(|(found, _)| found)
    }

    /// The first page from `page` on that was never written, and is zeros.
    pub fn next_hole(&self, id: ObjectId, page: Page) -> Page {
        let mut page = page;
        while self.next_data(id, page) == Some(page) {
            page = page.plus(1);
        }
        page
    }

    /// Pages that have frames, of all objects.
    pub fn all_own_pages(&self) -> u64 {
        self.table.iter().flatten().map(|object| object.pages.len()).sum()
    }

    /// Pages that hold something: frames of their own, or bytes of the source.
    pub fn used_pages(&self, id: ObjectId) -> u64 {
        let Some(object) = self.get(id) else { return 0 };
        let Source::Bytes(source) = object.source else { return object.pages.len() };
        let of_source = (source.len() as u64).div_ceil(PAGE_BYTES);
        let behind = PageRange { start: Page(of_source), end: Page(u64::MAX) };
        of_source + object.pages.iter(behind).count() as u64
    }

    /// Pages that have frames of their own.
    pub fn own_pages(&self, id: ObjectId) -> u64 {
        self.get(id).map_or(0, |object| object.pages.len())
    }

    /// Whether anybody but its maker shows it.
    pub fn is_shown(&self, id: ObjectId) -> bool {
        self.get(id).is_some_and(|object| object.references > 1)
    }

    /// Says which file an object belongs to, by its node's number; or that there is none any more.
    pub fn set_file(&mut self, id: ObjectId, file: Option<u32>) {
        if let Some(object) = self.get_mut(id) {
            object.file = file;
        }
    }

    /// The number of the node whose pages these are.
    pub fn file(&self, id: ObjectId) -> Option<u32> {
        self.get(id)?.file
    }

    /// The frame of an object's page if it has been filled.
    pub fn filled(&self, id: ObjectId, page: Page) -> Option<Frame> {
        self.get(id)?.pages.get(page)
    }

    /// How many objects live.
    pub fn len(&self) -> usize {
        self.table.len() - self.unused.len()
    }

    /// Whether no object lives.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn get(&self, id: ObjectId) -> Option<&Object> {
        self.table.get(index(id.0))?.as_ref()
    }

    fn get_mut(&mut self, id: ObjectId) -> Option<&mut Object> {
        self.table.get_mut(index(id.0))?.as_mut()
    }
}

impl Object {
    /// The source's bytes of a page.
    fn source_page(&self, page: Page) -> &'static [u8] {
        let Source::Bytes(bytes) = self.source else { return &[] };
        let bytes = bytes.get(to_usize(page.address())..).unwrap_or_default();
        bytes.get(..PAGE_SIZE).unwrap_or(bytes)
    }
}

/// A frame whose page is about to be written in whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToFill {
    /// It was there, and programs may see it.
    Old(Frame),
    /// It has what somebody left in it.
    Fresh(Frame),
}
