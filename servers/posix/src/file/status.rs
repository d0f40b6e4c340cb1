//! fstat, newfstatat, statx, readlinkat.

use super::descriptor::{OpenId, OpenKind, most_moved};
use super::node::{Content, Device, FIFO, FileData, Time};
use super::open::{AT_EMPTY_PATH, AT_NO_AUTOMOUNT, AT_SYMLINK_NOFOLLOW};
use super::place::Place;
use super::proc::{Entry, STREAM_NUMBERS};
use super::tree::{NodeId, ROOT};
use super::walk::Last;
use crate::Errno;
use crate::address::PAGE_BYTES;
use crate::dispatch::Arguments;
use crate::host::{Host, Stream};
use crate::number::{low_i32, low_u32};
use crate::server::Server;
use crate::user::{UserPtr, UserSlice};
use alloc::vec::Vec;
use zerocopy::{Immutable, IntoBytes};

const AT_STATX_SYNC_TYPE: u32 = 0x6000;
const STATX_RESERVED: u32 = 0x8000_0000;
/// STATX_BASIC_STATS: what is filled in.
const BASIC_STATS: u32 = 0x7ff;

/// STATX_BTIME.
const BORN: u32 = 0x800;
/// STATX_MNT_ID.
const MOUNT: u32 = 0x1000;
/// STATX_ATTR_MOUNT_ROOT.
const ATTRIBUTE_ROOT: u64 = 0x2000;
/// Device numbers (major 0) of the tree, of /proc, and of what has no name.
const TREE: u32 = 1;
const PROC: u32 = 2;
const ANONYMOUS: u32 = 3;

/// What all the calls say about a file.
#[derive(Clone, Copy, Debug, Default)]
struct Facts {
    /// The file system's number.
    system: u32,
    inode: u64,
    mode: u32,
    links: u32,
    user: u32,
    group: u32,
    device: Device,
    size: u64,
    block_size: u32,
    blocks: u64,
    accessed: Time,
    modified: Time,
    changed: Time,
    /// Only the tree knows.
    born: Option<Time>,
    /// Whether something is mounted there.
    is_root: bool,
}

/// Linux's `struct stat`, asm-generic.
#[derive(Clone, Copy, Debug, IntoBytes, Immutable)]
#[repr(C)]
struct Stat {
    device: u64,
    inode: u64,
    mode: u32,
    links: u32,
    user: u32,
    group: u32,
    special: u64,
    padding: u64,
    size: u64,
    block_size: u32,
    padding_too: u32,
    blocks: u64,
    accessed: [u64; 2],
    modified: [u64; 2],
    changed: [u64; 2],
    unused: [u32; 2],
}

const _: () = assert!(size_of::<Stat>() == 128);
#[cfg(target_arch = "loongarch64")]
const _: () = assert!(size_of::<Stat>() == size_of::<linux_raw_sys::general::stat>());

/// Linux's `struct statx_timestamp`.
#[derive(Clone, Copy, Debug, Default, IntoBytes, Immutable)]
#[repr(C)]
struct StatxTime {
    seconds: u64,
    nanoseconds: u32,
    padding: u32,
}

impl StatxTime {
    const fn of(time: Time) -> Self {
        Self { seconds: time.seconds.cast_unsigned(), nanoseconds: time.nanoseconds, padding: 0 }
    }
}

/// Linux's `struct statx`.
#[derive(Clone, Copy, Debug, IntoBytes, Immutable)]
#[repr(C)]
struct Statx {
    mask: u32,
    block_size: u32,
    attributes: u64,
    links: u32,
    user: u32,
    group: u32,
    mode: u16,
    padding: u16,
    inode: u64,
    size: u64,
    blocks: u64,
    attributes_mask: u64,
    accessed: StatxTime,
    born: StatxTime,
    changed: StatxTime,
    modified: StatxTime,
    special: [u32; 2],
    device: [u32; 2],
    mount: u64,
    spare: [u64; 13],
}

const _: () = assert!(size_of::<Statx>() == 256);
#[cfg(target_arch = "loongarch64")]
const _: () = assert!(size_of::<Statx>() == size_of::<linux_raw_sys::general::statx>());

/// fstat(2).
pub fn fstat<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let place = server.place_of(arguments.word(0))?;
    let facts = server.facts(place)?;
    write_stat(server, arguments.word(1), &facts)
}

/// newfstatat(2).
pub fn newfstatat<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [directory, path, status, bits, ..] = arguments.words();
    let facts = facts_at(server, directory, path, low_u32(bits))?;
    write_stat(server, status, &facts)
}

/// statx(2).
pub fn statx<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [directory, path, bits, mask, status, _] = arguments.words();
    let bits = low_u32(bits);
    if low_u32(mask) & STATX_RESERVED != 0 || bits & AT_STATX_SYNC_TYPE == AT_STATX_SYNC_TYPE {
        return Err(Errno::EINVAL);
    }
    let facts = facts_at(server, directory, path, bits & !AT_STATX_SYNC_TYPE)?;
    let born = if facts.born.is_some() { BORN } else { 0 };
    let value = Statx {
        mask: BASIC_STATS | MOUNT | born,
        block_size: facts.block_size,
        attributes: if facts.is_root { ATTRIBUTE_ROOT } else { 0 },
        links: facts.links,
        user: facts.user,
        group: facts.group,
        mode: u16::try_from(facts.mode & 0xffff).unwrap_or(0),
        padding: 0,
        inode: facts.inode,
        size: facts.size,
        blocks: facts.blocks,
        attributes_mask: ATTRIBUTE_ROOT,
        accessed: StatxTime::of(facts.accessed),
        born: StatxTime::of(facts.born.unwrap_or_default()),
        changed: StatxTime::of(facts.changed),
        modified: StatxTime::of(facts.modified),
        special: [facts.device.major, facts.device.minor],
        device: [0, facts.system],
        mount: u64::from(facts.system),
        spare: [0; 13],
    };
    server.view()?.write(UserPtr::new(status)?, &value)?;
    Ok(0)
}

/// readlinkat(2).
pub fn readlinkat<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [directory, path, buffer, room, ..] = arguments.words();
    let room = u64::try_from(low_i32(room)).ok().filter(|room| *room != 0).ok_or(Errno::EINVAL)?;
    let mut text = Vec::new();
    server.with_path(path, |server, path| {
        let place = if path.is_empty() {
            // An empty path means a link opened with O_PATH and O_NOFOLLOW.
            let place = server.place_or_self(directory, path, Last::Keep, AT_EMPTY_PATH)?;
            server.link_or(place, Errno::ENOENT)?
        } else {
            let place = server.place_at(directory, path, Last::Keep)?;
            server.link_or(place, Errno::EINVAL)?
        };
        server.link_text(place, &mut text)
    })?;
    let bytes = text.len().min(most_moved(room));
    let part = text.get(..bytes).unwrap_or_default();
    server.view()?.write_bytes(part, UserSlice::new(buffer, bytes as u64)?)?;
    Ok(bytes as u64)
}

fn facts_at<H: Host>(server: &mut Server<H>, directory: u64, path: u64, bits: u32) -> Result<Facts, Errno> {
    if bits & !(AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH) != 0 {
        return Err(Errno::EINVAL);
    }
    let last = if bits & AT_SYMLINK_NOFOLLOW != 0 { Last::Keep } else { Last::Follow };
    // Linux takes a null path for an empty one where that is allowed.
    if path == 0 && bits & AT_EMPTY_PATH != 0 {
        let place = server.place_or_self(directory, &[], last, bits)?;
        return server.facts(place);
    }
    server.with_path(path, |server, path| {
        let place = server.place_or_self(directory, path, last, bits)?;
        server.facts(place)
    })
}

impl<H: Host> Server<H> {
    /// A place that must be a link.
    fn link_or(&self, place: Place, otherwise: Errno) -> Result<Place, Errno> {
        let is_link = match place {
            Place::Node(id) => {
                matches!(self.files.tree.get(id).map(|node| &node.content), Some(Content::Link(_)))
            }
            Place::Proc(entry) => entry.is_link(),
            Place::Open(_) => false,
        };
        if is_link { Ok(place) } else { Err(otherwise) }
    }

    fn link_text(&self, place: Place, text: &mut Vec<u8>) -> Result<(), Errno> {
        match place {
            Place::Node(id) => match self.files.tree.get(id).map(|node| &node.content) {
                Some(Content::Link(target)) => {
                    text.extend_from_slice(target.bytes());
                    Ok(())
                }
                _ => Err(Errno::EINVAL),
            },
            Place::Proc(entry) => self.proc_link_text(entry, text),
            Place::Open(_) => Err(Errno::EINVAL),
        }
    }

    fn facts(&self, place: Place) -> Result<Facts, Errno> {
        match place {
            Place::Node(id) => self.node_facts(id),
            Place::Proc(entry) => {
                let (user, group) = match entry {
                    Entry::Process(pid) | Entry::Of(pid, _) | Entry::Fd(pid, _)
                        if pid != crate::process::numbers::INIT =>
                    {
                        let process = self.process_of_pid(pid).ok_or(Errno::ENOENT)?;
                        (process.credentials.user.effective, process.credentials.group.effective)
                    }
                    _ => (0, 0),
                };
                let now = self.now();
                Ok(Facts {
                    system: PROC,
                    inode: entry.number(),
                    mode: entry.mode(),
                    links: if entry.is_directory() { 2 } else { 1 },
                    user,
                    group,
                    block_size: 1024,
                    accessed: now,
                    modified: now,
                    changed: now,
                    is_root: entry == Entry::Root,
                    size: if entry.is_link() { 64 } else { 0 },
                    ..Facts::default()
                })
            }
            Place::Open(open) => self.open_facts(open),
        }
    }

    fn node_facts(&self, id: NodeId) -> Result<Facts, Errno> {
        let node = self.files.tree.get(id).ok_or(Errno::ENOENT)?;
        let pages = match &node.content {
            Content::File(FileData::Archive(bytes)) => (bytes.len() as u64).div_ceil(PAGE_BYTES),
            Content::File(FileData::Pages(object)) => self.memory.objects.used_pages(*object),
            _ => 0,
        };
        let device = match node.content {
            Content::Character(device) | Content::Block(device) => device,
            _ => Device::default(),
        };
        Ok(Facts {
            system: TREE,
            inode: node.number,
            mode: node.mode,
            links: node.links,
            user: node.owner.user,
            group: node.owner.group,
            device,
            size: self.place_size(Place::Node(id)),
            block_size: low_u32(PAGE_BYTES),
            blocks: pages * (PAGE_BYTES / 512),
            accessed: node.accessed,
            modified: node.modified,
            changed: node.changed,
            born: Some(node.born),
            is_root: id == ROOT,
        })
    }

    /// What has no node: pipes, streams, counters.
    fn open_facts(&self, open: OpenId) -> Result<Facts, Errno> {
        let kind = self.files.open.get(open).ok_or(Errno::EBADF)?.kind;
        let (inode, mode, time) = match kind {
            OpenKind::Pipe(pipe, _) => {
                let pipe = self.files.pipes.get(pipe).ok_or(Errno::EBADF)?;
                (pipe.number, FIFO | 0o600, pipe.born)
            }
            OpenKind::Input => (STREAM_NUMBERS, FIFO | 0o600, Time::default()),
            OpenKind::Output(Stream::StandardOutput) => (STREAM_NUMBERS + 1, FIFO | 0o600, Time::default()),
            OpenKind::Output(Stream::StandardError) => (STREAM_NUMBERS + 2, FIFO | 0o600, Time::default()),
            // An anonymous inode has no kind.
            _ => (STREAM_NUMBERS + 3, 0o600, Time::default()),
        };
        Ok(Facts {
            system: ANONYMOUS,
            inode,
            mode,
            links: 1,
            block_size: 4096,
            accessed: time,
            modified: time,
            changed: time,
            ..Facts::default()
        })
    }
}

fn write_stat<H: Host>(server: &mut Server<H>, to: u64, facts: &Facts) -> Result<u64, Errno> {
    let time = |time: Time| [time.seconds.cast_unsigned(), u64::from(time.nanoseconds)];
    let (major, minor) = (u64::from(facts.device.major), u64::from(facts.device.minor));
    let value = Stat {
        device: u64::from(facts.system),
        inode: facts.inode,
        mode: facts.mode,
        links: facts.links,
        user: facts.user,
        group: facts.group,
        // Linux's new_encode_dev.
        special: (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12),
        padding: 0,
        size: facts.size,
        block_size: facts.block_size,
        padding_too: 0,
        blocks: facts.blocks,
        accessed: time(facts.accessed),
        modified: time(facts.modified),
        changed: time(facts.changed),
        unused: [0; 2],
    };
    server.view()?.write(UserPtr::new(to)?, &value)?;
    Ok(0)
}
