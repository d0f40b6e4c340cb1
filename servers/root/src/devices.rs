//! Pages of device registers, cut out of the device Untypeds that the kernel handed over.

use abi::{CPtr, Error, ObjectType, PAGE_BITS, PAGE_BYTES};
use heapless::Vec;
use runtime::InvocationError;
use runtime::memory::{Memory, retype};
use runtime::stubs::Frame;

use crate::boot::{Boot, CNODE};

/// Most pieces and pages of device memory.
const PIECES: usize = 192;

/// A piece of device memory that nothing was made of.
#[derive(Clone, Copy, Debug)]
struct Piece {
    untyped: CPtr,
    address: u64,
    size_bits: u8,
}

impl Piece {
    fn contains(&self, address: u64) -> bool {
        address.checked_sub(self.address).is_some_and(|offset| offset < 1 << self.size_bits)
    }
}

/// All device memory.
#[derive(Debug, Default)]
pub(crate) struct DeviceMemory {
    pieces: Vec<Piece, PIECES>,
    pages: Vec<(u64, Frame), PIECES>,
}

impl DeviceMemory {
    pub(crate) fn new(boot: &Boot) -> Self {
        let mut devices = Self::default();
        for (untyped, description) in boot.untypeds().filter(|(_, untyped)| untyped.is_device != 0) {
            let size_bits = u8::try_from(description.size_bits).unwrap_or(0);
            let _ = devices.pieces.push(Piece { untyped, address: description.physical_address, size_bits });
        }
        devices
    }

    /// The Frame of the page around a physical address; the same one each time. What is mapped are its copies.
    pub(crate) fn page(&mut self, memory: &mut Memory, address: u64) -> Result<Frame, InvocationError> {
        let page = address & !(PAGE_BYTES - 1);
        if let Some((_, frame)) = self.pages.iter().find(|(known, _)| *known == page) {
            return Ok(*frame);
        }
        let index = self.pieces.iter().position(|piece| piece.contains(page)).ok_or(Error::RangeError)?;
        let mut piece = self.pieces.swap_remove(index);
        while piece.size_bits > PAGE_BITS {
            piece = self.halve(memory, piece, page)?;
        }
        let slot = memory.slots.take()?;
        retype(CNODE, piece.untyped, ObjectType::Frame, PAGE_BITS, slot, 1)?;
        let _ = self.pages.push((page, Frame(slot)));
        Ok(Frame(slot))
    }

    /// Splits a piece, keeps the half without `address` and answers the other.
    fn halve(&mut self, memory: &mut Memory, piece: Piece, address: u64) -> Result<Piece, InvocationError> {
        let size_bits = piece.size_bits - 1;
        let first = memory.slots.take_run(2)?;
        retype(CNODE, piece.untyped, ObjectType::Untyped, size_bits, first, 2)?;
        let low = Piece { untyped: first, address: piece.address, size_bits };
        let high = Piece { untyped: CPtr(first.0 + 1), address: piece.address + (1 << size_bits), size_bits };
        let (wanted, other) = if low.contains(address) { (low, high) } else { (high, low) };
        let _ = self.pieces.push(other);
        Ok(wanted)
    }
}
