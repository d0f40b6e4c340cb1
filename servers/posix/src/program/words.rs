//! The strings that a program is started with: many, and short, so that they lie in one piece of memory.

use crate::Errno;
use crate::number::{index, low_u32};
use alloc::vec::Vec;

/// Strings, without zeros.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<u32>,
}

impl Words {
    /// How many.
    pub const fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// What Linux counts of them: their bytes, with zeros, and a pointer to each.
    pub const fn counted(&self) -> usize {
        self.bytes.len() + self.ends.len() * (1 + size_of::<u64>())
    }

    /// Each, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        let start = |number: usize| {
            let before = number.checked_sub(1).and_then(|before| self.ends.get(before));
            index(before.copied().unwrap_or(0))
        };
        let word = move |(number, end): (usize, &u32)| self.bytes.get(start(number)..index(*end));
        (0..self.ends.len()).zip(&self.ends).map(word).map(Option::unwrap_or_default)
    }

    /// Adds one.
    pub fn push(&mut self, word: &[u8]) {
        self.bytes.extend_from_slice(word);
        self.end();
    }

    /// Adds one that `read` appends to the bytes of those before.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn push_with(&mut self, read: impl FnOnce(&mut Vec<u8>) -> Result<(), Errno>) -> Result<(), Errno> {
        read(&mut self.bytes)?;
        self.end();
        Ok(())
    }

    /// Puts others in the place of the first, or before all if there is none.
    pub fn replace_first<'a>(&mut self, with: impl Iterator<Item = &'a [u8]>) {
        let mut words = Self::default();
        with.for_each(|word| words.push(word));
        self.iter().skip(1).for_each(|word| words.push(word));
        *self = words;
    }

    fn end(&mut self) {
        // There are never more bytes than a quarter of a stack.
        self.ends.push(low_u32(self.bytes.len() as u64));
    }
}

impl<T: AsRef<[u8]>> FromIterator<T> for Words {
    fn from_iter<I: IntoIterator<Item = T>>(words: I) -> Self {
        let mut all = Self::default();
        words.into_iter().for_each(|word| all.push(word.as_ref()));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out() {
        let mut words: Words = ["one", "", "three"].into_iter().collect();
        let four = |bytes: &mut Vec<u8>| {
            bytes.extend_from_slice(b"four");
            Ok(())
        };
        words.push_with(four).unwrap();
        assert!(words.iter().eq([&b"one"[..], b"", b"three", b"four"]));
        assert!(words.iter().rev().eq([&b"four"[..], b"three", b"", b"one"]));
        assert_eq!(words.counted(), 12 + 4 * 9);
        words.replace_first([&b"a"[..], b"b"].into_iter());
        assert!(words.iter().eq([&b"a"[..], b"b", b"", b"three", b"four"]));
        let mut none = Words::default();
        none.replace_first([&b"a"[..]].into_iter());
        assert_eq!((none.len(), none.iter().next()), (1, Some(&b"a"[..])));
    }
}
