//! Passive servers: time moves with the call and comes back with the answer (C-10).

use abi::{CPtr, Error};
use runtime::InvocationError;
use runtime::message::info;
use runtime::stubs::{Endpoint, Notification, Reply};
use runtime::trap::NO_WORDS;

use super::messages::echo;
use super::stories;
use crate::kit::assistant::{PLENTY, Role};
use crate::kit::failure::{Failure, Outcome, equal, refused};
use crate::kit::shared::{Cell, rest};
use crate::kit::stage::{HERE, Stage};

stories! {
    a_passive_server_answers_on_its_callers_time,
    an_active_server_answers_on_its_own_time,
    calls_nest_and_unwind,
    callers_queue_for_a_passive_server,
    a_passive_thread_without_a_caller_does_not_run,
    a_reply_that_stands_for_a_caller_is_not_taken_again,
    answering_twice_answers_nobody,
    a_context_is_bound_once,
}

fn a_passive_server_answers_on_its_callers_time(stage: &mut Stage) -> Outcome {
    for space in [HERE, stage.there()?] {
        let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
        let server = stage.passive(space, echo, [endpoint.0.0, reply.0.0, 0, 0])?;
        for round in 0..1000 {
            equal("answer", endpoint.call(1, [round, !round])?, [round, !round])?;
        }
        // The context came back each time: it can be given to the server, which has none.
        server.time.bind(server.tcb)?;
    }
    Ok(())
}

fn an_active_server_answers_on_its_own_time(stage: &mut Stage) -> Outcome {
    let there = stage.there()?;
    for role in [Role::ABOVE, Role::BELOW, Role::BELOW.in_space(there), Role::ABOVE.above(0)] {
        let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
        stage.start(role, echo, [endpoint.0.0, reply.0.0, 0, 0])?;
        for round in 0..200 {
            equal("answer", endpoint.call(1, [round])?, [round])?;
        }
    }
    Ok(())
}

/// Passes every message on to the next server, one more each time.
extern "C" fn pass_on(endpoint: u64, reply: u64, next: u64, _: u64) -> ! {
    let (endpoint, reply, next) = (Endpoint(CPtr(endpoint)), Reply(CPtr(reply)), Endpoint(CPtr(next)));
    let mut received = endpoint.recv(reply);
    loop {
        let answer = match next.call(0, [received.word(0) + 1]) {
            Ok([word]) => word,
            Err(refusal) => 1 << 32 | refusal.error.label(),
        };
        received = endpoint.reply_recv_inline(reply, info(0, 1), [answer, 0, 0, 0, 0, 0, 0, 0]);
    }
}

fn calls_nest_and_unwind(stage: &mut Stage) -> Outcome {
    const DEPTH: u64 = 12;
    let (mut endpoint, reply) = (stage.endpoint()?, stage.reply()?);
    stage.passive(HERE, echo, [endpoint.0.0, reply.0.0, 0, 0])?;
    let there = stage.there()?;
    for level in 0..DEPTH {
        let (outer, reply) = (stage.endpoint()?, stage.reply()?);
        let space = if level % 2 == 0 { there } else { HERE };
        stage.passive(space, pass_on, [outer.0.0, reply.0.0, endpoint.0.0, 0])?;
        endpoint = outer;
    }
    for round in 0..100 {
        equal("through all levels", endpoint.call(0, [round])?, [round + DEPTH])?;
    }
    Ok(())
}

/// Calls so often, counts the right answers, and says when it is done.
extern "C" fn call_often(endpoint: u64, times: u64, cell: u64, done: u64) -> ! {
    for round in 0..times {
        if matches!(Endpoint(CPtr(endpoint)).call(0, [round, cell]), Ok([one, other]) if one == round && other == cell)
        {
            Cell(usize::try_from(cell).unwrap_or(0)).add(1);
        }
    }
    let _ = Notification(CPtr(done)).signal();
    rest()
}

fn callers_queue_for_a_passive_server(stage: &mut Stage) -> Outcome {
    const TIMES: u64 = 500;
    let (endpoint, reply, done) = (stage.endpoint()?, stage.reply()?, stage.notification()?);
    stage.passive(HERE, echo, [endpoint.0.0, reply.0.0, 0, 0])?;
    let there = stage.there()?;
    // Each with a short budget, so that they meet in the server.
    let time = runtime::thread::Time { budget_ns: 200_000, period_ns: 400_000 };
    for (cell, badge) in (0..4_u64).zip([1_u64, 2, 4, 8]) {
        let signal = stage.memory.mint(done.0, abi::Rights::WRITE, badge)?;
        let role = Role::BELOW.with_time(time).in_space(if cell % 2 == 0 { HERE } else { there });
        stage.start(role, call_often, [endpoint.0.0, TIMES, cell, signal.0])?;
    }
    let mut seen = 0;
    while seen != 15 {
        seen |= done.wait()?;
    }
    let answers: [u64; 4] = core::array::from_fn(|cell| Cell(cell).get());
    equal("answers", answers, [TIMES; 4])
}

extern "C" fn count_once(_: u64, _: u64, _: u64, _: u64) -> ! {
    Cell(0).add(1);
    rest()
}

fn a_passive_thread_without_a_caller_does_not_run(stage: &mut Stage) -> Outcome {
    let thread = stage.hire(Role { time: None, ..Role::ABOVE }, count_once, [0; 4])?;
    thread.resume()?;
    equal("without time", Cell(0).get(), 0)?;
    thread.time.bind(thread.tcb)?;
    equal("with time", Cell(0).get(), 1)
}

fn a_reply_that_stands_for_a_caller_is_not_taken_again(stage: &mut Stage) -> Outcome {
    let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
    stage.start(Role::ABOVE, call_twice, [endpoint.0.0, 0, 0, 0])?;
    let first = endpoint.recv(reply).accepted()?;
    equal("the first call", first.word(0), 1)?;
    match endpoint.nb_recv(reply).accepted() {
        Err(InvocationError { error: Error::ReplyInUse, .. }) => {}
        other => return Err(Failure::new(format_args!("receiving with a Reply in use answered {other:?}"))),
    }
    reply.send(info(0, 0), NO_WORDS)?;
    equal("the second call", endpoint.recv(reply).accepted()?.word(0), 2)
}

extern "C" fn call_twice(endpoint: u64, _: u64, _: u64, _: u64) -> ! {
    for round in 1..=2 {
        let _ = Endpoint(CPtr(endpoint)).call(0, [round]);
    }
    rest()
}

fn answering_twice_answers_nobody(stage: &mut Stage) -> Outcome {
    let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
    stage.start(Role::ABOVE, call_twice, [endpoint.0.0, 0, 0, 0])?;
    endpoint.recv(reply).accepted()?;
    reply.send(info(0, 0), NO_WORDS)?;
    // Nobody is there now: that is no mistake, and no second answer (seL4 manual §4.2.4).
    let _ = reply.send(info(0, 0), NO_WORDS);
    equal("the second call", endpoint.recv(reply).accepted()?.word(0), 2)
}

fn a_context_is_bound_once(stage: &mut Stage) -> Outcome {
    let first = stage.hire(Role { time: None, ..Role::ABOVE }, count_once, [0; 4])?;
    let second = stage.hire(Role { time: Some(PLENTY), ..Role::ABOVE }, count_once, [0; 4])?;
    refused("a thread that has one", first.time.bind(second.tcb), Error::AlreadyBound)?;
    refused("a context that is bound", second.time.bind(first.tcb), Error::AlreadyBound)?;
    refused("unbinding what is not bound", first.time.unbind(), Error::NotBound)?;
    refused("a context for no thread", first.time.bind(first.time), Error::InvalidCapability)
}
