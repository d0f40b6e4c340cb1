//! Stories of windows, stocks and MapMany (C-41): each method, each error of its row.

use abi::mapping::{Access, MapEntry};
use abi::message::LIST_OFFSET;
use abi::{Error, Method, Rights};
use microkernel::capability::cap::Cap;
use microkernel::capability::derivation;
use microkernel::failure::Failure;
use microkernel::object::page_table::PageTable;
use microkernel::object::store::Ref;
use microkernel::object::{asid, vspace, window};

use super::support::{BOTH, CNODE, READ, World, refusal};

const MEMORY: u64 = 4 << 20;
/// A page whose three indices differ.
const HERE: u64 = (3 << 22) + (5 << 11) + 8;
const PAGE: u64 = 1 << 14;

/// A space that is current, with a window 0 of 2^`bits` bytes, and a stock.
fn space_with_window(world: &mut World, bits: u8, tables: u64) -> (u64, u64) {
    let (space, frame) = (world.space(), world.frame(bits));
    world.call(space, Method::VSpaceBindWindow, &[frame], &[0]).unwrap();
    if tables != 0 {
        world.give_tables(space, tables);
    }
    let current = world.space_ref(space);
    vspace::activate(&mut world.k, Some(current));
    (space, frame)
}

fn free_tables(world: &World, space: u64) -> u64 {
    world.k.get(world.space_ref(space)).stock.free.get()
}

fn page(world: &World, space: u64, page: u64) -> u64 {
    world.translate(space, page << 14).0
}

const fn map(page: u64, count: u16, access: Access, window_page: u64) -> MapEntry {
    MapEntry::map(page, count, access, 0, window_page)
}

#[test]
fn a_run_is_mapped_protected_and_unmapped() {
    let mut world = World::new(MEMORY);
    let (space, frame) = space_with_window(&mut world, 20, 2);
    let memory = world.frame_memory(frame);
    assert_eq!(world.map_many(space, map(HERE, 5, Access::READ_WRITE, 3)), Ok(vec![1, 0]));
    for number in 0..5 {
        let leaf = 1 << 62 | (memory + (3 + number) * PAGE) | 0x19f;
        assert_eq!(page(&world, space, HERE + number), leaf, "PLV3, never global, not for fetches");
    }
    assert_eq!((page(&world, space, HERE - 1), page(&world, space, HERE + 5)), (0, 0));
    assert_eq!(free_tables(&world, space), 0);
    world.map_many(space, MapEntry::protect(HERE + 1, 2, Access::READ_EXECUTE, 0)).unwrap();
    assert_eq!(page(&world, space, HERE) & (1 << 62 | 0x102), 1 << 62 | 0x102);
    assert_eq!(page(&world, space, HERE + 1), (memory + 4 * PAGE) | 0x9d);
    assert_eq!(page(&world, space, HERE + 3) & 2, 2);
    world.map_many(space, map(HERE + 1, 1, Access::READ, 63)).unwrap();
    assert_eq!(page(&world, space, HERE + 1), 1 << 62 | (memory + 63 * PAGE) | 0x9d, "replaced");
    assert_eq!(world.map_many(space, MapEntry::unmap(HERE - 8, 100)), Ok(vec![1, 0]));
    assert!((0..5).all(|number| page(&world, space, HERE + number) == 0));
    assert_eq!(free_tables(&world, space), 2, "both tables are empty");
}

#[test]
fn a_list_is_worked_off_in_order_and_each_word_is_read_once() {
    let mut world = World::new(MEMORY);
    let (space, frame) = space_with_window(&mut world, 20, 6);
    let memory = world.frame_memory(frame);
    world.list(0, map(HERE, 1, Access::READ, 0));
    world.list(1, map(1 << 22, 4, Access::READ_WRITE, 0));
    world.list(2, MapEntry::unmap(HERE, 1));
    world.list(3, map(0, 0, Access::READ, 0));
    world.list(4, map(0, 1, Access::READ, 7));
    assert_eq!(world.call(space, Method::VSpaceMapMany, &[], &[5, 0, 0]), Ok(vec![5, 0]));
    assert_eq!(page(&world, space, HERE), 0);
    assert_eq!(page(&world, space, (1 << 22) + 3) & 0xffff_ffff_c000, memory + 3 * PAGE);
    assert_eq!(page(&world, space, 0) & 0xffff_ffff_c000, memory + 7 * PAGE);
    assert_eq!(free_tables(&world, space), 2);
}

#[test]
fn the_first_error_ends_a_list_and_says_how_far_it_came() {
    let mut world = World::new(MEMORY);
    let (space, _) = space_with_window(&mut world, 20, 2);
    world.list(0, map(HERE, 2, Access::READ, 0));
    // Up to the end of the table; the next one is not in the stock.
    world.list(1, map(HERE | 2047, 3, Access::READ, 0));
    world.list(2, map(HERE + 4, 1, Access::READ, 0));
    let result = world.call(space, Method::VSpaceMapMany, &[], &[3, 0, 0]);
    assert_eq!(refusal(result), (Error::NeedTable, 1, 1));
    assert_ne!(page(&world, space, HERE + 1), 0);
    assert_ne!(page(&world, space, HERE | 2047), 0);
    assert_eq!(page(&world, space, HERE + 4), 0);
    world.give_tables(space, 1);
    world.list(0, map((HERE | 2047) + 1, 2, Access::READ, 1));
    assert_eq!(world.call(space, Method::VSpaceMapMany, &[], &[1, 0, 0]), Ok(vec![1, 0]));
}

#[test]
fn an_entry_that_cannot_be_says_why_and_changes_nothing() {
    let mut world = World::new(MEMORY);
    let (space, _) = space_with_window(&mut world, 16, 4);
    let read_only = world.frame_with(16, Rights::READ, false);
    world.call(space, Method::VSpaceBindWindow, &[read_only], &[1]).unwrap();
    let mut error = |entry: MapEntry| refusal(world.map_many(space, entry));
    let read = Access::READ;
    assert_eq!(error(MapEntry { first: HERE | 1 << 40, second: 0 }), (Error::InvalidArgument, 0, 0));
    assert_eq!(error(map(1 << 33, 1, read, 0)).0, Error::RangeError);
    assert_eq!(error(map((1 << 33) - 1, 2, read, 0)).0, Error::RangeError);
    assert_eq!(error(MapEntry::unmap((1 << 40) - 1, 65535)).0, Error::RangeError);
    assert_eq!(error(map(HERE, 5, read, 0)).0, Error::RangeError, "past the window's end");
    assert_eq!(error(map(HERE, 1, read, 4)).0, Error::RangeError);
    assert_eq!(error(map(HERE, 1, read, (1 << 56) - 1)).0, Error::RangeError);
    assert_eq!(error(MapEntry::map(HERE, 1, read, 2, 0)).0, Error::NotBound);
    assert_eq!(error(MapEntry::map(HERE, 1, read, 8, 0)).0, Error::RangeError);
    assert_eq!(error(MapEntry::protect(HERE, 1, read, 255)).0, Error::RangeError);
    assert_eq!(error(MapEntry::map(HERE, 1, Access::READ_WRITE, 1, 0)).0, Error::MissingRight);
    assert_eq!(error(MapEntry::protect(HERE, 1, Access::READ_WRITE_EXECUTE, 1)).0, Error::MissingRight);
    assert_eq!(free_tables(&world, space), 4);
    let result = world.call(space, Method::VSpaceMapMany, &[], &[65, 0, 0]);
    assert_eq!(refusal(result), (Error::RangeError, 0, 0));
    world.k.get(world.caller).ipc_buffer.set(0);
    let result = world.call(space, Method::VSpaceMapMany, &[], &[1, 0, 0]);
    assert_eq!(refusal(result).0, Error::NoIpcBuffer);
}

#[test]
fn protect_touches_its_window_alone() {
    let mut world = World::new(MEMORY);
    let (space, _) = space_with_window(&mut world, 16, 2);
    let read_only = world.frame_with(14, Rights::READ, false);
    world.map_many(space, map(HERE, 1, Access::READ, 0)).unwrap();
    world.call(read_only, Method::FrameMap, &[space], &[(HERE + 1) << 14, READ, 0]).unwrap();
    world.map_many(space, MapEntry::protect(HERE, 4, Access::READ_WRITE, 0)).unwrap();
    assert_eq!(page(&world, space, HERE) & 2, 2);
    assert_eq!(page(&world, space, HERE + 1) & 2, 0, "another Frame's page keeps its rights");
    assert_eq!(page(&world, space, HERE + 2), 0);
}

#[test]
fn windows_are_bound_once_and_taken_away() {
    let mut world = World::new(MEMORY);
    let (space, frame) = space_with_window(&mut world, 16, 2);
    let (bare, write_only) = (world.bare_space(), world.frame_with(14, Rights::WRITE, false));
    let mut bind = |space: u64, frame: u64, number: u64| {
        refusal(world.call(space, Method::VSpaceBindWindow, &[frame], &[number]))
    };
    assert_eq!(bind(space, frame, 0), (Error::AlreadyBound, 1, 0));
    assert_eq!(bind(space, frame, 8), (Error::RangeError, 1, 8));
    assert_eq!(bind(space, space, 1), (Error::InvalidCapability, 0, 0));
    assert_eq!(bind(space, write_only, 1), (Error::MissingRight, 0, 1));
    assert_eq!(bind(bare, frame, 0).0, Error::NoAsid);
    world.map_many(space, map(HERE, 1, Access::READ, 0)).unwrap();
    world.call(space, Method::VSpaceBindWindow, &[0], &[0]).unwrap();
    assert_eq!(page(&world, space, HERE), 0);
    assert_eq!(refusal(world.map_many(space, map(HERE, 1, Access::READ, 0))).0, Error::NotBound);
    world.call(space, Method::VSpaceBindWindow, &[frame], &[0]).unwrap();
    world.map_many(space, map(HERE, 1, Access::READ, 0)).unwrap();
}

#[test]
fn a_device_is_shown_uncached() {
    let mut world = World::new(MEMORY);
    let (space, _) = space_with_window(&mut world, 16, 2);
    let device = world.frame_with(16, Rights::READ_WRITE, true);
    world.call(space, Method::VSpaceBindWindow, &[device], &[7]).unwrap();
    world.map_many(space, MapEntry::map(HERE, 1, Access::READ, 7, 0)).unwrap();
    assert_eq!(page(&world, space, HERE) & 0x30, 0);
}

#[test]
fn a_revoked_window_is_gone_from_every_space() {
    let mut world = World::new(MEMORY);
    let (space, frame) = space_with_window(&mut world, 16, 4);
    let other = world.space();
    world.give_tables(other, 2);
    world.call(other, Method::VSpaceBindWindow, &[frame], &[5]).unwrap();
    world.map_many(space, map(HERE, 2, Access::READ, 0)).unwrap();
    world.map_many(space, map(HERE + (1 << 22), 2, Access::READ, 0)).unwrap();
    world.map_many(other, MapEntry::map(7, 2, Access::READ, 5, 2)).unwrap();
    world.take_flushes();
    let slot = world.slot(frame);
    derivation::revoke(&mut world.k, slot).unwrap();
    assert_eq!((page(&world, space, HERE), page(&world, space, HERE + (1 << 22) + 1)), (0, 0));
    assert_eq!((page(&world, other, 7), page(&world, other, 8)), (0, 0));
    assert!(!world.take_flushes().is_empty());
    assert!(!derivation::has_children(&world.k, slot));
    assert_eq!((free_tables(&world, space), free_tables(&world, other)), (4, 2));
    assert_eq!(refusal(world.map_many(space, map(HERE, 1, Access::READ, 0))).0, Error::NotBound);
}

#[test]
fn a_window_that_is_going_shows_nothing_new_and_goes_in_bounded_steps() {
    let mut world = World::new(MEMORY);
    let (space, frame) = space_with_window(&mut world, 20, 4);
    world.map_many(space, map((1 << 33) - 64, 64, Access::READ, 0)).unwrap();
    world.map_many(space, map(0, 64, Access::READ, 0)).unwrap();
    world.k.machine.preempt = true;
    world.k.machine.longest.set(0);
    let slot = world.slot(frame);
    let mut steps = 0;
    while derivation::revoke(&mut world.k, slot) == Err(Failure::Preempted) {
        steps += 1;
        assert_eq!(page(&world, space, 0), 0);
        let result = world.map_many(space, map(0, 1, Access::READ, 0));
        assert_eq!(refusal(result).0, Error::NotBound);
        let result = world.map_many(space, MapEntry::protect((1 << 33) - 64, 1, Access::READ_WRITE, 0));
        assert_eq!(refusal(result).0, Error::NotBound);
        let result = world.call(space, Method::VSpaceBindWindow, &[frame], &[0]);
        assert_eq!(refusal(result).0, Error::AlreadyBound);
    }
    assert!(steps > 20);
    assert!(world.k.machine.longest.get() < 1000, "{}", world.k.machine.longest.get());
    assert_eq!(page(&world, space, (1 << 33) - 64), 0);
    world.call(space, Method::VSpaceBindWindow, &[frame], &[0]).unwrap();
    world.map_many(space, map(0, 1, Access::READ, 0)).unwrap();
}

#[test]
fn long_runs_stop_when_an_interrupt_waits_and_go_on_from_there() {
    let mut world = World::new(MEMORY);
    let (space, _) = space_with_window(&mut world, 28, 20);
    world.k.machine.preempt = true;
    let (mut done, mut calls) = (0, 0);
    while done < 16384 {
        let rest = u16::try_from(16384 - done).unwrap();
        let answer = world.map_many(space, map(HERE + done, rest, Access::READ_WRITE, done)).unwrap();
        done += if answer == [1, 0] { u64::from(rest) } else { answer[1] };
        calls += 1;
    }
    assert!((60..70).contains(&calls), "{calls}");
    assert!((0..16384).all(|number| page(&world, space, HERE + number) != 0));
    // Unmapping what is not there takes a step for each table that is missing.
    world.map_many(space, MapEntry::unmap(HERE - 1000, 65535)).unwrap();
}

#[test]
fn given_tables_are_nobodys_to_map_until_they_come_back() {
    let mut world = World::new(MEMORY);
    let (space, _) = space_with_window(&mut world, 16, 0);
    let first = world.give_tables(space, 3);
    let map_table = world.call(first, Method::PageTableMap, &[space], &[0]);
    assert_eq!(refusal(map_table).0, Error::AlreadyMapped);
    let give = |world: &mut World, words: [u64; 3]| {
        refusal(world.call(space, Method::VSpaceGiveTables, &[CNODE], &words))
    };
    assert_eq!(give(&mut world, [first, 64, 1]), (Error::AlreadyMapped, 0, 0));
    assert_eq!(give(&mut world, [first, 64, 65]), (Error::RangeError, 0, 64));
    assert_eq!(give(&mut world, [first, 0, 1]).0, Error::RangeError);
    let (one, not_a_table) = (world.table(), world.frame(14));
    assert_eq!(one + 1, not_a_table);
    assert_eq!(give(&mut world, [one, 64, 2]), (Error::InvalidCapability, 1, 0));
    assert_eq!(free_tables(&world, space), 4);

    world.map_many(space, map(HERE, 1, Access::READ, 0)).unwrap();
    // Two are in use, and the other two come back: nobody knows which before he asks.
    let tables = [first, first + 1, first + 2, one];
    let back: Vec<_> = tables.map(|table| world.call(table, Method::PageTableUnmap, &[], &[])).into();
    assert_eq!(back.iter().filter(|result| result.is_ok()).count(), 2);
    assert_eq!(refusal(back.into_iter().find(Result::is_err).unwrap()).0, Error::InvalidState);
    assert_eq!(free_tables(&world, space), 0);
    let other = world.space();
    let taken = tables.into_iter().find(|table| matches!(world.cap(*table), Cap::PageTable { .. })).unwrap();
    world.call(taken, Method::PageTableMap, &[other], &[0]).unwrap();
    assert_ne!(page(&world, space, HERE), 0);
}

fn table_of(world: &World, number: u64) -> Ref<PageTable> {
    match world.cap(number) {
        Cap::PageTable { table, .. } | Cap::GivenTable { table, .. } => table,
        other => panic!("{other:?} is no table"),
    }
}

fn is_zero(world: &World, table: Ref<PageTable>) -> bool {
    world.k.get(table).is_empty(0, 2048)
}

#[test]
fn tables_come_back_from_a_space_that_is_deleted() {
    let mut world = World::new(MEMORY);
    let (space, frame) = space_with_window(&mut world, 16, 0);
    let first = world.give_tables(space, 4);
    world.map_many(space, map(HERE, 4, Access::READ, 0)).unwrap();
    let slot = world.slot(space);
    derivation::delete(&mut world.k, slot).unwrap();
    let of_frame = world.slot(frame);
    assert!(!derivation::has_children(&world.k, of_frame), "the window is let go of");

    // Another space with the same identifier and a stock of its own is not theirs.
    let other = world.space();
    assert_eq!(vspace::identifier(&world.k, world.space_ref(other), 0), Ok(0));
    world.give_tables(other, 2);
    for table in first..first + 4 {
        world.call(table, Method::PageTableUnmap, &[], &[]).unwrap();
        assert!(is_zero(&world, table_of(&world, table)));
    }
    assert_eq!(free_tables(&world, other), 2);
    world.call(first, Method::PageTableMap, &[other], &[0]).unwrap();
}

#[test]
fn tables_come_back_from_a_space_whose_pool_is_gone() {
    let mut world = World::new(MEMORY);
    let (space, frame) = space_with_window(&mut world, 16, 0);
    let first = world.give_tables(space, 3);
    world.map_many(space, map(HERE, 4, Access::READ, 0)).unwrap();
    let Cap::AsidPool(pool) = world.cap(super::support::POOL) else { panic!() };
    asid::finalise_pool(&mut world.k, pool).unwrap();
    for table in first..first + 3 {
        world.call(table, Method::PageTableUnmap, &[], &[]).unwrap();
    }
    assert_eq!(refusal(world.map_many(space, MapEntry::unmap(HERE, 1))).0, Error::NoAsid);
    let slot = world.slot(frame);
    derivation::revoke(&mut world.k, slot).unwrap();
    let slot = world.slot(space);
    derivation::delete(&mut world.k, slot).unwrap();
}

#[test]
fn a_free_table_is_deleted_alone_one_in_use_takes_the_stock_along() {
    let mut world = World::new(MEMORY);
    let (space, _) = space_with_window(&mut world, 16, 0);
    let first = world.give_tables(space, 5);
    world.map_many(space, map(HERE, 1, Access::READ, 0)).unwrap();
    let free = (first..first + 5).find(|table| {
        let table = table_of(&world, *table);
        world.k.get(table).entry(0).0 & 3 == 2
    });
    let slot = world.slot(free.unwrap());
    derivation::delete(&mut world.k, slot).unwrap();
    assert_eq!(free_tables(&world, space), 2);
    assert_ne!(page(&world, space, HERE), 0);
    let used = (first..first + 5).find(|table| {
        matches!(world.cap(*table), Cap::GivenTable { table, .. } if world.k.get(table).entry(0).0 & 3 != 2)
    });
    world.take_flushes();
    let slot = world.slot(used.unwrap());
    world.k.machine.preempt = true;
    world.k.machine.longest.set(0);
    while derivation::delete(&mut world.k, slot) == Err(Failure::Preempted) {}
    world.k.machine.preempt = false;
    assert!(world.k.machine.longest.get() < 1000);
    assert_eq!((page(&world, space, HERE), free_tables(&world, space)), (0, 0));
    assert!(world.take_flushes().contains(&(1, None)));
    let result = world.map_many(space, map(HERE, 1, Access::READ, 0));
    assert_eq!(refusal(result).0, Error::NeedTable);
    for table in first..first + 5 {
        if matches!(world.cap(table), Cap::GivenTable { .. }) {
            world.call(table, Method::PageTableUnmap, &[], &[]).unwrap();
            assert!(is_zero(&world, table_of(&world, table)));
        }
    }
    world.give_tables(space, 2);
    world.map_many(space, map(HERE, 1, Access::READ, 0)).unwrap();
}

#[test]
fn frames_and_tables_with_capabilities_share_a_space_with_the_stock() {
    let mut world = World::new(MEMORY);
    let (space, _) = space_with_window(&mut world, 16, 2);
    let (frame, last) = (world.frame(15), world.table());
    world.map_many(space, map(HERE, 1, Access::READ, 0)).unwrap();
    // A Frame in the stock's table: the table stays for it, and returns with it.
    world.call(frame, Method::FrameMap, &[space], &[(HERE + 2) << 14, BOTH, 0]).unwrap();
    world.map_many(space, MapEntry::unmap(HERE, 1)).unwrap();
    assert_ne!(page(&world, space, HERE + 3), 0);
    assert_eq!(free_tables(&world, space), 0);
    world.call(frame, Method::FrameUnmap, &[], &[]).unwrap();
    assert_eq!(free_tables(&world, space), 2);
    // A table with a capability below one of the stock's.
    world.map_many(space, map(HERE, 1, Access::READ, 0)).unwrap();
    let beside = (HERE & !2047) + 2048;
    world.call(last, Method::PageTableMap, &[space], &[beside << 14]).unwrap();
    world.map_many(space, map(beside, 1, Access::READ, 0)).unwrap();
    world.map_many(space, MapEntry::unmap(HERE, 1)).unwrap();
    assert_eq!(free_tables(&world, space), 1);
    assert_ne!(page(&world, space, beside), 0);
    world.map_many(space, MapEntry::unmap(beside, 1)).unwrap();
    assert_eq!(free_tables(&world, space), 1, "a table with a capability stays where it is");
    world.call(last, Method::PageTableUnmap, &[], &[]).unwrap();
    assert_eq!(free_tables(&world, space), 2);
    // Below a table with a capability the stock's are not used, since they would be lost with it.
    world.call(last, Method::PageTableMap, &[space], &[HERE << 14]).unwrap();
    let result = world.map_many(space, map(HERE, 1, Access::READ, 0));
    assert_eq!(refusal(result).0, Error::NoPageTable);
}

#[test]
fn a_large_leaf_is_in_the_way() {
    let mut world = World::new(MEMORY);
    let (space, _) = space_with_window(&mut world, 16, 2);
    let (large, middle) = (world.frame(25), world.table());
    world.call(middle, Method::PageTableMap, &[space], &[HERE << 14]).unwrap();
    world.call(large, Method::FrameMap, &[space], &[(HERE & !2047) << 14, BOTH, 0]).unwrap();
    for entry in
        [map(HERE, 1, Access::READ, 0), MapEntry::protect(HERE, 1, Access::READ, 0), MapEntry::unmap(HERE, 1)]
    {
        assert_eq!(refusal(world.map_many(space, entry)), (Error::AlreadyMapped, 0, 0));
    }
}

#[test]
fn pairs_are_flushed_one_by_one_up_to_sixteen() {
    let mut world = World::new(MEMORY);
    let (space, _) = space_with_window(&mut world, 20, 2);
    let base = HERE << 14;
    world.take_flushes();
    world.map_many(space, map(HERE + 1, 2, Access::READ, 0)).unwrap();
    assert_eq!(world.take_flushes(), [(1, Some(base)), (1, Some(base + 2 * PAGE))]);
    world.map_many(space, map(HERE + 1, 2, Access::READ, 0)).unwrap();
    assert_eq!(world.take_flushes(), [], "nothing changed");
    world.map_many(space, map(HERE, 32, Access::READ, 0)).unwrap();
    assert_eq!(world.take_flushes().len(), 16);
    world.map_many(space, MapEntry::protect(HERE, 33, Access::READ_WRITE, 0)).unwrap();
    assert_eq!(world.take_flushes(), [(1, None)]);
    world.map_many(space, MapEntry::unmap(HERE + 100, 32)).unwrap();
    assert_eq!(world.take_flushes(), []);
}

#[test]
fn the_list_lies_where_the_abi_says() {
    assert_eq!(LIST_OFFSET, 2048);
    let space = Ref::from_raw(0x9000_0000_0100_0000).unwrap();
    assert_eq!(window::slot(space, 0).raw() - space.raw(), 32);
}
