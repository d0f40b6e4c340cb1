//! A capability and the slot that holds it.
//!
//! A slot is 32 bytes: the object's window address with a tag of type and rights in the low six bits, a
//! word of data, and the links of the derivation list. Objects are aligned to 64 bytes at least. The hot
//! path tests the tag and follows the pointer; the rest of the kernel sees the decoded [`Cap`], which
//! [`super::codec`] translates.

use core::cell::Cell;
use core::mem::offset_of;

use abi::{ObjectType, Rights};

use crate::address::{VirtAddr, WindowAddr};
use crate::arch::{CoreId, IrqLine};
use crate::object::asid::AsidPool;
use crate::object::endpoint::Endpoint;
use crate::object::host::Host;
use crate::object::notification::Notification;
use crate::object::page_table::PageTable;
use crate::object::reply::Reply;
use crate::object::sched_context::SchedContext;
use crate::object::store::Ref;
use crate::object::thread::Tcb;
use crate::object::timer::Timer;
use crate::object::vspace::VSpace;

/// Tags: the low six bits of a slot's first word.
pub mod tag {
    /// The tag's bits.
    pub const MASK: u64 = 63;
    /// An empty slot.
    pub const NULL: u64 = 0;
    /// Untyped memory.
    pub const UNTYPED: u64 = 1;
    /// A CNode.
    pub const CNODE: u64 = 2;
    /// A Tcb.
    pub const TCB: u64 = 3;
    /// A SchedContext.
    pub const SCHED_CONTEXT: u64 = 4;
    /// SchedControl.
    pub const SCHED_CONTROL: u64 = 5;
    /// AsidControl.
    pub const ASID_CONTROL: u64 = 6;
    /// An AsidPool.
    pub const ASID_POOL: u64 = 7;
    /// A PageTable.
    pub const PAGE_TABLE: u64 = 8;
    /// A VSpace.
    pub const VSPACE: u64 = 9;
    /// IrqControl.
    pub const IRQ_CONTROL: u64 = 10;
    /// An IrqHandler.
    pub const IRQ_HANDLER: u64 = 11;
    /// Debug.
    pub const DEBUG: u64 = 12;
    /// HostControl.
    pub const HOST_CONTROL: u64 = 13;
    /// A Host.
    pub const HOST: u64 = 14;
    /// A Timer.
    pub const TIMER: u64 = 15;
    /// A CNode, Tcb or Host that is being taken apart.
    pub const ZOMBIE: u64 = 16;
    /// A Notification; bits 0 and 1 are the rights to wait and to signal.
    pub const NOTIFICATION: u64 = 20;
    /// A Reply; bit 0 is the right to grant.
    pub const REPLY: u64 = 24;
    /// A Frame; bits 0 and 1 are the rights to read and to write.
    pub const FRAME: u64 = 28;
    /// An Endpoint; bits 0 to 3 are [`abi::Rights`].
    pub const ENDPOINT: u64 = 32;
    /// What the tag of an Endpoint that may be called has set.
    pub const CALLABLE: u64 = ENDPOINT | 2 | 8;
    /// What the tag of an Endpoint that may be received from has set.
    pub const RECEIVABLE: u64 = ENDPOINT | 1;
}

/// Flags in the low bits of a slot's `next` link.
pub mod flag {
    /// The capability is the original of its object or badge: what follows may derive from it.
    pub const REVOCABLE: u64 = 1;
    /// The capability is the first with its badge.
    pub const FIRST_BADGED: u64 = 2;
    /// The bits of the slot's [`super::Place`], which belong to the slot, not to its capability.
    pub const PLACE: u64 = 7 << PLACE_SHIFT;
    /// Where they begin.
    pub const PLACE_SHIFT: u32 = 2;
    /// All flags.
    pub const MASK: u64 = 31;
}

/// What a slot is part of, so that whoever fills or empties it can tell the object that mirrors it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Place {
    /// A CNode, or the kernel's own: nobody mirrors it.
    CNode = 0,
    /// A Tcb: the one that the slot's address lies in.
    Tcb = 1,
    /// The first two slots of a Host: its contexts and its upper half.
    Host = 2,
    /// One context of a Host: its address space.
    Context = 3,
    /// The windows of a VSpace (C-41): a Frame takes along what the space shows of it.
    Window = 4,
}

impl Place {
    const ALL: [Self; 5] = [Self::CNode, Self::Tcb, Self::Host, Self::Context, Self::Window];
}

impl Slot {
    /// What the slot is part of.
    pub fn place(&self) -> Place {
        let number = (self.next.get() & flag::PLACE) >> flag::PLACE_SHIFT;
        Place::ALL.into_iter().find(|place| *place as u64 == number).unwrap_or(Place::CNode)
    }

    /// Lets nobody be told of the slot any longer.
    pub fn forget_place(&self) {
        self.next.set(self.next.get() & !flag::PLACE);
    }

    /// Says what the slot is part of; it is empty.
    pub fn set_place(&self, place: Place) {
        self.next.set((place as u64) << flag::PLACE_SHIFT);
    }
}

/// A capability slot.
#[derive(Clone, Debug, Default)]
#[repr(C, align(32))]
pub struct Slot {
    /// The object's address and the tag.
    pub object: Cell<u64>,
    /// Badge, guard, mapping, or sizes.
    pub data: Cell<u64>,
    /// The next slot in derivation order, and [`flag`]s.
    pub next: Cell<u64>,
    /// The previous slot in derivation order.
    pub previous: Cell<u64>,
}

const _: () = assert!(size_of::<Slot>() == 1 << abi::object::SLOT_BITS);
const _: () = assert!(offset_of!(Slot, data) == 8);

/// A CNode's guard: `bits` address bits that must equal `value`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Guard {
    /// How many bits, 0 to 58.
    pub bits: u8,
    /// What they must be, below 2^52.
    pub value: u64,
}

impl Guard {
    /// The guard that a message's word asks for: bits in the low six, the value above (seL4 manual §3.3.1).
    ///
    /// `None` for one that no address of 64 bits can match in a CNode of `radix`.
    pub const fn from_word(word: u64, radix: u8) -> Option<Self> {
        let [bits, ..] = (word & 63).to_le_bytes();
        let value = word >> 6;
        let fits = value >> 52 == 0 && (bits >= 52 || value >> bits == 0);
        if fits && bits + radix <= 64 { Some(Self { bits, value }) } else { None }
    }
}

/// Untyped memory and how much of it is given away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UntypedCap {
    /// Where it begins.
    pub base: WindowAddr,
    /// Base-2 logarithm of its bytes, 6 to 36.
    pub size_bits: u8,
    /// Device memory: only Frames and Untypeds come from it, and nothing is cleared.
    pub is_device: bool,
    /// Bytes given away, from the start; a multiple of 64.
    pub free: u64,
    /// Bytes from `free` up to here are zero; what lies above may hold old data. Kept in units of 16 KiB,
    /// rounded down, where it is not the whole size: Retype clears as much as it hands out, so that a
    /// large Untyped costs nothing before it is used (C-3).
    pub clean_end: u64,
}

/// Where a Frame or PageTable is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The address space's identifier from its pool.
    pub asid: u16,
    /// The first address mapped, a multiple of 16 KiB in either half.
    pub address: VirtAddr,
}

/// A Frame capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameCap {
    /// Where the memory begins.
    pub base: WindowAddr,
    /// Base-2 logarithm of its bytes, 14 to 36.
    pub size_bits: u8,
    /// Device memory.
    pub is_device: bool,
    /// READ and WRITE, as far as held.
    pub rights: Rights,
    /// Where this capability maps it.
    pub mapping: Option<Mapping>,
}

/// What is being taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZombieKind {
    /// A CNode with 2^radix slots.
    CNode {
        /// Its radix.
        radix: u8,
    },
    /// A Tcb's own slots.
    Tcb,
    /// A Host's own slots.
    Host {
        /// Base-2 logarithm of the Host's bytes.
        size_bits: u8,
    },
}

/// A decoded capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cap {
    /// Nothing.
    Null,
    /// Memory to retype.
    Untyped(UntypedCap),
    /// An array of 2^radix slots.
    CNode {
        /// Its first slot.
        base: Ref<Slot>,
        /// Base-2 logarithm of its slots.
        radix: u8,
        /// Its guard.
        guard: Guard,
    },
    /// A thread.
    Tcb(Ref<Tcb>),
    /// An endpoint.
    Endpoint {
        /// The object.
        endpoint: Ref<Endpoint>,
        /// What receivers see of the sender.
        badge: u64,
        /// What may be done.
        rights: Rights,
    },
    /// A notification.
    Notification {
        /// The object.
        notification: Ref<Notification>,
        /// The bits that a signal sets.
        badge: u64,
        /// What may be done.
        rights: Rights,
    },
    /// A reply object.
    Reply {
        /// The object.
        reply: Ref<Reply>,
        /// GRANT or nothing.
        rights: Rights,
    },
    /// A scheduling context.
    SchedContext(Ref<SchedContext>),
    /// The right to configure scheduling contexts of a core.
    SchedControl(CoreId),
    /// The right to make ASID pools.
    AsidControl,
    /// A pool of address-space identifiers.
    AsidPool(Ref<AsidPool>),
    /// A page table.
    PageTable {
        /// The table.
        table: Ref<PageTable>,
        /// Where it is mapped.
        mapping: Option<Mapping>,
    },
    /// A page table that was given to a stock (C-41).
    GivenTable {
        /// The table.
        table: Ref<PageTable>,
        /// The space's identifier from its pool.
        asid: u16,
        /// Which stock: see [`crate::object::stock::Stock::id`].
        stock: u64,
    },
    /// Memory to map.
    Frame(FrameCap),
    /// An address space.
    VSpace(Ref<VSpace>),
    /// The right to make interrupt handlers.
    IrqControl,
    /// One interrupt line.
    IrqHandler(IrqLine),
    /// A timer.
    Timer(Ref<Timer>),
    /// Log and halt.
    Debug,
    /// The right to make upper halves and hosts.
    HostControl,
    /// Hosted contexts.
    Host {
        /// The object.
        host: Ref<Host>,
        /// Base-2 logarithm of its bytes.
        size_bits: u8,
    },
    /// A CNode, Tcb or Host that is being taken apart.
    Zombie {
        /// Its first slot.
        base: Ref<Slot>,
        /// What it was.
        kind: ZombieKind,
        /// Slots that may still be filled: those with an index below this.
        remaining: u64,
    },
}

impl Cap {
    /// The object's type as user space knows it; `None` for an empty slot or a zombie.
    pub const fn object_type(&self) -> Option<ObjectType> {
        Some(match self {
            Self::Null | Self::Zombie { .. } => return None,
            Self::Untyped(_) => ObjectType::Untyped,
            Self::CNode { .. } => ObjectType::CNode,
            Self::Tcb(_) => ObjectType::Tcb,
            Self::Endpoint { .. } => ObjectType::Endpoint,
            Self::Notification { .. } => ObjectType::Notification,
            Self::Reply { .. } => ObjectType::Reply,
            Self::SchedContext(_) => ObjectType::SchedContext,
            Self::SchedControl(_) => ObjectType::SchedControl,
            Self::AsidControl => ObjectType::AsidControl,
            Self::AsidPool(_) => ObjectType::AsidPool,
            Self::PageTable { .. } | Self::GivenTable { .. } => ObjectType::PageTable,
            Self::Frame(_) => ObjectType::Frame,
            Self::VSpace(_) => ObjectType::VSpace,
            Self::IrqControl => ObjectType::IrqControl,
            Self::IrqHandler(_) => ObjectType::IrqHandler,
            Self::Timer(_) => ObjectType::Timer,
            Self::Debug => ObjectType::Debug,
            Self::HostControl => ObjectType::HostControl,
            Self::Host { .. } => ObjectType::Host,
        })
    }
}
