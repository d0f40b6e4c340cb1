//! The windows and the page tables: what the server knows of memory that is not its own (C-41, C-44, C-45).

use abi::boot_info::SlotRange;
use abi::mapping::{Access, MAX_ENTRIES, MapEntry as KernelEntry, WINDOWS};
use abi::upper::{HostInfo, Mapped};
use abi::{CPtr, Error, PAGE_BYTES};
use arrayvec::ArrayVec;
use posix::host::{MapEntry, MapReason, MapStop, PageRights, WindowPage};
use runtime::host::frame;
use runtime::mapping::{give_tables, map_list, map_one};
use runtime::memory::DEPTH;
use runtime::stubs::{CNode, PageTable, VSpace};

use super::bug;

/// The windows in the linear map, and the page tables.
///
/// A space keeps its stock when its program ends, since another will use it. When no table is left that no space ever
/// had, what lies unused in any stock is taken back: else one program could keep all of them from the others for good.
#[derive(Debug)]
pub(super) struct Frames {
    windows: [Mapped; WINDOWS],
    tables: SlotRange,
    /// Those from here on were never given to a space.
    fresh: u64,
    /// Where the search for unused ones goes on.
    hand: u64,
}

impl Frames {
    pub(super) fn new(info: &HostInfo) -> Self {
        let SlotRange { start, .. } = info.tables;
        Self { windows: info.windows, tables: info.tables, fresh: start, hand: start }
    }

    /// Where a page lies in the linear map. The library names pages of the windows alone.
    fn address(&self, page: WindowPage) -> u64 {
        let window = self.windows.get(usize::from(page.slot));
        match window.filter(|window| page.page < window.bytes / PAGE_BYTES) {
            Some(window) => window.address + page.page * PAGE_BYTES,
            None => bug(format_args!("window {} has no page {}", page.slot, page.page)),
        }
    }

    pub(super) fn zero(&self, page: WindowPage) {
        // SAFETY: the page is the server's to write, and no Rust object.
        unsafe { frame::zero(self.address(page)) }
    }

    pub(super) fn copy(&self, from: WindowPage, to: WindowPage) {
        // SAFETY: as in `zero`.
        unsafe { frame::copy(self.address(to), self.address(from)) }
    }

    pub(super) fn read(&self, page: WindowPage, offset: usize, into: &mut [u8]) {
        let from = self.within(page, offset, into.len());
        // SAFETY: within a page of the window; programs may write it meanwhile, on no other core.
        unsafe { core::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) }
    }

    pub(super) fn write(&self, page: WindowPage, offset: usize, from: &[u8]) {
        let to = self.within(page, offset, from.len());
        // SAFETY: as in `read`.
        unsafe { core::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) }
    }

    /// Where a part of a page lies in the linear map.
    pub(super) fn part(&self, page: WindowPage, offset: usize, bytes: usize) -> u64 {
        self.within(page, offset, bytes).expose_provenance() as u64
    }

    pub(super) fn zero_part(&self, page: WindowPage, offset: usize, bytes: usize) {
        let to = self.within(page, offset, bytes);
        // SAFETY: as in `read`.
        unsafe { core::ptr::write_bytes(to, 0, bytes) }
    }

    pub(super) fn copy_part(&self, from: (WindowPage, usize), to: (WindowPage, usize), bytes: usize) {
        let (from, to) = (self.within(from.0, from.1, bytes), self.within(to.0, to.1, bytes));
        // SAFETY: as in `read`; both may be in one page.
        unsafe { core::ptr::copy(from, to, bytes) }
    }

    fn within(&self, page: WindowPage, offset: usize, bytes: usize) -> *mut u8 {
        let end = offset.checked_add(bytes).and_then(|end| u64::try_from(end).ok());
        if end.is_none_or(|end| end > PAGE_BYTES) {
            bug(format_args!("{bytes} bytes from byte {offset} on are not in a page"));
        }
        let address = self.address(page) + offset as u64;
        core::ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or(0))
    }

    /// Gives tables to a space; answers how many there were.
    pub(super) fn give(&mut self, space: VSpace, tables: u32) -> u32 {
        let count = u64::from(tables).min(self.tables.end - self.fresh);
        if count == 0 {
            return (0..tables).take_while(|_| self.give_unused(space)).count().try_into().unwrap_or(0);
        }
        give(space, self.fresh, count);
        self.fresh += count;
        u32::try_from(count).unwrap_or(0)
    }

    /// Gives a space a table that lies unused in a stock; says whether there was one.
    fn give_unused(&mut self, space: VSpace) -> bool {
        for _ in self.tables.start..self.tables.end {
            let slot = self.hand;
            self.hand = if slot + 1 < self.tables.end { slot + 1 } else { self.tables.start };
            match PageTable(CPtr(slot)).unmap() {
                Ok(()) => {
                    give(space, slot, 1);
                    return true;
                }
                // A program's pages are mapped through it.
                Err(refusal) if refusal.error == Error::InvalidState => {}
                Err(refusal) => bug(format_args!("taking a page table back: {refusal}")),
            }
        }
        false
    }
}

/// Gives the tables of some slots to a space.
fn give(space: VSpace, first: u64, count: u64) {
    let root = CNode(CPtr(abi::server::slot::CNODE));
    if let Err(refusal) = give_tables(space, root, first, DEPTH, count) {
        bug(format_args!("giving {count} page tables: {refusal}"));
    }
}

/// Carries entries out.
pub(super) fn map_many(space: VSpace, entries: &[MapEntry]) -> Result<(), MapStop> {
    let outcome = match entries {
        [] => return Ok(()),
        [entry] => map_one(space, in_the_kernels_form(entry)).map_err(|refusal| (0, refusal)),
        _ => {
            let list: ArrayVec<KernelEntry, MAX_ENTRIES> =
                entries.iter().take(MAX_ENTRIES).map(in_the_kernels_form).collect();
            map_list(space, &list).map_err(|refusal| (refusal.argument, refusal))
        }
    };
    outcome.map_err(|(done, refusal)| match refusal.error {
        Error::NeedTable => {
            MapStop { done: usize::try_from(done).unwrap_or(0), reason: MapReason::NeedTable }
        }
        _ => bug(format_args!("mapping: {refusal}")),
    })
}

fn in_the_kernels_form(entry: &MapEntry) -> KernelEntry {
    // The library's entries are at most as long as the kernel's.
    let count = |pages: u64| u16::try_from(pages).unwrap_or(u16::MAX);
    match entry {
        MapEntry::Map { pages, first, rights } => {
            KernelEntry::map(pages.start.0, count(pages.pages()), access(*rights), first.slot, first.page)
        }
        MapEntry::Unmap { pages } => KernelEntry::unmap(pages.start.0, count(pages.pages())),
    }
}

const fn access(rights: PageRights) -> Access {
    match (rights.contains(PageRights::WRITE), rights.contains(PageRights::EXECUTE)) {
        (false, false) => Access::READ,
        (true, false) => Access::READ_WRITE,
        (false, true) => Access::READ_EXECUTE,
        (true, true) => Access::READ_WRITE_EXECUTE,
    }
}
