//! Mapping ahead, before the program touches a page: of files what is in memory anyway, of new memory what a
//! stream of stores touches next.

use super::area::{Area, Protection, Sharing};
use super::batch::Batch;
use super::fault::Refused;
use super::space::View;
use crate::address::{Frame, Page, PageRange};
use crate::host::Host;
use arrayvec::ArrayVec;

/// Pages around a touched one that are looked at: Linux's fault_around_bytes, 64 KiB.
const AROUND: u64 = 4;
/// New pages at once for a program that touches one after the other: three of them may stay unused.
const STREAM: usize = 4;
/// With fewer free frames than this nothing is mapped ahead.
const PLENTY: u64 = 256;

impl<H: Host> View<'_, H> {
    /// Maps the pages of a range that show an object's page which has been filled already, in one list.
    ///
    /// What cannot be mapped now is mapped when it is touched, so nothing here fails.
    pub fn map_ahead(&mut self, range: PageRange) {
        let mut batch = Batch::new(self.space.id);
        for page in range.iter() {
            let Some(area) = self.space.areas.find(page).copied() else { continue };
            let Some((object, index)) = area.object_page(page) else { continue };
            if area.protection.is_empty() || self.space.pages.get(page).is_some() {
                continue;
            }
            let Some(frame) = self.memory.objects.filled(object, index) else { continue };
            self.memory.frames.share(frame);
            self.space.pages.insert(page, frame);
            let Some(rights) = self.rights(&area, frame) else { continue };
            if batch.map(self.host, page, self.memory.frames.locate(frame), rights).is_err() {
                return;
            }
        }
        // A lack of page tables is met again, and told, by whoever touches the page.
        let _ = batch.flush(self.host);
    }

    /// Gives a page that is stored to for the first time zeros of its own, and those behind it if the last such store
    /// was to the page before.
    ///
    /// # Errors
    /// OutOfMemory, when not even the touched page can be had.
    pub(super) fn map_zeros(&mut self, area: &Area, page: Page) -> Result<(), Refused> {
        let most = if self.space.stream == page { self.stream_pages(area, page) } else { 1 };
        let mut frames: ArrayVec<Frame, STREAM> = ArrayVec::new();
        while frames.len() < most
            && let Some(frame) = self.memory.frames.take_zeroed(self.host)
        {
            frames.push(frame);
        }
        // Frames that follow each other are one entry.
        frames.sort_unstable();
        let mut batch = Batch::new(self.space.id);
        for (frame, page) in frames.iter().zip((page.0..).map(Page)) {
            self.space.pages.insert(page, *frame);
            self.space.stream = page.plus(1);
            let rights = self.rights(area, *frame).ok_or(Refused::Protected)?;
            let place = self.memory.frames.locate(*frame);
            batch.map(self.host, page, place, rights).map_err(|_| Refused::OutOfMemory)?;
        }
        if frames.is_empty() {
            return Err(Refused::OutOfMemory);
        }
        batch.flush(self.host).map_err(|_| Refused::OutOfMemory)
    }

    /// How many pages from one on are new, up to [`STREAM`].
    fn stream_pages(&self, area: &Area, page: Page) -> usize {
        if self.memory.frames.free_count() < PLENTY {
            return 1;
        }
        let pages = (page.0..area.range.end.0).map(Page).take(STREAM);
        pages.take_while(|page| self.space.pages.get(*page).is_none()).count()
    }

    /// Maps what is filled around a touched page of a file, as Linux's fault-around does for reads.
    pub(super) fn map_around(&mut self, page: Page) {
        let start = Page(page.0 - page.0 % AROUND);
        self.map_ahead(PageRange::new(start, AROUND));
    }

    /// Maps ahead the text of a program just loaded: areas that are executed and not written.
    pub fn map_text_ahead(&mut self) {
        let text: alloc::vec::Vec<PageRange> = self
            .space
            .areas
            .iter()
            .filter(|area| area.sharing == Sharing::Private && area.protection.contains(Protection::EXECUTE))
            .map(|area| area.range)
            .collect();
        for range in text {
            self.map_ahead(range);
        }
    }
}
