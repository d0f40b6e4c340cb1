//! What comes with a signal: the part of Linux's siginfo that means something, 48 bytes.
//!
//! Words: signal and errno, code, then by kind: sender's pid and uid, or an address, or a timer and its
//! overrun; then a value or a child's status; then a child's times.

use super::number::Signal;
use crate::number::low_i32;

/// si_code values.
pub mod code {
    /// kill.
    pub const SI_USER: i32 = 0;
    /// The kernel.
    pub const SI_KERNEL: i32 = 128;
    /// sigqueue.
    pub const SI_QUEUE: i32 = -1;
    /// A timer of timer_create.
    pub const SI_TIMER: i32 = -2;
    /// tkill, tgkill.
    pub const SI_TKILL: i32 = -6;
}

/// A signal with what its siginfo says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info(pub [u64; 6]);

const fn pair(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

impl Info {
    /// With a code alone.
    pub const fn new(signal: Signal, code: i32) -> Self {
        Self([signal.0 as u64, code.cast_unsigned() as u64, 0, 0, 0, 0])
    }

    /// From a process.
    pub const fn user(signal: Signal, code: i32, pid: u32, uid: u32) -> Self {
        Self([signal.0 as u64, code.cast_unsigned() as u64, pair(pid, uid), 0, 0, 0])
    }

    /// Of a fault at an address.
    pub const fn fault(signal: Signal, code: i32, address: u64) -> Self {
        Self([signal.0 as u64, code.cast_unsigned() as u64, address, 0, 0, 0])
    }

    /// Of an address that is not within bounds.
    pub const fn bounds(signal: Signal, code: i32, address: u64, lower: u64, upper: u64) -> Self {
        Self([signal.0 as u64, code.cast_unsigned() as u64, address, 0, lower, upper])
    }

    /// Of a timer: its number, how often it went off unseen, and what it was to say.
    pub const fn timer(signal: Signal, timer: u32, overrun: u32, value: u64) -> Self {
        Self([signal.0 as u64, code::SI_TIMER.cast_unsigned() as u64, pair(timer, overrun), value, 0, 0])
    }

    /// Of a child: (CLD_ code, status), and its processor time in ticks.
    pub const fn child(signal: Signal, (code, status): (u32, u32), pid: u32, uid: u32, ticks: u64) -> Self {
        Self([signal.0 as u64, code as u64, pair(pid, uid), status as u64, ticks, 0])
    }

    /// Which signal.
    pub fn signal(&self) -> Option<Signal> {
        Signal::new(self.0[0] & 0xff)
    }

    /// Whether it is this signal's.
    #[inline]
    pub const fn is_of(&self, signal: Signal) -> bool {
        self.0[0] & 0xff == signal.0 as u64
    }

    /// si_code.
    pub const fn code(&self) -> i32 {
        low_i32(self.0[1])
    }

    /// Whether a program made it up itself, so that it may be lost when queues are full.
    pub const fn is_kill(&self) -> bool {
        self.code() == code::SI_USER
    }
}
