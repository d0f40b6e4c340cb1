//! The tree of files: directories, files, symbolic links, read-only.
//!
//! Invariant: node 0 is the root directory and its own parent; every other node's parent is a directory that
//! has it among its children, sorted by name.

use super::cpio::{self, Damaged, Entry};
use crate::address::PAGE_BYTES;
use crate::memory::object::{ObjectId, Objects, Source};
use crate::number::index;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// A node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeId(u32);

/// The root directory.
pub const ROOT: NodeId = NodeId(0);

/// Kinds of st_mode.
pub const KIND_MASK: u32 = 0o170_000;
/// A directory.
pub const DIRECTORY: u32 = 0o040_000;
/// A regular file.
pub const REGULAR: u32 = 0o100_000;
/// A symbolic link.
pub const LINK: u32 = 0o120_000;
/// A FIFO.
pub const FIFO: u32 = 0o010_000;
/// A character device.
pub const CHARACTER: u32 = 0o020_000;

/// What a node is.
#[derive(Debug)]
pub enum Content {
    /// Names and nodes.
    Directory(BTreeMap<&'static [u8], NodeId>),
    /// A file's bytes and, once somebody mapped it, its pages.
    File(&'static [u8], Option<ObjectId>),
    /// A path.
    Link(&'static [u8]),
    /// Something that cannot be opened here: a device, a FIFO, a socket.
    Special,
}

/// A node of the tree.
#[derive(Debug)]
pub struct Node {
    /// What it is.
    pub content: Content,
    /// The directory it lies in.
    pub parent: NodeId,
    /// Its name there.
    pub name: &'static [u8],
    /// Kind and permissions.
    pub mode: u32,
    /// Owner.
    pub user: u32,
    /// Group.
    pub group: u32,
    /// Seconds since 1970.
    pub modified: u32,
    /// Names that it has.
    pub links: u32,
    /// The device's numbers, for a device.
    pub device: (u32, u32),
}

/// The tree.
#[derive(Debug)]
pub struct Tree {
    nodes: Vec<Node>,
}

impl Tree {
    /// The tree of an archive.
    ///
    /// # Errors
    /// What is wrong with the archive.
    pub fn new(archive: &'static [u8]) -> Result<Self, Damaged> {
        let mut tree = Self { nodes: Vec::new() };
        tree.nodes.push(directory(ROOT, b""));
        let mut hard_links = BTreeMap::new();
        for entry in cpio::entries(archive) {
            tree.add(&entry?, &mut hard_links);
        }
        Ok(tree)
    }

    /// A node.
    pub fn get(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(index(id.0))
    }

    /// The entry of a directory; `None` also for what is no directory.
    pub fn child(&self, parent: NodeId, name: &[u8]) -> Option<NodeId> {
        match &self.get(parent)?.content {
            Content::Directory(children) => children.get(name).copied(),
            _ => None,
        }
    }

    /// How many bytes a node has: what stat says.
    pub fn size(&self, id: NodeId) -> u64 {
        match self.get(id).map(|node| &node.content) {
            Some(Content::File(bytes, _)) | Some(Content::Link(bytes)) => bytes.len() as u64,
            _ => 0,
        }
    }

    /// The pages of a file, for mapping it; the tree keeps one reference for good.
    pub fn object(&mut self, id: NodeId, objects: &mut Objects) -> Option<ObjectId> {
        let Content::File(bytes, object) = &mut self.nodes.get_mut(index(id.0))?.content else { return None };
        let size = bytes.len() as u64;
        Some(*object.get_or_insert_with(|| objects.create(Source::Bytes(bytes), size, 1)))
    }

    /// A file's bytes.
    pub fn bytes(&self, id: NodeId) -> Option<&'static [u8]> {
        match self.get(id)?.content {
            Content::File(bytes, _) => Some(bytes),
            _ => None,
        }
    }

    /// The path of a node from the root.
    pub fn path(&self, id: NodeId) -> Vec<u8> {
        let mut names = Vec::new();
        let mut at = id;
        while let Some(node) = self.get(at).filter(|_| at != ROOT) {
            names.push(node.name);
            at = node.parent;
        }
        let mut path = Vec::new();
        for name in names.iter().rev() {
            path.push(b'/');
            path.extend_from_slice(name);
        }
        if path.is_empty() { b"/".to_vec() } else { path }
    }

    /// st_ino.
    pub const fn inode(id: NodeId) -> u64 {
        id.0 as u64 + 1
    }

    /// st_blocks: units of 512 bytes, in whole pages.
    pub fn blocks(&self, id: NodeId) -> u64 {
        self.size(id).div_ceil(PAGE_BYTES) * (PAGE_BYTES / 512)
    }

    fn add(&mut self, entry: &Entry<'static>, hard_links: &mut BTreeMap<u32, &'static [u8]>) {
        let mut parent = ROOT;
        let mut names = entry.path.split(|byte| *byte == b'/').filter(|name| is_plain(name)).peekable();
        let mut last = None;
        while let Some(name) = names.next() {
            if names.peek().is_none() {
                last = Some(name);
            } else {
                parent = self.directory(parent, name);
            }
        }
        let mut content = content(entry);
        // newc stores a file with several names once, with its last name.
        if let Content::File(bytes, _) = &mut content
            && entry.links > 1
        {
            if bytes.is_empty() {
                *bytes = hard_links.get(&entry.inode).copied().unwrap_or_default();
            } else {
                hard_links.insert(entry.inode, bytes);
            }
        }
        let Some(name) = last else {
            self.describe(ROOT, entry);
            return;
        };
        match (self.child(parent, name), &content) {
            (Some(there), Content::Directory(_)) => self.describe(there, entry),
            (there, _) => {
                let node = Node { content, name, ..directory(parent, name) };
                let id = self.put(there, parent, name, node);
                self.describe(id, entry);
            }
        }
    }

    /// The directory of that name, made if it is not there: an archive may leave directories out.
    fn directory(&mut self, parent: NodeId, name: &'static [u8]) -> NodeId {
        let there = self.child(parent, name);
        let is_directory =
            |id: NodeId| self.get(id).is_some_and(|node| matches!(node.content, Content::Directory(_)));
        match there {
            Some(there) if is_directory(there) => there,
            there => self.put(there, parent, name, directory(parent, name)),
        }
    }

    fn put(&mut self, there: Option<NodeId>, parent: NodeId, name: &'static [u8], node: Node) -> NodeId {
        if let Some(there) = there {
            if let Some(place) = self.nodes.get_mut(index(there.0)) {
                *place = node;
            }
            return there;
        }
        let id = NodeId(crate::number::low_u32(self.nodes.len() as u64));
        self.nodes.push(node);
        if let Some(Node { content: Content::Directory(children), .. }) = self.nodes.get_mut(index(parent.0))
        {
            children.insert(name, id);
        }
        id
    }

    fn describe(&mut self, id: NodeId, entry: &Entry<'_>) {
        let Some(node) = self.nodes.get_mut(index(id.0)) else { return };
        node.mode = entry.mode;
        node.user = entry.user;
        node.group = entry.group;
        node.modified = entry.modified;
        node.links = entry.links;
        node.device = entry.device;
        if id == ROOT {
            node.mode = DIRECTORY | (entry.mode & !KIND_MASK);
        }
    }
}

fn content(entry: &Entry<'static>) -> Content {
    match entry.mode & KIND_MASK {
        DIRECTORY => Content::Directory(BTreeMap::new()),
        REGULAR => Content::File(entry.data, None),
        LINK => Content::Link(entry.data),
        _ => Content::Special,
    }
}

/// An archive's path climbs nowhere.
fn is_plain(name: &[u8]) -> bool {
    !name.is_empty() && name != b"." && name != b".."
}

fn directory(parent: NodeId, name: &'static [u8]) -> Node {
    Node {
        content: Content::Directory(BTreeMap::new()),
        parent,
        name,
        mode: DIRECTORY | 0o755,
        user: 0,
        group: 0,
        modified: 0,
        links: 2,
        device: (0, 0),
    }
}
