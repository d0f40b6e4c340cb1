//! Words of memory that a story has mapped itself, or that nothing is mapped at.

/// A word of memory that the story has mapped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word(*mut u64);

impl Word {
    /// The word so many bytes further on.
    pub(crate) fn plus(self, bytes: usize) -> Self {
        Self(self.0.wrapping_byte_add(bytes))
    }

    pub(crate) fn at(address: u64) -> Self {
        Self(core::ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or(0)))
    }

    #[expect(unsafe_code, reason = "memory that the story has mapped itself")]
    pub(crate) fn get(self) -> u64 {
        // SAFETY: mapped by the story, or the access faults, which root reports.
        unsafe { self.0.read_volatile() }
    }

    #[expect(unsafe_code, reason = "memory that the story has mapped itself")]
    pub(crate) fn set(self, value: u64) {
        // SAFETY: as in `get`; nothing else lies there.
        unsafe { self.0.write_volatile(value) }
    }
}
