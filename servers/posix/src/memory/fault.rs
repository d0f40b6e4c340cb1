//! A touched page that is not there, or not there for that: what to map, or which signal.

use super::area::{Area, Backing, Protection, Role, Sharing};
use super::batch::map_all;
use super::object::NoPage;
use super::space::{STACK_GAP, View, single};
use crate::address::{Frame, PAGE_BYTES, Page, PageRange};
use crate::host::{Host, Reserve};

/// How a page was touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A load.
    Load,
    /// A store.
    Store,
    /// An instruction fetch.
    Fetch,
}

/// Why a touched page stays away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No area there: SIGSEGV with SEGV_MAPERR.
    NotMapped,
    /// The area does not allow it: SIGSEGV with SEGV_ACCERR.
    Protected,
    /// Behind the end of what is mapped: SIGBUS with BUS_ADRERR.
    BeyondEnd,
    /// No frame or no page table is left: the program is killed, as Linux's out-of-memory killer would.
    OutOfMemory,
}

impl From<NoPage> for Refused {
    fn from(no_page: NoPage) -> Self {
        match no_page {
            NoPage::BeyondEnd => Self::BeyondEnd,
            NoPage::OutOfMemory => Self::OutOfMemory,
        }
    }
}

impl<H: Host> View<'_, H> {
    /// Makes an access to an address possible, or says why it must not be.
    ///
    /// # Errors
    /// [`Refused`] names the signal.
    pub fn resolve(&mut self, address: u64, access: Access) -> Result<(), Refused> {
        // A page costs the server memory of its own, whoever touches it: the program, or a call on its behalf.
        if self.host.reserve() == Reserve::Last {
            return Err(Refused::OutOfMemory);
        }
        let page = Page::of(address);
        let area = match self.space.areas.find(page) {
            Some(area) => *area,
            None => self.grow_stack(page)?,
        };
        if !allowed(&area, access) {
            return Err(Refused::Protected);
        }
        if access == Access::Store && area.is_fresh() && self.space.pages.get(page).is_none() {
            return self.map_zeros(&area, page);
        }
        let frame = self.frame_for(&area, page, access)?;
        // Allowed areas have some protection, so there are rights to give.
        let rights = self.rights(&area, frame).ok_or(Refused::Protected)?;
        let entry = single(page, self.memory, frame, rights);
        map_all(self.host, self.space.id, &[entry]).map_err(|_| Refused::OutOfMemory)?;
        if access != Access::Store && area.backing != Backing::Zeros {
            self.map_around(page);
        }
        Ok(())
    }

    /// The frame that an allowed access to a page is to find.
    pub(super) fn frame_for(&mut self, area: &Area, page: Page, access: Access) -> Result<Frame, Refused> {
        let present = self.space.pages.get(page);
        if area.sharing == Sharing::Private && access == Access::Store {
            return self.own_frame(area, page, present);
        }
        if let Some(frame) = present {
            return Ok(frame);
        }
        let frame = match area.object_page(page) {
            Some((object, index)) => {
                self.memory.objects.page(object, index, &mut self.memory.frames, self.host)?
            }
            None => self.memory.zero.ok_or(Refused::OutOfMemory)?,
        };
        self.memory.frames.share(frame);
        self.space.pages.insert(page, frame);
        Ok(frame)
    }

    /// A frame that nobody else holds, with the page's contents: copy on write.
    fn own_frame(&mut self, area: &Area, page: Page, present: Option<Frame>) -> Result<Frame, Refused> {
        let before = match present {
            Some(frame) if self.memory.frames.is_exclusive(frame) => return Ok(frame),
            Some(frame) => Some(frame),
            None => match area.object_page(page) {
                Some((object, index)) => {
                    Some(self.memory.objects.page(object, index, &mut self.memory.frames, self.host)?)
                }
                None => None,
            },
        };
        let frames = &mut self.memory.frames;
        let frame = match before.filter(|frame| Some(*frame) != self.memory.zero) {
            Some(before) => {
                let frame = frames.take().ok_or(Refused::OutOfMemory)?;
                self.host.copy_frame(frames.locate(before), frames.locate(frame));
                frame
            }
            None => frames.take_zeroed(self.host).ok_or(Refused::OutOfMemory)?,
        };
        if let Some(replaced) = self.space.pages.insert(page, frame) {
            // The kernel may still map it until the caller maps the new frame: no program runs in between,
            // and that call cannot fail, because a page that is mapped has its table.
            frames.release(replaced);
        }
        Ok(frame)
    }

    /// Extends a growing stack down to a page below it, within RLIMIT_STACK and away from what is below.
    fn grow_stack(&mut self, page: Page) -> Result<Area, Refused> {
        let stack = *self.space.areas.at_or_after(page).ok_or(Refused::NotMapped)?;
        if stack.role != Role::Stack {
            return Err(Refused::NotMapped);
        }
        let bytes = (stack.range.end.0 - page.0).saturating_mul(PAGE_BYTES);
        let room = self.space.areas.before(page).is_none_or(|below| {
            below.protection.is_empty()
                || below.range.end.plus(STACK_GAP) <= page
                || below.role == Role::Stack
        });
        if bytes > self.space.limits.stack || !room {
            return Err(Refused::NotMapped);
        }
        let more = Area { range: PageRange { start: page, end: stack.range.start }, ..stack };
        self.add_area(more).map_err(|_| Refused::NotMapped)?;
        self.space.areas.find(page).copied().ok_or(Refused::NotMapped)
    }
}

/// Linux's rule for LoongArch (arch/loongarch/mm/fault.c): a load needs READ or WRITE, a fetch EXECUTE.
fn allowed(area: &Area, access: Access) -> bool {
    let one_of = match access {
        Access::Load => Protection::READ | Protection::WRITE,
        Access::Store => Protection::WRITE,
        Access::Fetch => Protection::EXECUTE,
    };
    area.protection.intersects(one_of)
}
