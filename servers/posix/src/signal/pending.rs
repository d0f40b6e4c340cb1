//! Signals that were sent and not yet delivered, of a thread or of a process.
//!
//! Invariant: a signal's bit in `set` is set while `queue` has an entry of it; it may be set without one, when
//! queues were full: it comes then without what came with it. Standard signals have at most one entry.

use super::info::{Info, code};
use super::number::{SYNCHRONOUS, Signal};
use alloc::vec::Vec;

/// The signals.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    set: u64,
    queue: Vec<Info>,
}

impl Pending {
    /// Which signals are in it.
    #[inline]
    pub const fn set(&self) -> u64 {
        self.set
    }

    /// Entries.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Adds a signal with what comes with it.
    pub fn push(&mut self, signal: Signal, info: Info) {
        self.set |= signal.bit();
        self.queue.push(info);
    }

    /// Adds a signal alone.
    pub const fn note(&mut self, signal: Signal) {
        self.set |= signal.bit();
    }

    /// Takes the first entry of a signal.
    pub fn take(&mut self, signal: Signal) -> Info {
        let is = |info: &Info| info.0[0] & 0xff == u64::from(signal.0);
        if self.queue.len() <= 1 {
            // The usual one.
            self.set &= !signal.bit();
            let info = self.queue.pop_if(|info| is(info));
            return info.unwrap_or(Info::user(signal, code::SI_USER, 0, 0));
        }
        let position = self.queue.iter().position(is);
        let info = position.map(|position| self.queue.remove(position));
        if !signal.is_realtime() || !self.queue.iter().any(is) {
            self.set &= !signal.bit();
        }
        info.unwrap_or(Info::user(signal, code::SI_USER, 0, 0))
    }

    /// The signal that goes first of those that `mask` leaves: a fault's that the kernel sent, then one of those
    /// that faults have whoever sent it, then the lowest.
    pub fn next(&self, mask: u64) -> Option<Signal> {
        let open = self.set & !mask;
        if open & SYNCHRONOUS != 0 {
            let fault = |info: &&Info| {
                info.signal().is_some_and(|signal| signal.bit() & open & SYNCHRONOUS != 0)
                    && info.code() > code::SI_USER
            };
            let sent = self.queue.iter().find(fault).and_then(Info::signal);
            return sent.or_else(|| Signal::lowest(open & SYNCHRONOUS));
        }
        Signal::lowest(open)
    }

    /// Forgets signals.
    pub fn forget(&mut self, signals: u64) {
        if self.set & signals != 0 {
            self.set &= !signals;
            self.queue.retain(|info| info.signal().is_some_and(|signal| signal.bit() & signals == 0));
        }
    }
}
