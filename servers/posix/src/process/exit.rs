//! The end of threads and processes.

use super::numbers::Owner;
use super::{Process, ProcessId, Signal, SpaceKey, Status, ThreadId};
use crate::Errno;
use crate::dispatch::{Arguments, Flow};
use crate::host::Host;
use crate::memory::space::View;
use crate::number::low_u32;
use crate::server::{Current, Server};
use crate::signal::Attention;
use crate::slots::Id;
use crate::user::UserPtr;

/// exit(2): the end of one thread.
pub fn exit<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let Current { thread, process, .. } = server.current()?;
    let status = code(arguments);
    if server.processes.get(process).is_some_and(|process| process.threads.len() == 1) {
        server.end_process(process, status);
    } else {
        server.end_thread(thread);
    }
    Ok(Flow::Gone)
}

/// exit_group(2): the end of the process.
pub fn exit_group<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let process = server.current()?.process;
    server.end_process(process, code(arguments));
    Ok(Flow::Gone)
}

fn code(arguments: Arguments) -> Status {
    Status::Exited(low_u32(arguments.word(0)).to_le_bytes()[0])
}

impl<H: Host> Server<H> {
    /// Ends the acting thread's process by a signal that nobody handles.
    pub fn kill_current(&mut self, signal: Signal) {
        if let Ok(current) = self.current() {
            self.end_process(current.process, Status::Killed(signal));
        }
    }

    /// Ends every thread of a process, gives back what it had, and tells its parent.
    pub fn end_process(&mut self, process: ProcessId, status: Status) {
        while let Some(thread) = self.processes.get(process).and_then(|record| record.threads.last().copied())
        {
            self.end_thread(thread);
        }
        let Some(record) = self.processes.get_mut(process).filter(|record| record.status.is_none()) else {
            return;
        };
        record.status = Some(status);
        let (space, files, pid) = (record.space, record.files, record.pid);
        self.leader_ends(process);
        self.forget_records(pid);
        self.leave_files(files);
        self.release_space(space);
        self.release_vforker(process);
        self.alarms.remove(process.number());
        self.look_after_groups(process);
        self.give_children_away(process);
        self.tell_end(process);
    }

    /// Ends one thread: its wait is called off, its futexes are told, its context is free.
    pub fn end_thread(&mut self, thread: ThreadId) {
        self.leave_futexes(thread);
        let Some(record) = self.threads.remove(thread) else { return };
        self.ready.remove(thread);
        self.free_contexts.push(record.context);
        if let Some(child) = record.vforked.and_then(|child| self.processes.get_mut(child)) {
            child.vforker = None;
        }
        if let Some(process) = self.processes.get_mut(record.process) {
            process.threads.retain(|other| *other != thread);
            process.last_name = record.name;
            if process.pid == record.tid {
                // The process keeps its number until it is reaped.
                self.numbers.set(record.tid, Owner::Process(record.process));
            } else {
                self.numbers.release(record.tid);
            }
            self.waits.wake_all(process.changed, &mut self.ready);
        }
        match record.parked {
            Some(parked) => self.unpark(parked, record.waiter),
            None if record.call.is_some() => self.abandoned.push(thread),
            None => {}
        }
        if let Some(waiter) = record.waiter {
            self.waits.leave(waiter);
        }
        if self.acting.is_some_and(|current| current.thread == thread) {
            self.acting = None;
            self.attention = Attention::Due;
        }
    }

    /// Robust futexes and clear_child_tid: what Linux does in mm_release, in the ending thread's space.
    pub(crate) fn leave_futexes(&mut self, thread: ThreadId) {
        let Some(record) = self.threads.get(thread) else { return };
        let (context, quiet) = (record.context, record.robust_list == 0 && record.clear_child_tid == 0);
        let Some(space) = self.process_of(thread).map(|process| process.space).filter(|_| !quiet) else {
            return;
        };
        // Its memory is reached as the ending thread, whoever acts now.
        let before = self.acting.filter(|current| current.thread != thread);
        if self.acting.is_none_or(|current| current.thread != thread) {
            self.host.switch(context);
        }
        self.release_robust(thread, space);
        self.clear_child_tid(thread, space);
        if let Some(before) = before
            && let Some(record) = self.threads.get(before.thread)
        {
            self.host.switch(record.context);
        }
    }

    fn process_of(&self, thread: ThreadId) -> Option<&Process> {
        self.processes.get(self.threads.get(thread)?.process)
    }

    fn clear_child_tid(&mut self, thread: ThreadId, space: SpaceKey) {
        let Some(address) = self.threads.get(thread).map(|record| record.clear_child_tid) else { return };
        // Linux does so only while somebody else uses the memory.
        let alone = self.spaces.get(space).is_none_or(|shared| shared.users == 1)
            && self.process_of(thread).is_none_or(|process| process.threads.len() == 1);
        if address == 0 || alone {
            return;
        }
        let Ok(pointer) = UserPtr::<u32>::new(address) else { return };
        let written = self.view_of(space).and_then(|mut view| view.write(pointer, &0));
        if written.is_ok() {
            // Nobody waits is no error.
            let _ = self.wake_futex(space, pointer, 1);
        }
    }

    /// One process less lives in a space; the last one empties it.
    pub fn release_space(&mut self, space: SpaceKey) {
        let Some(shared) = self.spaces.get_mut(space) else { return };
        shared.users = shared.users.saturating_sub(1);
        if shared.users != 0 {
            return;
        }
        View { host: &mut self.host, memory: &mut self.memory, space: &mut shared.space }.clear();
        let id = shared.space.id;
        self.spaces.remove(space);
        self.free_spaces.push(id);
    }
}
