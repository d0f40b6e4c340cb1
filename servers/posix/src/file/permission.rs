//! Who may do what with a node: Linux's generic_permission, with root's bypass.

use super::node::{Node, STICKY};
use crate::Errno;
use crate::host::Host;
use crate::process::credentials::Credentials;
use crate::server::Server;

/// Reading.
pub const READ: u32 = 4;
/// Writing; in a directory: making and removing names.
pub const WRITE: u32 = 2;
/// Executing; in a directory: going through it.
pub const EXECUTE: u32 = 1;

/// On whose behalf a file is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Who<'a> {
    /// The user.
    pub user: u32,
    /// The group.
    pub group: u32,
    /// The other groups.
    pub groups: &'a [u32],
}

impl Who<'_> {
    /// The server itself.
    pub const ROOT: Self = Self { user: 0, group: 0, groups: &[] };

    /// Whether all of `wanted` is allowed.
    #[inline]
    pub fn may(self, node: &Node, wanted: u32) -> bool {
        if self.user == 0 {
            // Root does everything, but execute a file that nobody may.
            return wanted & EXECUTE == 0 || node.mode & 0o111 != 0 || node.is_directory();
        }
        let shift = if self.user == node.owner.user {
            6
        } else if self.is_in(node.owner.group) {
            3
        } else {
            0
        };
        wanted & !(node.mode >> shift) & 7 == 0
    }

    /// Whether a group is one of its.
    pub fn is_in(self, group: u32) -> bool {
        self.group == group || self.groups.contains(&group)
    }

    /// Whether it may change what only an owner may.
    pub const fn owns(self, node: &Node) -> bool {
        self.user == 0 || self.user == node.owner.user
    }

    /// Whether it may take the name of a node out of a directory: needs more in a sticky one.
    ///
    /// # Errors
    /// EACCES without the right to write and search, EPERM in a sticky directory of somebody else.
    pub fn may_remove(self, parent: &Node, node: &Node) -> Result<(), Errno> {
        if !self.may(parent, WRITE | EXECUTE) {
            return Err(Errno::EACCES);
        }
        let sticky = parent.mode & STICKY != 0 && !self.owns(parent) && !self.owns(node);
        if sticky { Err(Errno::EPERM) } else { Ok(()) }
    }
}

impl Credentials {
    /// Who acts with these.
    pub fn who(&self) -> Who<'_> {
        Who { user: self.user.effective, group: self.group.effective, groups: &self.groups }
    }

    /// Who asks with these for access(2): the real user.
    pub fn who_really(&self) -> Who<'_> {
        Who { user: self.user.real, group: self.group.real, groups: &self.groups }
    }
}

impl<H: Host> Server<H> {
    /// On whose behalf the server acts; its own when no program does.
    #[inline]
    pub fn who(&self) -> Who<'_> {
        self.process().map_or(Who::ROOT, |process| process.credentials.who())
    }
}
