//! The table of invocations against the kernel: every method on every object, with every wrong argument.

use std::collections::BTreeMap;

use abi::invocation::{Row, TABLE};
use abi::{Error, Method, ObjectType};
use microkernel::address::PhysAddr;
use microkernel::arch::Machine;
use microkernel::arch::mock::MEMORY_BASE;
use microkernel::failure::Failure;
use proptest::prelude::*;

use crate::random::config;
use crate::world::{UNTYPED_BITS, World, at, error};

/// What is retyped into the slots from `at::FREE` on.
const RETYPED: [(ObjectType, u64); 14] = [
    (ObjectType::Untyped, 12),
    (ObjectType::CNode, 9),
    (ObjectType::Tcb, 0),
    (ObjectType::Endpoint, 0),
    (ObjectType::Reply, 0),
    (ObjectType::Notification, 0),
    (ObjectType::SchedContext, 0),
    (ObjectType::PageTable, 0),
    (ObjectType::Frame, 14),
    (ObjectType::VSpace, 0),
    (ObjectType::Untyped, 12),
    (ObjectType::VSpace, 0),
    (ObjectType::Host, 9),
    (ObjectType::Timer, 0),
];

/// The slot with the pool, and the one with the interrupt's handler.
const POOL: u64 = at::FREE + 20;
const HANDLER: u64 = at::FREE + 21;
/// An empty slot.
const EMPTY: u64 = 200;

/// A world with a capability of every type, and where each lies.
fn full_world() -> (World, BTreeMap<ObjectType, u64>) {
    let mut world = World::new();
    let mut slots = BTreeMap::from([
        (ObjectType::SchedControl, at::SCHED_CONTROL),
        (ObjectType::AsidControl, at::ASID_CONTROL),
        (ObjectType::IrqControl, at::IRQ_CONTROL),
        (ObjectType::Debug, at::DEBUG),
        (ObjectType::HostControl, at::HOST_CONTROL),
        (ObjectType::AsidPool, POOL),
        (ObjectType::IrqHandler, HANDLER),
    ]);
    for (slot, (object_type, size_bits)) in (at::FREE..).zip(RETYPED) {
        world.retype(at::UNTYPED, object_type, size_bits, slot, 1).unwrap();
        slots.entry(object_type).or_insert(slot);
    }
    let caps = [at::FREE + 10, at::CNODE];
    world.call(at::ASID_CONTROL, Method::AsidControlMakePool, &caps, &[POOL, 64]).unwrap();
    world.call(at::IRQ_CONTROL, Method::IrqControlGet, &[at::CNODE], &[2, HANDLER, 64]).unwrap();
    world.call(POOL, Method::AsidPoolAssign, &[at::FREE + 11], &[]).unwrap();
    (world, slots)
}

/// Zeros for every argument of the row, or as few as said.
fn zeros(count: usize) -> Vec<u64> {
    vec![0; count]
}

#[test]
fn what_is_planned_is_what_is_not_implemented() {
    for Row { name, method, object, built, caps, words, .. } in TABLE {
        let (mut world, slots) = full_world();
        let Some(target) = slots.get(object) else {
            assert!(!built, "{name} is built and no capability has it");
            continue;
        };
        let result = world.call(*target, *method, &zeros(caps.len()), &zeros(words.len()));
        assert_eq!(error(result) == Some(Error::NotImplemented), !built, "{name}");
    }
}

#[test]
fn a_method_of_another_object_is_illegal() {
    let (mut world, slots) = full_world();
    for Row { name, method, object, caps, words, .. } in TABLE {
        for (other, target) in slots.iter().filter(|(other, _)| *other != object) {
            let result = world.call(*target, *method, &zeros(caps.len()), &zeros(words.len()));
            assert_eq!(error(result), Some(Error::IllegalOperation), "{name} on {other:?}");
        }
    }
    assert_eq!(Method::from_label(0x999), None);
}

#[test]
fn a_message_that_is_too_short_is_refused() {
    let (mut world, slots) = full_world();
    for Row { name, method, object, built, caps, words, .. } in TABLE {
        let Some(target) = slots.get(object).filter(|_| *built) else { continue };
        if let Some(fewer) = words.len().checked_sub(1) {
            let result = world.call(*target, *method, &zeros(caps.len()), &zeros(fewer));
            let refusal = result.expect_err(name);
            assert_eq!(
                (refusal.error, refusal.detail),
                (Error::TruncatedMessage, words.len() as u64),
                "{name}"
            );
        }
        if let Some(fewer) = caps.len().checked_sub(1) {
            let result = world.call(*target, *method, &zeros(fewer), &zeros(words.len()));
            let refusal = result.expect_err(name);
            assert_eq!(
                (refusal.error, refusal.detail),
                (Error::TruncatedMessage, caps.len() as u64),
                "{name}"
            );
        }
    }
}

#[test]
fn a_thread_without_a_buffer_gives_no_capabilities() {
    let (mut world, _) = full_world();
    world.write_message(&[at::CNODE], &[EMPTY, 64, at::DEBUG, 64, 15]);
    world.k.get(world.thread).ipc_buffer.set(0);
    let short = world.repeat_call(at::CNODE, Method::CNodeDelete, 0, 2);
    assert_eq!(short, Ok(vec![]));
    let with_cap = world.repeat_call(at::CNODE, Method::CNodeCopy, 1, 5);
    assert_eq!(with_cap, Err(Failure::new(Error::NoIpcBuffer)));
}

#[test]
fn an_empty_slot_and_a_wrong_address_are_told_apart() {
    let (mut world, _) = full_world();
    assert_eq!(error(world.call(EMPTY, Method::TcbResume, &[], &[])), Some(Error::InvalidCapability));
    assert_eq!(error(world.call(1 << 20, Method::TcbResume, &[], &[])), Some(Error::GuardMismatch));
}

/// All memory and what the kernel keeps beside it.
fn snapshot(world: &World) -> (Vec<u64>, String) {
    let base = PhysAddr(MEMORY_BASE).in_window();
    let words = (0..2_u64 << UNTYPED_BITS).step_by(8).map(|offset| world.k.machine.load(base.offset(offset)));
    let k = &world.k;
    (words.collect(), format!("{:?} {:?} {:?}", k.asids, k.irq_taken, k.machine.unmasked))
}

/// Words that are at some limit, or name a slot of the thread's.
fn interesting_words() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0..at::FREE + 16,
        2 => prop::sample::select(vec![64, 63, 58, 14, EMPTY, 255, 256, 1 << 14, 1 << 25, 1 << 32, 1 << 47]),
        1 => prop::sample::select(vec![u64::MAX, 1 << 63, u64::MAX >> 1, 1 << 46, 0x9000 << 48]),
        1 => any::<u64>(),
    ]
}

fn calls() -> impl Strategy<Value = (usize, u64, Vec<u64>, Vec<u64>)> {
    let caps = prop::collection::vec(prop_oneof![8 => 0..at::FREE + 16, 1 => any::<u64>()], 3);
    (0..TABLE.len(), 0..at::FREE + 16, caps, prop::collection::vec(interesting_words(), 12))
}

/// Errors that any method may answer: what is said of the message and of the capabilities in it.
const ANYWHERE: [Error; 8] = [
    Error::InvalidCapability,
    Error::LookupFailed,
    Error::GuardMismatch,
    Error::DepthMismatch,
    Error::IllegalOperation,
    Error::NotImplemented,
    Error::TruncatedMessage,
    Error::NoIpcBuffer,
];

/// How many random calls are made in a world.
const CALLS: usize = 40;

proptest! {
    #![proptest_config(config(6))]

    /// C-2: whatever is called with whatever, everything holds, and a refused call changed nothing.
    #[test]
    fn random_calls_keep_what_must_hold(calls in prop::collection::vec(calls(), CALLS)) {
        let (mut world, slots) = full_world();
        for (row, anything, caps, words) in &calls {
            let row = &TABLE[*row];
            // Mostly an object that has the method.
            let target = slots.get(&row.object).copied().unwrap_or(*anything);
            let (caps, words) = (&caps[..row.caps.len()], &words[..words.len().min(row.words.len() + 2)]);
            if world.k.get(world.slot(at::CNODE)).is_empty() || world.k.get(world.thread).ipc_buffer.get() == 0 {
                break;
            }
            world.write_message(caps, words);
            let before = snapshot(&world);
            let result = world.repeat_call(target, row.method, caps.len(), words.len());
            if let Err(Failure::Refused(refusal)) = result {
                let known = row.errors.contains(&refusal.error) || ANYWHERE.contains(&refusal.error);
                prop_assert!(known, "{} says {refusal:?} and its row does not", row.name);
                prop_assert!(snapshot(&world) == before, "{} changed something and said {refusal:?}", row.name);
            }
        }
    }
}
