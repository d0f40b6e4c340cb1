//! Clocks: what they say and how fine they are.

use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::number::low_i32;
use crate::server::Server;
use crate::user::UserPtr;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Nanoseconds of a second.
pub const SECOND_NS: u64 = 1_000_000_000;
/// What the coarse clocks are said to step by: a tick of a kernel with 250 a second.
const COARSE_NS: u64 = 4_000_000;
/// Linux's KTIME_MAX: later times are cut to it.
const LATEST_NS: u64 = i64::MAX.cast_unsigned();

/// Linux's `struct __kernel_timespec`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Timespec {
    /// Seconds.
    pub seconds: i64,
    /// Nanoseconds, 0 to 999,999,999.
    pub nanoseconds: i64,
}

impl Timespec {
    /// From nanoseconds.
    pub fn new(ns: u64) -> Self {
        Self { seconds: (ns / SECOND_NS).cast_signed(), nanoseconds: (ns % SECOND_NS).cast_signed() }
    }

    /// In nanoseconds, cut to Linux's latest time.
    ///
    /// # Errors
    /// EINVAL when negative, or with a second or more of nanoseconds.
    pub fn nanoseconds(self) -> Result<u64, Errno> {
        let seconds = u64::try_from(self.seconds).map_err(|_| Errno::EINVAL)?;
        let rest = u64::try_from(self.nanoseconds).ok().filter(|ns| *ns < SECOND_NS).ok_or(Errno::EINVAL)?;
        Ok(seconds.saturating_mul(SECOND_NS).saturating_add(rest).min(LATEST_NS))
    }
}

/// A clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockId {
    /// Since 1970.
    Realtime,
    /// Since the machine began; raw and boot time are the same here.
    Monotonic,
    /// [`ClockId::Realtime`], coarse.
    RealtimeCoarse,
    /// [`ClockId::Monotonic`], coarse.
    MonotonicCoarse,
    /// Processor time of the calling process.
    ProcessTime,
    /// Processor time of the calling thread.
    ThreadTime,
}

impl ClockId {
    /// The clock of a number.
    ///
    /// # Errors
    /// EINVAL for what Linux does not know, for alarm clocks, and for other processes' clocks.
    pub fn decode(number: u64) -> Result<Self, Errno> {
        match low_i32(number) {
            // TAI is UTC until somebody sets the difference.
            0 | 11 => Ok(Self::Realtime),
            1 | 4 | 7 => Ok(Self::Monotonic),
            2 => Ok(Self::ProcessTime),
            3 => Ok(Self::ThreadTime),
            5 => Ok(Self::RealtimeCoarse),
            6 => Ok(Self::MonotonicCoarse),
            _ => Err(Errno::EINVAL),
        }
    }
}

impl<H: Host> Server<H> {
    /// What a clock says.
    ///
    /// # Errors
    /// None for an acting thread.
    pub fn clock(&self, clock: ClockId) -> Result<u64, Errno> {
        let now = self.host.monotonic_ns();
        Ok(match clock {
            ClockId::Realtime | ClockId::RealtimeCoarse => now.saturating_add(self.host.realtime_offset_ns()),
            ClockId::Monotonic | ClockId::MonotonicCoarse => now,
            // A process of one thread is all that most are; threads are not told apart yet.
            ClockId::ProcessTime | ClockId::ThreadTime => {
                self.process()?.cpu_ns.saturating_add(now.saturating_sub(self.entered_ns))
            }
        })
    }

    /// A time of a clock in terms of the monotonic one.
    pub fn monotonic_of(&self, clock: ClockId, time_ns: u64) -> u64 {
        match clock {
            ClockId::Realtime | ClockId::RealtimeCoarse => {
                time_ns.saturating_sub(self.host.realtime_offset_ns())
            }
            _ => time_ns,
        }
    }
}

/// clock_gettime(2).
pub fn clock_gettime<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let time = server.clock(ClockId::decode(arguments.word(0))?)?;
    server.view()?.write(UserPtr::new(arguments.word(1))?, &Timespec::new(time))?;
    Ok(0)
}

/// clock_getres(2).
pub fn clock_getres<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let step = match ClockId::decode(arguments.word(0))? {
        ClockId::RealtimeCoarse | ClockId::MonotonicCoarse => COARSE_NS,
        _ => 1,
    };
    if let Some(pointer) = UserPtr::optional(arguments.word(1))? {
        server.view()?.write(pointer, &Timespec::new(step))?;
    }
    Ok(0)
}

/// gettimeofday(2).
pub fn gettimeofday<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let now = server.clock(ClockId::Realtime)?;
    let [seconds, microseconds] = [now / SECOND_NS, now % SECOND_NS / 1000];
    let mut view = server.view()?;
    if let Some(pointer) = UserPtr::<[u64; 2]>::optional(arguments.word(0))? {
        view.write(pointer, &[seconds, microseconds])?;
    }
    if let Some(zone) = UserPtr::<[u32; 2]>::optional(arguments.word(1))? {
        view.write(zone, &[0, 0])?;
    }
    Ok(0)
}
