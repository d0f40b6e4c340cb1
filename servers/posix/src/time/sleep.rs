//! nanosleep and clock_nanosleep, and giving the processor away.

use super::clock::{ClockId, Timespec};
use crate::Errno;
use crate::dispatch::{Arguments, Flow};
use crate::executor::cx::Cx;
use crate::host::Host;
use crate::number::{low_i32, low_u32};
use crate::server::Server;
use crate::user::{UserPtr, UserSlice};

const ABSOLUTE: u32 = 1;

/// nanosleep(2).
pub fn nanosleep<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    read_time(server, arguments.word(0)).map(|_| Flow::Wait)
}

/// nanosleep(2).
pub async fn nanosleep_waiting<H: Host>(cx: &Cx<H>, arguments: Arguments) -> Result<u64, Errno> {
    let due = cx.attempt(|server| {
        let time = read_time(server, arguments.word(0))?;
        Ok(server.host.monotonic_ns().saturating_add(time))
    })?;
    sleep(cx, due, arguments.word(1), Errno::ERESTART_RESTARTBLOCK).await
}

/// clock_nanosleep(2).
pub fn clock_nanosleep<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    sleep_clock(arguments)?;
    read_time(server, arguments.word(2)).map(|_| Flow::Wait)
}

/// clock_nanosleep(2).
pub async fn clock_nanosleep_waiting<H: Host>(cx: &Cx<H>, arguments: Arguments) -> Result<u64, Errno> {
    let clock = sleep_clock(arguments)?;
    let absolute = low_u32(arguments.word(1)) & ABSOLUTE != 0;
    let due = cx.attempt(|server| {
        let time = read_time(server, arguments.word(2))?;
        let now = server.host.monotonic_ns();
        Ok(if absolute { server.monotonic_of(clock, time) } else { now.saturating_add(time) })
    })?;
    // A handler ends it in any case; only the rest of a relative one is told.
    if absolute {
        sleep(cx, due, 0, Errno::ERESTARTNOHAND).await
    } else {
        sleep(cx, due, arguments.word(3), Errno::ERESTART_RESTARTBLOCK).await
    }
}

/// The clocks that can be slept by.
fn sleep_clock(arguments: Arguments) -> Result<ClockId, Errno> {
    match (low_i32(arguments.word(0)), ClockId::decode(arguments.word(0))?) {
        (_, ClockId::ThreadTime) => Err(Errno::EINVAL),
        (4, _) | (_, ClockId::RealtimeCoarse | ClockId::MonotonicCoarse | ClockId::ProcessTime) => {
            Err(Errno::EOPNOTSUPP)
        }
        (_, clock) => Ok(clock),
    }
}

fn read_time<H: Host>(server: &mut Server<H>, address: u64) -> Result<u64, Errno> {
    server.view()?.read(UserPtr::<Timespec>::new(address)?)?.nanoseconds()
}

/// Sleeps until a time; an interrupted sleep says what was left of it.
async fn sleep<H: Host>(cx: &Cx<H>, due_ns: u64, remaining: u64, interrupted: Errno) -> Result<u64, Errno> {
    let Err(error) = cx.wait(None, Some(due_ns)).await else { return Ok(0) };
    let error = if error.is_restart() { interrupted } else { error };
    if let Some(pointer) = UserPtr::<Timespec>::optional(remaining)? {
        cx.attempt(|server| {
            let left = due_ns.saturating_sub(server.host.monotonic_ns());
            server.view()?.write(pointer, &Timespec::new(left))
        })?;
    }
    Err(error)
}

/// sched_yield(2).
pub fn sched_yield<H: Host>(server: &mut Server<H>, _: Arguments) -> Result<Flow, Errno> {
    Ok(if server.ready.is_empty() { Flow::Done(0) } else { Flow::Yield })
}

/// sched_getaffinity(2): one processor. The result is how many bytes were written.
pub fn sched_getaffinity<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    const MASK_BYTES: u64 = 8;
    let room = u64::from(low_u32(arguments.word(1)));
    if room < MASK_BYTES || !room.is_multiple_of(MASK_BYTES) {
        return Err(Errno::EINVAL);
    }
    let pid = low_i32(arguments.word(0));
    if pid != 0 {
        let pid = crate::process::Pid(u32::try_from(pid).map_err(|_| Errno::ESRCH)?);
        server.numbers.thread(pid).ok_or(Errno::ESRCH)?;
    }
    server.view()?.write_bytes(&1_u64.to_le_bytes(), UserSlice::new(arguments.word(2), MASK_BYTES)?)?;
    Ok(MASK_BYTES)
}
