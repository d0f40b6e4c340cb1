//! Copying a space: the child shares every page, and private ones are copied when either side stores.

use super::area::{Backing, Protection, Sharing};
use super::batch::Batch;
use super::space::{Space, View};
use crate::Errno;
use crate::host::{Host, PageRights};

impl<H: Host> View<'_, H> {
    /// Makes an empty space a copy of this one.
    ///
    /// The parent's private writable pages lose their WRITE in the tables, in as few entries as their runs
    /// allow. The child's pages are mapped in one list as well: a child that runs on touches most of them, and
    /// the others cost less in a list than a few of them by faults.
    ///
    /// # Errors
    /// ENOMEM when no page table was left; the child is to be cleared then, and the parent goes on with fewer
    /// rights in its tables than it may have, which its faults mend.
    pub fn fork_into(&mut self, child: &mut Space) -> Result<(), Errno> {
        child.limits = self.space.limits;
        (child.heap_start, child.heap_end) = (self.space.heap_start, self.space.heap_end);
        (child.mmap_top, child.sigreturn) = (self.space.mmap_top, self.space.sigreturn);
        child.strings = self.space.strings;
        self.adopt(child);
        let mut parent_batch = Batch::new(self.space.id);
        let mut child_batch = Batch::new(child.id);
        for area in self.space.areas.iter() {
            // Both hold the frame from here on, so that neither may store.
            let mut rights = PageRights::empty();
            rights.set(PageRights::EXECUTE, area.protection.contains(Protection::EXECUTE));
            let shared = area.sharing == Sharing::Shared;
            let writable = area.protection.contains(Protection::WRITE);
            rights.set(PageRights::WRITE, shared && writable);
            for (page, frame) in self.space.pages.iter(area.range) {
                let at = self.memory.frames.locate(frame);
                let exclusive = self.memory.frames.is_exclusive(frame);
                self.memory.frames.share(frame);
                child.pages.insert(page, frame);
                if area.protection.is_empty() {
                    continue;
                }
                child_batch.map(self.host, page, at, rights)?;
                if !shared && writable && exclusive {
                    parent_batch.map(self.host, page, at, rights)?;
                }
            }
        }
        parent_batch.flush(self.host)?;
        child_batch.flush(self.host)
    }

    /// The child has all areas, and counts on what they show.
    fn adopt(&mut self, child: &mut Space) {
        for area in self.space.areas.iter() {
            if let Backing::Object { object, .. } = area.backing {
                self.memory.objects.share(object, area.range.pages());
            }
        }
        child.areas = self.space.areas.clone();
        child.area_pages = self.space.area_pages;
    }
}
