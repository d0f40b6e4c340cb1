//! Addresses: physical, virtual, and in the direct-mapped window through which the kernel sees memory.

/// Where the direct-mapped cached window begins (DMW1 as Linux lays it).
pub const WINDOW_BASE: u64 = 0x9000_0000_0000_0000;

/// A physical address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct PhysAddr(pub u64);

/// A virtual address of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct VirtAddr(pub u64);

/// An address in the window: the physical address with [`WINDOW_BASE`] in its top bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct WindowAddr(pub u64);

impl PhysAddr {
    /// The same memory as the kernel reaches it.
    pub const fn in_window(self) -> WindowAddr {
        WindowAddr(WINDOW_BASE | self.0)
    }
}

impl WindowAddr {
    /// The physical address behind it.
    pub const fn physical(self) -> PhysAddr {
        PhysAddr(self.0 & !WINDOW_BASE)
    }

    /// The address `bytes` further on.
    pub const fn offset(self, bytes: u64) -> Self {
        Self(self.0 + bytes)
    }
}
