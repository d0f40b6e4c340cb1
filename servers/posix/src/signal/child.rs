//! What signals say of families: SIGCHLD, and the end of parents.

use super::action::{Disposition, flags};
use super::info::{Info, code};
use super::number::Signal;
use super::send::Target;
use crate::host::Host;
use crate::process::{Change, ProcessId, Status};
use crate::server::Server;
use crate::time::clock::SECOND_NS;

/// What becomes of a dead process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remains {
    /// Somebody may wait for it.
    Stay,
    /// Its parent said that it does not.
    Go,
}

impl<H: Host> Server<H> {
    /// Tells a parent that a child has ended (Linux's do_notify_parent).
    pub(crate) fn child_ended(&mut self, parent: ProcessId, child: ProcessId, status: Status) -> Remains {
        let Some(signal) = self.processes.get(child).and_then(|record| record.exit_signal) else {
            return Remains::Stay;
        };
        let action = self.action(parent, signal);
        let ignored = action.disposition(signal) == Disposition::Ignore;
        let alone = signal == Signal::SIGCHLD && (ignored || action.flags & flags::NOCLDWAIT != 0);
        if !(alone && ignored) {
            self.send_of_child(parent, child, signal, status.code_and_status());
        }
        if alone { Remains::Go } else { Remains::Stay }
    }

    /// Tells a parent that a child was stopped or goes on.
    pub(crate) fn child_stopped_or_continued(&mut self, child: ProcessId, change: Change) {
        let Some(parent) = self.processes.get(child).and_then(|record| record.parent) else { return };
        self.child_changed(Some(parent));
        let action = self.action(parent, Signal::SIGCHLD);
        if action.flags & flags::NOCLDSTOP == 0 {
            self.send_of_child(parent, child, Signal::SIGCHLD, change.code_and_status());
        }
    }

    /// A process's parent has ended, and it wanted to be told (PR_SET_PDEATHSIG).
    pub(crate) fn parent_died(&mut self, child: ProcessId, parent: (u32, u32), signal: Signal) {
        let info = Info::user(signal, code::SI_USER, parent.0, parent.1);
        // It is no signal of sigqueue's, so that no limit refuses it.
        let _ = self.send_signal(Target::Process(child), signal, info);
    }

    fn send_of_child(&mut self, parent: ProcessId, child: ProcessId, signal: Signal, what: (u32, u32)) {
        const TICK_NS: u64 = SECOND_NS / 100;
        let Some(record) = self.processes.get(child) else { return };
        let user = record.credentials.user.real;
        let info = Info::child(signal, what, record.pid.0, user, record.cpu_ns / TICK_NS);
        // An exit signal may be a realtime one; if queues are full it is lost, as on Linux.
        let _ = self.send_signal(Target::Process(parent), signal, info);
    }
}
