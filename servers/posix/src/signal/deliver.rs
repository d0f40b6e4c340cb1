//! Delivering: what signals do to a thread that is about to go on.

use super::action::{Action, Disposition, flags};
use super::frame::{Contents, FRAME_BYTES, UCONTEXT};
use super::info::{Info, code};
use super::number::{DefaultAction, NEVER, STOPS, Signal};
use super::pending::Pending;
use super::restart::{Meanwhile, Outcome, outcome};
use super::stack::{AlternateStack, Wants};
use super::{Attention, Stopped, ThreadSignals};
use crate::Errno;
use crate::dispatch::{Flow, Strace, strace};
use crate::executor::cx::Call;
use crate::host::{ContextId, Exit, HandlerEntry, Host};
use crate::memory::space::View;
use crate::number::low_u32;
use crate::process::schedule::Next;
use crate::process::{ProcessId, Status, Thread, ThreadId};
use crate::server::{Current, Server};

/// A call that has ended and whose thread does not know it yet.
#[derive(Clone, Copy, Debug)]
struct Ended {
    result: u64,
    /// What a restart puts back.
    first_argument: u64,
}

/// How a call ends to which a signal comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    /// With its result, which no signal changes, and with the mask that it began with.
    Plainly,
    /// Perhaps as one that was interrupted.
    Somehow,
}

/// What became of a signal with a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivered {
    /// The context is the handler's, to be entered in full.
    Entered(ContextId),
    /// There was no room for its frame, and another signal says so.
    NoFrame,
}

impl<H: Host> Server<H> {
    /// How the acting thread is entered after what is due to it; `None` when it does not go on: it waits, is stopped,
    /// or is no more. `result` is its call's when that has ended just now, and nothing of it was written down.
    #[inline]
    pub(crate) fn resume(&mut self, result: Option<u64>) -> Option<Next> {
        let Current { thread, process, .. } = self.acting?;
        let record = self.threads.get_mut(thread)?;
        let owner = self.processes.get_mut(process)?;
        let signals = (record.signals.pending.set() | owner.signals.pending.set()) & !record.mask;
        if signals != 0
            || record.call.is_some()
            || record.signals.saved_mask.is_some()
            || owner.signals.stopped == Stopped::Yes
        {
            return self.deliver_one(result).or_else(|| self.deliver(result));
        }
        if let Some(result) = result {
            self.host.set_result(record.context, result);
        }
        // Whatever was due has been seen to.
        self.attention = Attention::Quiet;
        Some(Next::Enter(record.context, core::mem::replace(&mut record.exit, Exit::Minimal)))
    }

    /// The same for one signal with a handler, as [`Server::deliver`] does it: the usual case, in one look. `None` is
    /// for every other case, of which nothing was done.
    #[inline(never)]
    pub(crate) fn deliver_one(&mut self, result: Option<u64>) -> Option<Next> {
        match self.deliver_usual(result, Ends::Somehow)? {
            Delivered::Entered(context) => Some(Next::Enter(context, Exit::Full)),
            Delivered::NoFrame => self.resume(None),
        }
    }

    /// [`Server::deliver_one`] at the end of a call that was never interrupted.
    #[inline(always)] // One function with its caller: registers are saved once.
    pub(crate) fn deliver_at_end(&mut self, result: u64) -> Option<Delivered> {
        self.deliver_usual(Some(result), Ends::Plainly)
    }

    #[inline(always)] // As its two callers.
    fn deliver_usual(&mut self, result: Option<u64>, ends: Ends) -> Option<Delivered> {
        let Current { thread, process, space } = self.acting?;
        let record = self.threads.get_mut(thread)?;
        let owner = self.processes.get_mut(process)?;
        let (own, common) = (record.signals.pending.set(), owner.signals.pending.set());
        let open = (own | common) & !record.mask;
        let signal = Signal::lowest(open)?;
        let (action, held) = (owner.signals.actions.get(signal), owner.signals.actions.held(signal));
        if open != signal.bit()
            || own & common & open != 0
            || action.disposition(signal) != Disposition::Handle
            || action.flags & flags::RESETHAND != 0
            || owner.signals.stopped == Stopped::Yes
            || self.strace == Strace::On
        {
            return None;
        }
        let ended = match (result, &record.call) {
            (Some(result), None) => Some(Ended { result, first_argument: 0 }),
            (None, Some(call)) if call.done => {
                Some(Ended { result: call.result, first_argument: call.arguments.word(0) })
            }
            (None, None) => None,
            (_, Some(_)) => return None,
        };
        let interrupted =
            ends == Ends::Somehow && ended.is_some_and(|ended| Errno::restart(ended.result).is_some());
        if record.signals.saved_mask.is_some() && !interrupted {
            return None;
        }
        let (mut handled, pending) = Handled::of(record);
        let pending = if own & open != 0 { pending } else { &mut owner.signals.pending };
        let info = pending.only(signal)?;
        let shared = self.spaces.get_mut(space)?;
        let mut view = View { host: &mut self.host, memory: &mut self.memory, space: &mut shared.space };
        let context = handled.context;
        if let Some(ended) = ended {
            let outcome = match ends {
                Ends::Plainly => Outcome::Result(ended.result),
                Ends::Somehow => outcome(ended.result, Meanwhile::Handler(action.flags)),
            };
            match outcome {
                Outcome::Result(result) => view.host.finish_call(context, result),
                Outcome::Again => view.host.restart_call(context, ended.first_argument),
            }
        }
        let done = view.handle(&mut handled, signal, info, (&action, held));
        pending.remove_only(signal);
        record.call = None;
        if done.is_err() {
            record.exit = Exit::Full;
            self.no_frame(thread, process, signal);
            return Some(Delivered::NoFrame);
        }
        // Only this one was open, and it is gone.
        self.attention = Attention::Quiet;
        record.exit = Exit::Minimal;
        Some(Delivered::Entered(context))
    }

    /// The same when there is more to it.
    ///
    /// As on Linux every signal that is not held off gets its frame, each on top of the one before, so that the
    /// handler of the last runs first.
    #[inline(never)]
    fn deliver(&mut self, result: Option<u64>) -> Option<Next> {
        let Current { thread, process, space } = self.acting?;
        let record = self.threads.get_mut(thread)?;
        let owner = self.processes.get(process)?;
        let mut ended = match (&record.call, result) {
            (None, Some(result)) => Some(Ended { result, first_argument: 0 }),
            (Some(call), _) if call.done => {
                Some(Ended { result: call.result, first_argument: call.arguments.word(0) })
            }
            (Some(_), _) => return None,
            (None, None) => None,
        };
        if owner.signals.stopped == Stopped::No
            && ended.is_none_or(|ended| Errno::restart(ended.result).is_none())
            && let Some(saved) = record.signals.saved_mask.take()
        {
            // The call has ended by itself: what its mask opened stays closed.
            record.mask = saved;
        }
        loop {
            let record = self.threads.get_mut(thread)?;
            let owner = self.processes.get_mut(process)?;
            let context = record.context;
            if owner.signals.stopped == Stopped::Yes {
                if let Some(ended) = ended
                    && record.call.is_none()
                {
                    record.call = Some(Call::ended(ended.result));
                }
                return None;
            }
            let own = record.signals.pending.set() & !record.mask;
            let common = owner.signals.pending.set() & !record.mask;
            if own | common == 0 {
                // No handler has taken the mask that a call borrowed: it goes back, and may open something.
                if let Some(saved) = record.signals.saved_mask.take() {
                    record.mask = saved;
                    continue;
                }
                if let Some(ended) = ended {
                    match outcome(ended.result, Meanwhile::Nothing) {
                        Outcome::Result(result) => self.host.set_result(context, result),
                        Outcome::Again => {
                            record.exit = Exit::Full;
                            self.host.restart_call(context, ended.first_argument);
                        }
                    }
                }
                // Whatever was due has been seen to.
                self.attention = Attention::Quiet;
                let exit = core::mem::replace(&mut record.exit, Exit::Minimal);
                if record.call.is_some() {
                    self.forget_call(thread);
                }
                return Some(Next::Enter(context, exit));
            }
            let pending = if own != 0 { &mut record.signals.pending } else { &mut owner.signals.pending };
            let signal = pending.next(record.mask)?;
            let (action, held) = (owner.signals.actions.get(signal), owner.signals.actions.held(signal));
            if action.disposition(signal) != Disposition::Handle {
                pending.take(signal);
                self.act_by_default(process, signal, &action);
                continue;
            }
            record.exit = Exit::Full;
            if let Some(ended) = ended.take() {
                match outcome(ended.result, Meanwhile::Handler(action.flags)) {
                    Outcome::Result(result) => self.host.finish_call(context, result),
                    Outcome::Again => self.host.restart_call(context, ended.first_argument),
                }
            }
            if action.flags & flags::RESETHAND != 0 {
                owner.signals.actions.reset(signal);
            }
            let shared = self.spaces.get_mut(space)?;
            let mut view = View { host: &mut self.host, memory: &mut self.memory, space: &mut shared.space };
            let info = pending.take(signal);
            if view.handle_any(&mut Handled::of(record).0, signal, &info, (&action, held)).is_err() {
                self.no_frame(thread, process, signal);
                continue;
            }
            if record.call.is_some() {
                self.forget_call(thread);
            }
        }
    }

    /// The acting thread, alone in its process, sends itself a signal that has a handler. Where it holds the signal off
    /// the signal waits; else the handler is entered at once: the call's end and the delivery in one, without a queue
    /// between. `None` is for every other case, of which nothing was done.
    #[inline(always)] // One of two callers each, which have no registers to keep.
    pub(crate) fn raise_own(&mut self, group: Option<i32>, tid: i32, number: u64) -> Option<Flow> {
        let Current { thread, process, space } = self.acting?;
        let record = self.threads.get_mut(thread)?;
        let owner = self.processes.get_mut(process)?;
        let signal = Signal::new(u64::from(low_u32(number)))?;
        let pid = owner.pid.0;
        if record.tid.0 != tid.cast_unsigned() || group.is_some_and(|group| pid != group.cast_unsigned()) {
            return None;
        }
        let (own, common) = (&record.signals.pending, &owner.signals.pending);
        let queued = own.queued() + common.queued();
        let waiting = own.set() | common.set();
        let (action, held) = (owner.signals.actions.get(signal), owner.signals.actions.held(signal));
        if (waiting | STOPS | NEVER | Signal::SIGCONT.bit()) & signal.bit() != 0
            || action.disposition(signal) != Disposition::Handle
            || owner.threads.len() != 1
            || queued as u64 >= owner.limits.signals()
            || owner.signals.stopped == Stopped::Yes
            || !self.ready.is_empty()
        {
            return None;
        }
        let user = owner.credentials.user.real;
        if record.mask & signal.bit() != 0 {
            record.signals.pending.push(signal, Info::user(signal, code::SI_TKILL, pid, user));
            // Nobody was ready before.
            return Some(if self.tell_readers() { Flow::Woke(0) } else { Flow::Done(0) });
        }
        if waiting & !record.mask != 0 || action.flags & flags::RESETHAND != 0 || self.strace == Strace::On {
            return None;
        }
        let shared = self.spaces.get_mut(space)?;
        let mut view = View { host: &mut self.host, memory: &mut self.memory, space: &mut shared.space };
        let info = Info::user(signal, code::SI_TKILL, pid, user);
        view.host.finish_call(record.context, 0);
        record.exit = Exit::Full;
        if view.handle(&mut Handled::of(record).0, signal, &info, (&action, held)).is_err() {
            self.no_frame(thread, process, signal);
            return Some(if self.acting.is_some() { Flow::Replaced } else { Flow::Gone });
        }
        let Some(flags) = self.host.enter_flags(record.context) else { return Some(Flow::Replaced) };
        record.exit = Exit::Minimal;
        Some(Flow::Enter(flags))
    }

    /// The result of a thread's call has gone to its registers.
    fn forget_call(&mut self, thread: ThreadId) {
        let Some(record) = self.threads.get_mut(thread) else { return };
        if let Some(call) = record.call.take()
            && self.strace == Strace::On
        {
            strace::resumed(self, &call);
        }
    }

    /// What a signal without a handler does.
    #[cold]
    fn act_by_default(&mut self, process: ProcessId, signal: Signal, action: &Action) {
        match action.disposition(signal) {
            Disposition::Default(DefaultAction::Terminate) => {
                self.end_process(process, Status::Killed(signal))
            }
            Disposition::Default(DefaultAction::Stop) => self.stop_process(process, signal),
            Disposition::Default(DefaultAction::Ignore) | Disposition::Ignore | Disposition::Handle => {}
        }
    }

    /// There is no room for a frame: SIGSEGV, which kills when it was SIGSEGV's own (Linux's force_sigsegv).
    #[cold]
    fn no_frame(&mut self, thread: ThreadId, process: ProcessId, signal: Signal) {
        if signal == Signal::SIGSEGV {
            self.end_process(process, Status::Killed(signal));
        } else {
            self.force(thread, Info::BAD_FRAME);
        }
    }

    /// A signal that its thread cannot put off: of a fault, or of a frame that cannot be used. One that is held
    /// off or ignored kills (Linux's force_sig_info_to_task).
    pub(crate) fn force(&mut self, thread: ThreadId, info: Info) {
        let Some(signal) = info.signal() else { return };
        let Some(record) = self.threads.get_mut(thread) else { return };
        let process = record.process;
        let held = record.mask & signal.bit() != 0;
        record.mask &= !signal.bit();
        let action = self.action(process, signal);
        if held || action.disposition(signal) != Disposition::Handle {
            self.end_process(process, Status::Killed(signal));
            return;
        }
        if let Some(record) = self.threads.get_mut(thread) {
            // A standard signal is there once; this one's siginfo is the one that counts.
            record.signals.pending.forget(signal.bit());
            record.signals.pending.push(signal, info);
        }
    }
}

/// What a handler's entry takes and changes of its thread.
#[derive(Debug)]
struct Handled<'a> {
    context: ContextId,
    mask: &'a mut u64,
    saved_mask: &'a mut Option<u64>,
    /// The mask to come back to: where a call borrowed another one, that is the handler's.
    before: u64,
    stack: &'a mut AlternateStack,
    bad_access: u32,
}

impl<'a> Handled<'a> {
    /// Of a thread; beside it, what is pending for that.
    #[inline(always)] // No instruction at all.
    const fn of(thread: &'a mut Thread) -> (Self, &'a mut Pending) {
        let ThreadSignals { saved_mask, pending, stack, bad_access, .. } = &mut thread.signals;
        let (context, mask, bad_access) = (thread.context, &mut thread.mask, *bad_access);
        let before = match saved_mask {
            Some(saved) => *saved,
            None => *mask,
        };
        (Self { context, mask, saved_mask, before, stack, bad_access }, pending)
    }
}

impl<H: Host> View<'_, H> {
    /// Makes a frame and the handler's registers of a thread whose context is complete; with the signal's action comes
    /// what is held off meanwhile.
    ///
    /// # Errors
    /// EFAULT when there is no room for the frame; then nothing of the thread has changed.
    #[inline(always)] // What it would save and load are a fifth of what it does.
    fn handle(
        &mut self,
        thread: &mut Handled<'_>,
        signal: Signal,
        info: &Info,
        (action, held): (&Action, u64),
    ) -> Result<(), Errno> {
        let context = thread.context;
        let sp = self.host.stack_pointer(context);
        let wants = if action.flags & flags::ONSTACK != 0 { Wants::Alternate } else { Wants::Usual };
        let top = thread.stack.top(sp, wants, FRAME_BYTES).ok_or(Errno::EFAULT)?;
        let width = self.host.vector_width(context);
        let contents =
            Contents { info, stack: thread.stack.in_frame(), mask: thread.before, access: thread.bad_access };
        let frame = self.write_frame(context, top, width, &contents)?;
        let entry = HandlerEntry {
            pc: action.handler,
            stack: frame,
            returns: self.space.sigreturn,
            arguments: [u64::from(signal.0), frame, frame + UCONTEXT],
        };
        self.host.enter_handler(context, &entry);
        *thread.saved_mask = None;
        thread.stack.entered();
        *thread.mask |= held;
        Ok(())
    }

    /// The same, out of the way.
    #[inline(never)]
    fn handle_any(
        &mut self,
        thread: &mut Handled<'_>,
        signal: Signal,
        info: &Info,
        (action, held): (&Action, u64),
    ) -> Result<(), Errno> {
        self.handle(thread, signal, info, (action, held))
    }
}
