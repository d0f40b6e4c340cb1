//! The tree of files in memory: nodes, their names, and how long they live.
//!
//! Invariant: a node lives while it has names or holders. Node [`ROOT`] is the root directory and its own
//! parent. A directory's parent lives as long as the directory does: by the name that the directory has in it,
//! or, once that is removed, because the directory holds it.

use super::folder::{Folder, Hash, Name};
use super::node::{
    BLOCK, CHARACTER, Content, DIRECTORY, FIFO, FileData, KIND_MASK, Known, LINK, Node, Owner, REGULAR,
    SOCKET, Time, Touched,
};
use crate::Errno;
use crate::define_id;
use crate::memory::object::{ObjectId, Objects, Source};
use crate::slots::{Id, Slots};
use alloc::vec::Vec;

define_id! {
    /// A node.
    NodeId
}

/// Most nodes; there is a lower limit once the archive is in.
const MOST_NODES: usize = 1 << 20;
/// Names of one file (Linux's tmpfs has no limit; the count must not wrap).
const MOST_LINKS: u32 = 1 << 30;

/// The root directory.
pub const ROOT: NodeId = NodeId::first();

impl NodeId {
    const fn first() -> Self {
        Self(0)
    }
}

/// The tree.
#[derive(Debug)]
pub struct Tree {
    nodes: Slots<NodeId, Node>,
    last_number: u64,
    /// Names beside the first of files that have several.
    further_names: usize,
    /// Most nodes and further names.
    most: usize,
}

/// What a freed node leaves to be given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Pages of a file.
    pub object: Option<ObjectId>,
}

/// How a new node begins.
#[derive(Debug)]
pub struct Fresh {
    /// What it is.
    pub content: Content,
    /// Permissions; the kind comes from the content.
    pub permissions: u32,
    /// Whose it is.
    pub owner: Owner,
    /// All its times.
    pub now: Time,
}

impl Tree {
    /// A tree with an empty root directory.
    pub fn new(now: Time) -> Self {
        let mut tree =
            Self { nodes: Slots::new(MOST_NODES), last_number: 0, further_names: 0, most: MOST_NODES };
        let content = Content::Directory(Folder::default());
        let owner = Owner { user: 0, group: 0 };
        let root = tree.create(Fresh { content, permissions: 0o755, owner, now });
        if let Ok(root) = root
            && let Some(node) = tree.get_mut(root)
        {
            (node.links, node.holders, node.known) = (2, 1, Known::At(root, 0));
        }
        tree
    }

    /// A node.
    #[inline]
    pub fn get(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id)
    }

    /// A node, to change it.
    #[inline]
    pub fn get_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.nodes.get_mut(id)
    }

    /// How many nodes live.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Allows so many nodes and further names more than there are.
    pub fn allow(&mut self, more: usize) {
        self.most = self.used().saturating_add(more).min(MOST_NODES);
    }

    /// How many nodes there may be: a further name of a file counts as one, as in Linux's tmpfs.
    pub const fn most(&self) -> usize {
        self.most
    }

    /// How many of them there are.
    pub fn used(&self) -> usize {
        self.nodes.len() + self.further_names
    }

    /// Whether no node lives.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The directory that a directory lies in.
    pub fn parent(&self, id: NodeId) -> NodeId {
        match self.get(id).map(|node| &node.known) {
            Some(Known::At(parent, _) | Known::Was(parent, _)) => *parent,
            _ => ROOT,
        }
    }

    /// A node that nobody holds yet and that has no name.
    ///
    /// # Errors
    /// ENOSPC when there are too many.
    pub fn create(&mut self, fresh: Fresh) -> Result<NodeId, Errno> {
        if self.used() >= self.most {
            return Err(Errno::ENOSPC);
        }
        let Fresh { content, permissions, owner, now } = fresh;
        self.last_number += 1;
        let node = Node {
            mode: kind(&content) | permissions,
            content,
            owner,
            links: 0,
            known: Known::Nowhere,
            number: self.last_number,
            accessed: now,
            modified: now,
            changed: now,
            born: now,
            holders: 0,
            writers: 0,
        };
        self.nodes.insert(node).ok_or(Errno::ENOSPC)
    }

    /// Gives a node a name in a directory that has none like it.
    ///
    /// # Errors
    /// ENOENT for a directory that was removed; EMLINK for too many names; ENOSPC as [`Tree::create`].
    pub fn link(&mut self, parent: NodeId, name: Name, id: NodeId, now: Time) -> Result<(), Errno> {
        let node = self.get(id).ok_or(Errno::ENOENT)?;
        let is_directory = node.is_directory();
        if node.links >= MOST_LINKS {
            return Err(Errno::EMLINK);
        }
        let is_further = !is_directory && node.links != 0;
        if is_further && self.used() >= self.most {
            return Err(Errno::ENOSPC);
        }
        let above = self.get_mut(parent).ok_or(Errno::ENOENT)?;
        // A removed directory has no links: nothing is made in it.
        if above.links == 0 {
            return Err(Errno::ENOENT);
        }
        above.touch(now, Touched::Content);
        above.links += u32::from(is_directory);
        let cookie = above.folder_mut().ok_or(Errno::ENOTDIR)?.insert(name, id);
        self.further_names += usize::from(is_further);
        let node = self.get_mut(id).ok_or(Errno::ENOENT)?;
        node.links += 1 + u32::from(is_directory);
        if !matches!(node.known, Known::At(..)) {
            let before = core::mem::replace(&mut node.known, Known::At(parent, cookie));
            if let Known::Was(held, _) = before {
                // A directory has no pages to give back.
                let _ = self.release(held);
            }
        }
        Ok(())
    }

    /// Takes a name away; the node goes too if nobody else needs it.
    pub fn unlink(&mut self, parent: NodeId, name: &[u8], now: Time) -> Option<Left> {
        let above = self.get_mut(parent)?;
        let (name, id, cookie) = above.folder_mut()?.remove(name)?;
        above.touch(now, Touched::Content);
        self.forget_name(parent, cookie, name, id, now)
    }

    /// A name of a node is no longer in its directory.
    fn forget_name(
        &mut self,
        parent: NodeId,
        cookie: u64,
        name: Name,
        id: NodeId,
        now: Time,
    ) -> Option<Left> {
        let node = self.get_mut(id)?;
        let is_directory = node.is_directory();
        node.links = node.links.saturating_sub(1 + u32::from(is_directory));
        if is_directory {
            node.links = 0;
        }
        node.touch(now, Touched::Status);
        let lost = matches!(node.known, Known::At(at, which) if at == parent && which == cookie);
        let goes = node.links == 0 && node.holders == 0;
        let was_further = !is_directory && node.links != 0;
        if lost {
            node.known = if goes { Known::Nowhere } else { Known::Was(parent, name) };
        }
        self.further_names -= usize::from(was_further);
        if is_directory && let Some(above) = self.get_mut(parent) {
            above.links = above.links.saturating_sub(1);
        }
        if lost && !goes {
            self.hold(parent);
        }
        self.free_if_unused(id)
    }

    /// Moves a name; what the new name named goes if nobody else needs it.
    pub fn rename(&mut self, from: (NodeId, &[u8]), to: (NodeId, Name), now: Time) -> Option<Left> {
        let (below, name) = to;
        let above = self.get_mut(from.0)?;
        let (_, id, cookie) = above.folder_mut()?.remove(from.1)?;
        above.touch(now, Touched::Content);
        let node = self.get_mut(id)?;
        node.touch(now, Touched::Status);
        let is_directory = u32::from(node.is_directory());
        let was_known = matches!(node.known, Known::At(at, which) if at == from.0 && which == cookie);
        let target = self.get_mut(below)?;
        target.touch(now, Touched::Content);
        target.links += is_directory;
        let folder = target.folder_mut()?;
        // As in Linux's directories, what was moved is listed first from then on.
        let before = folder.remove(name.bytes());
        let cookie = folder.insert(name, id);
        if let Some(above) = self.get_mut(from.0) {
            above.links = above.links.saturating_sub(is_directory);
        }
        if was_known && let Some(node) = self.get_mut(id) {
            node.known = Known::At(below, cookie);
        }
        let (name, gone, cookie) = before?;
        self.forget_name(below, cookie, name, gone, now)
    }

    /// Makes two names name each other's nodes.
    pub fn exchange(&mut self, one: (NodeId, &[u8]), other: (NodeId, &[u8]), now: Time) -> Option<()> {
        let (first, second) = (self.child(one.0, one.1)?, self.child(other.0, other.1)?);
        for ((parent, name), before, after) in [(one, first, second), (other, second, first)] {
            let is_directory = |id| self.get(id).is_some_and(Node::is_directory);
            let (less, more) = (u32::from(is_directory(before)), u32::from(is_directory(after)));
            let above = self.get_mut(parent)?;
            above.touch(now, Touched::Content);
            above.links = above.links.saturating_sub(less) + more;
            let (name, ..) = above.folder_mut()?.remove(name)?;
            let cookie = above.folder_mut()?.insert(name, after);
            let node = self.get_mut(after)?;
            node.touch(now, Touched::Status);
            node.known = Known::At(parent, cookie);
        }
        Some(())
    }

    /// Somebody needs a node, whatever becomes of its names.
    #[inline]
    pub fn hold(&mut self, id: NodeId) {
        if let Some(node) = self.get_mut(id) {
            node.holders += 1;
        }
    }

    /// Somebody needs a node no longer; it goes when it has no names and nobody else needs it.
    #[inline]
    pub fn release(&mut self, id: NodeId) -> Option<Left> {
        let node = self.get_mut(id)?;
        node.holders = node.holders.saturating_sub(1);
        if node.holders != 0 || node.links != 0 { None } else { self.free_if_unused(id) }
    }

    fn free_if_unused(&mut self, id: NodeId) -> Option<Left> {
        let mut id = id;
        let mut left = None;
        // A node that goes may be the last that held its directory, and so on up.
        while let Some(node) = self.get(id).filter(|node| node.links == 0 && node.holders == 0) {
            if let Content::File(FileData::Pages(object)) = node.content {
                left = Some(Left { object: Some(object) });
            }
            let above = match node.known {
                Known::Was(parent, _) => Some(parent),
                _ => None,
            };
            self.nodes.remove(id);
            let Some(parent) = above else { break };
            if let Some(node) = self.get_mut(parent) {
                node.holders = node.holders.saturating_sub(1);
            }
            id = parent;
        }
        left
    }

    /// The pages of a file, made from its bytes if it had none yet; the tree keeps one reference.
    pub fn object(&mut self, id: NodeId, objects: &mut Objects) -> Option<ObjectId> {
        let Content::File(data) = &mut self.get_mut(id)?.content else { return None };
        match *data {
            FileData::Pages(object) => Some(object),
            FileData::Archive(bytes) => {
                let object = objects.create(Source::Bytes(bytes), bytes.len() as u64, 1);
                objects.set_file(object, Some(id.number()));
                *data = FileData::Pages(object);
                Some(object)
            }
        }
    }

    /// The path of a node from the root; `None` for one that never had a name.
    pub fn path(&self, id: NodeId, path: &mut Vec<u8>) -> Option<()> {
        path.clear();
        let mut at = id;
        let mut gone = false;
        // Names from the last to the first, each reversed; all of it is turned round at the end.
        while at != ROOT {
            let node = self.get(at)?;
            let (parent, name) = match &node.known {
                Known::At(parent, cookie) => {
                    (*parent, self.get(*parent)?.folder()?.at(*cookie)?.name.bytes())
                }
                Known::Was(parent, name) => {
                    gone = true;
                    (*parent, name.bytes())
                }
                Known::Nowhere => return None,
            };
            path.extend(name.iter().rev());
            path.push(b'/');
            at = parent;
        }
        if path.is_empty() {
            path.push(b'/');
        }
        path.reverse();
        if gone {
            path.extend_from_slice(b" (deleted)");
        }
        Some(())
    }

    /// Whether a directory is another one or lies below it.
    pub fn is_within(&self, id: NodeId, above: NodeId) -> bool {
        let mut at = id;
        loop {
            if at == above {
                return true;
            }
            if at == ROOT {
                return false;
            }
            at = self.parent(at);
        }
    }

    /// What a name in a directory names.
    pub fn child(&self, parent: NodeId, name: &[u8]) -> Option<NodeId> {
        self.get(parent)?.folder()?.get(name, Hash::of(name))
    }
}

/// The kind bits of what a node is.
pub const fn kind(content: &Content) -> u32 {
    match content {
        Content::Directory(_) => DIRECTORY,
        Content::File(_) => REGULAR,
        Content::Link(_) => LINK,
        Content::Fifo(_) => FIFO,
        Content::Character(_) => CHARACTER,
        Content::Block(_) => BLOCK,
        Content::Socket => SOCKET,
    }
}

/// The kind bits of a mode.
pub const fn kind_of(mode: u32) -> u32 {
    mode & KIND_MASK
}
