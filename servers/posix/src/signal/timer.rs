//! Interval timers: setitimer and getitimer, of a process.
//!
//! The real one is in the server's heap of alarms. Those of processor time count down as time is charged to the
//! process; all of it counts for both, because nobody tells a program's own time from the server's for it.

use super::info::{Info, code};
use super::number::Signal;
use super::send::Target;
use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::number::low_u32;
use crate::process::ProcessId;
use crate::process::limits::{INFINITY, Limit};
use crate::server::Server;
use crate::slots::Id;
use crate::time::clock::SECOND_NS;
use crate::user::UserPtr;
use zerocopy::{FromBytes, Immutable, IntoBytes};

const MICROSECOND_NS: u64 = 1000;
/// How far apart a timer of processor time goes off at most: Linux looks at those with its clock's tick. Without
/// that one of a microsecond would be due again whenever its handler has returned, and the program would not come on.
const TICK_NS: u64 = 4_000_000;
const REAL: u32 = 0;
const VIRTUAL: u32 = 1;
const PROFILE: u32 = 2;

/// A timer: when it goes off next, or how much is left, and again after how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Interval {
    /// Of the real one a time, of the others a length; `None` when it is off.
    next_ns: Option<u64>,
    /// 0: once.
    every_ns: u64,
}

/// The timers of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntervalTimers {
    real: Interval,
    /// ITIMER_VIRTUAL, ITIMER_PROF.
    processor: [Interval; 2],
    /// Processor time until RLIMIT_CPU is to be looked at; `None` without that limit.
    limit_ns: Option<u64>,
}

impl IntervalTimers {
    /// How much processor time may pass until one goes off.
    #[inline]
    pub fn processor_left(&self) -> Option<u64> {
        let [first, second] = self.processor;
        match (first.next_ns, second.next_ns, self.limit_ns) {
            (None, None, None) => None,
            (first, second, limit) => first.into_iter().chain(second).chain(limit).min(),
        }
    }
}

/// Linux's `struct itimerval`: interval and value, each in seconds and microseconds.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
struct TimerWords {
    every: [i64; 2],
    value: [i64; 2],
}

fn length([seconds, microseconds]: [i64; 2]) -> Result<u64, Errno> {
    let seconds = u64::try_from(seconds).map_err(|_| Errno::EINVAL)?;
    let rest = u64::try_from(microseconds).ok().filter(|rest| *rest < 1_000_000).ok_or(Errno::EINVAL)?;
    Ok(seconds.saturating_mul(SECOND_NS).saturating_add(rest * MICROSECOND_NS))
}

/// Rounded up, so that a timer that is on never looks as if it were off.
const fn words(ns: u64) -> [i64; 2] {
    let microseconds = ns.div_ceil(MICROSECOND_NS);
    [(microseconds / 1_000_000).cast_signed(), (microseconds % 1_000_000).cast_signed()]
}

/// getitimer(2).
pub fn getitimer<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let words = server.timer_words(low_u32(arguments.word(0)))?;
    server.view()?.write(UserPtr::new(arguments.word(1))?, &words)?;
    Ok(0)
}

/// setitimer(2).
pub fn setitimer<H: Host>(
    server: &mut Server<H>,
    arguments: Arguments,
) -> Result<crate::dispatch::Flow, Errno> {
    let given = match UserPtr::<TimerWords>::optional(arguments.word(1))? {
        Some(pointer) => server.view()?.read(pointer)?,
        // As old as Linux is, null means off.
        None => TimerWords::default(),
    };
    let (every_ns, value) = (length(given.every)?, length(given.value)?);
    let which = low_u32(arguments.word(0));
    let before = server.timer_words(which)?;
    server.set_timer(which, value, every_ns)?;
    if let Some(pointer) = UserPtr::optional(arguments.word(2))? {
        server.view()?.write(pointer, &before)?;
    }
    Ok(crate::dispatch::Flow::Woke(0))
}

impl<H: Host> Server<H> {
    fn timer_words(&mut self, which: u32) -> Result<TimerWords, Errno> {
        self.account();
        let now = self.host.monotonic_ns();
        let timers = self.process()?.signals.timers;
        let (timer, left) = match which {
            REAL => {
                // One that is due and was not yet seen is still on.
                let left = timers.real.next_ns.map(|due| due.saturating_sub(now).max(1));
                (timers.real, left)
            }
            VIRTUAL | PROFILE => {
                let [first, second] = timers.processor;
                let timer = if which == VIRTUAL { first } else { second };
                (timer, timer.next_ns)
            }
            _ => return Err(Errno::EINVAL),
        };
        Ok(TimerWords { every: words(timer.every_ns), value: words(left.unwrap_or(0)) })
    }

    fn set_timer(&mut self, which: u32, value_ns: u64, every_ns: u64) -> Result<(), Errno> {
        let process = self.current()?.process;
        let now = self.host.monotonic_ns();
        let on = (value_ns != 0).then_some(value_ns);
        let timers = &mut self.process_mut()?.signals.timers;
        if which == REAL {
            let due = on.map(|value| now.saturating_add(value));
            timers.real = Interval { next_ns: due, every_ns };
            match due {
                Some(due) => self.alarms.insert(process.number(), due),
                None => self.alarms.remove(process.number()),
            }
            return Ok(());
        }
        let [first, second] = &mut timers.processor;
        *(if which == VIRTUAL { first } else { second }) = Interval { next_ns: on, every_ns };
        Ok(())
    }

    /// Real timers that are due go off.
    pub(crate) fn expire_alarms(&mut self, now_ns: u64) {
        while let Some(number) = self.alarms.pop_due(now_ns) {
            let process = ProcessId::new(number);
            let Some(record) = self.processes.get_mut(process) else { continue };
            let timer = &mut record.signals.timers.real;
            // Those that were missed are one (Linux: hrtimer_forward).
            timer.next_ns = timer.next_ns.filter(|_| timer.every_ns != 0).map(|due| {
                let missed = now_ns.saturating_sub(due) / timer.every_ns;
                due.saturating_add(timer.every_ns.saturating_mul(missed + 1))
            });
            if let Some(due) = timer.next_ns {
                self.alarms.insert(number, due);
            }
            self.timer_signal(process, Signal::SIGALRM);
        }
    }

    /// Timers of processor time go down; those that come to their end go off.
    pub(crate) fn charge_timers(&mut self, process: ProcessId, passed_ns: u64) {
        let Some(record) = self.processes.get_mut(process) else { return };
        let mut fired = [None; 2];
        let signals = [Signal::SIGVTALRM, Signal::SIGPROF];
        for ((timer, fired), signal) in
            record.signals.timers.processor.iter_mut().zip(&mut fired).zip(signals)
        {
            let Some(left) = timer.next_ns else { continue };
            if let Some(left) = left.checked_sub(passed_ns).filter(|left| *left != 0) {
                timer.next_ns = Some(left);
                continue;
            }
            timer.next_ns = (timer.every_ns != 0).then_some(timer.every_ns.max(TICK_NS));
            *fired = Some(signal);
        }
        let limit = record.signals.timers.limit_ns.map(|left| left.saturating_sub(passed_ns));
        record.signals.timers.limit_ns = limit;
        for signal in fired.into_iter().flatten() {
            self.timer_signal(process, signal);
        }
        if limit == Some(0) {
            self.processor_limit_reached(process);
        }
    }

    /// Looks at RLIMIT_CPU anew: it was set, or the process is new.
    pub(crate) fn limit_processor(&mut self, process: ProcessId) {
        let Some(record) = self.processes.get_mut(process) else { return };
        let Limit { soft, hard } = record.limits.processor();
        let seconds = soft.min(hard);
        record.signals.timers.limit_ns = (seconds != INFINITY)
            .then(|| seconds.saturating_mul(SECOND_NS).saturating_sub(record.cpu_ns).max(1));
    }

    /// A process has used up its RLIMIT_CPU: SIGXCPU every second from the soft one on, SIGKILL at the hard one.
    fn processor_limit_reached(&mut self, process: ProcessId) {
        let Some(record) = self.processes.get_mut(process) else { return };
        let used = record.cpu_ns / SECOND_NS;
        let Limit { soft, hard } = record.limits.processor();
        if used >= hard {
            record.signals.timers.limit_ns = None;
            self.timer_signal(process, Signal::SIGKILL);
            return;
        }
        let late = used >= soft;
        if late {
            record.limits.put_off_processor();
        }
        self.limit_processor(process);
        if late {
            self.timer_signal(process, Signal::SIGXCPU);
        }
    }

    fn timer_signal(&mut self, process: ProcessId, signal: Signal) {
        // It is no signal of sigqueue's, so that no limit refuses it.
        let _ = self.send_signal(Target::Process(process), signal, Info::new(signal, code::SI_KERNEL));
    }
}
