//! What is mapped in a host's upper half beside stack and rings: image and heap, contexts, the initrd.

use abi::context::CONTEXT_BITS;
use abi::description::HostPlan;
use abi::upper::{CONTEXTS, DATA, INITRD, LEAF_BYTES, Mapped, PART_BYTES, RODATA, TEXT};
use abi::{CPtr, Error, ObjectType, PAGE_BYTES};
use loader::{HostProgram, Segment};
use runtime::InvocationError;
use runtime::space::{Access, map};
use runtime::stubs::Frame;

use crate::image::filled_leaf;
use crate::spawn::Building;

impl Building<'_, '_> {
    /// Maps text, constants, data and heap; answers where the heap is.
    pub(super) fn upper_image(
        &mut self,
        program: &HostProgram<'_>,
        plan: HostPlan,
    ) -> Result<Mapped, InvocationError> {
        self.leaves(TEXT..TEXT + LEAF_BYTES, Some(&program.text), Access::ReadExecute)?;
        if let Some(constants) = &program.constants {
            self.leaves(RODATA..RODATA + LEAF_BYTES, Some(constants), Access::Read)?;
        }
        let heap = program.data.as_ref().map_or(DATA, Segment::end_page);
        let end = (heap + plan.heap_bytes).next_multiple_of(LEAF_BYTES);
        self.leaves(DATA..end, program.data.as_ref(), Access::ReadWrite)?;
        Ok(Mapped { address: heap, bytes: end - heap })
    }

    /// Maps fresh large leaves over a range, with a segment's data in them.
    fn leaves(
        &mut self,
        range: core::ops::Range<u64>,
        segment: Option<&Segment<'_>>,
        access: Access,
    ) -> Result<(), InvocationError> {
        for leaf in (range.start..range.end).step_by(leaf_step()) {
            let (at, data) = segment.map_or((0, &[][..]), |segment| within(segment, leaf));
            let frame = filled_leaf(self.order.root, at, data)?;
            map(&mut self.memory, self.space, frame, leaf, access)?;
        }
        Ok(())
    }

    /// Makes the contexts frame, of so many contexts' bits.
    pub(super) fn contexts(&mut self, bits: u8) -> Result<Frame, InvocationError> {
        let frame = Frame(self.order.root.make(ObjectType::Frame, bits + CONTEXT_BITS)?);
        map(&mut self.memory, self.space, frame, CONTEXTS, Access::ReadWrite)?;
        Ok(frame)
    }

    /// Maps the initrd, each of its Frames at the same place relative to the part as it has in memory, where it is
    /// aligned to its size.
    pub(super) fn initrd(&mut self) -> Result<Mapped, InvocationError> {
        let info = self.order.boot.info;
        if info.initrd_bytes == 0 {
            return Ok(Mapped::default());
        }
        let place = |physical: u64| INITRD + physical % PART_BYTES;
        let end = info.initrd_address.saturating_add(info.initrd_bytes - 1);
        if place(end) < place(info.initrd_address) {
            return Err(Error::RangeError.into());
        }
        for slot in info.initrd_slots.start..info.initrd_slots.end {
            let frame = Frame(CPtr(slot));
            let address = place(frame.get_address()?);
            map(&mut self.memory, self.space, frame, address, Access::Read)?;
        }
        Ok(Mapped { address: place(info.initrd_address), bytes: info.initrd_bytes })
    }
}

/// What of a segment's data lies in the leaf at `leaf`, and where in it.
fn within<'a>(segment: &Segment<'a>, leaf: u64) -> (usize, &'a [u8]) {
    let skipped = usize::try_from(leaf.saturating_sub(segment.vaddr)).unwrap_or(usize::MAX);
    let at = usize::try_from(segment.vaddr.saturating_sub(leaf)).unwrap_or(usize::MAX);
    // What would not fit into the leaf is left out where it is filled.
    (at, segment.data.get(skipped..).unwrap_or_default())
}

fn leaf_step() -> usize {
    usize::try_from(LEAF_BYTES).unwrap_or(usize::MAX)
}

const _: () = assert!(LEAF_BYTES.is_multiple_of(PAGE_BYTES));
