//! The areas of one space, in order.
//!
//! Invariant: areas ascend, none is empty, none overlap, and no two neighbours could be one
//! ([`Area::joined`]). The list is a sorted vector: programs have tens of areas, and a search over tens of
//! neighbours in memory beats any tree.

use super::area::Area;
use crate::address::{Page, PageRange};
use alloc::vec::Vec;

/// Sorted, disjoint, merged areas.
#[derive(Debug, Default)]
pub struct AreaMap {
    areas: Vec<Area>,
}

impl AreaMap {
    /// How many areas.
    pub fn len(&self) -> usize {
        self.areas.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.areas.is_empty()
    }

    /// The area that a page lies in.
    pub fn find(&self, page: Page) -> Option<&Area> {
        self.at_or_after(page).filter(|area| area.range.contains(page))
    }

    /// The area that a page lies in, or else the next above.
    pub fn at_or_after(&self, page: Page) -> Option<&Area> {
        self.areas.get(self.position(page))
    }

    /// The last area that ends at or below a page.
    pub fn before(&self, page: Page) -> Option<&Area> {
        self.areas.get(self.position(page).checked_sub(1)?)
    }

    /// All areas, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Area> {
        self.areas.iter()
    }

    /// The parts of areas that lie in a range, ascending.
    pub fn parts(&self, range: PageRange) -> impl Iterator<Item = Area> {
        let from = self.areas.get(self.position(range.start)..).unwrap_or_default().iter();
        let end = if range.is_empty() { range.start } else { range.end };
        from.take_while(move |area| area.range.start < end).map(move |area| area.part(range))
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
        let position = self.position(area.range.start);
        // The usual case, a heap or a run of mappings that grows, changes one area in place.
        if let Some(joined) = self.neighbour(position.checked_sub(1)).and_then(|before| before.joined(&area))
        {
            self.replace(position - 1, joined);
            self.merge_with_next(position - 1);
        } else if let Some(joined) = self.neighbour(Some(position)).and_then(|after| area.joined(&after)) {
            self.replace(position, joined);
        } else {
            self.areas.insert(position, area);
        }
    }

    /// Takes everything out of a range, giving each part to `each`, ascending.
    pub fn remove(&mut self, range: PageRange, mut each: impl FnMut(Area)) {
        if self.is_free(range) {
            return;
        }
        self.split_at(range.start);
        self.split_at(range.end);
        let first = self.position(range.start);
        let last = self.position(range.end);
        self.areas.drain(first..last).for_each(&mut each);
    }

    /// Changes everything in a range; `change` must leave the pages as they are.
    pub fn update(&mut self, range: PageRange, mut change: impl FnMut(&mut Area)) {
        if self.is_free(range) {
            return;
        }
        self.split_at(range.start);
        self.split_at(range.end);
        let first = self.position(range.start);
        let last = self.position(range.end);
        self.areas.get_mut(first..last).unwrap_or_default().iter_mut().for_each(&mut change);
        for position in (first.saturating_sub(1)..last).rev() {
            self.merge_with_next(position);
        }
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
        let mut position = self.position(top);
        let mut end = top;
        if let Some(above) = self.areas.get(position) {
            end = end.min(Page(above.range.start.0.saturating_sub(gap(above))));
        }
        loop {
            let below = self.neighbour(position.checked_sub(1));
            let lowest = below.map_or(bottom, |area| area.range.end.max(bottom));
            if let Some(start) = end.0.checked_sub(pages).map(|start| place(Page(start)))
                && start >= lowest
            {
                return Some(start);
            }
            let below = below.filter(|area| area.range.start > bottom)?;
            end = Page(below.range.start.0.saturating_sub(gap(&below)));
            position -= 1;
        }
    }

    /// The first area whose end lies above a page.
    fn position(&self, page: Page) -> usize {
        self.areas.partition_point(|area| area.range.end <= page)
    }

    fn neighbour(&self, position: Option<usize>) -> Option<Area> {
        self.areas.get(position?).copied()
    }

    fn replace(&mut self, position: usize, area: Area) {
        if let Some(place) = self.areas.get_mut(position) {
            *place = area;
        }
    }

    fn merge_with_next(&mut self, position: usize) {
        let next = position + 1;
        let joined = self.neighbour(Some(position)).zip(self.neighbour(Some(next)));
        if let Some(joined) = joined.and_then(|(area, after)| area.joined(&after)) {
            self.replace(position, joined);
            self.areas.remove(next);
        }
    }

    fn split_at(&mut self, page: Page) {
        let position = self.position(page);
        let Some(area) = self.neighbour(Some(position)).filter(|area| area.range.start < page) else {
            return;
        };
        self.replace(position, area.part(PageRange { start: area.range.start, end: page }));
        self.areas.insert(position + 1, area.part(PageRange { start: page, end: area.range.end }));
    }
}

#[cfg(test)]
mod tests;
