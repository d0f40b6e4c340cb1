//! What root tells a server when it starts: which capabilities lie where, its channels, devices, memory and image.
//!
//! Root puts it into a Frame that it maps read-only at [`SERVER_INFO_ADDRESS`]. A server starts with `$a0` = that
//! address, `$sp` at [`STACK_TOP`], `$tp` = [`IPC_BUFFER_ADDRESS`], and its capability space as [`slot`] says.
//! Whatever waits in a server waits for one notification: each channel and each interrupt has a badge bit of it.

use crate::boot_info::{SelfTests, SlotRange};

/// Where a server finds its [`ServerInfo`].
pub const SERVER_INFO_ADDRESS: u64 = 0x1_0000_0000;
/// Where a server finds its IPC buffer.
pub const IPC_BUFFER_ADDRESS: u64 = 0x1_0001_0000;
/// One past a server's stack, which is [`STACK_BYTES`] with an unmapped page below.
pub const STACK_TOP: u64 = 0x1_1000_0000;
/// Bytes of a server's stack.
pub const STACK_BYTES: u64 = 0x4_0000;
/// Where the pages of a server's devices begin.
pub const DEVICES_ADDRESS: u64 = 0x1_8000_0000;
/// Where a server's rings begin; each channel has [`RING_STRIDE`] bytes of addresses.
pub const RINGS_ADDRESS: u64 = 0x1_9000_0000;
/// Bytes of addresses from one ring to the next.
pub const RING_STRIDE: u64 = 0x100_0000;
/// From here on root maps nothing: a server's own memory.
pub const FREE_ADDRESS: u64 = 0x1_c000_0000;
/// `ServerInfo::magic`.
pub const MAGIC: u64 = u64::from_le_bytes(*b"BIXISERV");
/// Base-2 logarithm of the slots in a server's CNode; addresses are slot numbers, as root's are.
pub const CNODE_RADIX: u8 = 12;

/// Slots of a server's CNode at its start. Those up to `DEBUG`, and `HOST_CONTROL`, are numbered as root's are.
pub mod slot {
    pub use crate::boot_info::slot::{
        ASID_CONTROL, CNODE, DEBUG, HOST_CONTROL, IPC_BUFFER, SCHED_CONTEXT, SCHED_CONTROL, TCB, VSPACE,
    };
    /// The endpoint at which root hears the server's last words ([`super::parent`]).
    pub const PARENT: u64 = 11;
    /// The notification that the server waits for.
    pub const NOTIFICATION: u64 = 12;
    /// First slot that root fills as it needs: see [`super::ServerInfo`].
    pub const FIRST_FREE: u64 = 16;
}

/// Labels of messages that a server sends to root at [`slot::PARENT`].
pub mod parent {
    /// The server has ended; word 0 is its status, 0 to 255.
    pub const EXIT: u64 = 0x7001;
    /// The server has panicked; word 0 is the length of a text in bytes, which follows in the other words.
    pub const PANIC: u64 = 0x7002;
    /// The system is to end with the status in word 0: root writes the exit record and powers off.
    pub const SHUT_DOWN: u64 = 0x7003;
    /// Most bytes of a panic's text.
    pub const TEXT_BYTES: usize = (crate::message::MAX_WORDS - 1) * 8;
}

/// Most channels that a server has, its badge bits being 0 to 15.
pub const MAX_CHANNELS: usize = 16;
/// Most devices that a server has, its badge bits being 16 to 31.
pub const MAX_DEVICES: usize = 16;
/// The badge bit of a server's first device.
pub const FIRST_DEVICE_BIT: u32 = 16;
/// The first badge bit that root leaves to the server.
pub const FIRST_FREE_BIT: u32 = 32;
/// Most Untypeds that a server gets.
pub const MAX_UNTYPEDS: usize = 32;
/// Most segments of a server's image.
pub const MAX_SEGMENTS: usize = crate::boot_archive::MAX_SEGMENTS;
/// Bytes of all arguments together, each with a NUL behind it.
pub const ARGUMENT_BYTES: usize = 2048;

/// A name, padded with NULs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Name(pub [u8; 32]);

impl Name {
    /// As much of `text` as fits.
    pub fn new(text: &str) -> Self {
        let mut name = [0; 32];
        for (place, byte) in name.iter_mut().zip(text.bytes()) {
            *place = byte;
        }
        Self(name)
    }

    /// The name; what is no UTF-8 reads as empty.
    pub fn as_str(&self) -> &str {
        let length = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        self.0.get(..length).and_then(|bytes| core::str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

/// One Untyped given to a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct UntypedGrant {
    /// Its slot.
    pub slot: u64,
    /// Base-2 logarithm of its bytes.
    pub size_bits: u64,
}

/// Which end of a channel a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It submits: the ring's producer.
    Producer,
    /// It completes: the ring's consumer.
    Consumer,
}

impl End {
    /// The number that stands in a [`ChannelGrant`].
    pub const fn code(self) -> u64 {
        match self {
            Self::Producer => 1,
            Self::Consumer => 2,
        }
    }

    /// The end that a number stands for.
    pub fn from_code(code: u64) -> Option<Self> {
        [Self::Producer, Self::Consumer].into_iter().find(|end| end.code() == code)
    }
}

/// One end of a channel (C-61). Its badge bit is its index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ChannelGrant {
    /// The channel's name, the same at both ends.
    pub name: Name,
    /// The other end's server.
    pub peer: Name,
    /// Where the ring is mapped: a [`crate::ring::RingHeader`] and the entries.
    pub address: u64,
    /// Entries, a power of two.
    pub entries: u64,
    /// Slot of the capability that wakes the other end.
    pub signal_slot: u64,
    /// [`End`] as a number.
    pub end: u64,
}

/// One device. Its badge bit is [`FIRST_DEVICE_BIT`] + its index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct DeviceGrant {
    /// Its name.
    pub name: Name,
    /// Where its first register is mapped, uncached.
    pub address: u64,
    /// Bytes of its registers.
    pub bytes: u64,
    /// Slot of the handler of its interrupt, whose notification is set; 0 without an interrupt.
    pub irq_slot: u64,
    /// Unused.
    pub reserved: u64,
}

/// One segment of the server's own image: its Frames lie in consecutive slots, one for each 16 KiB page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ImageSegment {
    /// Address of the first page.
    pub address: u64,
    /// Pages.
    pub pages: u64,
    /// Slot of the first page's Frame.
    pub first_slot: u64,
    /// [`crate::boot_archive::SegmentAccess`] as a number.
    pub access: u64,
}

/// What a server reads at [`SERVER_INFO_ADDRESS`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ServerInfo {
    /// [`MAGIC`].
    pub magic: u64,
    /// The server's name.
    pub name: Name,
    /// How often root has started it before.
    pub restarts: u64,
    /// Slots that are empty.
    pub free_slots: SlotRange,
    /// Its thread's priority, 0 to 255.
    pub priority: u64,
    /// Counter ticks a second (`rdtime`).
    pub timer_hz: u64,
    /// What the machine enforces.
    pub self_tests: SelfTests,
    /// Entries of `untypeds` that count; the same for the other tables.
    pub untyped_count: u64,
    /// See `untyped_count`.
    pub channel_count: u64,
    /// See `untyped_count`.
    pub device_count: u64,
    /// See `untyped_count`.
    pub segment_count: u64,
    /// Bytes of `arguments` that count.
    pub argument_bytes: u64,
    /// Memory to retype from.
    pub untypeds: [UntypedGrant; MAX_UNTYPEDS],
    /// Channels.
    pub channels: [ChannelGrant; MAX_CHANNELS],
    /// Devices.
    pub devices: [DeviceGrant; MAX_DEVICES],
    /// The image.
    pub segments: [ImageSegment; MAX_SEGMENTS],
    /// The arguments, a NUL behind each.
    pub arguments: [u8; ARGUMENT_BYTES],
}

const _: () = assert!(size_of::<ServerInfo>() <= 16384);
