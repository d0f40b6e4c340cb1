//! Where a new program's parts lie: Linux's places for a space of 47 bits, with its randomness.

use crate::address::{LOWER_HALF_END, PAGE_BYTES, Page, pages_of};
use crate::random::Random;

/// Pages between the stack's top and the space's end among which the vDSO lies (VDSO_RANDOMIZE_SIZE, 64 MiB).
const VDSO_PAGES: u64 = (64 << 20) / PAGE_BYTES;
/// Pages by which the stack's top moves (STACK_RND_MASK: 64 MiB is plenty of them).
const STACK_PAGES: u64 = (64 << 20) / PAGE_BYTES;
/// Pages by which mmap's top moves: 256 MiB.
const MMAP_PAGES: u64 = (256 << 20) / PAGE_BYTES;
/// Pages by which the break moves: 32 MiB.
const HEAP_PAGES: u64 = (32 << 20) / PAGE_BYTES;
/// Least distance of mmap's top from the stack's top, whatever the limit on the stack.
const GAP_LEAST: u64 = 128 << 20;

/// The places.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// First address behind the stack.
    pub stack_top: u64,
    /// The vDSO's page.
    pub vdso: Page,
    /// mmap places areas below this page.
    pub mmap_top: Page,
    /// Pages that a program that may lie anywhere is moved up by.
    pub program: u64,
    /// Bytes from the program's end to the break.
    pub heap: u64,
}

impl Layout {
    /// Chooses places; `stack_limit` is RLIMIT_STACK.
    pub fn choose(random: &mut Random, stack_limit: u64) -> Self {
        // The last page stays empty, so that nothing ends at the space's end.
        let end = Page::of(LOWER_HALF_END).0 - 1;
        let highest = end - VDSO_PAGES - 1;
        let vdso = Page(highest + 1 + random.below(VDSO_PAGES));
        let top = highest - random.below(STACK_PAGES);
        let gap = stack_limit.clamp(GAP_LEAST, LOWER_HALF_END / 6 * 5);
        let gap = pages_of(gap).unwrap_or(highest / 2) + STACK_PAGES;
        Self {
            stack_top: Page(top).address(),
            vdso,
            mmap_top: Page(highest - gap.min(highest / 6 * 5) - random.below(MMAP_PAGES)),
            program: random.below(MMAP_PAGES),
            heap: random.below(HEAP_PAGES) * PAGE_BYTES,
        }
    }
}
