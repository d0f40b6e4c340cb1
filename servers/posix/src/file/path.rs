//! From paths to nodes, as path_resolution(7) says.

use super::tree::{Content, NodeId, ROOT, Tree};
use crate::Errno;
use alloc::vec::Vec;

/// Symbolic links followed in one path (Linux's MAXSYMLINKS).
const MOST_LINKS: u32 = 40;
/// The longest path, its zero included.
pub const PATH_MAX: usize = 4096;
const NAME_MAX: usize = 255;

/// What becomes of a symbolic link at a path's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastLink {
    /// It is followed.
    Follow,
    /// It is what the path means.
    Keep,
}

impl Tree {
    /// The node that a path means, from a directory.
    ///
    /// # Errors
    /// ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG.
    pub fn resolve(&self, from: NodeId, path: &[u8], last: LastLink) -> Result<NodeId, Errno> {
        if path.is_empty() {
            return Err(Errno::ENOENT);
        }
        let mut at = if path.starts_with(b"/") { ROOT } else { from };
        // Names yet to go, the next one last; links put theirs on top.
        let mut names: Vec<&[u8]> = Vec::new();
        push_names(&mut names, path);
        let mut links = 0;
        let must_be_directory = path.ends_with(b"/");
        while let Some(name) = names.pop() {
            let next = self.step(at, name)?;
            let follow = !names.is_empty() || last == LastLink::Follow || must_be_directory;
            match self.get(next).map(|node| &node.content) {
                Some(Content::Link(target)) if follow => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(Errno::ELOOP);
                    }
                    if target.is_empty() {
                        return Err(Errno::ENOENT);
                    }
                    if target.starts_with(b"/") {
                        at = ROOT;
                    }
                    push_names(&mut names, target);
                }
                _ => at = next,
            }
        }
        let is_directory = self.get(at).is_some_and(|node| matches!(node.content, Content::Directory(_)));
        if must_be_directory && !is_directory { Err(Errno::ENOTDIR) } else { Ok(at) }
    }

    fn step(&self, at: NodeId, name: &[u8]) -> Result<NodeId, Errno> {
        let node = self.get(at).ok_or(Errno::ENOENT)?;
        let Content::Directory(children) = &node.content else { return Err(Errno::ENOTDIR) };
        match name {
            b"." => Ok(at),
            b".." => Ok(node.parent),
            name if name.len() > NAME_MAX => Err(Errno::ENAMETOOLONG),
            name => children.get(name).copied().ok_or(Errno::ENOENT),
        }
    }
}

fn push_names<'a>(names: &mut Vec<&'a [u8]>, path: &'a [u8]) {
    names.extend(path.rsplit(|byte| *byte == b'/').filter(|name| !name.is_empty()));
}
