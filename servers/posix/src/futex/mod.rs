//! Futexes: waiting for a word to change.
//!
//! A word is known by its page frame if the area is shared and the call is not private, else by its space, address
//! and scope: as on Linux, a private call and one that is not do not mean the same word of a private area. Waiters hang in 64 queues by a hash of that; all of this is plain calls on [`WaitQueues`].

mod operation;

pub use operation::{futex, futex_waiting};

use crate::Errno;
use crate::address::{PAGE_BYTES, Page};
use crate::executor::wait::{QueueId, WaitQueues};
use crate::host::Host;
use crate::memory::area::{Protection, Sharing};
use crate::memory::fault::Access;
use crate::number::to_usize;
use crate::process::SpaceKey;
use crate::server::Server;
use crate::slots::Id;
use crate::user::UserPtr;

#[cfg(test)]
mod tests;

const QUEUES: usize = 64;

/// Every bit: what FUTEX_WAIT and FUTEX_WAKE use as their bit set.
pub const EVERY_BIT: u32 = u32::MAX;

/// The queues that waiters hang in.
#[derive(Debug)]
pub struct Futexes {
    queues: [QueueId; QUEUES],
}

/// Who may share a futex, as the call says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Threads of one space (FUTEX_PRIVATE_FLAG).
    Private,
    /// Whoever maps the page.
    Shared,
}

/// In a word's name: it is a private area's, and the call is not private.
const ANYBODYS: u64 = 1 << 62;
/// In a word's name: a page frame follows instead of a space.
const FRAMES: u64 = 1 << 63;

/// A word's name, the same for everybody who means the word.
pub type Key = [u64; 2];

impl Futexes {
    /// Makes the queues.
    pub fn new(waits: &mut WaitQueues) -> Self {
        Self { queues: core::array::from_fn(|_| waits.create()) }
    }

    /// The queue of a word.
    pub fn queue(&self, key: Key) -> Result<QueueId, Errno> {
        // Words lie four bytes apart; the multiplier spreads neighbours (2^64 over the golden ratio).
        let mixed = (key[0] ^ (key[1] >> 2)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.queues.get(to_usize(mixed >> 58)).copied().ok_or(Errno::EINVAL)
    }
}

impl<H: Host> Server<H> {
    /// The name of a word in a space.
    ///
    /// # Errors
    /// EINVAL when it is not aligned, EFAULT when a shared word is not there.
    pub fn futex_key(&mut self, space: SpaceKey, word: UserPtr<u32>, scope: Scope) -> Result<Key, Errno> {
        let address = word.address();
        if !address.is_multiple_of(4) {
            return Err(Errno::EINVAL);
        }
        let number = u64::from(space.number());
        if scope == Scope::Private {
            return Ok([number, address]);
        }
        let page = Page::of(address);
        let mut view = self.view_of(space)?;
        let area = view.space.areas.find(page).ok_or(Errno::EFAULT)?;
        if area.sharing == Sharing::Private {
            // What nobody can change is no futex.
            let changes = area.protection.contains(Protection::WRITE);
            return if changes { Ok([ANYBODYS | number, address]) } else { Err(Errno::EFAULT) };
        }
        if view.space.pages.get(page).is_none() {
            view.resolve(address, Access::Load).map_err(|_| Errno::EFAULT)?;
        }
        let frame = view.space.pages.get(page).ok_or(Errno::EFAULT)?;
        Ok([FRAMES | u64::from(frame.0), address % PAGE_BYTES])
    }

    /// Wakes waiters of a word that anybody may share; returns how many.
    ///
    /// # Errors
    /// As [`Server::futex_key`].
    pub fn wake_futex(&mut self, space: SpaceKey, word: UserPtr<u32>, most: u32) -> Result<u64, Errno> {
        let key = self.futex_key(space, word, Scope::Shared)?;
        self.wake_key(key, most, EVERY_BIT)
    }

    /// Wakes waiters of a named word whose bits concern the waker; returns how many.
    ///
    /// # Errors
    /// None that a program can cause.
    pub fn wake_key(&mut self, key: Key, most: u32, bits: u32) -> Result<u64, Errno> {
        let queue = self.futexes.queue(key)?;
        let mut woken = 0;
        while woken < u64::from(most)
            && self.waits.wake_where(queue, &mut self.ready, |tag| tag.key == key && tag.bits & bits != 0)
        {
            woken += 1;
        }
        Ok(woken)
    }
}
