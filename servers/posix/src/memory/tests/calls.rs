//! The calls, and faults, one by one.

use super::{FIXED, PRIVATE, RW, SHARED, World};
use crate::Errno;
use crate::address::{LOWER_HALF_END, PAGE_BYTES, Page};
use crate::memory::fault::{Access, Refused};
use crate::memory::mmap::{MapFlags, MapRequest};

#[test]
fn untouched_memory_reads_as_zeros_and_takes_no_frame() {
    let mut world = World::new(64);
    let free = world.memory.frames.free_count();
    let at = world.map(0, 10, RW, PRIVATE).unwrap();
    assert_eq!(world.peek(at + 5), Some(0));
    assert_eq!(world.memory.frames.free_count(), free);
    assert!(world.poke(at + 5, 9));
    assert_eq!(world.peek(at + 5), Some(9));
    assert_eq!(world.peek(at + 6), Some(0));
    assert_eq!(world.memory.frames.free_count(), free - 1);
    world.view().munmap(at, 10 * PAGE_BYTES).unwrap();
    assert_eq!(world.memory.frames.free_count(), free);
    assert!(world.host.mapped.is_empty());
}

#[test]
fn mmap_refuses_what_linux_refuses() {
    let mut world = World::new(64);
    let page = PAGE_BYTES;
    let top = LOWER_HALF_END;
    let cases = [
        (0, 0, RW, PRIVATE, Errno::EINVAL),
        (0, u64::MAX, RW, PRIVATE, Errno::ENOMEM),
        (0, top + page, 0, PRIVATE, Errno::ENOMEM),
        (0, page, RW, 0x20, Errno::EINVAL),
        (0, page, RW, 0x23, Errno::EINVAL),
        (page + 1, page, RW, PRIVATE | FIXED, Errno::EINVAL),
        (page, page, RW, SHARED | FIXED, Errno::EINVAL),
        (top, page, RW, PRIVATE | FIXED, Errno::EINVAL),
        (!(page - 1), page, RW, PRIVATE | FIXED, Errno::EINVAL),
        (0, 1 << 40, RW, PRIVATE, Errno::ENOMEM),
    ];
    for (address, bytes, protection, flags, error) in cases {
        let request = MapRequest { address, bytes, protection, flags, file: None, offset: 0 };
        assert_eq!(world.view().mmap(&request), Err(error), "{address:#x} {bytes:#x} {flags:#x}");
    }
    let sparse = world.map(0, 1 << 22, RW, PRIVATE | 0x4000).unwrap();
    world.view().munmap(sparse, 1 << 36).unwrap();
    let reserve = world.map(0, 1 << 26, 0, PRIVATE).unwrap();
    assert_eq!(world.map(reserve + page, 1, RW, PRIVATE | 0x10_0000), Err(Errno::EEXIST));
    assert!(world.space.areas.len() == 1);
}

#[test]
fn mprotect_changes_up_to_a_hole_and_then_refuses() {
    let mut world = World::new(64);
    let at = world.map(0, 4, RW, PRIVATE).unwrap();
    for page in 0..4 {
        assert!(world.poke(at + page * PAGE_BYTES, 1));
    }
    world.view().munmap(at + 2 * PAGE_BYTES, PAGE_BYTES).unwrap();
    let mut view = world.view();
    assert_eq!(view.mprotect(at, 4 * PAGE_BYTES, 1), Err(Errno::ENOMEM));
    assert_eq!(view.mprotect(at + 1, PAGE_BYTES, 1), Err(Errno::EINVAL));
    assert_eq!(view.mprotect(at, PAGE_BYTES, 0x40), Err(Errno::EINVAL));
    assert_eq!(view.mprotect(at, 0, 1), Ok(0));
    assert!(!world.poke(at + PAGE_BYTES, 2));
    assert!(world.poke(at + 3 * PAGE_BYTES, 2));
}

#[test]
fn faults_name_the_signal() {
    let mut world = World::new(64);
    let at = world.map(0, 1, 1, PRIVATE).unwrap();
    let none = world.map(0, 1, 0, PRIVATE).unwrap();
    let mut view = world.view();
    assert_eq!(view.resolve(at, Access::Store), Err(Refused::Protected));
    assert_eq!(view.resolve(at, Access::Fetch), Err(Refused::Protected));
    assert_eq!(view.resolve(none, Access::Load), Err(Refused::Protected));
    assert_eq!(view.resolve(0, Access::Load), Err(Refused::NotMapped));
    assert_eq!(view.resolve(u64::MAX, Access::Store), Err(Refused::NotMapped));
}

#[test]
fn running_out_of_frames_is_said_and_mended() {
    let mut world = World::new(4);
    let at = world.map(0, 4, RW, PRIVATE).unwrap();
    for page in 0..3 {
        assert!(world.poke(at + page * PAGE_BYTES, 1));
    }
    assert_eq!(world.view().resolve(at + 3 * PAGE_BYTES, Access::Store), Err(Refused::OutOfMemory));
    world.view().munmap(at, PAGE_BYTES).unwrap();
    assert!(world.poke(at + 3 * PAGE_BYTES, 1));
}

#[test]
fn a_stack_grows_to_its_limit_and_not_into_its_neighbour() {
    let mut world = World::new(2048);
    let start = 1 << 40;
    let flags = PRIVATE | FIXED | MapFlags::GROWSDOWN.bits();
    let stack = world.map(start, 2, RW, flags).unwrap();
    let end = stack + 2 * PAGE_BYTES;
    assert!(world.poke(stack - 100 * PAGE_BYTES, 1));
    assert!(!world.poke(end - (8 << 20) - 1, 1));
    assert!(world.poke(end - (8 << 20), 1));
}

#[test]
fn brk_moves_within_its_limits() {
    let mut world = World::new(64);
    world.space.heap_start = 0x10_0000;
    world.space.heap_end = 0x10_0000;
    let mut view = world.view();
    assert_eq!(view.brk(0), 0x10_0000);
    assert_eq!(view.brk(0x10_0001), 0x10_0001);
    assert_eq!(view.brk(0x0f_ffff), 0x10_0001);
    assert_eq!(view.brk(0x30_0000), 0x10_0001, "more than there are frames");
    view.space.limits.data = 0x8000;
    assert_eq!(view.brk(0x10_8000), 0x10_8000);
    assert_eq!(view.brk(0x10_8001), 0x10_8000);
    assert!(world.poke(0x10_7fff, 1));
    assert_eq!(world.view().brk(0x10_4000), 0x10_4000);
    assert_eq!(world.peek(0x10_7fff), None);
}

#[test]
fn mremap_moves_pages_with_what_is_in_them() {
    let mut world = World::new(64);
    world.space.mmap_top = Page(1 << 20);
    let at = world.map(0, 3, RW, PRIVATE).unwrap();
    assert!(world.poke(at + PAGE_BYTES, 7));
    let block = world.map(at + 3 * PAGE_BYTES, 1, RW, PRIVATE | FIXED).unwrap();
    let bytes = 3 * PAGE_BYTES;
    assert_eq!(world.view().mremap(at, bytes, 5 * PAGE_BYTES, 0, 0), Err(Errno::ENOMEM));
    let there = world.view().mremap(at, bytes, 5 * PAGE_BYTES, 1, 0).unwrap();
    assert_ne!(there, at);
    assert_eq!(world.peek(there + PAGE_BYTES), Some(7));
    assert_eq!(world.peek(at + PAGE_BYTES), None);
    assert_eq!(world.peek(block), Some(0));
    assert_eq!(world.view().mremap(there, 5 * PAGE_BYTES, PAGE_BYTES, 0, 0), Ok(there));
    assert_eq!(world.peek(there + PAGE_BYTES), None);
    assert_eq!(world.view().mremap(1 << 30, PAGE_BYTES, PAGE_BYTES, 1, 0), Err(Errno::EFAULT));
}
