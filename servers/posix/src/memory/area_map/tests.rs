//! The area map against a flat map of pages.

use super::AreaMap;
use crate::address::{Page, PageRange};
use crate::memory::area::{Area, Protection, Role};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::vec::Vec;

const PAGES: u64 = 64;

#[derive(Clone, Debug)]
enum Step {
    Insert(u64, u64, u8),
    Remove(u64, u64),
    Protect(u64, u64, u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let range = || (0..PAGES, 1..16_u64);
    let step = prop_oneof![
        (range(), 0..3_u8).prop_map(|((start, pages), bits)| Step::Insert(start, pages, bits)),
        range().prop_map(|(start, pages)| Step::Remove(start, pages)),
        (range(), 0..3_u8).prop_map(|((start, pages), bits)| Step::Protect(start, pages, bits)),
    ];
    prop::collection::vec(step, 1..60)
}

fn area(start: u64, pages: u64, bits: u8) -> Area {
    Area::zeros(PageRange::new(Page(start), pages), Protection::from_bits_truncate(bits), Role::Plain)
}

fn check(map: &AreaMap, model: &BTreeMap<u64, u8>) {
    let areas: Vec<_> = map.iter().collect();
    assert_eq!(areas.len(), map.len());
    assert!(map.blocks.iter().all(|block| !block.areas.is_empty() && block.areas.len() <= super::BLOCK));
    for pair in areas.windows(2) {
        assert!(pair[0].range.end <= pair[1].range.start, "overlap");
        assert!(pair[0].joined(pair[1]).is_none(), "two areas that could be one: {pair:?}");
    }
    for page in 0..PAGES + 20 {
        let found = map.find(Page(page)).map(|area| area.protection.bits());
        assert_eq!(found, model.get(&page).copied(), "page {page}");
    }
}

proptest! {
    #[test]
    fn agrees_with_a_flat_map(steps in steps()) {
        let mut map = AreaMap::default();
        let mut model = BTreeMap::new();
        for step in steps {
            match step {
                Step::Insert(start, pages, bits) => {
                    let free = (start..start + pages).all(|page| !model.contains_key(&page));
                    prop_assert_eq!(map.is_free(PageRange::new(Page(start), pages)), free);
                    if free {
                        map.insert(area(start, pages, bits));
                        model.extend((start..start + pages).map(|page| (page, bits)));
                    }
                }
                Step::Remove(start, pages) => {
                    let mut removed = Vec::new();
                    map.remove(PageRange::new(Page(start), pages), |area| {
                        removed.extend(area.range.iter().map(|page| page.0));
                    });
                    let expected: Vec<_> = model.range(start..start + pages).map(|(page, _)| *page).collect();
                    prop_assert_eq!(removed, expected);
                    model.retain(|page, _| !(start..start + pages).contains(page));
                }
                Step::Protect(start, pages, bits) => {
                    let covered = (start..).take_while(|page| model.contains_key(page)).count() as u64;
                    prop_assert_eq!(map.covered(PageRange::new(Page(start), pages)), covered.min(pages));
                    map.update(PageRange::new(Page(start), pages), |area| {
                        area.protection = Protection::from_bits_truncate(bits);
                    });
                    model.range_mut(start..start + pages).for_each(|(_, protection)| *protection = bits);
                }
            }
            check(&map, &model);
        }
    }

    /// Asked after every step: what a search has measured must not hide what becomes free later.
    #[test]
    fn a_gap_is_free_and_the_highest(steps in steps(), pages in 1..10_u64) {
        let mut map = AreaMap::default();
        for step in steps {
            match step {
                Step::Insert(start, pages, bits) if map.is_free(PageRange::new(Page(start), pages)) => {
                    map.insert(area(start, pages, bits));
                }
                Step::Remove(start, pages) => map.remove(PageRange::new(Page(start), pages), |_| ()),
                Step::Protect(start, pages, bits) => map.update(PageRange::new(Page(start), pages), |area| {
                    area.protection = Protection::from_bits_truncate(bits);
                }),
                Step::Insert(..) => {}
            }
            let found = map.gap_below((Page(3), Page(PAGES)), pages, |page| page, |_| 0);
            let fits = |start: &u64| map.is_free(PageRange::new(Page(*start), pages));
            let expected = (3..=PAGES - pages).rev().find(fits);
            prop_assert_eq!(found, expected.map(Page));
        }
    }
}

/// What a program may have at most is made and taken away again, top down as mmap does, in any number of blocks.
#[test]
fn very_many_areas() {
    const MANY: u64 = 10_000;
    let mut map = AreaMap::default();
    for number in 0..MANY {
        let bounds = (Page(0), Page(2 * MANY));
        let start = map.gap_below(bounds, 1, |page| page, |_| 0).unwrap();
        assert_eq!(start, Page(2 * MANY - 1 - number));
        map.insert(area(start.0, 1, u8::from(number.is_multiple_of(2))));
        assert_eq!(map.len() as u64, number + 1);
    }
    map.update(PageRange::new(Page(0), 2 * MANY), |area| area.protection = Protection::READ);
    assert_eq!((map.len(), map.iter().count()), (1, 1));
    map.remove(PageRange::new(Page(0), 2 * MANY), |_| ());
    assert!(map.is_empty() && map.iter().next().is_none());
}
