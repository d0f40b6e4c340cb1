//! The pool splits the smallest piece that fits, and what it hands out adds up.

use super::*;
use std::vec;
use std::vec::Vec as StdVec;

fn split_into(next: &mut u64) -> impl FnMut(Piece) -> Result<[CPtr; 2], Error> + '_ {
    move |_| {
        *next += 2;
        Ok([CPtr(*next), CPtr(*next + 1)])
    }
}

#[test]
fn the_smallest_piece_that_fits_is_taken_and_split() {
    let mut pool = Pool::default();
    for (slot, size_bits) in [(1, 30), (2, 16), (3, 20)] {
        pool.add(Piece { untyped: CPtr(slot), size_bits });
    }
    let (mut next, bytes) = (100, pool.bytes());
    assert_eq!(pool.take(16, split_into(&mut next)), Ok(CPtr(2)), "one of the right size is not split");
    assert_eq!(pool.take(14, split_into(&mut next)), Ok(CPtr(112)), "20 bits split six times");
    assert_eq!(pool.bytes(), bytes - (1 << 16) - (1 << 14));
    assert_eq!(pool.take(14, split_into(&mut next)), Ok(CPtr(113)), "the other half needs no split");
    assert_eq!(next, 112);
}

#[test]
fn an_exhausted_pool_says_so_and_a_failed_split_is_passed_on() {
    let mut pool = Pool::default();
    pool.add(Piece { untyped: CPtr(1), size_bits: 15 });
    assert_eq!(pool.take::<Error>(16, |_| Ok([CPtr(8), CPtr(9)])), Err(Error::NotEnoughMemory));
    assert_eq!(pool.take::<Error>(14, |_| Err(Error::RangeError)), Err(Error::RangeError));
}

#[test]
fn all_of_a_piece_can_be_handed_out() {
    let mut pool = Pool::default();
    pool.add(Piece { untyped: CPtr(1), size_bits: 20 });
    let mut next = 10;
    let pages: StdVec<_> = (0..64).map(|_| pool.take(14, split_into(&mut next)).unwrap()).collect();
    let mut unique = pages.clone();
    unique.sort_by_key(|page| page.0);
    unique.dedup();
    assert_eq!(unique.len(), 64);
    assert_eq!(pool.take(14, split_into(&mut next)), Err(Error::NotEnoughMemory));
}

#[test]
fn slots_come_in_runs_and_come_back() {
    let mut slots = Slots::new(16, 20);
    assert_eq!(slots.take_run(2), Ok(CPtr(16)));
    assert_eq!(slots.take(), Ok(CPtr(18)));
    assert_eq!(slots.take_run(2).map_err(|refusal| refusal.error), Err(Error::RangeError));
    slots.give_back(CPtr(17));
    let taken: StdVec<_> = (0..3).map(|_| slots.take().ok()).collect();
    assert_eq!(taken, vec![Some(CPtr(17)), Some(CPtr(19)), None]);
}
