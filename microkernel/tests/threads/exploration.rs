//! Everything that three threads can do to each other, to a depth, and random walks beyond it.
//!
//! At each step the thread that runs makes one of its calls, or something is done to the threads from
//! outside; the world checks all invariants after every entry. States seen before are not gone on from.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use abi::{Method, Syscall};
use microkernel::arch::Ticks;
use microkernel::capability::cap::Cap;
use microkernel::capability::derivation;
use microkernel::entry::Exception;
use microkernel::object::thread::attempt;

use crate::world::{CNODE, Call, LONG, Thread, World};

/// Three threads, what they share, and a Reply and a context each.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    pub(crate) w: World,
    threads: [Thread; 3],
    replies: [u64; 3],
    contexts: [u64; 3],
    endpoint: u64,
    notification: u64,
}

/// A call of the thread that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Own {
    Call,
    Send,
    NBSend,
    NBSendRecv,
    Recv,
    RecvWithFirst,
    NBRecv,
    ReplyRecv,
    Reply,
    WaitEndpoint,
    Signal,
    WaitNotification,
    Poll,
    Yield,
    Fault,
    DeleteEndpoint,
}

/// Something from outside, about one of the threads or what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outside {
    Suspend,
    Resume,
    Rewrite,
    Raise,
    Unbind,
    Bind,
    BindNotification,
    UnbindNotification,
    DeleteThread,
    DeleteReply,
    DeleteContext,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Own(Own),
    Outside(Outside, usize),
    Cancel,
    DeleteEndpoint,
    DeleteNotification,
    BudgetEnds,
}

const OWN: [Own; 16] = [
    Own::Call,
    Own::Send,
    Own::NBSend,
    Own::NBSendRecv,
    Own::Recv,
    Own::RecvWithFirst,
    Own::NBRecv,
    Own::ReplyRecv,
    Own::Reply,
    Own::WaitEndpoint,
    Own::Signal,
    Own::WaitNotification,
    Own::Poll,
    Own::Yield,
    Own::Fault,
    Own::DeleteEndpoint,
];

const OUTSIDE: [Outside; 11] = [
    Outside::Suspend,
    Outside::Resume,
    Outside::Rewrite,
    Outside::Raise,
    Outside::Unbind,
    Outside::Bind,
    Outside::BindNotification,
    Outside::UnbindNotification,
    Outside::DeleteThread,
    Outside::DeleteReply,
    Outside::DeleteContext,
];

impl Scene {
    /// Three ready threads of one priority.
    pub(crate) fn new() -> Self {
        Self::with_period(LONG)
    }

    /// The same with contexts whose budget is used up before the next comes.
    fn with_gaps() -> Self {
        Self::with_period(3 * LONG)
    }

    fn with_period(period: u64) -> Self {
        let mut w = World::sized(128 << 10, 7);
        let (endpoint, notification) = (w.endpoint(), w.notification());
        let replies = [0; 3].map(|_| w.reply());
        let contexts = [0; 3].map(|_| w.context(LONG, period));
        let threads = [0; 3].map(|_| w.bare_thread(10));
        for (thread, context) in threads.into_iter().zip(contexts) {
            w.bind(context, thread);
            w.set_fault_handler(thread, endpoint);
            w.resume(thread);
        }
        Self { w, threads, replies, contexts, endpoint, notification }
    }

    /// The first thread waits at the endpoint, passive; the second runs.
    pub(crate) fn with_passive_server() -> Self {
        let mut scene = Self::new();
        scene.take(Step::Own(Own::Recv));
        scene.take(Step::Outside(Outside::Unbind, 0));
        scene
    }

    /// The second thread's call is with the passive first.
    fn in_a_call() -> Self {
        let mut scene = Self::with_passive_server();
        scene.take(Step::Own(Own::Call));
        scene
    }

    /// Two callers wait, the third thread runs.
    fn with_callers() -> Self {
        let mut scene = Self::new();
        scene.take(Step::Own(Own::Call));
        scene.take(Step::Own(Own::Call));
        scene
    }

    /// The same, and an interrupt is always pending: whatever can give way does.
    fn always_preempted() -> Self {
        let mut scene = Self::with_callers();
        scene.w.k.machine.preempt = true;
        scene
    }

    /// The first thread waits with a context and a bound notification.
    fn with_bound_server() -> Self {
        let mut scene = Self::new();
        scene.take(Step::Outside(Outside::BindNotification, 0));
        scene.take(Step::Own(Own::Recv));
        scene
    }

    pub(crate) fn steps(&self) -> Vec<Step> {
        let own = OWN.into_iter().map(Step::Own).filter(|_| self.w.running().is_some());
        let others = [Step::Cancel, Step::DeleteEndpoint, Step::DeleteNotification, Step::BudgetEnds];
        let outside =
            OUTSIDE.into_iter().flat_map(|what| (0..3).map(move |index| Step::Outside(what, index)));
        own.chain(others).chain(outside).collect()
    }

    /// Does a step, if what it needs is still there.
    pub(crate) fn take(&mut self, step: Step) {
        match step {
            Step::Own(own) => self.own(own),
            Step::Outside(what, index) => self.outside(what, index),
            Step::Cancel => {
                let _ = self.w.admin(CNODE, Method::CNodeCancelBadgedSends, &[], &[self.endpoint, 64]);
            }
            Step::DeleteEndpoint => self.delete(self.endpoint),
            Step::DeleteNotification => self.delete(self.notification),
            Step::BudgetEnds => {
                if let Some(deadline) = self.w.k.machine.deadline {
                    self.w.k.machine.time = Ticks(self.w.k.machine.time.0.max(deadline.0));
                    self.w.timer();
                }
            }
        }
    }

    fn exists(&self, number: u64) -> bool {
        self.w.cap(number) != Cap::Null
    }

    fn delete(&mut self, number: u64) {
        if self.exists(number) {
            self.w.delete(number);
        }
    }

    fn own(&mut self, own: Own) {
        let Some(index) = self.threads.iter().position(|thread| self.w.is_running(*thread)) else { return };
        let thread = self.threads[index];
        let (endpoint, notification) = (self.endpoint, self.notification);
        let (a2, t0) = (self.replies[index], endpoint);
        let (operation, call) = match own {
            Own::Call => (Syscall::Call, Call { a0: endpoint, ..Call::default() }),
            Own::Send => (Syscall::Send, Call { a0: endpoint, ..Call::default() }),
            Own::NBSend => (Syscall::NBSend, Call { a0: endpoint, ..Call::default() }),
            Own::NBSendRecv => (Syscall::NBSendRecv, Call { a0: endpoint, a2, t0, ..Call::default() }),
            Own::Recv => (Syscall::Recv, Call { a0: endpoint, a2, ..Call::default() }),
            Own::RecvWithFirst => {
                (Syscall::Recv, Call { a0: endpoint, a2: self.replies[0], ..Call::default() })
            }
            Own::NBRecv => (Syscall::NBRecv, Call { a0: endpoint, a2, ..Call::default() }),
            Own::ReplyRecv => (Syscall::ReplyRecv, Call { a0: endpoint, a2, ..Call::default() }),
            Own::Reply => (Syscall::Send, Call { a0: a2, ..Call::default() }),
            Own::WaitEndpoint => (Syscall::Wait, Call { a0: endpoint, ..Call::default() }),
            Own::Signal => (Syscall::Send, Call { a0: notification, ..Call::default() }),
            Own::WaitNotification => (Syscall::Wait, Call { a0: notification, ..Call::default() }),
            Own::Poll => (Syscall::Poll, Call { a0: notification, ..Call::default() }),
            Own::Yield => (Syscall::Yield, Call::default()),
            Own::Fault => {
                let exception = Exception { code: 13, subcode: 0, address: 0, instruction: 0 };
                return self.w.fault(thread, exception);
            }
            Own::DeleteEndpoint => {
                if !self.exists(endpoint) {
                    return;
                }
                let last = derivation::is_final(&self.w.k, self.w.slot(endpoint));
                let info = abi::MessageInfo::new(Method::CNodeDelete.label(), 2);
                self.w.syscall(
                    thread,
                    Syscall::Call,
                    Call { a0: CNODE, info, words: &[endpoint, 64], ..Call::default() },
                );
                if last {
                    self.w.objects.endpoints.clear();
                }
                return;
            }
        };
        self.w.syscall(thread, operation, call);
        while self.w.is_running(thread) && self.w.k.get(thread.tcb).attempt.get() != attempt::FIRST {
            self.w.again(thread);
        }
    }

    fn outside(&mut self, what: Outside, index: usize) {
        let (thread, context) = (self.threads[index], self.contexts[index]);
        let tcb = thread.cap;
        let (target, method, caps, words): (_, _, &[u64], &[u64]) = match what {
            Outside::Suspend => (tcb, Method::TcbSuspend, &[], &[]),
            Outside::Resume => (tcb, Method::TcbResume, &[], &[]),
            Outside::Rewrite => (tcb, Method::TcbWriteRegisters, &[], &[1, 0]),
            Outside::Raise => (tcb, Method::TcbSetPriority, &[tcb], &[20]),
            Outside::Unbind => (context, Method::SchedContextUnbind, &[], &[]),
            Outside::Bind => (context, Method::SchedContextBind, &[tcb], &[]),
            Outside::BindNotification => (tcb, Method::TcbBindNotification, &[self.notification], &[]),
            Outside::UnbindNotification => (tcb, Method::TcbUnbindNotification, &[], &[]),
            Outside::DeleteThread => return self.delete(tcb),
            Outside::DeleteReply => return self.delete(self.replies[index]),
            Outside::DeleteContext => return self.delete(context),
        };
        // Refusals are part of what is explored.
        let _ = self.w.admin(target, method, caps, words);
    }

    /// What tells states apart: everything but times and registers that nobody reads.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let k = &self.w.k;
        self.w.running().hash(&mut hasher);
        for thread in &self.w.objects.threads {
            let tcb = k.get(*thread);
            let links = [&tcb.queue_next, &tcb.queue_previous, &tcb.sched_next, &tcb.sched_previous];
            links.map(|link| link.get()).hash(&mut hasher);
            [
                &tcb.state,
                &tcb.hot,
                &tcb.priority,
                &tcb.blocked_on,
                &tcb.sched_queue,
                &tcb.fault[0],
                &tcb.send_flags,
            ]
            .map(|word| word.get())
            .hash(&mut hasher);
            (tcb.sched_context.get(), tcb.notification.get(), tcb.notification_pending.get())
                .hash(&mut hasher);
        }
        for endpoint in &self.w.objects.endpoints {
            k.get(*endpoint).head.get().hash(&mut hasher);
        }
        for reply in &self.w.objects.replies {
            let reply = k.get(*reply);
            (reply.thread.get(), reply.sched_context.get(), reply.previous.get()).hash(&mut hasher);
        }
        for notification in &self.w.objects.notifications {
            k.get(*notification).active.get().hash(&mut hasher);
        }
        for context in &self.w.objects.contexts {
            (k.get(*context).thread.get(), k.get(*context).remaining.get() == 0).hash(&mut hasher);
        }
        hasher.finish()
    }
}

/// Takes every sequence of steps up to a length; answers how many states there were.
pub(crate) fn explore(start: Scene, depth: usize, mut after: impl FnMut(&mut Scene, Step)) -> usize {
    let mut seen = HashSet::from([start.fingerprint()]);
    let mut edge = vec![start];
    for _ in 0..depth {
        let mut next = Vec::new();
        for scene in &edge {
            for step in scene.steps() {
                let mut scene = scene.clone();
                scene.take(step);
                after(&mut scene, step);
                if seen.insert(scene.fingerprint()) {
                    next.push(scene);
                }
            }
        }
        edge = next;
    }
    seen.len()
}

const STARTS: [fn() -> Scene; 7] = [
    Scene::new,
    Scene::with_gaps,
    Scene::with_passive_server,
    Scene::in_a_call,
    Scene::with_callers,
    Scene::with_bound_server,
    Scene::always_preempted,
];

#[test]
fn every_short_sequence_keeps_the_invariants() {
    let states: Vec<_> = STARTS.iter().map(|start| explore(start(), 2, |_, _| {})).collect();
    assert!(states.iter().all(|count| *count > 100), "{states:?}");
}

/// `cargo test --release -- --ignored`: minutes.
#[test]
#[ignore = "takes minutes; the long form of every_short_sequence_keeps_the_invariants"]
fn every_longer_sequence_keeps_the_invariants() {
    for start in STARTS {
        println!("{} states", explore(start(), 4, |_, _| {}));
    }
}

#[test]
fn random_walks_keep_the_invariants() {
    for seed in 1..=300_u64 {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut scene = STARTS[usize::try_from(seed).unwrap() % STARTS.len()]();
        let mut taken = Vec::new();
        for _ in 0..60 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            // What takes things away for good is seldom, or walks would end at once.
            let steps = scene.steps();
            let step = steps[usize::try_from(random >> 8).unwrap() % steps.len()];
            let rare = matches!(
                step,
                Step::DeleteEndpoint
                    | Step::DeleteNotification
                    | Step::Own(Own::DeleteEndpoint)
                    | Step::Outside(Outside::DeleteThread | Outside::DeleteReply | Outside::DeleteContext, _)
            );
            if rare && random >> 4 & 15 != 0 {
                continue;
            }
            taken.push(step);
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| scene.take(step)));
            if let Err(panic) = result {
                eprintln!("seed {seed}: {taken:?}");
                std::panic::resume_unwind(panic);
            }
        }
    }
}
