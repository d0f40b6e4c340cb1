//! Alternate stacks: sigaltstack, and which stack a handler runs on.

use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::number::low_u32;
use crate::server::Server;
use crate::user::UserPtr;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// The stack is in use.
pub const ONSTACK: u32 = 1;
/// There is none.
pub const DISABLE: u32 = 2;
/// It is forgotten while a handler runs.
pub const AUTODISARM: u32 = 1 << 31;
/// LoongArch's MINSIGSTKSZ.
const LEAST_BYTES: u64 = 4096;

/// Linux's `struct sigaltstack`.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct StackWords {
    /// Its first address.
    pub start: u64,
    /// Flags.
    pub flags: u32,
    /// Nothing.
    pub padding: u32,
    /// Its bytes.
    pub bytes: u64,
}

/// A thread's alternate stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlternateStack {
    /// As a frame has it: first address, flags, bytes.
    words: [u64; 3],
}

impl Default for AlternateStack {
    fn default() -> Self {
        Self::new(0, DISABLE, 0)
    }
}

impl AlternateStack {
    const fn new(start: u64, flags: u32, bytes: u64) -> Self {
        Self { words: [start, flags as u64, bytes] }
    }

    const fn start(&self) -> u64 {
        let [start, ..] = self.words;
        start
    }

    const fn flags(&self) -> u32 {
        let [_, flags, _] = self.words;
        low_u32(flags)
    }

    const fn bytes(&self) -> u64 {
        let [.., bytes] = self.words;
        bytes
    }

    /// Whether a stack pointer is on it.
    #[inline]
    pub const fn holds(&self, sp: u64) -> bool {
        self.flags() & AUTODISARM == 0 && sp > self.start() && sp - self.start() <= self.bytes()
    }

    /// With the flags that it was set with.
    const fn words(&self) -> StackWords {
        StackWords { start: self.start(), flags: self.flags(), padding: 0, bytes: self.bytes() }
    }

    /// As a frame has it.
    pub const fn in_frame(&self) -> &[u64; 3] {
        &self.words
    }

    /// Comes back from a frame; Linux ignores that it cannot be set.
    #[inline(always)] // The usual case is four instructions.
    pub fn restore(&mut self, words: [u64; 3], sp: u64) {
        let [start, flags, bytes] = words;
        let flags = low_u32(flags);
        if flags == DISABLE && self.flags() == DISABLE {
            // There is none, and was none: the usual case.
            return;
        }
        let _ = self.set(StackWords { start, flags, padding: 0, bytes }, sp);
    }

    /// As sigaltstack tells it.
    const fn told(&self, sp: u64) -> StackWords {
        let state = if self.bytes() == 0 {
            DISABLE
        } else if self.holds(sp) {
            ONSTACK
        } else {
            0
        };
        StackWords { flags: state | (self.flags() & AUTODISARM), ..self.words() }
    }

    /// Where a handler's frame begins to grow down from; `None` when it would grow out of the alternate stack.
    #[inline(always)] // As much as the call of it.
    pub fn top(&self, sp: u64, wants: Wants, frame_bytes: u64) -> Option<u64> {
        if self.holds(sp) {
            // Linux: an overflow of the alternate stack is a SIGSEGV, not a store below it.
            return self.holds(sp.wrapping_sub(frame_bytes)).then_some(sp);
        }
        let other = wants == Wants::Alternate && self.bytes() != 0;
        Some(if other { self.start().wrapping_add(self.bytes()) } else { sp })
    }

    /// A handler was entered.
    #[inline]
    pub fn entered(&mut self) {
        if self.flags() & AUTODISARM != 0 {
            *self = Self::default();
        }
    }

    /// Sets it, as the program asked while its stack pointer was `sp`.
    ///
    /// # Errors
    /// EPERM while it is in use, EINVAL for an unknown flag, ENOMEM when it is too small.
    pub fn set(&mut self, given: StackWords, sp: u64) -> Result<(), Errno> {
        if self.holds(sp) {
            return Err(Errno::EPERM);
        }
        let StackWords { start, flags, bytes, .. } = given;
        match flags & !AUTODISARM {
            DISABLE => *self = Self::new(0, flags, 0),
            0 | ONSTACK if bytes < LEAST_BYTES && *self != Self::new(start, flags, bytes) => {
                return Err(Errno::ENOMEM);
            }
            0 | ONSTACK => *self = Self::new(start, flags, bytes),
            _ => return Err(Errno::EINVAL),
        }
        Ok(())
    }
}

/// Which stack a handler asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    /// The one that the program is on.
    Usual,
    /// The alternate one, if there is one (SA_ONSTACK).
    Alternate,
}

/// sigaltstack(2).
pub fn sigaltstack<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let context = server.thread()?.context;
    let sp = server.host.stack_pointer(context);
    let new = match UserPtr::<StackWords>::optional(arguments.word(0))? {
        Some(pointer) => Some(server.view()?.read(pointer)?),
        None => None,
    };
    let before = server.thread()?.signals.stack.told(sp);
    if let Some(given) = new {
        server.thread_mut()?.signals.stack.set(given, sp)?;
    }
    if let Some(pointer) = UserPtr::optional(arguments.word(1))? {
        server.view()?.write(pointer, &before)?;
    }
    Ok(0)
}

const _: () = assert!(size_of::<StackWords>() == 24);
