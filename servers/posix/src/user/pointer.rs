//! [`UserPtr`] and [`UserSlice`].

use crate::Errno;
use crate::address::LOWER_HALF_END;
use core::fmt;
use core::marker::PhantomData;

/// Bytes of a program's, all below 2^47.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UserSlice {
    address: u64,
    bytes: u64,
}

impl UserSlice {
    /// Checks a range that a program named.
    ///
    /// # Errors
    /// EFAULT when its end wraps or lies above 2^47.
    #[inline]
    pub const fn new(address: u64, bytes: u64) -> Result<Self, Errno> {
        match address.checked_add(bytes) {
            Some(end) if end <= LOWER_HALF_END => Ok(Self { address, bytes }),
            _ => Err(Errno::EFAULT),
        }
    }

    /// Its first address.
    pub const fn address(self) -> u64 {
        self.address
    }

    /// How many bytes.
    pub const fn bytes(self) -> u64 {
        self.bytes
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.bytes == 0
    }

    /// The first `bytes` of it, or all.
    #[must_use]
    pub const fn first(self, bytes: u64) -> Self {
        let bytes = if bytes < self.bytes { bytes } else { self.bytes };
        Self { address: self.address, bytes }
    }

    /// It without its first `bytes`, or nothing.
    #[must_use]
    pub const fn after(self, bytes: u64) -> Self {
        let bytes = if bytes < self.bytes { bytes } else { self.bytes };
        Self { address: self.address + bytes, bytes: self.bytes - bytes }
    }
}

impl fmt::Debug for UserSlice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}+{:#x}", self.address, self.bytes)
    }
}

/// A program's pointer to one `T`, all below 2^47; of any alignment, as Linux takes them.
pub struct UserPtr<T> {
    address: u64,
    target: PhantomData<fn() -> T>,
}

impl<T> UserPtr<T> {
    /// Checks a pointer that a program named.
    ///
    /// # Errors
    /// EFAULT when its end wraps or lies above 2^47.
    #[inline]
    pub const fn new(address: u64) -> Result<Self, Errno> {
        match UserSlice::new(address, size_of::<T>() as u64) {
            Ok(_) => Ok(Self { address, target: PhantomData }),
            Err(error) => Err(error),
        }
    }

    /// Checks a pointer that may be null; null is none.
    ///
    /// # Errors
    /// As [`UserPtr::new`].
    #[inline]
    pub const fn optional(address: u64) -> Result<Option<Self>, Errno> {
        if address == 0 {
            return Ok(None);
        }
        match Self::new(address) {
            Ok(pointer) => Ok(Some(pointer)),
            Err(error) => Err(error),
        }
    }

    /// Its address.
    pub const fn address(self) -> u64 {
        self.address
    }

    /// The bytes it points at.
    pub const fn slice(self) -> UserSlice {
        UserSlice { address: self.address, bytes: size_of::<T>() as u64 }
    }
}

impl<T> Clone for UserPtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for UserPtr<T> {}

impl<T> fmt::Debug for UserPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.address)
    }
}
