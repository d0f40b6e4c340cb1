//! Untypeds and capabilities: retype, copy, move, delete, revoke, and memory that comes back (CASES 10, 12).

use abi::{CPtr, Error, ObjectType, PAGE_BYTES, Rights};
use runtime::memory::{DEPTH, retype};
use runtime::stubs::{CNode, Endpoint, Notification, Untyped};

use super::stories;
use crate::kit::failure::{Outcome, equal, holds, refused};
use crate::kit::stage::{CNODE, NOTHING, Stage};
use crate::kit::word::Word;

stories! {
    an_untyped_is_empty_again_after_its_children_are_deleted_in_any_order,
    an_untyped_with_children_says_so,
    revoking_takes_every_descendant,
    reused_memory_is_clear,
    wrong_retypes_are_refused,
    a_move_leaves_nothing_behind,
    a_rotation_moves_both,
    a_mint_of_a_badged_capability_is_refused,
    a_copy_has_no_more_rights_than_asked_for,
    slots_that_are_full_or_empty_are_refused,
    a_cnode_deleted_takes_its_capabilities_with_it,
    many_copies_are_revoked_in_bounded_steps,
    cancelling_badged_sends_needs_its_right,
}

const SIZE_BITS: u8 = 12;

/// Retypes an Untyped of 4 KiB into three objects.
fn three(stage: &mut Stage, untyped: CPtr) -> Result<[CPtr; 3], runtime::InvocationError> {
    let first = stage.memory.slots.take_run(3)?;
    retype(CNODE, untyped, ObjectType::Tcb, 0, first, 3)?;
    Ok([first, CPtr(first.0 + 1), CPtr(first.0 + 2)])
}

fn an_untyped_is_empty_again_after_its_children_are_deleted_in_any_order(stage: &mut Stage) -> Outcome {
    let untyped = stage.memory.take_untyped(SIZE_BITS)?;
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let children = three(stage, untyped)?;
        for child in order {
            let slot = children.get(child).copied().unwrap_or(NOTHING);
            stage.memory.cnode.delete(slot.0, DEPTH)?;
        }
        // The whole of it is one object again.
        let slot = stage.memory.slots.take()?;
        retype(CNODE, untyped, ObjectType::Untyped, SIZE_BITS, slot, 1)?;
        stage.memory.cnode.delete(slot.0, DEPTH)?;
    }
    Ok(())
}

fn an_untyped_with_children_says_so(stage: &mut Stage) -> Outcome {
    let untyped = stage.memory.take_untyped(SIZE_BITS)?;
    let children = three(stage, untyped)?;
    let slot = stage.memory.slots.take()?;
    let too_much = retype(CNODE, untyped, ObjectType::Untyped, SIZE_BITS, slot, 1);
    match too_much {
        Err(refusal) => {
            equal("what is left", (refusal.error, refusal.detail), (Error::NotEnoughMemory, 1024))?
        }
        Ok(()) => return holds("an Untyped in use was given away", false),
    }
    refused(
        "a copy",
        CNODE.copy(CNODE, slot.0, DEPTH, untyped.0, DEPTH, Rights::ALL.raw()),
        Error::RevokeFirst,
    )?;
    let [first, ..] = children;
    CNODE.delete(first.0, DEPTH)?;
    refused(
        "one is gone",
        retype(CNODE, untyped, ObjectType::Untyped, SIZE_BITS, slot, 1),
        Error::NotEnoughMemory,
    )
}

fn revoking_takes_every_descendant(stage: &mut Stage) -> Outcome {
    let notification = stage.notification()?;
    let mut copies = [NOTHING; 20];
    let mut source = notification.0;
    for (number, copy) in copies.iter_mut().enumerate() {
        // A chain of badged and plain copies, each of the one before where that is allowed.
        *copy = if number == 0 {
            stage.memory.mint(source, Rights::ALL, 5)?
        } else {
            stage.memory.copy(source, Rights::ALL)?
        };
        source = *copy;
    }
    CNODE.revoke(notification.0.0, DEPTH)?;
    for copy in copies {
        holds("a copy is gone", Notification(copy).poll().is_err())?;
    }
    equal("the original works", notification.poll()?, 0)?;
    // An Untyped's children go with it, and everything made of them.
    let untyped = stage.memory.take_untyped(SIZE_BITS)?;
    let children = three(stage, untyped)?;
    let copy = stage.memory.copy(children.first().copied().unwrap_or(NOTHING), Rights::ALL)?;
    CNODE.revoke(untyped.0, DEPTH)?;
    for child in children.into_iter().chain([copy]) {
        holds("a child is gone", runtime::stubs::Tcb(child).suspend().is_err())?;
    }
    Ok(())
}

fn reused_memory_is_clear(stage: &mut Stage) -> Outcome {
    use crate::kit::stage::HERE;
    use runtime::space::{Access, map};
    use runtime::stubs::Frame;
    const ADDRESS: u64 = 0x3_1000_0000;
    let untyped = stage.memory.take_untyped(16)?;
    for round in 1..=8 {
        let slot = stage.memory.slots.take()?;
        retype(CNODE, untyped, ObjectType::Frame, 16, slot, 1)?;
        map(&mut stage.memory, HERE, Frame(slot), ADDRESS, Access::ReadWrite)?;
        let dirty = words(ADDRESS, 4 * PAGE_BYTES).find(|word| word.get() != 0);
        holds("every word is 0", dirty.is_none())?;
        words(ADDRESS, 4 * PAGE_BYTES).for_each(|word| word.set(round));
        CNODE.revoke(untyped.0, DEPTH)?;
    }
    Ok(())
}

fn words(address: u64, bytes: u64) -> impl Iterator<Item = Word> {
    (0..bytes / 8).map(move |word| Word::at(address + word * 8))
}

fn wrong_retypes_are_refused(stage: &mut Stage) -> Outcome {
    let untyped = stage.memory.take_untyped(SIZE_BITS)?;
    let make = |object: u64, bits: u64, depth: u64, slot: u64, count: u64| {
        Untyped(untyped).retype(CNODE, object, bits, 0, depth, slot, count)
    };
    let free = stage.memory.slots.take()?.0;
    let tcb = ObjectType::Tcb.raw();
    for object in [0, 99, u64::MAX, ObjectType::IrqHandler.raw(), ObjectType::AsidPool.raw()] {
        refused("no such object", make(object, 0, 0, free, 1), Error::InvalidArgument)?;
    }
    refused("no objects", make(tcb, 0, 0, free, 0), Error::RangeError)?;
    refused("too many", make(tcb, 0, 0, free, 1 << 40), Error::RangeError)?;
    refused("another size", make(tcb, 11, 0, free, 1), Error::RangeError)?;
    refused("a small frame", make(ObjectType::Frame.raw(), 13, 0, free, 1), Error::RangeError)?;
    refused("too large", make(ObjectType::Untyped.raw(), 13, 0, free, 1), Error::NotEnoughMemory)?;
    refused("past the CNode", make(tcb, 0, 0, (1 << 12) - 1, 2), Error::RangeError)?;
    refused("a full slot", make(tcb, 0, 0, untyped.0, 1), Error::SlotOccupied)?;
    refused("no CNode", Untyped(untyped).retype(stage.pool, tcb, 0, 0, 0, free, 1), Error::LookupFailed)?;
    // Nothing of it was done.
    let slot = stage.memory.slots.take()?;
    Ok(retype(CNODE, untyped, ObjectType::Untyped, SIZE_BITS, slot, 1)?)
}

fn a_move_leaves_nothing_behind(stage: &mut Stage) -> Outcome {
    let notification = stage.notification()?;
    let badged = stage.memory.mint(notification.0, Rights::ALL, 6)?;
    let to = stage.memory.slots.take()?;
    CNODE.move_capability(CNODE, to.0, DEPTH, badged.0, DEPTH)?;
    Notification(to).signal()?;
    equal("the badge moved with it", notification.poll()?, 6)?;
    refused("the source", CNODE.move_capability(CNODE, badged.0, DEPTH, badged.0, DEPTH), Error::SlotEmpty)?;
    // It is still a descendant.
    CNODE.revoke(notification.0.0, DEPTH)?;
    holds("gone with the original", Notification(to).signal().is_err())
}

fn a_rotation_moves_both(stage: &mut Stage) -> Outcome {
    let notification = stage.notification()?;
    let one = stage.memory.mint(notification.0, Rights::ALL, 1)?;
    let two = stage.memory.mint(notification.0, Rights::ALL, 2)?;
    let three = stage.memory.slots.take()?;
    CNODE.rotate(CNODE, CNODE, three.0, DEPTH, 0, two.0, DEPTH, 0, one.0, DEPTH)?;
    Notification(three).signal()?;
    equal("the pivot went to the destination", notification.poll()?, 2)?;
    Notification(two).signal()?;
    equal("the source went to the pivot", notification.poll()?, 1)?;
    holds("the source is empty", Notification(one).signal().is_err())
}

fn a_mint_of_a_badged_capability_is_refused(stage: &mut Stage) -> Outcome {
    let endpoint = stage.endpoint()?;
    let badged = stage.badged(endpoint, 1)?;
    refused("another badge", stage.memory.mint(badged.0, Rights::ALL, 2), Error::InvalidArgument)?;
    let copy = Endpoint(stage.memory.copy(badged.0, Rights::ALL)?);
    CNODE.revoke(endpoint.0.0, DEPTH)?;
    holds(
        "a copy of a badged one is a descendant",
        copy.nb_send(runtime::message::info(0, 0), [0; 8]).is_err(),
    )
}

fn a_copy_has_no_more_rights_than_asked_for(stage: &mut Stage) -> Outcome {
    let notification = stage.notification()?;
    let read = stage.memory.copy(notification.0, Rights::READ)?;
    let again = stage.memory.copy(read, Rights::ALL)?;
    refused("a right that was given up", Notification(again).signal(), Error::MissingRight)?;
    let slot = stage.memory.slots.take()?;
    let wrong = CNODE.copy(CNODE, slot.0, DEPTH, notification.0.0, DEPTH, 16);
    refused("a bit that is no right", wrong, Error::InvalidArgument)
}

fn slots_that_are_full_or_empty_are_refused(stage: &mut Stage) -> Outcome {
    let (one, other) = (stage.notification()?, stage.notification()?);
    let free = stage.memory.slots.take()?;
    let all = Rights::ALL.raw();
    refused("full", CNODE.copy(CNODE, other.0.0, DEPTH, one.0.0, DEPTH, all), Error::SlotOccupied)?;
    refused("onto itself", CNODE.copy(CNODE, one.0.0, DEPTH, one.0.0, DEPTH, all), Error::SlotOccupied)?;
    let from_empty = stage.memory.slots.take()?;
    refused("empty", CNODE.copy(CNODE, free.0, DEPTH, from_empty.0, DEPTH, all), Error::SlotEmpty)?;
    refused("no depth", CNODE.delete(free.0, 0), Error::RangeError)?;
    refused("a depth of 65", CNODE.delete(free.0, 65), Error::RangeError)?;
    // Deleting what is not there is done already.
    Ok(CNODE.delete(free.0, DEPTH)?)
}

fn a_cnode_deleted_takes_its_capabilities_with_it(stage: &mut Stage) -> Outcome {
    const RADIX: u8 = 6;
    let untyped = stage.memory.take_untyped(SIZE_BITS)?;
    let cnode = CNode(stage.memory.make(ObjectType::CNode, RADIX + abi::object::SLOT_BITS)?);
    // Objects whose only capabilities lie in the CNode, and a capability of the CNode's to itself.
    Untyped(untyped).retype(cnode, ObjectType::Tcb.raw(), 0, 0, 0, 0, 3)?;
    cnode.copy(CNODE, 10, u64::from(RADIX), cnode.0.0, DEPTH, Rights::ALL.raw())?;
    stage.memory.delete(cnode.0)?;
    let slot = stage.memory.slots.take()?;
    match retype(CNODE, untyped, ObjectType::Untyped, SIZE_BITS, slot, 1) {
        Ok(()) => Ok(()),
        // The capability to itself kept the CNode: it goes with its own memory, when the stage is swept.
        Err(refusal) => equal("what still holds it", refusal.error, Error::NotEnoughMemory),
    }
}

fn many_copies_are_revoked_in_bounded_steps(stage: &mut Stage) -> Outcome {
    // Short here; the interrupt-off time of 10^5 is counted by the kernel's own tests (CASES 13).
    const COPIES: u64 = 1500;
    let notification = stage.notification()?;
    let first = stage.memory.slots.take_run(COPIES)?;
    for slot in first.0..first.0 + COPIES {
        CNODE.copy(CNODE, slot, DEPTH, notification.0.0, DEPTH, Rights::ALL.raw())?;
    }
    CNODE.revoke(notification.0.0, DEPTH)?;
    for slot in first.0..first.0 + COPIES {
        holds("a copy is gone", Notification(CPtr(slot)).poll().is_err())?;
    }
    equal("the original works", (notification.signal()?, notification.poll()?), ((), 0))
}

fn cancelling_badged_sends_needs_its_right(stage: &mut Stage) -> Outcome {
    let endpoint = stage.endpoint()?;
    let badged = stage.badged(endpoint, 4)?;
    CNODE.cancel_badged_sends(badged.0.0, DEPTH)?;
    let less = stage.memory.copy(badged.0, Rights::READ)?;
    refused("without the rights", CNODE.cancel_badged_sends(less.0, DEPTH), Error::MissingRight)
}
