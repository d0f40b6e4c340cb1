//! What the firmware says about the machine, as plain data: memory, what is taken of it, cores, seed.
//!
//! Owns [`MachineDescription`] and its reader of the device tree. Invariant: ranges are half-open, in
//! physical addresses; [`MachineDescription::free_memory`] gives whole 16 KiB pages that no reserved range
//! touches. Nothing here touches the machine, so all of it is tested on the developer's. Neighbour:
//! `firmware` finds the tables in memory and adds what the device tree does not say.

use arrayvec::{ArrayVec, CapacityError};
use dtoolkit::fdt::Fdt;
use dtoolkit::{Node, Property};

use crate::boot::memory::Range;

/// Most ranges of memory, and most reserved ones.
pub const MOST_RANGES: usize = 16;

/// Most free ranges: each reserved one may split another.
pub const MOST_FREE_RANGES: usize = 2 * MOST_RANGES;

/// Most cores that are listed.
pub const MOST_CORES: usize = 64;

/// Most bytes of the firmware's random seed that are kept.
pub const SEED_BYTES: usize = 64;

/// Longest command line that is kept (QEMU's limit).
pub const COMMAND_LINE_BYTES: usize = 512;

/// What a reserved range holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserved {
    /// The firmware's tables and the device tree.
    Firmware,
    /// The kernel's image.
    Kernel,
    /// The boot archive.
    Archive,
    /// Programs and files handed over at the start (newc cpio).
    InitialFiles,
}

/// The machine as the kernel starts on it.
#[derive(Clone, Debug, Default)]
pub struct MachineDescription {
    /// Memory, ascending.
    pub memory: ArrayVec<Range, MOST_RANGES>,
    /// What of it is taken, and by what.
    pub reserved: ArrayVec<(Reserved, Range), MOST_RANGES>,
    /// Cores, ascending, by the number that interrupts are routed by.
    pub cores: ArrayVec<u32, MOST_CORES>,
    /// The firmware's random seed; empty where there is none.
    pub seed: ArrayVec<u8, SEED_BYTES>,
    /// Where the initial files are.
    pub initial_files: Option<Range>,
    /// The command line.
    pub command_line: ArrayVec<u8, COMMAND_LINE_BYTES>,
    /// Rate of the stable counter.
    pub counter_frequency_hz: u64,
    /// Bits of a physical address.
    pub physical_address_bits: u32,
}

/// Why the machine's description could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescriptionError {
    /// Neither the system table nor the usual place leads to a device tree.
    NoDeviceTree,
    /// The device tree is damaged.
    BadDeviceTree,
    /// The device tree names no memory.
    NoMemory,
    /// There are more ranges than [`MOST_RANGES`].
    TooManyRanges,
}

impl<T> From<CapacityError<T>> for DescriptionError {
    fn from(_: CapacityError<T>) -> Self {
        Self::TooManyRanges
    }
}

impl MachineDescription {
    /// Reads memory, cores and seed from a flattened device tree.
    ///
    /// # Errors
    ///
    /// [`DescriptionError::BadDeviceTree`], [`DescriptionError::NoMemory`],
    /// [`DescriptionError::TooManyRanges`]. Cores beyond [`MOST_CORES`] are left out.
    pub fn from_device_tree(blob: &[u8]) -> Result<Self, DescriptionError> {
        let tree = Fdt::new(blob).map_err(|_| DescriptionError::BadDeviceTree)?;
        let mut description = Self::default();
        for node in tree.root().children() {
            match node.name_without_address() {
                "memory" => description.add_memory(node)?,
                "cpus" => description.add_cores(node),
                "chosen" => description.add_chosen(node),
                _ => {}
            }
        }
        // QEMU lists both backwards.
        description.memory.sort_unstable_by_key(|range| range.start);
        description.cores.sort_unstable();
        if description.memory.is_empty() {
            return Err(DescriptionError::NoMemory);
        }
        Ok(description)
    }

    /// Marks a range as taken.
    ///
    /// # Errors
    ///
    /// [`DescriptionError::TooManyRanges`].
    pub fn reserve(&mut self, what: Reserved, range: Range) -> Result<(), DescriptionError> {
        Ok(self.reserved.try_push((what, range))?)
    }

    /// The whole pages of memory that nothing reserved touches, ascending.
    ///
    /// # Errors
    ///
    /// [`DescriptionError::TooManyRanges`].
    pub fn free_memory(&self) -> Result<ArrayVec<Range, MOST_FREE_RANGES>, DescriptionError> {
        let mut free = ArrayVec::<Range, MOST_FREE_RANGES>::new();
        for &range in &self.memory {
            free.try_push(range.inner_pages())?;
        }
        for &(_, taken) in &self.reserved {
            let taken = taken.outer_pages();
            let mut rest = ArrayVec::<Range, MOST_FREE_RANGES>::new();
            for range in free {
                for part in without(range, taken) {
                    rest.try_push(part)?;
                }
            }
            free = rest;
        }
        free.retain(|range| range.bytes() > 0);
        Ok(free)
    }

    fn add_memory(&mut self, node: dtoolkit::fdt::FdtNode<'_>) -> Result<(), DescriptionError> {
        let ranges = node.reg().map_err(|_| DescriptionError::BadDeviceTree)?;
        for range in ranges.into_iter().flatten() {
            let start = range.address::<u64>().map_err(|_| DescriptionError::BadDeviceTree)?;
            let size = range.size::<u64>().map_err(|_| DescriptionError::BadDeviceTree)?;
            self.memory.try_push(Range::sized(start, size))?;
        }
        Ok(())
    }

    fn add_cores(&mut self, node: dtoolkit::fdt::FdtNode<'_>) {
        for core in node.children().filter(|child| child.name_without_address() == "cpu") {
            let number = core.property("reg").and_then(|property| property.value_as::<u32>().ok());
            self.cores.extend(number.filter(|_| !self.cores.is_full()));
        }
    }

    fn add_chosen(&mut self, node: dtoolkit::fdt::FdtNode<'_>) {
        if let Some(property) = node.property("rng-seed") {
            self.seed = property.value().iter().copied().take(SEED_BYTES).collect();
        }
    }
}

/// What remains of `range` without `taken`: nothing, one part or two; an empty range is one part.
fn without(range: Range, taken: Range) -> impl Iterator<Item = Range> {
    let apart = !range.overlaps(taken);
    let before = Range { start: range.start, end: range.end.min(taken.start) };
    let after = Range { start: range.start.max(taken.end), end: range.end };
    let parts = if apart { [Some(range), None] } else { [Some(before), Some(after)] };
    parts.into_iter().flatten().filter(move |part| apart || part.start < part.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn machine(memory: &[(u64, u64)], reserved: &[(u64, u64)]) -> MachineDescription {
        let range = |&(start, end): &(u64, u64)| Range { start, end };
        MachineDescription {
            memory: memory.iter().map(range).collect(),
            reserved: reserved.iter().map(|pair| (Reserved::Kernel, range(pair))).collect(),
            ..MachineDescription::default()
        }
    }

    fn free(memory: &[(u64, u64)], reserved: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let ranges = machine(memory, reserved).free_memory().expect("few ranges");
        ranges.iter().map(|range| (range.start, range.end)).collect()
    }

    #[test]
    fn reserved_ranges_split_memory() {
        let whole = [(0, 256 * MIB)];
        assert_eq!(free(&whole, &[]), [(0, 256 * MIB)]);
        assert_eq!(free(&whole, &[(0, 2 * MIB)]), [(2 * MIB, 256 * MIB)]);
        assert_eq!(free(&whole, &[(255 * MIB, 300 * MIB)]), [(0, 255 * MIB)]);
        assert_eq!(
            free(&whole, &[(0, 2 * MIB), (4 * MIB, 5 * MIB)]),
            [(2 * MIB, 4 * MIB), (5 * MIB, 256 * MIB)]
        );
        assert_eq!(free(&whole, &[(0, 512 * MIB)]), []);
    }

    #[test]
    fn pages_that_a_reserved_byte_touches_are_not_free() {
        assert_eq!(
            free(&[(0, MIB)], &[(0x8001, 0x8002)]),
            [(0, 0x8000), (0xc000, MIB)],
            "one byte takes one page"
        );
        assert_eq!(free(&[(1, 0x8000)], &[]), [(0x4000, 0x8000)], "a part of a page is no page");
    }

    #[test]
    fn overlapping_reserved_ranges_are_taken_once() {
        assert_eq!(free(&[(0, MIB)], &[(0, 0x8000), (0x4000, 0xc000), (0, 0x4000)]), [(0xc000, MIB)]);
    }

    #[test]
    fn ranges_at_the_end_of_the_address_space_do_not_wrap() {
        assert_eq!(free(&[(u64::MAX - 5, u64::MAX)], &[]), []);
        assert_eq!(Range::sized(u64::MAX - 5, 100).end, u64::MAX);
    }

    #[test]
    fn qemus_device_tree_is_understood() {
        let blob = include_bytes!("qemu_virt.dtb"); // 10.0.2, -m 1G -smp 2
        let machine = MachineDescription::from_device_tree(blob).expect("a sound tree");
        let memory: Vec<_> = machine.memory.iter().map(|range| (range.start, range.end)).collect();
        assert_eq!(memory, [(0, 256 * MIB), (2048 * MIB, 2816 * MIB)]);
        assert_eq!(machine.cores.as_slice(), [0, 1]);
        assert_eq!(machine.seed.len(), 32);
    }

    #[test]
    fn damaged_trees_are_refused() {
        let damaged = MachineDescription::from_device_tree(&[0; 64]);
        assert_eq!(damaged.map(|_| ()), Err(DescriptionError::BadDeviceTree));
    }
}
