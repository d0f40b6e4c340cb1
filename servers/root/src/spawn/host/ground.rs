//! What a host's programs are made of: address spaces, page tables, and the windows that all memory is in (C-45).

use abi::boot_info::SlotRange;
use abi::description::HostPlan;
use abi::mapping::WINDOWS;
use abi::object::ASIDS_PER_POOL;
use abi::upper::{self as place, HostInfo, Mapped, PART_BYTES};
use abi::{CPtr, Error, ObjectType, PAGE_BITS, PAGE_BYTES};
use heapless::Vec;
use runtime::InvocationError;
use runtime::memory::{DEPTH, Memory, Piece};
use runtime::space::{Access, map};
use runtime::stubs::{AsidPool, Frame, VSpace};

use super::TABLES_PART;
use crate::boot::{ASID_CONTROL, CNODE};
use crate::spawn::{Building, SpawnError, Step};
use crate::territory::take_pieces;

/// Base-2 logarithm of a VSpace's bytes.
const SPACE_BITS: u8 = PAGE_BITS + 1;
/// Base-2 logarithm of the bytes of an Untyped that becomes a pool of identifiers.
const POOL_BITS: u8 = 12;
/// Most objects that one Retype makes.
const BATCH: u64 = 256;
/// The smallest window: what is smaller stays with root.
const LEAST_WINDOW_BITS: u8 = 20;
/// The largest: a Frame's largest size.
const MOST_WINDOW_BITS: u8 = 36;

impl Building<'_, '_> {
    /// Makes all of it. Everything else of the host's and of other servers' was taken before.
    pub(super) fn ground(&mut self, plan: HostPlan, info: &mut HostInfo) -> Result<(), SpawnError> {
        let root = &mut *self.order.root;
        let spaces = take_pieces(root, u64::from(plan.spaces) << SPACE_BITS).step("memory for spaces")?;
        let tables = (root.pool.bytes() / TABLES_PART).next_multiple_of(PAGE_BYTES);
        let tables = take_pieces(root, tables).step("memory for page tables")?;
        info.tables = self.page_tables(&tables).step("page tables")?;
        let windows = self.windows(info).step("windows")?;
        info.spaces = self.spaces(&spaces, &windows).step("spaces")?;
        Ok(())
    }

    fn page_tables(&mut self, pieces: &[Piece]) -> Result<SlotRange, InvocationError> {
        let count = |piece: &Piece| 1_u64 << (piece.size_bits - PAGE_BITS);
        let total = pieces.iter().map(count).sum();
        let start = self.information.take_slots(total).0;
        let mut next = start;
        for piece in pieces {
            for size in batches(count(piece)) {
                self.retype_for_host(piece.untyped, ObjectType::PageTable, PAGE_BITS, CPtr(next), size)?;
                next += size;
            }
        }
        Ok(SlotRange { start, end: next })
    }

    /// Makes Frames of the largest pieces that are left, and maps them in the linear map.
    fn windows(&mut self, info: &mut HostInfo) -> Result<Vec<Frame, WINDOWS>, InvocationError> {
        let mut windows = Vec::new();
        let places = (place::WINDOWS..).step_by(usize::try_from(PART_BYTES).unwrap_or(usize::MAX));
        for (window, address) in info.windows.iter_mut().zip(places) {
            let size_bits = self.order.root.pool.largest_bits().min(MOST_WINDOW_BITS);
            if size_bits < LEAST_WINDOW_BITS {
                break;
            }
            let frame = Frame(self.order.root.make(ObjectType::Frame, size_bits)?);
            map(&mut self.memory, self.space, frame, address, Access::ReadWrite)?;
            windows.push(frame).map_err(|_| Error::RangeError)?;
            *window = Mapped { address, bytes: 1 << size_bits };
            info.window_count += 1;
        }
        Ok(windows)
    }

    /// Makes the spaces in slots of root's, where they can be assigned and bound, then moves them to the host's.
    fn spaces(&mut self, pieces: &[Piece], windows: &[Frame]) -> Result<SlotRange, InvocationError> {
        let count = |piece: &Piece| 1_u64 << (piece.size_bits - SPACE_BITS);
        let total = pieces.iter().map(count).sum();
        let start = self.information.take_slots(total).0;
        let workbench = self.order.root.slots.take_run(BATCH.min(total))?;
        let mut pools = Pools { memory: &mut self.memory, current: None };
        let mut next = start;
        for piece in pieces {
            for size in batches(count(piece)) {
                let first = workbench;
                runtime::memory::retype(CNODE, piece.untyped, ObjectType::VSpace, SPACE_BITS, first, size)?;
                for slot in first.0..first.0 + size {
                    let space = VSpace(CPtr(slot));
                    pools.assign(space)?;
                    for (frame, number) in windows.iter().zip(0..) {
                        space.bind_window(*frame, number)?;
                    }
                    self.cnode.move_capability(CNODE, next, u64::from(self.radix), slot, DEPTH)?;
                    next += 1;
                }
            }
        }
        Ok(SlotRange { start, end: next })
    }
}

/// How many objects each Retype makes.
fn batches(count: u64) -> impl Iterator<Item = u64> {
    (0..count)
        .step_by(usize::try_from(BATCH).unwrap_or(usize::MAX))
        .map(move |done| (count - done).min(BATCH))
}

/// Identifiers for the spaces, a pool after the other.
struct Pools<'a> {
    memory: &'a mut Memory,
    /// The pool that is being used, and how many it has left.
    current: Option<(AsidPool, usize)>,
}

impl Pools<'_> {
    fn assign(&mut self, space: VSpace) -> Result<(), InvocationError> {
        let (pool, left) = match self.current {
            Some((pool, left)) if left != 0 => (pool, left),
            _ => (self.make()?, ASIDS_PER_POOL),
        };
        self.current = Some((pool, left - 1));
        pool.assign(space)
    }

    fn make(&mut self) -> Result<AsidPool, InvocationError> {
        let untyped = self.memory.take_untyped(POOL_BITS)?;
        let slot = self.memory.slots.take()?;
        ASID_CONTROL.make_pool(untyped, CNODE, slot.0, DEPTH)?;
        Ok(AsidPool(slot))
    }
}
