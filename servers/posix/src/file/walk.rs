//! From paths to places, as path_resolution(7) says.
//!
//! A walk allocates nothing and copies no name: what is left of a path and of the links in it lies on a small
//! stack of slices. The hash that a directory is searched by is made while the next slash is looked for.

use super::folder::{Hash, Name};
use super::node::{Content, Node};
use super::permission::{EXECUTE, Who};
use super::place::Place;
use super::proc::Entry;
use super::tree::NodeId;
use crate::Errno;
use crate::host::Host;
use crate::server::Server;
use arrayvec::ArrayVec;

/// Symbolic links followed in one path (Linux's MAXSYMLINKS).
const MOST_LINKS: usize = 40;
/// The longest path, its zero included.
pub const PATH_MAX: usize = 4096;
/// The longest name.
pub const NAME_MAX: usize = 255;

/// What becomes of a path's last name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// A symbolic link is followed.
    Follow,
    /// A symbolic link is what the path means, unless a slash follows.
    Keep,
    /// The name itself is meant, to be made or taken away.
    Name,
    /// A symbolic link is followed, to a name that may have to be made.
    Make,
}

/// Where a walk came to.
#[derive(Clone, Copy, Debug)]
pub struct Walked<'a> {
    /// The directory that the last name was looked for in.
    pub parent: Place,
    /// The last name: empty for the root directory, perhaps `.` or `..`.
    pub name: &'a [u8],
    /// What it names, if it is there.
    pub found: Option<Place>,
    /// Whether a slash followed the last name.
    pub slash: Slash,
}

/// Whether a slash follows a path's last name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slash {
    /// One does: only a directory is meant.
    Yes,
    /// None does.
    No,
}

/// A place for a new name, or of an old one that is to go.
#[derive(Clone, Debug)]
pub struct Target {
    /// The directory.
    pub parent: Place,
    /// The name there.
    pub name: ArrayVec<u8, NAME_MAX>,
    /// What it names, if it is there.
    pub found: Option<Place>,
    /// Whether a slash followed.
    pub slash: Slash,
}

impl Target {
    /// The name, to be kept.
    pub fn given(&self) -> Name {
        Name::Given(self.name.as_slice().into())
    }

    /// Whether it is a name at all: not `.`, `..` or the root directory.
    pub fn is_name(&self) -> bool {
        !matches!(self.name.as_slice(), b"" | b"." | b"..")
    }
}

/// One name of a path, with what it hashes to and what follows.
struct Component<'a> {
    name: &'a [u8],
    hash: Hash,
    rest: &'a [u8],
    slash: Slash,
}

/// Takes the next name off a path that does not begin with a slash.
#[inline]
fn component(path: &[u8]) -> Component<'_> {
    let mut hash = Hash::EMPTY;
    let mut length = 0;
    for byte in path {
        if *byte == b'/' {
            break;
        }
        hash = hash.with(*byte);
        length += 1;
    }
    let (name, rest) = path.split_at_checked(length).unwrap_or((path, &[]));
    let slash = if rest.is_empty() { Slash::No } else { Slash::Yes };
    Component { name, hash, rest: skip_slashes(rest), slash }
}

#[inline]
fn skip_slashes(path: &[u8]) -> &[u8] {
    let mut path = path;
    while let Some(rest) = path.strip_prefix(b"/") {
        path = rest;
    }
    path
}

impl<H: Host> Server<H> {
    /// The place that a path means.
    ///
    /// # Errors
    /// ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, EACCES.
    #[inline]
    pub fn lookup(&self, from: Place, path: &[u8], last: Last) -> Result<Place, Errno> {
        self.walk(from, path, last)?.found.ok_or(Errno::ENOENT)
    }

    /// The directory and the name that a path ends with.
    ///
    /// # Errors
    /// As [`Server::lookup`], the last name aside.
    pub fn target(&self, from: Place, path: &[u8], last: Last) -> Result<Target, Errno> {
        let Walked { parent, name, found, slash } = self.walk(from, path, last)?;
        let name = name.try_into().map_err(|_| Errno::ENAMETOOLONG)?;
        Ok(Target { parent, name, found, slash })
    }

    /// Walks a path.
    ///
    /// # Errors
    /// As [`Server::lookup`]; a last name that is not there is no error here.
    pub fn walk<'a>(&'a self, from: Place, path: &'a [u8], last: Last) -> Result<Walked<'a>, Errno> {
        if path.is_empty() {
            return Err(Errno::ENOENT);
        }
        let who = self.who();
        let mut left: ArrayVec<&[u8], MOST_LINKS> = ArrayVec::new();
        let mut rest = skip_slashes(path);
        let mut at = if rest.len() == path.len() { from } else { Place::ROOT };
        let mut links = 0;
        let mut slash = Slash::No;
        let mut walked = Walked { parent: at, name: &[], found: Some(at), slash };
        loop {
            if rest.is_empty() {
                // A link's text ended, or all did.
                let Some(more) = left.pop() else { break };
                rest = more;
                continue;
            }
            let Component { name, hash, rest: after, slash: follows } = component(rest);
            rest = after;
            let is_last = rest.is_empty() && left.is_empty();
            let (found, links_to) = self.step(at, name, hash, who)?;
            if is_last && follows == Slash::Yes {
                slash = Slash::Yes;
            }
            // A name that is to be made and has a slash behind is refused by the caller, whatever it names.
            if last == Last::Make && is_last && slash == Slash::Yes && !matches!(name, b"." | b"..") {
                return Ok(Walked { parent: at, name, found: None, slash });
            }
            let Some(found) = found else {
                if is_last {
                    return Ok(Walked { parent: at, name, found: None, slash });
                }
                return Err(Errno::ENOENT);
            };
            let follow = !is_last
                || matches!(last, Last::Follow | Last::Make)
                || (last == Last::Keep && slash == Slash::Yes);
            walked = Walked { parent: at, name, found: Some(found), slash };
            match links_to {
                LinksTo::Text(text) if follow => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(Errno::ELOOP);
                    }
                    if !rest.is_empty() {
                        left.try_push(rest).map_err(|_| Errno::ELOOP)?;
                    }
                    if text.is_empty() {
                        return Err(Errno::ENOENT);
                    }
                    rest = skip_slashes(text);
                    if rest.len() != text.len() {
                        at = Place::ROOT;
                    }
                    walked = Walked { parent: at, name: &[], found: Some(at), slash };
                }
                LinksTo::Jump if follow => {
                    let Place::Proc(entry) = found else { return Err(Errno::ENOENT) };
                    at = self.jump(entry)?;
                    walked = Walked { parent: at, name: &[], found: Some(at), slash };
                }
                _ => at = found,
            }
        }
        if slash == Slash::Yes && matches!(last, Last::Follow | Last::Keep) && !self.is_directory(at) {
            return Err(Errno::ENOTDIR);
        }
        Ok(walked)
    }

    /// Whether a place is a directory.
    pub fn is_directory(&self, place: Place) -> bool {
        match place {
            Place::Node(id) => self.files.tree.get(id).is_some_and(Node::is_directory),
            Place::Proc(entry) => entry.is_directory(),
            Place::Open(_) => false,
        }
    }

    /// One name from a directory.
    #[inline]
    fn step(
        &self,
        at: Place,
        name: &[u8],
        hash: Hash,
        who: Who<'_>,
    ) -> Result<(Option<Place>, LinksTo<'_>), Errno> {
        let id = match at {
            Place::Node(id) => id,
            Place::Proc(entry) => return self.step_in_proc(entry, name),
            Place::Open(_) => return Err(Errno::ENOTDIR),
        };
        let node = self.files.tree.get(id).ok_or(Errno::ENOENT)?;
        let Content::Directory(folder) = &node.content else { return Err(Errno::ENOTDIR) };
        if !who.may(node, EXECUTE) {
            return Err(Errno::EACCES);
        }
        match name {
            b"." => return Ok((Some(at), LinksTo::Nothing)),
            b".." => return Ok((Some(Place::Node(self.files.tree.parent(id))), LinksTo::Nothing)),
            name if name.len() > NAME_MAX => return Err(Errno::ENAMETOOLONG),
            _ => {}
        }
        let Some(found) = folder.get(name, hash) else { return Ok((None, LinksTo::Nothing)) };
        if found == self.files.proc_at {
            return Ok((Some(Place::Proc(Entry::Root)), LinksTo::Nothing));
        }
        let text = match self.files.tree.get(found).map(|node| &node.content) {
            Some(Content::Link(text)) => LinksTo::Text(text.bytes()),
            _ => LinksTo::Nothing,
        };
        Ok((Some(Place::Node(found)), text))
    }

    fn step_in_proc(&self, at: Entry, name: &[u8]) -> Result<(Option<Place>, LinksTo<'_>), Errno> {
        if !at.is_directory() {
            return Err(Errno::ENOTDIR);
        }
        match name {
            b"." => return Ok((Some(Place::Proc(at)), LinksTo::Nothing)),
            b".." => {
                let above = match at.parent() {
                    Some(above) => Place::Proc(above),
                    None => Place::Node(self.files.tree.parent(self.files.proc_at)),
                };
                return Ok((Some(above), LinksTo::Nothing));
            }
            name if name.len() > NAME_MAX => return Err(Errno::ENAMETOOLONG),
            _ => {}
        }
        let Some(found) = self.proc_child(at, name) else { return Ok((None, LinksTo::Nothing)) };
        let links = if found.is_link() { LinksTo::Jump } else { LinksTo::Nothing };
        Ok((Some(Place::Proc(found)), links))
    }

    /// The working directory of the acting process.
    ///
    /// # Errors
    /// ESRCH when nobody acts.
    pub fn directory(&self) -> Result<Place, Errno> {
        Ok(self.process()?.files.directory)
    }

    /// The node of a place that must be one.
    ///
    /// # Errors
    /// `otherwise` for another place.
    pub fn node_of(&self, place: Place, otherwise: Errno) -> Result<NodeId, Errno> {
        match place {
            Place::Node(id) => Ok(id),
            _ => Err(otherwise),
        }
    }
}

/// What a name that was found is a link to.
#[derive(Clone, Copy, Debug)]
enum LinksTo<'a> {
    /// It is no link.
    Nothing,
    /// A path.
    Text(&'a [u8]),
    /// A place, without a path (/proc's links).
    Jump,
}
