//! The stable counter as nanoseconds since it was 0, and the server's Timer.

use abi::CPtr;
use abi::upper::{HostInfo, TIMER_BIT};
use runtime::stubs::{Notification, Timer};
use runtime::trap::counter;

use super::bug;

const NS_PER_SECOND: u64 = 1_000_000_000;
/// Bits of [`Clock::ns_per_tick`] behind the point.
const FRACTION: u32 = 32;

/// How far off the Timer rings at least: what Linux gives a sleeper as slack. A program whose timer is as fast as it
/// likes has this much of the processor between two rings, and so comes on.
const SLACK_NS: u64 = 50_000;

/// Clock and Timer.
#[derive(Debug)]
pub(super) struct Clock {
    /// Nanoseconds of a tick, in units of 2^-32.
    ns_per_tick: u64,
    realtime_offset_ns: u64,
    timer: Timer,
    notification: Notification,
}

impl Clock {
    /// The badge of the server's notification when its Timer has rung.
    pub(super) const RUNG: u64 = 1 << TIMER_BIT;

    /// The clock of a machine with so many ticks a second.
    pub(super) fn new(ticks_per_second: u64, info: &HostInfo) -> Self {
        let Some(ns_per_tick) = (NS_PER_SECOND << FRACTION).checked_div(ticks_per_second) else {
            bug(format_args!("the counter stands still"))
        };
        Self {
            ns_per_tick,
            realtime_offset_ns: info.realtime_offset_ns,
            timer: Timer(CPtr(info.timer_slot)),
            notification: Notification(CPtr(info.timer_notification_slot)),
        }
    }

    /// Nanoseconds since the counter was 0: enough for 584 years.
    pub(super) fn now_ns(&self) -> u64 {
        let ns = (u128::from(counter()) * u128::from(self.ns_per_tick)) >> FRACTION;
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    pub(super) const fn realtime_offset_ns(&self) -> u64 {
        self.realtime_offset_ns
    }

    /// Lets the Timer ring at a time, or [`SLACK_NS`] from now if that is later.
    pub(super) fn arm(&self, at_ns: u64) {
        let at_ns = at_ns.max(self.now_ns().saturating_add(SLACK_NS));
        if let Err(refusal) = self.timer.arm(self.notification, at_ns) {
            bug(format_args!("arming the timer: {refusal}"));
        }
    }

    /// Sees to it that the server is entered for its news before a program goes on.
    pub(super) fn ring_now(&self) {
        if let Err(refusal) = self.notification.signal() {
            bug(format_args!("signalling itself: {refusal}"));
        }
    }
}
