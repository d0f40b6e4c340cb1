//! Stories of Frame, PageTable, AsidPool and AsidControl: each method, each error of its row.

use super::support::{ASID_CONTROL, BOTH, CNODE, NO_EXECUTE, POOL, READ, UNCACHED, WRITE, World, refusal};
use abi::{Error, Method, Rights};
use microkernel::capability::cap::Cap;
use microkernel::failure::Failure;
use microkernel::object::{asid, frame, page_table, vspace};

const MEMORY: u64 = 8 << 20;
/// An address whose three indices differ, at a multiple of 64 GiB plus 32 MiB plus 128 KiB.
const HERE: u64 = (3 << 36) + (5 << 25) + (8 << 14);

/// A space with both tables for [`HERE`]: the space, the middle and the last table.
fn space_with_tables(world: &mut World) -> (u64, u64, u64) {
    let (space, middle, last) = (world.space(), world.table(), world.table());
    world.call(middle, Method::PageTableMap, &[space], &[HERE]).unwrap();
    world.call(last, Method::PageTableMap, &[space], &[HERE]).unwrap();
    (space, middle, last)
}

#[test]
fn a_page_is_where_it_was_mapped_with_the_rights_asked_for() {
    let mut world = World::new(MEMORY);
    let (space, ..) = space_with_tables(&mut world);
    let frame = world.frame(14);
    let memory = world.frame_memory(frame);
    world.call(frame, Method::FrameMap, &[space], &[HERE, BOTH, NO_EXECUTE]).unwrap();
    assert_eq!(world.translate(space, HERE), (1 << 62 | memory | 0x19f, 14));
    world.call(frame, Method::FrameMap, &[space], &[HERE, READ, 0]).unwrap();
    assert_eq!(world.translate(space, HERE), (memory | 0x9d, 14));
    assert_eq!(world.call(frame, Method::FrameGetAddress, &[], &[]).unwrap(), [memory]);
    world.call(frame, Method::FrameUnmap, &[], &[]).unwrap();
    assert_eq!(world.translate(space, HERE), (0, 14));
    assert_eq!(refusal(world.call(frame, Method::FrameUnmap, &[], &[])).0, Error::NotMapped);
}

#[test]
fn rights_are_those_of_the_capability_at_most() {
    let mut world = World::new(MEMORY);
    let (space, ..) = space_with_tables(&mut world);
    let read_only = world.frame_with(14, Rights::READ, false);
    world.call(read_only, Method::FrameMap, &[space], &[HERE, BOTH, 0]).unwrap();
    assert_eq!(world.translate(space, HERE).0 & 0x102, 0);
    let write_only = world.frame_with(14, Rights::WRITE, false);
    for rights in [BOTH, READ] {
        let result = world.call(write_only, Method::FrameMap, &[space], &[HERE, rights, 0]);
        assert_eq!(refusal(result), (Error::InvalidArgument, 2, 0));
    }
}

#[test]
fn device_memory_is_never_cached() {
    let mut world = World::new(MEMORY);
    let (space, ..) = space_with_tables(&mut world);
    let device = world.frame_with(14, Rights::READ_WRITE, true);
    world.call(device, Method::FrameMap, &[space], &[HERE, BOTH, 0]).unwrap();
    assert_eq!(world.translate(space, HERE).0 & 0x30, 0);
    let memory = world.frame(14);
    world.call(memory, Method::FrameMap, &[space], &[HERE + 0x4000, BOTH, UNCACHED]).unwrap();
    assert_eq!(world.translate(space, HERE + 0x4000).0 & 0x30, 0);
}

#[test]
fn a_map_that_cannot_be_says_why() {
    let mut world = World::new(MEMORY);
    let (space, ..) = space_with_tables(&mut world);
    let (frame, big, bare) = (world.frame(14), world.frame(26), world.bare_space());
    let mut map = |frame: u64, space: u64, words: [u64; 3]| {
        refusal(world.call(frame, Method::FrameMap, &[space], &words))
    };
    assert_eq!(map(frame, frame, [HERE, READ, 0]), (Error::InvalidCapability, 0, 0));
    assert_eq!(map(frame, 0, [HERE, READ, 0]), (Error::InvalidCapability, 0, 0));
    assert_eq!(map(frame, bare, [HERE, READ, 0]), (Error::NoAsid, 0, 0));
    assert_eq!(map(frame, space, [HERE + 8, READ, 0]), (Error::AlignmentError, 1, 1 << 14));
    assert_eq!(map(big, space, [1 << 25, READ, 0]), (Error::AlignmentError, 1, 1 << 26));
    assert_eq!(map(frame, space, [1 << 47, READ, 0]), (Error::RangeError, 1, 1 << 47));
    assert_eq!(map(frame, space, [u64::MAX << 14, READ, 0]), (Error::RangeError, 1, 1 << 47));
    assert_eq!(map(frame, space, [HERE, 16, 0]), (Error::InvalidArgument, 2, 0));
    assert_eq!(map(frame, space, [HERE, 0, 0]), (Error::InvalidArgument, 2, 0));
    assert_eq!(map(frame, space, [HERE, WRITE, 0]), (Error::InvalidArgument, 2, 0));
    assert_eq!(map(frame, space, [HERE, READ, 4]), (Error::InvalidArgument, 3, 0));
    assert_eq!(map(frame, space, [0, READ, 0]), (Error::NoPageTable, 1, 36));
    assert_eq!(map(big, space, [0, READ, 0]), (Error::NoPageTable, 1, 36));
    assert_eq!(map(frame, space, [3 << 36, READ, 0]), (Error::NoPageTable, 1, 25));
    // 64 MiB over a 32 MiB stretch that has a table.
    assert_eq!(map(big, space, [(3 << 36) + (4 << 25), READ, 0]), (Error::AlreadyMapped, 1, 0));
    let (error, ..) = refusal(world.call(frame, Method::FrameMap, &[space], &[HERE]));
    assert_eq!(error, Error::TruncatedMessage);
}

#[test]
fn a_place_and_a_capability_are_mapped_once() {
    let mut world = World::new(MEMORY);
    let (space, ..) = space_with_tables(&mut world);
    let (one, other) = (world.frame(14), world.frame(14));
    let copy = world.copy(one);
    world.call(one, Method::FrameMap, &[space], &[HERE, READ, 0]).unwrap();
    for frame in [other, copy] {
        let result = world.call(frame, Method::FrameMap, &[space], &[HERE, READ, 0]);
        assert_eq!(refusal(result), (Error::AlreadyMapped, 1, 0));
    }
    let result = world.call(one, Method::FrameMap, &[space], &[HERE + 0x4000, READ, 0]);
    assert_eq!(refusal(result), (Error::AlreadyMapped, 0, 0));
    world.call(copy, Method::FrameMap, &[space], &[HERE + 0x4000, BOTH, 0]).unwrap();
    world.call(one, Method::FrameUnmap, &[], &[]).unwrap();
    assert_eq!(world.translate(space, HERE + 0x4000).0 & 0x103, 0x103, "the copy's mapping is its own");
}

#[test]
fn large_frames_are_large_leaves_and_a_run_is_all_or_nothing() {
    let mut world = World::new(MEMORY);
    let (space, ..) = space_with_tables(&mut world);
    let big = world.frame(26);
    let memory = world.frame_memory(big);
    let place = 3 << 36 | 6 << 25;
    world.call(big, Method::FrameMap, &[space], &[place, BOTH, 0]).unwrap();
    assert_eq!(world.translate(space, place), (memory | 0x1df, 25));
    assert_eq!(world.translate(space, place + (1 << 25)), ((memory + (1 << 25)) | 0x1df, 25));
    let small = world.frame(14);
    let result = world.call(small, Method::FrameMap, &[space], &[place, READ, 0]);
    assert_eq!(refusal(result), (Error::AlreadyMapped, 1, 0));
    let table = world.table();
    let result = world.call(table, Method::PageTableMap, &[space], &[place]);
    assert_eq!(refusal(result), (Error::AlreadyMapped, 1, 0));

    let four_pages = world.frame(16);
    world.call(small, Method::FrameMap, &[space], &[HERE + 0xc000, READ, 0]).unwrap();
    let result = world.call(four_pages, Method::FrameMap, &[space], &[HERE, READ, 0]);
    assert_eq!(refusal(result), (Error::AlreadyMapped, 1, 0));
    assert_eq!(world.translate(space, HERE), (0, 14), "a refused Map changes nothing");
    assert_eq!(world.mapping(four_pages), None);
}

#[test]
fn a_long_map_and_unmap_give_way_to_interrupts() {
    let mut world = World::new(MEMORY);
    let (space, ..) = space_with_tables(&mut world);
    let frame = world.frame(24);
    let place = 3 << 36 | 5 << 25;
    for (method, caps, words, there) in [
        (Method::FrameMap, &[space][..], &[place, BOTH, 0][..], true),
        (Method::FrameMap, &[space][..], &[place, READ, 0][..], true),
        (Method::FrameUnmap, &[][..], &[][..], false),
    ] {
        world.take_flushes();
        let mut calls = 0;
        loop {
            // An interrupt at each poll after the first pass over what is already done.
            world.k.machine.preempt = calls % 2 == 0;
            calls += 1;
            match world.call(frame, method, caps, words) {
                Err(Failure::Preempted) => {}
                result => break drop(result.unwrap()),
            }
        }
        world.k.machine.preempt = false;
        assert!(calls > 1, "{method:?} took {calls}");
        for page in 0..1024 {
            assert_eq!(world.translate(space, place + (page << 14)).0 != 0, there);
        }
    }
}

#[test]
fn a_long_map_that_is_overtaken_is_refused_and_can_be_taken_back() {
    let mut world = World::new(MEMORY);
    let (space, ..) = space_with_tables(&mut world);
    let (long, other) = (world.frame(24), world.frame(14));
    let place = 3 << 36 | 5 << 25;
    world.k.machine.preempt = true;
    let first = world.call(long, Method::FrameMap, &[space], &[place, BOTH, 0]);
    assert_eq!(first, Err(Failure::Preempted));
    world.k.machine.preempt = false;
    world.call(other, Method::FrameMap, &[space], &[place + (1023 << 14), BOTH, 0]).unwrap();
    let again = world.call(long, Method::FrameMap, &[space], &[place, BOTH, 0]);
    assert_eq!(refusal(again), (Error::AlreadyMapped, 1, 0));
    world.call(long, Method::FrameUnmap, &[], &[]).unwrap();
    assert_eq!(world.translate(space, place).0, 0);
    assert_ne!(world.translate(space, place + (1023 << 14)).0, 0);
}

#[test]
fn tables_fill_the_first_missing_level() {
    let mut world = World::new(MEMORY);
    let (space, middle, last) = space_with_tables(&mut world);
    assert_eq!(world.mapping(middle).unwrap().address.0, 3 << 36);
    assert_eq!(world.mapping(last).unwrap().address.0, (3 << 36) + (5 << 25));
    let (third, bare) = (world.table(), world.bare_space());
    let mut map = |table: u64, space: u64, address: u64| {
        refusal(world.call(table, Method::PageTableMap, &[space], &[address]))
    };
    assert_eq!(map(third, space, HERE), (Error::AlreadyMapped, 1, 0));
    assert_eq!(map(last, space, 0), (Error::AlreadyMapped, 0, 0));
    assert_eq!(map(third, space, 1 << 47), (Error::RangeError, 1, 1 << 47));
    assert_eq!(map(third, bare, 0), (Error::NoAsid, 0, 0));
    assert_eq!(map(third, third, 0), (Error::InvalidCapability, 0, 0));
    let result = world.call(third, Method::PageTableUnmap, &[], &[]);
    assert_eq!(refusal(result).0, Error::NotMapped);
}

#[test]
fn an_unmapped_table_takes_along_what_it_held_and_comes_back_empty() {
    let mut world = World::new(MEMORY);
    let (space, middle, last) = space_with_tables(&mut world);
    let frame = world.frame(14);
    world.call(frame, Method::FrameMap, &[space], &[HERE, BOTH, 0]).unwrap();
    world.call(middle, Method::PageTableUnmap, &[], &[]).unwrap();
    assert_eq!(world.translate(space, HERE), (0, 14));

    // The records of what was below find nothing, and do no harm to what is there now.
    let other_middle = world.table();
    world.call(other_middle, Method::PageTableMap, &[space], &[HERE]).unwrap();
    world.call(middle, Method::PageTableMap, &[space], &[HERE]).unwrap();
    assert_eq!(world.translate(space, HERE), (0, 14), "the table was cleared");
    let replacement = world.frame(14);
    world.call(replacement, Method::FrameMap, &[space], &[HERE, READ, 0]).unwrap();
    let result = world.call(last, Method::PageTableMap, &[space], &[0]);
    assert_eq!(refusal(result).0, Error::AlreadyMapped, "a table with a record is unmapped first");
    world.call(frame, Method::FrameUnmap, &[], &[]).unwrap();
    world.call(last, Method::PageTableUnmap, &[], &[]).unwrap();
    assert_ne!(world.translate(space, HERE).0, 0);
    world.call(last, Method::PageTableMap, &[space], &[0]).unwrap();
    assert_eq!(world.translate(space, 0), (0, 14));
}

#[test]
fn a_deleted_frame_or_table_leaves_no_entry() {
    let mut world = World::new(MEMORY);
    let (space, _, last) = space_with_tables(&mut world);
    let frame = world.frame(14);
    world.call(frame, Method::FrameMap, &[space], &[HERE, BOTH, 0]).unwrap();
    let Cap::Frame(cap) = world.cap(frame) else { panic!() };
    frame::finalise(&mut world.k, &cap).unwrap();
    assert_eq!(world.translate(space, HERE), (0, 14));
    let Cap::PageTable { table, mapping } = world.cap(last) else { panic!() };
    page_table::finalise(&mut world.k, table, mapping);
    let small = world.frame(14);
    let result = world.call(small, Method::FrameMap, &[space], &[HERE, READ, 0]);
    assert_eq!(refusal(result), (Error::NoPageTable, 1, 25));
}

#[test]
fn a_space_is_assigned_once_and_for_all() {
    let mut world = World::new(MEMORY);
    let space = world.space();
    assert_eq!(vspace::identifier(&world.k, world.space_ref(space), 0), Ok(0));
    let result = world.call(POOL, Method::AsidPoolAssign, &[space], &[]);
    assert_eq!(refusal(result), (Error::AlreadyBound, 0, 0));
    let result = world.call(POOL, Method::AsidPoolAssign, &[POOL], &[]);
    assert_eq!(refusal(result), (Error::InvalidCapability, 0, 0));

    // Its pool goes: the space is dead and stays so, since records name the identifier that it had.
    let Cap::AsidPool(pool) = world.cap(POOL) else { panic!() };
    asid::finalise_pool(&mut world.k, pool).unwrap();
    let (frame, table) = (world.frame(14), world.table());
    let result = world.call(frame, Method::FrameMap, &[space], &[HERE, READ, 0]);
    assert_eq!(refusal(result), (Error::NoAsid, 0, 0));
    let result = world.call(table, Method::PageTableMap, &[space], &[HERE]);
    assert_eq!(refusal(result), (Error::NoAsid, 0, 0));
    let (untyped, pool) = (world.untyped(12), world.empty_slot());
    world.call(ASID_CONTROL, Method::AsidControlMakePool, &[untyped, CNODE], &[pool, 64]).unwrap();
    let result = world.call(pool, Method::AsidPoolAssign, &[space], &[]);
    assert_eq!(refusal(result), (Error::AlreadyBound, 0, 0));
}

#[test]
fn a_full_pool_has_no_identifier_left() {
    let mut world = World::new(MEMORY);
    let space = world.bare_space();
    let Cap::AsidPool(pool) = world.cap(POOL) else { panic!() };
    let other = world.space_ref(space);
    for entry in &world.k.get(pool).spaces {
        entry.set(Some(other));
    }
    let result = world.call(POOL, Method::AsidPoolAssign, &[space], &[]);
    assert_eq!(refusal(result).0, Error::NoAsid);
}

#[test]
fn pools_are_made_of_untypeds_of_their_size() {
    let mut world = World::new(MEMORY);
    let (small, large, untyped) = (world.untyped(11), world.untyped(13), world.untyped(12));
    let into = world.empty_slot();
    let make = |world: &mut World, caps: [u64; 2], words: [u64; 2]| {
        refusal(world.call(ASID_CONTROL, Method::AsidControlMakePool, &caps, &words))
    };
    assert_eq!(make(&mut world, [small, CNODE], [into, 64]), (Error::NotEnoughMemory, 0, 1 << 11));
    assert_eq!(make(&mut world, [large, CNODE], [into, 64]), (Error::InvalidCapability, 0, 0));
    assert_eq!(make(&mut world, [CNODE, CNODE], [into, 64]), (Error::InvalidCapability, 0, 0));
    assert_eq!(make(&mut world, [untyped, CNODE], [CNODE, 64]), (Error::SlotOccupied, 2, 0));
    assert_eq!(make(&mut world, [untyped, untyped], [into, 64]).0, Error::LookupFailed);
    world.call(ASID_CONTROL, Method::AsidControlMakePool, &[untyped, CNODE], &[into, 64]).unwrap();
    let space = world.bare_space();
    world.call(into, Method::AsidPoolAssign, &[space], &[]).unwrap();
    assert_eq!(vspace::identifier(&world.k, world.space_ref(space), 0), Ok(512));
    let again = world.empty_slot();
    assert_eq!(make(&mut world, [untyped, CNODE], [again, 64]), (Error::RevokeFirst, 0, 0));
    let full = world.k.asids.pools[0];
    world.k.asids.pools.fill(full);
    let (untyped, into) = (world.untyped(12), world.empty_slot());
    assert_eq!(make(&mut world, [untyped, CNODE], [into, 64]), (Error::NoAsid, 0, 128));
}

#[test]
fn a_pool_with_many_spaces_goes_in_steps() {
    let mut world = World::new(32 << 20);
    let spaces: Vec<u64> = (0..200).map(|_| world.space()).collect();
    let Cap::AsidPool(pool) = world.cap(POOL) else { panic!() };
    world.k.machine.preempt = true;
    let mut calls = 1;
    while asid::finalise_pool(&mut world.k, pool) == Err(Failure::Preempted) {
        calls += 1;
    }
    assert_eq!(calls, 7);
    for space in spaces {
        assert!(vspace::identifier(&world.k, world.space_ref(space), 0).is_err());
    }
    assert_eq!(world.k.asids.pools[0], None);
}

#[test]
fn the_hardware_identifiers_go_round_and_a_stolen_one_is_flushed() {
    let mut world = World::new(48 << 20);
    let mut spaces: Vec<u64> = (0..512).map(|_| world.space()).collect();
    for _ in 0..2 {
        let (untyped, pool) = (world.untyped(12), world.empty_slot());
        world.call(ASID_CONTROL, Method::AsidControlMakePool, &[untyped, CNODE], &[pool, 64]).unwrap();
        for _ in 0..300 {
            let space = world.bare_space();
            world.call(pool, Method::AsidPoolAssign, &[space], &[]).unwrap();
            spaces.push(space);
        }
    }
    for space in &spaces {
        let space = world.space_ref(*space);
        vspace::activate(&mut world.k, Some(space));
        let root = vspace::root(space).address().physical();
        assert_eq!(world.k.machine.space.0, root);
        assert_eq!(world.k.machine.space.1.0, world.k.get(space).hardware_asid.get());
    }
    let lent =
        |world: &World, number: usize| world.k.get(world.space_ref(spaces[number])).hardware_asid.get();
    assert_eq!(spaces.len(), 1112);
    assert_eq!(lent(&world, 0), 0, "the first was robbed");
    assert_eq!(lent(&world, 1023), 1);
    assert_eq!(lent(&world, 200), 201);
    let stolen: Vec<u64> = world.take_flushes().into_iter().map(|(asid, _)| asid).collect();
    assert_eq!(stolen, (1..=89).collect::<Vec<_>>());

    vspace::activate(&mut world.k, None);
    assert_eq!(world.k.machine.space, (world.k.empty_root, microkernel::arch::HardwareAsid(0)));
}

#[test]
fn a_deleted_space_is_left_and_its_identifiers_are_free() {
    let mut world = World::new(MEMORY);
    let (space, other) = (world.space(), world.bare_space());
    let space = world.space_ref(space);
    vspace::activate(&mut world.k, Some(space));
    vspace::finalise(&mut world.k, space).unwrap();
    assert_eq!(world.k.machine.space.0, world.k.empty_root);
    assert_eq!(world.take_flushes(), [(1, None)]);
    world.call(POOL, Method::AsidPoolAssign, &[other], &[]).unwrap();
    assert_eq!(vspace::identifier(&world.k, world.space_ref(other), 0), Ok(0));
    vspace::activate(&mut world.k, Some(space));
    assert_eq!(world.k.machine.space.0, world.k.empty_root, "a dead space is nobody's");
}
