//! openat and faccessat, and where a path argument begins.

use super::descriptor::{OnExec, OpenFile, OpenKind, flags};
use super::path::{LastLink, PATH_MAX};
use super::tree::{Content, NodeId, ROOT};
use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::number::{low_i32, low_u32};
use crate::server::Server;
use alloc::vec::Vec;

/// The working directory, in place of a descriptor.
pub const AT_FDCWD: i32 = -100;
/// A symbolic link at the end is what is meant.
pub const AT_SYMLINK_NOFOLLOW: u32 = 0x100;
/// Ask for the effective user (faccessat2).
const AT_EACCESS: u32 = 0x200;
/// An empty path means the descriptor itself.
pub const AT_EMPTY_PATH: u32 = 0x1000;
const FLAGS_KNOWN: u32 = 0x3
    | 0o100
    | 0o200
    | 0o400
    | 0o1000
    | 0o2000
    | 0o4000
    | 0o1_0000
    | 0o2_0000
    | 0o4_0000
    | 0o10_0000
    | flags::DIRECTORY
    | flags::NOFOLLOW
    | flags::NOATIME
    | flags::CLOEXEC
    | 0o400_0000
    | flags::PATH
    | 0o2000_0000;
const WRITE_OK: u32 = 2;

impl<H: Host> Server<H> {
    /// Reads a path argument.
    ///
    /// # Errors
    /// EFAULT, ENAMETOOLONG.
    pub fn read_path(&mut self, address: u64) -> Result<Vec<u8>, Errno> {
        let mut path = Vec::new();
        self.view()?.read_string(address, PATH_MAX, &mut path)?;
        Ok(path)
    }

    /// Where a path begins.
    ///
    /// # Errors
    /// EBADF, ENOTDIR.
    pub fn base_of(&self, directory: u64, path: &[u8]) -> Result<NodeId, Errno> {
        // There is no chdir yet: every program works in the root directory.
        if path.starts_with(b"/") || low_i32(directory) == AT_FDCWD {
            return Ok(ROOT);
        }
        match self.open_file(directory)?.kind {
            OpenKind::Node(node) => match self.files.tree.get(node).map(|node| &node.content) {
                Some(Content::Directory(_)) => Ok(node),
                _ => Err(Errno::ENOTDIR),
            },
            _ => Err(Errno::ENOTDIR),
        }
    }

    /// The node that a call's directory and path mean.
    ///
    /// # Errors
    /// Those of path resolution.
    pub fn node_at(&mut self, directory: u64, path: &[u8], last: LastLink) -> Result<NodeId, Errno> {
        if path.is_empty() {
            return Err(Errno::ENOENT);
        }
        if let Some(node) = self.executable_link(path, last) {
            return node;
        }
        let base = self.base_of(directory, path)?;
        self.files.tree.resolve(base, path, last)
    }

    /// /proc/self/exe, before there is a /proc.
    fn executable_link(&self, path: &[u8], last: LastLink) -> Option<Result<NodeId, Errno>> {
        if path != b"/proc/self/exe" || last == LastLink::Keep {
            return None;
        }
        let executable = &self.process().ok()?.executable;
        Some(self.files.tree.resolve(ROOT, executable, LastLink::Follow))
    }
}

/// openat(2).
pub fn openat<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [directory, path, bits, ..] = arguments.words();
    // Linux ignores flags of open that it does not know.
    let mut bits = low_u32(bits) & FLAGS_KNOWN;
    if bits & flags::PATH != 0 {
        bits &= flags::PATH | flags::DIRECTORY | flags::NOFOLLOW | flags::CLOEXEC;
    }
    let path = server.read_path(path)?;
    let node = open_node(server, directory, &path, bits)?;
    let on_exec = if bits & flags::CLOEXEC != 0 { OnExec::Close } else { OnExec::Keep };
    let kept = bits & !(flags::CREAT | flags::EXCL | flags::TRUNC | flags::CLOEXEC);
    server.install(OpenFile::new(OpenKind::Node(node), kept), on_exec)
}

fn open_node<H: Host>(
    server: &mut Server<H>,
    directory: u64,
    path: &[u8],
    bits: u32,
) -> Result<NodeId, Errno> {
    let keep =
        bits & flags::NOFOLLOW != 0 || bits & (flags::CREAT | flags::EXCL) == flags::CREAT | flags::EXCL;
    let last = if keep { LastLink::Keep } else { LastLink::Follow };
    let node = match server.node_at(directory, path, last) {
        Ok(_) if bits & (flags::CREAT | flags::EXCL) == flags::CREAT | flags::EXCL => {
            return Err(Errno::EEXIST);
        }
        Ok(node) => node,
        Err(Errno::ENOENT) if bits & flags::CREAT != 0 && !path.is_empty() => {
            // Linux tells a missing directory from a name that could have been made, but for the mount.
            let name = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
            let parent = path.get(..name).filter(|parent| !parent.is_empty()).unwrap_or(b".");
            server.node_at(directory, parent, LastLink::Follow)?;
            return Err(Errno::EROFS);
        }
        Err(error) => return Err(error),
    };
    let writes = bits & flags::ACCESS != 0 || bits & flags::TRUNC != 0;
    match server.files.tree.get(node).map(|node| &node.content) {
        Some(Content::Link(_)) if bits & flags::PATH == 0 => Err(Errno::ELOOP),
        Some(Content::Directory(_)) if bits & (flags::WRONLY | flags::RDWR | flags::CREAT) != 0 => {
            Err(Errno::EISDIR)
        }
        Some(Content::Directory(_)) => Ok(node),
        _ if bits & flags::DIRECTORY != 0 => Err(Errno::ENOTDIR),
        Some(Content::Special) if bits & flags::PATH == 0 => Err(Errno::ENXIO),
        Some(Content::File(..)) if writes => Err(Errno::EROFS),
        Some(_) => Ok(node),
        None => Err(Errno::ENOENT),
    }
}

/// faccessat(2).
pub fn faccessat<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    access(server, arguments, 0)
}

/// faccessat2(2).
pub fn faccessat2<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let bits = low_u32(arguments.word(3));
    if bits & !(AT_EACCESS | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) != 0 {
        return Err(Errno::EINVAL);
    }
    access(server, arguments, bits)
}

/// Root may do everything, but write to a read-only tree and execute what nobody may.
fn access<H: Host>(server: &mut Server<H>, arguments: Arguments, bits: u32) -> Result<u64, Errno> {
    let mode = low_u32(arguments.word(2));
    if mode & !7 != 0 {
        return Err(Errno::EINVAL);
    }
    let path = server.read_path(arguments.word(1))?;
    let last = if bits & AT_SYMLINK_NOFOLLOW != 0 { LastLink::Keep } else { LastLink::Follow };
    let node = if path.is_empty() && bits & AT_EMPTY_PATH != 0 {
        match server.open_file(arguments.word(0))?.kind {
            OpenKind::Node(node) => node,
            _ => return Ok(0),
        }
    } else {
        server.node_at(arguments.word(0), &path, last)?
    };
    let node = server.files.tree.get(node).ok_or(Errno::ENOENT)?;
    let plain = matches!(node.content, Content::File(..));
    if mode & 1 != 0 && plain && node.mode & 0o111 == 0 {
        return Err(Errno::EACCES);
    }
    if mode & WRITE_OK != 0
        && matches!(node.content, Content::File(..) | Content::Directory(_) | Content::Link(_))
    {
        return Err(Errno::EROFS);
    }
    Ok(0)
}
