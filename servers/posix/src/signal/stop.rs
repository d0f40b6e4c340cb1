//! Stopping and going on.
//!
//! A stopped process's threads are not entered, and nothing else of them changes: a call that waits goes on
//! waiting, and has its result, or its time over, when they are let go on. So a stop interrupts no call, which
//! is what a restart of it comes to on Linux.

use super::number::Signal;
use super::{Attention, Stopped};
use crate::host::Host;
use crate::process::{Change, Pid, Process, ProcessId, ThreadId};
use crate::server::Server;
use alloc::vec::Vec;

impl<H: Host> Server<H> {
    /// A stop signal's default action.
    pub(crate) fn stop_process(&mut self, process: ProcessId, signal: Signal) {
        if signal != Signal::SIGSTOP && self.is_orphaned(process) {
            // Nobody could let it go on (POSIX: it is not stopped).
            return;
        }
        let acts = self.acting.is_some_and(|current| current.process == process);
        let Some(record) = self.processes.get_mut(process).filter(|record| record.status.is_none()) else {
            return;
        };
        if record.signals.stopped == Stopped::Yes {
            return;
        }
        record.signals.stopped = Stopped::Yes;
        record.change = Some(Change::Stopped(signal));
        if acts {
            self.attention = Attention::Due;
        }
        self.child_stopped_or_continued(process, Change::Stopped(signal));
    }

    /// SIGCONT, whatever else becomes of it.
    pub(crate) fn continue_process(&mut self, process: ProcessId) {
        let Some(record) =
            self.processes.get_mut(process).filter(|record| record.signals.stopped == Stopped::Yes)
        else {
            return;
        };
        record.signals.stopped = Stopped::No;
        record.change = Some(Change::Continued);
        for thread in &record.threads {
            // Who waits looks again and waits on.
            self.ready.push(*thread);
        }
        self.child_stopped_or_continued(process, Change::Continued);
    }

    /// Whether a thread's process is stopped.
    #[inline]
    pub(crate) fn is_stopped(&self, thread: ThreadId) -> bool {
        let process = self.threads.get(thread).and_then(|record| self.processes.get(record.process));
        process.is_some_and(|process| process.signals.stopped == Stopped::Yes)
    }

    /// Whether a process's group is orphaned.
    fn is_orphaned(&self, process: ProcessId) -> bool {
        self.processes
            .get(process)
            .is_none_or(|record| self.is_group_orphaned(record.group, record.session, None))
    }

    /// Whether no member of a group has a parent in its session but outside it, which could let it go on; as if
    /// `gone` were not there.
    pub(crate) fn is_group_orphaned(&self, group: Pid, session: Pid, gone: Option<ProcessId>) -> bool {
        let members = self.processes.iter().filter(|(process, record)| {
            record.group == group && record.status.is_none() && Some(*process) != gone
        });
        let mut parents = members.filter_map(|(_, record)| {
            self.processes.get(record.parent.filter(|parent| Some(*parent) != gone)?)
        });
        !parents.any(|parent| parent.session == session && parent.group != group)
    }

    /// A process is about to end: groups with stopped members that nobody is left to look after get SIGHUP and
    /// SIGCONT (POSIX, _exit).
    pub(crate) fn look_after_groups(&mut self, process: ProcessId) {
        let stopped = |record: &Process| record.signals.stopped == Stopped::Yes;
        if !self.processes.iter().any(|(_, record)| stopped(record)) {
            return;
        }
        let Some(record) = self.processes.get(process) else { return };
        let outside = |parent: &Process, child: &Process| {
            parent.session == child.session && parent.group != child.group
        };
        let parent = record.parent.and_then(|parent| self.processes.get(parent));
        let own = parent.filter(|parent| outside(parent, record)).map(|_| record.group);
        let children = record.children.iter().filter_map(|child| self.processes.get(*child));
        let of_children = children.filter(|child| outside(record, child)).map(|child| child.group);
        let session = record.session;
        let groups: Vec<Pid> = own.into_iter().chain(of_children).collect();
        for group in groups {
            let member = |record: &Process| record.group == group && stopped(record);
            let waits = self.processes.iter().any(|(other, record)| other != process && member(record));
            if waits && self.is_group_orphaned(group, session, Some(process)) {
                self.send_to_group_from_kernel(group, Signal::SIGHUP);
                self.send_to_group_from_kernel(group, Signal::SIGCONT);
            }
        }
    }
}
