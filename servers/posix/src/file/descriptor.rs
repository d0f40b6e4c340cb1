//! Descriptors and open files.

use super::device::Device;
use super::event::EventId;
use super::pipe::{End, PipeId};
use super::proc::Entry;
use super::tree::NodeId;
use crate::Errno;
use crate::define_id;
use crate::host::{Host, Stream};
use crate::number::{index, low_u32, to_usize};
use crate::server::Server;
use crate::terminal::table::Handle;
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
    /// A file, a directory, or whatever O_PATH names.
    Node(NodeId),
    /// A device, and its node.
    Device(Device, NodeId),
    /// An end of a pipe or FIFO.
    Pipe(PipeId, End),
    /// A counter (eventfd).
    Event(EventId),
    /// Pending signals (signalfd), those of this set.
    Signals(u64),
    /// Something in /proc.
    Proc(Entry),
    /// A terminal or a pty's master, and its node.
    Terminal(Handle, NodeId),
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
    /// Descriptors and waiting calls that name it.
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

impl OnExec {
    /// As a call's flags say.
    pub const fn of(bits: u32) -> Self {
        if bits & flags::CLOEXEC != 0 { Self::Close } else { Self::Keep }
    }
}

/// A process's descriptors.
#[derive(Debug)]
pub struct Descriptors {
    table: Vec<Option<Descriptor>>,
    /// Every number below is used.
    first_free: u32,
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
    /// It does not become the controlling terminal.
    pub const NOCTTY: u32 = 0o400;
    /// Cut it.
    pub const TRUNC: u32 = 0o1000;
    /// Writes go to the end.
    pub const APPEND: u32 = 0o2000;
    /// Never wait.
    pub const NONBLOCK: u32 = 0o4000;
    /// Pipes: writes stay apart (packets).
    pub const DIRECT: u32 = 0o4_0000;
    /// What every 64-bit open has.
    pub const LARGEFILE: u32 = 0o10_0000;
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
    /// A file without a name (with DIRECTORY).
    pub const TMPFILE: u32 = 0o2000_0000;
}

impl OpenFile {
    /// A file just opened, named by no descriptor yet.
    pub const fn new(kind: OpenKind, flags: u32) -> Self {
        Self { kind, flags, offset: 0, references: 0 }
    }

    /// Whether it may be read.
    pub const fn is_readable(&self) -> bool {
        self.flags & flags::PATH == 0 && matches!(self.flags & flags::ACCESS, 0 | flags::RDWR)
    }

    /// Whether it may be written.
    pub const fn is_writable(&self) -> bool {
        self.flags & flags::PATH == 0 && matches!(self.flags & flags::ACCESS, flags::WRONLY | flags::RDWR)
    }

    /// Whether only its name counts (O_PATH).
    pub const fn is_name(&self) -> bool {
        self.flags & flags::PATH != 0
    }

    /// Whether its calls never wait.
    pub const fn is_nonblocking(&self) -> bool {
        self.flags & flags::NONBLOCK != 0
    }

    /// Its node in the tree, if it has one.
    pub const fn node(&self) -> Option<NodeId> {
        match self.kind {
            OpenKind::Node(node) | OpenKind::Device(_, node) | OpenKind::Terminal(_, node) => Some(node),
            _ => None,
        }
    }
}

impl Descriptors {
    const fn new() -> Self {
        Self { table: Vec::new(), first_free: 0, users: 1 }
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

    /// Every descriptor, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Descriptor)> {
        (0..).zip(&self.table).filter_map(|(fd, descriptor)| Some((fd, (*descriptor)?)))
    }

    /// Takes a descriptor away.
    #[inline]
    pub(super) fn take(&mut self, fd: u32) -> Option<Descriptor> {
        let taken = self.table.get_mut(index(fd))?.take();
        if taken.is_some() {
            self.first_free = self.first_free.min(fd);
        }
        taken
    }

    /// Bytes of the server's memory that a copy takes.
    pub fn bytes(&self) -> usize {
        self.table.len() * size_of::<Option<Descriptor>>()
    }

    /// Processes that have it.
    pub(super) const fn users(&self) -> u32 {
        self.users
    }

    /// Numbers that were ever used end before this.
    pub(super) fn end(&self) -> u32 {
        low_u32(self.table.len() as u64)
    }

    /// The lowest free number from `from` to below `end`.
    #[inline]
    pub(super) fn lowest(&self, from: u32, end: u64) -> Option<u32> {
        let end = u32::try_from(end.min(1 << 20)).ok()?;
        (from.max(self.first_free)..end).find(|fd| self.get(*fd).is_none())
    }

    pub(super) fn put(&mut self, fd: u32, descriptor: Descriptor) -> Option<Descriptor> {
        if self.table.len() <= index(fd) {
            self.table.resize(index(fd) + 1, None);
        }
        if fd == self.first_free {
            self.first_free += 1;
        }
        self.table.get_mut(index(fd))?.replace(descriptor)
    }
}

impl<H: Host> Server<H> {
    /// A table whose first three descriptors are the system's terminal, or else the console's streams; `None` when tables are full.
    pub fn standard_descriptors(&mut self) -> Option<DescriptorsId> {
        if let Some((handle, node)) = self.open_system_end() {
            return self.terminal_descriptors(handle, node);
        }
        let streams = [
            (OpenKind::Input, 0),
            (OpenKind::Output(Stream::StandardOutput), flags::WRONLY),
            (OpenKind::Output(Stream::StandardError), flags::WRONLY),
        ];
        let id = self.files.descriptors.insert(Descriptors::new())?;
        for (fd, (kind, flags)) in (0..).zip(streams) {
            let open = self.files.open.insert(OpenFile { references: 1, ..OpenFile::new(kind, flags) })?;
            self.files.descriptors.get_mut(id)?.put(fd, Descriptor { open, on_exec: OnExec::Keep });
        }
        Some(id)
    }

    /// A table whose first three descriptors are one open file of the system's terminal.
    fn terminal_descriptors(&mut self, handle: Handle, node: NodeId) -> Option<DescriptorsId> {
        self.files.tree.hold(node);
        let file = OpenFile { references: 3, ..OpenFile::new(OpenKind::Terminal(handle, node), flags::RDWR) };
        let open = self.files.open.insert(file)?;
        let id = self.files.descriptors.insert(Descriptors::new())?;
        for fd in 0..3 {
            self.files.descriptors.get_mut(id)?.put(fd, Descriptor { open, on_exec: OnExec::Keep });
        }
        Some(id)
    }

    /// A copy of a table for another process; `None` when tables are full.
    pub(super) fn copy_descriptors(&mut self, id: DescriptorsId) -> Option<DescriptorsId> {
        let before = self.files.descriptors.get(id)?;
        let copy = Descriptors { table: before.table.clone(), first_free: before.first_free, users: 1 };
        let copied = self.files.descriptors.insert(copy)?;
        let table = &self.files.descriptors.get(copied)?.table;
        for descriptor in table.iter().flatten() {
            if let Some(file) = self.files.open.get_mut(descriptor.open) {
                file.references += 1;
            }
        }
        Some(copied)
    }

    /// One process less has a table; the last one closes everything in it.
    pub fn release_descriptors(&mut self, id: DescriptorsId) {
        let Some(table) = self.files.descriptors.get_mut(id) else { return };
        table.users -= 1;
        if table.users != 0 {
            return;
        }
        let Some(table) = self.files.descriptors.remove(id) else { return };
        for descriptor in table.table.into_iter().flatten() {
            self.release_open(descriptor.open);
        }
    }

    /// Closes what execve closes.
    pub fn close_on_exec(&mut self, id: DescriptorsId) {
        let mut fd = 0;
        while let Some(table) = self.files.descriptors.get_mut(id).filter(|table| fd < table.end()) {
            if table.get(fd).is_some_and(|descriptor| descriptor.on_exec == OnExec::Close)
                && let Some(descriptor) = table.take(fd)
            {
                self.release_open(descriptor.open);
            }
            fd += 1;
        }
    }

    /// An open file is needed once more.
    pub(crate) fn hold_open(&mut self, open: OpenId) {
        if let Some(file) = self.files.open.get_mut(open) {
            file.references += 1;
        }
    }

    /// An open file is needed once less; the last one closes it.
    #[inline]
    pub(crate) fn release_open(&mut self, open: OpenId) {
        let Some(file) = self.files.open.get_mut(open) else { return };
        file.references = file.references.saturating_sub(1);
        if file.references == 0
            && let Some(file) = self.files.open.remove(open)
        {
            self.closed(open, &file);
        }
    }

    /// Gives back what an open file had.
    fn closed(&mut self, open: OpenId, file: &OpenFile) {
        self.files.locks.forget_open(open, &mut self.waits, &mut self.ready);
        match file.kind {
            OpenKind::Node(node) => {
                if file.is_writable()
                    && let Some(node) = self.files.tree.get_mut(node)
                {
                    node.writers -= 1;
                }
                self.release_node(node);
            }
            OpenKind::Device(_, node) => self.release_node(node),
            OpenKind::Terminal(handle, node) => {
                self.close_terminal(handle);
                self.release_node(node);
            }
            OpenKind::Pipe(pipe, end) => self.close_pipe(pipe, end),
            OpenKind::Event(event) => self.close_event(event),
            OpenKind::Input | OpenKind::Output(_) | OpenKind::Proc(_) | OpenKind::Signals(_) => {}
        }
    }

    /// The acting process's table.
    ///
    /// # Errors
    /// EBADF when there is none.
    #[inline]
    pub(super) fn descriptors(&mut self) -> Result<&mut Descriptors, Errno> {
        let id = self.process()?.files.descriptors;
        self.files.descriptors.get_mut(id).ok_or(Errno::EBADF)
    }

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

    /// As [`Server::open_file`], and only if more than its name is open.
    ///
    /// # Errors
    /// EBADF also for O_PATH.
    pub(crate) fn real_file(&self, fd: u64) -> Result<&OpenFile, Errno> {
        self.open_file(fd).and_then(|file| if file.is_name() { Err(Errno::EBADF) } else { Ok(file) })
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

    /// Whether a descriptor more is within RLIMIT_NOFILE.
    ///
    /// # Errors
    /// EMFILE when it is not.
    #[inline]
    pub(super) fn check_descriptor(&mut self) -> Result<(), Errno> {
        let most = self.process()?.limits.files();
        self.descriptors()?.lowest(0, most).map(|_| ()).ok_or(Errno::EMFILE)
    }

    /// Gives an open file the lowest free descriptor from `from`.
    ///
    /// # Errors
    /// EMFILE beyond RLIMIT_NOFILE.
    #[inline]
    pub fn add_descriptor(&mut self, open: OpenId, on_exec: OnExec, from: u32) -> Result<u64, Errno> {
        let most = self.process()?.limits.files();
        let table = self.descriptors()?;
        let fd = table.lowest(from, most).ok_or(Errno::EMFILE)?;
        table.put(fd, Descriptor { open, on_exec });
        self.hold_open(open);
        Ok(u64::from(fd))
    }

    /// Opens a file at the lowest free descriptor. What the file has is given back if that fails.
    ///
    /// # Errors
    /// ENFILE, EMFILE.
    #[inline]
    pub fn install(&mut self, file: OpenFile, on_exec: OnExec) -> Result<u64, Errno> {
        let Some(open) = self.files.open.insert(OpenFile { references: 1, ..file }) else {
            // Nothing has a lock through a file that was never open.
            self.closed(crate::slots::Id::new(u32::MAX), &file);
            return Err(Errno::ENFILE);
        };
        let added = self.add_descriptor(open, on_exec, 0);
        // The descriptor's reference is the one that stays.
        self.release_open(open);
        added
    }
}

impl super::Files {
    /// One process more has a table; `None` when there is no such table.
    pub(super) fn share_descriptors(&mut self, id: DescriptorsId) -> Option<DescriptorsId> {
        self.descriptors.get_mut(id)?.users += 1;
        Some(id)
    }
}

/// A length that a call moves at most: Linux's MAX_RW_COUNT.
pub fn most_moved(bytes: u64) -> usize {
    to_usize(bytes.min(0x7fff_ffff & !(crate::address::PAGE_BYTES - 1)))
}
