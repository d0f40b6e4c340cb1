//! Pids and tids: one number space, given out in a circle as Linux does.

use super::{Pid, ThreadId};
use crate::number::index;
use crate::slots::Id;
use alloc::vec::Vec;

/// Linux's default pid_max.
const PID_MAX: u32 = 32_768;
/// Where the circle begins again: low numbers stay with what started first (RESERVED_PIDS).
const LOWEST_AGAIN: u32 = 300;
const FREE: u32 = u32::MAX;
/// A number that is taken though no thread has it: a dead process's that nobody waited for.
const HELD: u32 = u32::MAX - 1;

/// Which numbers are taken, and by whom.
#[derive(Debug)]
pub struct Numbers {
    taken: Vec<u32>,
    last: u32,
}

impl Default for Numbers {
    fn default() -> Self {
        Self { taken: alloc::vec![FREE; index(PID_MAX)], last: 0 }
    }
}

impl Numbers {
    /// Gives out a number.
    pub fn take(&mut self, thread: ThreadId) -> Option<Pid> {
        let from = self.last + 1;
        let number = self.search(from, PID_MAX).or_else(|| self.search(LOWEST_AGAIN.min(from), from))?;
        *self.taken.get_mut(index(number))? = thread.number();
        self.last = number;
        Some(Pid(number))
    }

    /// The thread that has a number.
    pub fn thread(&self, pid: Pid) -> Option<ThreadId> {
        self.taken.get(index(pid.0)).copied().filter(|number| *number < HELD).map(ThreadId::new)
    }

    /// Hands a number to another thread, or keeps it taken for a dead process.
    pub fn set(&mut self, pid: Pid, thread: Option<ThreadId>) {
        if let Some(place) = self.taken.get_mut(index(pid.0)) {
            *place = thread.map_or(HELD, ThreadId::number);
        }
    }

    /// Takes a number back.
    pub fn release(&mut self, pid: Pid) {
        if let Some(place) = self.taken.get_mut(index(pid.0)) {
            *place = FREE;
        }
    }

    fn search(&self, from: u32, to: u32) -> Option<u32> {
        let range = self.taken.get(index(from)..index(to))?;
        let offset = range.iter().position(|thread| *thread == FREE)?;
        (from..to).nth(offset)
    }
}
