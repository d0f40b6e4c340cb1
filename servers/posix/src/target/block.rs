//! The per-core block and the contexts frame, as this thread sees them.
//!
//! Invariant: the block names the context that is current at the kernel, and its identity; both change together in
//! [`super::contexts`].

use core::mem::offset_of;

use abi::context::{CONTEXT_BITS, Context};
use abi::upper::CONTEXTS;
use posix::host::ContextId;
use runtime::host::block::{BLOCK, Block};
use runtime::trap::thread_pointer;

/// Reads a word of the server's own memory that assembly or the kernel writes too.
///
/// # Safety
/// `address` is mapped, aligned, and no Rust object.
unsafe fn load(address: u64) -> u64 {
    let word: *const u64 = core::ptr::with_exposed_provenance(usize::try_from(address).unwrap_or(0));
    // SAFETY: as the caller promises.
    unsafe { word.read_volatile() }
}

/// The same for writing.
///
/// # Safety
/// As [`load`].
unsafe fn store(address: u64, value: u64) {
    let word: *mut u64 = core::ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or(0));
    // SAFETY: as the caller promises.
    unsafe { word.write_volatile(value) }
}

/// A word of the block.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockWord(usize);

impl BlockWord {
    /// The current context's address.
    pub(super) const CONTEXT: Self = Self(offset_of!(Block, context));
    /// The table of calls.
    pub(super) const TABLE: Self = Self(offset_of!(Block, table));
    /// One past the stack.
    pub(super) const STACK: Self = Self(offset_of!(Block, stack));
    /// What handlers find in `$a6`.
    pub(super) const STATE: Self = Self(offset_of!(Block, state));
    /// The handler of numbers beyond the table.
    pub(super) const UNKNOWN: Self = Self(offset_of!(Block, unknown));
    /// What leaves answer.
    pub(super) const IDENTITY: Self = Self(offset_of!(Block, identity));

    fn address(self) -> u64 {
        thread_pointer() + (BLOCK + self.0) as u64
    }

    pub(super) fn get(self) -> u64 {
        // SAFETY: the block lies in this thread's IPC buffer, which root maps for the server's whole life.
        unsafe { load(self.address()) }
    }

    pub(super) fn set(self, value: u64) {
        // SAFETY: as in `get`.
        unsafe { store(self.address(), value) }
    }
}

/// A word of a context.
#[derive(Clone, Copy, Debug)]
pub(super) struct ContextWord(usize);

impl ContextWord {
    /// The pc.
    pub(super) const PC: Self = Self::register(0);
    /// ESTAT of the last fault.
    pub(super) const CAUSE: Self = Self(offset_of!(Context, cause));
    /// BADV of the last fault.
    pub(super) const FAULT_ADDRESS: Self = Self(offset_of!(Context, fault_address));
    /// BADI of the last fault.
    pub(super) const FAULT_INSTRUCTION: Self = Self(offset_of!(Context, fault_instruction));
    /// Whether the unit's registers are newer.
    pub(super) const VECTOR_LIVE: Self = Self(offset_of!(Context, vector_live));
    /// The width that was used so far.
    pub(super) const WIDTH: Self = Self(offset_of!(Context, width));
    /// The words that are all of the vector state: condition flags, fcsr, registers.
    pub(super) const VECTOR_STATE: [(usize, usize); 2] =
        [(offset_of!(Context, fcc), 2), (offset_of!(Context, vector), 128)];

    /// A general register, 0 to 31; 0 is the pc.
    pub(super) const fn register(number: usize) -> Self {
        Self(offset_of!(Context, registers) + 8 * number)
    }

    /// The word at an offset that is a multiple of 8 and in the context.
    pub(super) const fn at(offset: usize) -> Self {
        Self(offset)
    }

    /// Its value in a context, which the frame has: the library names no others (C-20).
    #[inline]
    pub(super) fn get(self, context: ContextId) -> u64 {
        ContextWords::of(context).get(self)
    }

    /// Sets it.
    #[inline]
    pub(super) fn set(self, context: ContextId, value: u64) {
        ContextWords::of(context).set(self, value);
    }
}

/// The words of a context: one base for all of them, from which each is an offset in its instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct ContextWords(*mut u64);

impl ContextWords {
    /// Those of a context.
    #[inline]
    pub(super) fn of(context: ContextId) -> Self {
        let mut address = context_address(context);
        // SAFETY: no instruction at all. The compiler forgets which bits the address has, of which it would make
        // another constant for every word.
        unsafe {
            core::arch::asm!("/* {0} */", inout(reg) address, options(pure, nomem, nostack, preserves_flags));
        }
        Self(core::ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or(0)))
    }

    /// A word's value.
    #[inline]
    pub(super) fn get(self, word: ContextWord) -> u64 {
        // SAFETY: the contexts frame is mapped for the server's whole life, and the word lies in the context.
        unsafe { self.0.wrapping_byte_add(word.0).read_volatile() }
    }

    /// Sets a word.
    #[inline]
    pub(super) fn set(self, word: ContextWord, value: u64) {
        // SAFETY: as in `get`.
        unsafe { self.0.wrapping_byte_add(word.0).write_volatile(value) }
    }
}

/// Where a context lies.
#[inline]
pub(super) fn context_address(context: ContextId) -> u64 {
    CONTEXTS + (u64::from(context.0) << CONTEXT_BITS)
}
