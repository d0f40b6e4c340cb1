//! fstat, newfstatat, statx, readlinkat.

use super::descriptor::{OpenKind, most_moved};
use super::open::{AT_EMPTY_PATH, AT_FDCWD, AT_SYMLINK_NOFOLLOW};
use super::path::LastLink;
use super::tree::{Content, FIFO, Tree};
use crate::Errno;
use crate::address::PAGE_BYTES;
use crate::dispatch::Arguments;
use crate::host::{Host, Stream};
use crate::number::{low_i32, low_u32};
use crate::server::Server;
use crate::user::{UserPtr, UserSlice};
use alloc::vec::Vec;
use zerocopy::{Immutable, IntoBytes};

const AT_NO_AUTOMOUNT: u32 = 0x800;
const AT_STATX_SYNC_TYPE: u32 = 0x6000;
const STATX_RESERVED: u32 = 0x8000_0000;
/// STATX_BASIC_STATS: what is filled in.
const BASIC_STATS: u32 = 0x7ff;

/// What all the calls say about a file.
#[derive(Clone, Copy, Debug, Default)]
struct Facts {
    inode: u64,
    mode: u32,
    links: u32,
    user: u32,
    group: u32,
    device: (u32, u32),
    size: u64,
    blocks: u64,
    modified: u32,
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
    let facts = facts_of(server, server.open_file(arguments.word(0))?.kind)?;
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
    let time = StatxTime { seconds: u64::from(facts.modified), ..StatxTime::default() };
    let value = Statx {
        mask: BASIC_STATS,
        block_size: low_u32(PAGE_BYTES),
        attributes: 0,
        links: facts.links,
        user: facts.user,
        group: facts.group,
        mode: u16::try_from(facts.mode & 0xffff).unwrap_or(0),
        padding: 0,
        inode: facts.inode,
        size: facts.size,
        blocks: facts.blocks,
        attributes_mask: 0,
        accessed: time,
        born: StatxTime::default(),
        changed: time,
        modified: time,
        special: [facts.device.0, facts.device.1],
        device: [0, 1],
        mount: 1,
        spare: [0; 13],
    };
    server.view()?.write(UserPtr::new(status)?, &value)?;
    Ok(0)
}

/// readlinkat(2).
pub fn readlinkat<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [directory, path, buffer, room, ..] = arguments.words();
    let room = u64::try_from(low_i32(room)).ok().filter(|room| *room != 0).ok_or(Errno::EINVAL)?;
    let path = server.read_path(path)?;
    let target = link_target(server, directory, &path)?;
    let bytes = target.len().min(most_moved(room));
    let part = target.get(..bytes).unwrap_or_default();
    server.view()?.write_bytes(part, UserSlice::new(buffer, bytes as u64)?)?;
    Ok(bytes as u64)
}

fn link_target<H: Host>(server: &mut Server<H>, directory: u64, path: &[u8]) -> Result<Vec<u8>, Errno> {
    if path == b"/proc/self/exe" {
        return Ok(server.process()?.executable.clone());
    }
    let node = if path.is_empty() {
        // An empty path means a link opened with O_PATH and O_NOFOLLOW.
        match server.open_file(directory)?.kind {
            OpenKind::Node(node) => node,
            _ => return Err(Errno::ENOENT),
        }
    } else {
        server.node_at(directory, path, LastLink::Keep)?
    };
    match server.files.tree.get(node).map(|node| &node.content) {
        Some(Content::Link(target)) => Ok(target.to_vec()),
        _ if path.is_empty() => Err(Errno::ENOENT),
        _ => Err(Errno::EINVAL),
    }
}

fn facts_at<H: Host>(server: &mut Server<H>, directory: u64, path: u64, bits: u32) -> Result<Facts, Errno> {
    if bits & !(AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH) != 0 {
        return Err(Errno::EINVAL);
    }
    // Linux takes a null path for an empty one where that is allowed.
    let path = if path == 0 && bits & AT_EMPTY_PATH != 0 { Vec::new() } else { server.read_path(path)? };
    if path.is_empty() && bits & AT_EMPTY_PATH != 0 && low_i32(directory) != AT_FDCWD {
        return facts_of(server, server.open_file(directory)?.kind);
    }
    let path = if path.is_empty() && bits & AT_EMPTY_PATH != 0 { b".".to_vec() } else { path };
    let last = if bits & AT_SYMLINK_NOFOLLOW != 0 { LastLink::Keep } else { LastLink::Follow };
    let node = server.node_at(directory, &path, last)?;
    facts_of(server, OpenKind::Node(node))
}

fn facts_of<H: Host>(server: &Server<H>, kind: OpenKind) -> Result<Facts, Errno> {
    let stream = |inode| Facts { inode, mode: FIFO | 0o600, links: 1, ..Facts::default() };
    let id = match kind {
        OpenKind::Input => return Ok(stream(1 << 32)),
        OpenKind::Output(Stream::StandardOutput) => return Ok(stream((1 << 32) + 1)),
        OpenKind::Output(Stream::StandardError) => return Ok(stream((1 << 32) + 2)),
        OpenKind::Node(id) => id,
    };
    let tree = &server.files.tree;
    let node = tree.get(id).ok_or(Errno::EBADF)?;
    Ok(Facts {
        inode: Tree::inode(id),
        mode: node.mode,
        links: node.links,
        user: node.user,
        group: node.group,
        device: node.device,
        size: tree.size(id),
        blocks: tree.blocks(id),
        modified: node.modified,
    })
}

fn write_stat<H: Host>(server: &mut Server<H>, to: u64, facts: &Facts) -> Result<u64, Errno> {
    let time = [u64::from(facts.modified), 0];
    let (major, minor) = (u64::from(facts.device.0), u64::from(facts.device.1));
    let value = Stat {
        device: 1,
        inode: facts.inode,
        mode: facts.mode,
        links: facts.links,
        user: facts.user,
        group: facts.group,
        // Linux's new_encode_dev.
        special: (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12),
        padding: 0,
        size: facts.size,
        block_size: low_u32(PAGE_BYTES),
        padding_too: 0,
        blocks: facts.blocks,
        accessed: time,
        modified: time,
        changed: time,
        unused: [0; 2],
    };
    server.view()?.write(UserPtr::new(to)?, &value)?;
    Ok(0)
}
