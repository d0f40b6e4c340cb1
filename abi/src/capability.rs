//! How user space names capabilities, and the rights that a capability can carry.

/// A capability pointer: an address in the caller's capability space, resolved over all 64 bits
/// (seL4 manual §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(transparent)]
pub struct CPtr(pub u64);

impl CPtr {
    /// Slot 0 is left empty by convention, so this never names a capability.
    pub const NULL: Self = Self(0);
}

/// The rights of an Endpoint, Notification, Reply or Frame capability (seL4 manual §3.1.4).
///
/// Grant implies GrantReply: who may send any capability may send the one to answer with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(transparent)]
pub struct Rights(u8);

impl Rights {
    /// No right at all.
    pub const NONE: Self = Self(0);
    /// Receive from an endpoint, wait for a notification, read a frame.
    pub const READ: Self = Self(1);
    /// Send to an endpoint, signal a notification, write a frame.
    pub const WRITE: Self = Self(2);
    /// Transfer capabilities with a message.
    pub const GRANT: Self = Self(4);
    /// Call: let the receiver answer.
    pub const GRANT_REPLY: Self = Self(8);
    /// Read and write.
    pub const READ_WRITE: Self = Self(3);
    /// Every right.
    pub const ALL: Self = Self(15);

    /// The rights in `raw`, or `None` when a bit is set that is no right.
    pub const fn from_raw(raw: u64) -> Option<Self> {
        match raw.to_le_bytes() {
            [low, 0, 0, 0, 0, 0, 0, 0] if low <= Self::ALL.0 => Some(Self(low)),
            _ => None,
        }
    }

    /// The rights as a word of a message.
    pub const fn raw(self) -> u64 {
        let Self(bits) = self;
        u64::from_le_bytes([bits, 0, 0, 0, 0, 0, 0, 0])
    }

    /// Both sets together.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The rights in both sets.
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// True when every right of `other` is in `self`.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}
