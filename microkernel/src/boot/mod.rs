//! From a machine with free memory to a kernel whose first thread, root, can run.
//!
//! Owns what the world looks like before anybody has invoked anything: the kernel's own memory, root's
//! address space, thread and capabilities, and the rule that every byte of free memory is either in a boot
//! object or in an Untyped of root's. After this nothing is made but by Retype.
//!
//! The architecture describes the machine ([`Description`]) and calls, in this order,
//! [`BootMemory::new`], [`own_memory`], [`Kernel::new`] at the place where the kernel is to lie (the value
//! is too large to be passed around), and [`start_root`].

pub mod hand_over;
pub mod memory;
pub mod root;
pub mod space;

use abi::boot_archive::BootArchive;
use abi::boot_info::SelfTests;
use abi::{PAGE_BITS, PAGE_BYTES};

use self::memory::{BootMemory, Range};
use crate::address::PhysAddr;
use crate::arch::{IRQ_LINES, Machine};
use crate::capability::cap::Slot;
use crate::kernel::{Kernel, OwnMemory};
use crate::object::store::Ref;
use crate::object::thread::Tcb;

/// The machine as boot found it.
#[derive(Debug)]
pub struct Description<'a> {
    /// Ranges of devices that root may have: whole pages, without what the kernel itself drives. Each
    /// range becomes Untypeds of its own, so a range of one page is one Untyped of one page.
    pub devices: &'a [Range],
    /// Physical address of the boot archive, page-aligned.
    pub archive_start: PhysAddr,
    /// The boot archive.
    pub archive: BootArchive<'a>,
    /// The initial files, if the machine was given some.
    pub initrd: Option<Range>,
    /// Seed of random numbers; what exceeds 64 bytes is ignored.
    pub rng_seed: &'a [u8],
    /// Processors that the machine has.
    pub cores: u64,
    /// What the machine enforces.
    pub self_tests: SelfTests,
}

/// Why the machine cannot be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BootError {
    /// There is not enough memory in one piece.
    OutOfMemory,
    /// Free memory is in more ranges than can be kept.
    TooManyRanges,
    /// Root's CNode has too few slots for what is to be handed over: the archive or the initrd is too large.
    OutOfSlots,
    /// Two things of root's are to lie at this address.
    Overlap(u64),
    /// An object could not be made: an error of the kernel's.
    Internal,
}

/// Takes what the kernel keeps for itself.
///
/// # Errors
///
/// [`BootError::OutOfMemory`], [`BootError::TooManyRanges`].
pub fn own_memory<M: Machine>(machine: &M, memory: &mut BootMemory) -> Result<OwnMemory, BootError> {
    const SLOT_BYTES: usize = IRQ_LINES * size_of::<Slot>();
    Ok(OwnMemory {
        empty_root: take_cleared(machine, memory, PAGE_BITS)?,
        irq_slots: reference(take_cleared(machine, memory, bits_for(SLOT_BYTES))?)?,
        idle: reference(take_cleared(machine, memory, bits_for(size_of::<Tcb>()))?)?,
    })
}

/// Makes root and everything it has, and makes it the thread to run.
///
/// # Errors
///
/// See [`BootError`].
pub fn start_root<M: Machine>(
    k: &mut Kernel<M>,
    mut memory: BootMemory,
    description: &Description<'_>,
) -> Result<(), BootError> {
    let root = root::Root::new(k, &mut memory, description)?;
    let info = hand_over::hand_over(k, &root, &memory, description)?;
    root.show_boot_info(k, info)?;
    root.run(k, description.archive.root_entry())
}

/// Takes 2^`size_bits` bytes and clears them.
fn take_cleared<M: Machine>(
    machine: &M,
    memory: &mut BootMemory,
    size_bits: u8,
) -> Result<PhysAddr, BootError> {
    let place = memory.take(size_bits)?;
    machine.clear(place.in_window(), 1 << size_bits);
    Ok(place)
}

/// The object that is to lie at an address.
fn reference<T>(place: PhysAddr) -> Result<Ref<T>, BootError> {
    Ref::from_raw(place.in_window().0).ok_or(BootError::Internal)
}

/// Base-2 logarithm of the smallest power of two that has `bytes`.
const fn bits_for(bytes: usize) -> u8 {
    let [bits, ..] = bytes.next_power_of_two().trailing_zeros().to_le_bytes();
    bits
}

const _: () = assert!(PAGE_BYTES == 1 << PAGE_BITS);
