//! Delivering: what signals do to a thread that is about to go on.

use super::action::{Action, Disposition, flags};
use super::frame::{Contents, FRAME_BYTES, UCONTEXT};
use super::info::Info;
use super::number::{DefaultAction, Signal};
use super::restart::{Meanwhile, Outcome, outcome};
use super::stack::Wants;
use super::{Attention, Stopped};
use crate::Errno;
use crate::dispatch::{Strace, strace};
use crate::executor::cx::Call;
use crate::host::{Exit, HandlerEntry, Host};
use crate::memory::space::View;
use crate::process::schedule::Next;
use crate::process::{ProcessId, SpaceKey, Status, ThreadId};
use crate::server::{Current, Server};

/// A call that has ended and whose thread does not know it yet.
#[derive(Clone, Copy, Debug)]
struct Ended {
    result: u64,
    /// What a restart puts back.
    first_argument: u64,
}

impl<H: Host> Server<H> {
    /// How the acting thread is entered after what is due to it; `None` when it does not go on: it waits, is stopped,
    /// or is no more. `result` is its call's when that has ended just now, and nothing of it was written down.
    ///
    /// As on Linux every signal that is not held off gets its frame, each on top of the one before, so that the
    /// handler of the last runs first.
    pub(crate) fn resume(&mut self, result: Option<u64>) -> Option<Next> {
        let Current { thread, process, space } = self.acting?;
        let record = self.threads.get_mut(thread)?;
        let mut ended = match (&record.call, result) {
            (_, Some(result)) => Some(Ended { result, first_argument: 0 }),
            (Some(call), None) if call.done => {
                Some(Ended { result: call.result, first_argument: call.arguments.word(0) })
            }
            (Some(_), None) => return None,
            (None, None) => None,
        };
        let interrupted = ended.is_some_and(|ended| Errno::restart(ended.result).is_some());
        if !interrupted
            && !self.is_stopped(thread)
            && let Some(record) = self.threads.get_mut(thread)
            && let Some(saved) = record.signals.saved_mask.take()
        {
            // The call has ended by itself: what its mask opened stays closed.
            record.mask = saved;
        }
        let context = loop {
            let record = self.threads.get_mut(thread)?;
            let owner = self.processes.get_mut(process)?;
            if owner.signals.stopped == Stopped::Yes {
                if let Some(result) = result.filter(|_| ended.is_some()) {
                    record.call = Some(Call::ended(result));
                }
                return None;
            }
            let context = record.context;
            let own = record.signals.pending.set() & !record.mask;
            let common = owner.signals.pending.set() & !record.mask;
            if own | common == 0 {
                // No handler has taken the mask that a call borrowed: it goes back, and may open something.
                let Some(saved) = record.signals.saved_mask.take() else { break context };
                record.mask = saved;
                continue;
            }
            let pending = if own != 0 { &mut record.signals.pending } else { &mut owner.signals.pending };
            let Some(signal) = pending.next(record.mask) else { break context };
            let action = owner.signals.actions.get(signal);
            let info = pending.take(signal);
            if action.disposition(signal) != Disposition::Handle {
                self.act_by_default(process, signal, &action);
                continue;
            }
            if action.flags & flags::RESETHAND != 0 {
                owner.signals.actions.reset(signal);
            }
            record.exit = Exit::Full;
            if let Some(ended) = ended.take() {
                match outcome(ended.result, Meanwhile::Handler(action.flags)) {
                    Outcome::Result(result) => self.host.finish_call(context, result),
                    Outcome::Again => self.host.restart_call(context, ended.first_argument),
                }
                if record.call.is_some() {
                    self.forget_call(thread);
                }
            }
            if self.enter_handler((thread, space), signal, &info, &action).is_err() {
                self.no_frame(thread, process, signal);
            }
        };
        if let Some(ended) = ended {
            match outcome(ended.result, Meanwhile::Nothing) {
                Outcome::Result(result) => self.host.set_result(context, result),
                Outcome::Again => {
                    self.host.restart_call(context, ended.first_argument);
                    self.threads.get_mut(thread)?.exit = Exit::Full;
                }
            }
            self.forget_call(thread);
        }
        // Whatever was due has been seen to.
        self.attention = Attention::Quiet;
        let exit = core::mem::replace(&mut self.threads.get_mut(thread)?.exit, Exit::Minimal);
        Some(Next::Enter(context, exit))
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

    /// Makes a frame and the handler's registers.
    #[inline]
    fn enter_handler(
        &mut self,
        (thread, space): (ThreadId, SpaceKey),
        signal: Signal,
        info: &Info,
        action: &Action,
    ) -> Result<(), Errno> {
        let record = self.threads.get_mut(thread).ok_or(Errno::ESRCH)?;
        let shared = self.spaces.get_mut(space).ok_or(Errno::ESRCH)?;
        let mut view = View { host: &mut self.host, memory: &mut self.memory, space: &mut shared.space };
        let context = record.context;
        let sp = view.host.stack_pointer(context);
        let wants = if action.flags & flags::ONSTACK != 0 { Wants::Alternate } else { Wants::Usual };
        let top = record.signals.stack.top(sp, wants, FRAME_BYTES).ok_or(Errno::EFAULT)?;
        let width = view.host.vector_width(context);
        let contents = Contents {
            info,
            stack: record.signals.stack.in_frame(),
            // The mask that a call borrowed is the handler's; the one to come back to is the frame's.
            mask: record.signals.saved_mask.unwrap_or(record.mask),
            access: record.signals.bad_access,
        };
        let frame = view.write_frame(context, top, width, &contents)?;
        let entry = HandlerEntry {
            pc: action.handler,
            stack: frame,
            returns: view.space.sigreturn,
            arguments: [u64::from(signal.0), frame, frame + UCONTEXT],
        };
        view.host.enter_handler(context, &entry);
        record.signals.saved_mask = None;
        record.signals.stack.entered();
        record.mask |= action.mask;
        if action.flags & flags::NODEFER == 0 {
            record.mask |= signal.bit();
        }
        Ok(())
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
