//! Memory and slots to build objects from: Untypeds that are split into halves, and empty slots of a CNode.
//!
//! Invariant: every Untyped in the pool is untouched, so retyping it needs no reset; one that is too large is
//! split into two Untypeds of half its size, which clears nothing (C-3), and the smallest that fits is taken.

use abi::object::ObjectSize;
use abi::{CPtr, Error, ObjectType};
use heapless::Vec;

use crate::error::InvocationError;
use crate::stubs::{CNode, Untyped};

#[cfg(test)]
mod tests;

/// Bits of an address that a capability pointer has.
pub const DEPTH: u64 = 64;
/// Most Untypeds in the pool; one split adds at most one.
const POOL: usize = 256;
/// Most slots given back that are remembered.
const GIVEN_BACK: usize = 512;

/// Empty slots of a CNode.
#[derive(Debug)]
pub struct Slots {
    next: u64,
    end: u64,
    given_back: Vec<u64, GIVEN_BACK>,
}

impl Slots {
    /// Those from `start` up to `end`, which is not one of them.
    pub const fn new(start: u64, end: u64) -> Self {
        Self { next: start, end, given_back: Vec::new() }
    }

    /// An empty slot.
    ///
    /// # Errors
    /// RangeError when there is none left.
    pub fn take(&mut self) -> Result<CPtr, InvocationError> {
        match self.given_back.pop() {
            Some(slot) => Ok(CPtr(slot)),
            None => self.take_run(1),
        }
    }

    /// The first of `count` empty slots in a row.
    ///
    /// # Errors
    /// RangeError when there are not so many left.
    pub fn take_run(&mut self, count: u64) -> Result<CPtr, InvocationError> {
        let first = self.next;
        let next = first.checked_add(count).filter(|next| *next <= self.end);
        self.next = next.ok_or(InvocationError { detail: self.end, ..Error::RangeError.into() })?;
        Ok(CPtr(first))
    }

    /// Gives an empty slot back; one too many is forgotten.
    pub fn give_back(&mut self, slot: CPtr) {
        let _ = self.given_back.push(slot.0);
    }

    /// Empty slots in a row that were never taken.
    pub fn untouched(&self) -> (u64, u64) {
        (self.next, self.end)
    }
}

/// An Untyped of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its slot.
    pub untyped: CPtr,
    /// Base-2 logarithm of its bytes.
    pub size_bits: u8,
}

/// The pool: which Untyped to take, and what becomes of the halves.
#[derive(Debug, Default)]
pub struct Pool {
    pieces: Vec<Piece, POOL>,
}

impl Pool {
    /// Puts an untouched Untyped in; one too many is forgotten.
    pub fn add(&mut self, piece: Piece) {
        let _ = self.pieces.push(piece);
    }

    /// Takes an Untyped of exactly `size_bits`, splitting larger ones with `split`, which answers the two
    /// halves of a piece.
    ///
    /// # Errors
    /// NotEnoughMemory when no piece is large enough, else what `split` answers.
    pub fn take<E: From<Error>>(
        &mut self,
        size_bits: u8,
        mut split: impl FnMut(Piece) -> Result<[CPtr; 2], E>,
    ) -> Result<CPtr, E> {
        let fitting = self.pieces.iter().enumerate().filter(|(_, piece)| piece.size_bits >= size_bits);
        let (index, _) = fitting.min_by_key(|(_, piece)| piece.size_bits).ok_or(Error::NotEnoughMemory)?;
        let mut piece = self.pieces.swap_remove(index);
        while piece.size_bits > size_bits {
            let half = piece.size_bits - 1;
            let [first, second] = split(piece)?;
            self.add(Piece { untyped: second, size_bits: half });
            piece = Piece { untyped: first, size_bits: half };
        }
        Ok(piece.untyped)
    }

    /// Bytes of all pieces together.
    pub fn bytes(&self) -> u64 {
        self.pieces.iter().map(|piece| 1_u64 << piece.size_bits).sum()
    }

    /// The largest piece's bits, 0 without one.
    pub fn largest_bits(&self) -> u8 {
        self.pieces.iter().map(|piece| piece.size_bits).max().unwrap_or(0)
    }
}

/// Objects from Untypeds, their capabilities in one CNode.
#[derive(Debug)]
pub struct Memory {
    /// The CNode in which the slots lie, its addresses being slot numbers.
    pub cnode: CNode,
    /// Its empty slots.
    pub slots: Slots,
    /// The Untypeds.
    pub pool: Pool,
}

impl Memory {
    /// No Untyped yet.
    pub const fn new(cnode: CNode, slots: Slots) -> Self {
        Self { cnode, slots, pool: Pool { pieces: Vec::new() } }
    }

    /// Adds an untouched Untyped.
    pub fn add(&mut self, untyped: CPtr, size_bits: u8) {
        self.pool.add(Piece { untyped, size_bits });
    }

    /// Makes one object; `size_bits` counts for types of variable size.
    ///
    /// # Errors
    /// NotEnoughMemory, RangeError when slots ran out, and what Retype refuses.
    pub fn make(&mut self, object: ObjectType, size_bits: u8) -> Result<CPtr, InvocationError> {
        let size_bits = match object.size() {
            ObjectSize::Fixed(bits) => bits,
            ObjectSize::Variable(..) => size_bits,
            ObjectSize::None => return Err(Error::InvalidArgument.into()),
        };
        let untyped = self.take_untyped(size_bits)?;
        if object == ObjectType::Untyped {
            return Ok(untyped);
        }
        let slot = self.slots.take()?;
        retype(self.cnode, untyped, object, size_bits, slot, 1)?;
        Ok(slot)
    }

    /// Takes an untouched Untyped of exactly `size_bits`.
    ///
    /// # Errors
    /// As [`Memory::make`].
    pub fn take_untyped(&mut self, size_bits: u8) -> Result<CPtr, InvocationError> {
        let Self { cnode, slots, pool } = self;
        pool.take(size_bits, |piece| {
            let first = slots.take_run(2)?;
            retype(*cnode, piece.untyped, ObjectType::Untyped, piece.size_bits - 1, first, 2)?;
            Ok::<_, InvocationError>([first, CPtr(first.0 + 1)])
        })
    }

    /// Copies a capability into a fresh slot.
    ///
    /// # Errors
    /// What Copy refuses, or RangeError when slots ran out.
    pub fn copy(&mut self, source: CPtr, rights: abi::Rights) -> Result<CPtr, InvocationError> {
        let slot = self.slots.take()?;
        self.cnode.copy(self.cnode, slot.0, DEPTH, source.0, DEPTH, rights.raw())?;
        Ok(slot)
    }

    /// Copies a capability into a fresh slot with another badge.
    ///
    /// # Errors
    /// What Mint refuses, or RangeError when slots ran out.
    pub fn mint(&mut self, source: CPtr, rights: abi::Rights, badge: u64) -> Result<CPtr, InvocationError> {
        let slot = self.slots.take()?;
        self.cnode.mint(self.cnode, slot.0, DEPTH, source.0, DEPTH, rights.raw(), badge)?;
        Ok(slot)
    }

    /// Deletes the capability in a slot and gives the slot back.
    ///
    /// # Errors
    /// What Delete refuses.
    pub fn delete(&mut self, slot: CPtr) -> Result<(), InvocationError> {
        self.cnode.delete(slot.0, DEPTH)?;
        self.slots.give_back(slot);
        Ok(())
    }
}

/// Retypes an Untyped into slots of a CNode whose addresses are slot numbers.
///
/// # Errors
/// What Retype refuses.
pub fn retype(
    cnode: CNode,
    untyped: CPtr,
    object: ObjectType,
    size_bits: u8,
    first: CPtr,
    count: u64,
) -> Result<(), InvocationError> {
    // Index and depth 0 name the CNode that is given itself (seL4 manual §2.4.2).
    Untyped(untyped).retype(cnode, object.raw(), u64::from(size_bits), 0, 0, first.0, count)
}
