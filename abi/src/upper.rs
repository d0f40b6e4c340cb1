//! A host's upper half (C-44): what lies where, and what root tells the host beside its [`crate::server::ServerInfo`].
//!
//! Root builds it from the host's ELF, which is linked at [`TEXT`] and begins with a [`HostHeader`]. The host's
//! thread starts at the header's `start` with `$a0` = [`SERVER_INFO`], `$a1` = [`HOST_INFO`], `$sp` = [`STACK_TOP`]
//! and `$tp` = [`IPC_BUFFER`], at privilege level 2. Everything is mapped for its whole life. What the
//! `ServerInfo` says of slots, badges, rings and arguments holds as in every server; only addresses are up here.

use crate::UPPER_HALF_START;

/// Bytes of addresses from one part to the next: one entry of the top table.
pub const PART_BYTES: u64 = 1 << 36;
/// Bytes of the large leaves that text, data, contexts and windows are mapped with.
pub const LEAF_BYTES: u64 = 1 << 25;

const fn part(number: u64) -> u64 {
    UPPER_HALF_START + number * PART_BYTES
}

/// Text, at most [`LEAF_BYTES`]; it begins with the [`HostHeader`].
pub const TEXT: u64 = part(0);
/// Read-only data, at most [`LEAF_BYTES`].
pub const RODATA: u64 = TEXT + LEAF_BYTES;
/// Data, in whole leaves; the heap follows it ([`HostInfo::heap`]).
pub const DATA: u64 = RODATA + LEAF_BYTES;
/// Per-core blocks and stacks in small leaves, nothing being mapped between them.
pub const CORES: u64 = part(1);
/// Where the [`crate::server::ServerInfo`] is, read-only.
pub const SERVER_INFO: u64 = CORES;
/// Where the [`HostInfo`] is, read-only.
pub const HOST_INFO: u64 = CORES + 2 * crate::PAGE_BYTES;
/// The first core's IPC buffer; its per-core block is in it.
pub const IPC_BUFFER: u64 = CORES + 4 * crate::PAGE_BYTES;
/// One past the first core's stack, which is [`STACK_BYTES`] with an unmapped page below.
pub const STACK_TOP: u64 = CORES + LEAF_BYTES;
/// Bytes of a stack.
pub const STACK_BYTES: u64 = 0x4_0000;
/// The contexts frame ([`crate::context::Context`]).
pub const CONTEXTS: u64 = part(2);
/// Rings, [`crate::server::RING_STRIDE`] from one to the next.
pub const RINGS: u64 = part(3);
/// The linear map: window *i* begins at `WINDOWS + i * PART_BYTES`.
pub const WINDOWS: u64 = part(4);
/// The initrd, read-only.
pub const INITRD: u64 = part(12);

/// The badge bit of the host's Timer.
pub const TIMER_BIT: u32 = crate::server::FIRST_FREE_BIT;

/// `HostHeader::magic`.
pub const HEADER_MAGIC: u64 = u64::from_le_bytes(*b"BIXIHOST");

/// The first words of a host's text: addresses in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct HostHeader {
    /// [`HEADER_MAGIC`].
    pub magic: u64,
    /// Where the thread starts.
    pub start: u64,
    /// The entry for system calls (C-23).
    pub system_call: u64,
    /// The entry for faults (C-25).
    pub fault: u64,
    /// The entry for interrupted programs (C-25).
    pub interrupted: u64,
    /// The entry for the host's own faults (C-29).
    pub own_fault: u64,
}

/// A range of mapped addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Mapped {
    /// Its first address.
    pub address: u64,
    /// Its bytes; 0: there is none.
    pub bytes: u64,
}

/// `HostInfo::magic`.
pub const INFO_MAGIC: u64 = u64::from_le_bytes(*b"BIXIHINF");

/// What a host has to work with (C-45). Its VSpaces are lower halves with an ASID, bound to every window, window *i*
/// being at the same place of the linear map.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HostInfo {
    /// [`INFO_MAGIC`].
    pub magic: u64,
    /// Slot of its Host.
    pub host_slot: u64,
    /// Slot of its Timer.
    pub timer_slot: u64,
    /// Slot of its own notification with the badge [`TIMER_BIT`], for Timer.Arm.
    pub timer_notification_slot: u64,
    /// Contexts, the header among them.
    pub contexts: u64,
    /// Slots of its VSpaces.
    pub spaces: crate::boot_info::SlotRange,
    /// Slots of its PageTables, none of which was given to a space.
    pub tables: crate::boot_info::SlotRange,
    /// What of `windows` counts.
    pub window_count: u64,
    /// The windows in the linear map.
    pub windows: [Mapped; crate::mapping::WINDOWS],
    /// Memory behind its data, all zero.
    pub heap: Mapped,
    /// The initrd as the machine was given it.
    pub initrd: Mapped,
    /// Nanoseconds since 1970 when the counter was 0, from the machine's clock read once; 0 without one.
    pub realtime_offset_ns: u64,
    /// Bytes of `seed` that count: 0 when the machine gave none.
    pub seed_bytes: u64,
    /// For random numbers, from the machine.
    pub seed: [u8; 64],
}

const _: () = assert!(size_of::<HostInfo>() <= 16384);
