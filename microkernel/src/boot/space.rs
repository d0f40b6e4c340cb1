//! Root's address space: pages and the tables for them, from the first address to the last.

use abi::boot_archive::{RootSegment, SegmentAccess};
use abi::{PAGE_BITS, PAGE_BYTES, Rights};

use super::memory::BootMemory;
use super::{BootError, reference, take_cleared};
use crate::address::{PhysAddr, VirtAddr};
use crate::arch::Machine;
use crate::kernel::Kernel;
use crate::object::store::Ref;
use crate::object::translation::{Attributes, Entry, Level, Stop, walk};
use crate::object::vspace::{self, VSpace};

/// How a page of root's may be used; there is no write with execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Read.
    Constant,
    /// Read and write.
    Data,
    /// Read and execute.
    Text,
}

impl Use {
    const fn of(access: SegmentAccess) -> Self {
        match access {
            SegmentAccess::Read => Self::Constant,
            SegmentAccess::ReadWrite => Self::Data,
            SegmentAccess::ReadExecute => Self::Text,
        }
    }

    const fn leaf(self, memory: PhysAddr) -> Entry {
        let (rights, attributes) = match self {
            Self::Constant => (Rights::READ, Attributes::NO_EXECUTE),
            Self::Data => (Rights::READ_WRITE, Attributes::NO_EXECUTE),
            Self::Text => (Rights::READ, Attributes::empty()),
        };
        Entry::leaf(Level::Last, memory, rights, attributes)
    }
}

/// Maps a page, with fresh tables where they are missing.
///
/// # Errors
///
/// [`BootError::Overlap`] when something is there already, [`BootError::OutOfMemory`].
pub fn map<M: Machine>(
    k: &Kernel<M>,
    memory: &mut BootMemory,
    space: Ref<VSpace>,
    address: u64,
    (page, usage): (PhysAddr, Use),
) -> Result<(), BootError> {
    let place = loop {
        match walk(k, vspace::root(space), VirtAddr(address), Level::Last) {
            Ok(place) => break place,
            Err(Stop::Missing(place)) => {
                let table = reference(take_cleared(&k.machine, memory, PAGE_BITS)?)?;
                k.get(place.table).set_entry(place.index, Entry::table(table));
            }
            Err(Stop::Leaf(_)) => return Err(BootError::Overlap(address)),
        }
    };
    let table = k.get(place.table);
    if !table.entry(place.index).is_nothing() {
        return Err(BootError::Overlap(address));
    }
    table.set_entry(place.index, usage.leaf(page));
    Ok(())
}

/// Maps a fresh page of zeros and answers where it lies.
///
/// # Errors
///
/// As [`map`].
pub fn map_fresh<M: Machine>(
    k: &Kernel<M>,
    memory: &mut BootMemory,
    space: Ref<VSpace>,
    address: u64,
    usage: Use,
) -> Result<PhysAddr, BootError> {
    let page = take_cleared(&k.machine, memory, PAGE_BITS)?;
    map(k, memory, space, address, (page, usage))?;
    Ok(page)
}

/// Maps a segment whose bytes are `data` and lie at `archive` plus the segment's offset.
///
/// What is never written is mapped where it lies; a last partial page goes on with zeros there too. What
/// can be written is copied, and what lies behind the bytes is fresh.
///
/// # Errors
///
/// As [`map`].
pub fn map_segment<M: Machine>(
    k: &Kernel<M>,
    memory: &mut BootMemory,
    space: Ref<VSpace>,
    archive: PhysAddr,
    (segment, data): (RootSegment, &[u8]),
) -> Result<(), BootError> {
    let usage = Use::of(segment.access);
    for offset in (0..segment.mem_size).step_by(1 << PAGE_BITS) {
        let address = segment.vaddr + offset;
        if offset < segment.file_size && usage != Use::Data {
            let page = PhysAddr(archive.0 + segment.offset + offset);
            map(k, memory, space, address, (page, usage))?;
            continue;
        }
        let page = map_fresh(k, memory, space, address, usage)?;
        let rest = usize::try_from(offset).ok().and_then(|start| data.get(start..)).unwrap_or_default();
        fill(k, page, rest);
    }
    Ok(())
}

/// Writes the first page of `bytes`, or what there is of it, to a page of zeros.
fn fill<M: Machine>(k: &Kernel<M>, page: PhysAddr, bytes: &[u8]) {
    for (at, bytes) in (0..PAGE_BYTES).step_by(8).zip(bytes.chunks(8)) {
        let mut word = [0; 8];
        for (place, byte) in word.iter_mut().zip(bytes) {
            *place = *byte;
        }
        k.machine.store(page.in_window().offset(at), u64::from_le_bytes(word));
    }
}
