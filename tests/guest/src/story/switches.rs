//! Poisoned registers where nobody sends to the thread that goes on: signals, waits, yields, preemption,
//! exceptions (C-8). Every register outside the contract is zero or the thread's own.

use abi::{CPtr, Syscall};
use runtime::message::info;
use runtime::stubs::Notification;

use super::leaks::{DIRECTOR, SERVER, bystander, call, none, none_by_assistants, tell};
use super::stories;
use crate::kit::assistant::Role;
use crate::kit::failure::{Outcome, equal};
use crate::kit::frame::{A0, ANSWER, Allowed, Frame, Leak, R21, Routine, T8, key};
use crate::kit::shared::{Cell, rest};
use crate::kit::stage::{HERE, Stage};

stories! {
    signals_that_wake_and_do_not,
    waits_and_polls,
    yields,
    preemption_keeps_every_register,
    an_exception_keeps_every_register,
}

fn signals_that_wake_and_do_not(stage: &mut Stage) -> Outcome {
    let there = stage.there()?;
    for space in [HERE, there] {
        let waker = bystander(stage, space)?;
        let alone = stage.notification()?;
        let before = Cell(10).get();
        for round in 1..=50 {
            for (target, what) in [(waker, "a signal that wakes"), (alone, "a signal that wakes nobody")] {
                let mut frame = call(DIRECTOR, Syscall::Send, target.0, info(0, 0), CPtr::NULL);
                frame.run(Routine::Trap);
                none(what, frame.leak(Allowed { own: DIRECTOR, sender: None, results: ANSWER }))?;
            }
            equal("woken", Cell(10).get(), before + round)?;
            none_by_assistants("the woken thread")?;
        }
    }
    Ok(())
}

/// Waits, poisoned; then signals back.
extern "C" fn wait_and_signal(wait: u64, signal: u64, _: u64, _: u64) -> ! {
    loop {
        let mut frame = call(SERVER, Syscall::Wait, CPtr(wait), info(0, 0), CPtr::NULL);
        frame.run(Routine::Trap);
        tell(frame.leak(Allowed { own: SERVER, sender: None, results: ANSWER }));
        let mut frame = call(SERVER, Syscall::Send, CPtr(signal), info(0, 0), CPtr::NULL);
        frame.run(Routine::Trap);
        tell(frame.leak(Allowed { own: SERVER, sender: None, results: ANSWER }));
    }
}

fn waits_and_polls(stage: &mut Stage) -> Outcome {
    let there = stage.there()?;
    for role in [Role::BELOW, Role::ABOVE, Role::BELOW.in_space(there)] {
        let (ping, pong) = (stage.notification()?, stage.notification()?);
        stage.start(role, wait_and_signal, [ping.0.0, pong.0.0, 0, 0])?;
        let allowed = Allowed { own: DIRECTOR, sender: None, results: ANSWER };
        for _ in 0..50 {
            ping.signal()?;
            for operation in [Syscall::Wait, Syscall::Poll] {
                let mut frame = call(DIRECTOR, operation, pong.0, info(0, 0), CPtr::NULL);
                frame.run(Routine::Trap);
                none("waiting", frame.leak(allowed))?;
            }
            none_by_assistants("the other side")?;
        }
    }
    Ok(())
}

extern "C" fn yield_for_ever(_: u64, _: u64, _: u64, _: u64) -> ! {
    loop {
        let mut frame = call(SERVER, Syscall::Yield, CPtr::NULL, info(0, 0), CPtr::NULL);
        frame.run(Routine::Trap);
        Cell(0).add(1);
        tell(frame.leak(Allowed { own: SERVER, sender: None, results: ANSWER }));
    }
}

fn yields(stage: &mut Stage) -> Outcome {
    let there = stage.there()?;
    bystander(stage, there)?.signal()?;
    stage.start(Role::ABOVE.above(0).in_space(there), yield_for_ever, [0; 4])?;
    for _ in 0..50 {
        let mut frame = call(DIRECTOR, Syscall::Yield, CPtr::NULL, info(0, 0), CPtr::NULL);
        frame.run(Routine::Trap);
        none("yield", frame.leak(Allowed { own: DIRECTOR, sender: None, results: ANSWER }))?;
        none_by_assistants("the other thread")?;
    }
    Ok(())
}

/// Holds keys in every register until the word at `stop` is set, then looks at them.
pub(super) extern "C" fn hold(thread: u64, stop: u64, done: u64, _: u64) -> ! {
    let mut frame = Frame::poisoned(thread);
    frame.word = stop;
    frame.run(Routine::Spin);
    // `$r21` is no native thread's to keep (C-6), and `$t8` was the loop's.
    tell(frame.changed(1 << T8 | 1 << R21));
    tell(match frame.after(R21) {
        value if value == 0 || value == key(thread, R21) => None,
        value => Some(Leak { register: R21, value }),
    });
    let _ = Notification(CPtr(done)).signal();
    rest()
}

extern "C" fn stop_after(deadline: u64, cell: u64, _: u64, _: u64) -> ! {
    while runtime::trap::counter() < deadline {}
    Cell(usize::try_from(cell).unwrap_or(0)).set(1);
    rest()
}

fn preemption_keeps_every_register(stage: &mut Stage) -> Outcome {
    let there = stage.there()?;
    let done = stage.notification()?;
    let stop = Cell(0);
    let time = runtime::thread::Time { budget_ns: 100_000, period_ns: 100_000 };
    let holders = 4;
    for (thread, badge) in (10..10 + holders).zip([1_u64, 2, 4, 8]) {
        let role = Role::BELOW.with_time(time).in_space(if thread % 2 == 0 { HERE } else { there });
        let signal = stage.memory.mint(done.0, abi::Rights::WRITE, badge)?;
        stage.start(role, hold, [thread, stop.address(), signal.0, 0])?;
    }
    let deadline = runtime::trap::counter() + stage.ticks(60_000);
    stage.start(Role::BELOW.with_time(time), stop_after, [deadline, 0, 0, 0])?;
    let mut seen = 0;
    while seen != 15 {
        // The director's own wake-ups come from threads that were preempted all the time.
        let mut frame = call(DIRECTOR, Syscall::Wait, done.0, info(0, 0), CPtr::NULL);
        frame.run(Routine::Trap);
        seen |= frame.after(A0);
        none("waiting", frame.leak(Allowed { own: DIRECTOR, sender: None, results: ANSWER }))?;
    }
    none_by_assistants("a thread that was preempted")
}

/// Faults with keys in every register, and looks at them when it goes on.
extern "C" fn fault(_: u64, _: u64, _: u64, _: u64) -> ! {
    let mut frame = Frame::poisoned(SERVER);
    frame.run(Routine::Break);
    Cell(0).set(1);
    tell(frame.changed(1 << R21));
    tell(match frame.after(R21) {
        value if value == 0 || value == key(SERVER, R21) => None,
        value => Some(Leak { register: R21, value }),
    });
    rest()
}

fn an_exception_keeps_every_register(stage: &mut Stage) -> Outcome {
    for space in [HERE, stage.there()?] {
        Cell(0).set(0);
        bystander(stage, space)?.signal()?;
        let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
        stage.start(Role::ABOVE.in_space(space).with_handler(endpoint.0), fault, [0; 4])?;
        // The handler sees the fault's words, and nothing else of the thread that faulted.
        let mut frame = call(DIRECTOR, Syscall::Recv, endpoint.0, info(0, 0), reply.0);
        frame.run(Routine::Trap);
        let words = 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10;
        none("handler", frame.leak(Allowed { own: DIRECTOR, sender: None, results: ANSWER | words }))?;
        let pc = frame.after(7);
        equal("not gone on", Cell(0).get(), 0)?;
        let mut frame = call(DIRECTOR, Syscall::Send, reply.0, info(0, 1), CPtr::NULL);
        frame.set(7, pc + 4).run(Routine::Trap);
        none("answering", frame.leak(Allowed { own: DIRECTOR, sender: None, results: ANSWER }))?;
        equal("gone on", Cell(0).get(), 1)?;
        none_by_assistants("the thread that faulted")?;
    }
    Ok(())
}
