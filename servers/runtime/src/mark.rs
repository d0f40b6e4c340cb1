//! Marks for the counter: instructions that do nothing, between which it counts (DESIGN §5).

#![cfg_attr(target_arch = "loongarch64", expect(unsafe_code, reason = "the marks are instructions"))]

/// What is counted: up to eight ASCII characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Label(u64);

impl Label {
    /// The label as the counter shows it; what is longer than eight characters is cut off.
    pub const fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut word = 0;
        let mut index = 0;
        while index < 8 && index < bytes.len() {
            // Bytes enter at the top and move down, so that the first ends up lowest.
            if let Some((byte, _)) = bytes.split_at(index).1.split_first() {
                word |= (*byte as u64) << (8 * index);
            }
            index += 1;
        }
        Self(word)
    }

    /// The label that a register held.
    pub const fn from_raw(raw: u64) -> Self {
        Self(raw)
    }

    /// The label as it lies in a register.
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// Starts counting one operation under this label.
    #[inline(always)]
    pub fn start(self) {
        self.start_many(1);
    }

    /// Starts counting so many operations together under this label.
    #[inline(always)]
    pub fn start_many(self, operations: u64) {
        #[cfg(not(target_arch = "loongarch64"))]
        let _ = operations;
        #[cfg(target_arch = "loongarch64")]
        // SAFETY: the instruction writes `$zero`.
        unsafe {
            core::arch::asm!("ori $zero, $zero, 0x5A1", in("$a0") self.0, in("$a1") operations, options(nostack, preserves_flags));
        }
    }
}

/// Stops counting.
#[inline(always)]
pub fn stop() {
    #[cfg(target_arch = "loongarch64")]
    // SAFETY: the instruction writes `$zero`.
    unsafe {
        core::arch::asm!("ori $zero, $zero, 0x5A2", options(nostack, preserves_flags));
    }
}

#[cfg(test)]
mod tests {
    use super::Label;

    #[test]
    fn a_label_begins_in_the_lowest_byte() {
        assert_eq!(Label::new("rt0"), Label(u64::from_le_bytes(*b"rt0\0\0\0\0\0")));
        assert_eq!(Label::new("reply8m-and-more"), Label(u64::from_le_bytes(*b"reply8m-")));
    }
}
