//! What processes used: times, getrusage, and what wait4 says of a child.

use super::Process;
use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::number::low_i32;
use crate::server::Server;
use crate::time::clock::{ClockId, SECOND_NS};
use crate::user::UserPtr;
use zerocopy::{Immutable, IntoBytes};

const TICK_NS: u64 = SECOND_NS / 100;

/// Linux's `struct rusage`: user time; what is not counted is 0, as Linux has it of several fields too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoBytes, Immutable)]
#[repr(C)]
pub struct Usage {
    user_seconds: u64,
    user_microseconds: u64,
    rest: [u64; 16],
}

impl Usage {
    /// Of so much processor time.
    pub const fn new(ns: u64) -> Self {
        Self { user_seconds: ns / SECOND_NS, user_microseconds: ns % SECOND_NS / 1000, rest: [0; 16] }
    }

    /// Of a process that ended, and its children.
    pub const fn of(process: &Process) -> Self {
        Self::new(process.cpu_ns.saturating_add(process.children_cpu_ns))
    }
}

/// times(2): ticks of a hundredth of a second.
pub fn times<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let used = server.clock(ClockId::ProcessTime)? / TICK_NS;
    let children = server.process()?.children_cpu_ns / TICK_NS;
    if let Some(pointer) = UserPtr::<[u64; 4]>::optional(arguments.word(0))? {
        server.view()?.write(pointer, &[used, 0, children, 0])?;
    }
    Ok(server.host.monotonic_ns() / TICK_NS)
}

/// getrusage(2).
pub fn getrusage<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    const SELF: i32 = 0;
    const CHILDREN: i32 = -1;
    const THREAD: i32 = 1;
    let used = match low_i32(arguments.word(0)) {
        SELF | THREAD => server.clock(ClockId::ProcessTime)?,
        CHILDREN => server.process()?.children_cpu_ns,
        _ => return Err(Errno::EINVAL),
    };
    server.view()?.write(UserPtr::new(arguments.word(1))?, &Usage::new(used))?;
    Ok(0)
}
