//! References to kernel objects, and the store that lends them (C-5).
//!
//! A [`Ref`] is the object's address in the direct-mapped window, so that the hot path can use it as it
//! is. Holding one proves that an object of that type was retyped there, not that it still is: whoever
//! deletes an object first removes every `Ref` to it.
#![expect(unsafe_code, reason = "declares which types the store may lend")]

use core::cell::Cell;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::marker::PhantomData;
use core::num::NonZeroU64;

use crate::address::WindowAddr;

/// A kernel object that may be lent as `&T`.
///
/// # Safety
///
/// The type is `repr(C)`, made of `Cell`s of plain words only, and every bit pattern is a valid value.
pub unsafe trait Object {}

macro_rules! objects {
    ($($object:ty),* $(,)?) => {$(
        // SAFETY: `repr(C)` or transparent, made of cells of words and of `Option<Ref>` (a word, 0 for
        // none) only, as its declaration shows; every pattern is valid.
        unsafe impl Object for $object {}
    )*};
}
objects!(
    Cell<u64>,
    Cell<abi::boot_info::BootInfo>,
    crate::capability::cap::Slot,
    super::asid::AsidPool,
    super::endpoint::Endpoint,
    super::host::Host,
    super::host::HostedContext,
    super::notification::Notification,
    super::page_table::PageTable,
    super::reply::Reply,
    super::sched_context::SchedContext,
    super::thread::Tcb,
    super::timer::Timer,
    super::vspace::VSpace,
);

/// Where an object lies. `Option<Ref<T>>` is one word, 0 for none.
#[repr(transparent)]
pub struct Ref<T>(NonZeroU64, PhantomData<fn() -> T>);

impl<T> Ref<T> {
    /// The reference that an address stands for; `None` for 0.
    pub const fn from_raw(raw: u64) -> Option<Self> {
        match NonZeroU64::new(raw) {
            Some(address) => Some(Self(address, PhantomData)),
            None => None,
        }
    }

    /// The address as a word.
    pub const fn raw(self) -> u64 {
        self.0.get()
    }

    /// The address in the window.
    pub const fn address(self) -> WindowAddr {
        WindowAddr(self.0.get())
    }

    /// The same address as an object of another type.
    pub const fn cast<U>(self) -> Ref<U> {
        Ref(self.0, PhantomData)
    }

    /// The object `index` places further on in an array of such objects.
    pub const fn element(self, index: u64) -> Self {
        match NonZeroU64::new(self.0.get().wrapping_add(index.wrapping_mul(size_of::<T>() as u64))) {
            Some(address) => Self(address, PhantomData),
            None => self,
        }
    }
}

impl<T> Clone for Ref<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Ref<T> {}
impl<T> PartialEq for Ref<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl<T> Eq for Ref<T> {}
impl<T> Hash for Ref<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}
impl<T> fmt::Debug for Ref<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// Lends the objects of a machine's memory.
pub trait Store {
    /// The object at `reference`.
    fn get<T: Object>(&self, reference: Ref<T>) -> &T;
}
