//! Robust futexes: the list that a thread registers, and what happens to it when the thread ends.

use super::{Pid, SpaceKey, ThreadId};
use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::number::low_i32;
use crate::server::Server;
use crate::user::UserPtr;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Linux's `struct robust_list_head`.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
struct Head {
    first: u64,
    futex_offset: u64,
    pending: u64,
}

const HEAD_BYTES: u64 = size_of::<Head>() as u64;
/// Entries that Linux looks at; a list may be a circle.
const MOST_ENTRIES: u32 = 2048;
const WAITERS: u32 = 0x8000_0000;
const OWNER_DIED: u32 = 0x4000_0000;
const TID_MASK: u32 = 0x3fff_ffff;
/// Lowest bit of an entry: a priority-inheriting futex, which is not there.
const PRIORITY: u64 = 1;

/// set_robust_list(2).
pub fn set_robust_list<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    if arguments.word(1) != HEAD_BYTES {
        return Err(Errno::EINVAL);
    }
    server.thread_mut()?.robust_list = arguments.word(0);
    Ok(0)
}

/// get_robust_list(2).
pub fn get_robust_list<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let thread = match low_i32(arguments.word(0)) {
        0 => server.current()?.thread,
        tid => {
            let tid = Pid(u32::try_from(tid).map_err(|_| Errno::ESRCH)?);
            server.numbers.thread(tid).ok_or(Errno::ESRCH)?
        }
    };
    let list = server.threads.get(thread).ok_or(Errno::ESRCH)?.robust_list;
    let mut view = server.view()?;
    view.write(UserPtr::new(arguments.word(2))?, &HEAD_BYTES)?;
    view.write(UserPtr::new(arguments.word(1))?, &list)?;
    Ok(0)
}

impl<H: Host> Server<H> {
    /// Marks the futexes of an ending thread's list as left behind, and wakes one waiter each.
    pub(super) fn release_robust(&mut self, thread: ThreadId, space: SpaceKey) {
        let Some((list, tid)) =
            self.threads.get_mut(thread).map(|record| (core::mem::take(&mut record.robust_list), record.tid))
        else {
            return;
        };
        if list == 0 {
            return;
        }
        let head: Result<Head, Errno> =
            UserPtr::new(list).and_then(|pointer| self.view_of(space)?.read(pointer));
        let Ok(head) = head else { return };
        let mut entry = head.first;
        for _ in 0..MOST_ENTRIES {
            if entry & !PRIORITY == list {
                break;
            }
            // The next entry first: the waker may free this one.
            let next: Result<u64, Errno> =
                UserPtr::new(entry & !PRIORITY).and_then(|pointer| self.view_of(space)?.read(pointer));
            let done = entry == head.pending
                || self.leave_one(space, tid, entry, head.futex_offset, Pending::No).is_ok();
            let Some(next) = next.ok().filter(|_| done) else { return };
            entry = next;
        }
        if head.pending != 0 {
            // What cannot be reached is the program's own doing.
            let _ = self.leave_one(space, tid, head.pending, head.futex_offset, Pending::Yes);
        }
    }

    fn leave_one(
        &mut self,
        space: SpaceKey,
        tid: Pid,
        entry: u64,
        offset: u64,
        pending: Pending,
    ) -> Result<(), Errno> {
        let address = (entry & !PRIORITY).wrapping_add(offset);
        if !address.is_multiple_of(4) {
            return Err(Errno::EINVAL);
        }
        let pointer = UserPtr::<u32>::new(address)?;
        let mut word = self.view_of(space)?.load_word(pointer)?;
        if pending == Pending::Yes && word == 0 && entry & PRIORITY == 0 {
            // It died between unlocking and waking.
            self.wake_futex(space, pointer, 1)?;
            return Ok(());
        }
        while word & TID_MASK == tid.0 {
            let marked = (word & WAITERS) | OWNER_DIED;
            let found = self.view_of(space)?.compare_exchange(pointer, word, marked)?;
            if found == word {
                if word & WAITERS != 0 && entry & PRIORITY == 0 {
                    self.wake_futex(space, pointer, 1)?;
                }
                break;
            }
            word = found;
        }
        Ok(())
    }
}

/// Whether an entry is the one that its owner was just taking or giving back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pending {
    No,
    Yes,
}
