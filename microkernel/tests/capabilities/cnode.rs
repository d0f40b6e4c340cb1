//! The methods of CNodes that copy and move, and how slots are found.

use abi::{CPtr, Error, Method, ObjectType, Rights};
use microkernel::capability::cap::{Cap, Guard};
use microkernel::capability::space;
use microkernel::failure::Failure;

use crate::world::{RADIX, World, at, error, refused};

const A: u64 = at::FREE;
const B: u64 = at::FREE + 1;
const C: u64 = at::FREE + 2;
const D: u64 = at::FREE + 3;

/// A world with an object in slot A.
fn with(object_type: ObjectType, size_bits: u64) -> World {
    let mut world = World::new();
    world.retype(at::UNTYPED, object_type, size_bits, A, 1).unwrap();
    world
}

fn badge_and_rights(cap: Cap) -> (u64, Rights) {
    match cap {
        Cap::Endpoint { badge, rights, .. } | Cap::Notification { badge, rights, .. } => (badge, rights),
        _ => panic!("{cap:?} has no badge"),
    }
}

#[test]
fn a_copy_has_at_most_the_rights_asked_for() {
    let mut world = with(ObjectType::Endpoint, 0);
    assert_eq!(world.copy(B, A, Rights::WRITE.union(Rights::GRANT_REPLY)), Ok(vec![]));
    assert_eq!(badge_and_rights(world.cap(B)), (0, Rights::WRITE.union(Rights::GRANT_REPLY)));
    assert_eq!(world.copy(C, B, Rights::READ_WRITE), Ok(vec![]));
    assert_eq!(badge_and_rights(world.cap(C)), (0, Rights::WRITE));
    // Who may grant may let the receiver answer.
    assert_eq!(world.copy(D, A, Rights::GRANT), Ok(vec![]));
    assert_eq!(badge_and_rights(world.cap(D)), (0, Rights::GRANT.union(Rights::GRANT_REPLY)));
}

#[test]
fn rights_of_a_frame_and_a_reply() {
    let mut world = with(ObjectType::Frame, 14);
    world.copy(B, A, Rights::READ).unwrap();
    assert!(matches!(world.cap(B), Cap::Frame(frame) if frame.rights == Rights::READ));
    world.retype(at::UNTYPED, ObjectType::Reply, 0, C, 1).unwrap();
    world.copy(D, C, Rights::READ_WRITE).unwrap();
    assert!(matches!(world.cap(D), Cap::Reply { rights: Rights::NONE, .. }));
}

#[test]
fn copy_names_what_is_wrong() {
    let mut world = with(ObjectType::Endpoint, 0);
    assert_eq!(world.copy(A, A, Rights::ALL), refused(Error::SlotOccupied, 1, 0));
    assert_eq!(world.copy(B, C, Rights::ALL), refused(Error::SlotEmpty, 3, 0));
    let mut copy = |root: u64, words: [u64; 5]| world.call(at::CNODE, Method::CNodeCopy, &[root], &words);
    assert_eq!(copy(at::CNODE, [B, 64, A, 64, 16]), refused(Error::InvalidArgument, 5, 15));
    assert_eq!(copy(at::CNODE, [B, 0, A, 64, 15]), refused(Error::RangeError, 1, 64));
    assert_eq!(copy(at::CNODE, [B, 65, A, 64, 15]), refused(Error::RangeError, 1, 64));
    assert_eq!(copy(at::CNODE, [1 << 20, 64, A, 64, 15]), refused(Error::GuardMismatch, 1, 64));
    assert_eq!(copy(at::CNODE, [B, 63, A, 64, 15]), refused(Error::DepthMismatch, 1, 63));
    assert_eq!(copy(at::CNODE, [B, 8, A, 64, 15]), refused(Error::GuardMismatch, 1, 8));
    assert_eq!(copy(0, [B, 64, A, 64, 15]), refused(Error::InvalidCapability, 0, 0));
    assert_eq!(copy(at::TCB, [B, 64, A, 64, 15]), refused(Error::LookupFailed, 3, 64));
    assert_eq!(copy(1 << 60, [B, 64, A, 64, 15]), refused(Error::GuardMismatch, 0, 64));
    assert_eq!(world.cap(B), Cap::Null);
}

#[test]
fn a_badge_is_given_once() {
    for object_type in [ObjectType::Endpoint, ObjectType::Notification] {
        let mut world = with(object_type, 0);
        world.mint(B, A, Rights::WRITE, 7).unwrap();
        assert_eq!(badge_and_rights(world.cap(B)), (7, Rights::WRITE));
        assert_eq!(world.mint(C, B, Rights::ALL, 8), refused(Error::InvalidArgument, 6, 0));
        assert_eq!(world.mint(C, B, Rights::ALL, 0), refused(Error::InvalidArgument, 6, 0));
        world.copy(C, B, Rights::ALL).unwrap();
        assert_eq!(badge_and_rights(world.cap(C)), (7, Rights::WRITE));
        let mutate = [D, 64, A, 64, 9];
        let result = world.call(at::CNODE, Method::CNodeMutate, &[at::CNODE], &mutate);
        assert_eq!(result, refused(Error::InvalidArgument, 5, 0));
    }
}

#[test]
fn only_what_has_a_badge_or_guard_takes_a_word() {
    let mut world = with(ObjectType::Reply, 0);
    assert_eq!(world.mint(B, A, Rights::ALL, 1), refused(Error::InvalidArgument, 6, 0));
    assert_eq!(world.mint(B, A, Rights::ALL, 0), Ok(vec![]));
}

#[test]
fn what_exists_once_is_not_copied() {
    let mut world = with(ObjectType::PageTable, 0);
    assert_eq!(error(world.copy(B, A, Rights::ALL)), Some(Error::IllegalOperation));
    assert_eq!(error(world.copy(B, at::IRQ_CONTROL, Rights::ALL)), Some(Error::IllegalOperation));
    world.move_cap(B, A).unwrap();
    world.move_cap(A, at::IRQ_CONTROL).unwrap();
}

#[test]
fn a_move_leaves_nothing_behind() {
    let mut world = with(ObjectType::Endpoint, 0);
    let endpoint = world.cap(A);
    assert_eq!(world.move_cap(B, A), Ok(vec![]));
    assert_eq!((world.cap(A), world.cap(B)), (Cap::Null, endpoint));
    assert_eq!(world.move_cap(B, B), refused(Error::SlotOccupied, 1, 0));
    assert_eq!(world.move_cap(C, A), refused(Error::SlotEmpty, 3, 0));
    // What was copied from the original still derives from it, wherever that is now.
    world.copy(A, B, Rights::ALL).unwrap();
    world.move_cap(C, B).unwrap();
    world.revoke(C).unwrap();
    assert_eq!(world.cap(A), Cap::Null);
}

/// The guard word of a CNode: bits in the low six, the value above.
const fn guard(bits: u64, value: u64) -> u64 {
    bits | value << 6
}

#[test]
fn a_guard_is_minted_and_mutated() {
    let mut world = with(ObjectType::CNode, 9);
    world.mint(B, A, Rights::ALL, guard(8, 0x5a)).unwrap();
    assert!(matches!(world.cap(B), Cap::CNode { radix: 4, guard: Guard { bits: 8, value: 0x5a }, .. }));
    let mutate = [C, 64, B, 64, guard(60, 0)];
    assert_eq!(world.call(at::CNODE, Method::CNodeMutate, &[at::CNODE], &mutate), Ok(vec![]));
    assert!(matches!(world.cap(C), Cap::CNode { guard: Guard { bits: 60, value: 0 }, .. }));
    for wrong in [guard(61, 0), guard(4, 16), 1 << 63] {
        assert_eq!(world.mint(B, A, Rights::ALL, wrong), refused(Error::InvalidArgument, 6, 0));
    }
}

/// Two levels: the root's 64 bits end in a CNode that resolves its own 4 with a guard before.
#[test]
fn lookups_go_through_guarded_levels() {
    let mut world = World::new();
    world.retype(at::UNTYPED, ObjectType::CNode, 9, A, 1).unwrap();
    world.retype(at::UNTYPED, ObjectType::CNode, 13, B, 1).unwrap();
    // B: radix 8, no guard: its index is the top 8 bits of an address of 20, then A: guard 0x5a, radix 4.
    let into_b = |index: u64, from: u64, word: u64| [index, 8, from, 64, 15, word];
    world.call(B, Method::CNodeMint, &[at::CNODE], &into_b(3, A, guard(8, 0x5a))).unwrap();
    world.call(B, Method::CNodeCopy, &[at::CNODE], &[0x035a7, 20, at::TCB, 64, 15]).unwrap();
    let Cap::CNode { base, .. } = world.cap(A) else { panic!("no CNode") };
    assert!(matches!(world.k.get(base.element(7)).cap(), Cap::Tcb(_)));

    let root = world.cap(B);
    let look = |index: u64, depth: u64| space::lookup_slot(&world.k, &root, index, depth);
    let refuse = |error: Error, left: u64| Err(Failure::about(error, 0, left));
    assert_eq!(look(0x035b7, 20), refuse(Error::GuardMismatch, 12));
    assert_eq!(look(0x045a7, 20), refuse(Error::LookupFailed, 12));
    assert_eq!(look(0x035a70, 24), refuse(Error::LookupFailed, 4));
    assert_eq!(look(0x035a, 16), refuse(Error::DepthMismatch, 8));
    assert_eq!(look(0x035, 12), refuse(Error::GuardMismatch, 4));
    assert_eq!(look(0x03, 7), refuse(Error::DepthMismatch, 7));
    assert_eq!(look(0x035a7, 20), Ok(base.element(7)));
}

#[test]
fn a_thread_without_a_capability_space_finds_nothing() {
    let mut world = with(ObjectType::Tcb, 0);
    let Cap::Tcb(thread) = world.cap(A) else { panic!("no Tcb") };
    assert_eq!(space::lookup(&world.k, thread, CPtr(1)), Err(Failure::about(Error::LookupFailed, 0, 64)));
    // The addresses of a root without a guard are its index in the top bits, and nothing below.
    let root = world.cap(at::CNODE);
    let Cap::CNode { base, radix, .. } = root else { panic!("no CNode") };
    let bare = Cap::CNode { base, radix, guard: Guard::default() };
    let (parent, slot) = (world.slot(at::CNODE), crate::world::slots_of(thread));
    microkernel::capability::derivation::insert(&mut world.k, bare, parent, slot);
    let top = 64 - u64::from(RADIX);
    assert_eq!(
        space::lookup(&world.k, thread, CPtr(at::TCB << top)),
        Err(Failure::about(Error::LookupFailed, 0, top))
    );
    assert_eq!(world.k.get(thread).cspace_size.get(), 0, "the hot path takes plain indices only");
}

fn rotate(
    world: &mut World,
    into: u64,
    pivot: u64,
    source: u64,
) -> Result<Vec<u64>, microkernel::failure::Refusal> {
    let words = [into, 64, 0, pivot, 64, 0, source, 64];
    world.call(at::CNODE, Method::CNodeRotate, &[at::CNODE, at::CNODE], &words)
}

#[test]
fn rotate_moves_two_at_once() {
    let mut world = World::new();
    world.retype(at::UNTYPED, ObjectType::Endpoint, 0, A, 1).unwrap();
    world.retype(at::UNTYPED, ObjectType::Reply, 0, B, 1).unwrap();
    let (endpoint, reply) = (world.cap(A), world.cap(B));
    assert_eq!(rotate(&mut world, C, B, A), Ok(vec![]));
    assert_eq!([A, B, C].map(|slot| world.cap(slot)), [Cap::Null, endpoint, reply]);
    // Source and destination are one: pivot and source change places.
    assert_eq!(rotate(&mut world, C, B, C), Ok(vec![]));
    assert_eq!([A, B, C].map(|slot| world.cap(slot)), [Cap::Null, reply, endpoint]);

    assert_eq!(rotate(&mut world, B, B, C), refused(Error::InvalidArgument, 5, 0));
    assert_eq!(rotate(&mut world, A, B, B), refused(Error::InvalidArgument, 5, 0));
    assert_eq!(rotate(&mut world, at::TCB, B, C), refused(Error::SlotOccupied, 2, 0));
    assert_eq!(rotate(&mut world, D, A, C), refused(Error::SlotEmpty, 5, 0));
    assert_eq!(rotate(&mut world, D, B, A), refused(Error::SlotEmpty, 8, 0));
    world.revoke(at::UNTYPED).unwrap();
    assert!(world.untyped_is_whole());
}

#[test]
fn rotate_of_neighbours_keeps_the_order() {
    let mut world = with(ObjectType::Endpoint, 0);
    world.mint(B, A, Rights::ALL, 5).unwrap();
    // A and B are neighbours in the list, in either order of the slots.
    assert_eq!(rotate(&mut world, B, A, B), Ok(vec![]));
    assert_eq!(badge_and_rights(world.cap(A)).0, 5);
    assert_eq!(rotate(&mut world, B, A, B), Ok(vec![]));
    world.revoke(A).unwrap();
    assert_eq!(world.cap(B), Cap::Null);
}

#[test]
fn cancelling_needs_every_right() {
    let mut world = with(ObjectType::Endpoint, 0);
    world.mint(B, A, Rights::READ_WRITE, 5).unwrap();
    let mut cancel = |slot: u64| world.call(at::CNODE, Method::CNodeCancelBadgedSends, &[], &[slot, 64]);
    assert_eq!(cancel(B), refused(Error::MissingRight, 0, 0));
    assert_eq!(cancel(C), refused(Error::InvalidCapability, 0, 0));
    assert_eq!(cancel(at::TCB), refused(Error::InvalidCapability, 0, 0));
}
