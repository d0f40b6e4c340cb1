//! renameat2, with Linux's checks in Linux's order (fs/namei.c).

use super::node::Node;
use super::permission::{EXECUTE, WRITE};
use super::place::Place;
use super::tree::NodeId;
use super::walk::{Slash, Target};
use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::number::low_u32;
use crate::server::Server;

const NOREPLACE: u32 = 1;
const EXCHANGE: u32 = 2;

/// How a name is moved onto another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// What was there goes.
    Replace,
    /// Nothing may be there.
    NoReplace,
    /// Both names stay and change places.
    Exchange,
}

/// renameat2(2).
pub fn renameat2<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [from, old, to, new, bits, _] = arguments.words();
    // RENAME_WHITEOUT is for file systems that are layered.
    let mode = match low_u32(bits) {
        0 => Mode::Replace,
        NOREPLACE => Mode::NoReplace,
        EXCHANGE => Mode::Exchange,
        _ => return Err(Errno::EINVAL),
    };
    server.with_path(old, |server, old| {
        server.with_path(new, |server, new| {
            let old = server.target_at(from, old)?;
            let new = server.target_at(to, new)?;
            server.rename(&old, &new, mode)
        })
    })
}

impl<H: Host> Server<H> {
    fn rename(&mut self, old: &Target, new: &Target, mode: Mode) -> Result<u64, Errno> {
        let (Place::Node(from), Place::Node(to)) = (old.parent, new.parent) else {
            let both_in_proc = !matches!(old.parent, Place::Node(_)) && !matches!(new.parent, Place::Node(_));
            return Err(if both_in_proc { Errno::EPERM } else { Errno::EXDEV });
        };
        if !old.is_name() {
            return Err(Errno::EBUSY);
        }
        if !new.is_name() {
            return Err(if mode == Mode::NoReplace { Errno::EEXIST } else { Errno::EBUSY });
        }
        let source = old.found.ok_or(Errno::ENOENT)?;
        if mode == Mode::NoReplace && new.found.is_some() {
            return Err(Errno::EEXIST);
        }
        if mode == Mode::Exchange {
            let other = new.found.ok_or(Errno::ENOENT)?;
            if !self.is_directory(other) && new.slash == Slash::Yes {
                return Err(Errno::ENOTDIR);
            }
        }
        if !self.is_directory(source)
            && (old.slash == Slash::Yes || mode != Mode::Exchange && new.slash == Slash::Yes)
        {
            return Err(Errno::ENOTDIR);
        }
        self.check_ancestors(source, new.found, (from, to), mode)?;
        self.check_rename(old, new, (from, to), mode)?;
        if old.found == new.found {
            return Ok(0);
        }
        let now = self.now();
        if mode == Mode::Exchange {
            let done = self.files.tree.exchange((from, &old.name), (to, &new.name), now);
            return done.map(|()| 0).ok_or(Errno::ENOENT);
        }
        let left = self.files.tree.rename((from, &old.name), (to, new.given()), now);
        self.free_left(left);
        Ok(0)
    }

    /// A directory moves neither into itself nor onto one that it lies in.
    fn check_ancestors(
        &self,
        source: Place,
        target: Option<Place>,
        (from, to): (NodeId, NodeId),
        mode: Mode,
    ) -> Result<(), Errno> {
        if let Place::Node(source) = source
            && self.files.tree.is_within(to, source)
        {
            return Err(Errno::EINVAL);
        }
        if let Some(Place::Node(target)) = target
            && self.files.tree.is_within(from, target)
        {
            return Err(if mode == Mode::Exchange { Errno::EINVAL } else { Errno::ENOTEMPTY });
        }
        Ok(())
    }

    fn check_rename(
        &self,
        old: &Target,
        new: &Target,
        (from, to): (NodeId, NodeId),
        mode: Mode,
    ) -> Result<(), Errno> {
        let source = old.found.ok_or(Errno::ENOENT)?;
        if Some(source) == new.found {
            return Ok(());
        }
        let (_, id) = self.check_removal(old, source)?;
        let tree = &self.files.tree;
        let (who, moved) = (self.who(), tree.get(id).ok_or(Errno::ENOENT)?);
        let Some(target) = new.found else {
            let above = tree.get(to).ok_or(Errno::ENOENT)?;
            if above.links == 0 {
                return Err(Errno::ENOENT);
            }
            if !who.may(above, WRITE | EXECUTE) {
                return Err(Errno::EACCES);
            }
            return self.may_change_parent(moved, (from, to));
        };
        let (_, target) = self.check_removal(new, target)?;
        let replaced = tree.get(target).ok_or(Errno::ENOENT)?;
        if mode != Mode::Exchange {
            match (moved.is_directory(), replaced.is_directory()) {
                (true, false) => return Err(Errno::ENOTDIR),
                (false, true) => return Err(Errno::EISDIR),
                _ => {}
            }
        }
        self.may_change_parent(moved, (from, to))?;
        if mode == Mode::Exchange {
            return self.may_change_parent(replaced, (from, to));
        }
        if replaced.folder().is_some_and(|folder| !folder.is_empty()) {
            return Err(Errno::ENOTEMPTY);
        }
        Ok(())
    }

    /// A directory that gets another parent is written: its `..` changes.
    fn may_change_parent(&self, node: &Node, (from, to): (NodeId, NodeId)) -> Result<(), Errno> {
        if from != to && node.is_directory() && !self.who().may(node, WRITE) {
            return Err(Errno::EACCES);
        }
        Ok(())
    }
}
