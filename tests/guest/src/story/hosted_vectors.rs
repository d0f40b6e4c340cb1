//! Floating point and vectors of programs: lazy, at the width in use, seen by nobody else (C-30, CASES 15 to 19).

use core::mem::offset_of;

use abi::context::{Context, Width, flag};
use runtime::registers::PC;

use super::stories;
use crate::kit::failure::{Failure, Outcome, equal};
use crate::kit::hosting::code::{order, report};
use crate::kit::hosting::house::{CODE, DATA, House, How, Place};
use crate::kit::hosting::nap::Nap;
use crate::kit::hosting::program::Program;
use crate::kit::stage::{CNODE, Stage};

stories! {
    programs_of_all_widths_see_their_own_registers,
    a_first_look_sees_zeros,
    sync_brings_the_state_to_memory,
    memory_counts_when_the_host_says_so,
    raised_causes_are_not_loaded,
    the_unit_is_the_current_contexts_in_its_host_too,
    a_units_owner_may_go,
}

/// `$s0`.
const S0: usize = 23;
/// Where FCSR0 lies in a vector program's data.
const FCSR: usize = 1024;

/// Fills a vector program's data with a pattern.
fn fill(place: Place, key: u64) {
    for register in 0..32 {
        for lane in 0..4 {
            place.data.plus(32 * register + 8 * lane).set(pattern(key, register, lane));
        }
    }
    // Rounding towards zero, and a flag: nothing is raised by it.
    place.data.plus(FCSR).set(0x1_0100 | key & 0xf);
}

fn pattern(key: u64, register: usize, lane: usize) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ ((register as u64) << 8 | lane as u64) << 40
}

fn vector(house: &House, context: u64, register: usize, lane: usize) -> u64 {
    house.word(context, offset_of!(Context, vector) + 32 * register + 8 * lane).get()
}

fn width(house: &House, context: u64) -> u64 {
    house.word(context, offset_of!(Context, width)).get()
}

fn live(house: &House, context: u64) -> u64 {
    house.word(context, offset_of!(Context, vector_live)).get()
}

const PROGRAMS: [(Program, Width); 4] = [
    (Program::Fp, Width::Fp),
    (Program::Lsx, Width::Lsx),
    (Program::Lasx, Width::Lasx),
    (Program::Spin, Width::None),
];

/// A host with a kick and four programs, one a width.
fn four(stage: &mut Stage) -> Result<(House, runtime::stubs::Notification, Nap), Failure> {
    let house = House::start(stage, -10)?;
    let kick = stage.notification()?;
    house.tcb.bind_notification(kick)?;
    for (context, (program, _)) in (1..).zip(PROGRAMS) {
        let place = house.program(stage, context, program)?;
        fill(place, context);
    }
    let nap = Nap::new(stage)?;
    Ok((house, kick, nap))
}

/// Lets a context run for a nap; it must not speak but because it was kicked.
fn run(house: &House, kick: runtime::stubs::Notification, nap: Nap, context: u64) -> Outcome {
    let before = house.register(context, S0).get();
    house.go(How::Full, Some(context))?;
    nap.until("it runs", || house.register(context, S0).get() != before)?;
    kick.signal()?;
    equal("context", (context, house.hear()?), (context, (report::INTERRUPTED, 0)))?;
    equal("the kick is taken", house.order(order::POLL, kick.0.0, 0)?, 0)
}

fn programs_of_all_widths_see_their_own_registers(stage: &mut Stage) -> Outcome {
    let (house, kick, nap) = four(stage)?;
    for round in 0..30 {
        for turn in 0..4 {
            let context = (turn * (1 + round % 3) + round) % 4 + 1;
            run(&house, kick, nap, context)?;
        }
    }
    for (context, (_, used)) in (1..).zip(PROGRAMS) {
        equal("its width", width(&house, context), used as u64)?;
    }
    Ok(())
}

fn a_first_look_sees_zeros(stage: &mut Stage) -> Outcome {
    let (house, kick, nap) = four(stage)?;
    let place = house.program(stage, 5, Program::FirstLasx)?;
    for context in 1..=4 {
        run(&house, kick, nap, context)?;
        // A new program in an old context: the host says that there is nothing yet.
        fill(place, 0x77);
        place.data.plus(1032).set(1);
        house.word(5, offset_of!(Context, width)).set(Width::None as u64);
        house.register(5, PC).set(CODE);
        house.register(5, runtime::registers::A0).set(DATA);
        equal("it looks", house.run(How::FullWithVectors, Some(5))?, (report::CALL, 405))?;
        for word in 0..128 + 2 {
            equal("a word", (word, place.data.plus(8 * word).get()), (word, 0))?;
        }
    }
    Ok(())
}

fn sync_brings_the_state_to_memory(stage: &mut Stage) -> Outcome {
    let (house, kick, nap) = four(stage)?;
    for (context, (_, used)) in (1..).zip(PROGRAMS).take(3) {
        run(&house, kick, nap, context)?;
        equal("live", live(&house, context), 1)?;
        // A program that uses no vectors does not change that.
        run(&house, kick, nap, 4)?;
        equal("live still", live(&house, context), 1)?;
        equal("synchronised", house.order(order::SYNC, context, 0)?, 0)?;
        equal("not live", live(&house, context), 0)?;
        for register in 0..32 {
            for lane in 0..used.lanes() {
                let seen = vector(&house, context, register, lane);
                equal("a lane", (register, lane, seen), (register, lane, pattern(context, register, lane)))?;
            }
        }
        if used == Width::Fp {
            equal("fcsr", house.word(context, offset_of!(Context, fcsr)).get(), 0x1_0100 | 1)?;
            equal("fcc", house.word(context, offset_of!(Context, fcc)).get(), 1 << 40)?;
        }
        run(&house, kick, nap, context)?;
    }
    Ok(())
}

fn memory_counts_when_the_host_says_so(stage: &mut Stage) -> Outcome {
    let (house, kick, nap) = four(stage)?;
    for context in 1..=3 {
        run(&house, kick, nap, context)?;
        let at = offset_of!(Context, vector) + 32 * 7;
        house.order(order::SYNC, context, 0)?;
        let right = house.word(context, at).get();
        run(&house, kick, nap, context)?;
        // Written while the unit has newer: it is not looked at.
        house.word(context, at).set(!right);
        run(&house, kick, nap, context)?;
        // Written, and said so: the program finds an odd register.
        house.order(order::SYNC, context, 0)?;
        house.word(context, at).set(!right);
        let heard = house.run(How::FullWithVectors, Some(context))?;
        equal("an odd register", heard, (report::CALL, 404))?;
    }
    Ok(())
}

fn raised_causes_are_not_loaded(stage: &mut Stage) -> Outcome {
    let (house, kick, nap) = four(stage)?;
    run(&house, kick, nap, 1)?;
    house.order(order::SYNC, 1, 0)?;
    // Every cause with its enable, TM, and bits that are none.
    house.word(1, offset_of!(Context, fcsr)).set(u64::MAX);
    house.word(1, offset_of!(Context, flags)).set(0);
    let heard = house.run(How::FullWithVectors, Some(1))?;
    equal("the program sees another fcsr", heard, (report::CALL, 404))?;
    equal("reported", house.word(1, offset_of!(Context, flags)).get(), flag::FCSR_CAUSE)?;
    house.order(order::SYNC, 1, 0)?;
    equal("what was loaded", house.word(1, offset_of!(Context, fcsr)).get(), 0x001f_031f)
}

fn the_unit_is_the_current_contexts_in_its_host_too(stage: &mut Stage) -> Outcome {
    let (house, kick, nap) = four(stage)?;
    run(&house, kick, nap, 1)?;
    run(&house, kick, nap, 3)?;
    for context in [1, 3, 2, 1] {
        equal("switched", house.order(order::SWITCH, context, 0)?, 0)?;
        // Into the program's own memory, as a signal frame is written.
        equal("stored", house.order(order::STORE_FP, DATA + 2048, 0)?, 0)?;
        equal("loaded", house.order(order::COPY, crate::kit::hosting::house::BUFFER + 16, DATA + 2048)?, 0)?;
        let seen = house.buffer_word(16).get();
        let wanted = if context == 2 { 0 } else { pattern(context, 0, 0) };
        equal("$f0", (context, seen), (context, wanted))?;
    }
    Ok(())
}

fn a_units_owner_may_go(stage: &mut Stage) -> Outcome {
    let mut inner = stage.inner(22, 700)?;
    for round in 0..20 {
        let (house, kick, nap) = four(&mut inner)?;
        run(&house, kick, nap, 3)?;
        match round % 4 {
            0 => CNODE.revoke(house.contexts.0.0, runtime::memory::DEPTH)?,
            1 => CNODE.delete(house.tcb.0.0, runtime::memory::DEPTH)?,
            2 => CNODE.revoke(house.host.0.0, runtime::memory::DEPTH)?,
            _ => {}
        }
        inner.sweep()?;
    }
    let (house, kick, nap) = four(stage)?;
    (1..=4).try_for_each(|context| run(&house, kick, nap, context))
}
