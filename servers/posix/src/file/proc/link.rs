//! Links in /proc: what their text is, and where they lead without it.

use super::super::descriptor::{OpenId, OpenKind};
use super::super::place::Place;
use super::list::anonymous;
use super::{Entry, Item, Link, number};
use crate::Errno;
use crate::host::{Host, Stream};
use crate::process::Pid;
use crate::server::Server;
use alloc::vec::Vec;

/// st_ino of the console's streams, which have no node: their lines behind the pipes'.
pub(in crate::file) const STREAM_NUMBERS: u64 = 1 << 24;

impl<H: Host> Server<H> {
    /// Where a link in /proc leads.
    ///
    /// # Errors
    /// ENOENT for a process that is no more.
    pub(in crate::file) fn jump(&self, entry: Entry) -> Result<Place, Errno> {
        match entry {
            Entry::Link(link) => {
                let (pid, tid) = self.acting_numbers().ok_or(Errno::ENOENT)?;
                Ok(Place::Proc(match link {
                    Link::SelfLink => Entry::Process(pid),
                    Link::ThreadSelf => Entry::Process(tid),
                    Link::Mounts => Entry::Of(pid, Item::Mounts),
                }))
            }
            Entry::Of(pid, Item::Cwd) => Ok(self.process_of_pid(pid).ok_or(Errno::ENOENT)?.files.directory),
            Entry::Of(_, Item::Root) => Ok(Place::ROOT),
            Entry::Of(pid, Item::Exe) => {
                let process = self.process_of_pid(pid).ok_or(Errno::ENOENT)?;
                process.files.program.map(Place::Node).ok_or(Errno::ENOENT)
            }
            Entry::Fd(pid, fd) => {
                let open = self.open_of(pid, fd)?;
                Ok(match self.files.open.get(open).ok_or(Errno::ENOENT)?.kind {
                    OpenKind::Node(node) | OpenKind::Device(_, node) | OpenKind::Terminal(_, node) => {
                        Place::Node(node)
                    }
                    OpenKind::Proc(entry) => Place::Proc(entry),
                    OpenKind::Pipe(pipe, _) => {
                        let node = self.files.pipes.get(pipe).and_then(|pipe| pipe.node);
                        node.map_or(Place::Open(open), Place::Node)
                    }
                    _ => Place::Open(open),
                })
            }
            _ => Err(Errno::ENOENT),
        }
    }

    /// The text of a link in /proc.
    ///
    /// # Errors
    /// EINVAL for what is no link, ENOENT for a process that is no more.
    pub(in crate::file) fn proc_link_text(&self, entry: Entry, text: &mut Vec<u8>) -> Result<(), Errno> {
        text.clear();
        match entry {
            Entry::Link(link) => {
                let (pid, tid) = self.acting_numbers().ok_or(Errno::ENOENT)?;
                match link {
                    Link::SelfLink => number(text, pid.0),
                    Link::ThreadSelf => {
                        number(text, pid.0);
                        text.extend_from_slice(b"/task/");
                        number(text, tid.0);
                    }
                    Link::Mounts => text.extend_from_slice(b"self/mounts"),
                }
                Ok(())
            }
            entry if entry.is_link() => {
                let place = self.jump(entry)?;
                if let (Place::Open(_), Entry::Fd(pid, fd)) = (place, entry) {
                    return self.anonymous_text(self.open_of(pid, fd)?, text);
                }
                // A file without a name has one for people all the same.
                if self.path_of_place(place, text).is_none() {
                    text.clear();
                    text.extend_from_slice(b"/ (deleted)");
                }
                Ok(())
            }
            _ => Err(Errno::EINVAL),
        }
    }

    fn anonymous_text(&self, open: OpenId, text: &mut Vec<u8>) -> Result<(), Errno> {
        match self.files.open.get(open).ok_or(Errno::ENOENT)?.kind {
            OpenKind::Pipe(pipe, _) => {
                anonymous(b"pipe", self.files.pipes.get(pipe).map_or(0, |pipe| pipe.number), text);
            }
            OpenKind::Signals(_) => text.extend_from_slice(b"anon_inode:[signalfd]"),
            OpenKind::Event(_) => text.extend_from_slice(b"anon_inode:[eventfd]"),
            OpenKind::Input => anonymous(b"pipe", STREAM_NUMBERS, text),
            OpenKind::Output(Stream::StandardOutput) => anonymous(b"pipe", STREAM_NUMBERS + 1, text),
            OpenKind::Output(Stream::StandardError) => anonymous(b"pipe", STREAM_NUMBERS + 2, text),
            _ => return Err(Errno::ENOENT),
        }
        Ok(())
    }

    /// The open file of a process's descriptor.
    pub(super) fn open_of(&self, pid: Pid, fd: u32) -> Result<OpenId, Errno> {
        let process = self.process_of_pid(pid).ok_or(Errno::ENOENT)?;
        let table = self.files.descriptors.get(process.files.descriptors).ok_or(Errno::ENOENT)?;
        Ok(table.get(fd).ok_or(Errno::ENOENT)?.open)
    }
}
