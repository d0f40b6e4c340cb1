//! Delete and Revoke: what goes, what stays, in pieces, through containers in containers.

use abi::{Error, Method, ObjectType, Rights};
use microkernel::capability::cap::{Cap, Slot, flag};
use microkernel::capability::derivation;
use microkernel::failure::Failure;
use microkernel::invariant;
use microkernel::object::store::Ref;

use crate::world::{World, at, error, refused, slots_of};

const A: u64 = at::FREE;
const B: u64 = at::FREE + 1;
const C: u64 = at::FREE + 2;
const D: u64 = at::FREE + 3;

/// A world with CNodes of `slots` slots in `count` slots from A on.
fn with_cnodes(size_bits: u64, count: u64) -> World {
    let mut world = World::new();
    world.retype(at::UNTYPED, ObjectType::CNode, size_bits, A, count).unwrap();
    world
}

fn inside(world: &World, cnode: u64, index: u64) -> Ref<Slot> {
    match world.cap(cnode) {
        Cap::CNode { base, .. } => base.element(index),
        Cap::Tcb(thread) => slots_of(thread).element(index),
        cap => panic!("{cap:?} has no slots"),
    }
}

fn move_into(world: &mut World, into: Ref<Slot>, from: u64) {
    let from = world.slot(from);
    derivation::swap(&mut world.k, from, into);
    world.check();
}

#[test]
fn an_empty_slot_is_deleted_and_revoked_without_complaint() {
    let mut world = World::new();
    assert_eq!(world.delete(A), Ok(vec![]));
    assert_eq!(world.revoke(A), Ok(vec![]));
    assert_eq!(world.delete(1 << 30), refused(Error::GuardMismatch, 0, 64));
}

#[test]
fn a_copy_goes_and_the_original_stays() {
    let mut world = World::new();
    world.retype(at::UNTYPED, ObjectType::Endpoint, 0, A, 1).unwrap();
    world.copy(B, A, Rights::ALL).unwrap();
    world.copy(C, B, Rights::ALL).unwrap();
    world.delete(B).unwrap();
    assert!(matches!(world.cap(C), Cap::Endpoint { .. }));
    world.delete(A).unwrap();
    assert!(matches!(world.cap(C), Cap::Endpoint { .. }));
    assert!(!world.untyped_is_whole());
    world.delete(C).unwrap();
    assert!(world.untyped_is_whole());
}

#[test]
fn revoke_takes_descendants_and_nothing_else() {
    let mut world = World::new();
    world.retype(at::UNTYPED, ObjectType::Endpoint, 0, A, 2).unwrap();
    world.mint(C, A, Rights::ALL, 1).unwrap();
    world.mint(D, A, Rights::ALL, 2).unwrap();
    world.copy(D + 1, C, Rights::ALL).unwrap();
    world.copy(D + 2, D, Rights::ALL).unwrap();
    // A second original with badge 1 has a family of its own.
    world.mint(D + 3, A, Rights::ALL, 1).unwrap();
    world.copy(D + 4, D + 3, Rights::ALL).unwrap();
    // A copy is nobody's ancestor.
    world.revoke(D + 4).unwrap();
    world.revoke(C).unwrap();
    let left: Vec<u64> = (A..D + 5).filter(|slot| world.cap(*slot) != Cap::Null).collect();
    assert_eq!(left, [A, B, C, D, D + 2, D + 3, D + 4]);
    world.revoke(D + 3).unwrap();
    world.revoke(A).unwrap();
    let left: Vec<u64> = (A..D + 5).filter(|slot| world.cap(*slot) != Cap::Null).collect();
    assert_eq!(left, [A, B]);
    world.revoke(at::UNTYPED).unwrap();
    assert!(world.untyped_is_whole());
}

#[test]
fn a_badge_whose_first_capability_went_is_not_adopted() {
    let mut world = World::new();
    world.retype(at::UNTYPED, ObjectType::Endpoint, 0, A, 1).unwrap();
    world.mint(B, A, Rights::ALL, 1).unwrap();
    world.copy(C, B, Rights::ALL).unwrap();
    world.mint(D, A, Rights::ALL, 1).unwrap();
    world.delete(B).unwrap();
    world.revoke(D).unwrap();
    assert!(matches!(world.cap(C), Cap::Endpoint { badge: 1, .. }), "C is no copy of D");
}

/// Everything in a CNode goes with its last capability, to any depth, and nothing is left over.
#[test]
fn containers_in_containers_go_whole() {
    for depth in [1, 2, 5, 40] {
        for preempt in [false, true] {
            let mut world = with_cnodes(6, depth);
            for inner in (A + 1..A + depth).rev() {
                let into = inside(&world, inner - 1, inner % 2);
                move_into(&mut world, into, inner);
            }
            world.k.machine.preempt = preempt;
            world.delete(A).unwrap();
            assert_eq!(world.restarts != 0, preempt, "depth {depth}");
            world.k.machine.preempt = false;
            assert!(world.untyped_is_whole(), "depth {depth}");
        }
    }
}

/// Every slot of a CNode holds a CNode whose every slot holds an object.
#[test]
fn a_full_tree_goes_whole() {
    for preempt in [false, true] {
        let mut world = with_cnodes(7, 5);
        let Cap::CNode { base: root, .. } = world.cap(A) else { panic!("no CNode") };
        for (index, inner) in (B..B + 4).enumerate() {
            let Cap::CNode { base, .. } = world.cap(inner) else { panic!("no CNode") };
            world.retype(at::UNTYPED, ObjectType::Tcb, 0, 100, 4).unwrap();
            for place in 0..4 {
                move_into(&mut world, base.element(place), 100 + place);
            }
            move_into(&mut world, root.element(index as u64), inner);
        }
        world.k.machine.preempt = preempt;
        world.delete(A).unwrap();
        world.k.machine.preempt = false;
        assert!(world.untyped_is_whole());
    }
}

/// A CNode that holds its own last capability is out of reach; a revoke of its memory still ends it.
#[test]
fn a_cnode_in_itself_goes_with_its_memory() {
    for index in 0..4 {
        for preempt in [false, true] {
            let mut world = with_cnodes(7, 2);
            world.retype(at::UNTYPED, ObjectType::Tcb, 0, C, 1).unwrap();
            let (own, other) = (inside(&world, A, index), inside(&world, A, (index + 1) % 4));
            let deep = inside(&world, B, 1);
            move_into(&mut world, deep, C);
            move_into(&mut world, other, B);
            move_into(&mut world, own, A);
            assert!(!world.untyped_is_whole());
            world.k.machine.preempt = preempt;
            world.revoke(at::UNTYPED).unwrap();
            world.k.machine.preempt = false;
            assert!(world.untyped_is_whole(), "index {index}");
        }
    }
}

/// Three CNodes in a ring, each in every slot of the one before.
#[test]
fn a_ring_of_cnodes_goes_from_each_of_its_slots() {
    for places in 0..64_u64 {
        for start in 0..3 {
            let mut world = with_cnodes(7, 3);
            let ring: Vec<Ref<Slot>> =
                (0..3).map(|number| inside(&world, A + number, places >> (2 * number) & 3)).collect();
            for (slot, next) in ring.iter().zip([B, C, A]) {
                move_into(&mut world, *slot, next);
            }
            assert_eq!(derivation::delete(&mut world.k, ring[start]), Ok(()));
            world.check();
            assert!(world.untyped_is_whole(), "places {places:#o}, start {start}");
        }
    }
}

/// Three CNodes of two slots in a ring, begun from each slot, stopped after each step, ended by a Revoke.
#[test]
fn a_ring_of_cnodes_goes_after_any_interruption() {
    let mut longest = 0;
    for places in 0..8_u64 {
        for (start, tries) in (0..3).flat_map(|start| (1..12).map(move |tries| (start, tries))) {
            let mut world = with_cnodes(6, 3);
            let ring: Vec<Ref<Slot>> =
                (0..3).map(|number| inside(&world, A + number, places >> number & 1)).collect();
            for (slot, next) in ring.iter().zip([B, C, A]) {
                move_into(&mut world, *slot, next);
            }
            world.k.machine.preempt = true;
            world.longest = 0;
            let all_tries = (0..tries).take_while(|_| {
                let go_on = derivation::delete(&mut world.k, ring[start]) == Err(Failure::Preempted);
                world.check();
                go_on
            });
            longest = longest.max(all_tries.count());
            // The Revoke finds what is left in the order of the list, checked after each step.
            world.revoke(at::UNTYPED).unwrap();
            world.k.machine.preempt = false;
            assert!(world.longest < 600, "{} without a question", world.longest);
            assert!(world.untyped_is_whole(), "places {places:#o}, start {start}, tries {tries}");
        }
    }
    assert!(longest > 5, "interrupted in the middle");
}

/// A thread and the CNode of its capability space hold each other.
#[test]
fn a_thread_in_its_own_space_goes_whole() {
    for index in 0..4 {
        let mut world = with_cnodes(7, 1);
        world.retype(at::UNTYPED, ObjectType::Tcb, 0, B, 1).unwrap();
        let (own, cspace) = (inside(&world, A, index), inside(&world, B, 0));
        move_into(&mut world, own, B);
        move_into(&mut world, cspace, A);
        assert_eq!(derivation::delete(&mut world.k, own), Ok(()));
        world.check();
        assert!(world.untyped_is_whole(), "index {index}");
    }
}

/// A running thread may take away its own capability space, and itself.
#[test]
fn a_thread_deletes_its_own_space() {
    let mut world = World::new();
    let cnode = world.slot(at::CNODE);
    let result = world.try_call(at::CNODE, Method::CNodeDelete, &[], &[at::CNODE, 64]);
    assert_eq!(result, Ok(vec![]));
    // The slot in the Tcb holds the space up.
    assert_eq!(world.k.get(cnode).cap(), Cap::Null);
    assert!(matches!(world.k.get(slots_of(world.thread)).cap(), Cap::CNode { .. }));
    assert_eq!(derivation::delete(&mut world.k, slots_of(world.thread)), Ok(()));
    assert_eq!(world.k.get(world.thread).cspace_size.get(), 0);
}

/// Whoever empties a thread's slot, the thread knows.
#[test]
fn a_thread_learns_that_its_slots_changed() {
    let mut world = with_cnodes(9, 1);
    world.retype(at::UNTYPED, ObjectType::Tcb, 0, B, 1).unwrap();
    world.retype(at::UNTYPED, ObjectType::Frame, 14, C, 1).unwrap();
    world.retype(at::UNTYPED, ObjectType::VSpace, 0, D, 1).unwrap();
    let Cap::Tcb(thread) = world.cap(B) else { panic!("no Tcb") };
    for (index, from) in [(0, A), (1, D), (2, C)] {
        let (cap, source, into) = (world.cap(from), world.slot(from), inside(&world, B, index));
        derivation::insert(&mut world.k, cap, source, into);
    }
    let tcb = |world: &World| {
        let tcb = world.k.get(thread);
        (tcb.vspace.get().is_some(), tcb.ipc_buffer.get() != 0)
    };
    assert_eq!(tcb(&world), (true, true));
    world.revoke(C).unwrap();
    assert_eq!(tcb(&world), (true, false));
    world.revoke(D).unwrap();
    assert_eq!(tcb(&world), (false, false));
}

/// What a preempted Delete left is not moved, copied or invoked, and any Delete goes on with it.
#[test]
fn an_interrupted_delete_is_finished_by_another() {
    let mut world = with_cnodes(8, 2);
    let deep = inside(&world, B, 3);
    let into = inside(&world, A, 7);
    world.retype(at::UNTYPED, ObjectType::Endpoint, 0, C, 1).unwrap();
    move_into(&mut world, deep, C);
    move_into(&mut world, into, B);
    world.k.machine.preempt = true;
    for _ in 0..4 {
        let result = world.try_call(at::CNODE, Method::CNodeDelete, &[], &[A, 64]);
        assert_eq!(result, Err(Failure::Preempted));
    }
    world.k.machine.preempt = false;
    assert!(matches!(world.cap(A), Cap::Zombie { .. }));
    assert_eq!(error(world.copy(C, A, Rights::ALL)), Some(Error::IllegalOperation));
    assert_eq!(error(world.move_cap(C, A)), Some(Error::IllegalOperation));
    let result = world.call(A, Method::CNodeDelete, &[], &[0, 64]);
    assert_eq!(error(result), Some(Error::InvalidCapability));
    world.delete(A).unwrap();
    assert!(world.untyped_is_whole());
}

/// Replacing a thread's slot when the old content takes the thread itself along.
#[test]
fn a_replacement_into_what_went_is_dropped() {
    let mut world = with_cnodes(7, 2);
    world.retype(at::UNTYPED, ObjectType::Tcb, 0, C, 1).unwrap();
    let (own, cspace) = (inside(&world, A, 1), inside(&world, C, 0));
    move_into(&mut world, own, C);
    move_into(&mut world, cspace, A);
    let (cap, source) = (world.cap(B), world.slot(B));
    assert_eq!(derivation::replace(&mut world.k, cspace, cap, source, own), Ok(()));
    world.check();
    world.delete(B).unwrap();
    assert!(world.untyped_is_whole());
}

/// CASES 13: many capabilities are revoked in bounded pieces.
#[test]
fn a_long_revoke_is_bounded_and_keeps_its_progress() {
    let mut world = World::new();
    world.retype(at::UNTYPED, ObjectType::CNode, 17, A, 1).unwrap();
    world.retype(at::UNTYPED, ObjectType::Endpoint, 0, B, 1).unwrap();
    let source = world.slot(B);
    let cap = world.cap(B);
    for index in 0..4096 {
        let into = inside(&world, A, index);
        derivation::insert(&mut world.k, cap, source, into);
    }
    world.k.machine.preempt = true;
    world.k.machine.touched.set(0);
    world.k.machine.longest.set(0);
    let mut tries = 0;
    while derivation::revoke(&mut world.k, source) == Err(Failure::Preempted) {
        tries += 1;
    }
    assert_eq!(tries, 4095, "one capability a try");
    assert!(world.k.machine.longest.get() < 200, "{:?}", world.k.machine.longest);

    // Emptying the CNode again counts its slots, in bounded pieces too.
    world.k.machine.longest.set(0);
    world.k.machine.preempt = false;
    let slot = world.slot(A);
    assert_eq!(derivation::delete(&mut world.k, slot), Ok(()));
    assert!(world.k.machine.longest.get() < 200, "{:?}", world.k.machine.longest);
}

/// The planted bugs: each broken rule is seen.
#[test]
fn the_check_sees_what_is_broken() {
    let broken = |harm: fn(&mut World)| {
        let mut world = with_cnodes(7, 2);
        world.retype(at::UNTYPED, ObjectType::Endpoint, 0, C, 1).unwrap();
        world.mint(D, C, Rights::ALL, 3).unwrap();
        world.check();
        harm(&mut world);
        invariant::check(&world.k, &[]).unwrap_err()
    };
    let said = broken(|world| world.k.get(world.slot(C)).previous.set(0));
    assert!(said.contains("point back"), "{said}");
    let said = broken(|world| {
        let slot = world.k.get(world.slot(C));
        slot.object.set(0);
    });
    assert!(said.contains("links") || said.contains("in the list"), "{said}");
    let said = broken(|world| {
        let slot = world.k.get(world.slot(at::UNTYPED));
        slot.next.set(slot.next.get() & !flag::REVOCABLE);
    });
    assert!(said.contains("does not derive"), "{said}");
    let said = broken(|world| {
        // As if the CNode's last capability went without its slots.
        let inner = inside(world, A, 1);
        move_into(world, inner, D);
        let slot = world.slot(A);
        let hole = world.slot(200);
        derivation::swap(&mut world.k, slot, hole);
        world.k.get(hole).set_cap(Cap::Debug);
    });
    assert!(said.contains("no container that lives"), "{said}");
    let said = broken(|world| {
        // As if an Untyped with children had been reset.
        let slot = world.k.get(world.slot(at::UNTYPED));
        let Cap::Untyped(untyped) = slot.cap() else { return };
        slot.set_cap(Cap::Untyped(microkernel::capability::cap::UntypedCap {
            free: 64,
            clean_end: 0,
            ..untyped
        }));
    });
    assert!(said.contains("as free"), "{said}");
    let said = broken(|world| {
        // As if a slot of the thread had been emptied behind its back.
        let slot = world.k.get(slots_of(world.thread));
        let Cap::CNode { base, guard, .. } = slot.cap() else { return };
        slot.set_cap(Cap::CNode { base, radix: 7, guard });
    });
    assert!(said.contains("capability space") || said.contains("share memory"), "{said}");
}
