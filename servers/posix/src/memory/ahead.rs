//! Mapping ahead: pages of files that are in memory anyway, before the program touches them.

use super::area::{Protection, Sharing};
use super::batch::Batch;
use super::space::View;
use crate::address::{Page, PageRange};
use crate::host::Host;

/// Pages around a touched one that are looked at: Linux's fault_around_bytes, 64 KiB.
const AROUND: u64 = 4;

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
