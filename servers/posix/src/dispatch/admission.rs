//! Which calls are turned away when the server's own memory is low, and with which error (C-45).
//!
//! A call that makes the server remember more than before, for as long as its program likes, is looked at before it
//! begins: there is one list of them, here. What such a call takes at most must fit into what [`Reserve::Low`] leaves,
//! a half of the heap: tables that programs fill have a limit of their own besides ([`crate::file`],
//! [`crate::executor::wait::MOST`], [`crate::signal::pending::MOST`]), and what is as large as a program made it is
//! asked for by its size ([`Host::has_room`]). Pages that are touched are [`crate::process::shortage`]'s matter.

use crate::Errno;
use crate::host::{Host, Reserve};

/// What a call needs to be let in, and what it answers otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// The least that must be left.
    pub least: Reserve,
    /// The answer when it is not.
    pub refusal: Errno,
}

/// What a call needs, if it makes the server remember more: an area, a name, a process, an open file.
pub const fn admission(number: u64) -> Option<Admission> {
    let (least, refusal) = match number {
        // mknodat, mkdirat, symlinkat, linkat; openat, which has more to do, asks again where it makes a file.
        33 | 34 | 36 | 37 => (Reserve::Plenty, Errno::ENOSPC),
        // eventfd2, dup, dup3, openat, pipe2, signalfd4, setgroups, mremap, execve, mmap, mprotect, renameat2.
        19 | 23 | 24 | 56 | 59 | 74 | 159 | 216 | 221 | 222 | 226 | 276
        // clone and clone3.
        | 220 | 435 => (Reserve::Scarce, Errno::ENOMEM),
        // rt_sigqueueinfo, rt_tgsigqueueinfo.
        138 | 240 => (Reserve::Scarce, Errno::EAGAIN),
        _ => return None,
    };
    Some(Admission { least, refusal })
}

/// Lets a call in, or turns it away.
///
/// # Errors
/// The call's refusal.
#[inline]
pub fn admit<H: Host>(host: &H, number: u64) -> Result<(), Errno> {
    match admission(number) {
        Some(Admission { least, refusal }) => host.require(least, refusal),
        None => Ok(()),
    }
}
