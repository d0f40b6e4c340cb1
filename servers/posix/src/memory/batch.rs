//! Changes to a space's mappings, collected into the runs that MapMany takes (C-41).

use crate::Errno;
use crate::address::{Page, PageRange};
use crate::host::{
    BATCH_ENTRIES, ENTRY_PAGES, Host, MapEntry, MapReason, MapStop, PageRights, SpaceId, WindowPage,
};
use arrayvec::ArrayVec;

/// Page tables given at once: what a small program needs for text, heap, stack and mappings.
const TABLES_AT_ONCE: u32 = 4;

/// Entries not yet handed to the kernel.
#[derive(Debug)]
pub struct Batch {
    space: SpaceId,
    entries: ArrayVec<MapEntry, BATCH_ENTRIES>,
}

impl Batch {
    /// An empty batch for a space.
    pub fn new(space: SpaceId) -> Self {
        Self { space, entries: ArrayVec::new() }
    }

    /// Maps one page; pages and frames that go on where the last entry ended lengthen it.
    ///
    /// # Errors
    /// ENOMEM when a full batch had to be handed over and no page table was left.
    pub fn map<H: Host>(
        &mut self,
        host: &mut H,
        page: Page,
        frame: WindowPage,
        rights: PageRights,
    ) -> Result<(), Errno> {
        if let Some(MapEntry::Map { pages, first, rights: before }) = self.entries.last_mut()
            && pages.end == page
            && first.slot == frame.slot
            && first.page + pages.pages() == frame.page
            && *before == rights
            && pages.pages() < ENTRY_PAGES
        {
            pages.end = page.plus(1);
            return Ok(());
        }
        self.push(host, MapEntry::Map { pages: PageRange::new(page, 1), first: frame, rights })
    }

    /// Takes away one page's mapping.
    ///
    /// # Errors
    /// As [`Batch::map`].
    pub fn unmap<H: Host>(&mut self, host: &mut H, page: Page) -> Result<(), Errno> {
        if let Some(MapEntry::Unmap { pages }) = self.entries.last_mut()
            && pages.end == page
            && pages.pages() < ENTRY_PAGES
        {
            pages.end = page.plus(1);
            return Ok(());
        }
        self.push(host, MapEntry::Unmap { pages: PageRange::new(page, 1) })
    }

    /// Hands everything to the kernel.
    ///
    /// # Errors
    /// ENOMEM when no page table was left; the entries before are done.
    pub fn flush<H: Host>(&mut self, host: &mut H) -> Result<(), Errno> {
        let result = map_all(host, self.space, &self.entries);
        self.entries.clear();
        result
    }

    fn push<H: Host>(&mut self, host: &mut H, entry: MapEntry) -> Result<(), Errno> {
        if self.entries.is_full() {
            self.flush(host)?;
        }
        // It was emptied if it was full.
        self.entries.try_push(entry).map_err(|_| Errno::ENOMEM)
    }
}

/// Hands entries to the kernel, with page tables as it asks for them.
///
/// # Errors
/// ENOMEM when no page table was left; the entries before are done.
pub fn map_all<H: Host>(host: &mut H, space: SpaceId, entries: &[MapEntry]) -> Result<(), Errno> {
    let mut left = entries;
    while !left.is_empty() {
        let Err(MapStop { done, reason }) = host.map_many(space, left) else { return Ok(()) };
        left = left.get(done..).unwrap_or_default();
        if reason == MapReason::NeedTable && host.give_tables(space, TABLES_AT_ONCE) == 0 {
            return Err(Errno::ENOMEM);
        }
    }
    Ok(())
}
