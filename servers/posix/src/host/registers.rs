//! The registers of hosted threads, as contexts hold them and handlers begin with them.

/// The general registers and pc of a hosted thread, as its context holds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// `$r0` to `$r31`; the first is not looked at.
    pub general: [u64; 32],
    /// Where it goes on.
    pub pc: u64,
}

impl Registers {
    /// All zero.
    pub const ZERO: Self = Self { general: [0; 32], pc: 0 };
}

/// How a signal handler begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandlerEntry {
    /// Its first instruction.
    pub pc: u64,
    /// `$sp`.
    pub stack: u64,
    /// `$ra`: where it returns to.
    pub returns: u64,
    /// `$a0` to `$a2`.
    pub arguments: [u64; 3],
}

/// Registers by number.
pub(super) mod register {
    pub(in crate::host) const RA: usize = 1;
    pub(in crate::host) const SP: usize = 3;
    pub(in crate::host) const A0: usize = 4;
    /// What a system call destroys.
    pub(in crate::host) const TEMPORARIES: core::ops::RangeInclusive<usize> = 12..=20;
}

impl Registers {
    pub(super) fn set(&mut self, number: usize, value: u64) {
        if let Some(register) = self.general.get_mut(number) {
            *register = value;
        }
    }

    pub(super) fn clear_temporaries(&mut self) {
        register::TEMPORARIES.for_each(|number| self.set(number, 0));
    }
}
