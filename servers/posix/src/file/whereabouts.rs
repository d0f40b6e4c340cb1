//! The working directory: chdir, fchdir, getcwd.

use super::descriptor::most_moved;
use super::node::Known;
use super::permission::EXECUTE;
use super::place::Place;
use super::tree::ROOT;
use super::walk::{Last, PATH_MAX};
use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::server::Server;
use crate::user::UserSlice;
use alloc::vec::Vec;

const AT_CWD: u64 = super::open::AT_FDCWD.cast_unsigned() as u64;

/// chdir(2).
pub fn chdir<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    server.with_path(arguments.word(0), |server, path| {
        let place = server.place_at(AT_CWD, path, Last::Follow)?;
        server.change_directory(place)
    })
}

/// fchdir(2).
pub fn fchdir<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let place = server.place_of(arguments.word(0))?;
    server.change_directory(place)
}

/// getcwd(2): the length with its zero.
pub fn getcwd<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let mut path = core::mem::take(&mut server.files.text);
    let found = server.path_of_place(server.directory()?, &mut path);
    let removed = match server.directory()? {
        Place::Node(id) if id != ROOT => {
            server.files.tree.get(id).is_none_or(|node| !matches!(node.known, Known::At(..)))
        }
        _ => false,
    };
    path.push(0);
    let written = found.filter(|()| !removed).ok_or(Errno::ENOENT).and_then(|()| {
        if path.len() > PATH_MAX {
            return Err(Errno::ENAMETOOLONG);
        }
        if path.len() > most_moved(arguments.word(1)) {
            return Err(Errno::ERANGE);
        }
        let to = UserSlice::new(arguments.word(0), path.len() as u64)?;
        server.view()?.write_bytes(&path, to)?;
        Ok(path.len() as u64)
    });
    if path.capacity() <= 2 * PATH_MAX {
        server.files.text = path;
    }
    written
}

impl<H: Host> Server<H> {
    /// Makes a directory the acting process's working directory.
    ///
    /// # Errors
    /// ENOTDIR, EACCES.
    pub fn change_directory(&mut self, place: Place) -> Result<u64, Errno> {
        if !self.is_directory(place) {
            return Err(Errno::ENOTDIR);
        }
        if let Place::Node(id) = place
            && let Some(node) = self.files.tree.get(id)
            && !self.who().may(node, EXECUTE)
        {
            return Err(Errno::EACCES);
        }
        self.hold_place(place);
        let before = core::mem::replace(&mut self.process_mut()?.files.directory, place);
        self.release_place(before);
        Ok(0)
    }

    /// The path of a place, if it has one.
    pub fn path_of_place(&self, place: Place, path: &mut Vec<u8>) -> Option<()> {
        match place {
            Place::Node(id) => self.files.tree.path(id, path),
            Place::Proc(entry) => {
                self.files.tree.path(self.files.proc_at, path)?;
                entry.write_path(path);
                Some(())
            }
            Place::Open(_) => None,
        }
    }
}
