//! getdents64.

use super::descriptor::OpenKind;
use super::tree::{Content, KIND_MASK, NodeId, Tree};
use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::number::{low_u32, to_usize};
use crate::server::Server;
use crate::user::UserSlice;
use alloc::vec::Vec;

/// Bytes of `struct linux_dirent64` before the name.
const HEADER: usize = 19;

/// getdents64(2): as many entries as fit.
pub fn getdents64<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let file = *server.open_file(arguments.word(0))?;
    if !file.is_readable() {
        return Err(Errno::EBADF);
    }
    let room = u64::from(low_u32(arguments.word(2)));
    let to = UserSlice::new(arguments.word(1), room)?;
    let OpenKind::Node(directory) = file.kind else { return Err(Errno::ENOTDIR) };
    let mut bytes = Vec::new();
    let mut position = file.offset;
    while let Some((name, node)) = entry(&server.files.tree, directory, position)? {
        let length = (HEADER + name.len() + 1).next_multiple_of(8);
        if bytes.len() + length > to_usize(room) {
            break;
        }
        position += 1;
        let start = bytes.len();
        bytes.extend_from_slice(&Tree::inode(node).to_le_bytes());
        bytes.extend_from_slice(&position.to_le_bytes());
        bytes.extend_from_slice(&u16::try_from(length).unwrap_or(u16::MAX).to_le_bytes());
        bytes.push(kind(&server.files.tree, node));
        bytes.extend_from_slice(name);
        bytes.resize(start + length, 0);
    }
    if bytes.is_empty() {
        // A buffer too small for the next entry is an error; the directory's end is not.
        let more = entry(&server.files.tree, directory, position)?.is_some();
        return if more { Err(Errno::EINVAL) } else { Ok(0) };
    }
    server.view()?.write_bytes(&bytes, to)?;
    server.open_file_mut(arguments.word(0))?.offset = position;
    Ok(bytes.len() as u64)
}

/// The entry at a position: 0 is `.`, 1 is `..`.
fn entry(tree: &Tree, directory: NodeId, position: u64) -> Result<Option<(&'static [u8], NodeId)>, Errno> {
    let node = tree.get(directory).ok_or(Errno::ENOENT)?;
    let Content::Directory(children) = &node.content else { return Err(Errno::ENOTDIR) };
    Ok(match position {
        0 => Some((b".", directory)),
        1 => Some((b"..", node.parent)),
        more => children.iter().nth(to_usize(more - 2)).map(|(name, node)| (*name, *node)),
    })
}

/// DT_: the kind bits of the mode, shifted.
fn kind(tree: &Tree, node: NodeId) -> u8 {
    let mode = tree.get(node).map_or(0, |node| node.mode);
    ((mode & KIND_MASK) >> 12).to_le_bytes()[0]
}
