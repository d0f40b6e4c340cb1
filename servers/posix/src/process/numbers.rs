//! Pids and tids: one number space, given out in a circle as Linux does.
//!
//! Invariant: a number is free when nobody uses it: a thread or process as its own, a process as that of its
//! group, a process as that of its session. So a group's number is not given to a process while the group lives.

use super::{Pid, ProcessId, ThreadId};
use crate::number::index;
use alloc::vec::Vec;

/// Linux's default pid_max.
const PID_MAX: u32 = 32_768;
/// Where the circle begins again: low numbers stay with what started first (RESERVED_PIDS).
const LOWEST_AGAIN: u32 = 300;
/// The number of the server itself, which is every program's init (see [`super::family`]).
pub const INIT: Pid = Pid(1);

/// Whose number it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Nobody's, though a group or session may be called so.
    Nobody,
    /// A living thread's.
    Thread(ThreadId),
    /// A process's whose first thread has ended: it is dead, or goes on with other threads.
    Process(ProcessId),
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    owner: Owner,
    users: u32,
}

/// Which numbers are taken, and by whom.
#[derive(Debug)]
pub struct Numbers {
    entries: Vec<Entry>,
    last: u32,
}

impl Default for Numbers {
    fn default() -> Self {
        let mut entries = alloc::vec![Entry { owner: Owner::Nobody, users: 0 }; index(PID_MAX)];
        if let Some(entry) = entries.get_mut(index(INIT.0)) {
            entry.users = 1;
        }
        Self { entries, last: INIT.0 }
    }
}

impl Numbers {
    /// Gives out a number.
    pub fn take(&mut self, thread: ThreadId) -> Option<Pid> {
        let from = self.last + 1;
        let number = self.search(from, PID_MAX).or_else(|| self.search(LOWEST_AGAIN.min(from), from))?;
        *self.entries.get_mut(index(number))? = Entry { owner: Owner::Thread(thread), users: 1 };
        self.last = number;
        Some(Pid(number))
    }

    /// The number that was given out last.
    pub const fn last(&self) -> Pid {
        Pid(self.last)
    }

    /// Whose a number is.
    pub fn owner(&self, pid: Pid) -> Owner {
        self.entries.get(index(pid.0)).map_or(Owner::Nobody, |entry| entry.owner)
    }

    /// The thread that has a number.
    pub fn thread(&self, pid: Pid) -> Option<ThreadId> {
        match self.owner(pid) {
            Owner::Thread(thread) => Some(thread),
            Owner::Process(_) | Owner::Nobody => None,
        }
    }

    /// Hands a number that is in use over.
    pub fn set(&mut self, pid: Pid, owner: Owner) {
        if let Some(entry) = self.entries.get_mut(index(pid.0)) {
            entry.owner = owner;
        }
    }

    /// Takes a number back from its owner.
    pub fn release(&mut self, pid: Pid) {
        self.set(pid, Owner::Nobody);
        self.leave(pid);
    }

    /// A process joins the group or session of this number.
    pub fn join(&mut self, pid: Pid) {
        if let Some(entry) = self.entries.get_mut(index(pid.0)) {
            entry.users += 1;
        }
    }

    /// A process leaves the group or session of this number.
    pub fn leave(&mut self, pid: Pid) {
        if let Some(entry) = self.entries.get_mut(index(pid.0)) {
            entry.users = entry.users.saturating_sub(1);
        }
    }

    /// Numbers in use, init's own not among them.
    pub fn in_use(&self) -> usize {
        self.entries.iter().skip(index(INIT.0) + 1).filter(|entry| entry.users != 0).count()
    }

    fn search(&self, from: u32, to: u32) -> Option<u32> {
        let range = self.entries.get(index(from)..index(to))?;
        let offset = range.iter().position(|entry| entry.users == 0)?;
        (from..to).nth(offset)
    }
}
