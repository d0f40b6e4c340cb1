//! Names come and go: mkdirat, mknodat, symlinkat, linkat, unlinkat.

use super::folder::{Folder, Name};
use super::node::{BLOCK, CHARACTER, Content, DIRECTORY, Device, FIFO, FileData, Known, REGULAR, SOCKET};
use super::open::{AT_EMPTY_PATH, AT_SYMLINK_FOLLOW};
use super::permission::{EXECUTE, WRITE};
use super::place::Place;
use super::tree::{NodeId, ROOT, kind_of};
use super::walk::{Last, Slash, Target};
use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::number::low_u32;
use crate::server::Server;

const AT_REMOVEDIR: u32 = 0x200;

/// mkdirat(2).
pub fn mkdirat<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [directory, path, mode, ..] = arguments.words();
    server.with_path(path, |server, path| {
        let target = server.new_name(directory, path, Slash::Yes)?;
        // Linux takes the sticky bit from mkdir's mode, and neither of the set-id bits.
        server.make(&target, Content::Directory(Folder::default()), low_u32(mode) & 0o1777)?;
        Ok(0)
    })
}

/// mknodat(2).
pub fn mknodat<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [directory, path, mode, device, ..] = arguments.words();
    let (mode, device) = (low_u32(mode), device_of(low_u32(device)));
    let content = match kind_of(mode) {
        0 | REGULAR => Content::File(FileData::Archive(&[])),
        FIFO => Content::Fifo(None),
        SOCKET => Content::Socket,
        CHARACTER => Content::Character(device),
        BLOCK => Content::Block(device),
        DIRECTORY => return Err(Errno::EPERM),
        _ => return Err(Errno::EINVAL),
    };
    server.with_path(path, |server, path| {
        let target = server.new_name(directory, path, Slash::No)?;
        if matches!(content, Content::Character(_) | Content::Block(_)) && server.who().user != 0 {
            return Err(Errno::EPERM);
        }
        server.make(&target, content, mode)?;
        Ok(0)
    })
}

/// symlinkat(2).
pub fn symlinkat<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [text, directory, path, ..] = arguments.words();
    server.with_path(text, |server, text| {
        if text.is_empty() {
            return Err(Errno::ENOENT);
        }
        server.with_path(path, |server, path| {
            let target = server.new_name(directory, path, Slash::No)?;
            server.make(&target, Content::Link(Name::Given(text.into())), 0o777)?;
            Ok(0)
        })
    })
}

/// linkat(2).
pub fn linkat<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [from, old, to, new, bits, _] = arguments.words();
    let bits = low_u32(bits);
    if bits & !(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH) != 0 {
        return Err(Errno::EINVAL);
    }
    let last = if bits & AT_SYMLINK_FOLLOW != 0 { Last::Follow } else { Last::Keep };
    server.with_path(old, |server, old| {
        if old.is_empty() && bits & AT_EMPTY_PATH != 0 && server.who().user != 0 {
            return Err(Errno::ENOENT);
        }
        let place = server.place_or_self(from, old, last, bits)?;
        server.with_path(new, |server, new| {
            let target = server.new_name(to, new, Slash::No)?;
            server.link(place, &target)
        })
    })
}

/// unlinkat(2).
pub fn unlinkat<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [directory, path, bits, ..] = arguments.words();
    let bits = low_u32(bits);
    if bits & !AT_REMOVEDIR != 0 {
        return Err(Errno::EINVAL);
    }
    server.with_path(path, |server, path| {
        let target = server.target_at(directory, path)?;
        if bits & AT_REMOVEDIR != 0 { server.remove_folder(&target) } else { server.remove_file(&target) }
    })
}

/// A device's numbers as mknod gives them (Linux's new_decode_dev).
const fn device_of(bits: u32) -> Device {
    Device { major: (bits & 0xf_ff00) >> 8, minor: (bits & 0xff) | ((bits >> 12) & 0xf_ff00) }
}

impl<H: Host> Server<H> {
    /// The place of a name that is to be made.
    fn new_name(&self, directory: u64, path: &[u8], slash_allowed: Slash) -> Result<Target, Errno> {
        let target = self.target_at(directory, path)?;
        if !target.is_name() || target.found.is_some() {
            return Err(Errno::EEXIST);
        }
        if target.slash == Slash::Yes && slash_allowed == Slash::No {
            return Err(Errno::ENOENT);
        }
        Ok(target)
    }

    fn link(&mut self, place: Place, target: &Target) -> Result<u64, Errno> {
        let Place::Node(parent) = target.parent else { return Err(Errno::EXDEV) };
        let Place::Node(id) = place else { return Err(Errno::EXDEV) };
        let above = self.files.tree.get(parent).ok_or(Errno::ENOENT)?;
        if above.links == 0 {
            return Err(Errno::ENOENT);
        }
        if !self.who().may(above, WRITE | EXECUTE) {
            return Err(Errno::EACCES);
        }
        let node = self.files.tree.get(id).ok_or(Errno::ENOENT)?;
        if node.is_directory() {
            return Err(Errno::EPERM);
        }
        // A file without a name gets one only if it never had one (O_TMPFILE).
        if node.links == 0 && !matches!(node.known, Known::Nowhere) {
            return Err(Errno::ENOENT);
        }
        let now = self.now();
        self.files.tree.link(parent, target.given(), id, now)?;
        if let Some(node) = self.files.tree.get_mut(id) {
            node.changed = now;
        }
        Ok(0)
    }

    fn remove_file(&mut self, target: &Target) -> Result<u64, Errno> {
        if !target.is_name() {
            return Err(Errno::EISDIR);
        }
        let found = target.found.ok_or(Errno::ENOENT)?;
        if target.slash == Slash::Yes {
            return Err(if self.is_directory(found) { Errno::EISDIR } else { Errno::ENOTDIR });
        }
        let (parent, id) = self.check_removal(target, found)?;
        if self.is_directory(Place::Node(id)) {
            return Err(Errno::EISDIR);
        }
        self.remove(parent, target)
    }

    fn remove_folder(&mut self, target: &Target) -> Result<u64, Errno> {
        match target.name.as_slice() {
            b"" => return Err(Errno::EBUSY),
            b"." => return Err(Errno::EINVAL),
            b".." => return Err(Errno::ENOTEMPTY),
            _ => {}
        }
        let found = target.found.ok_or(Errno::ENOENT)?;
        if found == Place::Proc(super::proc::Entry::Root) {
            return Err(Errno::EBUSY);
        }
        let (parent, id) = self.check_removal(target, found)?;
        let folder = self.files.tree.get(id).and_then(|node| node.folder()).ok_or(Errno::ENOTDIR)?;
        if !folder.is_empty() {
            return Err(Errno::ENOTEMPTY);
        }
        self.remove(parent, target)
    }

    /// Whether a name may be taken away; the directory and what it names.
    pub(super) fn check_removal(&self, target: &Target, found: Place) -> Result<(NodeId, NodeId), Errno> {
        // Nothing is removed in /proc, nor is /proc.
        let parent = self.node_of(target.parent, Errno::EPERM)?;
        let id = self.node_of(found, Errno::EBUSY)?;
        let above = self.files.tree.get(parent).ok_or(Errno::ENOENT)?;
        let node = self.files.tree.get(id).ok_or(Errno::ENOENT)?;
        self.who().may_remove(above, node)?;
        if id == ROOT {
            return Err(Errno::EBUSY);
        }
        Ok((parent, id))
    }

    /// Removes everything in /tmp.
    pub fn empty_temporary(&mut self) {
        if let Some(temporary) = self.files.tree.child(ROOT, b"tmp") {
            self.empty_folder(temporary);
        }
    }

    /// Removes everything in a directory, the deepest first.
    fn empty_folder(&mut self, folder: NodeId) {
        let now = self.now();
        let mut path = alloc::vec![folder];
        while let Some(at) = path.last().copied() {
            let entries = self.files.tree.get(at).and_then(|node| node.folder());
            let first = entries.and_then(|entries| entries.before(u64::MAX).next());
            let Some((entry, below)) = first else {
                path.pop();
                continue;
            };
            let name = entry.name.clone();
            let inside = self.files.tree.get(below).and_then(|node| node.folder());
            if inside.is_some_and(|inside| !inside.is_empty()) {
                path.push(below);
            } else {
                let left = self.files.tree.unlink(at, name.bytes(), now);
                self.free_left(left);
            }
        }
    }

    fn remove(&mut self, parent: NodeId, target: &Target) -> Result<u64, Errno> {
        let now = self.now();
        let left = self.files.tree.unlink(parent, &target.name, now);
        self.free_left(left);
        Ok(0)
    }
}
