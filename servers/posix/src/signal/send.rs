//! Sending: what a signal does at once, and where it waits.

use super::action::Disposition;
use super::info::{Info, code};
use super::number::{DefaultAction, NEVER, STOPS, Signal};
use super::pending::MOST;
use super::{Attention, Stopped};
use crate::Errno;
use crate::host::{Host, Reserve};
use crate::process::{Process, ProcessId, Status, Thread, ThreadId};
use crate::server::Server;

/// Whom a signal is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A process: whichever of its threads takes it.
    Process(ProcessId),
    /// One thread.
    Thread(ThreadId),
}

impl<H: Host> Server<H> {
    /// Sends a signal.
    ///
    /// # Errors
    /// EAGAIN when a realtime signal of sigqueue's kind finds the queues full (RLIMIT_SIGPENDING).
    pub fn send_signal(&mut self, target: Target, signal: Signal, info: Info) -> Result<(), Errno> {
        match self.send_to_handler(target, signal, &info) {
            Some(()) => Ok(()),
            None => self.send_anyhow(target, signal, info),
        }
    }

    /// What sending comes to when a handler is there for it and a process of one thread gets it; `None` for
    /// everything else, of which nothing was done.
    #[inline(always)] // Of two callers, each of which has not much more to do.
    pub(crate) fn send_to_handler(&mut self, target: Target, signal: Signal, info: &Info) -> Option<()> {
        let (process, thread) = match target {
            Target::Process(process) => (process, self.processes.get(process)?.threads.first().copied()?),
            Target::Thread(thread) => (self.threads.get(thread)?.process, thread),
        };
        let owner = self.processes.get_mut(process)?;
        let record = self.threads.get_mut(thread)?;
        let hears = keep(record, owner, target, signal, info)?;
        if hears == Hears::Now {
            if self.acting.is_some_and(|current| current.thread == thread) {
                self.attention = Attention::Due;
            }
            if record.call.as_ref().is_some_and(|call| !call.done) {
                self.ready.push(thread);
            }
        }
        self.tell_readers();
        Some(())
    }

    /// Who reads signals by a descriptor looks again; says whether there is somebody.
    #[inline(always)] // A handful of instructions, and what follows is a call.
    pub(crate) fn tell_readers(&mut self) -> bool {
        let readers = self.files.signal_arrived;
        let any = self.waits.has_waiters(readers);
        if any {
            self.waits.wake_all(readers, &mut self.ready);
        }
        any
    }

    #[inline(never)]
    fn send_anyhow(&mut self, target: Target, signal: Signal, info: Info) -> Result<(), Errno> {
        let (process, thread) = match target {
            Target::Process(process) => (process, None),
            Target::Thread(thread) => match self.threads.get(thread) {
                Some(record) => (record.process, Some(thread)),
                None => return Ok(()),
            },
        };
        if self.processes.get(process).is_none_or(|record| record.status.is_some()) {
            // The dead hear nothing.
            return Ok(());
        }
        self.undo_opposites(process, signal);
        let Some(asked) = thread.or_else(|| self.first_thread(process)) else { return Ok(()) };
        let action = self.action(process, signal);
        let held = self.threads.get(asked).map_or(0, |record| record.mask | record.signals.awaited);
        if action.ignores(signal) && signal.bit() & held == 0 {
            return Ok(());
        }
        let taker = match thread {
            Some(thread) => self.takes(thread, signal).then_some(thread),
            None => self.taker(process, asked, signal),
        };
        if let (Some(taker), Disposition::Default(default)) = (taker, action.disposition(signal))
            && self.threads.get(taker).is_some_and(|record| record.mask & signal.bit() == 0)
        {
            match default {
                DefaultAction::Terminate => {
                    self.end_process(process, Status::Killed(signal));
                    return Ok(());
                }
                DefaultAction::Stop => {
                    self.stop_process(process, signal);
                    return Ok(());
                }
                DefaultAction::Ignore => {}
            }
        }
        self.enqueue(process, thread, signal, info)?;
        if let Some(taker) = taker {
            self.nudge(taker);
        }
        Ok(())
    }

    /// Sends a signal to the acting thread from the kernel's side, as Linux's send_sig does.
    pub fn send_self(&mut self, signal: Signal) {
        let Ok(current) = self.current() else { return };
        let Some(record) = self.processes.get(current.process) else { return };
        let info = Info::user(signal, code::SI_USER, record.pid.0, record.credentials.user.real);
        // It is no signal of sigqueue's, so that no limit refuses it.
        let _ = self.send_signal(Target::Thread(current.thread), signal, info);
    }

    /// The signals that a thread would get now if it went on.
    #[inline]
    pub fn deliverable(&self, thread: ThreadId) -> u64 {
        let Some(record) = self.threads.get(thread) else { return 0 };
        let own = record.signals.pending.set();
        let common = self.processes.get(record.process).map_or(0, |record| record.signals.pending.set());
        (own | common) & !record.mask
    }

    /// A thread's mask or pending signals changed: it is told if one can be delivered now.
    pub(crate) fn recheck(&mut self, thread: ThreadId) {
        if self.deliverable(thread) != 0 {
            self.nudge(thread);
        }
    }

    /// Forgets signals of a process that wait, wherever they do.
    pub(crate) fn drop_pending(&mut self, process: ProcessId, signals: u64) {
        let Some(record) = self.processes.get_mut(process) else { return };
        record.signals.pending.forget(signals);
        for thread in &record.threads {
            if let Some(thread) = self.threads.get_mut(*thread) {
                thread.signals.pending.forget(signals);
            }
        }
    }

    /// A stop takes a waiting SIGCONT back, and the other way; SIGCONT lets a stopped process go on whatever
    /// becomes of the signal itself.
    fn undo_opposites(&mut self, process: ProcessId, signal: Signal) {
        if signal.bit() & STOPS != 0 {
            self.drop_pending(process, Signal::SIGCONT.bit());
        } else if signal == Signal::SIGCONT {
            self.drop_pending(process, STOPS);
            self.continue_process(process);
        }
    }

    /// The thread that is asked first: the one that has the process's number, or the oldest.
    fn first_thread(&self, process: ProcessId) -> Option<ThreadId> {
        self.processes.get(process)?.threads.first().copied()
    }

    /// What the thread that is asked first holds off.
    #[inline]
    pub(crate) fn first_thread_holds(&self, process: &crate::process::Process) -> u64 {
        let first = process.threads.first().and_then(|thread| self.threads.get(*thread));
        first.map_or(0, |record| record.mask | record.signals.awaited)
    }

    /// The thread of a process that takes a signal now; all that hold it off leave it pending.
    fn taker(&self, process: ProcessId, first: ThreadId, signal: Signal) -> Option<ThreadId> {
        if self.takes(first, signal) {
            return Some(first);
        }
        let threads = &self.processes.get(process)?.threads;
        threads.iter().copied().find(|thread| self.takes(*thread, signal))
    }

    fn takes(&self, thread: ThreadId, signal: Signal) -> bool {
        if signal != Signal::SIGKILL && self.is_stopped(thread) {
            // What is stopped hears of it when it goes on.
            return false;
        }
        let open = |record: &Thread| !record.mask | record.signals.awaited | NEVER;
        self.threads.get(thread).is_some_and(|record| open(record) & signal.bit() != 0)
    }

    fn enqueue(
        &mut self,
        process: ProcessId,
        thread: Option<ThreadId>,
        signal: Signal,
        info: Info,
    ) -> Result<(), Errno> {
        let room = self.queue_room(process);
        let pending = match thread {
            Some(thread) => self.threads.get_mut(thread).map(|record| &mut record.signals.pending),
            None => self.processes.get_mut(process).map(|record| &mut record.signals.pending),
        };
        let Some(pending) = pending else { return Ok(()) };
        if !signal.is_realtime() && pending.set() & signal.bit() != 0 {
            return Ok(());
        }
        if room {
            pending.push(signal, info);
        } else if signal.is_realtime() && !info.is_kill() {
            return Err(Errno::EAGAIN);
        } else {
            pending.note(signal);
        }
        self.tell_readers();
        Ok(())
    }

    /// Whether RLIMIT_SIGPENDING has room, and the server: Linux counts by user, here each process has the whole
    /// limit.
    fn queue_room(&self, process: ProcessId) -> bool {
        let Some(record) = self.processes.get(process) else { return false };
        let threads = record.threads.iter().filter_map(|thread| self.threads.get(*thread));
        let of_threads: usize = threads.map(|thread| thread.signals.pending.queued()).sum();
        let queued = (of_threads + record.signals.pending.queued()) as u64;
        queued < record.limits.few_signals()
            || queued < record.limits.signals().min(MOST) && self.host.reserve() >= Reserve::Scarce
    }

    /// Sees to it that a thread passes a place of delivery soon.
    fn nudge(&mut self, thread: ThreadId) {
        if self.acting.is_some_and(|current| current.thread == thread) {
            self.attention = Attention::Due;
        }
        let Some(record) = self.threads.get(thread) else { return };
        let stopped =
            self.processes.get(record.process).is_some_and(|process| process.signals.stopped == Stopped::Yes);
        if record.call.is_some_and(|call| !call.done) && !stopped {
            self.ready.push(thread);
        }
    }
}

/// Whether a thread hears of a signal that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hears {
    /// As soon as it goes on.
    Now,
    /// When its mask opens.
    Later,
}

/// Keeps a signal that has a handler, for a process of one thread; `None` for everything else.
#[inline(always)] // As `send_to_handler`.
fn keep(
    record: &mut Thread,
    owner: &mut Process,
    target: Target,
    signal: Signal,
    info: &Info,
) -> Option<Hears> {
    let queued = record.signals.pending.queued() + owner.signals.pending.queued();
    if owner.threads.len() != 1
        || signal.bit() & (STOPS | NEVER | Signal::SIGCONT.bit()) != 0
        || owner.signals.actions.get(signal).disposition(signal) != Disposition::Handle
        || owner.signals.stopped == Stopped::Yes
        || queued as u64 >= owner.limits.few_signals()
    {
        return None;
    }
    let pending = match target {
        Target::Process(_) => &mut owner.signals.pending,
        Target::Thread(_) => &mut record.signals.pending,
    };
    let hears =
        if (!record.mask | record.signals.awaited) & signal.bit() != 0 { Hears::Now } else { Hears::Later };
    if pending.set() & signal.bit() != 0 && !signal.is_realtime() {
        // It is there already, and whoever waits for it knows.
        return Some(Hears::Later);
    }
    pending.push(signal, *info);
    Some(hears)
}
