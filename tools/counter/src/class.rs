//! Owns whose instruction it is, by the address it runs at.

/// Who executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The kernel, in a direct-mapped window (0x8000… or 0x9000…).
    Kernel,
    /// The kernel's TLB refill handler, which runs at physical addresses.
    Physical,
    /// A host, in the upper half from 0xffff_8000_0000_0000.
    Host,
    /// Everything else: servers and hosted programs, linked at 4 GiB or above.
    User,
}

/// Every class, in the order in which a line has them.
pub const CLASSES: [Class; 4] = [Class::Kernel, Class::Physical, Class::Host, Class::User];

/// Physical addresses that code runs at lie below; programs are linked at it or above.
const PHYSICAL_END: u64 = 1 << 32;

/// The first address of the upper half.
const UPPER_HALF: u64 = 0xffff_8000_0000_0000;

impl Class {
    /// Returns whose instruction lies at this address.
    #[must_use]
    pub fn of(pc: u64) -> Self {
        match pc >> 60 {
            0x8 | 0x9 => Self::Kernel,
            _ if pc >= UPPER_HALF => Self::Host,
            _ if pc < PHYSICAL_END => Self::Physical,
            _ => Self::User,
        }
    }

    /// Returns whether this counts as the kernel's share of loads, stores and CSR accesses.
    #[must_use]
    pub fn is_kernels(self) -> bool {
        matches!(self, Self::Kernel | Self::Physical)
    }

    /// Returns the class's name in a line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Physical => "phys",
            Self::Host => "host",
            Self::User => "user",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_the_class_of_who_runs_there() {
        assert_eq!(Class::of(0x9000_0000_0020_0000), Class::Kernel);
        assert_eq!(Class::of(0x9000_0000_9000_0000), Class::Kernel, "loaded high");
        assert_eq!(Class::of(0x8000_0000_1c00_0000), Class::Kernel, "uncached window");
        assert_eq!(Class::of(0x0020_1000), Class::Physical);
        assert_eq!(Class::of(0x9000_1000), Class::Physical, "refill handler of a kernel loaded high");
        assert_eq!(Class::of(0xffff_8000_0000_0000), Class::Host);
        assert_eq!(Class::of(0xffff_8001_2345_6780), Class::Host);
        assert_eq!(Class::of(0x1_2000_0000), Class::User);
        assert_eq!(Class::of(0x7fff_ffff_f000), Class::User);
        assert_eq!(
            Class::of(0xffff_7fff_ffff_fffc),
            Class::User,
            "no code runs in the hole, and it is not the host's"
        );
    }
}
