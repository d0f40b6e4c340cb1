//! How nice processes are, and which processors they may use.
//!
//! There is one processor, shared in turns of one length: niceness is kept and told, and changes no turn.

use super::{Pid, Process, ProcessId};
use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::number::{low_i32, low_u32};
use crate::server::Server;
use crate::user::UserSlice;
use alloc::vec::Vec;

const PROCESS: u32 = 0;
const GROUP: u32 = 1;
const USER: u32 = 2;
const NICEST: i32 = 19;
const RUDEST: i32 = -20;

/// setpriority(2).
pub fn setpriority<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let nice = low_i32(arguments.word(2)).clamp(RUDEST, NICEST);
    let meant = server.meant(arguments)?;
    let who = server.process()?.credentials.user.effective;
    let mut refused = None;
    for id in meant {
        let process = server.processes.get_mut(id).ok_or(Errno::ESRCH)?;
        let user = process.credentials.user;
        if who != 0 && who != user.effective && who != user.real {
            refused = Some(Errno::EPERM);
        } else if who != 0 && nice < process.nice {
            refused = Some(Errno::EACCES);
        } else {
            process.nice = nice;
        }
    }
    refused.map_or(Ok(0), Err)
}

/// getpriority(2), as the kernel answers it: 20 less the niceness, so that no answer is an error.
pub fn getpriority<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let meant = server.meant(arguments)?;
    let rudest = meant.iter().filter_map(|id| server.processes.get(*id)).map(|process| process.nice).min();
    let answer = 20 - rudest.ok_or(Errno::ESRCH)?;
    u64::try_from(answer).map_err(|_| Errno::ESRCH)
}

/// sched_setaffinity(2): the one processor must be among those that are wished for.
pub fn sched_setaffinity<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [pid, bytes, mask, ..] = arguments.words();
    // Bits of processors that are not there are not looked at.
    let bytes = u64::from(low_u32(bytes)).min(8);
    let mut first = [0; 8];
    let Some(wished) = first.get_mut(..crate::number::to_usize(bytes)) else { return Err(Errno::EINVAL) };
    server.view()?.read_bytes(UserSlice::new(mask, bytes)?, wished)?;
    let pid = u32::try_from(low_i32(pid)).map_err(|_| Errno::ESRCH)?;
    if pid != 0 && server.numbers.thread(Pid(pid)).is_none() {
        return Err(Errno::ESRCH);
    }
    if first.first().is_none_or(|byte| byte & 1 == 0) { Err(Errno::EINVAL) } else { Ok(0) }
}

impl<H: Host> Server<H> {
    /// The living processes that a call means.
    fn meant(&self, arguments: Arguments) -> Result<Vec<ProcessId>, Errno> {
        let (which, who) = (low_u32(arguments.word(0)), low_i32(arguments.word(1)));
        let own = self.process()?;
        let number = if who == 0 {
            match which {
                PROCESS => own.pid.0,
                GROUP => own.group.0,
                _ => own.credentials.user.real,
            }
        } else {
            who.cast_unsigned()
        };
        let fits = |process: &Process| match which {
            PROCESS => process.pid.0 == number,
            GROUP => process.group.0 == number,
            _ => process.credentials.user.real == number,
        };
        if which > USER {
            return Err(Errno::EINVAL);
        }
        let living = self.processes.iter().filter(|(_, process)| process.status.is_none());
        let meant: Vec<_> = living.filter(|(_, process)| fits(process)).map(|(id, _)| id).collect();
        if meant.is_empty() { Err(Errno::ESRCH) } else { Ok(meant) }
    }
}

#[cfg(test)]
mod tests {
    use crate::Errno;
    use crate::testing::driver::{Driver, SCRATCH};

    #[test]
    fn niceness_is_kept_and_told() {
        let mut driver = Driver::with_scratch();
        assert_eq!(driver.call(141, [0; 6]), Some(20));
        assert_eq!(driver.call(140, [0, 0, 100, 0, 0, 0]), Some(0));
        assert_eq!(driver.call(141, [2, 0, 0, 0, 0, 0]), Some(1));
        assert_eq!(driver.result(141, [3, 0, 0, 0, 0, 0]), Err(Errno::EINVAL));
        assert_eq!(driver.result(141, [0, 999, 0, 0, 0, 0]), Err(Errno::ESRCH));
        driver.poke(SCRATCH, &2_u64.to_le_bytes());
        assert_eq!(driver.result(122, [0, 8, SCRATCH, 0, 0, 0]), Err(Errno::EINVAL));
        driver.poke(SCRATCH, &3_u64.to_le_bytes());
        assert_eq!(driver.call(122, [0, 8, SCRATCH, 0, 0, 0]), Some(0));
    }
}
