//! Interrupts while a program runs: preemption, which the host does not see, and kicks, which it does (C-27, C-28).

use runtime::registers::{A0, PC};
use runtime::stubs::Notification;

use super::stories;
use crate::kit::assistant::Role;
use crate::kit::failure::{Outcome, equal, holds, refused};
use crate::kit::hosting::code::{SPIN_CELL, SPIN_COUNT, order, report};
use crate::kit::hosting::house::{CODE, DATA, House, How};
use crate::kit::hosting::nap::Nap;
use crate::kit::hosting::program::Program;
use crate::kit::shared::rest;
use crate::kit::stage::{HERE, NOTHING, Stage};

stories! {
    preemption_keeps_a_programs_registers,
    a_kick_brings_a_program_back,
    a_kick_outside_is_remembered,
    a_kick_stops_enter,
    registers_of_a_running_program_are_not_the_threads,
    a_host_that_is_preempted_goes_on,
    two_hosts_share_a_core,
}

/// `$s0`.
const S0: usize = 23;

/// Fills the registers of a context that a spinning program leaves alone.
fn fill(house: &House, context: u64, key: u64) {
    for register in (1..32).filter(|register| *register != S0) {
        house.register(context, register).set(key + register as u64);
    }
    house.register(context, S0).set(0);
    house.register(context, PC).set(CODE);
}

fn check(house: &House, context: u64, key: u64) -> Outcome {
    for register in (1..32).filter(|register| *register != S0) {
        let seen = house.register(context, register).get();
        equal("a register", (register, seen), (register, key + register as u64))?;
    }
    let pc = house.register(context, PC).get();
    holds("its pc", [CODE, CODE + 4].contains(&pc))
}

/// Dirties every register that it can, for ever, in a time of its own.
extern "C" fn disturb(_: u64, _: u64, _: u64, _: u64) -> ! {
    loop {
        crate::kit::frame::Frame::poisoned(9).run(crate::kit::frame::Routine::Trap);
        runtime::stubs::yield_now();
    }
}

fn preemption_keeps_a_programs_registers(stage: &mut Stage) -> Outcome {
    let house = House::start(stage, -10)?;
    let nap = Nap::new(stage)?;
    let kick = stage.notification()?;
    house.tcb.bind_notification(kick)?;
    house.program(stage, 1, Program::Spin)?;
    let time = runtime::thread::Time { budget_ns: 200_000, period_ns: 700_000 };
    let disturber = stage.start(Role::ABOVE.with_time(time).with_handler(NOTHING), disturb, [0; 4])?;
    let told = disturbed(&house, nap, kick);
    disturber.tcb.suspend()?;
    told
}

fn disturbed(house: &House, nap: Nap, kick: Notification) -> Outcome {
    let mut switch = Some(1);
    for round in 1..40 {
        fill(house, 1, round << 32);
        house.go(How::Full, switch.take())?;
        nap.until("it runs", || house.register(1, S0).get() > 0)?;
        kick.signal()?;
        equal("kicked", house.hear()?, (report::INTERRUPTED, 0))?;
        check(house, 1, round << 32)?;
        equal("the kick is taken", house.order(order::POLL, kick.0.0, 0)?, 0)?;
    }
    Ok(())
}

fn a_kick_brings_a_program_back(stage: &mut Stage) -> Outcome {
    let house = House::start(stage, -10)?;
    let nap = Nap::new(stage)?;
    let kick = stage.notification()?;
    house.tcb.bind_notification(kick)?;
    let badged = runtime::stubs::Notification(stage.memory.mint(kick.0, abi::Rights::ALL, 6)?);
    house.program(stage, 1, Program::Spin)?;
    fill(&house, 1, 1 << 40);
    house.go(How::Full, Some(1))?;
    let mut ran = 0;
    for _ in 0..20 {
        nap.until("it runs", || house.register(1, S0).get() > ran)?;
        badged.signal()?;
        badged.signal()?;
        equal("kicked", house.hear()?, (report::INTERRUPTED, 0))?;
        ran = house.register(1, S0).get();
        // Until the signal is taken the program does not run.
        equal("still kicked", house.run(How::Full, None)?, (report::INTERRUPTED, 0))?;
        equal("it did not run", house.register(1, S0).get(), ran)?;
        equal("both in one", house.order(order::POLL, kick.0.0, 0)?, 6)?;
        house.go(How::Full, None)?;
    }
    Ok(())
}

fn a_kick_outside_is_remembered(stage: &mut Stage) -> Outcome {
    let house = House::start(stage, -10)?;
    let kick = stage.notification()?;
    house.tcb.bind_notification(kick)?;
    house.program(stage, 1, Program::Spin)?;
    fill(&house, 1, 1 << 41);
    house.order(order::SWITCH, 1, 0)?;
    kick.signal()?;
    equal("at once", house.run(How::Full, Some(1))?, (report::INTERRUPTED, 0))?;
    equal("it did not run", house.register(1, S0).get(), 0)?;
    check(&house, 1, 1 << 41)?;
    house.tcb.unbind_notification()?;
    let nap = Nap::new(stage)?;
    house.go(How::Full, None)?;
    nap.until("it runs", || house.register(1, S0).get() > 0)?;
    house.tcb.bind_notification(kick)?;
    equal("bound while active", house.hear()?, (report::INTERRUPTED, 0))
}

fn a_kick_stops_enter(stage: &mut Stage) -> Outcome {
    let house = House::start(stage, -10)?;
    let kick = stage.notification()?;
    house.tcb.bind_notification(kick)?;
    house.program(stage, 1, Program::Calls)?;
    house.register(1, 11).set(5);
    equal("a call", house.run(How::Full, Some(1))?, (report::CALL, 5))?;
    for register in 12..32 {
        house.register(1, register).set(0x7700 + register as u64);
    }
    kick.signal()?;
    house.register(1, A0).set(99);
    // As if the interrupt had come at the first instruction behind the call.
    equal("stopped", house.run(How::Minimal, None)?, (report::INTERRUPTED, 0))?;
    equal("its pc", house.register(1, PC).get(), CODE + 8)?;
    equal("its result", house.register(1, A0).get(), 99)?;
    for register in 12..32 {
        let wanted = if register <= 20 { 0 } else { 0x7700 + register as u64 };
        equal("a register", (register, house.register(1, register).get()), (register, wanted))?;
    }
    house.order(order::POLL, kick.0.0, 0)?;
    equal("it goes on", house.run(How::Full, None)?, (report::CALL, 403))
}

fn registers_of_a_running_program_are_not_the_threads(stage: &mut Stage) -> Outcome {
    let house = House::start(stage, -10)?;
    let nap = Nap::new(stage)?;
    house.program(stage, 1, Program::Spin)?;
    house.tcb.read_registers().map(drop)?;
    house.go(How::Full, Some(1))?;
    nap.until("it runs", || house.register(1, S0).get() > 0)?;
    refused("reading", house.tcb.read_registers(), abi::Error::InvalidState)?;
    let nothing = [0; 32];
    let written = house.tcb.write_registers(runtime::registers::Resume::Leave, &nothing);
    refused("writing", written, abi::Error::InvalidState)?;
    // Suspended and resumed it goes on where it was.
    house.tcb.suspend()?;
    nap.take()?;
    let ran = house.register(1, S0).get();
    nap.take()?;
    equal("suspended", house.register(1, S0).get(), ran)?;
    house.tcb.resume()?;
    nap.until("it goes on", || house.register(1, S0).get() > ran)?;
    let kick = stage.notification()?;
    house.tcb.bind_notification(kick)?;
    kick.signal()?;
    equal("kicked", house.hear()?, (report::INTERRUPTED, 0))?;
    equal("its data", house.register(1, A0).get(), DATA)
}

fn a_host_that_is_preempted_goes_on(stage: &mut Stage) -> Outcome {
    let house = House::start(stage, -10)?;
    let nap = Nap::new(stage)?;
    let time = runtime::thread::Time { budget_ns: 200_000, period_ns: 700_000 };
    let disturber = stage.start(Role::ABOVE.with_time(time).with_handler(NOTHING), disturb, [0; 4])?;
    house.say(order::SPIN, 0, 0)?;
    let spun = (0..20).try_for_each(|_| {
        let before = SPIN_COUNT.get();
        nap.until("it spins on", || SPIN_COUNT.get() > before)
    });
    disturber.tcb.suspend()?;
    spun?;
    SPIN_CELL.set(1);
    equal("it stops", house.hear()?, (report::DONE, 0))
}

/// Runs in the lower half between two hosts.
extern "C" fn in_between(_: u64, _: u64, _: u64, _: u64) -> ! {
    rest()
}

fn two_hosts_share_a_core(stage: &mut Stage) -> Outcome {
    // Each has an upper half of its own, in which the same addresses lead to other pages.
    let mut other = stage.inner(22, 600)?;
    let one = House::start(stage, -10)?;
    one.program(stage, 1, Program::Spin)?;
    fill(&one, 1, 1 << 42);
    let nap = Nap::new(stage)?;
    let kick = stage.notification()?;
    one.tcb.bind_notification(kick)?;
    one.go(How::Full, Some(1))?;
    nap.take()?;
    one.tcb.suspend()?;
    let two = House::start_elsewhere(&mut other, -10)?;
    two.program(&mut other, 1, Program::Spin)?;
    fill(&two, 1, 1 << 43);
    two.go(How::Full, Some(1))?;
    nap.take()?;
    let kick_two = other.notification()?;
    two.tcb.bind_notification(kick_two)?;
    for _ in 0..10 {
        one.tcb.resume()?;
        nap.take()?;
        stage.start(Role::BELOW.in_space(HERE), in_between, [0; 4])?;
        kick.signal()?;
        equal("the one", one.hear()?, (report::INTERRUPTED, 0))?;
        check(&one, 1, 1 << 42)?;
        equal("its kick", one.order(order::POLL, kick.0.0, 0)?, 0)?;
        fill(&one, 1, 1 << 42);
        one.go(How::Full, None)?;
        nap.until("the one runs", || one.register(1, S0).get() > 0)?;
        one.tcb.suspend()?;
        nap.until("the other runs", || two.register(1, S0).get() > 0)?;
        kick_two.signal()?;
        equal("the other", two.hear()?, (report::INTERRUPTED, 0))?;
        check(&two, 1, 1 << 43)?;
        equal("its kick", two.order(order::POLL, kick_two.0.0, 0)?, 0)?;
        fill(&two, 1, 1 << 43);
        two.go(How::Full, None)?;
    }
    Ok(())
}
