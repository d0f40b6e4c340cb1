//! The program break.

use super::area::{Area, Protection, Role};
use super::space::{STACK_GAP, View};
use crate::address::{LOWER_HALF_END, PAGE_BYTES, Page, PageRange};
use crate::host::Host;

impl<H: Host> View<'_, H> {
    /// Moves the program break; returns where it is afterwards, which is where it was if it cannot move.
    pub fn brk(&mut self, wanted: u64) -> u64 {
        let now = self.space.heap_end;
        if wanted < self.space.heap_start || wanted > LOWER_HALF_END {
            return now;
        }
        let (before, after) = (now.next_multiple_of(PAGE_BYTES), wanted.next_multiple_of(PAGE_BYTES));
        if after < before {
            let range = PageRange { start: Page::of(after), end: Page::of(before) };
            if self.unmap(range).is_err() {
                return now;
            }
        } else if after > before {
            let range = PageRange { start: Page::of(before), end: Page::of(after) };
            if !self.may_grow(wanted, range) {
                return now;
            }
            let area = Area::zeros(range, Protection::READ | Protection::WRITE, Role::Heap);
            if self.add_area(area).is_err() {
                return now;
            }
        }
        self.space.heap_end = wanted;
        wanted
    }

    fn may_grow(&self, wanted: u64, range: PageRange) -> bool {
        let guarded = self.space.areas.at_or_after(range.end).map_or(0, Self::guard).min(STACK_GAP);
        let wide = PageRange { start: range.start, end: range.end.plus(guarded) };
        wanted - self.space.heap_start <= self.space.limits.data
            && range.pages() <= self.memory.frames.total()
            && self.space.areas.is_free(wide)
    }
}
