//! A line to a terminal: its discipline, and what was typed while that had no room.

use super::discipline::{Discipline, Flush, Received, Signals};
use super::settings::Settings;
use alloc::collections::VecDeque;

/// Most bytes that wait for room.
const MOST: usize = 16 * 1024;

/// The line.
#[derive(Debug)]
pub struct Line {
    /// Its discipline.
    pub discipline: Discipline,
    /// What was typed and is not in the discipline yet.
    typed: VecDeque<u8>,
}

impl Line {
    /// A new one.
    pub fn new(settings: Settings) -> Self {
        Self { discipline: Discipline::new(settings), typed: VecDeque::new() }
    }

    /// How many bytes can be typed now.
    pub fn room(&self) -> usize {
        MOST - self.typed.len().min(MOST)
    }

    /// Bytes are typed; says how many there was room for.
    pub fn type_in(&mut self, bytes: &[u8]) -> Received {
        let (mut taken, mut signals) = (0, Signals::default());
        if self.typed.is_empty() {
            Received { taken, signals } = self.discipline.receive(bytes);
        }
        let rest = bytes.get(taken..).unwrap_or_default();
        let kept = rest.len().min(self.room());
        self.typed.extend(rest.get(..kept).unwrap_or_default());
        Received { taken: taken + kept, signals }
    }

    /// There may be room again: what waits for it goes in, as far as it does.
    pub fn pump(&mut self) -> Signals {
        let mut signals = Signals::default();
        while !self.typed.is_empty() {
            let (first, _) = self.typed.as_slices();
            let received = self.discipline.receive(first);
            if received.taken == 0 {
                break;
            }
            self.typed.drain(..received.taken);
            received.signals.iter().for_each(|signal| signals.add(signal));
        }
        signals
    }

    /// As [`Line::flush`], seen from the other end: what it typed and is not in yet, what it did not take.
    pub fn flush_from_afar(&mut self, which: Flush) {
        if which != Flush::Input {
            self.typed.clear();
        }
        if which != Flush::Output {
            self.discipline.output.clear();
        }
    }

    /// Throws away what is in the queues, and what waits for room.
    pub fn flush(&mut self, which: Flush) {
        if which != Flush::Output {
            self.typed.clear();
        }
        self.discipline.flush(which);
    }
}
