//! mprotect.

use super::area::{Area, Protection, Role};
use super::mmap::protection_of;
use super::space::{MOST_AREAS, View};
use crate::Errno;
use crate::address::{PAGE_BYTES, Page, PageRange, pages_of};
use crate::host::Host;

const PROT_SEM: u32 = 0x8;
const PROT_GROWSDOWN: u32 = 0x0100_0000;
const PROT_GROWSUP: u32 = 0x0200_0000;
const KNOWN: u32 = 0x7 | PROT_SEM;

impl<H: Host> View<'_, H> {
    /// Changes what a program may do with pages.
    ///
    /// As Linux does, areas before the first that refuses are changed when the call fails.
    ///
    /// # Errors
    /// As mprotect(2): EINVAL, ENOMEM, EACCES.
    pub fn mprotect(&mut self, address: u64, bytes: u64, bits: u32) -> Result<u64, Errno> {
        let grows = bits & (PROT_GROWSDOWN | PROT_GROWSUP);
        let bits = bits & !(PROT_GROWSDOWN | PROT_GROWSUP);
        if grows == PROT_GROWSDOWN | PROT_GROWSUP || !address.is_multiple_of(PAGE_BYTES) {
            return Err(Errno::EINVAL);
        }
        if bytes == 0 {
            return Ok(0);
        }
        let pages = pages_of(bytes).ok_or(Errno::ENOMEM)?;
        let mut range = PageRange::new(Page::of(address), pages);
        if range.end.0 > u64::MAX / PAGE_BYTES {
            return Err(Errno::ENOMEM);
        }
        if bits & !KNOWN != 0 {
            return Err(Errno::EINVAL);
        }
        let first = *self.space.areas.at_or_after(range.start).ok_or(Errno::ENOMEM)?;
        match grows {
            PROT_GROWSDOWN => range.start = stack_start(&first, range)?,
            // No area of ours grows upwards.
            PROT_GROWSUP => return Err(Errno::EINVAL),
            _ => {}
        }
        self.protect_range(range, protection_of(bits))
    }

    fn protect_range(&mut self, range: PageRange, protection: Protection) -> Result<u64, Errno> {
        let covered = PageRange::new(range.start, self.space.areas.covered(range));
        let refused = self.space.areas.parts(covered).find(|area| !area.most.contains(protection));
        let done =
            PageRange { start: covered.start, end: refused.map_or(covered.end, |area| area.range.start) };
        if !done.is_empty() {
            if self.space.areas.len() + 2 > MOST_AREAS {
                return Err(Errno::ENOMEM);
            }
            self.space.areas.update(done, |area| area.protection = protection);
            self.refresh(done)?;
        }
        match refused {
            Some(_) => Err(Errno::EACCES),
            None if done.end < range.end => Err(Errno::ENOMEM),
            None => Ok(0),
        }
    }
}

/// PROT_GROWSDOWN goes from the start of the growing area that the range begins in.
fn stack_start(first: &Area, range: PageRange) -> Result<Page, Errno> {
    if first.range.start >= range.end {
        return Err(Errno::ENOMEM);
    }
    if first.role == Role::Stack { Ok(first.range.start) } else { Err(Errno::EINVAL) }
}
