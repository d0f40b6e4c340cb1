//! statfs and fstatfs: the file system that a file lies in.

use super::descriptor::OpenKind;
use super::place::Place;
use super::walk::{Last, NAME_MAX};
use crate::Errno;
use crate::address::PAGE_BYTES;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::server::Server;
use crate::user::UserPtr;
use zerocopy::{Immutable, IntoBytes};

const AT_CWD: u64 = super::open::AT_FDCWD.cast_unsigned() as u64;
const TMPFS_MAGIC: u64 = 0x0102_1994;
const PROC_MAGIC: u64 = 0x9fa0;
const PIPEFS_MAGIC: u64 = 0x5049_5045;
/// ST_VALID | ST_RELATIME.
const FLAGS: u64 = 0x20 | 0x1000;

/// Linux's `struct statfs`, 64 bits.
#[derive(Clone, Copy, Debug, IntoBytes, Immutable)]
#[repr(C)]
struct Statfs {
    kind: u64,
    block_bytes: u64,
    blocks: u64,
    free: u64,
    available: u64,
    files: u64,
    files_free: u64,
    id: [u32; 2],
    name_most: u64,
    fragment_bytes: u64,
    flags: u64,
    spare: [u64; 4],
}

const _: () = assert!(size_of::<Statfs>() == 120);
#[cfg(target_arch = "loongarch64")]
const _: () = assert!(size_of::<Statfs>() == size_of::<linux_raw_sys::general::statfs>());

/// statfs(2).
pub fn statfs<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let place =
        server.with_path(arguments.word(0), |server, path| server.place_at(AT_CWD, path, Last::Follow))?;
    tell(server, place, arguments.word(1))
}

/// fstatfs(2).
pub fn fstatfs<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let place = match server.open_file(arguments.word(0))?.kind {
        OpenKind::Pipe(..)
        | OpenKind::Input
        | OpenKind::Output(_)
        | OpenKind::Event(_)
        | OpenKind::Signals(_) => Place::Open(server.descriptor(arguments.word(0))?.open),
        _ => server.place_of(arguments.word(0))?,
    };
    tell(server, place, arguments.word(1))
}

fn tell<H: Host>(server: &mut Server<H>, place: Place, to: u64) -> Result<u64, Errno> {
    let frames = &server.memory.frames;
    let empty = Statfs {
        kind: PIPEFS_MAGIC,
        block_bytes: PAGE_BYTES,
        blocks: 0,
        free: 0,
        available: 0,
        files: 0,
        files_free: 0,
        id: [0; 2],
        name_most: NAME_MAX as u64,
        fragment_bytes: PAGE_BYTES,
        flags: FLAGS,
        spare: [0; 4],
    };
    let told = match place {
        Place::Node(_) => {
            let (files, used) = (server.files.tree.most() as u64, server.files.tree.used() as u64);
            Statfs {
                kind: TMPFS_MAGIC,
                blocks: frames.total(),
                free: frames.free_count(),
                available: frames.free_count(),
                files,
                files_free: files - used,
                ..empty
            }
        }
        Place::Proc(_) => Statfs { kind: PROC_MAGIC, ..empty },
        Place::Open(_) => empty,
    };
    server.view()?.write(UserPtr::new(to)?, &told)?;
    Ok(0)
}
