//! Hosted contexts (C-20): what a host's memory has of each program.
//!
//! The *contexts frame*, mapped by the host, is an array of [`Context`]s; the first is a header that no
//! program has. All of it is user data: the kernel reads and writes it as raw words, and checks none of
//! the general registers. Numbers of contexts are indices in it.
//!
//! A host has four entries, one a reason ([`crate::Method::TcbConfigureHost`]), at which it runs at privilege
//! level 2 with interrupts on and its per-core block in `$t0`:
//!
//! | entry | other registers | the context has |
//! | --- | --- | --- |
//! | system call (C-23) | `$t1` the program's pc, `$t2` undefined, all others the program's | nothing new |
//! | fault (C-25) | undefined: nothing of the kernel's | every general register, pc, cause, address, instruction |
//! | interrupted (C-25, C-27) | undefined: nothing of the kernel's | every general register, pc |
//! | own fault (C-29) | as they were, but `$t5` pc, `$t6` address, `$t7` [`access`], `$t8` Ecode | nothing new |

use core::mem::offset_of;

/// Base-2 logarithm of a [`Context`]'s bytes.
pub const CONTEXT_BITS: u8 = 11;
/// Base-2 logarithm of the bytes that a Host object has for each context (C-20).
pub const ENTRY_BITS: u8 = 6;

/// One hosted program: everything of it that the processor would hold.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Context {
    /// General registers by number; index 0 holds the pc.
    pub registers: [u64; 32],
    /// Set by the kernel, cleared by the host: see [`flag`].
    pub flags: u64,
    /// Of the last fault: ESTAT, with Ecode in bits 21:16 and EsubCode in 30:22.
    pub cause: u64,
    /// Of the last fault: BADV. Only page and address faults have one.
    pub fault_address: u64,
    /// Of the last fault: the instruction's word (BADI).
    pub fault_instruction: u64,
    /// 1: the vector unit's registers are newer than `vector`, `fcc` and `fcsr` (C-30).
    pub vector_live: u64,
    /// How much of the vector unit the program has used so far, a [`Width`] as a number.
    pub width: u64,
    /// Condition flags, one a byte, as in Linux's `sctx_info`.
    pub fcc: u64,
    /// FCSR0.
    pub fcsr: u64,
    /// Unused.
    pub reserved: [u64; 88],
    /// Vector registers; FP and LSX registers are their low 64 and 128 bits.
    pub vector: [[u64; 4]; 32],
}

const _: () = assert!(size_of::<Context>() == 1 << CONTEXT_BITS);
const _: () = assert!(offset_of!(Context, vector) == 1024);

/// Bits of [`Context::flags`].
pub mod flag {
    /// The fcsr that was loaded from memory had cause bits whose enables were set; they were cleared. Linux
    /// sends SIGFPE for that.
    pub const FCSR_CAUSE: u64 = 1;
}

/// Bits of EnterFull's word in `$a0`.
pub mod enter {
    /// The host changed `vector`, `fcc`, `fcsr` or `width`: they count, and what the unit holds is forgotten
    /// (C-30).
    pub const VECTOR_CHANGED: u64 = 1;
}

/// Kinds of access in `$t7` at the entry of the host's own faults.
pub mod access {
    /// A load.
    pub const LOAD: u64 = 0;
    /// A store.
    pub const STORE: u64 = 1;
}

/// How much of the vector unit is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u64)]
pub enum Width {
    /// Nothing.
    None = 0,
    /// Floating point: 64 bits a register.
    Fp = 1,
    /// LSX: 128 bits.
    Lsx = 2,
    /// LASX: 256 bits.
    Lasx = 3,
}

impl Width {
    /// Every width, the smallest first.
    pub const ALL: [Self; 4] = [Self::None, Self::Fp, Self::Lsx, Self::Lasx];

    /// The width that a number stands for; any larger one stands for the widest.
    pub const fn from_raw(raw: u64) -> Self {
        match raw {
            0 => Self::None,
            1 => Self::Fp,
            2 => Self::Lsx,
            _ => Self::Lasx,
        }
    }

    /// What EUEN is while this much is enabled: FPE, SXE and ASXE are its bits 0 to 2.
    pub const fn euen(self) -> u64 {
        (1 << self as u64) - 1
    }

    /// 64-bit lanes of a register that are in use.
    pub const fn lanes(self) -> usize {
        match self {
            Self::None => 0,
            Self::Fp => 1,
            Self::Lsx => 2,
            Self::Lasx => 4,
        }
    }
}
