//! Which cached translations a change of the tables made stale, and how the TLB forgets them (C-42).
//!
//! The TLB caches pairs: an entry brings in its neighbour, and an invalid half is cached like a valid one.
//! So a page that becomes mapped needs a flush as much as one that is unmapped, once per pair. Past
//! sixteen pairs the whole identifier is flushed instead. A missing table is cached as invalid pairs of
//! 16 KiB pages, of which a large leaf that takes its place makes up to 1024 stale: that one always
//! flushes the identifier.
//!
//! Only this core's TLB is flushed: one core runs (C-51).

use arrayvec::ArrayVec;

use crate::address::VirtAddr;
use crate::arch::{HardwareAsid, Machine};
use crate::kernel::Kernel;
use crate::object::store::Ref;
use crate::object::translation::{Entry, Half, Level};
use crate::object::vspace::{self, VSpace};

/// Pairs that are flushed one by one (C-42).
pub const MAX_PAIRS: usize = 16;

/// What was changed in one address space and is not flushed yet.
#[derive(Debug, Default)]
pub struct Stale {
    pairs: ArrayVec<VirtAddr, MAX_PAIRS>,
    everything: bool,
}

impl Stale {
    /// Notes that the entry for `address` on `level` was `old` and is another now.
    pub fn note(&mut self, level: Level, address: VirtAddr, old: Entry) {
        let pair = match level {
            Level::Last => VirtAddr(address.0 & !(2 * level.bytes() - 1)),
            // A large leaf is cached as a pair of its own halves.
            Level::Middle if old != Entry::EMPTY => address,
            Level::Middle | Level::Root => return self.note_everything(),
        };
        if !self.everything && self.pairs.last() != Some(&pair) && self.pairs.try_push(pair).is_err() {
            self.note_everything();
        }
    }

    /// Notes that the page at `address` was changed.
    #[inline(always)]
    pub fn note_page(&mut self, address: VirtAddr) {
        if !self.everything {
            self.note_pairs(address, 1);
        }
    }

    /// Notes that pages from `first` on, `count` of them, were changed.
    #[inline(always)]
    pub fn note_pages(&mut self, first: VirtAddr, count: u64) {
        if !self.everything {
            self.note_pairs(first, count);
        }
    }

    #[inline(never)]
    fn note_pairs(&mut self, first: VirtAddr, count: u64) {
        let pair = 2 * Level::Last.bytes();
        let (mut address, end) = (first.0 & !(pair - 1), first.0 + count * Level::Last.bytes());
        while address < end && !self.everything {
            if self.pairs.last() != Some(&VirtAddr(address))
                && self.pairs.try_push(VirtAddr(address)).is_err()
            {
                self.note_everything();
            }
            address += pair;
        }
    }

    /// Notes that a table with whatever it held was taken away.
    pub fn note_everything(&mut self) {
        self.everything = true;
    }

    /// Makes this core forget what was noted. A space without a hardware identifier has nothing cached.
    ///
    /// An upper half's pages are cached as global, and what was missing there under any identifier.
    pub fn flush<M: Machine>(&self, k: &mut Kernel<M>, space: Ref<VSpace>) {
        if vspace::half(k, space) == Half::Upper {
            if self.everything || !self.pairs.is_empty() {
                k.machine.flush_all();
            }
            return;
        }
        let asid = HardwareAsid(k.get(space).hardware_asid.get());
        if asid == Kernel::<M>::EMPTY_ASID {
            return;
        }
        if self.everything {
            k.machine.flush_asid(asid);
            return;
        }
        for pair in &self.pairs {
            k.machine.flush_page(asid, *pair);
        }
    }
}
