//! A checked segment and its pages.

use crate::{PAGE_SIZE, SegmentAccess};

/// A run of memory with equal access, as the ELF has it: not rounded to pages.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// Its first address.
    pub vaddr: u64,
    /// Bytes in memory, at least the data's; zeros behind the data.
    pub mem_size: u64,
    /// What it begins with.
    pub data: &'a [u8],
    /// What its pages may be used for.
    pub access: SegmentAccess,
}

/// One page of a segment and what it holds: zeros, but for `data` from `data_at` on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Page<'a> {
    /// The page's address, a multiple of [`PAGE_SIZE`].
    pub vaddr: u64,
    /// Where the data begins in the page, in bytes.
    pub data_at: usize,
    /// The data; empty in a page of zeros.
    pub data: &'a [u8],
}

impl<'a> Segment<'a> {
    /// The first address behind it. (It was checked not to wrap.)
    pub const fn end(&self) -> u64 {
        self.vaddr.saturating_add(self.mem_size)
    }

    /// The address of its first page.
    pub const fn first_page(&self) -> u64 {
        self.vaddr & !(PAGE_SIZE - 1)
    }

    /// The first address behind its last page.
    pub const fn end_page(&self) -> u64 {
        self.end().next_multiple_of(PAGE_SIZE)
    }

    /// How many pages it touches.
    pub const fn page_count(&self) -> u64 {
        (self.end_page() - self.first_page()) / PAGE_SIZE
    }

    /// Its pages, ascending.
    pub fn pages(&self) -> impl Iterator<Item = Page<'a>> + use<'a> {
        let (vaddr, data) = (self.vaddr, self.data);
        let first = self.first_page();
        (0..self.page_count()).map(move |index| page(first + index * PAGE_SIZE, vaddr, data))
    }
}

fn page(page: u64, vaddr: u64, data: &[u8]) -> Page<'_> {
    let lead = vaddr.saturating_sub(page);
    let skipped = usize::try_from(page.saturating_sub(vaddr)).unwrap_or(usize::MAX);
    let room = usize::try_from(PAGE_SIZE.saturating_sub(lead)).unwrap_or(0);
    let rest = data.get(skipped..).unwrap_or_default();
    let data = rest.get(..room).unwrap_or(rest);
    let data_at = if data.is_empty() { 0 } else { usize::try_from(lead).unwrap_or(0) };
    Page { vaddr: page, data_at, data }
}
