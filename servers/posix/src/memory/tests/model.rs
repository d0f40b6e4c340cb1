//! Random calls against a model that keeps one record a page, and bugs that the checks must find.

use super::{FIXED, PRIVATE, RW, SHARED, World, check};
use crate::address::{PAGE_BYTES, Page, PageRange};
use crate::host::{Host, SpaceId};
use crate::memory::area::Sharing;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::vec::Vec;

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
                .all(|area| area.sharing == Sharing::Private);
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
    let entry = crate::memory::space::single(page, &world.memory, frame, crate::host::PageRights::WRITE);
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
