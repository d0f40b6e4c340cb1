//! The server's heap: the memory behind its data (`abi::upper::HostInfo::heap`), all of it from the beginning.
//!
//! One thread allocates, so there is no lock. What programs make the server remember is bounded here: with half of the
//! heap in use they are refused more ([`Reserve`], [`posix::dispatch::admission`]), so that what goes on, a table that
//! doubles too, finds its memory. An allocation that fails all the same is a panic, and root's to tell.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;

use abi::upper::Mapped;
use posix::host::Reserve;
use talc::TalcCell;
use talc::source::Manual;

/// The allocator.
struct Heap {
    talc: TalcCell<Manual>,
    /// Its bytes.
    bytes: Cell<usize>,
    /// Those that were asked for and not given back.
    used: Cell<usize>,
}

// SAFETY: the host's one thread alone runs this program's code.
unsafe impl Sync for Heap {}

#[global_allocator]
static HEAP: Heap = Heap { talc: TalcCell::new(Manual), bytes: Cell::new(0), used: Cell::new(0) };

// SAFETY: TalcCell keeps the contract.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.used.set(self.used.get().wrapping_add(layout.size()));
        // SAFETY: as the caller promises.
        unsafe { self.talc.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        self.used.set(self.used.get().wrapping_sub(layout.size()));
        // SAFETY: as the caller promises.
        unsafe { self.talc.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        self.used.set(self.used.get().wrapping_add(bytes).wrapping_sub(layout.size()));
        // SAFETY: as the caller promises.
        unsafe { self.talc.realloc(memory, layout, bytes) }
    }
}

/// Why there is no heap.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoHeap;

/// Gives the allocator its memory, once.
pub(super) fn begin(memory: Mapped) -> Result<(), NoHeap> {
    let (Ok(address), Ok(bytes)) = (usize::try_from(memory.address), usize::try_from(memory.bytes)) else {
        return Err(NoHeap);
    };
    // SAFETY: root maps it for the server's whole life, and nothing else is in it.
    let claimed = unsafe { HEAP.talc.claim(core::ptr::with_exposed_provenance_mut(address), bytes) };
    HEAP.bytes.set(bytes);
    claimed.map(drop).ok_or(NoHeap)
}

/// How much is left: more than five eighths of it are plenty, more than half is scarce, less than an eighth the last.
pub(super) fn reserve() -> Reserve {
    let (eighth, left) = (HEAP.bytes.get() / 8, left());
    if left > 5 * eighth {
        Reserve::Plenty
    } else if left > 4 * eighth {
        Reserve::Scarce
    } else if left > eighth {
        Reserve::Low
    } else {
        Reserve::Last
    }
}

/// Whether so many bytes leave more than the last: an eighth, and another for what a table that doubles had before.
pub(super) fn has_room(bytes: usize) -> bool {
    left().saturating_sub(bytes) > HEAP.bytes.get() / 4
}

fn left() -> usize {
    HEAP.bytes.get().saturating_sub(HEAP.used.get())
}
