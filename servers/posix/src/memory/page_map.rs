//! From page numbers to frames, for spaces and objects that use few of very many pages.
//!
//! Chunks of 64 pages in order of their number; a search over the chunks, then one index. Invariant: no
//! chunk is empty, chunks ascend, and a bit of `present` is set exactly where `frames` names a frame.

use crate::address::{Frame, Page, PageRange};
use alloc::boxed::Box;
use alloc::vec::Vec;

const CHUNK_BITS: u32 = 6;
const CHUNK_PAGES: u64 = 1 << CHUNK_BITS;

/// A sparse map from pages to frames.
#[derive(Debug, Default)]
pub struct PageMap {
    chunks: Vec<(u64, Box<Chunk>)>,
    pages: u64,
}

#[derive(Debug)]
struct Chunk {
    present: u64,
    frames: [Frame; 1 << CHUNK_BITS],
}

impl PageMap {
    /// Pages that have a frame.
    pub fn len(&self) -> u64 {
        self.pages
    }

    /// Bytes of the server's memory that as many pages so far apart take elsewhere, at most.
    pub fn bytes(&self) -> usize {
        /// What the allocator needs beside a chunk, and twice its place in the list.
        const BESIDE: usize = 64;
        self.chunks.len() * (size_of::<Chunk>() + BESIDE)
    }

    /// Whether no page has a frame.
    pub fn is_empty(&self) -> bool {
        self.pages == 0
    }

    /// The frame of a page.
    pub fn get(&self, page: Page) -> Option<Frame> {
        let position = self.position(page).ok()?;
        let (_, chunk) = self.chunks.get(position)?;
        chunk.get(slot(page))
    }

    /// Gives a page a frame; returns the one that it had.
    pub fn insert(&mut self, page: Page, frame: Frame) -> Option<Frame> {
        let position = match self.position(page) {
            Ok(position) => position,
            Err(position) => {
                self.chunks.insert(position, (page.0 >> CHUNK_BITS, Box::new(Chunk::EMPTY)));
                position
            }
        };
        let (_, chunk) = self.chunks.get_mut(position)?;
        let before = chunk.insert(slot(page), frame);
        self.pages += u64::from(before.is_none());
        before
    }

    /// Takes a page's frame away.
    pub fn remove(&mut self, page: Page) -> Option<Frame> {
        let position = self.position(page).ok()?;
        let (_, chunk) = self.chunks.get_mut(position)?;
        let frame = chunk.remove(slot(page))?;
        self.pages -= 1;
        if chunk.present == 0 {
            self.chunks.remove(position);
        }
        Some(frame)
    }

    /// Takes away all frames of a range, ascending, giving each to `each`.
    pub fn drain(&mut self, range: PageRange, mut each: impl FnMut(Page, Frame)) {
        let mut taken = 0;
        let first = self.first_chunk(range);
        let mut last = first;
        while let Some((key, chunk)) = self.chunks.get_mut(last) {
            if *key << CHUNK_BITS >= range.end.0 {
                break;
            }
            while let Some((page, frame)) = chunk.next(*key, range.start.0, range.end.0) {
                chunk.remove(slot(page));
                taken += 1;
                each(page, frame);
            }
            last += 1;
        }
        self.pages -= taken;
        // Between the two at the edges every chunk is empty now.
        let keep = |position: usize| self.chunks.get(position).is_some_and(|(_, chunk)| chunk.present != 0);
        let from = if keep(first) { first + 1 } else { first };
        let to = if last > from && keep(last - 1) { last - 1 } else { last };
        if from < to {
            self.chunks.drain(from..to);
        }
    }

    /// Every page of a range that has a frame, ascending.
    pub fn iter(&self, range: PageRange) -> impl Iterator<Item = (Page, Frame)> {
        let first = self.first_chunk(range);
        let chunks = self.chunks.get(first..).unwrap_or_default().iter();
        let inside = chunks.take_while(move |(key, _)| *key << CHUNK_BITS < range.end.0);
        inside.flat_map(move |(key, chunk)| chunk.iter(*key, range))
    }

    /// The first page at or after `page` that has a frame.
    pub fn next(&self, page: Page, end: Page) -> Option<(Page, Frame)> {
        self.iter(PageRange { start: page, end }).next()
    }

    fn position(&self, page: Page) -> Result<usize, usize> {
        self.chunks.binary_search_by_key(&(page.0 >> CHUNK_BITS), |(key, _)| *key)
    }

    fn first_chunk(&self, range: PageRange) -> usize {
        self.position(range.start).unwrap_or_else(|position| position)
    }
}

fn slot(page: Page) -> u32 {
    crate::number::low_u32(page.0 & (CHUNK_PAGES - 1))
}

impl Chunk {
    const EMPTY: Self = Self { present: 0, frames: [Frame(u32::MAX); 1 << CHUNK_BITS] };

    fn get(&self, slot: u32) -> Option<Frame> {
        if self.present & (1 << slot) == 0 {
            return None;
        }
        self.frames.get(crate::number::index(slot)).copied()
    }

    fn insert(&mut self, slot: u32, frame: Frame) -> Option<Frame> {
        let before = self.get(slot);
        let place = self.frames.get_mut(crate::number::index(slot))?;
        *place = frame;
        self.present |= 1 << slot;
        before
    }

    fn remove(&mut self, slot: u32) -> Option<Frame> {
        let frame = self.get(slot)?;
        self.present &= !(1 << slot);
        Some(frame)
    }

    fn iter(&self, key: u64, range: PageRange) -> impl Iterator<Item = (Page, Frame)> {
        let mut from = range.start.0;
        core::iter::from_fn(move || {
            let (page, frame) = self.next(key, from, range.end.0)?;
            from = page.0 + 1;
            Some((page, frame))
        })
    }

    /// The first page with a frame from `from` to before `end`, pages counted in the whole map.
    fn next(&self, key: u64, from: u64, end: u64) -> Option<(Page, Frame)> {
        let base = key << CHUNK_BITS;
        let skip = from.saturating_sub(base);
        if skip >= CHUNK_PAGES {
            return None;
        }
        let left = self.present & (u64::MAX << skip);
        if left == 0 {
            return None;
        }
        let page = Page(base + u64::from(left.trailing_zeros()));
        if page.0 >= end {
            return None;
        }
        Some((page, self.get(left.trailing_zeros())?))
    }
}
