//! /proc: what the server knows of its programs and of itself, as files made when they are read.
//!
//! Nothing here is kept: an [`Entry`] is a question, and every read answers it anew. What is not here is not
//! there: a program that needs more finds ENOENT.

mod init;
mod link;
mod list;
mod process;
mod system;

pub(super) use link::STREAM_NUMBERS;

use super::open::Wish;
use super::pieces::{Pieces, Source, so_far};
use crate::Errno;
use crate::host::Host;
use crate::number::to_usize;
use crate::process::Pid;
use crate::server::Server;
use alloc::vec::Vec;
use core::fmt::Write;

/// Something in /proc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// /proc itself.
    Root,
    /// A file about the system.
    System(System),
    /// A directory of such files below /proc/sys.
    Folder(Folder),
    /// /proc/self, /proc/thread-self, /proc/mounts: links.
    Link(Link),
    /// /proc/PID, or /proc/PID/task/TID.
    Process(Pid),
    /// A file, link or directory in it.
    Of(Pid, Item),
    /// /proc/PID/fd/N.
    Fd(Pid, u32),
    /// /proc/PID/fdinfo/N.
    FdInformation(Pid, u32),
}

macro_rules! define_names {
    ($(#[$doc:meta])* $type:ident, $all:ident: $($variant:ident = $name:literal, $about:literal;)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type {
            $(#[doc = $about] $variant,)*
        }

        impl $type {
            /// Every one with its name.
            pub(super) const $all: &[(&'static [u8], Self)] = &[$(($name, Self::$variant)),*];

            /// Its name.
            pub(super) fn name(self) -> &'static [u8] {
                Self::$all.iter().find(|(_, other)| *other == self).map_or(b"", |(name, _)| *name)
            }
        }
    };
}

define_names! {
    /// A file about the system.
    System, ALL:
    Cpuinfo = b"cpuinfo", "The processor.";
    Cmdline = b"cmdline", "What the system was started with.";
    Devices = b"devices", "Drivers of devices.";
    Filesystems = b"filesystems", "File systems.";
    Loadavg = b"loadavg", "How many threads wait for the processor.";
    Meminfo = b"meminfo", "Memory.";
    Stat = b"stat", "Time of the processor.";
    Swaps = b"swaps", "Swap space: none.";
    Uptime = b"uptime", "Time since the start.";
    Version = b"version", "Which system this is.";
    OsType = b"ostype", "The system's name.";
    OsRelease = b"osrelease", "Its release.";
    OsVersion = b"version_", "When it was made.";
    HostName = b"hostname", "This machine's name.";
    DomainName = b"domainname", "Its domain's name.";
    PidMax = b"pid_max", "The first number that no process gets.";
    ThreadsMax = b"threads-max", "Most threads.";
    NgroupsMax = b"ngroups_max", "Most groups of a process.";
    CapLastCap = b"cap_last_cap", "The last capability.";
    Overflow = b"overflowuid", "A user that has no number.";
    BootId = b"boot_id", "A random number of this start.";
    Uuid = b"uuid", "A random number of this look.";
    EntropyAvailable = b"entropy_avail", "Random bits.";
    FileMax = b"file-max", "Most open files.";
    NrOpen = b"nr_open", "Most descriptors of a process.";
    PipeMaxSize = b"pipe-max-size", "Most bytes of a pipe.";
    OvercommitMemory = b"overcommit_memory", "How memory is promised.";
    MaxMapCount = b"max_map_count", "Most areas of a space.";
}

define_names! {
    /// A directory below /proc.
    Folder, ALL:
    Sys = b"sys", "Settings.";
    Kernel = b"kernel", "Settings of the system.";
    Random = b"random", "The random generator.";
    Fs = b"fs", "Settings of files.";
    Vm = b"vm", "Settings of memory.";
}

define_names! {
    /// A link in /proc.
    Link, ALL:
    SelfLink = b"self", "The process that looks.";
    ThreadSelf = b"thread-self", "The thread that looks.";
    Mounts = b"mounts", "The mounts of the process that looks.";
}

define_names! {
    /// Something in a process's directory.
    Item, ALL:
    Auxv = b"auxv", "The auxiliary vector; kept by no process here, so empty.";
    Cmdline = b"cmdline", "The arguments.";
    Comm = b"comm", "The name.";
    Cwd = b"cwd", "The working directory.";
    Environ = b"environ", "The environment as it began.";
    Exe = b"exe", "The program.";
    Fd = b"fd", "The descriptors.";
    FdInfo = b"fdinfo", "What is known of the descriptors.";
    Limits = b"limits", "RLIMIT_.";
    Maps = b"maps", "What is mapped.";
    MountInfo = b"mountinfo", "Mounts, in detail.";
    Mounts = b"mounts", "Mounts.";
    OomScore = b"oom_score", "Whether it is killed for memory.";
    Root = b"root", "The root directory.";
    Stat = b"stat", "Its state in numbers.";
    Statm = b"statm", "Its memory in pages.";
    Status = b"status", "Its state in words.";
    Task = b"task", "Its threads.";
}

/// The one of a name.
fn named<T: Copy>(all: &[(&[u8], T)], name: &[u8]) -> Option<T> {
    all.iter().find(|(other, _)| *other == name).map(|(_, found)| *found)
}

impl System {
    /// The directory that it lies in.
    pub(super) const fn folder(self) -> Option<Folder> {
        match self {
            Self::OsType
            | Self::OsRelease
            | Self::OsVersion
            | Self::HostName
            | Self::DomainName
            | Self::PidMax
            | Self::ThreadsMax
            | Self::NgroupsMax
            | Self::CapLastCap
            | Self::Overflow => Some(Folder::Kernel),
            Self::BootId | Self::Uuid | Self::EntropyAvailable => Some(Folder::Random),
            Self::FileMax | Self::NrOpen | Self::PipeMaxSize => Some(Folder::Fs),
            Self::OvercommitMemory | Self::MaxMapCount => Some(Folder::Vm),
            _ => None,
        }
    }

    /// Its name in its directory: two of them are called `version`.
    pub(super) fn shown(self) -> &'static [u8] {
        if self == Self::OsVersion { b"version" } else { self.name() }
    }

    /// The one of a name in a directory.
    pub(super) fn in_folder(folder: Option<Folder>, name: &[u8]) -> Option<Self> {
        let fits = |system: &Self| system.folder() == folder && system.shown() == name;
        Self::ALL.iter().map(|(_, system)| *system).find(fits)
    }
}

impl Folder {
    /// The directory that it lies in; /proc for none.
    pub(super) const fn parent(self) -> Option<Self> {
        match self {
            Self::Sys => None,
            Self::Kernel | Self::Fs | Self::Vm => Some(Self::Sys),
            Self::Random => Some(Self::Kernel),
        }
    }
}

impl Item {
    /// Whether it is a directory.
    pub(super) const fn is_directory(self) -> bool {
        matches!(self, Self::Fd | Self::FdInfo | Self::Task)
    }

    /// Whether it is a link.
    pub(super) const fn is_link(self) -> bool {
        matches!(self, Self::Cwd | Self::Exe | Self::Root)
    }
}

impl Entry {
    /// Whether it is a directory.
    pub const fn is_directory(self) -> bool {
        match self {
            Self::Root | Self::Folder(_) | Self::Process(_) => true,
            Self::Of(_, item) => item.is_directory(),
            _ => false,
        }
    }

    /// Whether it is a link.
    pub const fn is_link(self) -> bool {
        match self {
            Self::Link(_) | Self::Fd(..) => true,
            Self::Of(_, item) => item.is_link(),
            _ => false,
        }
    }

    /// The directory that it lies in; none for /proc, which lies in the tree.
    pub fn parent(self) -> Option<Self> {
        match self {
            Self::Root => None,
            Self::System(system) => Some(system.folder().map_or(Self::Root, Self::Folder)),
            Self::Folder(folder) => Some(folder.parent().map_or(Self::Root, Self::Folder)),
            Self::Link(_) | Self::Process(_) => Some(Self::Root),
            Self::Of(pid, _) => Some(Self::Process(pid)),
            Self::Fd(pid, _) => Some(Self::Of(pid, Item::Fd)),
            Self::FdInformation(pid, _) => Some(Self::Of(pid, Item::FdInfo)),
        }
    }

    /// Kind and permissions, as st_mode.
    pub const fn mode(self) -> u32 {
        use super::node::{DIRECTORY, LINK, REGULAR};
        match self {
            Self::Of(_, Item::Fd | Item::FdInfo) => DIRECTORY | 0o500,
            Self::Fd(..) => LINK | 0o700,
            Self::Of(_, Item::Environ | Item::Auxv) => REGULAR | 0o400,
            entry if entry.is_directory() => DIRECTORY | 0o555,
            entry if entry.is_link() => LINK | 0o777,
            Self::Of(_, Item::Comm) => REGULAR | 0o644,
            _ => REGULAR | 0o444,
        }
    }

    /// st_ino: some number that no other entry has.
    pub fn number(self) -> u64 {
        let place = |position: usize, all: u64| all + position as u64;
        let of = |pid: Pid| u64::from(pid.0) << 24;
        match self {
            Self::Root => 1,
            Self::System(system) => {
                place(System::ALL.iter().position(|(_, s)| *s == system).unwrap_or(0), 100)
            }
            Self::Folder(folder) => {
                place(Folder::ALL.iter().position(|(_, f)| *f == folder).unwrap_or(0), 20)
            }
            Self::Link(link) => place(Link::ALL.iter().position(|(_, l)| *l == link).unwrap_or(0), 10),
            Self::Process(pid) => of(pid),
            Self::Of(pid, item) => {
                place(Item::ALL.iter().position(|(_, i)| *i == item).unwrap_or(0), of(pid) + 1)
            }
            Self::Fd(pid, fd) => of(pid) + 0x10_0000 + u64::from(fd),
            Self::FdInformation(pid, fd) => of(pid) + 0x80_0000 + u64::from(fd),
        }
    }

    /// Its path behind /proc's own.
    pub fn write_path(self, path: &mut Vec<u8>) {
        let Some(parent) = self.parent() else { return };
        parent.write_path(path);
        path.push(b'/');
        match self {
            Self::Root => {}
            Self::System(system) => path.extend_from_slice(system.shown()),
            Self::Folder(folder) => path.extend_from_slice(folder.name()),
            Self::Link(link) => path.extend_from_slice(link.name()),
            Self::Process(pid) => number(path, pid.0),
            Self::Of(_, item) => path.extend_from_slice(item.name()),
            Self::Fd(_, fd) | Self::FdInformation(_, fd) => number(path, fd),
        }
    }
}

/// Bytes that `write!` appends to.
#[derive(Debug, Default)]
pub(super) struct Text(pub(super) Vec<u8>);

impl Write for Text {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// Appends a number.
fn number(text: &mut Vec<u8>, value: u32) {
    let mut appended = Text(core::mem::take(text));
    // Appending to bytes cannot fail.
    let _ = write!(appended, "{value}");
    *text = appended.0;
}

impl<H: Host> Server<H> {
    /// How many bytes of text of a process are as many as it made them, twice because text that grows is moved.
    fn proc_bytes(&self, entry: Entry) -> usize {
        /// A line of maps, with a path of usual length.
        const LINE: usize = 128;
        let Entry::Of(pid, Item::Maps | Item::Cmdline | Item::Environ) = entry else { return 0 };
        let shared = self.process_of_pid(pid).and_then(|process| self.spaces.get(process.space));
        shared.map_or(0, |shared| {
            let (from, to) = (shared.space.strings.arguments.0, shared.space.strings.environment.1);
            2 * (shared.space.areas.len() * LINE + to_usize(to.saturating_sub(from)))
        })
    }

    /// What a file in /proc says.
    ///
    /// # Errors
    /// EISDIR, EINVAL, ESRCH for a process that is no more.
    fn proc_text(&mut self, entry: Entry) -> Result<Vec<u8>, Errno> {
        if !self.host.has_room(self.proc_bytes(entry)) {
            return Err(Errno::ENOMEM);
        }
        let mut text = Text::default();
        match entry {
            Entry::System(system) => self.write_system(system, &mut text),
            Entry::Of(pid, item) if !item.is_directory() && !item.is_link() => {
                self.write_item(pid, item, &mut text)?;
            }
            Entry::FdInformation(pid, fd) => self.write_fd(pid, fd, &mut text)?,
            entry if entry.is_directory() => return Err(Errno::EISDIR),
            _ => return Err(Errno::EINVAL),
        }
        Ok(text.0)
    }

    /// Reads a file in /proc.
    pub(super) fn read_proc(&mut self, entry: Entry, offset: u64, pieces: &Pieces) -> Result<u64, Errno> {
        let text = self.proc_text(entry)?;
        let mut rest = text.get(to_usize(offset)..).unwrap_or_default();
        let mut done = 0;
        let mut view = self.view()?;
        for piece in pieces.iter() {
            let part = rest.get(..to_usize(piece.bytes())).unwrap_or(rest);
            if let Err(short) = view.write_bytes(part, piece) {
                return so_far(done + short.done as u64);
            }
            done += part.len() as u64;
            rest = rest.get(part.len()..).unwrap_or_default();
        }
        Ok(done)
    }

    /// Reads a file in /proc into the server's memory.
    pub(super) fn read_proc_own(
        &mut self,
        entry: Entry,
        offset: u64,
        into: &mut [u8],
    ) -> Result<usize, Errno> {
        let text = self.proc_text(entry)?;
        let rest = text.get(to_usize(offset)..).unwrap_or_default();
        let length = rest.len().min(into.len());
        if let (Some(into), Some(part)) = (into.get_mut(..length), rest.get(..length)) {
            into.copy_from_slice(part);
        }
        Ok(length)
    }

    /// Writes a file in /proc: a process's name is all that can be.
    pub(super) fn write_proc(&mut self, entry: Entry, source: &Source<'_>) -> Result<u64, Errno> {
        let Entry::Of(pid, Item::Comm) = entry else { return Err(Errno::EIO) };
        let mut name = [0; 16];
        let mut length = 0;
        for piece in source.iter() {
            let piece = piece.first(15 - length as u64);
            let end = length + to_usize(piece.len());
            let Some(part) = name.get_mut(length..end) else { break };
            match piece {
                crate::memory::content::Bytes::User(slice) => self.view()?.read_bytes(slice, part)?,
                crate::memory::content::Bytes::Own(own) => part.copy_from_slice(own),
            }
            length = end;
        }
        if let Some(end) = name.iter().position(|byte| *byte == b'\n') {
            name.get_mut(end..).unwrap_or_default().fill(0);
        }
        let thread = self.numbers.thread(pid).ok_or(Errno::ESRCH)?;
        self.threads.get_mut(thread).ok_or(Errno::ESRCH)?.name = name;
        Ok(source.bytes())
    }

    /// Whether a file in /proc may be opened as wished.
    pub(super) fn check_proc(&self, entry: Entry, wish: Wish) -> Result<(), Errno> {
        use super::descriptor::flags;
        if wish.bits & flags::PATH != 0 {
            return Ok(());
        }
        if wish.bits & flags::DIRECTORY != 0 && !entry.is_directory() {
            return Err(Errno::ENOTDIR);
        }
        if entry.is_link() {
            return Err(Errno::ELOOP);
        }
        let writes = wish.bits & flags::ACCESS != 0;
        if writes && entry.is_directory() {
            return Err(Errno::EISDIR);
        }
        let root = self.who().user == 0;
        // Root is held off only by what cannot be written at all, and learns that when it writes.
        if writes && entry.mode() & 0o222 == 0 && !root {
            return Err(Errno::EACCES);
        }
        Ok(())
    }
}
