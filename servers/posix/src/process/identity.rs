//! Who a thread is: pids, names, and the addresses that it registers.

use super::credentials::Credentials;
use super::{ProcessId, Thread, ThreadId};
use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::{Host, Identity};
use crate::server::Server;

/// getpid(2).
pub fn getpid<H: Host>(server: &mut Server<H>, _: Arguments) -> Result<u64, Errno> {
    Ok(u64::from(server.process()?.pid.0))
}

/// gettid(2).
pub fn gettid<H: Host>(server: &mut Server<H>, _: Arguments) -> Result<u64, Errno> {
    Ok(u64::from(server.thread()?.tid.0))
}

/// getppid(2): init's for a program that the server itself started, and for an orphan.
pub fn getppid<H: Host>(server: &mut Server<H>, _: Arguments) -> Result<u64, Errno> {
    Ok(u64::from(server.parent_number(server.process()?).0))
}

/// set_tid_address(2).
pub fn set_tid_address<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let thread = server.thread_mut()?;
    thread.clear_child_tid = arguments.word(0);
    Ok(u64::from(thread.tid.0))
}

impl<H: Host> Server<H> {
    /// As [`Server::tell_identity`], for every thread of a process.
    pub(crate) fn tell_identities(&mut self, process: ProcessId) {
        for number in 0.. {
            let thread = self.processes.get(process).and_then(|record| record.threads.get(number));
            let Some(thread) = thread.copied() else { break };
            self.tell_identity(thread);
        }
    }

    /// Tells the host what a thread's leaf handlers answer: after its start and every change.
    pub(crate) fn tell_identity(&mut self, id: ThreadId) {
        let Some(thread) = self.threads.get(id) else { return };
        let Some(process) = self.processes.get(thread.process) else { return };
        let Credentials { user, group, .. } = &process.credentials;
        let identity = Identity {
            pid: process.pid.0,
            tid: thread.tid.0,
            parent: self.parent_number(process).0,
            user: user.real,
            effective_user: user.effective,
            group: group.real,
            effective_group: group.effective,
        };
        self.host.set_identity(thread.context, &identity);
    }
}

impl Thread {
    /// A name in the form that Linux keeps: cut to 15 bytes, ended by zeros.
    pub fn name_of(text: &[u8]) -> [u8; 16] {
        let mut name = [0; 16];
        for (place, byte) in name.iter_mut().take(15).zip(text) {
            *place = *byte;
        }
        name
    }
}
