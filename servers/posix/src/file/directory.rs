//! getdents64.

use super::descriptor::{OpenFile, OpenKind};
use super::folder::FIRST_COOKIE;
use super::node::KIND_MASK;
use super::place::Place;
use super::tree::NodeId;
use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::number::{low_i32, to_usize};
use crate::server::Server;
use crate::user::UserSlice;
use alloc::vec::Vec;

/// Bytes of `struct linux_dirent64` before the name.
const HEADER: usize = 19;
/// Most bytes that one call lists: what is kept in memory meanwhile.
const MOST: usize = 64 << 10;
/// The position behind `..`: the newest entry is next.
const NEWEST: u64 = 2;
/// The position of `..`.
const PARENT: u64 = 1;

/// Entries on their way to a program.
#[derive(Debug, Default)]
pub(super) struct Listing {
    bytes: Vec<u8>,
    room: usize,
    /// Where the listing goes on.
    pub(super) position: u64,
    full: bool,
}

impl Listing {
    /// Adds an entry, and says where the listing goes on behind it; `None` when it does not fit.
    pub(super) fn add(&mut self, name: &[u8], number: u64, kind: u32, next: u64) -> Option<()> {
        let length = (HEADER + name.len() + 1).next_multiple_of(8);
        let start = self.bytes.len();
        if start + length > self.room {
            self.full = true;
            return None;
        }
        self.bytes.extend_from_slice(&number.to_le_bytes());
        self.bytes.extend_from_slice(&next.to_le_bytes());
        self.bytes.extend_from_slice(&u16::try_from(length).unwrap_or(u16::MAX).to_le_bytes());
        self.bytes.push(((kind & KIND_MASK) >> 12).to_le_bytes()[0]);
        self.bytes.extend_from_slice(name);
        self.bytes.resize(start + length, 0);
        self.position = next;
        Some(())
    }
}

/// getdents64(2): as many entries as fit.
pub fn getdents64<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let file = *server.real_file(arguments.word(0))?;
    if !file.is_readable() {
        return Err(Errno::EBADF);
    }
    // Linux takes more than 2 GiB for no room at all.
    let room = u64::try_from(low_i32(arguments.word(2))).unwrap_or(0);
    let to = UserSlice::new(arguments.word(1), room)?;
    let mut listing = Listing {
        bytes: core::mem::take(&mut server.files.listing),
        room: to_usize(room).min(MOST),
        position: file.offset,
        full: false,
    };
    listing.bytes.clear();
    let listed = list(server, &file, &mut listing).and_then(|()| {
        // A buffer too small for the next entry is an error; the directory's end is not.
        if listing.bytes.is_empty() && listing.full {
            return Err(Errno::EINVAL);
        }
        server.view()?.write_bytes(&listing.bytes, to)?;
        server.open_file_mut(arguments.word(0))?.offset = listing.position;
        Ok(listing.bytes.len() as u64)
    });
    server.files.listing = listing.bytes;
    listed
}

fn list<H: Host>(server: &mut Server<H>, file: &OpenFile, listing: &mut Listing) -> Result<(), Errno> {
    match file.kind {
        OpenKind::Node(id) => {
            let node = server.files.tree.get(id).ok_or(Errno::ENOENT)?;
            if !node.is_directory() {
                return Err(Errno::ENOTDIR);
            }
            if node.links == 0 {
                // A removed directory lists nothing, not even itself.
                return Err(Errno::ENOENT);
            }
            server.note_read(id);
            list_folder(server, id, listing);
            Ok(())
        }
        OpenKind::Proc(entry) if entry.is_directory() => {
            server.list_proc(entry, listing);
            Ok(())
        }
        _ => Err(Errno::ENOTDIR),
    }
}

/// Position 0 is `.`, 1 is `..`, 2 the newest entry; others are the cookie of the entry that came last, and only
/// older entries come behind it.
fn list_folder<H: Host>(server: &Server<H>, id: NodeId, listing: &mut Listing) -> Option<()> {
    let tree = &server.files.tree;
    let number = |id| tree.get(id).map_or(0, |node| node.number);
    if listing.position == 0 {
        listing.add(b".", number(id), super::node::DIRECTORY, PARENT)?;
    }
    if listing.position == PARENT {
        listing.add(b"..", number(tree.parent(id)), super::node::DIRECTORY, NEWEST)?;
    }
    let before = if listing.position == NEWEST { u64::MAX } else { listing.position };
    for (entry, node) in tree.get(id)?.folder()?.before(before.max(FIRST_COOKIE)) {
        let kind = tree.get(node).map_or(0, |node| node.mode);
        listing.add(entry.name.bytes(), number(node), kind, entry.cookie)?;
    }
    Some(())
}

impl<H: Host> Server<H> {
    /// st_size of a place.
    pub(super) fn place_size(&self, place: Place) -> u64 {
        use super::node::Content;
        let Place::Node(id) = place else { return 0 };
        match self.files.tree.get(id).map(|node| &node.content) {
            Some(Content::File(data)) => self.data_size(*data),
            Some(Content::Link(text)) => text.bytes().len() as u64,
            // Linux's tmpfs counts 20 bytes for each entry, `.` and `..` among them.
            Some(Content::Directory(folder)) => (folder.len() as u64 + 2) * 20,
            _ => 0,
        }
    }
}
