//! Signals that were sent and not yet delivered, of a thread or of a process.
//!
//! Invariant: a signal's bit in `set` is set while `queue` has an entry of it; it may be set without one, when
//! queues were full: it comes then without what came with it. Standard signals have at most one entry.

use super::info::{Info, code};
use super::number::{SYNCHRONOUS, Signal};
use alloc::vec::Vec;

/// Most entries of a process, whatever RLIMIT_SIGPENDING says.
pub const MOST: u64 = 1 << 14;

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
    #[inline]
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Adds a signal with what comes with it.
    #[inline(always)] // As much as the call of it.
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
        let place = self.first(signal);
        let info = self.at(place).copied();
        self.remove(signal, place);
        info.unwrap_or(Info::user(signal, code::SI_USER, 0, 0))
    }

    /// The entry of a signal if there is no other in the queue.
    #[inline]
    pub fn only(&self, signal: Signal) -> Option<&Info> {
        match self.queue.as_slice() {
            [only] if only.is_of(signal) => Some(only),
            _ => None,
        }
    }

    /// Takes out the signal of which [`Pending::only`] has told.
    #[inline]
    pub fn remove_only(&mut self, signal: Signal) {
        self.set &= !signal.bit();
        self.queue.clear();
    }

    /// Where the first entry of a signal is.
    #[inline]
    pub fn first(&self, signal: Signal) -> Option<usize> {
        match self.queue.as_slice() {
            // The usual one.
            [only] if only.is_of(signal) => Some(0),
            all => all.iter().position(|info| info.is_of(signal)),
        }
    }

    /// The entry of a place.
    #[inline]
    pub fn at(&self, place: Option<usize>) -> Option<&Info> {
        self.queue.get(place?)
    }

    /// Takes a signal and its entry out, which is the first one of it.
    #[inline]
    pub fn remove(&mut self, signal: Signal, place: Option<usize>) {
        if self.queue.len() <= 1 {
            // The usual one.
            self.set &= !signal.bit();
            if place.is_some() {
                self.queue.clear();
            }
            return;
        }
        self.remove_of_many(signal, place);
    }

    #[cold]
    fn remove_of_many(&mut self, signal: Signal, place: Option<usize>) {
        if let Some(place) = place {
            self.queue.remove(place);
        }
        if !signal.is_realtime() || !self.queue.iter().any(|info| info.is_of(signal)) {
            self.set &= !signal.bit();
        }
    }

    /// The signal that goes first of those that `mask` leaves: a fault's that the kernel sent, then one of those
    /// that faults have whoever sent it, then the lowest.
    #[inline]
    pub fn next(&self, mask: u64) -> Option<Signal> {
        let open = self.set & !mask;
        let faults = open & SYNCHRONOUS;
        if faults & faults.wrapping_sub(1) != 0 {
            let fault = |info: &&Info| {
                info.signal().is_some_and(|signal| signal.bit() & open & SYNCHRONOUS != 0)
                    && info.code() > code::SI_USER
            };
            let sent = self.queue.iter().find(fault).and_then(Info::signal);
            return sent.or_else(|| Signal::lowest(open & SYNCHRONOUS));
        }
        Signal::lowest(if faults != 0 { faults } else { open })
    }

    /// Forgets signals.
    pub fn forget(&mut self, signals: u64) {
        if self.set & signals != 0 {
            self.set &= !signals;
            self.queue.retain(|info| info.signal().is_some_and(|signal| signal.bit() & signals == 0));
        }
    }
}
