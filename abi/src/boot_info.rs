//! What the kernel tells root at boot: which capabilities lie where, and what the machine is.
//!
//! The kernel puts it into a Frame that it maps read-only for root at [`BOOT_INFO_ADDRESS`]. Root starts
//! with `$a0` = that address, `$sp` at the top of a stack, and its capability space as [`slot`] says.

/// Where root finds the [`BootInfo`].
pub const BOOT_INFO_ADDRESS: u64 = 0x1_0000_0000;
/// Where root finds its IPC buffer.
pub const IPC_BUFFER_ADDRESS: u64 = 0x1_0001_0000;
/// Where root finds the boot archive, read-only, the archive's whole 16 KiB pages.
pub const ARCHIVE_ADDRESS: u64 = 0x2_0000_0000;
/// One past root's stack, which is 256 KiB with an unmapped page below.
pub const STACK_TOP: u64 = 0x1_1000_0000;
/// `BootInfo::magic`.
pub const MAGIC: u64 = u64::from_le_bytes(*b"BIXIINFO");
/// Base-2 logarithm of the slots in root's CNode; addresses are slot numbers (guard 0, 64 bits in all).
pub const ROOT_CNODE_RADIX: u8 = 12;

/// Slots of root's CNode at boot.
pub mod slot {
    /// Root's own Tcb.
    pub const TCB: u64 = 1;
    /// Root's CNode.
    pub const CNODE: u64 = 2;
    /// Root's VSpace.
    pub const VSPACE: u64 = 3;
    /// Root's scheduling context.
    pub const SCHED_CONTEXT: u64 = 4;
    /// The Frame of root's IPC buffer.
    pub const IPC_BUFFER: u64 = 5;
    /// SchedControl of the boot core; the others follow from [`FIRST_FREE`] on in later versions.
    pub const SCHED_CONTROL: u64 = 6;
    /// AsidControl.
    pub const ASID_CONTROL: u64 = 7;
    /// The AsidPool that root's own VSpace is in.
    pub const ASID_POOL: u64 = 8;
    /// IrqControl.
    pub const IRQ_CONTROL: u64 = 9;
    /// Debug; empty in builds without it.
    pub const DEBUG: u64 = 10;
    /// The Frame of the boot information.
    pub const BOOT_INFO: u64 = 11;
    /// HostControl.
    pub const HOST_CONTROL: u64 = 13;
    /// First slot that the kernel fills as it needs: see [`super::BootInfo`].
    pub const FIRST_FREE: u64 = 16;
}

/// A run of slots, the second bound not in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SlotRange {
    /// First slot.
    pub start: u64,
    /// One past the last.
    pub end: u64,
}

/// Most Untypeds that the kernel hands over.
pub const MAX_UNTYPEDS: usize = 128;

/// One Untyped handed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct UntypedDescription {
    /// Physical address.
    pub physical_address: u64,
    /// Base-2 logarithm of its bytes.
    pub size_bits: u32,
    /// 1: device memory.
    pub is_device: u32,
}

/// What the boot self-tests saw (C-60); 1 means that the machine enforces or has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SelfTests {
    /// PLV2 is denied privileged instructions (C-21).
    pub plv2_denied: u32,
    /// Addresses whose bits 63:47 differ are refused (C-22).
    pub canonical_checked: u32,
    /// NX through `ldpte`.
    pub no_execute: u32,
    /// NR through `ldpte`.
    pub no_read: u32,
    /// RPLV through `ldpte`.
    pub restricted_plv: u32,
    /// `STLBPS` takes the page size.
    pub stlb_page_size: u32,
    /// SAVE registers present.
    pub save_registers: u32,
    /// Bits of a physical address.
    pub physical_bits: u32,
    /// A hypervisor is there.
    pub hypervisor: u32,
    /// Instructions that the self-tests took, as the kernel's own counter of steps bounds them; 0: not counted.
    pub reserved: u32,
}

/// What root reads at [`BOOT_INFO_ADDRESS`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BootInfo {
    /// [`MAGIC`].
    pub magic: u64,
    /// The Untypeds' slots, in the order of `untypeds`.
    pub untyped_slots: SlotRange,
    /// The archive's pages as Frames of 16 KiB, mapped in order from [`ARCHIVE_ADDRESS`] on.
    pub archive_slots: SlotRange,
    /// The initrd's Untyped or Frames; both bounds 0 without one.
    pub initrd_slots: SlotRange,
    /// Slots that are empty.
    pub free_slots: SlotRange,
    /// Bytes of the archive.
    pub archive_bytes: u64,
    /// Physical address of the initrd.
    pub initrd_address: u64,
    /// Bytes of the initrd.
    pub initrd_bytes: u64,
    /// Counter ticks a second (`rdtime`).
    pub timer_hz: u64,
    /// Processors that the machine has.
    pub cores: u64,
    /// Bytes of `rng_seed` that the machine gave.
    pub rng_seed_bytes: u64,
    /// Seed of the random numbers, from the device tree.
    pub rng_seed: [u8; 64],
    /// What the machine enforces.
    pub self_tests: SelfTests,
    /// Bytes of memory in Untypeds beyond [`MAX_UNTYPEDS`], the smallest ones: nobody has them.
    pub lost_bytes: u64,
    /// The Untypeds.
    pub untypeds: [UntypedDescription; MAX_UNTYPEDS],
}
