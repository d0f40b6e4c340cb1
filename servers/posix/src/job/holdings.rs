//! What programs hold of the server's, counted by kind: when the last of a group has ended it is what it was before
//! the first was started. Frames are counted apart, since the cache keeps some of files that were read.

use crate::host::Host;
use crate::server::Server;
use core::fmt;

/// Kinds of things that are counted.
const KINDS: usize = 14;

/// Their names, in the plural.
const NAMES: [&str; KINDS] = [
    "processes",
    "threads",
    "free contexts",
    "spaces",
    "free spaces",
    "numbers",
    "descriptor tables",
    "open files",
    "pipes",
    "event counters",
    "alarms",
    "queues and waiters",
    "locks",
    "terminals",
];

/// How many there are of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holdings([usize; KINDS]);

impl Holdings {
    /// Counts what there is now.
    pub fn of<H: Host>(server: &Server<H>) -> Self {
        Self([
            server.processes.len(),
            server.threads.len(),
            server.free_contexts.len(),
            server.spaces.len(),
            server.free_spaces.len(),
            server.numbers.in_use(),
            server.files.descriptors.len(),
            server.files.open.len(),
            server.files.pipes.len(),
            server.files.events.len(),
            server.alarms.len(),
            server.waits.len(),
            server.files.locks.len(),
            server.terminals.table.len(),
        ])
    }

    /// How many things there are more, or fewer, than there were.
    pub fn left_since(&self, before: &Self) -> u64 {
        let differences = self.0.iter().zip(before.0).map(|(now, before)| now.abs_diff(before) as u64);
        differences.sum()
    }

    /// Tells what there is more, or less, than there was.
    pub fn told_since(&self, before: &Self) -> impl fmt::Display {
        struct Told([usize; KINDS], [usize; KINDS]);
        impl fmt::Display for Told {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                for ((name, now), before) in NAMES.iter().zip(self.0).zip(self.1) {
                    if now != before {
                        write!(f, " {before} {name} have become {now};")?;
                    }
                }
                Ok(())
            }
        }
        Told(self.0, before.0)
    }
}
