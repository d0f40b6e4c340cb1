//! Random free memory and random takings: what is taken and what is left make up what was there.

use abi::PAGE_BYTES;
use microkernel::boot::BootError;
use microkernel::boot::memory::{BootMemory, MAX_PIECE_BITS, Range};
use proptest::prelude::*;

/// Up to eight disjoint ranges of whole pages, ascending: gaps and lengths in pages.
fn ranges() -> impl Strategy<Value = Vec<Range>> {
    let length = prop_oneof![1..40_u64, 1..100_000_u64, Just(1 << 24)];
    prop::collection::vec((1..5000_u64, length), 1..8).prop_map(|runs| {
        let mut at = 0;
        let place = |(gap, length): (u64, u64)| {
            let start = at + gap * PAGE_BYTES;
            at = start + length * PAGE_BYTES;
            Range { start, end: at }
        };
        runs.into_iter().map(place).collect()
    })
}

/// Says where aligned pieces (start, size bits) are not exactly the ranges.
fn cover(mut pieces: Vec<(u64, u8)>, ranges: &[Range]) -> Result<(), String> {
    pieces.sort_unstable();
    let mut pieces = pieces.into_iter();
    for range in ranges {
        let mut at = range.start;
        while at < range.end {
            let (start, bits) = pieces.next().ok_or(format!("nothing at {at:#x}"))?;
            if start != at || start % (1 << bits) != 0 || bits > MAX_PIECE_BITS {
                return Err(format!("{start:#x} of 2^{bits} bytes at {at:#x}"));
            }
            at += 1 << bits;
        }
        if at != range.end {
            return Err(format!("a piece ends at {at:#x}, its range at {:#x}", range.end));
        }
    }
    pieces.next().map_or(Ok(()), |more| Err(format!("{more:x?} is in no range")))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn taken_and_left_are_what_was_free(
        ranges in ranges(),
        takings in prop::collection::vec(prop_oneof![3 => Just(14_u8), 1 => 6..14_u8, 1 => 15..20_u8], 0..100),
    ) {
        let mut memory = BootMemory::new(&ranges).unwrap();
        let mut taken = Vec::new();
        for bits in takings {
            match memory.take(bits) {
                Ok(place) => taken.push((place.0, bits)),
                Err(BootError::OutOfMemory) => {
                    let larger = memory.pieces().any(|piece| piece.size_bits >= bits);
                    prop_assert!(!larger, "2^{bits} bytes are there and were refused");
                }
                Err(other) => prop_assert!(false, "{other:?}"),
            }
        }
        let mut all: Vec<_> = memory.pieces().map(|piece| (piece.start.0, piece.size_bits)).collect();
        all.extend(&taken);
        prop_assert_eq!(cover(all.clone(), &ranges), Ok(()));
        // Planted: the last piece is lost, or given twice.
        let lost = all.split_last().map(|(_, rest)| rest.to_vec()).unwrap_or_default();
        prop_assert!(cover(lost, &ranges).is_err());
        all.extend(all.last().copied());
        prop_assert!(cover(all, &ranges).is_err());
    }
}
