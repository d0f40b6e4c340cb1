//! Resource limits (prlimit64) and what they are at a program's start.

use super::credentials::Triple;
use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::memory::space::MemoryLimits;
use crate::number::{index, low_u32};
use crate::server::Server;
use crate::user::UserPtr;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Kinds of limits.
const KINDS: usize = 16;
/// No limit.
pub const INFINITY: u64 = u64::MAX;
const PROCESSOR: usize = 0;
const FILE_BYTES: usize = 1;
const DATA: usize = 2;
const STACK: usize = 3;
const CORE: usize = 4;
const PROCESSES: usize = 6;
const FILES: usize = 7;
const LOCKED: usize = 8;
const SPACE: usize = 9;
const SIGNALS: usize = 11;
const QUEUES: usize = 12;
const NICE: usize = 13;
const REALTIME: usize = 14;
/// Signals of a process that are so few that all processes together may have them.
const FEW_SIGNALS: u64 = 16;
/// Linux's NR_OPEN: what nobody may go beyond.
const OPEN_MAX: u64 = 1 << 20;

/// Linux's `struct rlimit64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Limit {
    /// What holds.
    pub soft: u64,
    /// What the process may raise it to.
    pub hard: u64,
}

/// A process's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    all: [Limit; KINDS],
    /// Signals that may wait without another look at the limit, and at the server's memory.
    few_signals: u64,
}

impl Default for Limits {
    /// Linux's for its first process.
    fn default() -> Self {
        let endless = Limit { soft: INFINITY, hard: INFINITY };
        let mut limits = Self { all: [endless; KINDS], few_signals: 0 };
        limits.set(STACK, Limit { soft: 8 << 20, hard: INFINITY });
        limits.set(CORE, Limit { soft: 0, hard: INFINITY });
        limits.set(PROCESSES, Limit { soft: 1024, hard: 1024 });
        limits.set(FILES, Limit { soft: 1024, hard: 4096 });
        limits.set(LOCKED, Limit { soft: 8 << 20, hard: 8 << 20 });
        limits.set(SIGNALS, Limit { soft: 1024, hard: 1024 });
        limits.set(QUEUES, Limit { soft: 819_200, hard: 819_200 });
        limits.set(NICE, Limit { soft: 0, hard: 0 });
        limits.set(REALTIME, Limit { soft: 0, hard: 0 });
        limits
    }
}

impl Limits {
    /// Seconds of processor time.
    pub fn processor(&self) -> Limit {
        self.all.first().copied().unwrap_or(Limit { soft: INFINITY, hard: INFINITY })
    }

    /// The soft limit for processor time is a second later (Linux: check_process_timers).
    pub fn put_off_processor(&mut self) {
        let before = self.processor();
        self.set(PROCESSOR, Limit { soft: before.soft.saturating_add(1), ..before });
    }

    /// What holds for open files.
    pub fn files(&self) -> u64 {
        self.soft(FILES)
    }

    /// What holds for processes and threads of a user.
    pub fn processes(&self) -> u64 {
        self.soft(PROCESSES)
    }

    /// What holds for signals that wait.
    pub fn signals(&self) -> u64 {
        self.soft(SIGNALS)
    }

    /// Signals that may wait without a look at anything else.
    #[inline]
    pub const fn few_signals(&self) -> u64 {
        self.few_signals
    }

    /// How long a file may be made.
    pub fn file_bytes(&self) -> u64 {
        self.soft(FILE_BYTES)
    }

    /// What holds for memory.
    pub fn memory(&self) -> MemoryLimits {
        MemoryLimits { space: self.soft(SPACE), data: self.soft(DATA), stack: self.soft(STACK) }
    }

    /// Every limit, in the order of its kinds.
    pub const fn all(&self) -> &[Limit] {
        &self.all
    }

    fn soft(&self, kind: usize) -> u64 {
        self.all.get(kind).map_or(INFINITY, |limit| limit.soft)
    }

    fn set(&mut self, kind: usize, limit: Limit) {
        if let Some(place) = self.all.get_mut(kind) {
            *place = limit;
        }
        if kind == SIGNALS {
            self.few_signals = limit.soft.min(FEW_SIGNALS);
        }
    }
}

/// prlimit64(2).
pub fn prlimit64<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let target = server.process_argument(arguments.word(0))?;
    let kind = index(low_u32(arguments.word(1)));
    let (new, old) = (UserPtr::<Limit>::optional(arguments.word(2)), UserPtr::optional(arguments.word(3)));
    let new = match new? {
        Some(pointer) => Some(server.view()?.read(pointer)?),
        None => None,
    };
    let own = server.current()?.process;
    let credentials = &server.process()?.credentials;
    let (exceeds, user, group) =
        (credentials.can_exceed_limits(), credentials.user.real, credentials.group.real);
    let process = server.processes.get_mut(target).ok_or(Errno::ESRCH)?;
    let theirs = (process.credentials.user, process.credentials.group);
    if target != own && !exceeds && theirs != (Triple::of(user), Triple::of(group)) {
        return Err(Errno::EPERM);
    }
    let before = *process.limits.all.get(kind).ok_or(Errno::EINVAL)?;
    if let Some(limit) = new {
        if limit.soft > limit.hard {
            return Err(Errno::EINVAL);
        }
        if kind == FILES && limit.hard > OPEN_MAX {
            return Err(Errno::EPERM);
        }
        if limit.hard > before.hard && !exceeds {
            return Err(Errno::EPERM);
        }
        process.limits.set(kind, limit);
        let (space, limits) = (process.space, process.limits.memory());
        if let Some(shared) = server.spaces.get_mut(space) {
            shared.space.limits = limits;
        }
        if kind == PROCESSOR {
            server.account();
            server.limit_processor(target);
        }
    }
    if let Some(pointer) = old? {
        server.view()?.write(pointer, &before)?;
    }
    Ok(0)
}
