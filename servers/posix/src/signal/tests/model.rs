//! The state machine of signals against a model: masks, pending sets, nested handlers and returns of two threads.
//!
//! The model knows nothing of frames, queues or registers: a thread is a mask, a set, and a pile of the handlers
//! that it is in, each with the mask to come back to. Every order of a few operations is tried, and long random
//! ones. [`planted`] has the mistakes that this must find.

mod planted;

use super::*;
use crate::process::{Signal, Thread};
use core::fmt::Debug;
use proptest::prelude::*;
use std::format;
use std::string::String;
use std::vec::Vec;

/// What is done, by the thread that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// It sends itself a signal.
    SendSelf(usize),
    /// It sends the other thread one.
    SendOther(usize),
    /// It sends the process one.
    SendProcess(usize),
    /// It sets its mask to this set.
    Mask(usize),
    /// It gives the signal that is handled once its handler again.
    Arm,
    /// Its handler returns, if it is in one.
    Return,
    /// The other thread has its turn.
    Switch,
}

/// Three standard signals and a realtime one.
const SIGNALS: [u64; 4] = [10, 12, 34, ONCE];
/// SIGWINCH: nothing once its action is the default again.
const ONCE: u64 = 28;
/// 10 holds 12 off, 12 nothing, not even itself, 34 everything, 28 itself.
const MASKS: [u64; 4] = [bit(12), 0, u64::MAX, 0];
const FLAGS: [u64; 4] = [0, NODEFER, 0, RESETHAND];
const NODEFER: u64 = 0x4000_0000;
const RESETHAND: u64 = 0x8000_0000;
const SETS: [u64; 4] = [0, bit(10), bit(12) | bit(34) | bit(ONCE), u64::MAX];
/// What no mask has.
const NEVER: u64 = bit(9) | bit(19);
/// Frames that fit onto a stack of the test.
const DEEPEST: usize = 10;

#[derive(Clone, Debug, Default, PartialEq)]
struct ModelThread {
    mask: u64,
    own: Vec<u64>,
    handlers: Vec<(u64, u64)>,
}

#[derive(Clone, Debug, PartialEq)]
struct Model {
    threads: [ModelThread; 2],
    common: Vec<u64>,
    /// Whether the signal that is handled once has its handler still.
    armed: bool,
    runs: usize,
}

fn add(queue: &mut Vec<u64>, signal: u64) {
    if signal >= 32 || !queue.contains(&signal) {
        queue.push(signal);
    }
}

fn take(queue: &mut Vec<u64>, mask: u64) -> Option<u64> {
    let lowest = queue.iter().copied().filter(|signal| mask & bit(*signal) == 0).min()?;
    let position = queue.iter().position(|signal| *signal == lowest)?;
    Some(queue.remove(position))
}

impl Model {
    /// Whether a stack has no room for more.
    fn is_full(&self) -> bool {
        self.threads.iter().any(|thread| thread.handlers.len() >= DEEPEST)
    }

    fn new() -> Self {
        Self { threads: Default::default(), common: Vec::new(), armed: true, runs: 0 }
    }

    fn apply(&mut self, step: Step) {
        let runs = self.runs;
        let takes = |model: &Self, thread: usize, signal: usize| {
            model.threads[thread].mask & bit(SIGNALS[signal]) == 0
        };
        // What comes to nothing is not even kept, unless whoever is asked first holds it off.
        let lost = |model: &Self, asked: usize, signal: usize| {
            SIGNALS[signal] == ONCE && !model.armed && takes(model, asked, signal)
        };
        let looks = match step {
            Step::SendSelf(signal) if lost(self, runs, signal) => false,
            Step::SendSelf(signal) => {
                add(&mut self.threads[runs].own, SIGNALS[signal]);
                takes(self, runs, signal)
            }
            Step::SendOther(signal) => {
                if !lost(self, 1 - runs, signal) {
                    add(&mut self.threads[1 - runs].own, SIGNALS[signal]);
                }
                false
            }
            Step::SendProcess(signal) if lost(self, 0, signal) => false,
            Step::SendProcess(signal) => {
                add(&mut self.common, SIGNALS[signal]);
                // The first thread is asked first, and another looks only if it is the one that takes it.
                let taker = [0, 1].into_iter().find(|thread| takes(self, *thread, signal));
                taker == Some(runs)
            }
            Step::Mask(set) => {
                self.threads[runs].mask = SETS[set] & !NEVER;
                true
            }
            Step::Arm => {
                self.armed = true;
                false
            }
            Step::Return => match self.threads[runs].handlers.pop() {
                Some((_, mask)) => {
                    self.threads[runs].mask = mask;
                    true
                }
                None => false,
            },
            Step::Switch => {
                self.runs = 1 - runs;
                true
            }
        };
        if looks {
            self.deliver();
        }
    }

    /// The thread that runs gets everything that it does not hold off.
    fn deliver(&mut self) {
        let Self { threads, common, armed, runs } = self;
        let thread = &mut threads[*runs];
        while let Some(signal) = take(&mut thread.own, thread.mask).or_else(|| take(common, thread.mask)) {
            if signal == ONCE && !core::mem::take(armed) {
                continue;
            }
            let number = SIGNALS.iter().position(|known| *known == signal).unwrap();
            thread.handlers.push((signal, thread.mask));
            thread.mask |= MASKS[number];
            if FLAGS[number] & NODEFER == 0 {
                thread.mask |= bit(signal);
            }
            thread.mask &= !NEVER;
        }
    }
}

/// The server with a process of two threads, and what the tests remember of each.
struct World {
    driver: Driver,
    contexts: [ContextId; 2],
    runs: usize,
}

impl World {
    fn new() -> Self {
        let mut driver = running();
        for ((signal, mask), flags) in SIGNALS.into_iter().zip(MASKS).zip(FLAGS) {
            driver.handle(signal, flags, mask);
        }
        let first = driver.context().unwrap();
        driver.clone_thread(SCRATCH + 0x6000, SCRATCH);
        driver.give_way();
        let second = driver.context().unwrap();
        driver.give_way();
        assert_eq!(driver.context(), Some(first));
        Self { driver, contexts: [first, second], runs: 0 }
    }

    fn apply(&mut self, step: Step, model: &Model) {
        let tid = |thread: usize| if thread == 0 { 2 } else { 3 };
        let driver = &mut self.driver;
        match step {
            Step::SendSelf(signal) => {
                driver.call(TKILL, [tid(self.runs), SIGNALS[signal], 0, 0, 0, 0]);
            }
            Step::SendOther(signal) => {
                driver.call(TKILL, [tid(1 - self.runs), SIGNALS[signal], 0, 0, 0, 0]);
            }
            Step::SendProcess(signal) => {
                driver.call(KILL, [2, SIGNALS[signal], 0, 0, 0, 0]);
            }
            Step::Mask(set) => driver.set_mask(SETS[set]),
            Step::Arm => driver.handle(ONCE, FLAGS[3], MASKS[3]),
            Step::Return if model.threads[self.runs].handlers.is_empty() => {}
            Step::Return => driver.sigreturn(),
            Step::Switch => {
                driver.give_way();
                self.runs = 1 - self.runs;
            }
        }
        assert_eq!(self.driver.context(), Some(self.contexts[self.runs]));
    }

    /// Masks, pending sets, the action that changes, and the pile of frames as the stack pointer shows it.
    fn check(&mut self, model: &Model) -> Result<(), String> {
        for (number, context) in self.contexts.into_iter().enumerate() {
            let record = self.thread(number);
            let pending = &record.signals.pending;
            let found = (record.mask, pending.set(), pending.queued());
            let thread = &model.threads[number];
            let set = thread.own.iter().fold(0, |set, signal| set | bit(*signal));
            same(&format!("mask and queue of thread {number}"), found, (thread.mask, set, thread.own.len()))?;
            let sp = self.driver.of(context).general[3];
            same(&format!("stack of thread {number}"), sp, frame(number, thread.handlers.len()))?;
            for (place, (signal, mask)) in thread.handlers.iter().enumerate() {
                let sp = frame(number, place + 1);
                let found = (u64::from(self.driver.half(sp)), self.driver.peek_word(sp + MASK));
                same(&format!("frame {place} of thread {number}"), found, (*signal, *mask))?;
            }
        }
        let process = self.driver.server().processes.iter().next().unwrap().1;
        let armed = process.signals.actions.get(Signal(28)).handler != 0;
        let common = &process.signals.pending;
        let set = model.common.iter().fold(0, |set, signal| set | bit(*signal));
        same("the process's queue", (common.set(), common.queued()), (set, model.common.len()))?;
        same("the action that is for once", armed, model.armed)
    }

    fn thread(&mut self, number: usize) -> &mut Thread {
        let context = self.contexts[number];
        let server = self.driver.server();
        let found = server.threads.iter().find(|(_, record)| record.context == context);
        let id = found.unwrap().0;
        server.threads.get_mut(id).unwrap()
    }
}

/// Where a thread's stack pointer is when it is in so many handlers.
fn frame(thread: usize, handlers: usize) -> u64 {
    let top = if thread == 0 { STACK } else { SCRATCH + 0x6000 };
    top - 592 * handlers as u64
}

fn same<T: PartialEq + Debug>(what: &str, found: T, expected: T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:x?} instead of {expected:x?}")) }
}

fn run(steps: &[Step]) {
    let (mut world, mut model) = (World::new(), Model::new());
    for (number, step) in steps.iter().enumerate() {
        if model.is_full() {
            break;
        }
        world.apply(*step, &model);
        model.apply(*step);
        world.check(&model).unwrap_or_else(|told| panic!("{told} after {:?}", &steps[..=number]));
    }
}

/// Every order of so many steps.
fn orders(length: u32) -> impl Iterator<Item = Vec<Step>> {
    let mut all: Vec<Step> =
        (0..2).flat_map(|signal| [Step::SendSelf(signal), Step::SendOther(signal)]).collect();
    all.extend([Step::SendSelf(3), Step::SendProcess(0), Step::SendProcess(2)]);
    all.extend([Step::Mask(0), Step::Mask(3), Step::Arm, Step::Return, Step::Switch]);
    (0..all.len().pow(length)).map(move |number| {
        let digits = (0..length).scan(number, |rest, _| {
            let digit = *rest % all.len();
            *rest /= all.len();
            Some(digit)
        });
        digits.map(|digit| all[digit]).collect()
    })
}

#[test]
fn every_short_order_of_steps_agrees_with_the_model() {
    let length = if std::env::var_os("BIXI_LONG").is_some() { 5 } else { 3 };
    orders(length).for_each(|steps| run(&steps));
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..4_usize).prop_map(Step::SendSelf),
        (0..4_usize).prop_map(Step::SendOther),
        (0..4_usize).prop_map(Step::SendProcess),
        (0..4_usize).prop_map(Step::Mask),
        Just(Step::Arm),
        Just(Step::Return),
        Just(Step::Return),
        Just(Step::Switch),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn long_orders_agree_with_the_model(steps in prop::collection::vec(step(), 1..60)) {
        run(&steps);
    }
}
