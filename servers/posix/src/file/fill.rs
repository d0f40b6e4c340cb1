//! The tree as it is at the start: what the archive has, and the places that every program expects.

use super::cpio::{self, Damaged, Entry};
use super::folder::{Folder, Name};
use super::node::{
    BLOCK, CHARACTER, Content, DIRECTORY, Device, FIFO, FileData, LINK, Owner, PERMISSIONS, REGULAR, STICKY,
    Time,
};
use super::tree::{Fresh, NodeId, ROOT, Tree, kind_of};
use alloc::collections::BTreeMap;

/// Devices that Linux's devtmpfs has and programs rely on.
const DEVICES: [(&[u8], u32, u32, u32); 10] = [
    (b"null", 1, 3, 0o666),
    (b"zero", 1, 5, 0o666),
    (b"full", 1, 7, 0o666),
    (b"random", 1, 8, 0o666),
    (b"urandom", 1, 9, 0o666),
    (b"kmsg", 1, 11, 0o644),
    (b"tty", 5, 0, 0o666),
    (b"console", 5, 1, 0o600),
    (b"ptmx", 5, 2, 0o666),
    (b"ttyS0", 4, 64, 0o620),
];
const LINKS: [(&[u8], &[u8]); 4] =
    [(b"fd", b"/proc/self/fd"), (b"stdin", b"fd/0"), (b"stdout", b"fd/1"), (b"stderr", b"fd/2")];

impl Tree {
    /// Puts an archive's files in, the later of two with one name in place of the earlier.
    ///
    /// # Errors
    /// What is wrong with the archive.
    pub fn fill(&mut self, archive: &'static [u8]) -> Result<(), Damaged> {
        let mut hard_links = BTreeMap::new();
        for entry in cpio::entries(archive) {
            self.add(&entry?, &mut hard_links);
        }
        Ok(())
    }

    /// Makes /dev, /proc, /tmp and /dev/shm where the archive has none; says where /proc is.
    pub fn furnish(&mut self, now: Time) -> NodeId {
        let dev = self.folder_at(ROOT, b"dev", now);
        for (name, major, minor, permissions) in DEVICES {
            self.place(dev, name, Content::Character(Device { major, minor }), permissions, now);
        }
        for (name, target) in LINKS {
            self.place(dev, name, Content::Link(Name::Archive(target)), 0o777, now);
        }
        self.folder_at(dev, b"pts", now);
        // The C library keeps what shm_open and sem_open name in the second.
        for open_to_all in [self.folder_at(ROOT, b"tmp", now), self.folder_at(dev, b"shm", now)] {
            if let Some(node) = self.get_mut(open_to_all) {
                node.mode = DIRECTORY | STICKY | 0o777;
            }
        }
        self.folder_at(ROOT, b"proc", now)
    }

    /// Makes something unless the name is there.
    fn place(&mut self, parent: NodeId, name: &'static [u8], content: Content, permissions: u32, now: Time) {
        if self.child(parent, name).is_none() {
            let owner = Owner { user: 0, group: 0 };
            self.make(parent, name, Fresh { content, permissions, owner, now });
        }
    }

    fn add(&mut self, entry: &Entry<'static>, hard_links: &mut BTreeMap<u32, NodeId>) {
        let now = Time { seconds: i64::from(entry.modified), nanoseconds: 0 };
        let mut parent = ROOT;
        let mut names = entry.path.split(|byte| *byte == b'/').filter(|name| is_plain(name)).peekable();
        let mut last = None;
        while let Some(name) = names.next() {
            if names.peek().is_none() {
                last = Some(name);
            } else {
                parent = self.folder_at(parent, name, now);
            }
        }
        let Some(name) = last else {
            self.describe(ROOT, entry);
            return;
        };
        let is_folder = kind_of(entry.mode) == DIRECTORY;
        if is_folder && let Some(there) = self.child(parent, name).filter(|id| self.is_folder(*id)) {
            self.describe(there, entry);
            return;
        }
        self.clear_name(parent, name, now);
        // newc stores a file with several names once, with its last name; the others come without bytes.
        let linked = entry.links > 1 && !is_folder;
        if linked && let Some(there) = hard_links.get(&entry.inode).copied() {
            if let Some(node) = self.get_mut(there)
                && let Content::File(data) = &mut node.content
                && !entry.data.is_empty()
            {
                *data = FileData::Archive(entry.data);
            }
            // The node lives: no archive has more names of one file than the count holds.
            let _ = self.link(parent, Name::Archive(name), there, now);
            return;
        }
        let owner = Owner { user: entry.user, group: entry.group };
        let permissions = entry.mode & PERMISSIONS;
        let made = self.make(parent, name, Fresh { content: content(entry), permissions, owner, now });
        if linked && let Some(made) = made {
            hard_links.insert(entry.inode, made);
        }
    }

    fn is_folder(&self, id: NodeId) -> bool {
        self.get(id).is_some_and(super::node::Node::is_directory)
    }

    /// The directory of that name, made if it is not there: an archive may leave directories out.
    fn folder_at(&mut self, parent: NodeId, name: &'static [u8], now: Time) -> NodeId {
        if let Some(there) = self.child(parent, name).filter(|id| self.is_folder(*id)) {
            return there;
        }
        self.clear_name(parent, name, now);
        let content = Content::Directory(Folder::default());
        let owner = Owner { user: 0, group: 0 };
        self.make(parent, name, Fresh { content, permissions: 0o755, owner, now }).unwrap_or(ROOT)
    }

    /// Nothing of an archive has been mapped or opened yet, so that nothing is left of what goes.
    fn clear_name(&mut self, parent: NodeId, name: &[u8], now: Time) {
        if self.child(parent, name).is_some() {
            let _ = self.unlink(parent, name, now);
        }
    }

    /// A node with a name; `None` when there are too many nodes, and then the file is left out.
    fn make(&mut self, parent: NodeId, name: &'static [u8], fresh: Fresh) -> Option<NodeId> {
        let now = fresh.now;
        let before = self.get(parent)?.modified;
        let id = self.create(fresh).ok()?;
        self.link(parent, Name::Archive(name), id, now).ok()?;
        // The directory has its own time in the archive.
        let node = self.get_mut(parent)?;
        (node.modified, node.changed) = (before, before);
        Some(id)
    }

    fn describe(&mut self, id: NodeId, entry: &Entry<'_>) {
        let Some(node) = self.get_mut(id) else { return };
        let time = Time { seconds: i64::from(entry.modified), nanoseconds: 0 };
        node.mode = DIRECTORY | (entry.mode & PERMISSIONS);
        node.owner = Owner { user: entry.user, group: entry.group };
        (node.accessed, node.modified, node.changed, node.born) = (time, time, time, time);
    }
}

fn content(entry: &Entry<'static>) -> Content {
    let (major, minor) = entry.device;
    match kind_of(entry.mode) {
        DIRECTORY => Content::Directory(Folder::default()),
        REGULAR => Content::File(FileData::Archive(entry.data)),
        LINK => Content::Link(Name::Archive(entry.data)),
        CHARACTER => Content::Character(Device { major, minor }),
        BLOCK => Content::Block(Device { major, minor }),
        FIFO => Content::Fifo(None),
        _ => Content::Socket,
    }
}

/// An archive's path climbs nowhere.
fn is_plain(name: &[u8]) -> bool {
    !name.is_empty() && name != b"." && name != b".." && name.len() <= super::walk::NAME_MAX
}
