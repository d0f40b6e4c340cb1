//! What is known about a file: mode, owner, times.

use super::node::{Content, Node, PERMISSIONS, SET_GROUP, SET_USER, Time, Touched};
use super::open::{AT_EMPTY_PATH, AT_FDCWD, AT_SYMLINK_NOFOLLOW};
use super::permission::WRITE;
use super::place::Place;
use super::tree::NodeId;
use super::walk::Last;
use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::number::{low_i32, low_u32};
use crate::server::Server;
use crate::user::UserPtr;

/// No change of an owner.
const KEEP: u32 = u32::MAX;
const UTIME_NOW: u64 = 0x3fff_ffff;
const UTIME_OMIT: u64 = 0x3fff_fffe;
const SECOND_NS: u64 = 1_000_000_000;

/// fchmod(2).
pub fn fchmod<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    server.real_file(arguments.word(0))?;
    let place = server.place_of(arguments.word(0))?;
    server.change_mode(place, low_u32(arguments.word(1)))
}

/// fchmodat(2).
pub fn fchmodat<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [directory, path, mode, ..] = arguments.words();
    change_mode_at(server, directory, path, low_u32(mode), 0)
}

/// fchmodat2(2).
pub fn fchmodat2<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [directory, path, mode, bits, ..] = arguments.words();
    if low_u32(bits) & !(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) != 0 {
        return Err(Errno::EINVAL);
    }
    change_mode_at(server, directory, path, low_u32(mode), low_u32(bits))
}

fn change_mode_at<H: Host>(
    server: &mut Server<H>,
    directory: u64,
    path: u64,
    mode: u32,
    bits: u32,
) -> Result<u64, Errno> {
    server.with_path(path, |server, path| {
        let place = server.place_or_self(directory, path, last(bits), bits)?;
        server.change_mode(place, mode)
    })
}

/// fchown(2).
pub fn fchown<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [fd, user, group, ..] = arguments.words();
    server.real_file(fd)?;
    let place = server.place_of(fd)?;
    server.change_owner(place, low_u32(user), low_u32(group))
}

/// fchownat(2).
pub fn fchownat<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [directory, path, user, group, bits, _] = arguments.words();
    let bits = low_u32(bits);
    if bits & !(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) != 0 {
        return Err(Errno::EINVAL);
    }
    server.with_path(path, |server, path| {
        let place = server.place_or_self(directory, path, last(bits), bits)?;
        server.change_owner(place, low_u32(user), low_u32(group))
    })
}

/// utimensat(2).
pub fn utimensat<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [directory, path, times, bits, ..] = arguments.words();
    let bits = low_u32(bits);
    let wish = match UserPtr::<[u64; 4]>::optional(times)? {
        Some(pointer) => {
            let [seconds, ns, modified_seconds, modified_ns] = server.view()?.read(pointer)?;
            let wish = [NewTime::of(seconds, ns)?, NewTime::of(modified_seconds, modified_ns)?];
            if wish == [NewTime::Keep; 2] {
                return Ok(0);
            }
            wish
        }
        None => [NewTime::Now; 2],
    };
    if path == 0 {
        if low_i32(directory) == AT_FDCWD {
            return Err(Errno::EFAULT);
        }
        if bits != 0 {
            return Err(Errno::EINVAL);
        }
        server.real_file(directory)?;
        let place = server.place_of(directory)?;
        return server.change_times(place, wish);
    }
    if bits & !(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) != 0 {
        return Err(Errno::EINVAL);
    }
    server.with_path(path, |server, path| {
        let place = server.place_or_self(directory, path, last(bits), bits)?;
        server.change_times(place, wish)
    })
}

const fn last(bits: u32) -> Last {
    if bits & AT_SYMLINK_NOFOLLOW != 0 { Last::Keep } else { Last::Follow }
}

/// What a time is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NewTime {
    /// What it is.
    Keep,
    /// The time of the call.
    Now,
    /// That.
    At(Time),
}

impl NewTime {
    fn of(seconds: u64, nanoseconds: u64) -> Result<Self, Errno> {
        match nanoseconds {
            UTIME_NOW => Ok(Self::Now),
            UTIME_OMIT => Ok(Self::Keep),
            ns if ns < SECOND_NS => {
                Ok(Self::At(Time { seconds: seconds.cast_signed(), nanoseconds: low_u32(ns) }))
            }
            _ => Err(Errno::EINVAL),
        }
    }

    fn after(self, before: Time, now: Time) -> Time {
        match self {
            Self::Keep => before,
            Self::Now => now,
            Self::At(time) => time,
        }
    }
}

impl<H: Host> Server<H> {
    /// The node whose attributes are to be changed; those of pipes, streams and /proc stay.
    fn changed_node(&self, place: Place) -> Result<(NodeId, &Node), Errno> {
        let id = self.node_of(place, Errno::EPERM)?;
        Ok((id, self.files.tree.get(id).ok_or(Errno::ENOENT)?))
    }

    fn change_mode(&mut self, place: Place, mode: u32) -> Result<u64, Errno> {
        let (id, node) = self.changed_node(place)?;
        if matches!(node.content, Content::Link(_)) {
            return Err(Errno::EOPNOTSUPP);
        }
        let who = self.who();
        if !who.owns(node) {
            return Err(Errno::EPERM);
        }
        let foreign = who.user != 0 && !who.is_in(node.owner.group);
        let mode = if foreign { mode & !SET_GROUP } else { mode };
        let now = self.now();
        let node = self.files.tree.get_mut(id).ok_or(Errno::ENOENT)?;
        node.mode = (node.mode & !PERMISSIONS) | (mode & PERMISSIONS);
        node.touch(now, Touched::Status);
        Ok(0)
    }

    fn change_owner(&mut self, place: Place, user: u32, group: u32) -> Result<u64, Errno> {
        let (id, node) = self.changed_node(place)?;
        let who = self.who();
        let user_stays = user == KEEP || user == node.owner.user && who.user == node.owner.user;
        let group_is_own =
            group == KEEP || who.user == node.owner.user && (who.is_in(group) || group == node.owner.group);
        if who.user != 0 && !(user_stays && group_is_own) {
            return Err(Errno::EPERM);
        }
        let now = self.now();
        let node = self.files.tree.get_mut(id).ok_or(Errno::ENOENT)?;
        if user != KEEP {
            node.owner.user = user;
        }
        if group != KEEP {
            node.owner.group = group;
        }
        // A file that changes hands does not act as its owner any more.
        if !node.is_directory() {
            node.mode &= !SET_USER;
            if node.mode & 0o010 != 0 {
                node.mode &= !SET_GROUP;
            }
        }
        node.touch(now, Touched::Status);
        Ok(0)
    }

    fn change_times(&mut self, place: Place, [accessed, modified]: [NewTime; 2]) -> Result<u64, Errno> {
        let (id, node) = self.changed_node(place)?;
        let who = self.who();
        if !who.owns(node) {
            if [accessed, modified] != [NewTime::Now; 2] {
                return Err(Errno::EPERM);
            }
            if !who.may(node, WRITE) {
                return Err(Errno::EACCES);
            }
        }
        let now = self.now();
        let node = self.files.tree.get_mut(id).ok_or(Errno::ENOENT)?;
        node.accessed = accessed.after(node.accessed, now);
        node.modified = modified.after(node.modified, now);
        node.touch(now, Touched::Status);
        Ok(0)
    }
}
