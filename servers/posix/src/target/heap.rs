//! The server's heap: the memory behind its data (`abi::upper::HostInfo::heap`), all of it from the beginning.
//!
//! One thread allocates, so there is no lock.

use core::alloc::{GlobalAlloc, Layout};

use abi::upper::Mapped;
use talc::TalcCell;
use talc::source::Manual;

/// The allocator.
struct Heap(TalcCell<Manual>);

// SAFETY: the host's one thread alone runs this program's code.
unsafe impl Sync for Heap {}

#[global_allocator]
static HEAP: Heap = Heap(TalcCell::new(Manual));

// SAFETY: TalcCell keeps the contract.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { self.0.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe { self.0.realloc(memory, layout, bytes) }
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
    let claimed = unsafe { HEAP.0.claim(core::ptr::with_exposed_provenance_mut(address), bytes) };
    claimed.map(drop).ok_or(NoHeap)
}
