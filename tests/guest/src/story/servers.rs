//! Servers that are stopped, resumed and deleted in the middle of things (CASES 7, 11).

use abi::{CPtr, Error};
use runtime::message::info;
use runtime::registers::Resume;
use runtime::stubs::{Endpoint, Notification};
use runtime::trap::NO_WORDS;

use super::messages::echo;
use super::stories;
use crate::kit::assistant::Role;
use crate::kit::failure::{Outcome, equal};
use crate::kit::shared::{Cell, rest};
use crate::kit::stage::{HERE, Stage};

stories! {
    a_passive_server_stopped_and_resumed_serves_again,
    a_passive_server_begun_anew_serves_again,
    a_server_deleted_while_it_serves_lets_its_caller_go,
    components_come_and_go_during_calls,
}

fn a_passive_server_stopped_and_resumed_serves_again(stage: &mut Stage) -> Outcome {
    let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
    let server = stage.passive(HERE, echo, [endpoint.0.0, reply.0.0, 0, 0])?;
    for round in 0..100 {
        equal("answer", endpoint.call(0, [round])?, [round])?;
        server.tcb.suspend()?;
        // Resumed, it waits where it waited, without needing time for that.
        server.tcb.resume()?;
    }
    Ok(())
}

fn a_passive_server_begun_anew_serves_again(stage: &mut Stage) -> Outcome {
    let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
    let server = stage.passive(HERE, echo, [endpoint.0.0, reply.0.0, 0, 0])?;
    for round in 0..100 {
        equal("answer", endpoint.call(0, [round])?, [round])?;
        server.tcb.suspend()?;
        server.tcb.write_registers(Resume::Leave, &server.first_registers())?;
        server.time.bind(server.tcb)?;
        server.tcb.resume()?;
        server.time.unbind()?;
    }
    Ok(())
}

/// Calls once; what came of it goes to cell 0: 1 for an answer, or 100 and the error.
extern "C" fn call_and_tell(endpoint: u64, done: u64, _: u64, _: u64) -> ! {
    let answer = Endpoint(CPtr(endpoint)).call_inline(info(0, 0), NO_WORDS).accepted();
    Cell(0).set(answer.map_or_else(|refusal| 100 + refusal.error.label(), |_| 1));
    let _ = Notification(CPtr(done)).signal();
    rest()
}

fn a_server_deleted_while_it_serves_lets_its_caller_go(stage: &mut Stage) -> Outcome {
    let (endpoint, done) = (stage.endpoint()?, stage.notification()?);
    let reply = stage.reply()?;
    stage.start(Role::ABOVE, call_and_tell, [endpoint.0.0, done.0.0, 0, 0])?;
    endpoint.recv(reply).accepted()?;
    // The director serves it, and the Reply goes away: the caller ends in a defined state.
    stage.memory.delete(reply.0)?;
    equal("what the caller was told", Cell(0).get(), 100 + Error::DeletedWhileWaiting.label())
}

fn components_come_and_go_during_calls(stage: &mut Stage) -> Outcome {
    // Short here: each round makes a server and two callers, and takes them away with one of the callers waiting.
    const ROUNDS: u64 = 200;
    let mut inner = stage.inner(20, 200)?;
    for round in 0..ROUNDS {
        let (endpoint, reply, done) = (inner.endpoint()?, inner.reply()?, inner.notification()?);
        let server = inner.passive(HERE, echo, [endpoint.0.0, reply.0.0, 0, 0])?;
        equal("answer", endpoint.call(0, [round])?, [round])?;
        server.tcb.suspend()?;
        inner.start(Role::ABOVE, call_and_tell, [endpoint.0.0, done.0.0, 0, 0])?;
        equal("the caller waits", Cell(0).get(), 0)?;
        inner.sweep()?;
    }
    Ok(())
}
