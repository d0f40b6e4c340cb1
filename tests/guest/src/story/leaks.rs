//! Poisoned registers: after every kind of switch, no register holds what a third thread or the kernel left (C-8).
//!
//! Every thread fills all its registers with keys of its own before it enters the kernel, and looks at all of them
//! right after it came back. What may be there is said by [`Allowed`]; a mistake planted in the assembly shows that
//! the look finds one.

use abi::{CPtr, MessageInfo, Syscall};
use runtime::message::info;
use runtime::stubs::{Notification, VSpace};

use super::stories;
use crate::kit::assistant::Role;
use crate::kit::failure::{Failure, Outcome, equal, holds};
use crate::kit::frame::{A0, A1, A2, A7, ANSWER, Allowed, Frame, Leak, REFUSAL, Routine, T0, key};
use crate::kit::shared::Cell;
use crate::kit::stage::{HERE, Stage};

stories! {
    the_look_finds_a_planted_leak,
    calls_and_answers_between_spaces,
    calls_to_an_active_server,
    the_stubs_give_nothing_away,
    calls_of_kernel_objects_and_refusals,
    sends_and_receives_that_wait,
}

/// Threads by the number in their keys.
pub(super) const DIRECTOR: u64 = 1;
pub(super) const SERVER: u64 = 2;
const BYSTANDER: u64 = 3;

/// Cells: 14 and 15 hold an assistant's leak, register + 1 and value.
const LEAK: Cell = Cell(14);
const LEAK_VALUE: Cell = Cell(15);

pub(super) fn none(what: &str, leak: Option<Leak>) -> Outcome {
    match leak {
        None => Ok(()),
        Some(Leak { register, value }) => {
            Err(Failure::new(format_args!("{what}: $r{register} holds {value:#x}")))
        }
    }
}

/// Fails if an assistant has seen a leak.
pub(super) fn none_by_assistants(what: &str) -> Outcome {
    let register = usize::try_from(LEAK.get()).unwrap_or(0);
    none(what, register.checked_sub(1).map(|register| Leak { register, value: LEAK_VALUE.get() }))
}

pub(super) fn tell(leak: Option<Leak>) {
    if let Some(Leak { register, value }) = leak
        && LEAK.get() == 0
    {
        LEAK_VALUE.set(value);
        LEAK.set(register as u64 + 1);
    }
}

/// All registers poisoned but for the call's own.
pub(super) fn call(
    thread: u64,
    operation: Syscall,
    capability: CPtr,
    message: MessageInfo,
    reply: CPtr,
) -> Frame {
    let mut frame = Frame::poisoned(thread);
    frame.set(A7, operation.raw()).set(A0, capability.0).set(A1, message.raw()).set(A2, reply.0);
    frame
}

/// A poisoned thread that stays in the background: it has entered the kernel with keys that nobody may ever see.
extern "C" fn bystand(notification: u64, cell: u64, _: u64, _: u64) -> ! {
    loop {
        let mut frame = call(BYSTANDER, Syscall::Wait, CPtr(notification), info(0, 0), CPtr::NULL);
        frame.run(Routine::Trap);
        Cell(usize::try_from(cell).unwrap_or(0)).add(1);
        tell(frame.leak(Allowed { own: BYSTANDER, sender: None, results: ANSWER }));
    }
}

/// Starts a bystander; its notification.
pub(super) fn bystander(stage: &mut Stage, space: VSpace) -> Result<Notification, Failure> {
    let notification = stage.notification()?;
    stage.start(Role::ABOVE.above(20).in_space(space), bystand, [notification.0.0, 10, 0, 0])?;
    Ok(notification)
}

/// Receives with every register poisoned, looks, answers likewise.
extern "C" fn serve(endpoint: u64, reply: u64, _: u64, _: u64) -> ! {
    let first = call(SERVER, Syscall::Recv, CPtr(endpoint), info(0, 0), CPtr(reply));
    let mut frame = first;
    loop {
        frame.run(Routine::Trap);
        tell(frame.leak(Allowed { own: SERVER, sender: Some(directors_call(endpoint)), results: ANSWER }));
        frame = call(SERVER, Syscall::ReplyRecv, CPtr(endpoint), info(0, 0), CPtr(reply));
    }
}

/// The director's registers in a Call of an endpoint.
fn directors_call(endpoint: u64) -> [u64; 32] {
    call(DIRECTOR, Syscall::Call, CPtr(endpoint), info(0, 0), CPtr::NULL).input
}

/// The server's registers when it answers.
fn servers_answer(endpoint: CPtr, reply: CPtr) -> [u64; 32] {
    call(SERVER, Syscall::ReplyRecv, endpoint, info(0, 0), reply).input
}

fn the_look_finds_a_planted_leak(stage: &mut Stage) -> Outcome {
    let notification = stage.notification()?;
    let allowed = Allowed { own: DIRECTOR, sender: None, results: ANSWER };
    let mut frame = call(DIRECTOR, Syscall::Poll, notification.0, info(0, 0), CPtr::NULL);
    frame.run(Routine::TrapPlanted);
    equal("found", frame.leak(allowed), Some(Leak { register: 28, value: 0x9000_0000_0000_0000 }))?;
    // Any register that is not a result, with the kernel's address or a third thread's key.
    for register in (1..31).filter(|register| ![2, 3, A0, A1].contains(register)) {
        for value in
            [0x9000_0000_0020_0000, key(BYSTANDER, register), key(SERVER, register), key(DIRECTOR, 40)]
        {
            let mut frame = call(DIRECTOR, Syscall::Poll, notification.0, info(0, 0), CPtr::NULL);
            frame.run(Routine::Trap);
            if let Some(place) = frame.output.get_mut(register) {
                *place = value;
            }
            equal("found", frame.leak(allowed), Some(Leak { register, value }))?;
        }
    }
    Ok(())
}

fn calls_and_answers_between_spaces(stage: &mut Stage) -> Outcome {
    for space in [HERE, stage.there()?] {
        let waker = bystander(stage, space)?;
        let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
        stage.passive(space, serve, [endpoint.0.0, reply.0.0, 0, 0])?;
        let answer = servers_answer(endpoint.0, reply.0);
        for round in 0..200 {
            // Now and then the bystander runs in between.
            if round % 10 == 0 {
                waker.signal()?;
            }
            let mut frame = call(DIRECTOR, Syscall::Call, endpoint.0, info(0, 0), CPtr::NULL);
            frame.run(Routine::Trap);
            holds("an answer", !MessageInfo::from_raw(frame.after(A1)).is_from_kernel())?;
            none("call", frame.leak(Allowed { own: DIRECTOR, sender: Some(answer), results: ANSWER }))?;
            none_by_assistants("server")?;
        }
    }
    Ok(())
}

fn calls_to_an_active_server(stage: &mut Stage) -> Outcome {
    let there = stage.there()?;
    for role in [Role::BELOW, Role::ABOVE.in_space(there), Role::BELOW.in_space(there)] {
        let waker = bystander(stage, there)?;
        let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
        stage.start(role, serve, [endpoint.0.0, reply.0.0, 0, 0])?;
        let answer = servers_answer(endpoint.0, reply.0);
        for _ in 0..50 {
            waker.signal()?;
            let mut frame = call(DIRECTOR, Syscall::Call, endpoint.0, info(0, 0), CPtr::NULL);
            frame.run(Routine::Trap);
            none("call", frame.leak(Allowed { own: DIRECTOR, sender: Some(answer), results: ANSWER }))?;
            none_by_assistants("server")?;
        }
    }
    Ok(())
}

/// Receives calls made by the runtime's stubs, with two words each, and looks for anything else of the caller's.
extern "C" fn serve_stubs(endpoint: u64, reply: u64, _: u64, _: u64) -> ! {
    let words = 1 << 7 | 1 << 8;
    let mut sender = [0; 32];
    if let Some(operation) = sender.get_mut(A7) {
        *operation = Syscall::Call.raw();
    }
    let mut frame = call(SERVER, Syscall::Recv, CPtr(endpoint), info(0, 0), CPtr(reply));
    loop {
        frame.run(Routine::Trap);
        let from_director = Allowed { own: SERVER, sender: Some(sender), results: ANSWER | words };
        tell(frame.leak(from_director));
        frame = call(SERVER, Syscall::ReplyRecv, CPtr(endpoint), info(0, 0), CPtr(reply));
    }
}

fn the_stubs_give_nothing_away(stage: &mut Stage) -> Outcome {
    for space in [HERE, stage.there()?] {
        let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
        stage.passive(space, serve_stubs, [endpoint.0.0, reply.0.0, 0, 0])?;
        for round in 0..100 {
            // Many values that live over the call, so that registers are full of them.
            let live: [u64; 16] =
                core::array::from_fn(|index| core::hint::black_box(key(DIRECTOR, index) ^ round));
            endpoint.call(0, [1, 2])?;
            core::hint::black_box(endpoint.call_inline(info(0, 2), [1, 2, 0, 0, 0, 0, 0, 0]));
            equal(
                "live values",
                core::hint::black_box(live).iter().fold(0, |sum, word| sum ^ word),
                fold(round),
            )?;
            none_by_assistants("stub")?;
        }
    }
    Ok(())
}

fn fold(round: u64) -> u64 {
    (0..16).fold(0, |sum, index| sum ^ key(DIRECTOR, index) ^ round)
}

fn calls_of_kernel_objects_and_refusals(stage: &mut Stage) -> Outcome {
    bystander(stage, HERE)?.signal()?;
    let thread = stage.memory.make(abi::ObjectType::Tcb, 0)?;
    let page = stage.memory.make(abi::ObjectType::Frame, 14)?;
    let calls = [
        (thread, abi::Method::TcbSuspend, 0),
        (page, abi::Method::FrameGetAddress, 0),
        (page, abi::Method::FrameUnmap, 0),
        (thread, abi::Method::FrameUnmap, 0),
        (CPtr::NULL, abi::Method::FrameUnmap, 0),
        (thread, abi::Method::TcbSetPriority, 1),
    ];
    for (target, method, words) in calls {
        let message = info(method.label(), words);
        let mut frame = call(DIRECTOR, Syscall::Call, target, message, CPtr::NULL);
        frame.run(Routine::Trap);
        holds("the kernel's answer", MessageInfo::from_raw(frame.after(A1)).is_from_kernel())?;
        let allowed = Allowed { own: DIRECTOR, sender: None, results: REFUSAL };
        none("invocation", frame.leak(allowed))?;
        // What is in the two words is a value of the answer's, never an address of the kernel's.
        holds("no address", [7, 8].iter().all(|register| frame.after(*register) >> 60 == 0))?;
    }
    let mut frame = call(DIRECTOR, Syscall::Call, thread, info(0, 0), CPtr::NULL);
    frame.set(A7, 77).run(Routine::Trap);
    none("unknown operation", frame.leak(Allowed { own: DIRECTOR, sender: None, results: REFUSAL }))
}

/// Sends again and again, poisoned.
extern "C" fn send_for_ever(endpoint: u64, _: u64, _: u64, _: u64) -> ! {
    loop {
        let mut frame = call(SERVER, Syscall::Send, CPtr(endpoint), info(0, 0), CPtr::NULL);
        frame.run(Routine::Trap);
        tell(frame.leak(Allowed { own: SERVER, sender: None, results: ANSWER }));
    }
}

fn sends_and_receives_that_wait(stage: &mut Stage) -> Outcome {
    let there = stage.there()?;
    for role in [Role::BELOW, Role::ABOVE.in_space(there)] {
        let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
        let sender = stage.start(role, send_for_ever, [endpoint.0.0, 0, 0, 0])?;
        let sent = call(SERVER, Syscall::Send, endpoint.0, info(0, 0), CPtr::NULL).input;
        let operations = [Syscall::Recv, Syscall::NBRecv, Syscall::Wait, Syscall::NBSendRecv];
        for operation in operations.into_iter().cycle().take(100) {
            let mut frame = call(DIRECTOR, operation, endpoint.0, info(0, 0), reply.0);
            frame.set(T0, stage.pool.0.0);
            if operation == Syscall::NBSendRecv {
                let nowhere = stage.notification()?;
                frame.set(T0, nowhere.0.0);
            }
            frame.run(Routine::Trap);
            none("receiving", frame.leak(Allowed { own: DIRECTOR, sender: Some(sent), results: ANSWER }))?;
            none_by_assistants("the sender")?;
        }
        sender.tcb.suspend()?;
    }
    Ok(())
}
