//! The bytes of regular files: size, reading, writing, cutting.
//!
//! A file of the archive stays where it is until it is written or mapped; from then on it has pages, which
//! calls and mappings share.

use super::descriptor::OpenKind;
use super::device::Device;
use super::node::{Content, FileData, Node, Time, Touched};
use super::pieces::{Source, so_far};
use super::tree::{Left, NodeId};
use crate::Errno;
use crate::address::{PAGE_BYTES, Page};
use crate::host::Host;
use crate::memory::area::Protection;
use crate::memory::content::{Stopped, Why};
use crate::memory::mmap::{MappedFile, Readable};
use crate::memory::object::ObjectId;
use crate::number::{to_u64, to_usize};
use crate::server::Server;
use crate::signal::number::Signal;
use crate::user::Short;

/// Where a file may end at most (Linux's MAX_LFS_FILESIZE).
pub const MOST_BYTES: u64 = i64::MAX.unsigned_abs();
/// Seconds after which reading a file changes its access time in any case (relatime).
const DAY: i64 = 24 * 60 * 60;

impl<H: Host> Server<H> {
    /// The time that files are given.
    #[inline]
    pub fn now(&self) -> Time {
        Time::of_ns(self.host.monotonic_ns().saturating_add(self.host.realtime_offset_ns()))
    }

    /// Bytes of a regular file.
    ///
    /// # Errors
    /// EISDIR for a directory, EINVAL for what else has no bytes.
    #[inline]
    pub fn file_data(&self, id: NodeId) -> Result<FileData, Errno> {
        match self.files.tree.get(id).map(|node| &node.content) {
            Some(Content::File(data)) => Ok(*data),
            Some(Content::Directory(_)) => Err(Errno::EISDIR),
            _ => Err(Errno::EINVAL),
        }
    }

    /// How long a file is.
    #[inline]
    pub fn data_size(&self, data: FileData) -> u64 {
        match data {
            FileData::Archive(bytes) => to_u64(bytes.len()),
            FileData::Pages(object) => self.memory.objects.bytes(object),
        }
    }

    /// Reads a file into a program's memory, from an offset.
    pub(super) fn read_file(
        &mut self,
        id: NodeId,
        offset: u64,
        pieces: &super::pieces::Pieces,
    ) -> Result<u64, Errno> {
        let data = self.file_data(id)?;
        let mut left = self.data_size(data).saturating_sub(offset);
        self.note_read(id);
        let mut done = 0;
        let mut view = self.view()?;
        for piece in pieces.iter() {
            let piece = piece.first(left);
            if piece.is_empty() {
                break;
            }
            let at = offset + done;
            let copied = match data {
                FileData::Archive(bytes) => {
                    view.write_bytes(bytes.get(to_usize(at)..).unwrap_or_default(), piece)
                }
                FileData::Pages(object) => view.read_object(object, at, piece),
            };
            if let Err(Short { done: short }) = copied {
                return so_far(done + to_u64(short));
            }
            done += piece.bytes();
            left -= piece.bytes();
        }
        Ok(done)
    }

    /// Reads a file into the server's memory, from an offset; says how many bytes there were.
    ///
    /// # Errors
    /// As [`Server::file_data`].
    pub fn read_file_own(&mut self, id: NodeId, offset: u64, into: &mut [u8]) -> Result<usize, Errno> {
        let data = self.file_data(id)?;
        let left = to_usize(self.data_size(data).saturating_sub(offset));
        let length = left.min(into.len());
        let Some(into) = into.get_mut(..length) else { return Ok(0) };
        match data {
            FileData::Archive(bytes) => {
                let from = bytes.get(to_usize(offset)..).unwrap_or_default();
                into.copy_from_slice(from.get(..length).unwrap_or_default());
            }
            FileData::Pages(object) => {
                self.memory.read_object(&mut self.host, object, offset, into);
            }
        }
        Ok(length)
    }

    /// Writes to a file at an offset; the file grows as far as needed.
    pub(super) fn write_file(&mut self, id: NodeId, offset: u64, source: &Source<'_>) -> Result<u64, Errno> {
        if source.bytes() == 0 {
            return Ok(0);
        }
        let room = self.file_room(offset)?;
        let object = self.file_object(id)?;
        let mut done = 0;
        let mut view = self.view()?;
        for piece in source.iter() {
            let piece = piece.first(room - done);
            match view.write_object(object, offset + done, piece) {
                Ok(()) => done += piece.len(),
                Err(Stopped { done: bytes, why }) => {
                    done += bytes;
                    if done == 0 {
                        return Err(if why == Why::Fault { Errno::EFAULT } else { Errno::ENOSPC });
                    }
                    break;
                }
            }
        }
        let (now, keeps) = (self.now(), self.who().user == 0);
        if let Some(node) = self.files.tree.get_mut(id) {
            node.touch(now, Touched::Content);
            if !keeps {
                drop_set_ids(node);
            }
        }
        Ok(done)
    }

    /// What mmap needs to know of a descriptor; nothing for /dev/zero, whose mappings are anonymous.
    ///
    /// # Errors
    /// EBADF; ENODEV for what has no pages.
    pub fn mapped_file(&mut self, fd: u64) -> Result<Option<MappedFile>, Errno> {
        let file = *self.real_file(fd)?;
        let node = match file.kind {
            OpenKind::Node(node) => node,
            OpenKind::Device(Device::Zero, _) => return Ok(None),
            _ => return Err(Errno::ENODEV),
        };
        let object = self.file_object(node).map_err(|_| Errno::ENODEV)?;
        let shared_most =
            if file.is_writable() { Protection::all() } else { Protection::READ | Protection::EXECUTE };
        let readable = if file.is_readable() { Readable::Yes } else { Readable::No };
        Ok(Some(MappedFile { object, shared_most, readable }))
    }

    /// The pages of a file, which it gets if it had none.
    ///
    /// # Errors
    /// EINVAL for what is no regular file.
    #[inline]
    pub fn file_object(&mut self, id: NodeId) -> Result<ObjectId, Errno> {
        self.files.tree.object(id, &mut self.memory.objects).ok_or(Errno::EINVAL)
    }

    /// Makes a file end at `bytes`.
    ///
    /// # Errors
    /// EINVAL for what is no regular file.
    pub fn cut_file(&mut self, id: NodeId, bytes: u64) -> Result<(), Errno> {
        let data = self.file_data(id)?;
        let before = self.data_size(data);
        if bytes > before {
            self.may_end_at(bytes)?;
        }
        if bytes == 0 && matches!(data, FileData::Archive(_)) {
            if let Some(node) = self.files.tree.get_mut(id) {
                node.content = Content::File(FileData::Archive(&[]));
            }
        } else if bytes > before {
            let object = self.file_object(id)?;
            self.memory.objects.extend(object, bytes);
        } else if bytes < before {
            let object = self.file_object(id)?;
            self.memory.objects.cut(object, bytes, &mut self.memory.frames, &mut self.host);
            self.hide_cut_pages(object, bytes);
        }
        let (now, keeps) = (self.now(), self.who().user == 0);
        if let Some(node) = self.files.tree.get_mut(id) {
            node.touch(now, Touched::Content);
            if !keeps {
                drop_set_ids(node);
            }
        }
        Ok(())
    }

    /// Takes pages behind a file's new end out of every space that maps them, their private copies too.
    fn hide_cut_pages(&mut self, object: ObjectId, bytes: u64) {
        if !self.memory.objects.is_shown(object) {
            return;
        }
        let first = Page(bytes.div_ceil(PAGE_BYTES));
        let keys: alloc::vec::Vec<_> = self.spaces.iter().map(|(key, _)| key).collect();
        for key in keys {
            if let Ok(mut view) = self.view_of(key) {
                view.hide_object(object, first);
            }
        }
    }

    /// Gives back what a node that went had.
    pub(crate) fn free_left(&mut self, left: Option<Left>) {
        if let Some(object) = left.and_then(|left| left.object) {
            self.memory.objects.set_file(object, None);
            self.memory.objects.release(object, 1, &mut self.memory.frames);
        }
    }

    /// Notes that a node was read: as with relatime, only if it was not read since it changed, or for a day.
    #[inline]
    pub(super) fn note_read(&mut self, id: NodeId) {
        let Some(node) = self.files.tree.get(id) else { return };
        let fresh = node.accessed > node.modified && node.accessed > node.changed;
        let now = self.now();
        if fresh && now.seconds - node.accessed.seconds < DAY {
            return;
        }
        if let Some(node) = self.files.tree.get_mut(id) {
            node.accessed = now;
        }
    }

    /// How many bytes a file may have behind an offset.
    ///
    /// # Errors
    /// EFBIG if none, with SIGXFSZ where it is RLIMIT_FSIZE that says so (Linux: generic_write_check_limits).
    fn file_room(&mut self, offset: u64) -> Result<u64, Errno> {
        let limit = self.process()?.limits.file_bytes();
        if offset >= limit {
            self.send_self(Signal::SIGXFSZ);
            return Err(Errno::EFBIG);
        }
        match limit.min(MOST_BYTES).checked_sub(offset) {
            None | Some(0) => Err(Errno::EFBIG),
            Some(room) => Ok(room),
        }
    }

    /// Whether a file may grow to `bytes`.
    ///
    /// # Errors
    /// As for [`Server::file_room`].
    pub(super) fn may_end_at(&mut self, bytes: u64) -> Result<(), Errno> {
        if bytes == 0 { Ok(()) } else { self.file_room(bytes - 1).map(|_| ()) }
    }
}

/// A file that is written by anybody but root loses the right to act as its owner.
fn drop_set_ids(node: &mut Node) {
    use super::node::{SET_GROUP, SET_USER};
    node.mode &= !SET_USER;
    if node.mode & 0o010 != 0 {
        node.mode &= !SET_GROUP;
    }
}
