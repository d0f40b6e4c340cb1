//! Capabilities in Linux's sense: what is left of root's power, bit by bit.
//!
//! Invariant: effective ⊆ permitted. The bounding set is always full.

use super::credentials::Credentials;
use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::number::low_u32;
use crate::server::Server;
use crate::user::UserPtr;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// The last one (CAP_CHECKPOINT_RESTORE).
pub const LAST: u64 = 40;
/// All of them.
const EVERY: u64 = (1 << (LAST + 1)) - 1;
const VERSION_1: u32 = 0x1998_0330;
const VERSION_2: u32 = 0x2007_1026;
const VERSION_3: u32 = 0x2008_0522;

/// One capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Capability {
    /// Signals to everybody.
    Kill = 5,
    /// Any group.
    SetGid = 6,
    /// Any user.
    SetUid = 7,
    /// Whatever else needs root.
    SysAdmin = 21,
    /// Beyond limits.
    SysResource = 24,
}

/// A process's capabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// What counts.
    pub effective: u64,
    /// What can be made effective.
    pub permitted: u64,
    /// What execve keeps.
    pub inheritable: u64,
}

impl Default for Capabilities {
    /// Root's.
    fn default() -> Self {
        Self { effective: EVERY, permitted: EVERY, inheritable: 0 }
    }
}

impl Credentials {
    /// Whether a capability is effective.
    pub const fn can(&self, capability: Capability) -> bool {
        self.capabilities.effective & (1 << capability as u8) != 0
    }

    /// Whether RLIMIT_NPROC and hard limits do not bind.
    pub const fn can_exceed_limits(&self) -> bool {
        self.can(Capability::SysResource) || self.can(Capability::SysAdmin)
    }

    /// What a change of users does to capabilities (cap_emulate_setxuid).
    pub(super) const fn follow_users(&mut self, before: super::credentials::Triple) {
        let was_root = before.real == 0 || before.effective == 0 || before.saved == 0;
        let is_root = self.user.real == 0 || self.user.effective == 0 || self.user.saved == 0;
        if was_root && !is_root {
            self.capabilities.permitted = 0;
            self.capabilities.effective = 0;
        }
        if before.effective == 0 && self.user.effective != 0 {
            self.capabilities.effective = 0;
        }
        if before.effective != 0 && self.user.effective == 0 {
            self.capabilities.effective = self.capabilities.permitted;
        }
    }

    /// What execve of a file without capabilities of its own leaves (cap_bprm_creds_from_file).
    pub const fn follow_execve(&mut self) {
        let root = self.user.real == 0 || self.user.effective == 0;
        self.capabilities.permitted = if root { EVERY } else { 0 };
        self.capabilities.effective = if self.user.effective == 0 { EVERY } else { 0 };
        self.user.saved = self.user.effective;
        self.group.saved = self.group.effective;
    }
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

/// How many 32-bit halves a version has; the kernel's own version is written over one that it does not know.
fn halves<H: Host>(server: &mut Server<H>, header: UserPtr<Header>) -> Result<(Header, usize), Errno> {
    let given = server.view()?.read(header)?;
    match given.version {
        VERSION_1 => Ok((given, 1)),
        VERSION_2 | VERSION_3 => Ok((given, 2)),
        _ => {
            server.view()?.write(UserPtr::new(header.address())?, &VERSION_3)?;
            Err(Errno::EINVAL)
        }
    }
}

/// capget(2).
pub fn capget<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let (header, halves) = match halves(server, UserPtr::new(arguments.word(0))?) {
        // Asking for the version is no error.
        Err(Errno::EINVAL) if arguments.word(1) == 0 => return Ok(0),
        other => other?,
    };
    let pid = u32::try_from(header.pid).map_err(|_| Errno::EINVAL)?;
    let target = server.process_argument(u64::from(pid))?;
    if arguments.word(1) == 0 {
        return Ok(0);
    }
    let held = server.processes.get(target).ok_or(Errno::ESRCH)?.credentials.capabilities;
    for half in 0..halves {
        let part = |set: u64| low_u32(set >> (32 * half));
        let words = [part(held.effective), part(held.permitted), part(held.inheritable)];
        let at = arguments.word(1).checked_add(12 * half as u64).ok_or(Errno::EFAULT)?;
        server.view()?.write(UserPtr::new(at)?, &words)?;
    }
    Ok(0)
}

/// capset(2): of the caller alone.
pub fn capset<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let (header, halves) = halves(server, UserPtr::new(arguments.word(0))?)?;
    if header.pid != 0 && u32::try_from(header.pid) != Ok(server.thread()?.tid.0) {
        return Err(Errno::EPERM);
    }
    let mut wanted = [0_u64; 3];
    for half in 0..halves {
        let at = arguments.word(1).checked_add(12 * half as u64).ok_or(Errno::EFAULT)?;
        let words: [u32; 3] = server.view()?.read(UserPtr::new(at)?)?;
        for (set, word) in wanted.iter_mut().zip(words) {
            *set |= u64::from(word) << (32 * half);
        }
    }
    let [effective, permitted, inheritable] = wanted.map(|set| set & EVERY);
    let held = server.process()?.credentials.capabilities;
    // The bounding set is full, and CAP_SETPCAP would allow no more than permitted ones here.
    let refused = permitted & !held.permitted != 0
        || effective & !permitted != 0
        || inheritable & !(held.inheritable | held.permitted) != 0;
    if refused {
        return Err(Errno::EPERM);
    }
    server.process_mut()?.credentials.capabilities = Capabilities { effective, permitted, inheritable };
    Ok(0)
}
