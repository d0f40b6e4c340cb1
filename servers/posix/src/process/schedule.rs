//! Which thread is entered next, and what the clock has to do with it.
//!
//! What the machine's entries do (C-25: four of them):
//! - *system call*: indexes [`crate::dispatch::entries::Entries`] by `$a7` (beyond its length: the last entry,
//!   which is unknown too) and does what the [`crate::dispatch::entries::Answer`] says;
//! - *fault*: calls [`Posix::faulted`] with what the context holds;
//! - *interrupted*: takes the rings' news in ([`Server::input_ready`], [`Server::output_ready`]), then calls
//!   [`Posix::interrupted`];
//! - the host's own fault belongs to the copy routines and never comes here.
//!
//! All but the first end in a [`Next`]. While it is `Idle` the machine calls [`Server::clear_ahead`] until that
//! says no, waits for its notification, calls [`Server::alarm`] and takes the rings' news in, and calls
//! [`Posix::schedule`] again. [`Server::events`] has the programs that ended.

use super::{Signal, Thread, ThreadId};
use crate::Errno;
use crate::executor::cx::{Call, Place};
use crate::executor::parked::Retried;
use crate::executor::run_queue::Slice;
use crate::executor::task::Task;
use crate::host::{ContextId, Exit, Host};
use crate::number::index;
use crate::server::{Current, Server};
use crate::signal::deliver::Delivered;
use crate::signal::{Attention, Stopped};
use crate::slots::Id;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::Cell;
use core::fmt;

/// Frames cleared in advance while nothing runs: what a few small programs need.
const ZEROED_FRAMES: u32 = 64;

/// The server with the tasks of its threads: what the machine's entries call.
pub struct Posix<H: Host> {
    /// The state. It is away only while a task is polled.
    server: Option<Box<Server<H>>>,
    place: Place<H>,
    tasks: Vec<Option<Task>>,
}

impl<H: Host> fmt::Debug for Posix<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Posix").field("tasks", &self.tasks.len()).finish_non_exhaustive()
    }
}

/// What the machine has to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Enter this context, which is current.
    Enter(ContextId, Exit),
    /// Nothing can run: wait for an alarm, input, or room for output.
    Idle,
    /// Nothing can run and nobody waits for anything: every program has ended.
    Finished,
}

impl<H: Host> Posix<H> {
    /// Takes a server over.
    pub fn new(server: Server<H>) -> Self {
        let server = Some(Box::new(server));
        Self { server, place: Rc::new(Cell::new(None)), tasks: Vec::new() }
    }

    /// The state.
    #[inline]
    pub fn server(&mut self) -> Option<&mut Server<H>> {
        self.server.as_deref_mut()
    }

    /// Begins a call that has to wait, for the acting thread; its result if it need not wait after all.
    pub fn begin(&mut self, number: u64, arguments: crate::dispatch::Arguments) -> Option<u64> {
        let server = self.server()?;
        let thread = server.acting?.thread;
        let call = Call { number, arguments, done: false, result: 0, cancelled: false };
        server.threads.get_mut(thread)?.call = Some(call);
        server.end_waits(thread);
        self.poll(thread);
        let server = self.server()?;
        let attention = server.attention;
        let record = server.threads.get_mut(thread)?;
        let done = record.call.filter(|call| call.done)?;
        if attention == Attention::Due || Errno::restart(done.result).is_some() || record.call_is_borrowed() {
            // Whatever else is due to it is seen to where it goes on.
            server.at_once = Some(thread);
            return None;
        }
        record.call = None;
        Some(done.result)
    }

    /// The acting thread's call has this result, and something else is due to it: says whether it still is.
    pub fn attend(&mut self, number: u64, arguments: crate::dispatch::Arguments, result: u64) -> bool {
        let Some(server) = self.server() else { return false };
        server.attention = Attention::Quiet;
        let Some(thread) = server.acting.map(|current| current.thread) else { return false };
        let Some(record) = server.threads.get_mut(thread) else { return false };
        record.call = Some(Call { number, arguments, done: true, result, cancelled: false });
        server.at_once = Some(thread);
        true
    }

    /// The acting thread goes on with 0 after the others had their turn (sched_yield).
    pub fn give_way(&mut self) {
        if let Some(server) = self.server()
            && let Some(current) = server.acting
            && let Some(thread) = server.threads.get_mut(current.thread)
        {
            let arguments = crate::dispatch::Arguments::default();
            thread.call = Some(Call { number: 124, arguments, done: true, result: 0, cancelled: false });
            server.ready.push(current.thread);
        }
    }

    /// The acting thread goes on with the registers in its context, next.
    pub fn go_on(&mut self) {
        if let Some(server) = self.server()
            && let Some(current) = server.acting
        {
            server.at_once = Some(current.thread);
        }
    }

    /// The acting thread's call has this result, which no signal changes, and something else is due to it: what runs
    /// next, or, in the usual case, what [`Host::enter_flags`] says of the current context, which is a handler's now.
    ///
    /// # Errors
    /// Another case.
    #[inline]
    pub fn signalled(&mut self, result: u64) -> Result<u64, Next> {
        let Some(server) = self.server() else { return Err(Next::Finished) };
        match server.deliver_at_end(result) {
            Some(Delivered::Entered(context)) => {
                server.host.enter_flags(context).ok_or(Next::Enter(context, Exit::Full))
            }
            Some(Delivered::NoFrame) => Err(self.go_on_at_once(None)),
            None => Err(self.go_on_at_once(Some(result))),
        }
    }

    /// The acting thread's registers were replaced, or a signal is for it: what runs next.
    pub fn replaced(&mut self) -> Next {
        self.go_on_at_once(None)
    }

    #[inline(never)]
    fn go_on_at_once(&mut self, result: Option<u64>) -> Next {
        if self.server().is_some_and(|server| !server.abandoned.is_empty()) {
            self.drop_abandoned();
        }
        if let Some(server) = self.server()
            && let Some(next) = server.resume(result)
        {
            if !server.ready.is_empty() {
                server.arm_tick();
            }
            return next;
        }
        self.schedule()
    }

    /// The acting thread cannot go on, or must not: chooses who does.
    pub fn schedule(&mut self) -> Next {
        if self.server().is_some_and(|server| !server.abandoned.is_empty()) {
            self.drop_abandoned();
        }
        if let Some(server) = self.server()
            && let Some(thread) = server.at_once.take()
            && server.acting.is_some_and(|current| current.thread == thread)
            && let Some(next) = server.entry()
        {
            return next;
        }
        loop {
            if self.server().is_some_and(|server| server.is_unsettled()) {
                self.settle();
            }
            let Some(server) = self.server() else { return Next::Finished };
            server.account();
            let Some(thread) = server.ready.pop() else { return self.idle() };
            if !server.take_turn(thread) {
                continue;
            }
            let waits = server.threads.get(thread).and_then(|record| record.call.as_ref());
            if waits.is_some_and(|call| !call.done) {
                match server.retry(thread) {
                    Retried::Task => {
                        server.end_waits(thread);
                        self.poll(thread);
                    }
                    Retried::Waits => continue,
                    Retried::Done => {}
                    Retried::Signal => {
                        if let Some(next) = server.deliver_one(None) {
                            server.arm();
                            return next;
                        }
                    }
                }
            }
            if let Some(next) = self.server().and_then(|server| server.entry()) {
                return next;
            }
        }
    }

    /// Takes in what ended, and starts what is due.
    #[cold]
    fn settle(&mut self) {
        if let Some(server) = self.server() {
            server.end_jobs();
        }
        self.drop_abandoned();
        if let Some(server) = self.server() {
            server.start_jobs();
        }
    }

    /// A program was interrupted, and its whole context is stored: what runs next.
    pub fn interrupted(&mut self) -> Next {
        let Some(server) = self.server() else { return Next::Finished };
        let slice = server.alarm();
        // The kernel stored all of its registers, and all of them are to come back.
        if let Ok(thread) = server.thread_mut() {
            thread.exit = Exit::Full;
        }
        match server.acting {
            Some(_) if slice == Slice::Goes => {
                if let Some(next) = server.entry() {
                    return next;
                }
            }
            Some(current) => server.ready.push(current.thread),
            None => {}
        }
        self.schedule()
    }

    /// Lets a thread's waiting call go on.
    fn poll(&mut self, thread: ThreadId) {
        // The number may be one that a thread had which ended in a wait.
        self.drop_abandoned();
        let number = index(thread.number());
        if self.tasks.len() <= number {
            self.tasks.resize_with(number + 1, || None);
        }
        let Some(place) = self.tasks.get_mut(number) else { return };
        let task = place.get_or_insert_with(|| Task::new(&self.place, thread));
        self.place.set(self.server.take());
        task.poll();
        self.server = self.place.take();
    }

    /// Drops the tasks of threads that ended while they waited, before anybody gets their numbers.
    fn drop_abandoned(&mut self) {
        while let Some(thread) = self.server().and_then(|server| server.abandoned.pop()) {
            if let Some(task) = self.tasks.get_mut(index(thread.number())) {
                self.place.set(self.server.take());
                *task = None;
                self.server = self.place.take();
            }
        }
    }

    /// Nothing can run: clears frames in advance, one a look, and says what the machine waits for.
    fn idle(&mut self) -> Next {
        let Some(server) = self.server() else { return Next::Finished };
        if server.threads.is_empty() {
            return Next::Finished;
        }
        server.arm();
        // Idle time is nobody's.
        server.acting = None;
        Next::Idle
    }
}

impl Thread {
    /// Whether its call's end is more than a result: it had a mask for its length, or a signal ended it.
    fn call_is_borrowed(&self) -> bool {
        self.signals.saved_mask.is_some()
            || self.call.is_some_and(|call| Errno::restart(call.result).is_some())
    }
}

impl<H: Host> Server<H> {
    /// Whether a thread or a program has ended, or one is to be started.
    #[inline]
    fn is_unsettled(&self) -> bool {
        !self.abandoned.is_empty() || !self.events.is_empty() || self.jobs.is_due()
    }

    /// The host's alarm went off, or time passed: ends waits whose time is over.
    pub fn alarm(&mut self) -> Slice {
        let now = self.host.monotonic_ns();
        self.armed_ns = self.armed_ns.filter(|armed| *armed > now);
        self.waits.expire(now, &mut self.ready);
        self.expire_alarms(now);
        if self.processor_left().is_some() {
            self.account();
        }
        self.ready.tick(now)
    }

    /// Clears one free frame in advance while nothing runs; says whether there is more to clear.
    pub fn clear_ahead(&mut self) -> bool {
        self.memory.frames.zero_one(&mut self.host, ZEROED_FRAMES)
    }

    /// Asks the host for the next alarm that anybody needs, unless it has one at least as early.
    pub fn arm(&mut self) {
        self.arm_for(self.processor_left());
    }

    /// As [`Server::arm`], the acting process having so much left until a timer of its processor time goes off.
    #[inline]
    fn arm_for(&mut self, processor_left: Option<u64>) {
        const NEVER: u64 = u64::MAX;
        let host = &self.host;
        let tick = self.ready.tick_due(|| host.monotonic_ns()).unwrap_or(NEVER);
        let processor = processor_left.map_or(NEVER, |left| self.entered_ns.saturating_add(left));
        let waits = self.waits.timers.first().unwrap_or(NEVER);
        let due = tick.min(processor).min(waits).min(self.alarms.first().unwrap_or(NEVER));
        if due < self.armed_ns.unwrap_or(NEVER) {
            self.armed_ns = Some(due);
            self.host.arm_alarm(due);
        }
    }

    /// Whether the alarm is set early enough for those who wait for the processor.
    #[inline]
    pub fn has_tick(&self) -> bool {
        match (self.ready.next_tick(), self.armed_ns) {
            (Some(tick), Some(armed)) => armed <= tick,
            _ => false,
        }
    }

    /// Sees to it that the acting thread's slice ends, others having become ready.
    #[inline]
    pub fn arm_tick(&mut self) {
        if !self.has_tick() {
            self.arm();
        }
    }

    /// How the acting thread is entered, if it waits for nothing and is not stopped, with the alarms that it needs.
    fn entry(&mut self) -> Option<Next> {
        if let Some((next, processor_left)) = self.resume_plainly() {
            self.arm_for(processor_left);
            return Some(next);
        }
        let next = self.resume(None)?;
        self.arm();
        Some(next)
    }

    /// As [`Server::resume`] for a thread whose call has ended and to whom nothing else is due: the usual case. With it
    /// comes what [`Server::processor_left`] would say.
    #[inline]
    fn resume_plainly(&mut self) -> Option<(Next, Option<u64>)> {
        let Current { thread, process, .. } = self.acting?;
        let record = self.threads.get_mut(thread)?;
        let owner = &self.processes.get(process)?.signals;
        let result = match &record.call {
            Some(call) if call.done => call.result,
            _ => return None,
        };
        let deliverable = (record.signals.pending.set() | owner.pending.set()) & !record.mask;
        if deliverable != 0
            || record.signals.saved_mask.is_some()
            || owner.stopped == Stopped::Yes
            || self.strace == crate::dispatch::Strace::On
            || Errno::restart(result).is_some()
        {
            return None;
        }
        record.call = None;
        self.host.set_result(record.context, result);
        self.attention = Attention::Quiet;
        let next = Next::Enter(record.context, core::mem::replace(&mut record.exit, Exit::Minimal));
        Some((next, owner.timers.processor_left()))
    }

    /// Charges the acting thread's process for the time since the last look at the clock.
    #[inline]
    pub(crate) fn account(&mut self) {
        let now = self.host.monotonic_ns();
        let passed = now.saturating_sub(core::mem::replace(&mut self.entered_ns, now));
        if let Some(current) = self.acting
            && let Some(process) = self.processes.get_mut(current.process)
        {
            process.cpu_ns = process.cpu_ns.saturating_add(passed);
            if process.signals.timers.processor_left().is_some() {
                self.charge_timers(current.process, passed);
            }
        }
    }

    /// How much processor time the acting process has until a timer of its goes off.
    fn processor_left(&self) -> Option<u64> {
        self.processes.get(self.acting?.process)?.signals.timers.processor_left()
    }

    /// Ends the waits of a thread's call if a signal is there that does something to it; what does nothing to it is
    /// forgotten.
    #[inline]
    pub(crate) fn end_waits(&mut self, thread: ThreadId) {
        let Some(record) = self.threads.get_mut(thread) else { return };
        let Some(owner) = self.processes.get(record.process) else { return };
        let open = (record.signals.pending.set() | owner.signals.pending.set()) & !record.mask;
        let (mut left, mut ignored) = (open, 0);
        while let Some(signal) = Signal::lowest(left) {
            left &= !signal.bit();
            if owner.signals.actions.get(signal).ignores(signal) {
                ignored |= signal.bit();
            }
        }
        if open & !ignored != 0
            // A vfork's is ended by the child alone.
            && record.vforked.is_none()
            && let Some(call) = &mut record.call
        {
            call.cancelled = true;
        }
        if ignored != 0 {
            let process = record.process;
            self.drop_pending(process, ignored);
        }
    }
}
