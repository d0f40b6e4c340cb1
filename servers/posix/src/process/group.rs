//! Process groups and sessions.

use super::{Executed, Pid, ProcessId};
use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::number::low_i32;
use crate::process::numbers::Owner;
use crate::server::Server;

/// setpgid(2).
pub fn setpgid<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let caller = server.current()?.process;
    let (own, session) = (server.process()?.pid, server.process()?.session);
    let (pid, group) = (low_i32(arguments.word(0)), low_i32(arguments.word(1)));
    let pid = if pid == 0 { low_i32(u64::from(own.0)) } else { pid };
    let group = if group == 0 { pid } else { group };
    let group = Pid(u32::try_from(group).map_err(|_| Errno::EINVAL)?);
    let pid = Pid(u32::try_from(pid).map_err(|_| Errno::ESRCH)?);
    let target = server.find_process(pid)?;
    let record = server.processes.get(target).ok_or(Errno::ESRCH)?;
    if record.pid != pid {
        // A thread that is not its process's first.
        return Err(Errno::EINVAL);
    }
    if target != caller {
        if record.parent != Some(caller) {
            return Err(Errno::ESRCH);
        }
        if record.session != session {
            return Err(Errno::EPERM);
        }
        if record.executed == Executed::Yes {
            return Err(Errno::EACCES);
        }
    }
    if record.session == pid {
        return Err(Errno::EPERM);
    }
    let joins = |(_, record): (_, &super::Process)| record.group == group && record.session == session;
    if group != pid && !server.processes.iter().any(joins) {
        return Err(Errno::EPERM);
    }
    server.move_to_group(target, group);
    Ok(0)
}

/// getpgid(2).
pub fn getpgid<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let target = server.process_argument(arguments.word(0))?;
    Ok(u64::from(server.processes.get(target).ok_or(Errno::ESRCH)?.group.0))
}

/// getsid(2).
pub fn getsid<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let target = server.process_argument(arguments.word(0))?;
    Ok(u64::from(server.processes.get(target).ok_or(Errno::ESRCH)?.session.0))
}

/// setsid(2).
pub fn setsid<H: Host>(server: &mut Server<H>, _: Arguments) -> Result<u64, Errno> {
    let (process, pid) = (server.current()?.process, server.process()?.pid);
    if server.processes.iter().any(|(_, record)| record.group == pid) {
        return Err(Errno::EPERM);
    }
    server.move_to_group(process, pid);
    let record = server.process_mut()?;
    (record.terminal, record.lost_foreground) = (None, None);
    let before = core::mem::replace(&mut record.session, pid);
    server.numbers.join(pid);
    server.numbers.leave(before);
    Ok(u64::from(pid.0))
}

impl<H: Host> Server<H> {
    /// The process that has a number, or one of whose threads has; dead ones that nobody waited for too.
    ///
    /// # Errors
    /// ESRCH when there is none.
    pub fn find_process(&self, pid: Pid) -> Result<ProcessId, Errno> {
        match self.numbers.owner(pid) {
            Owner::Thread(thread) => Ok(self.threads.get(thread).ok_or(Errno::ESRCH)?.process),
            Owner::Process(process) => Ok(process),
            Owner::Nobody => Err(Errno::ESRCH),
        }
    }

    /// The process that an `int` argument names; the acting one for 0.
    ///
    /// # Errors
    /// ESRCH when there is none.
    pub fn process_argument(&self, argument: u64) -> Result<ProcessId, Errno> {
        match low_i32(argument) {
            0 => Ok(self.current()?.process),
            pid => self.find_process(Pid(u32::try_from(pid).map_err(|_| Errno::ESRCH)?)),
        }
    }

    fn move_to_group(&mut self, process: ProcessId, group: Pid) {
        let Some(record) = self.processes.get_mut(process) else { return };
        let before = core::mem::replace(&mut record.group, group);
        self.numbers.join(group);
        self.numbers.leave(before);
    }
}
