//! Pages of a program's space, runs of them, and page frames of the windows.

use crate::Errno;

pub use abi::{LOWER_HALF_END, PAGE_BITS, PAGE_BYTES};

/// Bytes of a page as a length in memory.
pub const PAGE_SIZE: usize = 1 << PAGE_BITS;
/// Number of the first page that no program has.
pub const PAGES_END: u64 = LOWER_HALF_END >> PAGE_BITS;

/// Pages that `bytes` fill, the last perhaps in part; `None` when rounding up wraps.
pub const fn pages_of(bytes: u64) -> Option<u64> {
    match bytes.checked_add(PAGE_BYTES - 1) {
        Some(rounded) => Some(rounded >> PAGE_BITS),
        None => None,
    }
}

/// A page of a program's space, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Page(pub u64);

impl Page {
    /// The page that an address lies in.
    pub const fn of(address: u64) -> Self {
        Self(address >> PAGE_BITS)
    }

    /// Its first address.
    pub const fn address(self) -> u64 {
        self.0 << PAGE_BITS
    }

    /// The page `pages` further on; saturates, so that a wrong sum never wraps into the space.
    pub const fn plus(self, pages: u64) -> Self {
        Self(self.0.saturating_add(pages))
    }
}

/// Pages from `start` to before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRange {
    /// First page.
    pub start: Page,
    /// First page behind.
    pub end: Page,
}

impl PageRange {
    /// `pages` pages from `start`.
    pub const fn new(start: Page, pages: u64) -> Self {
        Self { start, end: start.plus(pages) }
    }

    /// The pages of an address range that must begin at a page's start and lie in the lower half.
    ///
    /// # Errors
    /// EINVAL as munmap and its kin: `address` not a multiple of the page, or the end beyond the space.
    pub const fn of_bytes(address: u64, bytes: u64) -> Result<Self, Errno> {
        let Some(pages) = pages_of(bytes) else { return Err(Errno::EINVAL) };
        if !address.is_multiple_of(PAGE_BYTES)
            || address > LOWER_HALF_END
            || pages > PAGES_END - Page::of(address).0
        {
            return Err(Errno::EINVAL);
        }
        Ok(Self::new(Page::of(address), pages))
    }

    /// How many pages.
    pub const fn pages(self) -> u64 {
        self.end.0.saturating_sub(self.start.0)
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.end.0 <= self.start.0
    }

    /// Whether a page is among them.
    pub const fn contains(self, page: Page) -> bool {
        self.start.0 <= page.0 && page.0 < self.end.0
    }

    /// What both have.
    pub fn intersection(self, other: Self) -> Self {
        let start = self.start.max(other.start);
        Self { start, end: self.end.min(other.end).max(start) }
    }

    /// Every page, ascending.
    pub fn iter(self) -> impl Iterator<Item = Page> {
        (self.start.0..self.end.0).map(Page)
    }
}

/// A page frame of the windows, numbered through all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frame(pub u32);
