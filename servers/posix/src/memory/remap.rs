//! mremap.

use super::area::{Area, Backing, Role, Sharing};
use super::batch::Batch;
use super::space::View;
use crate::Errno;
use crate::address::{LOWER_HALF_END, PAGE_BYTES, Page, PageRange, pages_of};
use crate::host::Host;
use alloc::vec::Vec;
use bitflags::bitflags;

bitflags! {
    /// mremap's flags.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RemapFlags: u32 {
        /// It may lie elsewhere afterwards.
        const MAYMOVE = 1;
        /// It must lie at the given address afterwards.
        const FIXED = 2;
        /// The old pages stay as an empty area.
        const DONTUNMAP = 4;
    }
}

impl<H: Host> View<'_, H> {
    /// Grows, shrinks or moves an area; returns where it is.
    ///
    /// # Errors
    /// As mremap(2): EINVAL, EFAULT, ENOMEM.
    pub fn mremap(
        &mut self,
        old: u64,
        old_bytes: u64,
        new_bytes: u64,
        bits: u32,
        to: u64,
    ) -> Result<u64, Errno> {
        let flags = RemapFlags::from_bits(bits).ok_or(Errno::EINVAL)?;
        let needs_move = flags.intersects(RemapFlags::FIXED | RemapFlags::DONTUNMAP);
        if (needs_move && !flags.contains(RemapFlags::MAYMOVE)) || !old.is_multiple_of(PAGE_BYTES) {
            return Err(Errno::EINVAL);
        }
        let old_pages = pages_of(old_bytes).ok_or(Errno::EINVAL)?;
        let new_pages = pages_of(new_bytes).filter(|pages| *pages != 0).ok_or(Errno::EINVAL)?;
        if flags.contains(RemapFlags::DONTUNMAP) && old_pages != new_pages {
            return Err(Errno::EINVAL);
        }
        let source = PageRange::new(Page::of(old), old_pages);
        if flags.contains(RemapFlags::FIXED) {
            let target = fixed_target(source, new_pages, to)?;
            return if old_pages == new_pages {
                self.move_all(source, target, flags)
            } else {
                self.move_to(source, target, flags)
            };
        }
        let area = *self.space.areas.find(source.start).ok_or(Errno::EFAULT)?;
        if !flags.contains(RemapFlags::DONTUNMAP) {
            if new_pages <= old_pages {
                self.unmap(PageRange { start: source.start.plus(new_pages), end: source.end })?;
                return Ok(old);
            }
            if source.is_empty() && area.sharing == Sharing::Private {
                // Linux duplicates shared mappings only.
                return Err(Errno::EINVAL);
            }
            if source.end > area.range.end {
                return Err(Errno::EFAULT);
            }
            if source.end == area.range.end && old_pages != 0 && self.extend(&area, new_pages - old_pages)? {
                return Ok(old);
            }
        }
        if !flags.contains(RemapFlags::MAYMOVE) {
            return Err(Errno::ENOMEM);
        }
        let colour = area.object_page(source.start).map(|(_, page)| page.0);
        let start = self.find_room(new_pages, colour)?;
        self.move_to(source, PageRange::new(start, new_pages), flags)
    }

    /// Makes an area longer where it is, if the pages behind it are free.
    fn extend(&mut self, area: &Area, pages: u64) -> Result<bool, Errno> {
        let more = PageRange::new(area.range.end, pages);
        let guard = self.space.areas.at_or_after(more.end).map_or(0, Self::guard);
        let wide = PageRange { start: more.start, end: more.end.plus(guard) };
        if more.end > Page::of(LOWER_HALF_END) || !self.space.areas.is_free(wide) {
            return Ok(false);
        }
        self.check_room(pages)?;
        self.check_total(pages)?;
        let longer = Area { range: PageRange { start: area.range.start, end: more.end }, ..*area };
        let part = longer.part(more);
        self.share_object(&part);
        self.add_area(part)?;
        Ok(true)
    }

    /// Moves every area of a range to the same places of another, as Linux does since 6.17.
    fn move_all(&mut self, source: PageRange, target: PageRange, flags: RemapFlags) -> Result<u64, Errno> {
        let parts: Vec<PageRange> = self.space.areas.parts(source).map(|part| part.range).collect();
        if parts.first().is_none_or(|part| part.start != source.start) {
            return Err(Errno::EFAULT);
        }
        for part in parts {
            let to = PageRange::new(target.start.plus(part.start.0 - source.start.0), part.pages());
            self.move_to(part, to, flags)?;
        }
        Ok(target.start.address())
    }

    /// Moves pages and their area; what lay at the target goes away.
    fn move_to(&mut self, source: PageRange, target: PageRange, flags: RemapFlags) -> Result<u64, Errno> {
        let area = *self.space.areas.find(source.start).ok_or(Errno::EFAULT)?;
        if source.is_empty() && area.sharing == Sharing::Private {
            // Linux duplicates shared mappings only.
            return Err(Errno::EINVAL);
        }
        let kept = PageRange::new(source.start, source.pages().min(target.pages()));
        if area.range.intersection(kept) != kept {
            return Err(Errno::EFAULT);
        }
        let plain = area.sharing == Sharing::Private && area.backing == Backing::Zeros;
        if flags.contains(RemapFlags::DONTUNMAP) && !plain {
            return Err(Errno::EINVAL);
        }
        self.check_room(target.pages())?;
        self.check_total(target.pages().saturating_sub(source.pages()))?;
        self.unmap(target)?;
        let role = if area.role == Role::Heap { Role::Plain } else { area.role };
        let moved = Area {
            range: PageRange::new(source.start, target.pages()),
            role,
            ..area.part(PageRange { start: source.start, end: area.range.end })
        };
        let moved = Area { range: target, ..moved };
        self.share_object(&moved);
        self.add_area(moved)?;
        self.move_pages(kept, target)?;
        if !flags.contains(RemapFlags::DONTUNMAP) {
            self.unmap(source)?;
        }
        Ok(target.start.address())
    }

    /// Hands the frames of one range to another of the same space.
    fn move_pages(&mut self, from: PageRange, to: PageRange) -> Result<(), Errno> {
        let mut batch = Batch::new(self.space.id);
        for (page, _) in self.space.pages.iter(from) {
            batch.unmap(self.host, page)?;
        }
        batch.flush(self.host)?;
        let mut page = from.start;
        while let Some((next, frame)) = self.space.pages.next(page, from.end) {
            page = next.plus(1);
            self.space.pages.remove(next);
            self.space.pages.insert(to.start.plus(next.0 - from.start.0), frame);
        }
        // What is not mapped now is mapped when it is touched, so a lack of tables here costs nothing.
        let _ = self.refresh(to);
        Ok(())
    }

    fn share_object(&mut self, area: &Area) {
        if let Backing::Object { object, .. } = area.backing {
            self.memory.objects.share(object, area.range.pages());
        }
    }

    fn check_total(&self, pages: u64) -> Result<(), Errno> {
        if pages > self.memory.frames.total() { Err(Errno::ENOMEM) } else { Ok(()) }
    }
}

/// The target of MREMAP_FIXED, which must be a page's address within the space and apart from the source.
fn fixed_target(source: PageRange, pages: u64, to: u64) -> Result<PageRange, Errno> {
    let target = PageRange::of_bytes(to, pages.saturating_mul(PAGE_BYTES))?;
    // An empty source within the target overlaps it, too.
    if source.end > target.start && target.end > source.start { Err(Errno::EINVAL) } else { Ok(target) }
}
