//! Retype: what it makes, what it refuses, and that memory is clean before anybody sees it.

use abi::{Error, Method, ObjectType};
use microkernel::address::WindowAddr;
use microkernel::arch::Machine;
use microkernel::capability::cap::Cap;
use microkernel::failure::Failure;

use crate::world::{UNTYPED_BITS, World, at, error, refused};

/// Every type that Retype makes, with a size that it takes.
const MADE: [(ObjectType, u64); 12] = [
    (ObjectType::Untyped, 12),
    (ObjectType::CNode, 9),
    (ObjectType::Tcb, 10),
    (ObjectType::Endpoint, 6),
    (ObjectType::Reply, 6),
    (ObjectType::Notification, 6),
    (ObjectType::SchedContext, 8),
    (ObjectType::PageTable, 14),
    (ObjectType::Frame, 15),
    (ObjectType::VSpace, 15),
    (ObjectType::Host, 9),
    (ObjectType::Timer, 7),
];

#[test]
fn many_objects_in_one_call() {
    for (object_type, size_bits) in MADE {
        let mut world = World::new();
        assert_eq!(world.retype(at::UNTYPED, object_type, size_bits, at::FREE, 7), Ok(vec![]));
        for slot in at::FREE..at::FREE + 7 {
            assert_eq!(world.cap(slot).object_type(), Some(object_type));
        }
        assert_eq!(world.cap(at::FREE + 7), Cap::Null);
    }
}

#[test]
fn what_is_not_made_from_memory_is_refused() {
    let mut world = World::new();
    for object_type in ObjectType::ALL {
        let made = MADE.iter().any(|(made, _)| made == object_type);
        let result = world.retype(at::UNTYPED, *object_type, 0, at::FREE, 1);
        if !made {
            assert_eq!(result, refused(Error::InvalidArgument, 1, 0), "{object_type:?}");
        }
    }
    let words = [0, 0, 0, 0, at::FREE, 1];
    let result = world.call(at::UNTYPED, Method::UntypedRetype, &[at::CNODE], &words);
    assert_eq!(result, refused(Error::InvalidArgument, 1, 0));
}

#[test]
fn wrong_arguments_are_named() {
    let mut world = World::new();
    let endpoint = ObjectType::Endpoint;
    assert_eq!(world.retype(at::UNTYPED, endpoint, 7, at::FREE, 1), refused(Error::RangeError, 2, 6));
    let cnode = ObjectType::CNode;
    assert_eq!(world.retype(at::UNTYPED, cnode, 5, at::FREE, 1), refused(Error::RangeError, 2, 6));
    assert_eq!(world.retype(at::UNTYPED, cnode, 37, at::FREE, 1), refused(Error::RangeError, 2, 36));
    assert_eq!(world.retype(at::UNTYPED, cnode, 1 << 40, at::FREE, 1), refused(Error::RangeError, 2, 36));
    assert_eq!(world.retype(at::UNTYPED, endpoint, 0, at::FREE, 0), refused(Error::RangeError, 6, 256));
    assert_eq!(world.retype(at::UNTYPED, endpoint, 0, at::FREE, 257), refused(Error::RangeError, 6, 256));
    assert_eq!(world.retype(at::UNTYPED, endpoint, 0, 256, 1), refused(Error::RangeError, 5, 255));
    assert_eq!(world.retype(at::UNTYPED, endpoint, 0, 250, 7), refused(Error::RangeError, 6, 6));
    assert_eq!(
        world.retype(at::UNTYPED, endpoint, 0, at::DEBUG, 2),
        refused(Error::SlotOccupied, 5, at::DEBUG)
    );
    let too_large = u64::from(UNTYPED_BITS) + 1;
    let bytes = 1 << UNTYPED_BITS;
    assert_eq!(
        world.retype(at::UNTYPED, ObjectType::Untyped, too_large, at::FREE, 1),
        refused(Error::NotEnoughMemory, 0, bytes)
    );
    assert_eq!(
        world.retype(at::UNTYPED, ObjectType::Frame, 14, at::FREE, 65),
        refused(Error::NotEnoughMemory, 0, bytes)
    );
    // Nothing was changed by any of it.
    assert!(world.untyped_is_whole());
}

#[test]
fn the_destination_may_be_a_cnode_within() {
    let mut world = World::new();
    world.retype(at::UNTYPED, ObjectType::CNode, 9, at::FREE, 1).unwrap();
    let words = [ObjectType::Endpoint.raw(), 0, at::FREE, 64, 3, 2];
    assert_eq!(world.call(at::UNTYPED, Method::UntypedRetype, &[at::CNODE], &words), Ok(vec![]));
    let Cap::CNode { base, .. } = world.cap(at::FREE) else { panic!("no CNode") };
    assert!(matches!(world.k.get(base.element(4)).cap(), Cap::Endpoint { .. }));

    let beyond = [ObjectType::Endpoint.raw(), 0, at::FREE, 64, 15, 2];
    let result = world.call(at::UNTYPED, Method::UntypedRetype, &[at::CNODE], &beyond);
    assert_eq!(result, refused(Error::RangeError, 6, 1));
    let no_cnode = [ObjectType::Endpoint.raw(), 0, at::TCB, 64, 0, 1];
    let result = world.call(at::UNTYPED, Method::UntypedRetype, &[at::CNODE], &no_cnode);
    assert_eq!(error(result), Some(Error::LookupFailed));
}

#[test]
fn a_device_gives_frames_and_untypeds_only() {
    let mut world = World::new();
    assert_eq!(
        world.retype(at::DEVICE, ObjectType::Endpoint, 0, at::FREE, 1),
        refused(Error::InvalidArgument, 1, 0)
    );
    world.retype(at::DEVICE, ObjectType::Frame, 14, at::FREE, 1).unwrap();
    world.retype(at::DEVICE, ObjectType::Untyped, 14, at::FREE + 1, 1).unwrap();
    world.retype(at::FREE + 1, ObjectType::Frame, 14, at::FREE + 2, 1).unwrap();
    for slot in [at::FREE, at::FREE + 2] {
        assert!(matches!(world.cap(slot), Cap::Frame(frame) if frame.is_device), "{:?}", world.cap(slot));
    }
}

#[test]
fn objects_are_aligned_to_their_size() {
    let mut world = World::new();
    world.retype(at::UNTYPED, ObjectType::Endpoint, 0, at::FREE, 1).unwrap();
    world.retype(at::UNTYPED, ObjectType::Frame, 16, at::FREE + 1, 2).unwrap();
    world.retype(at::UNTYPED, ObjectType::Reply, 0, at::FREE + 3, 1).unwrap();
    let Cap::Untyped(untyped) = world.cap(at::UNTYPED) else { panic!("no Untyped") };
    let Cap::Frame(frame) = world.cap(at::FREE + 2) else { panic!("no Frame") };
    assert_eq!(frame.base, untyped.base.offset(2 << 16));
    assert_eq!(untyped.free, (3 << 16) + 64);
    assert_eq!(
        world.retype(at::UNTYPED, ObjectType::Frame, 19, at::FREE + 4, 2),
        refused(Error::NotEnoughMemory, 0, (1 << 20) - (3 << 16) - 64)
    );
}

fn words(world: &World, base: WindowAddr, bytes: u64) -> Vec<u64> {
    (0..bytes).step_by(8).map(|offset| world.k.machine.load(base.offset(offset))).collect()
}

/// Memory is full of old data at boot, and again after a first life.
#[test]
fn nobody_sees_old_data() {
    let mut world = World::with_old_data();
    for round in 0..3 {
        world.retype(at::UNTYPED, ObjectType::Untyped, 18, at::FREE, 2).unwrap();
        world.retype(at::FREE, ObjectType::Untyped, 12, at::FREE + 2, 1).unwrap();
        world.retype(at::FREE + 2, ObjectType::CNode, 7, at::FREE + 3, 1).unwrap();
        world.retype(at::FREE, ObjectType::Frame, 15, at::FREE + 4, 3).unwrap();
        world.retype(at::UNTYPED, ObjectType::Frame, 16, at::FREE + 7, 1).unwrap();
        for slot in [at::FREE + 4, at::FREE + 5, at::FREE + 6, at::FREE + 7] {
            let Cap::Frame(frame) = world.cap(slot) else { panic!("no Frame") };
            let seen = words(&world, frame.base, 1 << frame.size_bits);
            assert!(seen.iter().all(|word| *word == 0), "round {round}: old data in slot {slot}");
            for offset in (0..1 << frame.size_bits).step_by(8) {
                world.k.machine.store(frame.base.offset(offset), 0x5ec2_e75e_c2e7_5ec2);
            }
        }
        world.revoke(at::UNTYPED).unwrap();
    }
}

/// What was given on as Untyped is dirty for the giver, and in use.
#[test]
fn what_is_in_use_is_not_cleared() {
    let mut world = World::with_old_data();
    world.retype(at::UNTYPED, ObjectType::Untyped, 12, at::FREE, 1).unwrap();
    world.retype(at::FREE, ObjectType::CNode, 9, at::FREE + 1, 1).unwrap();
    let copy = [3, 4, at::TCB, 64, 15];
    world.call(at::FREE + 1, Method::CNodeCopy, &[at::CNODE], &copy).unwrap();
    world.retype(at::UNTYPED, ObjectType::Endpoint, 0, at::FREE + 2, 1).unwrap();
    world.retype(at::UNTYPED, ObjectType::Frame, 14, at::FREE + 3, 1).unwrap();
    let Cap::CNode { base, .. } = world.cap(at::FREE + 1) else { panic!("no CNode") };
    assert!(matches!(world.k.get(base.element(3)).cap(), Cap::Tcb(_)));
}

/// The planted bug: a capability that claims to be clean and is not.
#[test]
fn the_check_sees_old_data() {
    let world = World::with_old_data();
    let slot = world.slot(at::UNTYPED);
    let Cap::Untyped(untyped) = world.cap(at::UNTYPED) else { panic!("no Untyped") };
    let lie = microkernel::capability::cap::UntypedCap { clean_end: 1 << UNTYPED_BITS, ..untyped };
    world.k.get(slot).set_cap(Cap::Untyped(lie));
    let broken = microkernel::invariant::check(&world.k, &[]).unwrap_err();
    assert!(broken.contains("not clean"), "{broken}");
}

/// A large Untyped costs what is taken of it, and what is given on as Untyped costs nothing.
#[test]
fn only_what_is_handed_out_is_cleared() {
    let mut world = World::with_old_data();
    world.retype(at::UNTYPED, ObjectType::Endpoint, 0, at::FREE, 1).unwrap();
    let Cap::Untyped(untyped) = world.cap(at::UNTYPED) else { panic!("no Untyped") };
    assert_eq!(untyped.clean_end, 1 << 14);
    assert_ne!(world.k.machine.load(untyped.base.offset(1 << 14)), 0);

    world.retype(at::UNTYPED, ObjectType::Untyped, 16, at::FREE + 1, 1).unwrap();
    assert_ne!(world.k.machine.load(untyped.base.offset(1 << 16)), 0);
    world.retype(at::FREE + 1, ObjectType::Reply, 0, at::FREE + 2, 1).unwrap();
    assert_eq!(world.k.machine.load(untyped.base.offset((1 << 16) + 8)), 0);
}

/// C-3: with an interrupt pending all the time each try makes a piece of progress and no more.
#[test]
fn clearing_and_making_stop_for_interrupts_and_go_on() {
    let mut world = World::new();
    world.k.machine.preempt = true;
    world.retype(at::UNTYPED, ObjectType::Frame, 19, at::FREE, 1).unwrap();
    assert_eq!(world.restarts, (1 << 19) / (1 << 14), "one piece a try");
    world.restarts = 0;
    world.retype(at::UNTYPED, ObjectType::Reply, 0, at::FREE + 1, 200).unwrap();
    assert_eq!(world.restarts, 1 + 199);
    for slot in at::FREE + 1..at::FREE + 201 {
        assert!(matches!(world.cap(slot), Cap::Reply { .. }));
    }
    assert!(world.longest < 2_500, "{}", world.longest);
}

/// Between two tries somebody else may take what the rest needs: it is said, and what was made stays.
#[test]
fn an_interrupted_retype_is_checked_again() {
    let mut world = World::new();
    world.retype(at::UNTYPED, ObjectType::Reply, 0, at::FREE, 1).unwrap();
    world.k.machine.preempt = true;
    let words = [ObjectType::Reply.raw(), 0, 0, 0, at::FREE + 1, 4];
    let first = world.try_call(at::UNTYPED, Method::UntypedRetype, &[at::CNODE], &words);
    assert_eq!(first, Err(Failure::Preempted));
    let (from, into) = (world.slot(at::FREE), world.slot(at::FREE + 3));
    microkernel::capability::derivation::swap(&mut world.k, from, into);
    let mut last = first;
    for _ in 0..4 {
        last = world.repeat_call(at::UNTYPED, Method::UntypedRetype, 1, 6);
    }
    assert_eq!(last, Err(Failure::about(Error::SlotOccupied, 5, at::FREE + 3)));
    assert!(matches!(world.cap(at::FREE + 1), Cap::Reply { .. }));
}

/// CASES 10: children deleted in every order, and the memory is whole again.
#[test]
fn children_deleted_in_every_order_free_the_memory() {
    let kinds = [ObjectType::CNode, ObjectType::Tcb, ObjectType::Frame, ObjectType::Untyped];
    let mut orders = vec![vec![]];
    for index in 0..kinds.len() as u64 {
        orders = orders
            .into_iter()
            .flat_map(|order: Vec<u64>| {
                (0..=order.len()).map(move |place| {
                    let mut longer = order.clone();
                    longer.insert(place, index);
                    longer
                })
            })
            .collect();
    }
    assert_eq!(orders.len(), 24);
    let mut world = World::new();
    for order in orders {
        for (slot, object_type) in (at::FREE..).zip(kinds) {
            let size_bits = if object_type == ObjectType::Tcb { 0 } else { 14 };
            world.retype(at::UNTYPED, object_type, size_bits, slot, 1).unwrap();
        }
        for (deleted, index) in order.iter().enumerate() {
            let full = world.retype(at::UNTYPED, ObjectType::Untyped, UNTYPED_BITS.into(), 255, 1);
            assert_eq!(error(full), Some(Error::NotEnoughMemory), "after {deleted} of {order:?}");
            world.delete(at::FREE + index).unwrap();
        }
        assert!(world.untyped_is_whole(), "{order:?}");
    }
}

#[test]
fn a_copy_takes_the_memory_over() {
    let mut world = World::new();
    world.copy(at::FREE, at::UNTYPED, abi::Rights::ALL).unwrap();
    let result = world.retype(at::UNTYPED, ObjectType::Endpoint, 0, at::FREE + 1, 1);
    assert_eq!(result, refused(Error::NotEnoughMemory, 0, 0));
    world.retype(at::FREE, ObjectType::Endpoint, 0, at::FREE + 1, 1).unwrap();
    assert_eq!(error(world.copy(at::FREE + 2, at::FREE, abi::Rights::ALL)), Some(Error::RevokeFirst));
    world.delete(at::FREE).unwrap();
    let result = world.retype(at::UNTYPED, ObjectType::Endpoint, 0, at::FREE + 2, 1);
    assert_eq!(result, refused(Error::NotEnoughMemory, 0, 0));
    world.delete(at::FREE + 1).unwrap();
    assert!(world.untyped_is_whole());
}
