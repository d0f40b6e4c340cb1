//! Time-outs in order: a binary heap whose entries know where they lie, so that any can be taken out.
//!
//! Invariant: a parent is due no later than its children, and `places[key]` is where `key` lies.

use crate::number::{index, low_u32};
use alloc::vec::Vec;

const NOWHERE: u32 = u32::MAX;

/// The heap; keys are small numbers.
#[derive(Debug, Default)]
pub struct Timers {
    heap: Vec<Entry>,
    places: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    due_ns: u64,
    key: u32,
}

impl Timers {
    /// Sets a key's time; a key has at most one.
    pub fn insert(&mut self, key: u32, due_ns: u64) {
        self.remove(key);
        if self.places.len() <= index(key) {
            self.places.resize(index(key) + 1, NOWHERE);
        }
        self.heap.push(Entry { due_ns, key });
        self.rise(self.heap.len() - 1);
    }

    /// Takes a key out, if it is in.
    pub fn remove(&mut self, key: u32) {
        let Some(place) = self.places.get(index(key)).copied().filter(|place| *place != NOWHERE) else {
            return;
        };
        self.take(index(place));
    }

    /// How many keys are in.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether no key is in.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// The earliest time.
    pub fn first(&self) -> Option<u64> {
        self.heap.first().map(|entry| entry.due_ns)
    }

    /// Takes a key that is due at `now_ns` out.
    pub fn pop_due(&mut self, now_ns: u64) -> Option<u32> {
        let first = self.heap.first().filter(|entry| entry.due_ns <= now_ns)?.key;
        self.take(0);
        Some(first)
    }

    fn take(&mut self, place: usize) {
        let Some(last) = self.heap.pop() else { return };
        let Some(gone) = self.heap.get_mut(place) else {
            self.note(last.key, NOWHERE);
            return;
        };
        let key = gone.key;
        *gone = last;
        self.note(key, NOWHERE);
        self.sink(place);
        self.rise(place);
    }

    fn rise(&mut self, mut place: usize) {
        while let Some(parent) = place.checked_sub(1).map(|below| below / 2)
            && self.due(parent) > self.due(place)
        {
            self.heap.swap(parent, place);
            self.settle(place);
            place = parent;
        }
        self.settle(place);
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let (left, right) = (2 * place + 1, 2 * place + 2);
            let child = if self.due(right) < self.due(left) { right } else { left };
            if self.due(child) >= self.due(place) {
                break;
            }
            self.heap.swap(child, place);
            self.settle(place);
            place = child;
        }
        self.settle(place);
    }

    /// When the entry at a place is due; behind the end: never.
    fn due(&self, place: usize) -> u64 {
        self.heap.get(place).map_or(u64::MAX, |entry| entry.due_ns)
    }

    fn settle(&mut self, place: usize) {
        if let Some(entry) = self.heap.get(place) {
            self.note(entry.key, low_u32(place as u64));
        }
    }

    fn note(&mut self, key: u32, place: u32) {
        if let Some(noted) = self.places.get_mut(index(key)) {
            *noted = place;
        }
    }
}
