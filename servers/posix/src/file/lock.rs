//! Locks on files: flock's, which belong to an open file, and fcntl's records, which belong to a process or
//! (OFD) to an open file.
//!
//! Invariant: records of one owner on one file do not overlap. Locks of others that conflict never do either.

use super::descriptor::{OpenFile, OpenId, OpenKind};
use super::place::Place;
use super::tree::NodeId;
use crate::Errno;
use crate::dispatch::{Arguments, Flow};
use crate::executor::cx::Cx;
use crate::executor::run_queue::RunQueue;
use crate::executor::wait::{QueueId, WaitQueues};
use crate::host::Host;
use crate::number::low_u32;
use crate::process::Pid;
use crate::server::Server;
use crate::user::UserPtr;
use alloc::vec::Vec;
use zerocopy::{FromBytes, Immutable, IntoBytes};

const LOCK_SH: u32 = 1;
const LOCK_EX: u32 = 2;
const LOCK_NB: u32 = 4;
const LOCK_UN: u32 = 8;
const F_RDLCK: i16 = 0;
const F_WRLCK: i16 = 1;
const F_UNLCK: i16 = 2;

/// Who has a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// A process.
    Process(Pid),
    /// An open file.
    Open(OpenId),
}

/// How a lock excludes others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    /// Not others like it.
    Shared,
    /// Everybody.
    Exclusive,
}

#[derive(Clone, Copy, Debug)]
struct Lock {
    node: NodeId,
    owner: Owner,
    hold: Hold,
    /// Whether it is flock's, which know nothing of fcntl's.
    whole: Whole,
    start: u64,
    /// First byte behind.
    end: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whole {
    Flock,
    Record,
}

impl Lock {
    fn conflicts(&self, other: &Self) -> bool {
        self.node == other.node
            && self.whole == other.whole
            && self.owner != other.owner
            && self.start < other.end
            && other.start < self.end
            && (self.hold == Hold::Exclusive || other.hold == Hold::Exclusive)
    }

    fn is_same_kind(&self, other: &Self) -> bool {
        self.node == other.node && self.whole == other.whole && self.owner == other.owner
    }
}

/// Most locks of the whole system: Linux has no limit but memory, of which there is less here.
const MOST: usize = 1 << 14;

/// Every lock.
#[derive(Debug)]
pub struct Locks {
    locks: Vec<Lock>,
    /// Who waits for one to go.
    changed: QueueId,
}

impl Locks {
    pub(super) fn new(waits: &mut WaitQueues) -> Self {
        Self { locks: Vec::new(), changed: waits.create() }
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.locks.len()
    }

    /// Whether nobody has any.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.locks.is_empty()
    }

    /// An open file is closed: its locks go.
    #[inline]
    pub(super) fn forget_open(&mut self, open: OpenId, waits: &mut WaitQueues, ready: &mut RunQueue) {
        if !self.locks.is_empty() {
            self.forget(|lock| lock.owner == Owner::Open(open), waits, ready);
        }
    }

    /// A process closed a descriptor of a file, or ended: its records go.
    pub(super) fn forget_process(
        &mut self,
        pid: Pid,
        node: Option<NodeId>,
        waits: &mut WaitQueues,
        ready: &mut RunQueue,
    ) {
        let its =
            |lock: &Lock| lock.owner == Owner::Process(pid) && node.is_none_or(|node| node == lock.node);
        self.forget(its, waits, ready);
    }

    fn forget(&mut self, gone: impl Fn(&Lock) -> bool, waits: &mut WaitQueues, ready: &mut RunQueue) {
        let before = self.locks.len();
        self.locks.retain(|lock| !gone(lock));
        if self.locks.len() != before {
            waits.wake_all(self.changed, ready);
        }
    }

    fn blocker(&self, wanted: &Lock) -> Option<&Lock> {
        self.locks.iter().filter(|lock| lock.conflicts(wanted)).min_by_key(|lock| lock.start)
    }

    /// Takes a range of an owner's locks away, and puts another in its place.
    ///
    /// # Errors
    /// ENOLCK when that would be one too many; then nothing was done.
    fn replace(&mut self, range: &Lock, with: Option<Lock>) -> Result<(), Errno> {
        let overlaps =
            |lock: &Lock| lock.is_same_kind(range) && lock.start < range.end && range.start < lock.end;
        let parts: Vec<Lock> = self
            .locks
            .iter()
            .filter(|lock| overlaps(lock))
            .flat_map(|lock| [Lock { end: range.start, ..*lock }, Lock { start: range.end, ..*lock }])
            .collect();
        let whole = parts.len() / 2;
        let parts = || parts.iter().filter(|part| part.start < part.end).chain(&with);
        let before = self.locks.len();
        let after = before - whole + parts().count();
        if after > before && after > MOST {
            return Err(Errno::ENOLCK);
        }
        if whole != 0 {
            self.locks.retain(|lock| !overlaps(lock));
        }
        self.locks.extend(parts());
        Ok(())
    }
}

/// flock(2).
pub fn flock<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let bits = low_u32(arguments.word(1));
    match try_flock(server, arguments)? {
        None => Ok(super::transfer::flow(server, 0)),
        Some(_) if bits & LOCK_NB != 0 => Err(Errno::EAGAIN),
        Some(_) => Ok(Flow::Wait),
    }
}

/// flock(2) of what somebody else has locked.
pub async fn flock_waiting<H: Host>(cx: &Cx<H>, arguments: Arguments) -> Result<u64, Errno> {
    loop {
        let Some(queue) = cx.attempt(|server| try_flock(server, arguments))? else { return Ok(0) };
        cx.wait(Some(queue), None).await?;
    }
}

/// Locks at once, or says where to wait.
fn try_flock<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Option<QueueId>, Errno> {
    let hold = match low_u32(arguments.word(1)) & !LOCK_NB {
        LOCK_SH => Some(Hold::Shared),
        LOCK_EX => Some(Hold::Exclusive),
        LOCK_UN => None,
        _ => return Err(Errno::EINVAL),
    };
    server.real_file(arguments.word(0))?;
    let open = server.descriptor(arguments.word(0))?.open;
    let node = server.locked_node(arguments.word(0))?;
    let wanted = Lock {
        node,
        owner: Owner::Open(open),
        hold: hold.unwrap_or(Hold::Shared),
        whole: Whole::Flock,
        start: 0,
        end: u64::MAX,
    };
    // As Linux: what the file had locked is let go before it waits for something else.
    server.files.locks.replace(&wanted, None)?;
    server.waits.wake_all(server.files.locks.changed, &mut server.ready);
    if hold.is_some() {
        if server.files.locks.blocker(&wanted).is_some() {
            return Ok(Some(server.files.locks.changed));
        }
        server.files.locks.replace(&wanted, Some(wanted))?;
    }
    Ok(None)
}

/// Linux's `struct flock`.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
struct Request {
    kind: i16,
    whence: i16,
    padding: u32,
    start: i64,
    length: i64,
    pid: i32,
    padding_too: u32,
}

/// What fcntl is asked to do with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    /// Tell who has it (F_GETLK).
    Tell,
    /// Lock it or fail (F_SETLK).
    Try,
    /// Lock it or wait (F_SETLKW).
    Wait,
}

/// Whose lock fcntl's command means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// The process's.
    Process,
    /// The open file's (F_OFD_).
    OpenFile,
}

/// fcntl's locks; where to wait if that is needed.
pub(super) fn record<H: Host>(
    server: &mut Server<H>,
    arguments: Arguments,
    ask: Ask,
    whose: Whose,
) -> Result<Option<QueueId>, Errno> {
    let [fd, _, address, ..] = arguments.words();
    let pointer = UserPtr::<Request>::new(address)?;
    let mut request = server.view()?.read(pointer)?;
    let file = *server.real_file(fd)?;
    let wanted = server.wanted(fd, &file, &request, whose)?;
    if ask == Ask::Tell {
        match server.files.locks.blocker(&wanted) {
            None => request.kind = F_UNLCK,
            Some(lock) => {
                request.kind = if lock.hold == Hold::Exclusive { F_WRLCK } else { F_RDLCK };
                request.whence = 0;
                request.start = lock.start.cast_signed();
                request.length = if lock.end == END { 0 } else { (lock.end - lock.start).cast_signed() };
                request.pid = match lock.owner {
                    Owner::Process(pid) => pid.0.cast_signed(),
                    Owner::Open(_) => -1,
                };
            }
        }
        server.view()?.write(pointer, &request)?;
        return Ok(None);
    }
    let access = match request.kind {
        F_RDLCK => file.is_readable(),
        F_WRLCK => file.is_writable(),
        _ => true,
    };
    if !access {
        return Err(Errno::EBADF);
    }
    if request.kind == F_UNLCK {
        server.files.locks.replace(&wanted, None)?;
        server.waits.wake_all(server.files.locks.changed, &mut server.ready);
        return Ok(None);
    }
    if server.files.locks.blocker(&wanted).is_some() {
        return if ask == Ask::Wait { Ok(Some(server.files.locks.changed)) } else { Err(Errno::EAGAIN) };
    }
    server.files.locks.replace(&wanted, Some(wanted))?;
    // An exclusive lock may have become a shared one.
    server.waits.wake_all(server.files.locks.changed, &mut server.ready);
    Ok(None)
}

/// The end of a lock that reaches to the file's end, wherever that comes to be.
const END: u64 = i64::MAX.unsigned_abs() + 1;

impl<H: Host> Server<H> {
    fn locked_node(&self, fd: u64) -> Result<NodeId, Errno> {
        self.node_of(self.place_of(fd)?, Errno::EINVAL)
    }

    fn wanted(&self, fd: u64, file: &OpenFile, request: &Request, whose: Whose) -> Result<Lock, Errno> {
        let hold = match request.kind {
            F_WRLCK => Hold::Exclusive,
            F_RDLCK | F_UNLCK => Hold::Shared,
            _ => return Err(Errno::EINVAL),
        };
        let owner = match whose {
            Whose::Process => Owner::Process(self.process()?.pid),
            Whose::OpenFile if request.pid != 0 => return Err(Errno::EINVAL),
            Whose::OpenFile => Owner::Open(self.descriptor(fd)?.open),
        };
        let base = match request.whence {
            0 => 0,
            1 => file.offset,
            2 => match file.kind {
                OpenKind::Node(id) => self.place_size(Place::Node(id)),
                _ => 0,
            },
            _ => return Err(Errno::EINVAL),
        };
        let start = base.cast_signed().checked_add(request.start).ok_or(Errno::EOVERFLOW)?;
        let (start, end) = match request.length {
            0 => (start, None),
            length if length > 0 => (start, Some(start.checked_add(length).ok_or(Errno::EOVERFLOW)?)),
            length => (start.checked_add(length).ok_or(Errno::EINVAL)?, Some(start)),
        };
        let start = u64::try_from(start).map_err(|_| Errno::EINVAL)?;
        let end = end.map_or(END, i64::cast_unsigned);
        Ok(Lock { node: self.locked_node(fd)?, owner, hold, whole: Whole::Record, start, end })
    }

    /// A process ended: its records go.
    pub fn forget_records(&mut self, pid: Pid) {
        if !self.files.locks.is_empty() {
            self.files.locks.forget_process(pid, None, &mut self.waits, &mut self.ready);
        }
    }
}
