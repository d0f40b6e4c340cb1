//! A program's address space as the server knows it: areas, the pages that have frames, and the break.
//!
//! Invariant: `pages` has a frame only inside an area, and holds one reference to it. The kernel's tables
//! map a subset of `pages`: a page may be left unmapped, to be mapped when it is touched, but is never
//! mapped with more than [`View::rights`] gives.

use super::area::{Area, Backing, Protection, Role, Sharing};
use super::area_map::AreaMap;
use super::batch::Batch;
use super::frames::Frames;
use super::object::Objects;
use super::page_map::PageMap;
use crate::Errno;
use crate::address::{Frame, LOWER_HALF_END, PAGE_BYTES, Page, PageRange};
use crate::host::{Host, MapEntry, PageRights, SpaceId};

/// Most areas of a space: Linux's vm.max_map_count.
pub const MOST_AREAS: usize = 65_530;
/// Pages kept free below a stack that grows: Linux's stack_guard_gap.
pub const STACK_GAP: u64 = 256;

/// The memory that all spaces share.
#[derive(Debug)]
pub struct Memory {
    /// Page frames.
    pub frames: Frames,
    /// Files' and shared pages.
    pub objects: Objects,
    /// The page of zeros that reads of untouched memory see; held by the server for good.
    pub zero: Option<Frame>,
}

/// What a program may use at most (RLIMIT_AS, RLIMIT_DATA, RLIMIT_STACK), in bytes.
#[derive(Clone, Copy, Debug)]
pub struct MemoryLimits {
    /// The whole space.
    pub space: u64,
    /// Data and heap.
    pub data: u64,
    /// The stack that grows.
    pub stack: u64,
}

impl Default for MemoryLimits {
    /// Linux's: no limit but 8 MiB of stack.
    fn default() -> Self {
        Self { space: u64::MAX, data: u64::MAX, stack: 8 << 20 }
    }
}

/// Where a program's strings lie in its stack: first address and first behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StringRanges {
    /// Arguments.
    pub arguments: (u64, u64),
    /// Environment.
    pub environment: (u64, u64),
}

/// One address space.
#[derive(Debug)]
pub struct Space {
    /// Its VSpace.
    pub id: SpaceId,
    /// What the program mapped.
    pub areas: AreaMap,
    /// The pages that have frames.
    pub pages: PageMap,
    /// Where the heap begins: an address.
    pub heap_start: u64,
    /// The program break: an address, at least `heap_start`.
    pub heap_end: u64,
    /// mmap places areas below this page.
    pub mmap_top: Page,
    /// Where the vDSO's rt_sigreturn lies, which signal handlers return to.
    pub sigreturn: u64,
    /// Limits of whoever runs in it.
    pub limits: MemoryLimits,
    /// Pages of all areas together.
    pub area_pages: u64,
    /// The page behind the last that was touched for the first time: a touch there goes on with a stream.
    pub stream: Page,
    /// Arguments and environment as the program began.
    pub strings: StringRanges,
}

impl Space {
    /// An empty space.
    pub fn new(id: SpaceId) -> Self {
        Self {
            id,
            areas: AreaMap::default(),
            pages: PageMap::default(),
            heap_start: 0,
            heap_end: 0,
            mmap_top: Page::of(LOWER_HALF_END),
            sigreturn: 0,
            limits: MemoryLimits::default(),
            area_pages: 0,
            stream: Page(0),
            strings: StringRanges::default(),
        }
    }
}

/// A space together with what every change to it needs.
#[derive(Debug)]
pub struct View<'a, H> {
    /// The machine.
    pub host: &'a mut H,
    /// Frames and objects.
    pub memory: &'a mut Memory,
    /// The space.
    pub space: &'a mut Space,
}

impl<H> View<'_, H> {
    /// The same for a shorter time.
    #[inline]
    pub const fn reborrow(&mut self) -> View<'_, H> {
        View { host: &mut *self.host, memory: &mut *self.memory, space: &mut *self.space }
    }
}

impl Memory {
    /// The memory of windows with so many pages each.
    pub fn new<H: Host>(host: &mut H, window_pages: &[u32]) -> Self {
        let mut frames = Frames::new(window_pages);
        let zero = frames.take_zeroed(host);
        Self { frames, objects: Objects::default(), zero }
    }
}

impl<H: Host> View<'_, H> {
    /// What the kernel may let the program do with a page of an area that has this frame.
    ///
    /// Linux's rule for LoongArch (protection_map): whatever may be stored to or executed may be read.
    /// A private page takes stores only while nobody else holds its frame.
    pub fn rights(&self, area: &Area, frame: Frame) -> Option<PageRights> {
        if area.protection.is_empty() {
            return None;
        }
        let mut rights = PageRights::empty();
        let writable = area.sharing == Sharing::Shared || self.memory.frames.is_exclusive(frame);
        rights.set(PageRights::WRITE, area.protection.contains(Protection::WRITE) && writable);
        rights.set(PageRights::EXECUTE, area.protection.contains(Protection::EXECUTE));
        Some(rights)
    }

    /// Adds an area where nothing is. An object's references for it must have been taken.
    ///
    /// # Errors
    /// ENOMEM beyond the limits on space or areas.
    pub fn add_area(&mut self, area: Area) -> Result<(), Errno> {
        self.check_room(area.range.pages())?;
        self.space.areas.insert(area);
        self.space.area_pages += area.range.pages();
        Ok(())
    }

    /// Whether so many pages more are within RLIMIT_AS and the count of areas.
    ///
    /// # Errors
    /// ENOMEM when they are not.
    pub fn check_room(&self, pages: u64) -> Result<(), Errno> {
        let after = self.space.area_pages.saturating_add(pages).saturating_mul(PAGE_BYTES);
        if after > self.space.limits.space || self.space.areas.len() >= MOST_AREAS {
            return Err(Errno::ENOMEM);
        }
        Ok(())
    }

    /// Takes areas, mappings and frames out of a range.
    ///
    /// # Errors
    /// ENOMEM when splitting areas would make too many; then nothing was done.
    pub fn unmap(&mut self, range: PageRange) -> Result<(), Errno> {
        if self.space.areas.is_free(range) {
            return Ok(());
        }
        let inside = self.space.areas.find(range.start).is_some_and(|area| area.range.start < range.start);
        if inside && self.space.areas.len() >= MOST_AREAS {
            return Err(Errno::ENOMEM);
        }
        self.release_pages(range);
        let Memory { frames, objects, .. } = &mut *self.memory;
        let mut pages = 0;
        self.space.areas.remove(range, |area| {
            pages += area.range.pages();
            if let Backing::Object { object, .. } = area.backing {
                objects.release(object, area.range.pages(), frames);
            }
        });
        self.space.area_pages -= pages;
        Ok(())
    }

    /// Takes mappings and frames out of a range and leaves the areas.
    pub fn release_pages(&mut self, range: PageRange) {
        let Some((first, _)) = self.space.pages.next(range.start, range.end) else { return };
        // The kernel goes first: a frame is free only when no program can reach it any more.
        self.unmap_tables(PageRange { start: first, end: range.end });
        let frames = &mut self.memory.frames;
        self.space.pages.drain(range, |_, frame| frames.release(frame));
    }

    /// Maps every page of a range that has a frame with the rights it may have now, or not at all.
    ///
    /// # Errors
    /// ENOMEM when no page table was left.
    pub fn refresh(&mut self, range: PageRange) -> Result<(), Errno> {
        let mut batch = Batch::new(self.space.id);
        let mut page = range.start;
        while let Some((next, frame)) = self.space.pages.next(page, range.end) {
            page = next.plus(1);
            let Some(area) = self.space.areas.find(next) else { continue };
            match self.rights(area, frame) {
                Some(rights) => {
                    batch.map(self.host, next, self.memory.frames.locate(frame), rights)?;
                }
                None => batch.unmap(self.host, next)?,
            }
        }
        batch.flush(self.host)
    }

    /// Empties the space for another program or process; its VSpace can be used again.
    pub fn clear(&mut self) {
        let everything = PageRange { start: Page(0), end: Page::of(LOWER_HALF_END) };
        // One area is never too many to split.
        let _ = self.unmap(everything);
        self.host.take_tables(self.space.id);
        *self.space = Space { limits: self.space.limits, ..Space::new(self.space.id) };
    }

    /// Whether a new area so near below a growing stack would eat its guard.
    pub fn guard(area: &Area) -> u64 {
        if area.role == Role::Stack { STACK_GAP } else { 0 }
    }

    /// Unmaps the pages of a range that have frames, a run of chunks at a time.
    fn unmap_tables(&mut self, range: PageRange) {
        let mut batch = Batch::new(self.space.id);
        for (page, _) in self.space.pages.iter(range) {
            // Taking mappings away needs no page table, so it cannot fail.
            let _ = batch.unmap(self.host, page);
        }
        let _ = batch.flush(self.host);
    }
}

/// A single page's entry: what a page fault asks for.
pub fn single(page: Page, memory: &Memory, frame: Frame, rights: PageRights) -> MapEntry {
    MapEntry::Map { pages: PageRange::new(page, 1), first: memory.frames.locate(frame), rights }
}
