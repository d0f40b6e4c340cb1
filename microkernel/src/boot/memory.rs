//! Memory at boot: what is free, what the boot objects take of it, and the pieces that are left for root.
//!
//! Nothing is lost: what lies between two boot objects stays free, and the rest is cut into as few aligned
//! powers of two as possible. Boot objects come from the lowest places that fit, so that high memory stays
//! whole for large pages.

use abi::PAGE_BYTES;
use arrayvec::ArrayVec;

use super::BootError;
use crate::address::PhysAddr;

/// Free ranges that are kept apart.
const MAX_RANGES: usize = 64;
/// Base-2 logarithm of the smallest piece: the smallest Untyped.
const MIN_PIECE_BITS: u8 = 6;
/// Base-2 logarithm of the largest piece: the largest Untyped.
pub const MAX_PIECE_BITS: u8 = 36;

/// A half-open range of physical addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
}

/// Start of the last page of all addresses.
const LAST_PAGE: u64 = !(PAGE_BYTES - 1);

impl Range {
    /// The range of `bytes` from `start`, cut at the end of all addresses.
    pub const fn sized(start: u64, bytes: u64) -> Self {
        Self { start, end: start.saturating_add(bytes) }
    }

    /// Whether the ranges share a byte.
    pub const fn overlaps(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// The whole pages inside the range.
    pub const fn inner_pages(self) -> Self {
        Self { start: page_from(self.start), end: self.end & !(PAGE_BYTES - 1) }
    }

    /// The whole pages that the range touches.
    pub const fn outer_pages(self) -> Self {
        Self { start: self.start & !(PAGE_BYTES - 1), end: page_from(self.end) }
    }

    /// The bytes in it.
    pub const fn bytes(self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// The first page boundary from an address on; behind the last one, that.
const fn page_from(address: u64) -> u64 {
    match address.checked_next_multiple_of(PAGE_BYTES) {
        Some(page) => page,
        None => LAST_PAGE,
    }
}

/// An aligned power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins.
    pub start: PhysAddr,
    /// Base-2 logarithm of its bytes.
    pub size_bits: u8,
}

/// Cuts a range, whose ends are multiples of 64, into the fewest aligned powers of two of at most 64 GiB,
/// in order.
pub fn pieces(range: Range) -> impl Iterator<Item = Piece> {
    let mut start = range.start;
    core::iter::from_fn(move || {
        let left = range.end.checked_sub(start).filter(|left| *left >> MIN_PIECE_BITS != 0)?;
        let bits = start.trailing_zeros().min(left.ilog2()).min(MAX_PIECE_BITS.into());
        let piece = Piece { start: PhysAddr(start), size_bits: u8::try_from(bits).unwrap_or(MIN_PIECE_BITS) };
        start += 1 << piece.size_bits;
        Some(piece)
    })
}

/// The free memory.
#[derive(Debug)]
pub struct BootMemory {
    free: ArrayVec<Range, MAX_RANGES>,
}

impl BootMemory {
    /// All of `ranges`, which are ascending, disjoint whole pages.
    ///
    /// The page at physical address 0 is left out: an entry that led to a table there would be empty.
    ///
    /// # Errors
    ///
    /// [`BootError::TooManyRanges`].
    pub fn new(ranges: &[Range]) -> Result<Self, BootError> {
        let mut free = ArrayVec::new();
        for range in ranges {
            let range = Range { start: range.start.max(PAGE_BYTES), end: range.end };
            if range.bytes() != 0 {
                free.try_push(range).map_err(|_| BootError::TooManyRanges)?;
            }
        }
        Ok(Self { free })
    }

    /// Takes 2^`size_bits` bytes, aligned to that, from the lowest place that has them.
    ///
    /// # Errors
    ///
    /// [`BootError::OutOfMemory`], [`BootError::TooManyRanges`].
    pub fn take(&mut self, size_bits: u8) -> Result<PhysAddr, BootError> {
        let bytes = 1 << size_bits;
        let found = self.free.iter_mut().enumerate().find_map(|(index, range)| {
            let start = range.start.checked_next_multiple_of(bytes)?;
            let end = start.checked_add(bytes).filter(|end| *end <= range.end)?;
            let after = Range { start: end, end: range.end };
            range.end = start;
            Some((index, start, after))
        });
        let (index, start, after) = found.ok_or(BootError::OutOfMemory)?;
        if after.bytes() != 0 {
            self.free.try_insert(index + 1, after).map_err(|_| BootError::TooManyRanges)?;
        }
        self.free.retain(|range| range.bytes() != 0);
        Ok(PhysAddr(start))
    }

    /// What is still free, in pieces, by address.
    pub fn pieces(&self) -> impl Iterator<Item = Piece> {
        self.free.iter().flat_map(|range| pieces(*range))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_aligned_and_cover_the_range() {
        for (start, end) in
            [(0x4000, 0x24000), (64, 4096 + 64), (0x8000_0000, 0x2_0000_0000), (1 << 38, 3 << 37)]
        {
            let mut at = start;
            for piece in pieces(Range { start, end }) {
                assert_eq!(piece.start, PhysAddr(at));
                assert!(at.is_multiple_of(1 << piece.size_bits) && piece.size_bits <= MAX_PIECE_BITS);
                at += 1 << piece.size_bits;
            }
            assert_eq!(at, end);
        }
    }

    #[test]
    fn what_is_taken_is_no_longer_free_and_nothing_else() {
        let whole = Range { start: 0, end: 1 << 20 };
        let mut memory = BootMemory::new(&[whole]).unwrap();
        let taken: Vec<_> =
            [17, 14, 8, 15, 10, 14].into_iter().map(|bits| (memory.take(bits).unwrap().0, bits)).collect();
        let mut all: Vec<_> = memory.pieces().map(|piece| (piece.start.0, piece.size_bits)).collect();
        all.extend(&taken);
        all.sort_unstable();
        let mut at = PAGE_BYTES;
        for (start, bits) in all {
            assert_eq!(start, at);
            at += 1 << bits;
        }
        assert_eq!(at, whole.end);
        assert_eq!(memory.take(20), Err(BootError::OutOfMemory));
    }
}
