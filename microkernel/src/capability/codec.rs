//! How a [`Cap`] lies in the two words of a [`Slot`].
//!
//! Object word: the object's window address with a [`tag`] in the low six bits; types without an object
//! have the tag alone. Data word, by type:
//!
//! | type | data |
//! | --- | --- |
//! | Untyped | size bits 5:0, device 6, free in 64 bytes 37:7, clean end in 16 KiB 60:38 |
//! | CNode | radix 5:0, guard's bits 11:6, guard's value 63:12 |
//! | Endpoint, Notification | badge |
//! | PageTable, Frame | size bits 5:0 (0 for tables), device 6, mapped 7, ASID 23:8, page number 57:24 (its top bit: upper half) |
//! | Host | size bits 5:0 |
//! | PageTable in a stock | ASID 23:8, stock 62:24, 63 set |
//! | SchedControl, IrqHandler | number of the core, of the line |
//! | Zombie | radix 5:0 (63: a Tcb, 32 and on: a Host's size bits), slots that remain 63:6 |

use core::mem::offset_of;

use abi::{PAGE_BITS, Rights};

use super::cap::{Cap, FrameCap, Guard, Mapping, Slot, UntypedCap, ZombieKind, tag};
use crate::address::{VirtAddr, WindowAddr};
use crate::arch::{CoreId, IrqLine};
use crate::object::store::Ref;
use crate::object::thread::Tcb;

/// Where a Tcb's slots begin in it.
pub const TCB_SLOTS_OFFSET: u64 = offset_of!(Tcb, slots) as u64;
/// What stands for the radix in the Zombie of a Tcb.
const ZOMBIE_TCB: u64 = 63;
/// What is added to the size bits of a Host, which are below 31, in its Zombie; no CNode's radix is so large.
const ZOMBIE_HOST: u8 = 32;
/// Units of an Untyped's `free`.
const FREE_BITS: u32 = 6;

/// Bits of a data word: `width` of them from `shift` on.
#[derive(Clone, Copy)]
struct Field {
    shift: u32,
    width: u32,
}

const fn field(shift: u32, width: u32) -> Field {
    Field { shift, width }
}

impl Field {
    const fn get(self, word: u64) -> u64 {
        word >> self.shift & ((1 << self.width) - 1)
    }

    /// The low eight bits of the field, for those that have no more.
    const fn get_u8(self, word: u64) -> u8 {
        let [low, ..] = self.get(word).to_le_bytes();
        low
    }

    const fn put(self, value: u64) -> u64 {
        (value & ((1 << self.width) - 1)) << self.shift
    }
}

const SIZE_BITS: Field = field(0, 6);
const DEVICE: Field = field(6, 1);
const UNTYPED_FREE: Field = field(7, 31);
const UNTYPED_CLEAN: Field = field(38, 23);
const GUARD_BITS: Field = field(6, 6);
const GUARD_VALUE: Field = field(12, 52);
const MAPPED: Field = field(7, 1);
const ASID: Field = field(8, 16);
const PAGE_NUMBER: Field = field(24, 34);
const STOCK: Field = field(24, 39);
const GIVEN: Field = field(63, 1);
const ZOMBIE_REMAINING: Field = field(6, 58);

impl Slot {
    /// The capability in the slot.
    pub fn cap(&self) -> Cap {
        decode(self.object.get(), self.data.get())
    }

    /// Puts a capability into the slot and leaves its links as they are.
    ///
    /// The data is written first: a hot path on another core that reads meanwhile finds the slot empty or
    /// whole (C-50).
    pub fn set_cap(&self, cap: Cap) {
        let (object, data) = encode(cap);
        self.data.set(data);
        self.object.set(object);
    }

    /// True when the slot holds no capability.
    pub fn is_empty(&self) -> bool {
        self.object.get() & tag::MASK == tag::NULL
    }
}

/// The two words of a capability. Rights that its type does not have are left out, and an endpoint's GRANT
/// brings GRANT_REPLY with it.
pub fn encode(cap: Cap) -> (u64, u64) {
    match cap {
        Cap::Null => (tag::NULL, 0),
        Cap::Untyped(untyped) => (untyped.base.0 | tag::UNTYPED, encode_untyped(&untyped)),
        Cap::CNode { base, radix, guard } => (
            base.raw() | tag::CNODE,
            SIZE_BITS.put(radix.into()) | GUARD_BITS.put(guard.bits.into()) | GUARD_VALUE.put(guard.value),
        ),
        Cap::Tcb(thread) => (thread.raw() | tag::TCB, 0),
        Cap::Endpoint { endpoint, badge, rights } => {
            (endpoint.raw() | tag::ENDPOINT | with_grant_reply(rights).raw(), badge)
        }
        Cap::Notification { notification, badge, rights } => {
            (notification.raw() | tag::NOTIFICATION | rights.intersection(Rights::READ_WRITE).raw(), badge)
        }
        Cap::Reply { reply, rights } => {
            (reply.raw() | tag::REPLY | u64::from(rights.contains(Rights::GRANT)), 0)
        }
        Cap::SchedContext(context) => (context.raw() | tag::SCHED_CONTEXT, 0),
        Cap::SchedControl(CoreId(core)) => (tag::SCHED_CONTROL, core as u64),
        Cap::AsidControl => (tag::ASID_CONTROL, 0),
        Cap::AsidPool(pool) => (pool.raw() | tag::ASID_POOL, 0),
        Cap::PageTable { table, mapping } => (table.raw() | tag::PAGE_TABLE, encode_mapping(mapping)),
        Cap::GivenTable { table, asid, stock } => {
            (table.raw() | tag::PAGE_TABLE, GIVEN.put(1) | ASID.put(asid.into()) | STOCK.put(stock))
        }
        Cap::Frame(frame) => (
            frame.base.0 | tag::FRAME | frame.rights.intersection(Rights::READ_WRITE).raw(),
            SIZE_BITS.put(frame.size_bits.into())
                | DEVICE.put(frame.is_device.into())
                | encode_mapping(frame.mapping),
        ),
        Cap::VSpace(space) => (space.raw() | tag::VSPACE, 0),
        Cap::Timer(timer) => (timer.raw() | tag::TIMER, 0),
        Cap::IrqControl => (tag::IRQ_CONTROL, 0),
        Cap::IrqHandler(IrqLine(line)) => (tag::IRQ_HANDLER, line),
        Cap::Debug => (tag::DEBUG, 0),
        Cap::HostControl => (tag::HOST_CONTROL, 0),
        Cap::Host { host, size_bits } => (host.raw() | tag::HOST, SIZE_BITS.put(size_bits.into())),
        Cap::Zombie { base, kind: ZombieKind::CNode { radix }, remaining } => {
            (base.raw() | tag::ZOMBIE, SIZE_BITS.put(radix.into()) | ZOMBIE_REMAINING.put(remaining))
        }
        Cap::Zombie { base, kind: ZombieKind::Host { size_bits }, remaining } => (
            base.raw() | tag::ZOMBIE,
            SIZE_BITS.put((ZOMBIE_HOST + size_bits).into()) | ZOMBIE_REMAINING.put(remaining),
        ),
        Cap::Zombie { base, kind: ZombieKind::Tcb, remaining } => (
            (base.raw() - TCB_SLOTS_OFFSET) | tag::ZOMBIE,
            SIZE_BITS.put(ZOMBIE_TCB) | ZOMBIE_REMAINING.put(remaining),
        ),
    }
}

/// The capability that two words stand for; `Null` for words that stand for none.
pub fn decode(object: u64, data: u64) -> Cap {
    let tag = object & tag::MASK;
    let address = object & !tag::MASK;
    let Some(object) = Ref::<Slot>::from_raw(address) else { return decode_without_object(tag, data) };
    match tag {
        tag::UNTYPED => Cap::Untyped(decode_untyped(WindowAddr(address), data)),
        tag::CNODE => Cap::CNode {
            base: object,
            radix: SIZE_BITS.get_u8(data),
            guard: Guard { bits: GUARD_BITS.get_u8(data), value: GUARD_VALUE.get(data) },
        },
        tag::TCB => Cap::Tcb(object.cast()),
        tag::SCHED_CONTEXT => Cap::SchedContext(object.cast()),
        tag::ASID_POOL => Cap::AsidPool(object.cast()),
        tag::PAGE_TABLE if GIVEN.get(data) != 0 => {
            Cap::GivenTable { table: object.cast(), asid: asid(data), stock: STOCK.get(data) }
        }
        tag::PAGE_TABLE => Cap::PageTable { table: object.cast(), mapping: decode_mapping(data) },
        tag::VSPACE => Cap::VSpace(object.cast()),
        tag::TIMER => Cap::Timer(object.cast()),
        tag::HOST => Cap::Host { host: object.cast(), size_bits: SIZE_BITS.get_u8(data) },
        tag::ZOMBIE => decode_zombie(object, data),
        tag::NOTIFICATION..tag::REPLY => {
            Cap::Notification { notification: object.cast(), badge: data, rights: rights(tag, 3) }
        }
        tag::REPLY..tag::FRAME => Cap::Reply {
            reply: object.cast(),
            rights: if tag & 1 == 0 { Rights::NONE } else { Rights::GRANT },
        },
        tag::FRAME..tag::ENDPOINT => Cap::Frame(FrameCap {
            base: WindowAddr(address),
            size_bits: SIZE_BITS.get_u8(data),
            is_device: DEVICE.get(data) != 0,
            rights: rights(tag, 3),
            mapping: decode_mapping(data),
        }),
        tag::ENDPOINT..48 => Cap::Endpoint { endpoint: object.cast(), badge: data, rights: rights(tag, 15) },
        _ => Cap::Null,
    }
}

fn decode_without_object(tag: u64, data: u64) -> Cap {
    match tag {
        tag::SCHED_CONTROL => Cap::SchedControl(CoreId(usize::try_from(data).unwrap_or(usize::MAX))),
        tag::ASID_CONTROL => Cap::AsidControl,
        tag::IRQ_CONTROL => Cap::IrqControl,
        tag::IRQ_HANDLER => Cap::IrqHandler(IrqLine(data)),
        tag::DEBUG => Cap::Debug,
        tag::HOST_CONTROL => Cap::HostControl,
        _ => Cap::Null,
    }
}

/// The rights in a tag.
fn rights(tag: u64, mask: u64) -> Rights {
    Rights::from_raw(tag & mask).unwrap_or(Rights::NONE)
}

/// Who may send any capability may send the one to answer with.
fn with_grant_reply(rights: Rights) -> Rights {
    if rights.contains(Rights::GRANT) { rights.union(Rights::GRANT_REPLY) } else { rights }
}

fn encode_untyped(untyped: &UntypedCap) -> u64 {
    let size = 1 << untyped.size_bits;
    // Rounded down, so that nothing is taken for clean that is not; a whole small Untyped is one unit.
    let clean = if untyped.clean_end >= size {
        size.div_ceil(abi::PAGE_BYTES)
    } else {
        untyped.clean_end >> PAGE_BITS
    };
    SIZE_BITS.put(untyped.size_bits.into())
        | DEVICE.put(untyped.is_device.into())
        | UNTYPED_FREE.put(untyped.free >> FREE_BITS)
        | UNTYPED_CLEAN.put(clean)
}

fn decode_untyped(base: WindowAddr, data: u64) -> UntypedCap {
    let size_bits = SIZE_BITS.get_u8(data);
    UntypedCap {
        base,
        size_bits,
        is_device: DEVICE.get(data) != 0,
        free: UNTYPED_FREE.get(data) << FREE_BITS,
        clean_end: (UNTYPED_CLEAN.get(data) << PAGE_BITS).min(1 << size_bits),
    }
}

fn encode_mapping(mapping: Option<Mapping>) -> u64 {
    mapping.map_or(0, |Mapping { asid, address }| {
        MAPPED.put(1) | ASID.put(asid.into()) | PAGE_NUMBER.put(address.0 >> PAGE_BITS)
    })
}

fn decode_mapping(data: u64) -> Option<Mapping> {
    let address = PAGE_NUMBER.get(data) << PAGE_BITS;
    // Bit 47 stands for all above it.
    let upper = if address < abi::LOWER_HALF_END { 0 } else { abi::UPPER_HALF_START };
    (MAPPED.get(data) != 0).then(|| Mapping { asid: asid(data), address: VirtAddr(upper | address) })
}

fn asid(data: u64) -> u16 {
    let [low, high, ..] = ASID.get(data).to_le_bytes();
    u16::from_le_bytes([low, high])
}

fn decode_zombie(object: Ref<Slot>, data: u64) -> Cap {
    let remaining = ZOMBIE_REMAINING.get(data);
    match SIZE_BITS.get_u8(data) {
        radix @ 0..ZOMBIE_HOST => Cap::Zombie { base: object, kind: ZombieKind::CNode { radix }, remaining },
        sum if u64::from(sum) != ZOMBIE_TCB => {
            let kind = ZombieKind::Host { size_bits: sum - ZOMBIE_HOST };
            Cap::Zombie { base: object, kind, remaining }
        }
        _ => Cap::Zombie { base: tcb_slots(object.cast()), kind: ZombieKind::Tcb, remaining },
    }
}

/// The first of a thread's own slots.
pub const fn tcb_slots(thread: Ref<Tcb>) -> Ref<Slot> {
    thread.cast::<Slot>().element(TCB_SLOTS_OFFSET / size_of::<Slot>() as u64)
}

const _: () = assert!(TCB_SLOTS_OFFSET.is_multiple_of(size_of::<Slot>() as u64));

#[cfg(test)]
mod tests;
