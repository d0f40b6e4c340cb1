//! faccessat and faccessat2: whether the real user may.

use super::open::{AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW};
use super::permission::{EXECUTE, Who};
use super::place::Place;
use super::walk::Last;
use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::number::low_u32;
use crate::process::credentials::Credentials;
use crate::server::Server;

/// Ask for the effective user (faccessat2).
const AT_EACCESS: u32 = 0x200;

/// faccessat(2).
pub fn faccessat<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    access(server, arguments, 0)
}

/// faccessat2(2).
pub fn faccessat2<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    access(server, arguments, low_u32(arguments.word(3)))
}

fn access<H: Host>(server: &mut Server<H>, arguments: Arguments, bits: u32) -> Result<u64, Errno> {
    let [directory, path, mode, ..] = arguments.words();
    let mode = low_u32(mode);
    if mode & !7 != 0 || bits & !(AT_EACCESS | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) != 0 {
        return Err(Errno::EINVAL);
    }
    let last = if bits & AT_SYMLINK_NOFOLLOW != 0 { Last::Keep } else { Last::Follow };
    server.with_path(path, |server, path| {
        let place = server.place_or_self(directory, path, last, bits)?;
        let credentials = &server.process()?.credentials;
        let who = if bits & AT_EACCESS != 0 { credentials.who() } else { real(credentials) };
        if server.allows(place, who, mode)? { Ok(0) } else { Err(Errno::EACCES) }
    })
}

fn real(credentials: &Credentials) -> Who<'_> {
    credentials.who_really()
}

impl<H: Host> Server<H> {
    /// Whether somebody may do something with a place.
    fn allows(&self, place: Place, who: Who<'_>, mode: u32) -> Result<bool, Errno> {
        match place {
            Place::Node(id) => Ok(who.may(self.files.tree.get(id).ok_or(Errno::ENOENT)?, mode)),
            Place::Proc(entry) => {
                let bits = entry.mode();
                let root = who.user == 0 && (mode & EXECUTE == 0 || bits & 0o111 != 0);
                Ok(root || mode & !bits & 7 == 0)
            }
            Place::Open(_) => Ok(mode & EXECUTE == 0),
        }
    }
}
