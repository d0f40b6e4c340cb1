//! The areas of one space, in order.
//!
//! Invariant: areas ascend, none is empty, none overlap, and no two neighbours could be one
//! ([`Area::joined`]). They lie in sorted blocks: most programs' tens of areas are one block, and a search over tens of
//! neighbours in memory beats any tree; those that have tens of thousands move no more than a block at a time.

use super::area::Area;
use crate::address::{Page, PageRange};
use alloc::vec::Vec;
use core::cell::Cell;

/// Most areas of a block; few in tests, which then have several blocks.
const BLOCK: usize = if cfg!(test) { 4 } else { 256 };

/// Sorted, disjoint, merged areas.
#[derive(Clone, Debug, Default)]
pub struct AreaMap {
    /// None is empty.
    blocks: Vec<Block>,
    areas: usize,
}

/// Areas in a row.
#[derive(Clone, Debug)]
struct Block {
    areas: Vec<Area>,
    /// Below none of them more pages are free: a search for more passes the block by.
    widest: Cell<u64>,
}

/// The place of an area: which block, and which of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct At {
    block: usize,
    place: usize,
}

impl AreaMap {
    /// How many areas.
    pub fn len(&self) -> usize {
        self.areas
    }

    /// Bytes of the server's memory that as many areas take elsewhere, at most.
    pub const fn bytes(&self) -> usize {
        2 * self.areas * size_of::<Area>()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.areas == 0
    }

    /// The area that a page lies in.
    #[inline]
    pub fn find(&self, page: Page) -> Option<&Area> {
        self.at_or_after(page).filter(|area| area.range.contains(page))
    }

    /// The area that a page lies in, or else the next above.
    #[inline]
    pub fn at_or_after(&self, page: Page) -> Option<&Area> {
        self.get(self.position(page))
    }

    /// The last area that ends at or below a page.
    pub fn before(&self, page: Page) -> Option<&Area> {
        self.get(self.below(self.position(page))?)
    }

    /// All areas, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Area> {
        self.blocks.iter().flat_map(|block| &block.areas)
    }

    /// The parts of areas that lie in a range, ascending.
    pub fn parts(&self, range: PageRange) -> impl Iterator<Item = Area> {
        let mut at = self.position(range.start);
        let end = if range.is_empty() { range.start } else { range.end };
        core::iter::from_fn(move || {
            let area = self.get(at).filter(|area| area.range.start < end)?;
            at = self.after(at);
            Some(area.part(range))
        })
    }

    /// Whether nothing lies in a range.
    pub fn is_free(&self, range: PageRange) -> bool {
        range.is_empty() || self.at_or_after(range.start).is_none_or(|area| area.range.start >= range.end)
    }

    /// Pages of a range, from its start, before the first that no area has.
    pub fn covered(&self, range: PageRange) -> u64 {
        let mut end = range.start;
        for area in self.parts(range) {
            if area.range.start != end {
                break;
            }
            end = area.range.end;
        }
        end.0 - range.start.0
    }

    /// Puts an area where nothing is.
    pub fn insert(&mut self, area: Area) {
        if area.range.is_empty() {
            return;
        }
        let at = self.position(area.range.start);
        let below = self.below(at);
        // The usual case, a heap or a run of mappings that grows, changes one area in place.
        if let Some(below) = below
            && let Some(joined) = self.get(below).and_then(|before| before.joined(&area))
        {
            self.replace(below, joined);
            self.merge_with_next(below);
        } else if let Some(joined) = self.get(at).and_then(|after| area.joined(after)) {
            self.replace(at, joined);
        } else {
            self.put(at, area);
        }
    }

    /// Takes everything out of a range, giving each part to `each`, ascending.
    pub fn remove(&mut self, range: PageRange, mut each: impl FnMut(Area)) {
        if self.is_free(range) {
            return;
        }
        let (first, last) = self.split_around(range);
        if first.block != last.block {
            self.remove_blocks(first, last, each);
        } else if let Some(block) = self.blocks.get_mut(first.block) {
            self.areas -= last.place - first.place;
            block.areas.drain(first.place..last.place).for_each(&mut each);
            if block.areas.is_empty() {
                self.blocks.remove(first.block);
            }
        }
        if self.blocks.len() <= 1 {
            self.measure_below(first);
        } else {
            self.join_small(first.block);
            self.measure_below(self.position(range.start));
        }
    }

    /// Takes out what lies between two places of different blocks.
    #[cold]
    fn remove_blocks(&mut self, first: At, last: At, mut each: impl FnMut(Area)) {
        for number in first.block..=last.block {
            let Some(block) = self.blocks.get_mut(number) else { break };
            let from = if number == first.block { first.place } else { 0 };
            let to = if number == last.block { last.place } else { block.areas.len() };
            self.areas -= to - from;
            block.areas.drain(from..to).for_each(&mut each);
        }
        self.blocks.retain(|block| !block.areas.is_empty());
    }

    /// Changes everything in a range; `change` must leave the pages as they are.
    pub fn update(&mut self, range: PageRange, mut change: impl FnMut(&mut Area)) {
        if self.is_free(range) {
            return;
        }
        let (first, last) = self.split_around(range);
        for number in (first.block..=last.block).rev() {
            let Some(block) = self.blocks.get_mut(number) else { continue };
            let from = if number == first.block { first.place } else { 0 };
            let to = if number == last.block { last.place } else { block.areas.len() };
            block.areas.get_mut(from..to).unwrap_or_default().iter_mut().for_each(&mut change);
            if from < to {
                // With the one above, which may be another block's.
                self.merge_with_next(At { block: number, place: to - 1 });
                self.merge_all(number, from, to);
            }
        }
        if let Some(below) = self.below(first) {
            self.merge_with_next(below);
        }
        self.join_small(first.block);
    }

    /// The highest `pages` free pages that end at or below `top` and start at or above `bottom`.
    ///
    /// `place` moves a candidate's first page down to where it may begin (alignment); `gap` says how many
    /// pages must stay free below an area (a stack's guard).
    pub fn gap_below(
        &self,
        (bottom, top): (Page, Page),
        pages: u64,
        place: impl Fn(Page) -> Page,
        gap: impl Fn(&Area) -> u64,
    ) -> Option<Page> {
        let mut at = self.position(top);
        let mut end = top;
        if let Some(above) = self.get(at) {
            end = end.min(Page(above.range.start.0.saturating_sub(gap(above))));
        }
        loop {
            let below = self.below(at).and_then(|below| Some((below, self.get(below)?)));
            let lowest = below.map_or(bottom, |(_, area)| area.range.end.max(bottom));
            if let Some(start) = end.0.checked_sub(pages).map(|start| place(Page(start)))
                && start >= lowest
            {
                return Some(start);
            }
            let (mut next, mut area) = below.filter(|(_, area)| area.range.start > bottom)?;
            if next.block != at.block {
                self.measure(at.block);
                while self.blocks.get(next.block).is_some_and(|block| block.widest.get() < pages) {
                    next = self.last_of(next.block.checked_sub(1)?)?;
                    area = self.get(next)?;
                }
            }
            end = Page(area.range.start.0.saturating_sub(gap(area)));
            at = next;
        }
    }

    /// The first area whose end lies above a page; behind the last if there is none.
    #[inline]
    fn position(&self, page: Page) -> At {
        let number = match self.blocks.as_slice() {
            [_] => 0,
            blocks => {
                let ends = |block: &Block| block.areas.last().is_some_and(|area| area.range.end <= page);
                blocks.partition_point(ends).min(blocks.len().saturating_sub(1))
            }
        };
        let areas = self.blocks.get(number).map_or(&[][..], |block| &block.areas);
        At { block: number, place: areas.partition_point(|area| area.range.end <= page) }
    }

    #[inline]
    fn get(&self, at: At) -> Option<&Area> {
        self.blocks.get(at.block)?.areas.get(at.place)
    }

    /// The place below another.
    #[inline]
    fn below(&self, at: At) -> Option<At> {
        match at.place.checked_sub(1) {
            Some(place) => Some(At { place, ..at }),
            None => self.last_of(at.block.checked_sub(1)?),
        }
    }

    #[inline]
    fn last_of(&self, block: usize) -> Option<At> {
        Some(At { block, place: self.blocks.get(block)?.areas.len().checked_sub(1)? })
    }

    /// The place above another, whether there is an area there or not.
    #[inline]
    fn after(&self, at: At) -> At {
        let length = self.blocks.get(at.block).map_or(0, |block| block.areas.len());
        if at.place + 1 < length {
            At { place: at.place + 1, ..at }
        } else {
            At { block: at.block + 1, place: 0 }
        }
    }

    #[inline]
    fn replace(&mut self, at: At, area: Area) {
        if let Some(place) = self.blocks.get_mut(at.block).and_then(|block| block.areas.get_mut(at.place)) {
            *place = area;
        }
    }

    /// Puts an area at a place, before what is there; says where it is then.
    fn put(&mut self, at: At, area: Area) -> At {
        self.areas += 1;
        let mut at = at;
        if self.blocks.get(at.block).is_none_or(|block| block.areas.len() >= BLOCK) {
            at = self.make_room(at);
        }
        if let Some(block) = self.blocks.get_mut(at.block) {
            block.areas.insert(at.place, area);
        }
        self.measure_below(at);
        at
    }

    /// Begins a block where the map or the block ends, or else halves the block; says where the place is then.
    #[cold]
    fn make_room(&mut self, at: At) -> At {
        let half = match self.blocks.get_mut(at.block) {
            None => Block { areas: Vec::new(), widest: Cell::new(0) },
            Some(block) => {
                let from = if at.place == block.areas.len() { at.place } else { BLOCK / 2 };
                Block { areas: block.areas.split_off(from), widest: block.widest.clone() }
            }
        };
        let lower = self.blocks.get(at.block).map_or(0, |block| block.areas.len());
        let number = self.blocks.len().min(at.block + 1);
        self.blocks.insert(number, half);
        if at.place < lower { at } else { At { block: number, place: at.place - lower } }
    }

    fn merge_with_next(&mut self, at: At) {
        let next = self.after(at);
        let joined = self.get(at).zip(self.get(next)).and_then(|(area, after)| area.joined(after));
        if let Some(joined) = joined {
            self.replace(at, joined);
            self.take(next);
        }
    }

    fn take(&mut self, at: At) {
        let Some(block) = self.blocks.get_mut(at.block) else { return };
        block.areas.remove(at.place);
        self.areas -= 1;
        if block.areas.is_empty() {
            self.blocks.remove(at.block);
        }
    }

    /// Merges neighbours among the areas from one place of a block to another.
    fn merge_all(&mut self, block: usize, from: usize, to: usize) {
        /// More are merged in one go through the block.
        const FEW: usize = 4;
        if to - from <= FEW {
            for place in (from..to - 1).rev() {
                self.merge_with_next(At { block, place });
            }
            return;
        }
        let Some(block) = self.blocks.get_mut(block) else { return };
        let before = block.areas.len();
        block.areas.dedup_by(|next, area| match area.joined(next) {
            Some(joined) => {
                *area = joined;
                true
            }
            None => false,
        });
        self.areas -= before - block.areas.len();
    }

    /// Makes areas begin and end where a range does; says between which places it lies then.
    #[inline]
    fn split_around(&mut self, range: PageRange) -> (At, At) {
        let first = self.split_at(range.start);
        let blocks = self.blocks.len();
        let last = self.split_at(range.end);
        // The second may have halved the block of the first.
        let first = if self.blocks.len() == blocks { first } else { self.position(range.start) };
        (first, last)
    }

    /// Makes an area begin at a page that lies in one; says which is the first that ends above the page.
    fn split_at(&mut self, page: Page) -> At {
        let at = self.position(page);
        let Some(area) = self.get(at).copied().filter(|area| area.range.start < page) else {
            return at;
        };
        self.replace(at, area.part(PageRange { start: area.range.start, end: page }));
        let above = area.part(PageRange { start: page, end: area.range.end });
        self.put(At { place: at.place + 1, ..at }, above)
    }

    /// Makes one of a block and the next when both have become small.
    #[inline]
    fn join_small(&mut self, number: usize) {
        if number + 1 < self.blocks.len() {
            self.join_with_next(number);
        }
    }

    #[cold]
    fn join_with_next(&mut self, number: usize) {
        let length = |number: usize| self.blocks.get(number).map(|block| block.areas.len());
        let (Some(one), Some(other)) = (length(number), length(number + 1)) else { return };
        if one + other > BLOCK / 2 {
            return;
        }
        let next = self.blocks.remove(number + 1);
        if let Some(block) = self.blocks.get_mut(number) {
            block.areas.extend(next.areas);
            block.widest.set(block.widest.get().max(next.widest.get()));
        }
    }

    /// Free pages below an area.
    #[inline]
    fn free_below(&self, at: At) -> u64 {
        let end = self.below(at).and_then(|below| self.get(below)).map_or(0, |below| below.range.end.0);
        self.get(at).map_or(0, |area| area.range.start.0 - end)
    }

    /// What is free below an area has become more.
    #[inline]
    fn measure_below(&self, at: At) {
        if let Some(block) = self.blocks.get(at.block) {
            block.widest.set(block.widest.get().max(self.free_below(at)));
        }
    }

    /// Measures a block anew: what was free below its areas may have become less.
    fn measure(&self, number: usize) {
        let Some(block) = self.blocks.get(number) else { return };
        let all = (0..block.areas.len()).map(|place| self.free_below(At { block: number, place }));
        block.widest.set(all.max().unwrap_or(0));
    }
}

#[cfg(test)]
mod tests;
