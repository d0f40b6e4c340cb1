//! Hostile programs: random words executed with random registers. The host hears of each end, and lives (C-21,
//! CASES 21).
//!
//! What QEMU itself does wrong is left out (loongarch notes §2.8): a fetch from the host's half, where it loops,
//! and `vldi` with an immediate that does not exist, where it aborts. The seed is in the log; `rounds=N` says how
//! many programs.

use runtime::registers::PC;
use runtime::stubs::Notification;

use super::stories;
use crate::kit::failure::{Failure, Outcome, equal};
use crate::kit::hosting::code::{order, report};
use crate::kit::hosting::house::{BUFFER, CODE, CONTEXTS, DATA, House, How, Place};
use crate::kit::hosting::nap::Nap;
use crate::kit::hosting::program::Program;
use crate::kit::stage::Stage;

stories! {
    random_words_are_executed,
}

/// Programs where nobody says how many.
const ROUNDS: u64 = 200;
/// Ends that one program may come to.
const ENDS: u64 = 12;
/// Words of the program that are random.
const WORDS: usize = 512;
const SEED: u64 = 0x6269_7869_0000_0001;

/// Numbers that look random (Marsaglia's xorshift), the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A word that QEMU can execute.
    fn instruction(&mut self) -> u64 {
        loop {
            let word = self.next() >> 32;
            // vldi and xvldi; jirl, which could go to the host's half with bits of a random register; ll and sc,
            // whose misaligned addresses QEMU takes.
            let loads_immediate = [0x73e0_0000 >> 18, 0x77e0_0000 >> 18].contains(&(word >> 18));
            let jumps = word >> 26 == 0x13;
            let links = word >> 26 == 0x08;
            if !(loads_immediate || jumps || links) {
                return word;
            }
        }
    }

    /// A value that somebody might try.
    fn register(&mut self) -> u64 {
        let bits = self.next();
        match bits % 8 {
            0 => 0,
            1 => DATA + (bits >> 8 & 0x3fff),
            2 => CODE + (bits >> 8 & 0x3fff),
            3 => BUFFER + (bits >> 8 & 0x3ff8),
            4 => CONTEXTS + (bits >> 8 & 0x3ff8),
            5 => 0x9000_0000_0020_0000 + (bits >> 8 & 0xfff8),
            6 => u64::MAX - (bits >> 8 & 0xff),
            _ => bits,
        }
    }
}

fn random_words_are_executed(stage: &mut Stage) -> Outcome {
    let argument = stage.server.arguments().find_map(|argument| argument.strip_prefix("rounds="));
    let rounds = argument.and_then(|text| text.parse::<u64>().ok()).map_or(ROUNDS, |rounds| rounds * 10);
    let house = House::start(stage, -10)?;
    let kick = stage.notification()?;
    house.tcb.bind_notification(kick)?;
    let nap = Nap::new(stage)?;
    let place = house.program(stage, 1, Program::Instruction)?;
    house.order(order::SWITCH, 1, 0)?;
    let mut random = Random(SEED);
    for round in 0..rounds {
        let told = execute(&house, place, &mut random, kick, nap);
        if let Err(Failure::Failed { reason }) = told {
            return Err(Failure::new(format_args!("round {round} of seed {SEED:#x}: {reason}")));
        }
    }
    // An honest program runs as ever.
    for (at, word) in (0..).step_by(8).zip([0x0386_4c0b_0340_0000_u64, 0x03c6_480b_002b_0000]) {
        place.code.plus(at).set(word);
    }
    runtime::trap::instruction_barrier();
    house.register(1, PC).set(CODE);
    equal("an honest program", house.run(How::Full, None)?.0, report::CALL)
}

fn execute(house: &House, place: Place, random: &mut Random, kick: Notification, nap: Nap) -> Outcome {
    for word in 0..WORDS / 2 {
        place.code.plus(8 * word).set(random.instruction() | random.instruction() << 32);
    }
    runtime::trap::instruction_barrier();
    for register in 1..32 {
        house.register(1, register).set(random.register());
    }
    house.register(1, PC).set(CODE);
    for _ in 0..ENDS {
        house.go(How::Full, None)?;
        // Whatever it does, it is brought back.
        nap.take()?;
        kick.signal()?;
        let (reason, _) = house.hear()?;
        let pc = house.register(1, PC).get();
        match reason {
            report::FAULT | report::CALL | report::INTERRUPTED => {}
            other => return Err(Failure::new(format_args!("the host says {other}"))),
        }
        house.order(order::POLL, kick.0.0, 0)?;
        // Behind what stopped it, as long as it is in its code.
        let next = pc.wrapping_add(4);
        if !(CODE..CODE + 4 * WORDS as u64).contains(&next) {
            return Ok(());
        }
        house.register(1, PC).set(next);
    }
    Ok(())
}
