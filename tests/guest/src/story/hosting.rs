//! Hosting: a program's calls, its registers, its faults, and the way back (C-20 to C-29, CASES 20 to 21c).

use runtime::registers::{A0, PC};

use super::stories;
use crate::kit::failure::{Outcome, equal};
use crate::kit::hosting::code::report;
use crate::kit::hosting::house::{CODE, DATA, House, How, PID, call};
use crate::kit::hosting::program::Program;
use crate::kit::stage::Stage;

stories! {
    a_program_calls_its_host,
    every_number_reaches_the_host,
    a_call_keeps_what_linux_keeps,
}

/// `$a7`.
const A7: usize = 11;
/// Temporaries, which a call loses.
const TEMPORARIES: core::ops::RangeInclusive<usize> = 12..=20;
/// `$s8`.
const S8: usize = 31;

fn a_program_calls_its_host(stage: &mut Stage) -> Outcome {
    let house = House::start(stage, 10)?;
    let place = house.program(stage, 1, Program::Calls)?;
    house.register(1, A7).set(5);
    equal("the call", house.run(How::Full, Some(1))?, (report::CALL, 5))?;
    equal("its pc", house.register(1, PC).get(), CODE + 4)?;
    equal("its $a0", house.register(1, A0).get(), DATA)?;
    house.register(1, A0).set(77);
    equal("the next", house.run(How::Minimal, None)?, (report::CALL, 403))?;
    equal("its pc", house.register(1, PC).get(), CODE + 12)?;
    equal("its $a0 is the result", house.register(1, A0).get(), 77)?;
    equal("the space", place.context, 1)
}

fn every_number_reaches_the_host(stage: &mut Stage) -> Outcome {
    let house = House::start(stage, 10)?;
    house.program(stage, 1, Program::Calls)?;
    let mut how = (How::Full, Some(1));
    for number in (0..4096).chain([1 << 32, 1 << 63, u64::MAX]) {
        if [call::LEAF, call::COMPILED, call::FULL, call::YIELD].contains(&number) {
            continue;
        }
        house.register(1, A7).set(number);
        house.register(1, PC).set(CODE);
        equal("the number", house.run(how.0, how.1)?, (report::CALL, number))?;
        how = (How::Full, None);
    }
    Ok(())
}

fn a_call_keeps_what_linux_keeps(stage: &mut Stage) -> Outcome {
    let house = House::start(stage, 10)?;
    let place = house.program(stage, 1, Program::AllRegisters)?;
    let mut next = (How::Full, Some(1));
    for number in [call::LEAF, call::COMPILED, call::FULL, 5, 600] {
        for register in 1..32 {
            place.data.plus(8 * register).set(0x1111_0000_0000_0000 * 7 + register as u64);
        }
        place.data.plus(8 * A7).set(number);
        house.register(1, PC).set(CODE);
        house.register(1, A0).set(DATA);
        let mut heard = house.run(next.0, next.1)?;
        if heard == (report::CALL, number) {
            house.register(1, A0).set(PID);
            heard = house.run(How::Minimal, None)?;
        }
        equal("the end", heard, (report::CALL, 401))?;
        for register in 1..32 {
            let (before, after) =
                (place.data.plus(8 * register).get(), place.data.plus(256 + 8 * register).get());
            let wanted = match register {
                A0 => PID,
                S8 => DATA,
                // Lost, but to nobody else's values: a leaf leaves alone what it does not use.
                number if TEMPORARIES.contains(&number) && after != before => 0,
                _ => before,
            };
            equal("a register after the call", (number, register, after), (number, register, wanted))?;
        }
        next = (How::Full, None);
    }
    Ok(())
}
