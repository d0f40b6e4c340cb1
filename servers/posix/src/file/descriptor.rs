//! Descriptors and open files.

use super::Files;
use super::tree::NodeId;
use crate::Errno;
use crate::define_id;
use crate::host::{Host, Stream};
use crate::memory::area::Protection;
use crate::memory::mmap::{MappedFile, Readable};
use crate::number::{index, low_u32, to_usize};
use crate::server::Server;
use alloc::vec::Vec;

define_id! {
    /// A table of descriptors.
    DescriptorsId
}
define_id! {
    /// An open file.
    OpenId
}

/// What an open file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenKind {
    /// Standard input.
    Input,
    /// An output stream.
    Output(Stream),
    /// A node of the tree.
    Node(NodeId),
}

/// An open file: what Linux calls an open file description.
#[derive(Clone, Copy, Debug)]
pub struct OpenFile {
    /// What it is.
    pub kind: OpenKind,
    /// Access mode and status flags, in open(2)'s bits.
    pub flags: u32,
    /// Where reading goes on.
    pub offset: u64,
    /// Descriptors that name it.
    pub(super) references: u32,
}

/// A descriptor.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor {
    /// The open file.
    pub open: OpenId,
    /// Whether execve closes it.
    pub on_exec: OnExec,
}

/// What execve does with a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnExec {
    /// It stays.
    Keep,
    /// It is closed (FD_CLOEXEC).
    Close,
}

/// A process's descriptors.
#[derive(Debug)]
pub struct Descriptors {
    table: Vec<Option<Descriptor>>,
    /// Processes that have it.
    users: u32,
}

/// open(2)'s access modes and flags, asm-generic.
pub mod flags {
    /// Bits of the access mode.
    pub const ACCESS: u32 = 3;
    /// Write only.
    pub const WRONLY: u32 = 1;
    /// Read and write.
    pub const RDWR: u32 = 2;
    /// Make it if it is not there.
    pub const CREAT: u32 = 0o100;
    /// It must not be there.
    pub const EXCL: u32 = 0o200;
    /// Cut it.
    pub const TRUNC: u32 = 0o1000;
    /// Writes go to the end.
    pub const APPEND: u32 = 0o2000;
    /// Never wait.
    pub const NONBLOCK: u32 = 0o4000;
    /// Only a directory.
    pub const DIRECTORY: u32 = 0o20_0000;
    /// No symbolic link at the end.
    pub const NOFOLLOW: u32 = 0o40_0000;
    /// Access times stay.
    pub const NOATIME: u32 = 0o100_0000;
    /// Closed by execve.
    pub const CLOEXEC: u32 = 0o200_0000;
    /// Only the name.
    pub const PATH: u32 = 0o1000_0000;
    /// What every 64-bit open has.
    pub const LARGEFILE: u32 = 0;
}

impl OpenFile {
    /// A file just opened, named by no descriptor yet.
    pub const fn new(kind: OpenKind, flags: u32) -> Self {
        Self { kind, flags, offset: 0, references: 0 }
    }

    /// Whether it may be read.
    pub const fn is_readable(&self) -> bool {
        self.flags & flags::PATH == 0 && self.flags & flags::ACCESS != flags::WRONLY
    }

    /// Whether it may be written.
    pub const fn is_writable(&self) -> bool {
        self.flags & flags::PATH == 0 && self.flags & flags::ACCESS != 0
    }
}

impl Descriptors {
    const fn new() -> Self {
        Self { table: Vec::new(), users: 1 }
    }

    /// A descriptor.
    #[inline]
    pub fn get(&self, fd: u32) -> Option<Descriptor> {
        self.table.get(index(fd)).copied().flatten()
    }

    /// A descriptor, to change it.
    pub fn get_mut(&mut self, fd: u32) -> Option<&mut Descriptor> {
        self.table.get_mut(index(fd))?.as_mut()
    }

    /// Takes a descriptor away.
    pub(super) fn take(&mut self, fd: u32) -> Option<Descriptor> {
        self.table.get_mut(index(fd))?.take()
    }

    /// The lowest free number from `from` to below `end`.
    fn lowest(&self, from: u32, end: u64) -> Option<u32> {
        let end = u32::try_from(end.min(1 << 20)).ok()?;
        (from..end).find(|fd| self.get(*fd).is_none())
    }

    pub(super) fn put(&mut self, fd: u32, descriptor: Descriptor) -> Option<Descriptor> {
        if self.table.len() <= index(fd) {
            self.table.resize(index(fd) + 1, None);
        }
        self.table.get_mut(index(fd))?.replace(descriptor)
    }
}

impl Files {
    /// A table whose first three descriptors are the console's streams; `None` when tables are full.
    pub fn standard_descriptors(&mut self) -> Option<DescriptorsId> {
        let streams = [
            (OpenKind::Input, 0),
            (OpenKind::Output(Stream::StandardOutput), flags::WRONLY),
            (OpenKind::Output(Stream::StandardError), flags::WRONLY),
        ];
        let id = self.descriptors.insert(Descriptors::new())?;
        for (fd, (kind, flags)) in (0..).zip(streams) {
            let open = self.open.insert(OpenFile { references: 1, ..OpenFile::new(kind, flags) })?;
            self.descriptors.get_mut(id)?.put(fd, Descriptor { open, on_exec: OnExec::Keep });
        }
        Some(id)
    }

    /// One process more has a table; `None` when there is no such table.
    pub(super) fn share_descriptors(&mut self, id: DescriptorsId) -> Option<DescriptorsId> {
        self.descriptors.get_mut(id)?.users += 1;
        Some(id)
    }

    /// A copy of a table for another process; `None` when tables are full.
    pub(super) fn copy_descriptors(&mut self, id: DescriptorsId) -> Option<DescriptorsId> {
        let table = self.descriptors.get(id)?.table.clone();
        for descriptor in table.iter().flatten() {
            if let Some(file) = self.open.get_mut(descriptor.open) {
                file.references += 1;
            }
        }
        let (opens, copy): (Vec<_>, _) = (
            table.iter().flatten().map(|descriptor| descriptor.open).collect(),
            Descriptors { table, users: 1 },
        );
        let copied = self.descriptors.insert(copy);
        if copied.is_none() {
            opens.into_iter().for_each(|open| self.release(open));
        }
        copied
    }

    /// One process less has a table; the last one closes everything in it.
    pub fn release_descriptors(&mut self, id: DescriptorsId) {
        let Some(table) = self.descriptors.get_mut(id) else { return };
        table.users -= 1;
        if table.users != 0 {
            return;
        }
        let Some(table) = self.descriptors.remove(id) else { return };
        for descriptor in table.table.into_iter().flatten() {
            self.release(descriptor.open);
        }
    }

    /// Closes what execve closes.
    pub fn close_on_exec(&mut self, id: DescriptorsId) {
        let Some(table) = self.descriptors.get_mut(id) else { return };
        let mut closed = Vec::new();
        for place in &mut table.table {
            if let Some(descriptor) = place.take_if(|descriptor| descriptor.on_exec == OnExec::Close) {
                closed.push(descriptor.open);
            }
        }
        for open in closed {
            self.release(open);
        }
    }

    pub(super) fn release(&mut self, open: OpenId) {
        let Some(file) = self.open.get_mut(open) else { return };
        file.references = file.references.saturating_sub(1);
        if file.references == 0 {
            self.open.remove(open);
        }
    }
}

impl<H: Host> Server<H> {
    /// The acting process's descriptor of a register.
    ///
    /// # Errors
    /// EBADF when there is none.
    #[inline]
    pub fn descriptor(&self, fd: u64) -> Result<Descriptor, Errno> {
        let table = self.files.descriptors.get(self.process()?.files.descriptors).ok_or(Errno::EBADF)?;
        table.get(low_u32(fd)).ok_or(Errno::EBADF)
    }

    /// The acting process's open file of a register.
    ///
    /// # Errors
    /// EBADF when there is none.
    #[inline]
    pub fn open_file(&self, fd: u64) -> Result<&OpenFile, Errno> {
        self.files.open.get(self.descriptor(fd)?.open).ok_or(Errno::EBADF)
    }

    /// The acting process's open file of a register, to change it.
    ///
    /// # Errors
    /// EBADF when there is none.
    #[inline]
    pub fn open_file_mut(&mut self, fd: u64) -> Result<&mut OpenFile, Errno> {
        let open = self.descriptor(fd)?.open;
        self.files.open.get_mut(open).ok_or(Errno::EBADF)
    }

    /// Gives an open file the lowest free descriptor from `from`.
    ///
    /// # Errors
    /// EMFILE beyond RLIMIT_NOFILE.
    pub fn add_descriptor(&mut self, open: OpenId, on_exec: OnExec, from: u32) -> Result<u64, Errno> {
        let (id, most) = (self.process()?.files.descriptors, self.process()?.limits.files());
        let table = self.files.descriptors.get_mut(id).ok_or(Errno::EBADF)?;
        let fd = table.lowest(from, most).ok_or(Errno::EMFILE)?;
        table.put(fd, Descriptor { open, on_exec });
        if let Some(file) = self.files.open.get_mut(open) {
            file.references += 1;
        }
        Ok(u64::from(fd))
    }

    /// Opens a file at the lowest free descriptor.
    ///
    /// # Errors
    /// ENFILE, EMFILE.
    pub fn install(&mut self, file: OpenFile, on_exec: OnExec) -> Result<u64, Errno> {
        let open = self.files.open.insert(file).ok_or(Errno::ENFILE)?;
        self.add_descriptor(open, on_exec, 0).inspect_err(|_| {
            self.files.open.remove(open);
        })
    }

    /// What mmap needs to know of a descriptor.
    ///
    /// # Errors
    /// EBADF; ENODEV for what has no pages.
    pub fn mapped_file(&mut self, fd: u64) -> Result<MappedFile, Errno> {
        let file = *self.open_file(fd)?;
        if file.flags & flags::PATH != 0 {
            return Err(Errno::EBADF);
        }
        let OpenKind::Node(node) = file.kind else { return Err(Errno::ENODEV) };
        let object = self.files.tree.object(node, &mut self.memory.objects).ok_or(Errno::ENODEV)?;
        let shared_most =
            if file.is_writable() { Protection::all() } else { Protection::READ | Protection::EXECUTE };
        let readable = if file.is_readable() { Readable::Yes } else { Readable::No };
        Ok(MappedFile { object, shared_most, readable })
    }
}

/// A length that a call moves at most: Linux's MAX_RW_COUNT.
pub fn most_moved(bytes: u64) -> usize {
    to_usize(bytes.min(0x7fff_ffff & !(crate::address::PAGE_BYTES - 1)))
}
