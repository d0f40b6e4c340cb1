//! madvise, msync, mincore and the locking of memory, as far as they mean something here.

use super::area::{Backing, Sharing};
use super::space::View;
use crate::Errno;
use crate::address::{LOWER_HALF_END, PAGE_BYTES, Page, PageRange, pages_of};
use crate::host::Host;

const MADV_DONTNEED: u32 = 4;
const MADV_FREE: u32 = 8;
const MADV_POPULATE_READ: u32 = 22;
const MADV_POPULATE_WRITE: u32 = 23;
const MS_ASYNC: u32 = 1;
const MS_SYNC: u32 = 4;
const MS_KNOWN: u32 = 7;

impl<H: Host> View<'_, H> {
    /// Takes a program's advice about pages.
    ///
    /// Advice that only asks for speed is checked and dropped; what must be seen is done. Advice that is not
    /// known gives EINVAL, after which glibc does without (its stack guards use mprotect then).
    ///
    /// # Errors
    /// As madvise(2): EINVAL, ENOMEM where nothing is mapped, EFAULT when populating fails.
    pub fn madvise(&mut self, address: u64, bytes: u64, advice: u32) -> Result<u64, Errno> {
        // NORMAL to WILLNEED, DONTNEED, FREE, then MERGEABLE to COLD and PAGEOUT, which ask for speed only.
        let known = matches!(advice, 0..=4 | 8 | 10..=21 | MADV_POPULATE_READ | MADV_POPULATE_WRITE);
        if !known || !address.is_multiple_of(PAGE_BYTES) {
            return Err(Errno::EINVAL);
        }
        let pages = pages_of(bytes).ok_or(Errno::EINVAL)?;
        if pages > u64::MAX / PAGE_BYTES - Page::of(address).0 {
            return Err(Errno::EINVAL);
        }
        let range = PageRange::new(Page::of(address), pages);
        if range.is_empty() {
            return Ok(0);
        }
        match advice {
            MADV_DONTNEED => self.drop_pages(range),
            // Linux frees such pages some time before they are written again; at once is some time.
            MADV_FREE => self.free_pages(range)?,
            MADV_POPULATE_READ | MADV_POPULATE_WRITE => self.populate(range),
            _ => {}
        }
        self.check_mapped(range)
    }

    /// Checks a range as msync(2) does; there is no file here that a mapping could be written back to.
    ///
    /// # Errors
    /// EINVAL for flags or an address, ENOMEM where nothing is mapped.
    pub fn msync(&mut self, address: u64, bytes: u64, flags: u32) -> Result<u64, Errno> {
        let both = flags & MS_ASYNC != 0 && flags & MS_SYNC != 0;
        if flags & !MS_KNOWN != 0 || both || !address.is_multiple_of(PAGE_BYTES) {
            return Err(Errno::EINVAL);
        }
        let pages = pages_of(bytes).ok_or(Errno::ENOMEM)?;
        self.check_mapped(PageRange::new(Page::of(address), pages))
    }

    /// Checks that every page of a range lies in an area.
    ///
    /// # Errors
    /// ENOMEM when one does not.
    pub fn check_mapped(&self, range: PageRange) -> Result<u64, Errno> {
        if self.space.areas.covered(range) < range.pages() { Err(Errno::ENOMEM) } else { Ok(0) }
    }

    fn drop_pages(&mut self, range: PageRange) {
        let everything = Page::of(LOWER_HALF_END);
        self.release_pages(PageRange { start: range.start, end: range.end.min(everything) });
    }

    fn free_pages(&mut self, range: PageRange) -> Result<(), Errno> {
        let anonymous =
            |area: &super::area::Area| area.sharing == Sharing::Private && area.backing == Backing::Zeros;
        if self.space.areas.parts(range).any(|area| !anonymous(&area)) {
            return Err(Errno::EINVAL);
        }
        self.drop_pages(range);
        Ok(())
    }
}
