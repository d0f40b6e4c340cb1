//! The calls that change users and groups.
//!
//! Credentials are a process's here; Linux keeps them by thread, and C libraries make all threads follow.

use super::capability::Capability;
use super::credentials::{Credentials, Triple};
use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::number::{index, low_u32};
use crate::server::Server;
use crate::user::UserPtr;
use alloc::vec::Vec;

/// -1: leave it as it is.
const KEEP: u32 = u32::MAX;
/// Linux's NGROUPS_MAX.
const GROUPS_MOST: u32 = 65_536;

/// Users or groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Users,
    Groups,
}

impl Kind {
    const fn of(self, credentials: &Credentials) -> Triple {
        match self {
            Self::Users => credentials.user,
            Self::Groups => credentials.group,
        }
    }

    const fn capability(self) -> Capability {
        match self {
            Self::Users => Capability::SetUid,
            Self::Groups => Capability::SetGid,
        }
    }
}

/// setuid(2).
pub fn setuid<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    set_one(server, Kind::Users, low_u32(arguments.word(0)))
}

/// setgid(2).
pub fn setgid<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    set_one(server, Kind::Groups, low_u32(arguments.word(0)))
}

/// setreuid(2).
pub fn setreuid<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    set_two(server, Kind::Users, low_u32(arguments.word(0)), low_u32(arguments.word(1)))
}

/// setregid(2).
pub fn setregid<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    set_two(server, Kind::Groups, low_u32(arguments.word(0)), low_u32(arguments.word(1)))
}

/// setresuid(2).
pub fn setresuid<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    set_three(server, Kind::Users, arguments)
}

/// setresgid(2).
pub fn setresgid<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    set_three(server, Kind::Groups, arguments)
}

/// setfsuid(2): the user for files is the effective one here; the result is what it was.
pub fn setfsuid<H: Host>(server: &mut Server<H>, _: Arguments) -> Result<u64, Errno> {
    Ok(u64::from(server.process()?.credentials.user.effective))
}

/// setfsgid(2): as [`setfsuid`].
pub fn setfsgid<H: Host>(server: &mut Server<H>, _: Arguments) -> Result<u64, Errno> {
    Ok(u64::from(server.process()?.credentials.group.effective))
}

/// setgroups(2).
pub fn setgroups<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    if !server.process()?.credentials.can(Capability::SetGid) {
        return Err(Errno::EPERM);
    }
    let count = low_u32(arguments.word(0));
    if count > GROUPS_MOST {
        return Err(Errno::EINVAL);
    }
    let mut groups = Vec::with_capacity(index(count));
    for number in 0..u64::from(count) {
        let at = arguments.word(1).checked_add(number * 4).ok_or(Errno::EFAULT)?;
        groups.push(server.view()?.read(UserPtr::<u32>::new(at)?)?);
    }
    server.process_mut()?.credentials.groups = groups;
    Ok(0)
}

fn set_one<H: Host>(server: &mut Server<H>, kind: Kind, id: u32) -> Result<u64, Errno> {
    if id == KEEP {
        return Err(Errno::EINVAL);
    }
    let credentials = &server.process()?.credentials;
    let held = kind.of(credentials);
    if credentials.can(kind.capability()) {
        return server.set_ids(kind, Triple { real: id, effective: id, saved: id });
    }
    if id != held.real && id != held.saved {
        return Err(Errno::EPERM);
    }
    server.set_ids(kind, Triple { effective: id, ..held })
}

fn set_two<H: Host>(server: &mut Server<H>, kind: Kind, real: u32, effective: u32) -> Result<u64, Errno> {
    let credentials = &server.process()?.credentials;
    let held = kind.of(credentials);
    let free = credentials.can(kind.capability());
    let real_allowed = [KEEP, held.real, held.effective].contains(&real);
    let effective_allowed = [KEEP, held.real, held.effective, held.saved].contains(&effective);
    let allowed = free || (real_allowed && effective_allowed);
    if !allowed {
        return Err(Errno::EPERM);
    }
    let mut wanted =
        Triple { real: kept(real, held.real), effective: kept(effective, held.effective), ..held };
    if real != KEEP || (effective != KEEP && effective != held.real) {
        wanted.saved = wanted.effective;
    }
    server.set_ids(kind, wanted)
}

fn set_three<H: Host>(server: &mut Server<H>, kind: Kind, arguments: Arguments) -> Result<u64, Errno> {
    let credentials = &server.process()?.credentials;
    let held = kind.of(credentials);
    let free = credentials.can(kind.capability());
    let [real, effective, saved] = [0, 1, 2].map(|number| low_u32(arguments.word(number)));
    let allowed = |id: &u32| [KEEP, held.real, held.effective, held.saved].contains(id);
    if !free && ![real, effective, saved].iter().all(allowed) {
        return Err(Errno::EPERM);
    }
    let wanted = Triple {
        real: kept(real, held.real),
        effective: kept(effective, held.effective),
        saved: kept(saved, held.saved),
    };
    server.set_ids(kind, wanted)
}

const fn kept(wanted: u32, held: u32) -> u32 {
    if wanted == KEEP { held } else { wanted }
}

impl<H: Host> Server<H> {
    fn set_ids(&mut self, kind: Kind, ids: Triple) -> Result<u64, Errno> {
        let process = self.current()?.process;
        let record = self.process_mut()?;
        let before = record.credentials.user;
        match kind {
            Kind::Users => {
                record.credentials.user = ids;
                record.credentials.follow_users(before);
            }
            Kind::Groups => record.credentials.group = ids,
        }
        // As commit_creds: who is somebody else now does not die with a parent that it may not know.
        record.parent_death = None;
        self.tell_identities(process);
        Ok(0)
    }
}
