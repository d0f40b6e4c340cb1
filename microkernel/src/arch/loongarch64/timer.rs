//! The core's timer: one shot, by absolute deadline.
//!
//! Owns TCFG and TICLR. The hardware counts down from a number of ticks; deadlines of the kernel are
//! values of the stable counter, so arming subtracts. All of it is the guest's own under KVM (C-12).
#![expect(unsafe_code, reason = "writes the timer's registers")]

use super::registers::{TCFG, TICLR, read_counter};

/// TCFG: count down once.
const ENABLE: u64 = 1;

/// Shortest time armed: below it, the deadline counts as passed but still interrupts.
const SHORTEST_TICKS: u64 = 4;

/// Longest time armed: the timer has 48 bits (PRCFG1.TimerBits); the kernel re-arms what is longer.
const LONGEST_TICKS: u64 = (1 << 47) - 4;

/// Interrupts when the stable counter reaches `deadline`, or at once if it has.
pub fn arm(deadline: u64) {
    let ticks = deadline.saturating_sub(read_counter()).clamp(SHORTEST_TICKS, LONGEST_TICKS);
    // The field is in units of four ticks; rounded up, so that the interrupt never comes early.
    let field = (ticks + 3) & !3;
    // SAFETY: the timer belongs to this module; its interrupt is handled whenever it is enabled.
    unsafe { TCFG.write(field | ENABLE) };
}

/// Stops the timer. An idle core under KVM must not leave one armed.
pub fn stop() {
    // SAFETY: as for `arm`.
    unsafe { TCFG.write(0) };
}

/// Takes back the timer's interrupt.
pub fn acknowledge() {
    // SAFETY: clears the pending bit of this core's timer, nothing else.
    unsafe { TICLR.write(1) };
}
