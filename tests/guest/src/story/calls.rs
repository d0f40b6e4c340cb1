//! The tables of calls and methods: what is in them works or says what it lacks, what is not in them is refused.

use abi::invocation::TABLE;
use abi::message::REGISTERS;
use abi::{CPtr, Error, MessageInfo, Method, ObjectType, Syscall};
use runtime::InvocationError;
use runtime::message::info;
use runtime::stubs::pass_capabilities;
use runtime::trap::{Arguments, Received, trap};

use super::stories;
use crate::kit::failure::{Failure, Outcome, equal, refused};
use crate::kit::frame::{A0, A7, Frame, Routine};
use crate::kit::stage::{ASID_CONTROL, DEBUG, HERE, NOTHING, SCHED_CONTROL, Stage};

stories! {
    unknown_operations_are_refused,
    hosting_operations_are_not_built,
    capability_pointers_that_lead_nowhere,
    methods_not_built_say_so,
    every_method_of_every_other_object_is_refused,
    every_method_with_too_few_arguments_is_refused,
}

fn unknown_operations_are_refused(_: &mut Stage) -> Outcome {
    for operation in [0, 15, 16, 4095, 4096, 1 << 32, 1 << 63, u64::MAX] {
        let mut frame = Frame::poisoned(1);
        frame.set(A0, 0).set(A7, operation).run(Routine::Trap);
        let words = REGISTERS.map(|register| frame.after(register));
        let answer = Received { badge: frame.after(A0), info: MessageInfo::from_raw(frame.after(5)), words };
        refused("an unknown operation", answer.accepted().map(|_| operation), Error::UnknownSyscall)?;
    }
    Ok(())
}

fn hosting_operations_are_not_built(_: &mut Stage) -> Outcome {
    for operation in [Syscall::Switch, Syscall::EnterFull, Syscall::SyncVector] {
        let answer = trap(operation, Arguments::of(NOTHING)).accepted();
        match answer {
            Err(InvocationError { error: Error::NotImplemented | Error::IllegalOperation, .. }) => {}
            other => return Err(Failure::new(format_args!("{operation:?} answered {other:?}"))),
        }
    }
    Ok(())
}

fn capability_pointers_that_lead_nowhere(stage: &mut Stage) -> Outcome {
    let reply = stage.reply()?;
    let endpoint = stage.endpoint()?;
    let empty = stage.memory.slots.take()?;
    // Empty, past the CNode's 2^12 slots, and with every bit set.
    for pointer in [NOTHING, empty, CPtr(1 << 12), CPtr(1 << 63), CPtr(u64::MAX)] {
        for operation in [
            Syscall::Call,
            Syscall::Send,
            Syscall::Recv,
            Syscall::NBRecv,
            Syscall::ReplyRecv,
            Syscall::Wait,
            Syscall::Poll,
        ] {
            let answer = trap(operation, Arguments { reply: reply.0, ..Arguments::of(pointer) });
            leads_nowhere(operation, pointer, &answer)?;
        }
        let answer = trap(Syscall::NBRecv, Arguments { reply: pointer, ..Arguments::of(endpoint.0) });
        if pointer != NOTHING {
            leads_nowhere(Syscall::NBRecv, pointer, &answer)?;
        }
    }
    Ok(())
}

fn leads_nowhere(operation: Syscall, pointer: CPtr, answer: &Received) -> Outcome {
    match answer.accepted() {
        Err(InvocationError {
            error:
                Error::InvalidCapability | Error::LookupFailed | Error::GuardMismatch | Error::DepthMismatch,
            ..
        }) => Ok(()),
        other => Err(Failure::new(format_args!("{operation:?} on {pointer:x?} answered {other:?}"))),
    }
}

/// One capability of each type that can be invoked.
fn one_of_each(stage: &mut Stage) -> Result<[(ObjectType, CPtr); 13], InvocationError> {
    let memory = &mut stage.memory;
    Ok([
        (ObjectType::Untyped, memory.take_untyped(12)?),
        (ObjectType::CNode, memory.make(ObjectType::CNode, 8)?),
        (ObjectType::Tcb, memory.make(ObjectType::Tcb, 0)?),
        (ObjectType::SchedContext, memory.make(ObjectType::SchedContext, 0)?),
        (ObjectType::SchedControl, SCHED_CONTROL.0),
        (ObjectType::AsidControl, ASID_CONTROL.0),
        (ObjectType::AsidPool, stage.pool.0),
        (ObjectType::PageTable, memory.make(ObjectType::PageTable, 0)?),
        (ObjectType::Frame, memory.make(ObjectType::Frame, 14)?),
        (ObjectType::VSpace, memory.make(ObjectType::VSpace, 0)?),
        (ObjectType::Debug, DEBUG.0),
        (ObjectType::Frame, memory.make(ObjectType::Frame, 15)?),
        (ObjectType::VSpace, HERE.0),
    ])
}

/// Calls a method with so many capabilities and words, all 0.
fn call_method(target: CPtr, method: Method, caps: usize, words: usize) -> Result<Received, InvocationError> {
    let nothing = [NOTHING; 3];
    let caps = pass_capabilities(nothing.get(..caps).unwrap_or_default())?;
    let arguments = Arguments::of(target);
    trap(Syscall::Call, Arguments { info: info(method.label(), words).with_caps(caps), ..arguments })
        .accepted()
}

fn methods_not_built_say_so(stage: &mut Stage) -> Outcome {
    let objects = one_of_each(stage)?;
    let mut seen = 0;
    for row in TABLE.iter().filter(|row| !row.built) {
        let Some((_, target)) = objects.iter().find(|(object, _)| *object == row.object) else { continue };
        let answer = call_method(*target, row.method, row.caps.len(), row.words.len());
        refused(row.name, answer, Error::NotImplemented)?;
        seen += 1;
    }
    equal("some rows of the table are planned", seen > 0, true)
}

fn every_method_of_every_other_object_is_refused(stage: &mut Stage) -> Outcome {
    let objects = one_of_each(stage)?;
    for row in TABLE {
        for (object, target) in objects.iter().filter(|(object, _)| *object != row.object) {
            let answer = call_method(*target, row.method, row.caps.len(), row.words.len());
            match answer {
                Err(InvocationError { error: Error::IllegalOperation, .. }) => {}
                other => {
                    return Err(Failure::new(format_args!(
                        "{} of a {object:?} answered {other:?}",
                        row.name
                    )));
                }
            }
        }
    }
    Ok(())
}

fn every_method_with_too_few_arguments_is_refused(stage: &mut Stage) -> Outcome {
    let objects = one_of_each(stage)?;
    for row in TABLE.iter().filter(|row| row.built) {
        let Some((_, target)) = objects.iter().find(|(object, _)| *object == row.object) else { continue };
        if let Some(words) = row.words.len().checked_sub(1) {
            refused(
                row.name,
                call_method(*target, row.method, row.caps.len(), words),
                Error::TruncatedMessage,
            )?;
        }
        if let Some(caps) = row.caps.len().checked_sub(1) {
            refused(
                row.name,
                call_method(*target, row.method, caps, row.words.len()),
                Error::TruncatedMessage,
            )?;
        }
    }
    Ok(())
}
