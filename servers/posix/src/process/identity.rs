//! Who a thread is: pids, names, and the addresses that it registers.

use super::credentials::Credentials;
use super::{Thread, ThreadId};
use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::{Host, Identity};
use crate::number::low_u32;
use crate::server::Server;
use crate::user::UserSlice;

/// getpid(2).
pub fn getpid<H: Host>(server: &mut Server<H>, _: Arguments) -> Result<u64, Errno> {
    Ok(u64::from(server.process()?.pid.0))
}

/// gettid(2).
pub fn gettid<H: Host>(server: &mut Server<H>, _: Arguments) -> Result<u64, Errno> {
    Ok(u64::from(server.thread()?.tid.0))
}

/// getppid(2): 0 for a program that the server itself started.
pub fn getppid<H: Host>(server: &mut Server<H>, _: Arguments) -> Result<u64, Errno> {
    let parent = server.process()?.parent.and_then(|parent| server.processes.get(parent));
    Ok(parent.map_or(0, |parent| u64::from(parent.pid.0)))
}

/// set_tid_address(2).
pub fn set_tid_address<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let thread = server.thread_mut()?;
    thread.clear_child_tid = arguments.word(0);
    Ok(u64::from(thread.tid.0))
}

const PR_SET_PDEATHSIG: u32 = 1;
const PR_GET_PDEATHSIG: u32 = 2;
const PR_GET_DUMPABLE: u32 = 3;
const PR_SET_NAME: u32 = 15;
const PR_GET_NAME: u32 = 16;
const PR_GET_SECUREBITS: u32 = 27;
const PR_GET_NO_NEW_PRIVS: u32 = 39;
const NAME_BYTES: u64 = 16;

/// prctl(2): names; EINVAL for what is not there, as Linux answers unknown options.
pub fn prctl<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    match low_u32(arguments.word(0)) {
        PR_SET_NAME => {
            let mut text = alloc::vec::Vec::new();
            let result = server.view()?.read_string(arguments.word(1), 15, &mut text);
            // A longer name is cut, not refused.
            result.or_else(|error| if error == Errno::ENAMETOOLONG { Ok(()) } else { Err(error) })?;
            server.thread_mut()?.name = Thread::name_of(&text);
            Ok(0)
        }
        PR_GET_NAME => {
            let name = server.thread()?.name;
            server.view()?.write_bytes(&name, UserSlice::new(arguments.word(1), NAME_BYTES)?)?;
            Ok(0)
        }
        PR_GET_DUMPABLE => Ok(1),
        PR_GET_SECUREBITS | PR_GET_NO_NEW_PRIVS => Ok(0),
        // Named so that strace readers see that they are known: no parent's death to be told of yet.
        PR_SET_PDEATHSIG | PR_GET_PDEATHSIG => Err(Errno::EINVAL),
        _ => Err(Errno::EINVAL),
    }
}

impl<H: Host> Server<H> {
    /// Tells the host what a thread's leaf handlers answer: after its start and every change.
    pub(crate) fn tell_identity(&mut self, id: ThreadId) {
        let Some(thread) = self.threads.get(id) else { return };
        let Some(process) = self.processes.get(thread.process) else { return };
        let parent = process.parent.and_then(|parent| self.processes.get(parent));
        let Credentials { user, group, .. } = &process.credentials;
        let identity = Identity {
            pid: process.pid.0,
            tid: thread.tid.0,
            parent: parent.map_or(0, |parent| parent.pid.0),
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
