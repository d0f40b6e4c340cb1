//! When a touched page cannot be had because memory is used up, frames, page tables or the server's own: somebody is
//! killed for it, as by Linux's out-of-memory killer (mm/oom_kill.c), and that is who has most.

use super::{Process, ProcessId, Signal, SpaceKey, Status};
use crate::host::Host;
use crate::memory::space::Space;
use crate::server::Server;
use alloc::vec::Vec;

/// Areas that weigh as much as a page that has a frame: what the server keeps of either.
const AREAS_A_PAGE: u64 = 64;

impl<H: Host> Server<H> {
    /// Kills whoever has most memory, and all who have it in common; says whether there was anybody.
    pub(super) fn relieve(&mut self) -> Relieved {
        let lives = |record: &Process| record.status.is_none() && !record.threads.is_empty();
        let weighed = self.processes.iter().filter(|(_, record)| lives(record)).filter_map(|(_, record)| {
            let space = &self.spaces.get(record.space)?.space;
            // Of equals the one that was born last.
            Some((weight(space), record.started_ns, record.space))
        });
        let Some((pages, _, space)) = weighed.max_by_key(|(pages, born, _)| (*pages, *born)) else {
            return Relieved::No;
        };
        for victim in self.users_of(space) {
            if let Some(record) = self.processes.get(victim) {
                let thread = record.threads.first().and_then(|thread| self.threads.get(*thread));
                let name = thread.map_or(record.last_name, |thread| thread.name);
                let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
                let line = alloc::format!(
                    "posix: out of memory: killed process {} ({}) with {pages} pages",
                    record.pid.0,
                    name.escape_ascii()
                );
                self.host.log(&line);
            }
            self.end_process(victim, Status::Killed(Signal::SIGKILL));
        }
        Relieved::Yes
    }

    fn users_of(&self, space: SpaceKey) -> Vec<ProcessId> {
        let lives = |record: &Process| record.status.is_none() && record.space == space;
        self.processes.iter().filter(|(_, record)| lives(record)).map(|(id, _)| id).collect()
    }
}

/// Whether somebody was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relieved {
    /// Somebody was: what could not be had may be there now.
    Yes,
    /// Nobody was there.
    No,
}

fn weight(space: &Space) -> u64 {
    space.pages.len() + space.areas.len() as u64 / AREAS_A_PAGE
}
