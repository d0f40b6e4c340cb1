//! Delivering: what signals do to a thread that is about to go on.

use super::action::{Action, Disposition, flags};
use super::frame::{Contents, FRAME_BYTES, UCONTEXT};
use super::info::Info;
use super::number::{DefaultAction, Signal};
use super::restart::{Meanwhile, Outcome, outcome};
use super::stack::Wants;
use crate::Errno;
use crate::dispatch::{Strace, strace};
use crate::executor::cx::Call;
use crate::host::{ContextId, Exit, HandlerEntry, Host};
use crate::process::{ProcessId, Status, ThreadId};
use crate::server::Server;

/// What became of one signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delivered {
    /// It came to nothing, or its handler is entered: there may be more.
    More,
    /// The thread does not go on.
    Halt,
}

impl<H: Host> Server<H> {
    /// Delivers what a thread, which acts, can get now, and finishes its call; `None` when it does not go on.
    ///
    /// As on Linux every signal that is not held off gets its frame, each on top of the one before, so that the
    /// handler of the last runs first.
    pub(crate) fn deliver(&mut self, thread: ThreadId) -> Option<()> {
        let record = self.threads.get_mut(thread)?;
        let process = record.process;
        let mut call = record.call.take();
        if call.is_none_or(|call| Errno::restart(call.result).is_none())
            && let Some(saved) = record.signals.saved_mask.take()
        {
            // The call has ended by itself: what its mask opened stays closed.
            record.mask = saved;
        }
        loop {
            while let Some(info) = self.take_signal(thread, mask_now(self, thread)) {
                if self.deliver_one(thread, process, &info, &mut call) == Delivered::Halt {
                    if let Some(record) = self.threads.get_mut(thread) {
                        record.call = call;
                    }
                    return None;
                }
            }
            let record = self.threads.get_mut(thread)?;
            // No handler has taken the mask that a call borrowed: it goes back, and may open something.
            let Some(saved) = record.signals.saved_mask.take() else { break };
            record.mask = saved;
        }
        if let Some(call) = call.take() {
            self.finish(thread, &call, Meanwhile::Nothing);
        }
        Some(())
    }

    fn deliver_one(
        &mut self,
        thread: ThreadId,
        process: ProcessId,
        info: &Info,
        call: &mut Option<Call>,
    ) -> Delivered {
        let Some(signal) = info.signal() else { return Delivered::More };
        let action = self.action(process, signal);
        match action.disposition(signal) {
            Disposition::Ignore | Disposition::Default(DefaultAction::Ignore) => Delivered::More,
            Disposition::Default(DefaultAction::Terminate) => {
                self.end_process(process, Status::Killed(signal));
                Delivered::Halt
            }
            Disposition::Default(DefaultAction::Stop) => {
                self.stop_process(process, signal);
                if self.is_stopped(thread) { Delivered::Halt } else { Delivered::More }
            }
            Disposition::Handle => {
                if let Some(call) = call.take() {
                    self.finish(thread, &call, Meanwhile::Handler(action.flags));
                }
                if self.enter_handler(thread, process, signal, info, &action).is_err() {
                    self.no_frame(thread, process, signal);
                }
                if self.threads.get(thread).is_some() { Delivered::More } else { Delivered::Halt }
            }
        }
    }

    /// There is no room for a frame: SIGSEGV, which kills when it was SIGSEGV's own (Linux's force_sigsegv).
    fn no_frame(&mut self, thread: ThreadId, process: ProcessId, signal: Signal) {
        if signal == Signal::SIGSEGV {
            self.end_process(process, Status::Killed(signal));
        } else {
            self.force(thread, Info::BAD_FRAME);
        }
    }

    /// The result of a call, or the call once more, goes to the thread's context.
    fn finish(&mut self, thread: ThreadId, call: &Call, meanwhile: Meanwhile) {
        let Some(record) = self.threads.get_mut(thread) else { return };
        let context = record.context;
        let outcome = outcome(call.result, meanwhile);
        if self.strace == Strace::On {
            strace::resumed(self, call);
        }
        match (outcome, meanwhile) {
            (Outcome::Result(result), Meanwhile::Nothing) => self.host.set_result(context, result),
            (Outcome::Result(result), Meanwhile::Handler(_)) => self.host.finish_call(context, result),
            (Outcome::Again, _) => self.host.restart_call(context, call.arguments.word(0)),
        }
        if (outcome, meanwhile) != (Outcome::Result(call.result), Meanwhile::Nothing)
            && let Some(record) = self.threads.get_mut(thread)
        {
            record.exit = Exit::Full;
        }
    }

    /// Makes a frame and the handler's registers.
    fn enter_handler(
        &mut self,
        thread: ThreadId,
        process: ProcessId,
        signal: Signal,
        info: &Info,
        action: &Action,
    ) -> Result<(), Errno> {
        if action.flags & flags::RESETHAND != 0
            && let Some(record) = self.processes.get_mut(process)
        {
            record.signals.actions.reset(signal);
        }
        let record = self.threads.get_mut(thread).ok_or(Errno::ESRCH)?;
        let context: ContextId = record.context;
        record.exit = Exit::Full;
        let stack = record.signals.stack;
        // The mask that a call borrowed is the handler's; the one to come back to is the frame's.
        let mask = record.signals.saved_mask.take().unwrap_or(record.mask);
        let access = record.signals.bad_access;
        let sp = self.host.stack_pointer(context);
        let wants = if action.flags & flags::ONSTACK != 0 { Wants::Alternate } else { Wants::Usual };
        let top = stack.top(sp, wants, FRAME_BYTES).ok_or(Errno::EFAULT)?;
        let width = self.host.vector_width(context);
        let contents = Contents { info, stack: stack.words(), mask, access };
        let mut view = self.view()?;
        let layout = view.write_frame(context, top, width, &contents)?;
        let returns = view.space.sigreturn;
        let entry = HandlerEntry {
            pc: action.handler,
            stack: layout.sp,
            returns,
            arguments: [u64::from(signal.0), layout.sp, layout.sp + UCONTEXT],
        };
        self.host.enter_handler(context, &entry);
        let record = self.threads.get_mut(thread).ok_or(Errno::ESRCH)?;
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

fn mask_now<H: Host>(server: &Server<H>, thread: ThreadId) -> u64 {
    server.threads.get(thread).map_or(u64::MAX, |record| record.mask)
}
