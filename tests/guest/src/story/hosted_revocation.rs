//! What a host stands on is revoked under it, whatever it is doing; its memory is used again, and nobody writes
//! there (C-28).
//!
//! Each round does every pair of an object and a state; the argument `rounds=N` says how often. The memory is
//! "checked by key": filled with a pattern that is looked for again after everything has had time to run.

use abi::fault::{Fault, host_part};
use abi::{CPtr, ObjectType, PAGE_BYTES};
use core::mem::offset_of;
use runtime::memory::{DEPTH, retype};
use runtime::registers::{A0, PC};
use runtime::space::{Access, map};
use runtime::stubs::{Frame, Notification, SchedContext};
use runtime::thread::make_time;

use super::stories;
use crate::kit::assistant::PLENTY;
use crate::kit::failure::{Failure, Outcome, equal, holds};
use crate::kit::hosting::code::{SPIN_CELL, SPIN_COUNT, order, report};
use crate::kit::hosting::house::{CODE, DATA, House, How};
use crate::kit::hosting::nap::Nap;
use crate::kit::hosting::program::Program;
use crate::kit::stage::{CNODE, HERE, SCHED_CONTROL, Stage};
use crate::kit::word::Word;

stories! {
    a_hosts_contexts_are_revoked,
    a_programs_space_is_revoked,
    a_host_is_revoked,
    a_hosts_thread_is_revoked,
    a_hosts_time_is_revoked,
    an_upper_half_is_revoked,
}

/// Rounds where nobody says how many.
const ROUNDS: u64 = 20;
/// `$s0`.
const S0: usize = 23;
/// Where the reused memory is mapped.
const KEY: u64 = 0x3_5000_0000;

/// What is revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Contexts,
    Space,
    Host,
    Thread,
    Time,
    Upper,
}

/// What the host is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    HostRuns,
    ProgramRuns,
    VectorsLive,
    StoppedInProgram,
    Waits,
}

const STATES: [State; 5] =
    [State::HostRuns, State::ProgramRuns, State::VectorsLive, State::StoppedInProgram, State::Waits];

fn a_hosts_contexts_are_revoked(stage: &mut Stage) -> Outcome {
    campaign(stage, What::Contexts)
}
fn a_programs_space_is_revoked(stage: &mut Stage) -> Outcome {
    campaign(stage, What::Space)
}
fn a_host_is_revoked(stage: &mut Stage) -> Outcome {
    campaign(stage, What::Host)
}
fn a_hosts_thread_is_revoked(stage: &mut Stage) -> Outcome {
    campaign(stage, What::Thread)
}
fn a_hosts_time_is_revoked(stage: &mut Stage) -> Outcome {
    campaign(stage, What::Time)
}
fn an_upper_half_is_revoked(stage: &mut Stage) -> Outcome {
    campaign(stage, What::Upper)
}

fn campaign(stage: &mut Stage, what: What) -> Outcome {
    let argument = stage.server.arguments().find_map(|argument| argument.strip_prefix("rounds="));
    let rounds = argument.and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    let mut inner = stage.inner(22, 800)?;
    for round in 0..rounds {
        for state in STATES {
            SPIN_CELL.set(0);
            let told = Scene::set(&mut inner, state).and_then(|scene| scene.play(&mut inner, what, round));
            inner.sweep()?;
            if let Err(Failure::Failed { reason }) = told {
                return Err(Failure::new(format_args!("{state:?}, {round}: {reason}")));
            }
        }
    }
    Ok(())
}

/// A host in a state.
struct Scene {
    state: State,
    house: House,
    nap: Nap,
    /// What a waiting host waits for.
    bell: Notification,
}

impl Scene {
    fn set(stage: &mut Stage, state: State) -> Result<Self, Failure> {
        let house = House::start(stage, -10)?;
        let (nap, bell) = (Nap::new(stage)?, stage.notification()?);
        let program = if state == State::VectorsLive { Program::Lasx } else { Program::Spin };
        let place = house.program(stage, 1, program)?;
        for word in 0..128 {
            place.data.plus(8 * word).set(0x1357_9bdf_0000_0000 + word as u64);
        }
        equal("switched", house.order(order::SWITCH, 1, 0)?, 0)?;
        let scene = Self { state, house, nap, bell };
        match state {
            State::HostRuns => {
                let before = SPIN_COUNT.get();
                scene.house.say(order::SPIN, 0, 0)?;
                nap.until("it spins", || SPIN_COUNT.get() != before)?;
            }
            State::Waits => {
                scene.house.say(order::WAIT, bell.0.0, 0)?;
                nap.take()?;
            }
            _ => {
                scene.house.go(How::Full, Some(1))?;
                nap.until("it runs", || scene.progress() != 0)?;
            }
        }
        if state == State::StoppedInProgram {
            scene.house.tcb.suspend()?;
        }
        Ok(scene)
    }

    /// A number that grows while the host or its program runs.
    fn progress(&self) -> u64 {
        match self.state {
            State::HostRuns => SPIN_COUNT.get(),
            State::Waits => 0,
            _ => self.house.register(1, S0).get(),
        }
    }

    /// Lets a host that stands still go on.
    fn wake(&self) -> Outcome {
        match self.state {
            State::StoppedInProgram => self.house.tcb.resume()?,
            State::Waits => self.bell.signal()?,
            _ => {}
        }
        Ok(())
    }

    fn play(&self, stage: &mut Stage, what: What, round: u64) -> Outcome {
        let untyped = match what {
            What::Contexts => self.house.made.contexts,
            What::Space => self.house.made.space.get(),
            What::Host => self.house.made.host,
            What::Thread => self.house.made.tcb,
            What::Time => self.house.made.time,
            What::Upper => self.house.made.upper,
        };
        // What the director itself has mapped of the contexts goes with them.
        CNODE.revoke(untyped.0.0, DEPTH)?;
        let key = reuse(stage, untyped.0, untyped.1, round)?;
        match what {
            What::Contexts => self.lost(stage, host_part::CONTEXTS)?,
            What::Host => self.lost(stage, host_part::HOST)?,
            What::Upper => self.lost(stage, host_part::UPPER_HALF)?,
            What::Space => self.program_faults()?,
            What::Thread => self.stands_still()?,
            What::Time => self.goes_on_with_new_time(stage)?,
        }
        self.nap.take()?;
        key.check()
    }

    /// The host stops with a named fault, and again when its handler lets it go on.
    fn lost(&self, stage: &mut Stage, part: u64) -> Outcome {
        let reply = stage.reply()?;
        self.wake()?;
        for _ in 0..2 {
            let heard = self.house.fault(reply)?;
            equal("what is told", (heard.kind, heard.address), (Some(Fault::HostLost), part))?;
            let in_program = !matches!(self.state, State::HostRuns | State::Waits);
            equal("its pc", heard.pc == 0, in_program)?;
            reply.send(runtime::message::info(0, 0), runtime::trap::NO_WORDS)?;
        }
        let heard = self.house.fault(reply)?;
        equal("again", heard.kind, Some(Fault::HostLost))
    }

    /// The program faults at its next instruction, and the host hears of it.
    fn program_faults(&self) -> Outcome {
        self.wake()?;
        if matches!(self.state, State::HostRuns | State::Waits) {
            SPIN_CELL.set(1);
            equal("the host goes on", self.house.hear()?.0, report::DONE)?;
            self.house.register(1, PC).set(CODE);
            self.house.register(1, A0).set(DATA);
            self.house.go(How::Full, None)?;
        }
        equal("a fault", self.house.hear()?, (report::FAULT, 0))?;
        let word = |offset| self.house.word(1, offset).get();
        let code = word(offset_of!(abi::context::Context, cause)) >> 16 & 0x3f;
        let pc = self.house.register(1, PC).get();
        equal("the fetch", (code, word(offset_of!(abi::context::Context, fault_address))), (3, pc))?;
        holds("in its code", (CODE..CODE + PAGE_BYTES).contains(&pc))?;
        let refused = self.house.order(order::SWITCH, 1, 0)?;
        equal("no space", refused, abi::Error::InvalidState as u64)
    }

    fn stands_still(&self) -> Outcome {
        self.nap.take()?;
        let before = self.progress();
        self.nap.take()?;
        equal("nothing runs", self.progress(), before)
    }

    fn goes_on_with_new_time(&self, stage: &mut Stage) -> Outcome {
        self.stands_still()?;
        let time: SchedContext = make_time(&mut stage.memory, SCHED_CONTROL, PLENTY)?;
        self.wake()?;
        let before = self.progress();
        time.bind(self.house.tcb)?;
        match self.state {
            State::Waits => equal("it wakes", self.house.hear()?.0, report::DONE),
            State::HostRuns => {
                self.nap.until("it goes on", || self.progress() != before)?;
                SPIN_CELL.set(1);
                equal("it stops", self.house.hear()?, (report::DONE, 0))
            }
            _ => {
                self.nap.until("it goes on", || self.progress() != before)?;
                self.house.tcb.bind_notification(self.bell)?;
                self.bell.signal()?;
                equal("with its registers", self.house.hear()?, (report::INTERRUPTED, 0))
            }
        }
    }
}

/// Memory with a pattern in it.
struct Key {
    words: u64,
    pattern: u64,
}

/// Makes a frame of the memory that was an object's, and fills it.
fn reuse(stage: &mut Stage, untyped: CPtr, size_bits: u8, round: u64) -> Result<Key, Failure> {
    let slot = stage.memory.slots.take()?;
    retype(CNODE, untyped, ObjectType::Frame, size_bits, slot, 1)?;
    map(&mut stage.memory, HERE, Frame(slot), KEY, Access::ReadWrite)?;
    let key = Key { words: (1 << size_bits) / 8, pattern: 0x6b65_7900_0000_0000 | round };
    for word in 0..key.words {
        let at = Word::at(KEY + 8 * word);
        equal("clear", at.get(), 0)?;
        at.set(key.pattern ^ word << 40);
    }
    Ok(key)
}

impl Key {
    fn check(&self) -> Outcome {
        for word in 0..self.words {
            equal("the key", (word, Word::at(KEY + 8 * word).get()), (word, self.pattern ^ word << 40))?;
        }
        Ok(())
    }
}
