//! A node of the tree: what a name names.

use super::folder::{Folder, Name};
use super::pipe::PipeId;
use super::tree::NodeId;
use crate::memory::object::ObjectId;

/// Bits of st_mode that say what a node is.
pub const KIND_MASK: u32 = 0o170_000;
/// A socket.
pub const SOCKET: u32 = 0o140_000;
/// A symbolic link.
pub const LINK: u32 = 0o120_000;
/// A regular file.
pub const REGULAR: u32 = 0o100_000;
/// A block device.
pub const BLOCK: u32 = 0o060_000;
/// A directory.
pub const DIRECTORY: u32 = 0o040_000;
/// A character device.
pub const CHARACTER: u32 = 0o020_000;
/// A FIFO.
pub const FIFO: u32 = 0o010_000;
/// Permissions, with the set-id bits and the sticky bit.
pub const PERMISSIONS: u32 = 0o7777;
/// Set-user-id.
pub const SET_USER: u32 = 0o4000;
/// Set-group-id.
pub const SET_GROUP: u32 = 0o2000;
/// Sticky: in a directory, only owners remove.
pub const STICKY: u32 = 0o1000;

/// A point in time, since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time {
    /// Seconds; before 1970 negative.
    pub seconds: i64,
    /// Nanoseconds behind them, below 10^9.
    pub nanoseconds: u32,
}

impl Time {
    /// So many nanoseconds since 1970.
    pub const fn of_ns(ns: u64) -> Self {
        const SECOND: u64 = 1_000_000_000;
        Self { seconds: (ns / SECOND).cast_signed(), nanoseconds: crate::number::low_u32(ns % SECOND) }
    }
}

/// A device's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Which driver.
    pub major: u32,
    /// Which of its devices.
    pub minor: u32,
}

/// Bytes of a regular file.
#[derive(Clone, Copy, Debug)]
pub enum FileData {
    /// They lie in the archive, untouched.
    Archive(&'static [u8]),
    /// They were written or mapped: pages.
    Pages(ObjectId),
}

/// What a node is.
#[derive(Debug)]
pub enum Content {
    /// Names and nodes.
    Directory(Folder),
    /// A regular file.
    File(FileData),
    /// A symbolic link: a path.
    Link(Name),
    /// A FIFO, and its pipe while somebody has it open.
    Fifo(Option<PipeId>),
    /// A character device.
    Character(Device),
    /// A block device; there is none behind any.
    Block(Device),
    /// A socket's name.
    Socket,
}

/// Under which name a node is known, for those who ask what its path is.
#[derive(Clone, Debug)]
pub enum Known {
    /// The entry of that cookie.
    At(NodeId, u64),
    /// The name is gone; it was this, in a directory that is held while somebody may ask.
    Was(NodeId, Name),
    /// Under none.
    Nowhere,
}

/// Who owns a node and what others may do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// User.
    pub user: u32,
    /// Group.
    pub group: u32,
}

/// A node.
#[derive(Debug)]
pub struct Node {
    /// What it is.
    pub content: Content,
    /// Kind and permissions, as st_mode.
    pub mode: u32,
    /// Its owner.
    pub owner: Owner,
    /// Names that it has; a directory has one more for itself and one for each directory in it.
    pub links: u32,
    /// Its name.
    pub known: Known,
    /// st_ino: never used again.
    pub number: u64,
    /// Read last, roughly (relatime).
    pub accessed: Time,
    /// Written last.
    pub modified: Time,
    /// Changed last in any way.
    pub changed: Time,
    /// Made.
    pub born: Time,
    /// Open files and working directories that need it, names or not.
    pub(super) holders: u32,
    /// Open files that may write it, or programs that run it, negative.
    pub writers: i32,
}

impl Node {
    /// Whether it is a directory.
    pub const fn is_directory(&self) -> bool {
        matches!(self.content, Content::Directory(_))
    }

    /// The directory's entries.
    #[inline]
    pub const fn folder(&self) -> Option<&Folder> {
        match &self.content {
            Content::Directory(folder) => Some(folder),
            _ => None,
        }
    }

    /// The directory's entries, to change them.
    pub const fn folder_mut(&mut self) -> Option<&mut Folder> {
        match &mut self.content {
            Content::Directory(folder) => Some(folder),
            _ => None,
        }
    }

    /// Notes that it was changed in some way, or written.
    pub const fn touch(&mut self, now: Time, what: Touched) {
        self.changed = now;
        if let Touched::Content = what {
            self.modified = now;
        }
    }
}

/// What was changed of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touched {
    /// Its content: st_mtime and st_ctime.
    Content,
    /// What is known about it: st_ctime.
    Status,
}
