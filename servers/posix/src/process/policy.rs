//! Scheduling policies: there is one, SCHED_OTHER, in turns of one length.
//!
//! The others are known by their numbers and refused, as to somebody without CAP_SYS_NICE: a program hears that it did
//! not get what it asked for, and goes on.

use super::Pid;
use crate::Errno;
use crate::dispatch::Arguments;
use crate::executor::run_queue::SLICE_NS;
use crate::host::Host;
use crate::number::low_i32;
use crate::server::Server;
use crate::time::clock::SECOND_NS;
use crate::user::UserPtr;

/// Policies by their numbers.
mod number {
    pub(super) const OTHER: i32 = 0;
    pub(super) const FIFO: i32 = 1;
    pub(super) const RR: i32 = 2;
    pub(super) const BATCH: i32 = 3;
    pub(super) const IDLE: i32 = 5;
    pub(super) const DEADLINE: i32 = 6;
    pub(super) const EXT: i32 = 7;
    /// SCHED_RESET_ON_FORK: what is forked has SCHED_OTHER, as everything has.
    pub(super) const RESET_ON_FORK: i32 = 0x4000_0000;
}
const HIGHEST: i32 = 99;

/// sched_setscheduler(2).
pub fn sched_setscheduler<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let policy = low_i32(arguments.word(1));
    if policy < 0 {
        return Err(Errno::EINVAL);
    }
    server.set_policy(arguments.word(0), policy & !number::RESET_ON_FORK, arguments.word(2))
}

/// sched_setparam(2).
pub fn sched_setparam<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    server.set_policy(arguments.word(0), number::OTHER, arguments.word(1))
}

/// sched_getscheduler(2).
pub fn sched_getscheduler<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    server.is_scheduled(arguments.word(0))?;
    Ok(0)
}

/// sched_getparam(2).
pub fn sched_getparam<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let parameter = UserPtr::<i32>::optional(arguments.word(1))?.ok_or(Errno::EINVAL)?;
    server.is_scheduled(arguments.word(0))?;
    server.view()?.write(parameter, &0_i32)?;
    Ok(0)
}

/// sched_get_priority_max(2).
pub fn sched_get_priority_max<H: Host>(_: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    Ok(if is_realtime(low_i32(arguments.word(0)))? { u64::from(HIGHEST.unsigned_abs()) } else { 0 })
}

/// sched_get_priority_min(2).
pub fn sched_get_priority_min<H: Host>(_: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    Ok(u64::from(is_realtime(low_i32(arguments.word(0)))?))
}

/// sched_rr_get_interval(2): the length of a turn.
pub fn sched_rr_get_interval<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    server.is_scheduled(arguments.word(0))?;
    let turn = [SLICE_NS / SECOND_NS, SLICE_NS % SECOND_NS];
    server.view()?.write(UserPtr::new(arguments.word(1))?, &turn)?;
    Ok(0)
}

/// Whether a policy has priorities.
const fn is_realtime(policy: i32) -> Result<bool, Errno> {
    match policy {
        number::FIFO | number::RR => Ok(true),
        number::OTHER | number::BATCH | number::IDLE | number::DEADLINE | number::EXT => Ok(false),
        _ => Err(Errno::EINVAL),
    }
}

impl<H: Host> Server<H> {
    fn set_policy(&mut self, pid: u64, policy: i32, parameter: u64) -> Result<u64, Errno> {
        let parameter = UserPtr::<i32>::optional(parameter)?.ok_or(Errno::EINVAL)?;
        if low_i32(pid) < 0 {
            return Err(Errno::EINVAL);
        }
        let priority = self.view()?.read(parameter)?;
        self.is_scheduled(pid)?;
        let right = if is_realtime(policy)? { (1..=HIGHEST).contains(&priority) } else { priority == 0 };
        match (right, policy) {
            (false, _) => Err(Errno::EINVAL),
            (true, number::OTHER) => Ok(0),
            (true, _) => Err(Errno::EPERM),
        }
    }

    /// Whether a call's thread is there; 0 is the acting one.
    fn is_scheduled(&self, pid: u64) -> Result<(), Errno> {
        let number = u32::try_from(low_i32(pid)).map_err(|_| Errno::EINVAL)?;
        if number == 0 || self.numbers.thread(Pid(number)).is_some() { Ok(()) } else { Err(Errno::ESRCH) }
    }
}

#[cfg(test)]
mod tests {
    use crate::Errno;
    use crate::testing::driver::{Driver, SCRATCH};

    #[test]
    fn there_is_one_policy() {
        let mut driver = Driver::with_scratch();
        driver.poke(SCRATCH, &0_u32.to_le_bytes());
        assert_eq!(driver.call(120, [0; 6]), Some(0));
        assert_eq!(driver.call(121, [0, SCRATCH + 8, 0, 0, 0, 0]), Some(0));
        assert_eq!(driver.call(119, [0, 0, SCRATCH, 0, 0, 0]), Some(0));
        assert_eq!(driver.call(118, [0, SCRATCH, 0, 0, 0, 0]), Some(0));
        assert_eq!(driver.result(119, [0, 3, SCRATCH, 0, 0, 0]), Err(Errno::EPERM));
        assert_eq!(driver.result(119, [0, 1, SCRATCH, 0, 0, 0]), Err(Errno::EINVAL), "without a priority");
        assert_eq!(driver.result(119, [0, 4, SCRATCH, 0, 0, 0]), Err(Errno::EINVAL));
        assert_eq!(driver.result(119, [999, 0, SCRATCH, 0, 0, 0]), Err(Errno::ESRCH));
        assert_eq!(driver.result(118, [0; 6]), Err(Errno::EINVAL));
        driver.poke(SCRATCH, &5_u32.to_le_bytes());
        assert_eq!(driver.result(119, [0, 1, SCRATCH, 0, 0, 0]), Err(Errno::EPERM));
        assert_eq!(driver.result(118, [0, SCRATCH, 0, 0, 0, 0]), Err(Errno::EINVAL));
        assert_eq!([125, 126].map(|call| driver.call(call, [2, 0, 0, 0, 0, 0])), [Some(99), Some(1)]);
        assert_eq!([125, 126].map(|call| driver.call(call, [0; 6])), [Some(0); 2]);
        assert_eq!(driver.result(125, [4, 0, 0, 0, 0, 0]), Err(Errno::EINVAL));
        assert_eq!(driver.call(127, [0, SCRATCH, 0, 0, 0, 0]), Some(0));
        assert_eq!([0, 8].map(|at| driver.peek_word(SCRATCH + at)), [0, 10_000_000]);
    }
}
