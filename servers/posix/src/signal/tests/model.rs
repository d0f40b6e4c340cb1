//! The state machine of signals against a model: masks, pending sets, nested handlers and returns of two threads.
//!
//! The model knows nothing of frames, queues or registers: a thread is a mask, a set, and a pile of the handlers
//! that it is in, each with the mask to come back to. Every order of a few operations is tried, and long random
//! ones.

use super::*;
use proptest::prelude::*;

/// What is done, by the thread that runs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// It sends itself a signal.
    SendSelf(usize),
    /// It sends the other thread one.
    SendOther(usize),
    /// It sends the process one.
    SendProcess(usize),
    /// It sets its mask to this set.
    Mask(usize),
    /// Its handler returns, if it is in one.
    Return,
    /// The other thread has its turn.
    Switch,
}

/// Two standard signals and a realtime one.
const SIGNALS: [u64; 3] = [10, 12, 34];
/// 10 holds 12 off, 12 nothing but itself (with SA_NODEFER not even that), 34 everything.
const MASKS: [u64; 3] = [bit(12), 0, u64::MAX];
const FLAGS: [u64; 3] = [0, 0x4000_0000, 0];
const SETS: [u64; 4] = [0, bit(10), bit(12) | bit(34), u64::MAX];
/// Frames that fit onto a stack of the test.
const DEEPEST: usize = 10;

#[derive(Clone, Debug, Default, PartialEq)]
struct ModelThread {
    mask: u64,
    own: Vec<u64>,
    handlers: Vec<(u64, u64)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    threads: [ModelThread; 2],
    common: Vec<u64>,
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
    fn apply(&mut self, step: Step) {
        let runs = self.runs;
        let takes = |model: &Self, thread: usize, signal: usize| {
            model.threads[thread].mask & bit(SIGNALS[signal]) == 0
        };
        let looks = match step {
            Step::SendSelf(signal) => {
                add(&mut self.threads[runs].own, SIGNALS[signal]);
                takes(self, runs, signal)
            }
            Step::SendOther(signal) => {
                add(&mut self.threads[1 - runs].own, SIGNALS[signal]);
                false
            }
            Step::SendProcess(signal) => {
                add(&mut self.common, SIGNALS[signal]);
                // The first thread is asked first, and another looks only if it is the one that takes it.
                let taker = [0, 1].into_iter().find(|thread| takes(self, *thread, signal));
                taker == Some(runs)
            }
            Step::Mask(set) => {
                self.threads[runs].mask = SETS[set] & !(bit(9) | bit(19));
                true
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
        let Self { threads, common, runs } = self;
        let thread = &mut threads[*runs];
        while let Some(signal) = take(&mut thread.own, thread.mask).or_else(|| take(common, thread.mask)) {
            let number = SIGNALS.iter().position(|known| *known == signal).unwrap();
            thread.handlers.push((signal, thread.mask));
            thread.mask |= MASKS[number];
            if FLAGS[number] == 0 {
                thread.mask |= bit(signal);
            }
            thread.mask &= !(bit(9) | bit(19));
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
            Step::Return if model.threads[self.runs].handlers.is_empty() => {}
            Step::Return => driver.sigreturn(),
            Step::Switch => {
                driver.give_way();
                self.runs = 1 - self.runs;
            }
        }
        assert_eq!(self.driver.context(), Some(self.contexts[self.runs]));
    }

    /// Masks, pending sets, and the pile of frames as the stack pointer shows it.
    fn check(&mut self, model: &Model, steps: &[Step]) {
        for (number, context) in self.contexts.into_iter().enumerate() {
            let server = self.driver.server();
            let record = server
                .threads
                .iter()
                .find(|(_, record)| record.context == context)
                .map(|(_, record)| {
                    (record.mask, record.signals.pending.set(), record.signals.pending.queued())
                })
                .unwrap();
            let thread = &model.threads[number];
            let set = thread.own.iter().fold(0, |set, signal| set | bit(*signal));
            assert_eq!(record, (thread.mask, set, thread.own.len()), "thread {number} after {steps:?}");
            let top = if number == 0 { STACK } else { SCRATCH + 0x6000 };
            let sp = top - 592 * thread.handlers.len() as u64;
            assert_eq!(self.driver.of(context).general[3], sp, "thread {number} after {steps:?}");
            if let Some((signal, mask)) = thread.handlers.last() {
                let saved = self.driver.peek_word(sp + MASK);
                let found = self.driver.half(sp);
                assert_eq!((u64::from(found), saved), (*signal, *mask), "after {steps:?}");
            }
        }
        let common = self.driver.server().processes.iter().next().unwrap().1.signals.pending.queued();
        assert_eq!(common, model.common.len(), "after {steps:?}");
    }
}

fn run(steps: &[Step]) {
    let (mut world, mut model) = (World::new(), Model::default());
    for (number, step) in steps.iter().enumerate() {
        if model.threads.iter().any(|thread| thread.handlers.len() >= DEEPEST) {
            break;
        }
        world.apply(*step, &model);
        model.apply(*step);
        world.check(&model, &steps[..=number]);
    }
}

/// Every order of so many steps.
fn every(length: u32) {
    let mut all: Vec<Step> =
        (0..2).flat_map(|signal| [Step::SendSelf(signal), Step::SendOther(signal)]).collect();
    all.extend([Step::SendProcess(0), Step::SendProcess(2)]);
    all.extend([Step::Mask(0), Step::Mask(3), Step::Return, Step::Switch]);
    for number in 0..all.len().pow(length) {
        let mut rest = number;
        let steps: Vec<Step> = (0..length)
            .map(|_| {
                let step = all[rest % all.len()];
                rest /= all.len();
                step
            })
            .collect();
        run(&steps);
    }
}

#[test]
fn every_short_order_of_steps_agrees_with_the_model() {
    every(if std::env::var_os("BIXI_LONG").is_some() { 5 } else { 3 });
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..3_usize).prop_map(Step::SendSelf),
        (0..3_usize).prop_map(Step::SendOther),
        (0..3_usize).prop_map(Step::SendProcess),
        (0..4_usize).prop_map(Step::Mask),
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
