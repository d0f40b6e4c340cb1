//! Memory calls and faults, against a model that keeps one record a page.

use super::area::Protection;
use super::fault::{Access, Refused};
use super::mmap::{MapFlags, MapRequest};
use super::space::{Memory, Space, View};
use crate::Errno;
use crate::address::{LOWER_HALF_END, PAGE_BYTES, Page, PageRange};
use crate::host::{ContextId, Host, SpaceId};
use crate::mock::Mock;
use crate::user::UserSlice;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::vec::Vec;

pub(crate) struct World {
    pub(crate) host: Mock,
    pub(crate) memory: Memory,
    pub(crate) space: Space,
}

impl World {
    pub(crate) fn new(frames: u32) -> Self {
        let mut host = Mock::new();
        let memory = Memory::new(&mut host, &[frames / 2, frames - frames / 2]);
        host.set_space(ContextId(1), SpaceId(1));
        host.switch(ContextId(1));
        Self { host, memory, space: Space::new(SpaceId(1)) }
    }

    pub(crate) fn view(&mut self) -> View<'_, Mock> {
        View { host: &mut self.host, memory: &mut self.memory, space: &mut self.space }
    }

    fn map(&mut self, address: u64, pages: u64, protection: u32, flags: u32) -> Result<u64, Errno> {
        let request =
            MapRequest { address, bytes: pages * PAGE_BYTES, protection, flags, file: None, offset: 0 };
        self.view().mmap(&request)
    }

    fn poke(&mut self, address: u64, byte: u8) -> bool {
        self.view().write_bytes(&[byte], UserSlice::new(address, 1).unwrap()).is_ok()
    }

    fn peek(&mut self, address: u64) -> Option<u8> {
        let mut byte = [0];
        self.view().read_bytes(UserSlice::new(address, 1).unwrap(), &mut byte).ok().map(|()| byte[0])
    }
}

const PRIVATE: u32 = 0x22;
const SHARED: u32 = 0x21;
const FIXED: u32 = 0x10;
const RW: u32 = 3;

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
        (top, page, RW, PRIVATE | FIXED, Errno::ENOMEM),
        (!(page - 1), page, RW, PRIVATE | FIXED, Errno::ENOMEM),
        (0, 1 << 40, RW, PRIVATE, Errno::ENOMEM),
    ];
    for (address, bytes, protection, flags, error) in cases {
        let request = MapRequest { address, bytes, protection, flags, file: None, offset: 0 };
        assert_eq!(world.view().mmap(&request), Err(error), "{address:#x} {bytes:#x} {flags:#x}");
    }
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

#[test]
fn a_copied_space_shares_pages_until_somebody_stores() {
    let mut world = World::new(64);
    let at = world.map(0, 4, RW, PRIVATE).unwrap();
    let shared = world.map(0, 4, RW, SHARED).unwrap();
    for page in 0..3 {
        assert!(world.poke(at + page * PAGE_BYTES, 1 + u8::try_from(page).unwrap()));
    }
    assert!(world.poke(shared, 50));
    let free = world.memory.frames.free_count();
    let mut child = Space::new(SpaceId(2));
    world.view().fork_into(&mut child).unwrap();
    assert_eq!(world.memory.frames.free_count(), free, "nothing was copied yet");
    check(&world);
    let mut other = Vec::new();
    core::mem::swap(&mut world.space, &mut child);
    world.host.set_space(ContextId(1), SpaceId(2));
    check(&world);
    for page in 0..4 {
        other.push(world.peek(at + page * PAGE_BYTES));
    }
    assert_eq!(other, [Some(1), Some(2), Some(3), Some(0)]);
    assert!(world.poke(at, 9) && world.poke(shared, 51) && world.poke(shared + PAGE_BYTES, 52));
    check(&world);
    core::mem::swap(&mut world.space, &mut child);
    world.host.set_space(ContextId(1), SpaceId(1));
    assert_eq!(world.peek(at), Some(1), "the parent keeps its own");
    assert_eq!((world.peek(shared), world.peek(shared + PAGE_BYTES)), (Some(51), Some(52)));
    core::mem::swap(&mut world.space, &mut child);
    world.view().clear();
    core::mem::swap(&mut world.space, &mut child);
    let before = world.memory.frames.free_count();
    assert!(world.poke(at + PAGE_BYTES, 7));
    assert_eq!(world.memory.frames.free_count(), before, "the last owner stores without a copy");
    world.view().clear();
    assert_eq!(world.memory.frames.free_count(), world.memory.frames.total() - 1);
}

#[test]
fn file_pages_that_are_there_are_mapped_in_one_list() {
    static BYTES: [u8; 8 * 16384] = [3; 8 * 16384];
    let mut world = World::new(64);
    let object = world.memory.objects.create(super::object::Source::Bytes(&BYTES), 8 * PAGE_BYTES, 1);
    let file = super::mmap::MappedFile {
        object,
        shared_most: Protection::READ,
        readable: super::mmap::Readable::Yes,
    };
    let request = MapRequest {
        address: 0,
        bytes: 8 * PAGE_BYTES,
        protection: 5,
        flags: 2,
        file: Some(file),
        offset: 0,
    };
    let first = world.view().mmap(&request).unwrap();
    for page in 0..8 {
        assert_eq!(world.peek(first + page * PAGE_BYTES), Some(3));
    }
    let second = world.view().mmap(&request).unwrap();
    let calls = world.host.map_calls;
    world.view().map_text_ahead();
    assert_eq!((world.host.map_calls, world.host.mapped.len()), (calls + 1, 16));
    let third = world.view().mmap(&request).unwrap();
    world.view().resolve(third + PAGE_BYTES, Access::Fetch).unwrap();
    assert_eq!(world.host.mapped.len(), 20, "the pages around it came along");
    check(&world);
    for at in [first, second, third] {
        world.view().munmap(at, 8 * PAGE_BYTES).unwrap();
    }
    assert!(world.host.mapped.is_empty());
}

/// What the model knows of a page: protection, and its byte where it was written.
type Model = BTreeMap<u64, (u32, u8)>;

#[derive(Clone, Debug)]
enum Step {
    Map(u64, u64, u32),
    Unmap(u64, u64),
    Protect(u64, u64, u32),
    Store(u64, u8),
    Load(u64),
    Drop(u64, u64),
    Idle,
}

const BASE: u64 = 4096;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let range = || (0..40_u64, 1..8_u64);
    let step = prop_oneof![
        (range(), 0..8_u32).prop_map(|((start, pages), bits)| Step::Map(start, pages, bits)),
        range().prop_map(|(start, pages)| Step::Unmap(start, pages)),
        (range(), 0..8_u32).prop_map(|((start, pages), bits)| Step::Protect(start, pages, bits)),
        (0..48_u64, 1..=255_u8).prop_map(|(page, byte)| Step::Store(page, byte)),
        (0..48_u64, 1..=255_u8).prop_map(|(page, byte)| Step::Store(page, byte)),
        (0..48_u64).prop_map(Step::Load),
        range().prop_map(|(start, pages)| Step::Drop(start, pages)),
        Just(Step::Idle),
    ];
    prop::collection::vec(step, 1..80)
}

fn address(page: u64) -> u64 {
    (BASE + page) * PAGE_BYTES
}

fn run(world: &mut World, model: &mut Model, step: &Step) {
    match *step {
        Step::Map(start, pages, bits) => {
            // Shared mappings have to lie on multiples of four pages.
            let shared = start % 4 == 0 && pages % 2 == 0;
            let kind = if shared { SHARED } else { PRIVATE };
            assert_eq!(world.map(address(start), pages, bits, kind | FIXED), Ok(address(start)));
            model.extend((start..start + pages).map(|page| (page, (bits, 0))));
        }
        Step::Unmap(start, pages) => {
            world.view().munmap(address(start), pages * PAGE_BYTES).unwrap();
            model.retain(|page, _| !(start..start + pages).contains(page));
        }
        Step::Protect(start, pages, bits) => {
            let result = world.view().mprotect(address(start), pages * PAGE_BYTES, bits);
            let covered = (start..start + pages).take_while(|page| model.contains_key(page)).count() as u64;
            assert_eq!(result.is_ok(), covered == pages);
            model.range_mut(start..start + covered).for_each(|(_, (protection, _))| *protection = bits);
        }
        Step::Store(page, byte) => {
            let allowed = model.get(&page).is_some_and(|(bits, _)| bits & 2 != 0);
            assert_eq!(world.poke(address(page) + 77, byte), allowed);
            if allowed {
                model.get_mut(&page).unwrap().1 = byte;
            }
        }
        Step::Load(page) => {
            // The hardware reads whatever is mapped at all, so a page that may only be executed may be
            // read once it is there, on Linux too; the model asks about the others.
            let expected = model.get(&page);
            if expected.is_none_or(|(bits, _)| *bits != 4) {
                let expected = expected.filter(|(bits, _)| *bits != 0).map(|(_, byte)| *byte);
                assert_eq!(world.peek(address(page) + 77), expected);
            }
        }
        Step::Drop(start, pages) => {
            // Only private memory forgets: the test's shared areas are left alone.
            let private = world
                .space
                .areas
                .parts(PageRange::new(Page(BASE + start), pages))
                .all(|area| area.sharing == super::area::Sharing::Private);
            if private {
                let _ = world.view().madvise(address(start), pages * PAGE_BYTES, 4);
                model.range_mut(start..start + pages).for_each(|(_, (_, byte))| *byte = 0);
            }
        }
        Step::Idle => {
            world.memory.frames.zero_one(&mut world.host, 8);
        }
    }
}

/// The tables map only what the areas allow, to the frames that the server knows.
fn check(world: &World) {
    let mapped = world.host.mapped.iter().filter(|((space, _), _)| *space == world.space.id);
    for ((_, page), (at, rights)) in mapped {
        let area = world.space.areas.find(Page(*page)).expect("mapped outside of any area");
        let frame = world.space.pages.get(Page(*page)).expect("mapped a page without frame");
        assert_eq!(world.memory.frames.locate(frame), *at);
        let write = rights.contains(crate::host::PageRights::WRITE);
        assert!(!write || area.protection.contains(Protection::WRITE));
        let shared = area.sharing == super::area::Sharing::Shared;
        assert!(!write || shared || world.memory.frames.is_exclusive(frame), "not is_exclusive");
        assert!(!area.protection.is_empty());
    }
    let pages: u64 = world.space.areas.iter().map(|area| area.range.pages()).sum();
    assert_eq!(pages, world.space.area_pages);
}

proptest! {
    #[test]
    fn agrees_with_a_flat_map_of_pages(steps in steps()) {
        let mut world = World::new(512);
        let free = world.memory.frames.free_count();
        let mut model = Model::new();
        for step in &steps {
            run(&mut world, &mut model, step);
            check(&world);
        }
        for page in 0..48 {
            run(&mut world, &mut model, &Step::Load(page));
        }
        world.view().clear();
        prop_assert_eq!(world.memory.frames.free_count(), free);
        prop_assert!(world.memory.objects.is_empty());
        prop_assert_eq!(world.host.tables_left, 10_000);
    }
}

/// Planted: a private page that somebody else holds too, mapped for stores.
#[test]
#[should_panic(expected = "is_exclusive")]
fn the_check_finds_a_shared_page_that_takes_stores() {
    let mut world = World::new(64);
    let at = world.map(0, 1, RW, PRIVATE).unwrap();
    assert_eq!(world.peek(at), Some(0));
    let page = Page::of(at);
    let frame = world.space.pages.get(page).unwrap();
    let entry = super::space::single(page, &world.memory, frame, crate::host::PageRights::WRITE);
    world.host.map_many(SpaceId(1), &[entry]).unwrap();
    check(&world);
}

/// Planted: an area that goes before its mappings.
#[test]
#[should_panic(expected = "mapped outside of any area")]
fn the_check_finds_a_mapping_that_outlives_its_area() {
    let mut world = World::new(64);
    let at = world.map(0, 2, RW, PRIVATE).unwrap();
    assert!(world.poke(at, 1));
    world.space.areas.remove(PageRange::new(Page::of(at), 2), |_| {});
    check(&world);
}
