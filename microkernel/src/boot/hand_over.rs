//! What root is given: a capability for each thing that exists, and the page that says which lies where.

use abi::boot_info::{
    ARCHIVE_ADDRESS, BOOT_INFO_ADDRESS, BootInfo, IPC_BUFFER_ADDRESS, MAGIC, MAX_UNTYPEDS, ROOT_CNODE_RADIX,
    SlotRange, UntypedDescription, slot,
};
use abi::{PAGE_BITS, Rights};
use arrayvec::ArrayVec;

use super::memory::{BootMemory, Piece, Range, pieces};
use super::root::{ASID, Root};
use super::{BootError, Description};
use crate::address::{PhysAddr, VirtAddr};
use crate::arch::{CoreId, Machine};
use crate::capability::cap::{Cap, FrameCap, Mapping, UntypedCap};
use crate::capability::derivation::insert_root;
use crate::kernel::Kernel;

/// Fills root's slots and answers what its boot information is to say. All of `memory` is root's now.
///
/// # Errors
///
/// [`BootError::OutOfSlots`].
pub fn hand_over<M: Machine>(
    k: &mut Kernel<M>,
    root: &Root,
    memory: &BootMemory,
    description: &Description<'_>,
) -> Result<BootInfo, BootError> {
    fixed_slots(k, root);
    let mut slots = Slots { root, next: slot::FIRST_FREE };
    let archive_slots = archive(k, &mut slots, description)?;
    let initrd_slots = match description.initrd {
        Some(range) => initrd(k, &mut slots, range)?,
        None => SlotRange::default(),
    };
    let (untypeds, lost_bytes) = choose(memory, description.devices);
    let untyped_slots = slots.run(k, untypeds.iter().map(untyped))?;
    let free_slots = SlotRange { start: slots.next, end: 1 << ROOT_CNODE_RADIX };

    let mut info = BootInfo {
        magic: MAGIC,
        untyped_slots,
        archive_slots,
        initrd_slots,
        free_slots,
        archive_bytes: description.archive.size(),
        initrd_address: description.initrd.map_or(0, |range| range.start),
        initrd_bytes: description.initrd.map_or(0, Range::bytes),
        timer_hz: k.machine.ticks_per_second(),
        cores: description.cores,
        rng_seed_bytes: 0,
        rng_seed: [0; 64],
        self_tests: description.self_tests,
        lost_bytes,
        untypeds: [UntypedDescription::default(); MAX_UNTYPEDS],
    };
    for (place, byte) in info.rng_seed.iter_mut().zip(description.rng_seed) {
        *place = *byte;
        info.rng_seed_bytes += 1;
    }
    for (place, untyped) in info.untypeds.iter_mut().zip(untypeds) {
        *place = untyped;
    }
    Ok(info)
}

fn fixed_slots<M: Machine>(k: &mut Kernel<M>, root: &Root) {
    let page = |page: PhysAddr, rights: Rights, address: u64| {
        let mapping = Mapping { asid: ASID, address: VirtAddr(address) };
        frame(Piece { start: page, size_bits: PAGE_BITS }, rights, Some(mapping))
    };
    for (number, cap) in [
        (slot::TCB, Cap::Tcb(root.thread)),
        (slot::CNODE, root.cnode_cap()),
        (slot::VSPACE, Cap::VSpace(root.space)),
        (slot::SCHED_CONTEXT, Cap::SchedContext(root.context)),
        (slot::IPC_BUFFER, page(root.buffer, Rights::READ_WRITE, IPC_BUFFER_ADDRESS)),
        (slot::SCHED_CONTROL, Cap::SchedControl(CoreId(0))),
        (slot::ASID_CONTROL, Cap::AsidControl),
        (slot::ASID_POOL, Cap::AsidPool(root.pool)),
        (slot::IRQ_CONTROL, Cap::IrqControl),
        (slot::HOST_CONTROL, Cap::HostControl),
        (slot::DEBUG, Cap::Debug),
        (slot::BOOT_INFO, page(root.info, Rights::READ, BOOT_INFO_ADDRESS)),
    ] {
        insert_root(k, cap, root.slot(number));
    }
}

/// The archive's pages, which can be read, where they are mapped.
fn archive<M: Machine>(
    k: &mut Kernel<M>,
    slots: &mut Slots<'_>,
    description: &Description<'_>,
) -> Result<SlotRange, BootError> {
    let start = description.archive_start.0;
    let pages = (0..description.archive.size()).step_by(1 << PAGE_BITS);
    let frames = pages.map(|offset| {
        let piece = Piece { start: PhysAddr(start + offset), size_bits: PAGE_BITS };
        let mapping = Mapping { asid: ASID, address: VirtAddr(ARCHIVE_ADDRESS + offset) };
        frame(piece, Rights::READ, Some(mapping))
    });
    slots.run(k, frames)
}

/// The initial files, as the fewest Frames that can be read; an Untyped would clear them.
fn initrd<M: Machine>(
    k: &mut Kernel<M>,
    slots: &mut Slots<'_>,
    range: Range,
) -> Result<SlotRange, BootError> {
    slots.run(k, pieces(range.outer_pages()).map(|piece| frame(piece, Rights::READ, None)))
}

fn frame(piece: Piece, rights: Rights, mapping: Option<Mapping>) -> Cap {
    let base = piece.start.in_window();
    Cap::Frame(FrameCap { base, size_bits: piece.size_bits, is_device: false, rights, mapping })
}

fn untyped(description: &UntypedDescription) -> Cap {
    let [size_bits, ..] = description.size_bits.to_le_bytes();
    Cap::Untyped(UntypedCap {
        base: PhysAddr(description.physical_address).in_window(),
        size_bits,
        is_device: description.is_device != 0,
        free: 0,
        clean_end: 0,
    })
}

/// The pieces that become Untypeds: those of devices, then those of memory, each by address. Where there
/// are too many the smallest pieces of memory are left out; how many bytes these have is the second.
fn choose(memory: &BootMemory, devices: &[Range]) -> (ArrayVec<UntypedDescription, MAX_UNTYPEDS>, u64) {
    let describe = |piece: Piece, is_device: u32| UntypedDescription {
        physical_address: piece.start.0,
        size_bits: piece.size_bits.into(),
        is_device,
    };
    let mut chosen = ArrayVec::<UntypedDescription, MAX_UNTYPEDS>::new();
    let mut lost_bytes = 0;
    let of_devices = devices.iter().flat_map(|range| pieces(*range)).map(|piece| describe(piece, 1));
    for untyped in of_devices.chain(memory.pieces().map(|piece| describe(piece, 0))) {
        if chosen.is_full() {
            let of_memory = chosen.iter().enumerate().filter(|(_, other)| other.is_device == 0);
            let smallest = of_memory.map(|(index, other)| (other.size_bits, index)).min();
            match smallest {
                Some((size_bits, index)) if size_bits < untyped.size_bits => {
                    chosen.remove(index);
                    lost_bytes += 1 << size_bits;
                }
                _ => {
                    lost_bytes += 1 << untyped.size_bits;
                    continue;
                }
            }
        }
        chosen.push(untyped);
    }
    (chosen, lost_bytes)
}

/// Root's slots from the next empty one on.
struct Slots<'a> {
    root: &'a Root,
    next: u64,
}

impl Slots<'_> {
    /// Puts capabilities into the next slots, side by side.
    fn run<M: Machine>(
        &mut self,
        k: &mut Kernel<M>,
        caps: impl Iterator<Item = Cap>,
    ) -> Result<SlotRange, BootError> {
        let start = self.next;
        for cap in caps {
            if self.next >= 1 << ROOT_CNODE_RADIX {
                return Err(BootError::OutOfSlots);
            }
            insert_root(k, cap, self.root.slot(self.next));
            self.next += 1;
        }
        Ok(SlotRange { start, end: self.next })
    }
}
