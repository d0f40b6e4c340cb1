//! The figures of hosting: what a program's call costs its host and the kernel together, counted between marks
//! that the program sets. Run by `cargo xtask bench hosting`, told by the argument `figures`.
//!
//! Owned here: what is measured under which label. The mechanism alone is counted, with the runtime's own entries
//! and the smallest handlers; what a POSIX server does with them is counted elsewhere.

use core::mem::offset_of;

use abi::context::CONTEXT_BITS;
use abi::control::{Record, Text};
use runtime::host::Block;
use runtime::log::Console;
use runtime::mark::Label;
use runtime::registers::{A0, PC};
use runtime::server::{Server, shut_down};

use crate::kit::failure::{Failure, Outcome, equal};
use crate::kit::hosting::code::{nothing_address, own, report};
use crate::kit::hosting::house::{CODE, CONTEXTS, DATA, House, How, call};
use crate::kit::hosting::program::{Program, YIELDING_CALL};
use crate::kit::stage::Stage;

/// Samples under each label.
const SAMPLES: u64 = 1000;
/// Where no program has a page.
const HOLE: u64 = 0x3_0000_0000;
/// `$s0`, `$s1`, `$s2`.
const S: [usize; 3] = [23, 24, S2];
const S2: usize = 25;

/// A call, and its label: the same handler behind a leaf, the common saver, the full saver, and numbers from one end
/// to the other (C-14).
const CALLS: [(&str, u64); 7] = [
    ("leaf", call::LEAF),
    ("compiled", call::COMPILED),
    ("full", call::FULL),
    ("nr0", 0),
    ("nr511", 511),
    ("nr4095", 4095),
    ("nr2^63", 1 << 63),
];

/// The guest's main function when it measures.
pub(crate) fn measure(server: Server) -> u8 {
    let Some(mut console) = server.console() else { shut_down(2) };
    let measured = match Stage::build(server) {
        Ok(mut stage) => measure_all(&mut stage, &mut console),
        Err(refusal) => Err(refusal.into()),
    };
    let status = match measured {
        Ok(()) => 0,
        Err(Failure::Skipped(reason)) => {
            console.log(format_args!("figures: {reason}"));
            1
        }
        Err(Failure::Failed { reason }) => {
            console.log(format_args!("figures: {}", reason.as_str()));
            1
        }
    };
    console.flush();
    shut_down(status)
}

fn record(console: &mut Console, label: &str) {
    console.record(&Record::Bench { name: Text::new(label), n: SAMPLES });
}

fn measure_all(stage: &mut Stage, console: &mut Console) -> Outcome {
    let house = House::start(stage, 10)?;
    house.program(stage, 1, Program::Measured)?;
    for number in [0, 511] {
        house.set_compiled(number);
    }
    house.block_word(offset_of!(Block, unknown)).set(nothing_address());
    let mut switch = Some(1);
    for (label, number) in CALLS {
        begin(&house, 1, label, number);
        equal(label, house.run(How::Full, switch.take())?, (report::CALL, 400))?;
        record(console, label);
    }

    house.own(own::SKIP_FAULTS).set(1);
    for (context, program, label) in [(2, Program::Breaking, "fault"), (3, Program::Loading, "page")] {
        house.program(stage, context, program)?;
        begin(&house, context, label, HOLE);
        equal(label, house.run(How::Full, Some(context))?, (report::CALL, 400))?;
        record(console, label);
    }
    house.own(own::SKIP_FAULTS).set(0);

    let [one, other] = [4, 5];
    for context in [one, other] {
        house.program(stage, context, Program::Yielding)?;
        begin(&house, context, "switch", call::YIELD);
    }
    // The other one is in its call, and comes back from it.
    house.register(other, PC).set(CODE + YIELDING_CALL + 4);
    house.own(own::NUMBER).set(one);
    house.own(own::OTHER_NUMBER).set(other);
    house.own(own::OTHER_CONTEXT).set(CONTEXTS + (other << CONTEXT_BITS));
    // One begins, so the other has a mark to stop before its first of its own.
    house.register(other, S2).set(SAMPLES / 2 + 1);
    equal("switch", house.run(How::Full, Some(one))?, (report::CALL, 400))?;
    record(console, "switch");
    Ok(())
}

fn begin(house: &House, context: u64, label: &str, number: u64) {
    let [s0, s1, s2] = S;
    let samples = if label == "switch" { SAMPLES / 2 } else { SAMPLES };
    for (register, value) in
        [(PC, CODE), (A0, DATA), (s0, number), (s1, Label::new(label).raw()), (s2, samples)]
    {
        house.register(context, register).set(value);
    }
}
