//! openat, and where a path argument begins.

use super::descriptor::{OnExec, OpenFile, OpenKind, flags};
use super::device::Device;
use super::node::{Content, DIRECTORY, FileData, Owner, PERMISSIONS, SET_GROUP};
use super::permission::{EXECUTE, READ, WRITE};
use super::pipe::End;
use super::place::Place;
use super::tree::{Fresh, NodeId};
use super::walk::{Last, PATH_MAX, Slash, Target};
use crate::Errno;
use crate::dispatch::{Arguments, Flow};
use crate::executor::cx::Cx;
use crate::host::{Host, Reserve};
use crate::number::{low_i32, low_u32};
use crate::server::Server;
use alloc::vec::Vec;

/// The working directory, in place of a descriptor.
pub const AT_FDCWD: i32 = -100;
/// A symbolic link at the end is what is meant.
pub const AT_SYMLINK_NOFOLLOW: u32 = 0x100;
/// A symbolic link at the end is followed.
pub const AT_SYMLINK_FOLLOW: u32 = 0x400;
/// Nothing is mounted by looking.
pub const AT_NO_AUTOMOUNT: u32 = 0x800;
/// An empty path means the descriptor itself.
pub const AT_EMPTY_PATH: u32 = 0x1000;
const FLAGS_KNOWN: u32 = 0x3
    | flags::CREAT
    | flags::EXCL
    | flags::NOCTTY
    | flags::TRUNC
    | flags::APPEND
    | flags::NONBLOCK
    | 0o1_0000
    | 0o2_0000
    | flags::DIRECT
    | flags::LARGEFILE
    | flags::DIRECTORY
    | flags::NOFOLLOW
    | flags::NOATIME
    | flags::CLOEXEC
    | 0o400_0000
    | flags::PATH
    | flags::TMPFILE;

impl<H: Host> Server<H> {
    /// Reads a path argument and does something with it; the buffer is used again.
    ///
    /// # Errors
    /// EFAULT, ENAMETOOLONG, and those of what is done.
    #[inline]
    pub fn with_path<R>(
        &mut self,
        address: u64,
        act: impl FnOnce(&mut Self, &[u8]) -> Result<R, Errno>,
    ) -> Result<R, Errno> {
        let mut buffer =
            self.files.paths.pop().unwrap_or_else(|| alloc::vec![0; PATH_MAX].into_boxed_slice());
        let read = self.view().and_then(|mut view| view.read_text(address, &mut buffer));
        let result = read.and_then(|length| act(self, buffer.get(..length).unwrap_or_default()));
        // When more are in use than the pool holds, this one is dropped.
        let _ = self.files.paths.try_push(buffer);
        result
    }

    /// Reads a path argument.
    ///
    /// # Errors
    /// EFAULT, ENAMETOOLONG.
    pub fn read_path(&mut self, address: u64) -> Result<Vec<u8>, Errno> {
        let mut path = Vec::new();
        self.view()?.read_string(address, PATH_MAX, &mut path)?;
        Ok(path)
    }

    /// Where a path begins.
    ///
    /// # Errors
    /// EBADF, ENOTDIR.
    #[inline]
    pub fn base_of(&self, directory: u64, path: &[u8]) -> Result<Place, Errno> {
        if path.first() == Some(&b'/') || low_i32(directory) == AT_FDCWD {
            return self.directory();
        }
        let place = self.place_of(directory)?;
        if self.is_directory(place) { Ok(place) } else { Err(Errno::ENOTDIR) }
    }

    /// What an open file is a place of.
    ///
    /// # Errors
    /// EBADF.
    pub fn place_of(&self, fd: u64) -> Result<Place, Errno> {
        let open = self.descriptor(fd)?.open;
        let file = self.files.open.get(open).ok_or(Errno::EBADF)?;
        Ok(match file.kind {
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

    /// The place that a call's directory and path mean.
    ///
    /// # Errors
    /// Those of path resolution.
    #[inline]
    pub fn place_at(&self, directory: u64, path: &[u8], last: Last) -> Result<Place, Errno> {
        if path.is_empty() {
            return Err(Errno::ENOENT);
        }
        self.lookup(self.base_of(directory, path)?, path, last)
    }

    /// As [`Server::place_at`]; with AT_EMPTY_PATH an empty path means the descriptor itself.
    ///
    /// # Errors
    /// Those of path resolution.
    pub fn place_or_self(&self, directory: u64, path: &[u8], last: Last, bits: u32) -> Result<Place, Errno> {
        if !path.is_empty() || bits & AT_EMPTY_PATH == 0 {
            return self.place_at(directory, path, last);
        }
        if low_i32(directory) == AT_FDCWD { self.directory() } else { self.place_of(directory) }
    }

    /// The directory and name that a call's directory and path mean, for making or removing.
    ///
    /// # Errors
    /// Those of path resolution.
    pub fn target_at(&self, directory: u64, path: &[u8]) -> Result<Target, Errno> {
        if path.is_empty() {
            return Err(Errno::ENOENT);
        }
        self.target(self.base_of(directory, path)?, path, Last::Name)
    }

    /// What a new node in a directory begins with: its owner, and permissions as the umask leaves them.
    ///
    /// # Errors
    /// EACCES where nothing may be made, ENOENT in a removed directory.
    pub(super) fn fresh(&self, parent: NodeId, content: Content, mode: u32) -> Result<Fresh, Errno> {
        let who = self.who();
        let above = self.files.tree.get(parent).ok_or(Errno::ENOENT)?;
        // Linux finds out that a directory was removed before it looks at permissions.
        if above.links == 0 {
            return Err(Errno::ENOENT);
        }
        if !who.may(above, WRITE | EXECUTE) {
            return Err(Errno::EACCES);
        }
        let inherits = above.mode & SET_GROUP != 0;
        let group = if inherits { above.owner.group } else { who.group };
        let mut permissions = mode & PERMISSIONS;
        if !matches!(content, Content::Link(_)) {
            permissions &= !self.process()?.umask;
        }
        if inherits && matches!(content, Content::Directory(_)) {
            permissions |= SET_GROUP;
        }
        Ok(Fresh { content, permissions, owner: Owner { user: who.user, group }, now: self.now() })
    }

    /// Makes a node with a name.
    ///
    /// # Errors
    /// As [`Server::fresh`]; EROFS-like refusals of /proc; ENOSPC.
    pub(super) fn make(&mut self, target: &Target, content: Content, mode: u32) -> Result<NodeId, Errno> {
        // Nothing is made in /proc.
        let parent = self.node_of(target.parent, Errno::ENOENT)?;
        let fresh = self.fresh(parent, content, mode)?;
        let now = fresh.now;
        self.host.require(Reserve::Plenty, Errno::ENOSPC)?;
        let id = self.files.tree.create(fresh)?;
        self.files.tree.link(parent, target.given(), id, now)?;
        Ok(id)
    }
}

/// openat(2).
pub fn openat<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let wish = Wish::of(low_u32(arguments.word(2)), low_u32(arguments.word(3)))?;
    server.with_path(arguments.word(1), |server, path| {
        server.check_descriptor()?;
        server.open(arguments.word(0), path, wish)
    })
}

/// openat(2) of a FIFO whose other end nobody has open.
pub async fn openat_waiting<H: Host>(cx: &Cx<H>, arguments: Arguments) -> Result<u64, Errno> {
    let wish = Wish::of(low_u32(arguments.word(2)), low_u32(arguments.word(3)))?;
    let path = cx.attempt(|server| server.read_path(arguments.word(1)))?;
    let opened = cx.attempt(|server| server.open_fifo_at(arguments.word(0), &path, wish))?;
    super::fifo::wait_for_partner(cx, opened, wish.bits).await
}

/// What a call to openat wishes for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    /// The flags, only those that are known and mean something together.
    pub(super) bits: u32,
    /// The mode of a new file.
    mode: u32,
}

impl Wish {
    /// Checks flags as Linux's build_open_flags.
    pub(super) fn of(bits: u32, mode: u32) -> Result<Self, Errno> {
        // Linux ignores flags of open that it does not know.
        let mut bits = bits & FLAGS_KNOWN;
        if bits & flags::TMPFILE != 0 {
            let writes = matches!(bits & flags::ACCESS, flags::WRONLY | flags::RDWR);
            if bits & flags::DIRECTORY == 0 || bits & flags::CREAT != 0 || !writes {
                return Err(Errno::EINVAL);
            }
        } else if bits & (flags::DIRECTORY | flags::CREAT) == flags::DIRECTORY | flags::CREAT {
            return Err(Errno::EINVAL);
        }
        if bits & flags::PATH != 0 {
            bits &= flags::PATH | flags::DIRECTORY | flags::NOFOLLOW | flags::CLOEXEC;
        }
        Ok(Self { bits: bits | flags::LARGEFILE, mode: mode & PERMISSIONS })
    }

    const fn has(self, flag: u32) -> bool {
        self.bits & flag != 0
    }

    /// What the file must allow.
    const fn wanted(self) -> u32 {
        let access = match self.bits & flags::ACCESS {
            0 => READ,
            flags::WRONLY => WRITE,
            _ => READ | WRITE,
        };
        if self.has(flags::PATH) {
            0
        } else if self.has(flags::TRUNC) {
            access | WRITE
        } else {
            access
        }
    }

    /// The flags that the open file keeps.
    const fn kept(self) -> u32 {
        let gone = flags::CREAT | flags::EXCL | flags::TRUNC | flags::NOCTTY | flags::CLOEXEC;
        self.bits & !gone
    }
}

impl<H: Host> Server<H> {
    fn open(&mut self, directory: u64, path: &[u8], wish: Wish) -> Result<Flow, Errno> {
        let (place, wish) = self.open_place(directory, path, wish)?;
        let kind = match place {
            Place::Node(id) => match self.open_node(id, wish)? {
                Some(kind) => kind,
                None => return Ok(Flow::Wait),
            },
            Place::Proc(entry) => {
                self.check_proc(entry, wish)?;
                OpenKind::Proc(entry)
            }
            Place::Open(open) => self.reopen(open, wish)?,
        };
        self.install(OpenFile::new(kind, wish.kept()), OnExec::of(wish.bits)).map(Flow::Done)
    }

    /// Finds or makes what is to be opened; a file just made asks for no permission.
    fn open_place(&mut self, directory: u64, path: &[u8], wish: Wish) -> Result<(Place, Wish), Errno> {
        let exclusive = wish.has(flags::CREAT) && wish.has(flags::EXCL);
        let last = if wish.has(flags::NOFOLLOW) || exclusive { Last::Keep } else { Last::Follow };
        if !wish.has(flags::CREAT) {
            let place = self.place_at(directory, path, last)?;
            if wish.has(flags::TMPFILE) {
                return self.temporary(place, wish);
            }
            return Ok((place, wish));
        }
        if path.is_empty() {
            return Err(Errno::ENOENT);
        }
        let base = self.base_of(directory, path)?;
        // A name with a slash behind is not made, whatever it names.
        if path.ends_with(b"/") && self.target(base, path, Last::Name)?.is_name() {
            return Err(Errno::EISDIR);
        }
        let last = if last == Last::Keep { Last::Name } else { Last::Make };
        let target = self.target(base, path, last)?;
        if target.slash == Slash::Yes && target.is_name() {
            return Err(Errno::EISDIR);
        }
        let Some(found) = target.found else {
            let made = self.make(&target, Content::File(FileData::Archive(&[])), wish.mode)?;
            let bits = wish.bits & !flags::TRUNC;
            return Ok((Place::Node(made), Wish { bits, mode: MADE }));
        };
        if exclusive {
            return Err(Errno::EEXIST);
        }
        if self.is_directory(found) {
            return Err(Errno::EISDIR);
        }
        Ok((found, wish))
    }

    /// A file without a name, in the file system of a directory (O_TMPFILE).
    fn temporary(&mut self, place: Place, wish: Wish) -> Result<(Place, Wish), Errno> {
        if !self.is_directory(place) {
            return Err(Errno::ENOTDIR);
        }
        let parent = self.node_of(place, Errno::EOPNOTSUPP)?;
        let fresh = self.fresh(parent, Content::File(FileData::Archive(&[])), wish.mode)?;
        self.host.require(Reserve::Plenty, Errno::ENOSPC)?;
        let id = self.files.tree.create(fresh)?;
        let bits = wish.bits & !(flags::TRUNC | flags::DIRECTORY);
        Ok((Place::Node(id), Wish { bits, mode: MADE }))
    }

    /// Opens a node, which is held from then on; `None` when the call has to wait for a FIFO's other end.
    fn open_node(&mut self, id: NodeId, wish: Wish) -> Result<Option<OpenKind>, Errno> {
        let node = self.files.tree.get(id).ok_or(Errno::ENOENT)?;
        let by_name = wish.has(flags::PATH);
        if wish.has(flags::DIRECTORY) && !node.is_directory() {
            return Err(Errno::ENOTDIR);
        }
        if by_name {
            self.files.tree.hold(id);
            return Ok(Some(OpenKind::Node(id)));
        }
        match &node.content {
            Content::Link(_) => return Err(Errno::ELOOP),
            Content::Directory(_) if wish.wanted() & WRITE != 0 => return Err(Errno::EISDIR),
            _ => {}
        }
        let who = self.who();
        if wish.mode != MADE && !who.may(node, wish.wanted()) {
            return Err(Errno::EACCES);
        }
        if wish.has(flags::NOATIME) && !who.owns(node) {
            return Err(Errno::EPERM);
        }
        let kind = match node.content {
            Content::Fifo(_) => return self.open_fifo(id, wish.bits),
            Content::Socket | Content::Block(_) => return Err(Errno::ENXIO),
            Content::Character(numbers) => {
                let kind = match self.open_terminal(numbers, wish.bits)? {
                    Some(handle) => OpenKind::Terminal(handle, id),
                    None => OpenKind::Device(Device::of(numbers)?, id),
                };
                self.files.tree.hold(id);
                return Ok(Some(kind));
            }
            _ => OpenKind::Node(id),
        };
        if matches!(node.content, Content::File(_)) && wish.wanted() & WRITE != 0 {
            // Negative: programs that run it.
            if node.writers < 0 {
                return Err(Errno::ETXTBSY);
            }
            if wish.has(flags::TRUNC) {
                self.cut_file(id, 0)?;
            }
            let writes = matches!(wish.bits & flags::ACCESS, flags::WRONLY | flags::RDWR);
            if let Some(node) = self.files.tree.get_mut(id) {
                node.writers += i32::from(writes);
            }
        }
        self.files.tree.hold(id);
        Ok(Some(kind))
    }

    /// The FIFO of a path that has to be waited for.
    fn open_fifo_at(&mut self, directory: u64, path: &[u8], wish: Wish) -> Result<NodeId, Errno> {
        let (place, _) = self.open_place(directory, path, wish)?;
        let id = self.node_of(place, Errno::ENOENT)?;
        match self.files.tree.get(id).map(|node| &node.content) {
            Some(Content::Fifo(_)) => Ok(id),
            // It was replaced in the meantime: nothing can have replaced it within one call.
            _ => Err(Errno::ENXIO),
        }
    }

    /// Opens what another descriptor has open and no name leads to: a pipe or a stream.
    fn reopen(&mut self, open: super::descriptor::OpenId, wish: Wish) -> Result<OpenKind, Errno> {
        let kind = self.files.open.get(open).ok_or(Errno::ENOENT)?.kind;
        if wish.has(flags::DIRECTORY) {
            return Err(Errno::ENOTDIR);
        }
        match kind {
            OpenKind::Pipe(pipe, _) => {
                let end = match wish.bits & flags::ACCESS {
                    0 => End::Read,
                    flags::WRONLY => End::Write,
                    _ => End::Both,
                };
                self.open_pipe(pipe, end);
                Ok(OpenKind::Pipe(pipe, end))
            }
            OpenKind::Input | OpenKind::Output(_) => Ok(kind),
            // Linux: what has an anonymous inode cannot be opened again.
            _ => Err(Errno::ENXIO),
        }
    }
}

/// In place of a mode: the file was made by this call, so that no permission is asked for.
const MADE: u32 = DIRECTORY | PERMISSIONS;
