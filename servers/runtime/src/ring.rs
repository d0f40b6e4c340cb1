//! Rings: how two servers speak without waiting for each other (C-61, `abi::ring`).
//!
//! Owned here: both ends of one direction. Each end keeps its own index and only ever publishes it, so what the
//! other side writes over it does no harm; an index of the other side that cannot be is [`RingError::Corrupt`],
//! and an entry is copied out before anybody looks at it. Order: an entry is written before the head that
//! shows it (release), and read after that head (acquire); the tail likewise.
//!
//! Sleeping: a side says that it sleeps, *then looks once more*, then waits. The other side changes its index,
//! *then looks* whether somebody sleeps. A full fence between the two steps on both sides makes sure that at
//! least one of them sees the other (`tests` explores every interleaving, and the one without the second look).

#![expect(unsafe_code, reason = "memory shared with another server")]

use core::marker::PhantomData;
use core::mem::offset_of;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering, fence};

use abi::ring::{ConsoleEntry, ENTRY_BYTES, RingHeader};

#[cfg(test)]
mod tests;

/// A type whose every bit pattern is a value, so that it can be taken from memory that another server writes.
///
/// # Safety
/// The type is `ENTRY_BYTES` long, a multiple of 8 bytes aligned, without padding, and any bytes are a value.
pub unsafe trait Entry: Copy {}

// SAFETY: two u32 and bytes, 64 together.
unsafe impl Entry for ConsoleEntry {}

/// What is wrong with a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingError {
    /// The number of entries is no power of two, or the memory is not aligned.
    Layout,
    /// The other side's index cannot be: the channel is not to be used any longer.
    Corrupt,
    /// There is no room for another entry.
    Full,
}

/// One direction's memory.
#[derive(Debug)]
struct Shared<T> {
    base: NonNull<u8>,
    entries: u32,
    of: PhantomData<T>,
}

impl<T: Entry> Shared<T> {
    /// # Safety
    /// As [`Producer::attach`].
    unsafe fn new(address: NonNull<u8>, entries: u64) -> Result<Self, RingError> {
        let entries = u32::try_from(entries).map_err(|_| RingError::Layout)?;
        let aligned = address.cast::<RingHeader>().is_aligned();
        let entry_fits = size_of::<T>() == ENTRY_BYTES;
        if !entries.is_power_of_two() || entries > 1 << 20 || !aligned || !entry_fits {
            return Err(RingError::Layout);
        }
        Ok(Self { base: address, entries, of: PhantomData })
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: the header's fields are aligned u32 in memory that lives as long as `self`; other servers
        // reach it by atomic accesses or not at all.
        unsafe { AtomicU32::from_ptr(self.base.as_ptr().wrapping_add(offset).cast()) }
    }

    fn head(&self) -> &AtomicU32 {
        self.word(offset_of!(RingHeader, head))
    }

    fn tail(&self) -> &AtomicU32 {
        self.word(offset_of!(RingHeader, tail))
    }

    fn producer_sleeps(&self) -> &AtomicU32 {
        self.word(offset_of!(RingHeader, producer_sleeps))
    }

    fn consumer_sleeps(&self) -> &AtomicU32 {
        self.word(offset_of!(RingHeader, consumer_sleeps))
    }

    /// Entries in the ring between two indices, if the two can be.
    fn used(&self, head: u32, tail: u32) -> Result<u32, RingError> {
        let used = head.wrapping_sub(tail);
        if used <= self.entries { Ok(used) } else { Err(RingError::Corrupt) }
    }

    fn entry(&self, index: u32) -> *mut u64 {
        let slot = usize::try_from(index & (self.entries - 1)).unwrap_or(0);
        // The slot is below the number of entries, which lie behind the header.
        self.base.as_ptr().wrapping_add(size_of::<RingHeader>() + slot * ENTRY_BYTES).cast()
    }

    fn read(&self, index: u32) -> T {
        let from = self.entry(index);
        let words: [u64; ENTRY_BYTES / 8] = core::array::from_fn(|word| {
            // SAFETY: inside the entry; volatile, because the other side may write it meanwhile.
            unsafe { from.wrapping_add(word).read_volatile() }
        });
        // SAFETY: `Entry` promises that any bytes are a value, and `new` checked the size.
        unsafe { core::mem::transmute_copy(&words) }
    }

    fn write(&self, index: u32, value: &T) {
        let to = self.entry(index);
        // SAFETY: `Entry` promises 64 bytes without padding.
        let words: [u64; ENTRY_BYTES / 8] = unsafe { core::mem::transmute_copy(value) };
        for (word, value) in words.into_iter().enumerate() {
            // SAFETY: inside the entry.
            unsafe { to.wrapping_add(word).write_volatile(value) }
        }
    }
}

/// Clears a side's `sleeps` word and says whether it was set.
fn take_sleeper(sleeps: &AtomicU32) -> Wake {
    // The index that was just published must be visible before this look.
    fence(Ordering::SeqCst);
    if sleeps.load(Ordering::Relaxed) != 0 && sleeps.swap(0, Ordering::Relaxed) != 0 {
        Wake::Needed
    } else {
        Wake::NotNeeded
    }
}

/// Whether the other side is to be signalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Wake {
    /// It sleeps.
    Needed,
    /// It looks by itself.
    NotNeeded,
}

/// The end that puts entries in.
#[derive(Debug)]
pub struct Producer<T> {
    shared: Shared<T>,
    head: u32,
}

impl<T: Entry> Producer<T> {
    /// Takes the ring over where its producer left it.
    ///
    /// # Errors
    /// Layout, or Corrupt when the indices cannot be.
    ///
    /// # Safety
    /// A header and `entries` entries are mapped at `address` for as long as the value lives, and there is no
    /// other producer.
    pub unsafe fn attach(address: NonNull<u8>, entries: u64) -> Result<Self, RingError> {
        // SAFETY: as promised to this function.
        let shared = unsafe { Shared::new(address, entries)? };
        let head = shared.head().load(Ordering::Relaxed);
        shared.used(head, shared.tail().load(Ordering::Acquire))?;
        Ok(Self { shared, head })
    }

    /// Entries that the consumer has not taken out.
    ///
    /// # Errors
    /// Corrupt.
    pub fn used(&self) -> Result<u32, RingError> {
        self.shared.used(self.head, self.shared.tail().load(Ordering::Acquire))
    }

    /// Puts an entry in.
    ///
    /// # Errors
    /// Full, Corrupt.
    pub fn push(&mut self, entry: &T) -> Result<(), RingError> {
        if self.used()? == self.shared.entries {
            return Err(RingError::Full);
        }
        self.shared.write(self.head, entry);
        self.head = self.head.wrapping_add(1);
        self.shared.head().store(self.head, Ordering::Release);
        Ok(())
    }

    /// Whether the consumer is to be signalled, after entries were put in.
    pub fn wake(&self) -> Wake {
        take_sleeper(self.shared.consumer_sleeps())
    }

    /// Says that this side sleeps until fewer than `below` entries are left; false when that is so already.
    ///
    /// # Errors
    /// Corrupt.
    pub fn sleeps_until_used_below(&self, below: u32) -> Result<bool, RingError> {
        self.shared.producer_sleeps().store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let sleeps = self.used()? >= below;
        if !sleeps {
            self.shared.producer_sleeps().store(0, Ordering::Relaxed);
        }
        Ok(sleeps)
    }

    /// Entries that the ring holds.
    pub fn capacity(&self) -> u32 {
        self.shared.entries
    }
}

/// The end that takes entries out.
#[derive(Debug)]
pub struct Consumer<T> {
    shared: Shared<T>,
    tail: u32,
}

impl<T: Entry> Consumer<T> {
    /// Takes the ring over where its consumer left it.
    ///
    /// # Errors
    /// Layout, or Corrupt when the indices cannot be.
    ///
    /// # Safety
    /// As [`Producer::attach`], for the consumer.
    pub unsafe fn attach(address: NonNull<u8>, entries: u64) -> Result<Self, RingError> {
        // SAFETY: as promised to this function.
        let shared = unsafe { Shared::new(address, entries)? };
        let tail = shared.tail().load(Ordering::Relaxed);
        shared.used(shared.head().load(Ordering::Acquire), tail)?;
        Ok(Self { shared, tail })
    }

    /// A copy of the oldest entry, which stays in the ring until [`Consumer::complete`].
    ///
    /// # Errors
    /// Corrupt.
    pub fn peek(&self) -> Result<Option<T>, RingError> {
        let used = self.shared.used(self.shared.head().load(Ordering::Acquire), self.tail)?;
        Ok((used != 0).then(|| self.shared.read(self.tail)))
    }

    /// Takes the oldest entry out: its request is done. Says whether the producer is to be signalled.
    ///
    /// # Errors
    /// Corrupt, also when there was no entry.
    pub fn complete(&mut self) -> Result<Wake, RingError> {
        if self.shared.used(self.shared.head().load(Ordering::Acquire), self.tail)? == 0 {
            return Err(RingError::Corrupt);
        }
        self.tail = self.tail.wrapping_add(1);
        self.shared.tail().store(self.tail, Ordering::Release);
        Ok(take_sleeper(self.shared.producer_sleeps()))
    }

    /// Says that this side sleeps until there is an entry; false when there is one already.
    ///
    /// # Errors
    /// Corrupt.
    pub fn sleeps(&self) -> Result<bool, RingError> {
        self.shared.consumer_sleeps().store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let sleeps = self.shared.used(self.shared.head().load(Ordering::Acquire), self.tail)? == 0;
        if !sleeps {
            self.shared.consumer_sleeps().store(0, Ordering::Relaxed);
        }
        Ok(sleeps)
    }
}

/// Bytes of a ring with so many entries.
pub const fn ring_bytes(entries: u64) -> u64 {
    (size_of::<RingHeader>() as u64).saturating_add(entries.saturating_mul(ENTRY_BYTES as u64))
}
