//! Words of the host's own half.

#![expect(unsafe_code, reason = "memory that root has mapped")]

/// A word that root has mapped, or that must not be touched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word(*mut u64);

impl Word {
    pub(crate) fn at(address: u64) -> Self {
        Self(core::ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or(0)))
    }

    pub(crate) fn get(self) -> u64 {
        // SAFETY: mapped, or the access faults, which root reports; no value of Rust's lies there.
        unsafe { self.0.read_volatile() }
    }

    pub(crate) fn set(self, value: u64) {
        // SAFETY: as in `get`.
        unsafe { self.0.write_volatile(value) }
    }
}
