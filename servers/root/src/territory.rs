//! What belongs to one server alone: Untypeds that root can revoke, and a run of root's slots.

use abi::{CPtr, Error};
use heapless::Vec;
use runtime::InvocationError;
use runtime::memory::{DEPTH, Memory, Piece, Slots};

use crate::boot::CNODE;

/// Slots of root's that a server's objects and page copies may fill.
const SLOTS: u64 = 640;
/// The smallest Untyped that is given to a server.
const LEAST_GRANT_BITS: u8 = 14;
/// Most Untypeds given.
pub(crate) const GRANTS: usize = abi::server::MAX_UNTYPEDS;

/// One server's own.
#[derive(Debug)]
pub(crate) struct Territory {
    /// Its image, tables and kernel objects come from this.
    home: Piece,
    /// Each of these becomes one Untyped of the server's.
    pub(crate) grants: Vec<Piece, GRANTS>,
    first_slot: CPtr,
}

impl Territory {
    /// Takes `home_bytes`, rounded up to a power of two, and `grant_bytes`, rounded up to pages.
    pub(crate) fn take(
        memory: &mut Memory,
        home_bytes: u64,
        grant_bytes: u64,
    ) -> Result<Self, InvocationError> {
        let home_bits = u8::try_from(home_bytes.next_power_of_two().trailing_zeros()).unwrap_or(u8::MAX);
        let grants = take_pieces(memory, grant_bytes.next_multiple_of(1 << LEAST_GRANT_BITS))?;
        let untyped = memory.take_untyped(home_bits)?;
        let first_slot = memory.slots.take_run(SLOTS)?;
        Ok(Self { home: Piece { untyped, size_bits: home_bits }, grants, first_slot })
    }

    /// Memory and slots to build the server from; nothing else may have been made of them.
    pub(crate) fn memory(&self) -> Memory {
        let first = self.first_slot.0;
        let mut memory = Memory::new(CNODE, Slots::new(first, first + SLOTS));
        memory.add(self.home.untyped, self.home.size_bits);
        memory
    }

    /// Takes everything away that was made of it.
    pub(crate) fn clear(&self) -> Result<(), InvocationError> {
        for piece in core::iter::once(&self.home).chain(&self.grants) {
            CNODE.revoke(piece.untyped.0, DEPTH)?;
        }
        // What is left are copies of shared pages and badges.
        for slot in self.first_slot.0..self.first_slot.0 + SLOTS {
            CNODE.delete(slot, DEPTH)?;
        }
        Ok(())
    }
}

/// Takes `bytes` in as few Untypeds as the pool allows.
pub(crate) fn take_pieces(memory: &mut Memory, bytes: u64) -> Result<Vec<Piece, GRANTS>, InvocationError> {
    let mut pieces = Vec::new();
    let mut left = bytes;
    while left != 0 {
        let largest = memory.pool.largest_bits();
        let size_bits = u8::try_from(left.ilog2()).unwrap_or(u8::MAX).min(largest);
        let untyped = memory.take_untyped(size_bits)?;
        pieces.push(Piece { untyped, size_bits }).map_err(|_| Error::RangeError)?;
        left = left.saturating_sub(1 << size_bits);
    }
    Ok(pieces)
}
