//! Messages: where their words travel, the word that describes them, and the IPC buffer.

use core::mem::offset_of;

/// Words of a message that travel in registers and are never touched by the kernel (C-7).
pub const REGISTER_WORDS: usize = 8;
/// Most words that a message can have; those past the registers lie in the IPC buffer.
pub const MAX_WORDS: usize = 120;
/// Most capabilities that a message can carry.
pub const MAX_CAPS: usize = 3;

/// The numbers of the general registers that carry words 0 to 7: `$a3`-`$a6`, `$s0`-`$s3`.
///
/// Counting decided (C-7): clobbered callee-saved registers cost a function that is not inlined the
/// same prologue wherever the words lie, and short messages come and go in argument registers.
pub const REGISTERS: [usize; REGISTER_WORDS] = [7, 8, 9, 10, 23, 24, 25, 26];

/// Describes a message: bits 0-6 length in words, 7-8 capabilities, 9-11 capabilities that arrived
/// unwrapped as badges, 12-14 zero, 15 set when the kernel itself answers, 16-63 label.
///
/// The low 16 bits of a message of register words alone are below 9: one test on the hot path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(transparent)]
pub struct MessageInfo(u64);

impl MessageInfo {
    const LENGTH_MASK: u64 = 0x7f;
    const CAPS_SHIFT: u32 = 7;
    const UNWRAPPED_SHIFT: u32 = 9;
    const KERNEL: u64 = 1 << 15;
    const LABEL_SHIFT: u32 = 16;
    /// Bits that a sender may set.
    const SENDER_MASK: u64 = !0xfe00;

    /// A message of `length` words with `label` (48 bits; more are cut off) and no capabilities.
    pub const fn new(label: u64, length: u8) -> Self {
        Self(label << Self::LABEL_SHIFT | (length as u64 & Self::LENGTH_MASK))
    }

    /// The same with `caps` capabilities, at most 3.
    pub const fn with_caps(self, caps: u8) -> Self {
        Self(self.0 & !(3 << Self::CAPS_SHIFT) | (caps as u64 & 3) << Self::CAPS_SHIFT)
    }

    /// The same saying which of the capabilities arrived as badges, one bit each.
    pub const fn with_unwrapped(self, mask: u8) -> Self {
        Self(self.0 & !(7 << Self::UNWRAPPED_SHIFT) | (mask as u64 & 7) << Self::UNWRAPPED_SHIFT)
    }

    /// The kernel's own answer with `label` (an error's number, 0 for success) and `length` words.
    pub const fn from_kernel(label: u64, length: u8) -> Self {
        Self(Self::new(label, length).0 | Self::KERNEL)
    }

    /// What a thread put into `$a1`, without the bits that only the kernel sets.
    pub const fn from_sender(raw: u64) -> Self {
        Self(raw & Self::SENDER_MASK)
    }

    /// Exactly what the kernel put into `$a1`.
    pub const fn from_raw(raw: u64) -> Self {
        Self(raw)
    }

    /// The word for `$a1`.
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// Length in words, 0 to 127; more than [`MAX_WORDS`] is refused with a named error.
    pub const fn length(self) -> usize {
        (self.0 & Self::LENGTH_MASK) as usize
    }

    /// Number of capabilities, 0 to 3.
    pub const fn caps(self) -> usize {
        (self.0 >> Self::CAPS_SHIFT & 3) as usize
    }

    /// Which capabilities arrived as badges, one bit each.
    pub const fn unwrapped(self) -> u64 {
        self.0 >> Self::UNWRAPPED_SHIFT & 7
    }

    /// True when the kernel itself answers: the label is an [`crate::Error`]'s number, or 0.
    pub const fn is_from_kernel(self) -> bool {
        self.0 & Self::KERNEL != 0
    }

    /// The label, 48 bits.
    pub const fn label(self) -> u64 {
        self.0 >> Self::LABEL_SHIFT
    }
}

/// The IPC buffer: a 16 KiB Frame pinned by the Tcb (C-20 of DESIGN §1.6: no user pointer is followed).
///
/// Words 0 to 7 of a message are not in it: `words[i]` is word `i`, and the first eight are unused.
#[derive(Debug)]
#[repr(C)]
pub struct IpcBuffer {
    /// Words of a message; the kernel reads and writes those from [`REGISTER_WORDS`] on.
    pub words: [u64; MAX_WORDS],
    /// Out: capabilities to send or arguments of an invocation. In: badges of unwrapped ones.
    pub caps: [u64; MAX_CAPS],
    /// Where a received capability goes: CNode, index in it, and depth in bits.
    pub receive: ReceiveSlot,
    /// The thread's own words, which the kernel never looks at: a host has its per-core block here (C-20), so
    /// that `$tp` leads to both.
    pub local: [u64; LIST_OFFSET / 8 - MAX_WORDS - MAX_CAPS - 3],
    /// The list of MapMany (C-41).
    pub list: [u64; (16384 - LIST_OFFSET) / 8],
}

/// Names the slot that takes a received capability (seL4 manual §4.2.2); all zero: none is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ReceiveSlot {
    /// Capability of the CNode to look up from.
    pub root: u64,
    /// Address in it.
    pub index: u64,
    /// Bits of the address that are resolved.
    pub depth: u64,
}

/// Where the list of MapMany begins in the IPC buffer, in bytes (C-41).
pub const LIST_OFFSET: usize = 2048;

const _: () = assert!(size_of::<IpcBuffer>() == 16384);
const _: () = assert!(offset_of!(IpcBuffer, list) == LIST_OFFSET);
