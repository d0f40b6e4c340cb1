//! Users, groups, umask, and the calls that ask for them; [`super::users`] has those that change them.

use super::capability::Capabilities;
use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::number::{low_i32, low_u32};
use crate::server::Server;
use crate::user::{UserPtr, UserSlice};
use alloc::vec::Vec;

/// A process's users and groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Credentials {
    /// Real, effective and saved user.
    pub user: Triple,
    /// Real, effective and saved group.
    pub group: Triple,
    /// Supplementary groups.
    pub groups: Vec<u32>,
    /// What is left of root's power.
    pub capabilities: Capabilities,
}

/// Real, effective and saved number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Triple {
    /// Real.
    pub real: u32,
    /// Effective.
    pub effective: u32,
    /// Saved.
    pub saved: u32,
}

impl Triple {
    /// Three times the same.
    pub const fn of(number: u32) -> Self {
        Self { real: number, effective: number, saved: number }
    }
}

/// getuid(2).
pub fn getuid<H: Host>(server: &mut Server<H>, _: Arguments) -> Result<u64, Errno> {
    Ok(u64::from(server.process()?.credentials.user.real))
}

/// geteuid(2).
pub fn geteuid<H: Host>(server: &mut Server<H>, _: Arguments) -> Result<u64, Errno> {
    Ok(u64::from(server.process()?.credentials.user.effective))
}

/// getgid(2).
pub fn getgid<H: Host>(server: &mut Server<H>, _: Arguments) -> Result<u64, Errno> {
    Ok(u64::from(server.process()?.credentials.group.real))
}

/// getegid(2).
pub fn getegid<H: Host>(server: &mut Server<H>, _: Arguments) -> Result<u64, Errno> {
    Ok(u64::from(server.process()?.credentials.group.effective))
}

/// getresuid(2).
pub fn getresuid<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let triple = server.process()?.credentials.user;
    write_triple(server, triple, arguments)
}

/// getresgid(2).
pub fn getresgid<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let triple = server.process()?.credentials.group;
    write_triple(server, triple, arguments)
}

/// getgroups(2).
pub fn getgroups<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let room = low_i32(arguments.word(0));
    let groups = server.process()?.credentials.groups.clone();
    let count = groups.len() as u64;
    let room = u64::try_from(room).map_err(|_| Errno::EINVAL)?;
    if room == 0 {
        return Ok(count);
    }
    if room < count {
        return Err(Errno::EINVAL);
    }
    let bytes: Vec<u8> = groups.iter().flat_map(|group| group.to_le_bytes()).collect();
    server.view()?.write_bytes(&bytes, UserSlice::new(arguments.word(1), bytes.len() as u64)?)?;
    Ok(count)
}

/// umask(2).
pub fn umask<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let mask = low_u32(arguments.word(0)) & 0o777;
    Ok(u64::from(core::mem::replace(&mut server.process_mut()?.umask, mask)))
}

fn write_triple<H: Host>(server: &mut Server<H>, triple: Triple, to: Arguments) -> Result<u64, Errno> {
    let mut view = server.view()?;
    for (number, value) in [triple.real, triple.effective, triple.saved].iter().enumerate() {
        view.write(UserPtr::new(to.word(number))?, value)?;
    }
    Ok(0)
}
