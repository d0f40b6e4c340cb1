//! Capabilities in messages: given, unwrapped as badges, and not taken (CASES 9).

use abi::message::ReceiveSlot;
use abi::{CPtr, Rights};
use runtime::memory::DEPTH;
use runtime::message::{Buffer, info};
use runtime::stubs::{Endpoint, Notification, Reply, pass_capabilities};
use runtime::trap::NO_WORDS;

use super::stories;
use crate::kit::failure::{Outcome, equal};
use crate::kit::stage::{CNODE, HERE, Stage};

stories! {
    a_capability_is_given_with_a_message,
    a_capability_of_the_same_endpoint_arrives_as_its_badge,
    without_grant_no_capability_is_given,
    a_capability_not_taken_costs_nothing,
}

/// Receives with a slot to take a capability, signals the capability, and answers what arrived.
extern "C" fn take(endpoint: u64, reply: u64, slot: u64, _: u64) -> ! {
    let (endpoint, reply) = (Endpoint(CPtr(endpoint)), Reply(CPtr(reply)));
    if let Some(buffer) = Buffer::of_thread() {
        buffer.set_receive(ReceiveSlot {
            root: CNODE.0.0,
            index: slot,
            depth: if slot == 0 { 0 } else { DEPTH },
        });
    }
    let mut received = endpoint.recv(reply);
    loop {
        let signalled = slot != 0 && Notification(CPtr(slot)).signal().is_ok();
        let unwrapped = received.info.unwrapped();
        let badge = Buffer::of_thread().map_or(0, |buffer| buffer.badge(0));
        let answer = [received.info.caps() as u64, unwrapped, badge, u64::from(signalled), 0, 0, 0, 0];
        received = endpoint.reply_recv_inline(reply, info(0, 4), answer);
    }
}

/// Calls with one capability; answers what [`take`] saw.
fn give(endpoint: Endpoint, capability: CPtr) -> Result<[u64; 4], runtime::InvocationError> {
    let caps = pass_capabilities(&[capability])?;
    let answer = endpoint.call_inline(info(0, 0).with_caps(caps), NO_WORDS).accepted()?;
    Ok(core::array::from_fn(|index| answer.word(index)))
}

fn a_capability_is_given_with_a_message(stage: &mut Stage) -> Outcome {
    let (endpoint, reply, notification) = (stage.endpoint()?, stage.reply()?, stage.notification()?);
    let badged = stage.memory.mint(notification.0, Rights::WRITE, 0x40)?;
    let slot = stage.memory.slots.take()?;
    stage.passive(HERE, take, [endpoint.0.0, reply.0.0, slot.0, 0])?;
    let [caps, unwrapped, _, signalled] = give(endpoint, badged)?;
    equal("arrived, unwrapped, usable", (caps, unwrapped, signalled), (1, 0, 1))?;
    equal("what it signals", notification.poll()?, 0x40)?;
    // Once more, with the slot full: it is not taken, and the message says so.
    let [caps, unwrapped, ..] = give(endpoint, badged)?;
    equal("arrived at a full slot", (caps, unwrapped), (0, 0))
}

fn a_capability_of_the_same_endpoint_arrives_as_its_badge(stage: &mut Stage) -> Outcome {
    let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
    let badged = stage.badged(endpoint, 0xabc)?;
    stage.passive(HERE, take, [endpoint.0.0, reply.0.0, 0, 0])?;
    let [caps, unwrapped, badge, _] = give(endpoint, badged.0)?;
    equal("arrived, unwrapped, badge", (caps, unwrapped, badge), (1, 1, 0xabc))
}

fn without_grant_no_capability_is_given(stage: &mut Stage) -> Outcome {
    let (endpoint, reply, notification) = (stage.endpoint()?, stage.reply()?, stage.notification()?);
    let rights = Rights::WRITE.union(Rights::GRANT_REPLY);
    let caller = Endpoint(stage.memory.copy(endpoint.0, rights)?);
    let slot = stage.memory.slots.take()?;
    stage.passive(HERE, take, [endpoint.0.0, reply.0.0, slot.0, 0])?;
    let [caps, _, _, signalled] = give(caller, notification.0)?;
    equal("arrived, usable", (caps, signalled), (0, 0))?;
    equal("no signal", notification.poll()?, 0)
}

fn a_capability_not_taken_costs_nothing(stage: &mut Stage) -> Outcome {
    const TIMES: u64 = 100_000;
    let (endpoint, reply, notification) = (stage.endpoint()?, stage.reply()?, stage.notification()?);
    stage.passive(HERE, take, [endpoint.0.0, reply.0.0, 0, 0])?;
    let before = stage.memory.pool.bytes();
    for _ in 0..TIMES {
        let [caps, ..] = give(endpoint, notification.0)?;
        if caps != 0 {
            return equal("arrived without a slot", caps, 0);
        }
    }
    equal("memory", stage.memory.pool.bytes(), before)?;
    let copies = stage.memory.copy(notification.0, Rights::ALL)?;
    stage.memory.delete(copies)?;
    equal("it still works", (notification.signal()?, notification.poll()?), ((), 0))
}
