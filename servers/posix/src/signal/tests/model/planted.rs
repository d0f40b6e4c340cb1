//! The comparison with the model finds what it is there for: each mistake here is made in the server's state, as a
//! faulty server would leave it, and must be found.

use super::*;
use crate::signal::info::Info;
use crate::signal::pending::Pending;

/// A step that was taken, with the model before and after it.
struct Taken<'a> {
    step: Step,
    before: &'a Model,
    after: &'a Model,
}

impl Taken<'_> {
    /// The thread that ran.
    fn runs(&self) -> usize {
        self.after.runs
    }

    /// Signals whose handlers the thread that runs was sent into, the first one first.
    fn entered(&self) -> &[(u64, u64)] {
        let handlers = |model: &Model| model.threads[self.runs()].handlers.len();
        let kept = handlers(self.before).min(handlers(self.after));
        &self.after.threads[self.runs()].handlers[kept..]
    }

    fn entered_one(&self, signal: u64) -> bool {
        self.entered().last().is_some_and(|(entered, _)| *entered == signal)
    }

    /// A handler returned, and nothing else was delivered.
    fn returned(&self) -> bool {
        self.step == Step::Return && self.before.threads[self.runs()].handlers.len() == 1 + self.depth()
    }

    fn depth(&self) -> usize {
        self.after.threads[self.runs()].handlers.len()
    }
}

/// Makes a mistake after a step; says whether the step is one that it shows at.
type Mistake = fn(&mut World, &Taken<'_>) -> bool;

const MISTAKES: [(&str, Mistake); 18] = [
    ("sigreturn leaves the mask as it is", |world, taken| {
        let mask = taken.before.threads[taken.runs()].mask;
        taken.returned() && set_mask(world, taken.runs(), mask)
    }),
    ("sigreturn loses a signal that waits", |world, taken| {
        let own = &taken.after.threads[taken.runs()].own;
        taken.returned() && own.first().is_some_and(|signal| forget(queue(world, taken.runs()), *signal))
    }),
    ("sigreturn leaves the stack where it is", |world, taken| {
        let sp = frame(taken.runs(), taken.depth() + 1);
        taken.returned() && {
            world.driver.registers().general[3] = sp;
            true
        }
    }),
    ("a nested frame has the handler's own mask", |world, taken| {
        let (sp, mask) = (frame(taken.runs(), taken.depth()), taken.after.threads[taken.runs()].mask);
        let nested = taken.depth() > 1 && !taken.entered().is_empty();
        nested && {
            world.driver.poke(sp + MASK, &mask.to_le_bytes());
            true
        }
    }),
    ("a nested frame has the mask from before the outer one", |world, taken| {
        let handlers = &taken.after.threads[taken.runs()].handlers;
        let sp = frame(taken.runs(), taken.depth());
        match handlers.as_slice() {
            [.., (_, outer), (_, mask)] if outer != mask && !taken.entered().is_empty() => {
                world.driver.poke(sp + MASK, &outer.to_le_bytes());
                true
            }
            _ => false,
        }
    }),
    ("a signal that is held off is delivered", |world, taken| {
        let thread = &taken.after.threads[taken.runs()];
        let (own, mask) = (thread.own.clone(), thread.mask);
        own.first().is_some_and(|signal| {
            world.driver.set_mask(mask & !bit(*signal));
            set_mask(world, taken.runs(), mask)
        })
    }),
    ("what was delivered is still pending", |world, taken| {
        let last = taken.entered().last().copied();
        last.is_some_and(|(signal, _)| push(queue(world, taken.runs()), signal))
    }),
    ("a signal goes to the thread that sends it", |world, taken| match taken.step {
        Step::SendOther(signal) if taken.before.threads != taken.after.threads => {
            let signal = SIGNALS[signal];
            forget(queue(world, 1 - taken.runs()), signal) && push(queue(world, taken.runs()), signal)
        }
        _ => false,
    }),
    ("a signal for the process goes to a thread that holds it off", |world, taken| match taken.step {
        Step::SendProcess(signal) if taken.before.common != taken.after.common => {
            let common = &mut world.driver.server().processes.iter().next().unwrap().0.clone();
            let process = world.driver.server().processes.get_mut(*common).unwrap();
            forget(&mut process.signals.pending, SIGNALS[signal])
                && push(queue(world, taken.runs()), SIGNALS[signal])
        }
        _ => false,
    }),
    ("SA_NODEFER is ignored", |world, taken| {
        let mask = taken.after.threads[taken.runs()].mask;
        taken.entered_one(12) && set_mask(world, taken.runs(), mask | bit(12))
    }),
    ("SA_RESETHAND is ignored", |world, taken| {
        taken.before.armed && !taken.after.armed && {
            world.driver.handle(ONCE, RESETHAND, 0);
            true
        }
    }),
    ("every handler is for once", |world, taken| {
        taken.step == Step::Arm && {
            world.driver.act(ONCE, 0, RESETHAND, 0);
            true
        }
    }),
    ("sa_mask is ignored", |world, taken| {
        let mask = taken.after.threads[taken.runs()].mask;
        taken.entered_one(10) && set_mask(world, taken.runs(), mask & !bit(12))
    }),
    ("a handler's own signal is not held off", |world, taken| {
        let mask = taken.after.threads[taken.runs()].mask;
        taken.entered_one(10) && set_mask(world, taken.runs(), mask & !bit(10))
    }),
    ("a realtime signal does not queue", |world, taken| {
        let twice = taken.after.common.iter().filter(|signal| **signal == 34).count() == 2;
        twice && {
            let process = world.driver.server().processes.iter().next().unwrap().0;
            let process = world.driver.server().processes.get_mut(process).unwrap();
            process.signals.pending.take(Signal(34));
            true
        }
    }),
    ("a standard signal queues", |world, taken| match taken.step {
        Step::SendOther(signal) if taken.before.threads == taken.after.threads && signal < 2 => {
            push(queue(world, 1 - taken.runs()), SIGNALS[signal])
        }
        _ => false,
    }),
    ("the higher signal goes first", |world, taken| match taken.entered() {
        [(first, _), (second, _)] => {
            let (below, above) = (frame(taken.runs(), taken.depth() - 1), frame(taken.runs(), taken.depth()));
            world.driver.poke(below, &u32::try_from(*second).unwrap().to_le_bytes());
            world.driver.poke(above, &u32::try_from(*first).unwrap().to_le_bytes());
            true
        }
        _ => false,
    }),
    ("SIGKILL can be held off", |world, taken| {
        taken.step == Step::Mask(3) && set_mask(world, taken.runs(), u64::MAX)
    }),
];

fn set_mask(world: &mut World, thread: usize, mask: u64) -> bool {
    core::mem::replace(&mut world.thread(thread).mask, mask) != mask
}

fn queue(world: &mut World, thread: usize) -> &mut Pending {
    &mut world.thread(thread).signals.pending
}

fn forget(queue: &mut Pending, signal: u64) -> bool {
    queue.forget(bit(signal));
    true
}

fn push(queue: &mut Pending, signal: u64) -> bool {
    let signal = Signal(u8::try_from(signal).unwrap());
    queue.push(signal, Info::user(signal, 0, 2, 0));
    true
}

/// Takes steps with a mistake; `None` if it never came to that, otherwise whether the comparison found it.
fn found(mistake: Mistake, steps: &[Step]) -> Option<bool> {
    let (mut world, mut model) = (World::new(), Model::new());
    for step in steps {
        let before = model.clone();
        world.apply(*step, &model);
        model.apply(*step);
        if mistake(&mut world, &Taken { step: *step, before: &before, after: &model }) {
            return Some(world.check(&model).is_err());
        }
    }
    None
}

#[test]
fn every_planted_mistake_is_found() {
    for (name, mistake) in MISTAKES {
        // The comparison is made after every step, so that the order that ends with the mistake is enough.
        let first = (1..=4).find_map(|length| orders(length).find_map(|steps| found(mistake, &steps)));
        assert_eq!(first, Some(true), "{name}");
    }
}
