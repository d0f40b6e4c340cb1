//! Timers: a deadline, and the notification that is signalled when it has come.
//!
//! The hardware has one timer a core, which [`crate::scheduler::budget`] sets: to the first deadline of
//! [`crate::scheduler::timer_queue`] if that comes before the scheduler's own. A timer that rings is not armed
//! any longer; it keeps its notification's capability, which lies in a slot of its own, derived from the one
//! that was given, until it is armed again, cancelled or deleted. Where that was revoked, nobody is told.

use core::cell::Cell;

use abi::{Error, Method};

use crate::arch::{Machine, Ticks};
use crate::capability::cap::{Cap, Slot};
use crate::capability::derivation;
use crate::failure::Failure;
use crate::kernel::{Core, Kernel};
use crate::object::store::Ref;
use crate::object::{interrupt, notification};
use crate::scheduler::timer_queue;
use crate::syscall::invoke::{Answer, Arguments, Target};

/// Timers that one interrupt of the hardware's lets ring; those left over make it come again at once (C-3).
const RINGS_AT_ONCE: usize = 8;
const NS_PER_SECOND: u64 = 1_000_000_000;

/// A timer.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Timer {
    /// The notification's capability.
    pub notification: Slot,
    /// When it rings, in ticks.
    pub deadline: Cell<u64>,
    /// Home core above [`super::thread::hot::HOME_SHIFT`].
    pub home: Cell<u64>,
    /// Its place in the queue: see [`timer_queue`].
    pub left: Cell<Option<Ref<Timer>>>,
    /// See `left`.
    pub right: Cell<Option<Ref<Timer>>>,
    /// See `left`.
    pub parent: Cell<Option<Ref<Timer>>>,
    /// See `left`; 0 while it is not armed.
    pub rank: Cell<u64>,
    /// Unused.
    pub reserved: [Cell<u64>; 6],
}

const _: () = assert!(size_of::<Timer>() == 128);
const _: () = assert!(core::mem::offset_of!(Timer, notification) == 0);

/// Decodes and invokes a method on a timer's capability.
///
/// # Errors
///
/// As the method's row says.
pub fn invoke<M: Machine>(
    k: &mut Kernel<M>,
    target: &Target,
    method: Method,
    arguments: &Arguments,
) -> Result<Answer, Failure> {
    let Cap::Timer(timer) = target.cap else {
        return Err(Error::IllegalOperation.into());
    };
    match method {
        Method::TimerArm => {
            let source = arguments.cap_slot(0)?;
            let notification = interrupt::decode_notification(k, source)?;
            timer_queue::remove(k, timer);
            derivation::replace(k, slot(timer), notification, source, target.slot)?;
            arm(k, timer, in_ticks(arguments.word(0), k.machine.ticks_per_second()));
        }
        Method::TimerCancel => finalise(k, timer)?,
        _ => return Err(Error::IllegalOperation.into()),
    }
    Ok(Answer::default())
}

/// Lets it ring at a time: at once if that has passed.
fn arm<M: Machine>(k: &mut Kernel<M>, timer: Ref<Timer>, Ticks(deadline): Ticks) {
    if deadline <= k.machine.now().0 {
        return signal(k, timer);
    }
    k.get(timer).deadline.set(deadline);
    timer_queue::insert(k, timer);
}

/// Ends a timer with its last capability, or what it was armed for.
///
/// # Errors
///
/// Preempted: it is not armed any longer.
pub fn finalise<M: Machine>(k: &mut Kernel<M>, timer: Ref<Timer>) -> Result<(), Failure> {
    timer_queue::remove(k, timer);
    derivation::delete(k, slot(timer))
}

/// The hardware's timer has rung: what is due rings.
pub fn ring<M: Machine>(k: &mut Kernel<M>) {
    let now = k.machine.now();
    for _ in 0..RINGS_AT_ONCE {
        let Some(timer) = k.core().timers.get().filter(|timer| due(k, *timer) <= now) else { return };
        timer_queue::remove(k, timer);
        signal(k, timer);
    }
}

fn signal<M: Machine>(k: &mut Kernel<M>, timer: Ref<Timer>) {
    if let Cap::Notification { notification, badge, .. } = k.get(timer).notification.cap() {
        notification::signal(k, notification, badge);
    }
}

/// When the first timer is due, [`Ticks::NEVER`] when none is armed.
pub fn first_due<M: Machine>(k: &Kernel<M>, core: &Core) -> Ticks {
    core.timers.get().map_or(Ticks::NEVER, |timer| due(k, timer))
}

fn due<M: Machine>(k: &Kernel<M>, timer: Ref<Timer>) -> Ticks {
    Ticks(k.get(timer).deadline.get())
}

/// Where the notification's capability lies.
pub const fn slot(timer: Ref<Timer>) -> Ref<Slot> {
    timer.cast()
}

/// The first tick that is no earlier; exact for clocks up to 18 GHz, and never [`Ticks::NEVER`].
fn in_ticks(ns: u64, ticks_per_second: u64) -> Ticks {
    let whole = (ns / NS_PER_SECOND).saturating_mul(ticks_per_second);
    let rest = (ns % NS_PER_SECOND * ticks_per_second).div_ceil(NS_PER_SECOND);
    Ticks(whole.saturating_add(rest).min(Ticks::NEVER.0 - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_the_first_tick_that_is_no_earlier() {
        for (ns, hz, ticks) in [
            (0, 100_000_000, 0),
            (1, 100_000_000, 1),
            (10, 100_000_000, 1),
            (11, 100_000_000, 2),
            (3_000_000_001, 100_000_000, 300_000_001),
            (1_999_999_999, 3, 6),
            (u64::MAX, 100_000_000, 1_844_674_407_370_955_162),
            (u64::MAX, 18_000_000_000, u64::MAX - 1),
        ] {
            assert_eq!(in_ticks(ns, hz), Ticks(ticks), "{ns} ns at {hz} Hz");
        }
    }
}
