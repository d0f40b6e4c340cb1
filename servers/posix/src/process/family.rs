//! Parents and children: who gets a process's end, and who gets its children.
//!
//! Init is the server itself, under the number 1, as the small init is that container runtimes start before the
//! first program: the programs that the server starts are its children, each the leader of a session of its
//! own. It adopts orphans and reaps them at once. It is no program: signals to it do nothing. When the last
//! program that the server started has ended, what else still runs is killed, as when a container ends.

use super::{Adopts, Origin, Pid, Process, ProcessId, Signal, Status};
use crate::host::Host;
use crate::server::{Event, Server};
use crate::signal::child::Remains;
use crate::slots::Id;

impl<H: Host> Server<H> {
    /// The pid of a process's parent; init's for a program that the server started, and for an orphan.
    pub(crate) fn parent_number(&self, process: &Process) -> Pid {
        let parent = process.parent.and_then(|parent| self.processes.get(parent));
        parent.map_or(super::numbers::INIT, |parent| parent.pid)
    }

    /// The children of a process that ends get a new parent; dead ones are reaped if that is init.
    pub(super) fn give_children_away(&mut self, process: ProcessId) {
        let Some(record) = self.processes.get_mut(process) else { return };
        let children = core::mem::take(&mut record.children);
        let who = (record.pid.0, record.credentials.user.real);
        if children.is_empty() {
            return;
        }
        let adopter = self.adopter(process);
        for child in children {
            let Some(record) = self.processes.get_mut(child) else { continue };
            record.parent = adopter;
            record.exit_signal = Some(Signal::SIGCHLD);
            let dead = record.status.is_some();
            let asked = record.parent_death;
            if let Some(adopter) = adopter.and_then(|adopter| self.processes.get_mut(adopter)) {
                adopter.children.push(child);
            }
            if dead {
                self.tell_end(child);
                continue;
            }
            self.tell_identities(child);
            if let Some(signal) = asked {
                self.parent_died(child, who, signal);
            }
        }
    }

    /// The nearest living ancestor that adopts, or init.
    fn adopter(&self, process: ProcessId) -> Option<ProcessId> {
        let mut ancestor = self.processes.get(process)?.parent;
        while let Some(id) = ancestor {
            let record = self.processes.get(id)?;
            if record.adopts == Adopts::Descendants && record.status.is_none() {
                return Some(id);
            }
            ancestor = record.parent;
        }
        None
    }

    /// A process has ended: its parent is told, or init, which wants to know of its own programs only.
    pub(super) fn tell_end(&mut self, process: ProcessId) {
        let Some(record) = self.processes.get(process) else { return };
        let (pid, parent, origin) = (record.pid, record.parent, record.origin);
        let Some(status) = record.status else { return };
        match parent {
            Some(parent) => {
                if self.child_ended(parent, process, status) == Remains::Go {
                    self.reap(process);
                }
                self.child_changed(Some(parent));
            }
            None => {
                self.reap(process);
                if origin == Origin::Server {
                    self.events.push_back(Event::Ended(pid, status));
                    self.end_the_rest();
                }
            }
        }
    }

    /// Wakes those who wait for a process's children.
    pub(crate) fn child_changed(&mut self, parent: Option<ProcessId>) {
        if let Some(parent) = parent.and_then(|parent| self.processes.get(parent)) {
            self.waits.wake_all(parent.changed, &mut self.ready);
        }
    }

    /// Forgets a process that ended and whose status somebody took, or nobody wants.
    pub(crate) fn reap(&mut self, process: ProcessId) {
        let Some(record) = self.processes.remove(process) else { return };
        self.alarms.remove(process.number());
        self.waits.destroy(record.changed, &mut self.ready);
        self.numbers.release(record.pid);
        self.numbers.leave(record.group);
        self.numbers.leave(record.session);
        if let Some(parent) = record.parent.and_then(|parent| self.processes.get_mut(parent)) {
            parent.children.retain(|child| *child != process);
        }
    }

    /// Kills everything when no program that the server started is left.
    fn end_the_rest(&mut self) {
        let lives = |record: &Process| record.status.is_none();
        if self.processes.iter().any(|(_, record)| record.origin == Origin::Server && lives(record)) {
            return;
        }
        loop {
            let left = self.processes.iter().find(|(_, record)| lives(record)).map(|(process, _)| process);
            let Some(process) = left else { return };
            self.end_process(process, Status::Killed(Signal::SIGKILL));
        }
    }

    /// Lets the thread go on that lent the process its memory (vfork), if there is one.
    pub(crate) fn release_vforker(&mut self, process: ProcessId) {
        let Some(thread) = self.processes.get_mut(process).and_then(|record| record.vforker.take()) else {
            return;
        };
        let Some(record) = self.threads.get_mut(thread) else { return };
        record.vforked = None;
        let parent = record.process;
        self.child_changed(Some(parent));
    }
}
