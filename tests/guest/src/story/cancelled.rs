//! What a thread waits in is deleted: it ends in a defined state, whatever it was waiting for (CASES 12).

use abi::{CPtr, Error, Syscall};
use runtime::InvocationError;
use runtime::message::info;
use runtime::stubs::{Endpoint, Notification, Reply};
use runtime::trap::{Arguments, NO_WORDS, trap};

use super::stories;
use crate::kit::assistant::{Assistant, Role};
use crate::kit::failure::{Outcome, equal, holds};
use crate::kit::shared::{Cell, rest};
use crate::kit::stage::{HERE, Stage};

stories! {
    an_endpoint_deleted_under_its_waiters,
    a_notification_deleted_under_its_waiters,
    a_reply_deleted_under_its_caller,
    a_reply_deleted_under_its_receiver,
    a_context_deleted_under_its_thread,
    a_context_deleted_in_a_call,
    sends_of_one_badge_are_cancelled_alone,
    a_suspended_thread_leaves_its_queue,
    a_thread_deleted_while_it_waits,
}

/// Makes one call and tells what came of it: cell 0 counts, cell 1 is 1000 for success or the error's number.
extern "C" fn wait_in(operation: u64, capability: u64, reply: u64, _: u64) -> ! {
    let capability = Arguments { reply: CPtr(reply), ..Arguments::of(CPtr(capability)) };
    let answer = match Syscall::from_raw(operation) {
        Some(operation) => trap(operation, capability).accepted(),
        None => Err(Error::UnknownSyscall.into()),
    };
    Cell(1).set(answer.map_or_else(|refusal| refusal.error.label(), |_| 1000));
    Cell(0).add(1);
    rest()
}

/// Starts a thread that waits in an operation.
fn waiter(
    stage: &mut Stage,
    operation: Syscall,
    capability: CPtr,
    reply: CPtr,
) -> Result<Assistant, InvocationError> {
    stage.start(Role::ABOVE, wait_in, [operation.raw(), capability.0, reply.0, 0])
}

/// Fails unless the waiter has been told that what it waited in was deleted.
fn told(times: u64) -> Outcome {
    equal("told", (Cell(0).get(), Cell(1).get()), (times, Error::DeletedWhileWaiting.label()))
}

fn an_endpoint_deleted_under_its_waiters(stage: &mut Stage) -> Outcome {
    let operations = [Syscall::Call, Syscall::Send, Syscall::Recv, Syscall::Wait];
    for operation in operations {
        for waiters in [1, 3] {
            Cell(0).set(0);
            let endpoint = stage.endpoint()?;
            for _ in 0..waiters {
                let reply = if operation == Syscall::Recv { stage.reply()?.0 } else { CPtr::NULL };
                waiter(stage, operation, endpoint.0, reply)?;
            }
            equal("waiting", Cell(0).get(), 0)?;
            stage.memory.delete(endpoint.0)?;
            told(waiters)?;
        }
    }
    Ok(())
}

fn a_notification_deleted_under_its_waiters(stage: &mut Stage) -> Outcome {
    for waiters in [1, 3] {
        Cell(0).set(0);
        let notification = stage.notification()?;
        for _ in 0..waiters {
            waiter(stage, Syscall::Wait, notification.0, CPtr::NULL)?;
        }
        stage.memory.delete(notification.0)?;
        told(waiters)?;
    }
    // A bound one that is deleted is bound no longer.
    let (endpoint, reply, bound) = (stage.endpoint()?, stage.reply()?, stage.notification()?);
    let thread = waiter(stage, Syscall::Recv, endpoint.0, reply.0)?;
    thread.tcb.suspend()?;
    thread.tcb.bind_notification(bound)?;
    stage.memory.delete(bound.0)?;
    let another = stage.notification()?;
    Ok(thread.tcb.bind_notification(another)?)
}

fn a_reply_deleted_under_its_caller(stage: &mut Stage) -> Outcome {
    let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
    waiter(stage, Syscall::Call, endpoint.0, CPtr::NULL)?;
    endpoint.recv(reply).accepted()?;
    stage.memory.delete(reply.0)?;
    told(1)
}

fn a_reply_deleted_under_its_receiver(stage: &mut Stage) -> Outcome {
    let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
    let receiver = waiter(stage, Syscall::Recv, endpoint.0, reply.0)?;
    stage.memory.delete(reply.0)?;
    // Either its Recv ended, or it waits without a Reply: then a Call cannot be answered, and a Send arrives.
    if Cell(0).get() == 0 {
        endpoint.send(info(0, 0), NO_WORDS)?;
        equal("received without a Reply", (Cell(0).get(), Cell(1).get()), (1, 1000))?;
    } else {
        told(1)?;
    }
    Ok(receiver.tcb.suspend()?)
}

/// Counts for ever, a step at a time.
extern "C" fn count(_: u64, _: u64, _: u64, _: u64) -> ! {
    loop {
        Cell(0).add(1);
    }
}

fn a_context_deleted_under_its_thread(stage: &mut Stage) -> Outcome {
    let runner = stage.start(Role::BELOW, count, [0; 4])?;
    stage.memory.delete(runner.time.0)?;
    // Runnable in name, but without time: nothing below runs it.
    let (done, before) = (stage.notification()?, Cell(0).get());
    stage.start(Role::BELOW.above(-20), signal, [done.0.0, 0, 0, 0])?;
    done.wait()?;
    equal("it stands still", Cell(0).get(), before)?;
    let time = runtime::thread::make_time(
        &mut stage.memory,
        crate::kit::stage::SCHED_CONTROL,
        crate::kit::assistant::PLENTY,
    )?;
    let soon = stage.hire(Role::BELOW.above(-20), signal, [done.0.0, 0, 0, 0])?;
    time.bind(runner.tcb)?;
    runner.tcb.set_priority(crate::kit::stage::DIRECTOR, 1)?;
    soon.resume()?;
    done.wait()?;
    Ok(())
}

extern "C" fn signal(notification: u64, _: u64, _: u64, _: u64) -> ! {
    let _ = Notification(CPtr(notification)).signal();
    rest()
}

/// Receives one message, then tells the director and waits for its signal before it answers.
extern "C" fn serve_slowly(endpoint: u64, reply: u64, go_on: u64, _: u64) -> ! {
    let (endpoint, reply) = (Endpoint(CPtr(endpoint)), Reply(CPtr(reply)));
    loop {
        let received = endpoint.recv(reply);
        Cell(5).add(1);
        let _ = Notification(CPtr(go_on)).wait();
        let _ = reply.send(info(0, received.info.length()), received.words);
    }
}

fn a_context_deleted_in_a_call(stage: &mut Stage) -> Outcome {
    // A caller's context is donated to a passive server that waits in the middle of its work; it goes away there.
    let (endpoint, reply, go_on) = (stage.endpoint()?, stage.reply()?, stage.notification()?);
    let server = stage.passive(HERE, serve_slowly, [endpoint.0.0, reply.0.0, go_on.0.0, 0])?;
    let caller = waiter(stage, Syscall::Call, endpoint.0, CPtr::NULL)?;
    equal("serving, not answered", (Cell(5).get(), Cell(0).get()), (1, 0))?;
    stage.memory.delete(caller.time.0)?;
    // Without time the server stands still; with time it goes on and answers.
    go_on.signal()?;
    equal("not answered", Cell(0).get(), 0)?;
    server.time.bind(server.tcb)?;
    let later = runtime::thread::make_time(
        &mut stage.memory,
        crate::kit::stage::SCHED_CONTROL,
        crate::kit::assistant::PLENTY,
    )?;
    if Cell(0).get() == 0 {
        later.bind(caller.tcb)?;
    }
    equal("answered", (Cell(0).get(), Cell(1).get()), (1, 1000))
}

fn sends_of_one_badge_are_cancelled_alone(stage: &mut Stage) -> Outcome {
    let endpoint = stage.endpoint()?;
    let (one, two) = (stage.badged(endpoint, 1)?, stage.badged(endpoint, 2)?);
    waiter(stage, Syscall::Send, one.0, CPtr::NULL)?;
    waiter(stage, Syscall::Send, two.0, CPtr::NULL)?;
    waiter(stage, Syscall::Send, one.0, CPtr::NULL)?;
    stage.memory.cnode.cancel_badged_sends(one.0.0, 64)?;
    told(2)?;
    let reply = stage.reply()?;
    equal("the other one is still there", endpoint.recv(reply).accepted()?.badge, 2)?;
    equal("and was received", (Cell(0).get(), Cell(1).get()), (3, 1000))?;
    equal("nobody else", endpoint.nb_recv(reply).badge, 0)
}

fn a_suspended_thread_leaves_its_queue(stage: &mut Stage) -> Outcome {
    let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
    let senders = [
        waiter(stage, Syscall::Send, endpoint.0, CPtr::NULL)?,
        waiter(stage, Syscall::Call, endpoint.0, CPtr::NULL)?,
        waiter(stage, Syscall::Send, endpoint.0, CPtr::NULL)?,
    ];
    for sender in &senders {
        sender.tcb.suspend()?;
    }
    equal("nobody sends", endpoint.nb_recv(reply).badge, 0)?;
    holds("nobody was told", Cell(0).get() == 0)?;
    // Resumed, each makes its call anew.
    for (sender, number) in senders.iter().zip(1..) {
        sender.resume()?;
        let received = endpoint.nb_recv(reply).accepted()?;
        equal("length", received.info.length(), 0)?;
        let _ = reply.send(info(0, 0), NO_WORDS);
        equal("told", Cell(0).get(), number)?;
    }
    Ok(())
}

fn a_thread_deleted_while_it_waits(stage: &mut Stage) -> Outcome {
    for operation in [Syscall::Call, Syscall::Send, Syscall::Recv, Syscall::Wait] {
        let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
        let waits = waiter(stage, operation, endpoint.0, reply.0)?;
        stage.memory.delete(waits.tcb.0)?;
        equal("it is gone", endpoint.nb_recv(reply).badge, 0)?;
        endpoint.nb_send(info(0, 0), NO_WORDS)?;
        equal("and was told nothing", Cell(0).get(), 0)?;
    }
    Ok(())
}
