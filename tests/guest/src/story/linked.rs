//! `ll.d` and `sc.d`: a reservation does not outlive an entry to the kernel (C-11, CASES 1).
//!
//! The other side stores *the same value*, so that a machine which compares values finds nothing: what has to
//! fail the `sc.d` is the LL bit, which `ertn` clears while `LLBCTL.KLO` is 0.

use abi::{CPtr, MessageInfo, Syscall};
use runtime::message::info;
use runtime::stubs::{Endpoint, Notification, Reply, VSpace};

use super::stories;
use crate::kit::assistant::Role;
use crate::kit::failure::{Failure, Outcome, equal, holds};
use crate::kit::frame::{A0, A1, A7, Frame, Routine, T6, T8};
use crate::kit::shared::Cell;
use crate::kit::stage::{HERE, Stage};

stories! {
    a_reservation_does_not_survive_a_call_here,
    a_reservation_does_not_survive_a_call_there,
    a_reservation_does_not_survive_preemption,
}

/// The word that is linked: its neighbour is what [`Routine::LinkedSpin`] looks at.
const WORD: Cell = Cell(4);
const GO_ON: Cell = Cell(5);
const VALUE: u64 = 7;

/// Stores the same value to the word at every call.
extern "C" fn store_same(endpoint: u64, reply: u64, _: u64, _: u64) -> ! {
    let (endpoint, reply) = (Endpoint(CPtr(endpoint)), Reply(CPtr(reply)));
    let mut received = endpoint.recv(reply);
    loop {
        WORD.set(VALUE);
        received = endpoint.reply_recv_inline(reply, info(0, 0), received.words);
    }
}

fn a_reservation_does_not_survive_a_call_here(stage: &mut Stage) -> Outcome {
    calls(stage, HERE)
}

fn a_reservation_does_not_survive_a_call_there(stage: &mut Stage) -> Outcome {
    let there = stage.there()?;
    calls(stage, there)
}

fn calls(stage: &mut Stage, space: VSpace) -> Outcome {
    const ROUNDS: u64 = 100_000;
    let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
    stage.passive(space, store_same, [endpoint.0.0, reply.0.0, 0, 0])?;
    WORD.set(VALUE);
    let mut frame = Frame::poisoned(1);
    frame.set(A0, endpoint.0.0).set(A1, info(0, 0).raw()).set(A7, Syscall::Call.raw());
    frame.word = WORD.address();
    for round in 0..ROUNDS {
        frame.run(Routine::LinkedCall);
        equal("the call", MessageInfo::from_raw(frame.after(A1)).is_from_kernel(), false)?;
        if frame.after(T8) != 0 {
            return Err(Failure::new(format_args!("sc.d succeeded after a call, in round {round}")));
        }
    }
    equal("the word", WORD.get(), VALUE)
}

/// Links the word, waits until it is told to go on, and stores: `sc.d`'s answer goes to cell 0.
extern "C" fn link_and_spin(_: u64, done: u64, _: u64, _: u64) -> ! {
    loop {
        let mut frame = Frame::poisoned(2);
        frame.word = WORD.address();
        frame.run(Routine::LinkedSpin);
        // Looked in vain at least once: it was preempted behind its `ll.d`, or nobody could have told it to go on.
        if frame.after(T6) > 1 {
            Cell(1).add(1);
            Cell(0).add(frame.after(T8));
        }
        GO_ON.set(0);
        let _ = Notification(CPtr(done)).signal();
        let _ = Notification(CPtr(done + 1)).wait();
    }
}

fn a_reservation_does_not_survive_preemption(stage: &mut Stage) -> Outcome {
    const ROUNDS: u64 = 300;
    let first = stage.memory.slots.take_run(2)?;
    let untyped = stage.memory.take_untyped(7)?;
    runtime::memory::retype(stage.memory.cnode, untyped, abi::ObjectType::Notification, 0, first, 2)?;
    let (done, again) = (Notification(first), Notification(CPtr(first.0 + 1)));
    // Where nothing comes in between, `sc.d` succeeds: or this story could not fail. A tick may come in between.
    let alone = (0..10).any(|_| {
        let mut frame = Frame::poisoned(1);
        frame.word = WORD.address();
        GO_ON.set(1);
        frame.run(Routine::LinkedSpin);
        (frame.after(T6), frame.after(T8)) == (1, 1)
    });
    holds("sc.d alone succeeds", alone)?;
    GO_ON.set(0);
    // It never waits between `ll.d` and `sc.d`, so only its budget's end takes the processor from it.
    let time = runtime::thread::Time { budget_ns: 200_000, period_ns: 400_000 };
    stage.start(Role::ABOVE.with_time(time), link_and_spin, [0, done.0.0, 0, 0])?;
    for round in 0..ROUNDS {
        WORD.set(VALUE);
        GO_ON.set(1);
        done.wait()?;
        if Cell(0).get() != 0 {
            return Err(Failure::new(format_args!("sc.d succeeded after preemption, in round {round}")));
        }
        again.signal()?;
    }
    holds("it was preempted in most rounds", Cell(1).get() > ROUNDS / 2)?;
    Ok(())
}
