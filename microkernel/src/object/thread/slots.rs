//! A thread's own capability slots, and what of the Tcb mirrors them.
//!
//! Owns `cspace_size`, `cspace_base`, `vspace` and `ipc_buffer`: the paths of a message read those, never
//! the slots. A host's `vspace` is the space of its current context, and [`host`]'s to set.

use core::mem::offset_of;

use abi::Rights;
use abi::message::IpcBuffer;

use crate::arch::Machine;
use crate::capability::cap::{Cap, FrameCap, Slot};
use crate::kernel::Kernel;
use crate::object::host;
use crate::object::store::Ref;
use crate::object::thread::{Tcb, TcbSlot, state};

/// One of a thread's slots.
#[must_use]
pub const fn slot(thread: Ref<Tcb>, which: TcbSlot) -> Ref<Slot> {
    const FIRST: u64 = (offset_of!(Tcb, slots) / size_of::<Slot>()) as u64;
    const { assert!(offset_of!(Tcb, slots).is_multiple_of(size_of::<Slot>())) };
    thread.cast::<Slot>().element(FIRST + which as u64)
}

/// Brings what mirrors the thread's slots in step with them, after any of them changed.
pub fn slots_changed<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    let tcb = k.get(thread);
    let [cspace, vspace, buffer, ..] = &tcb.slots;
    let (size, base) = match cspace.cap() {
        Cap::CNode { base, radix, guard } if guard.value == 0 && guard.bits + radix == 64 => {
            (1 << radix, base.raw())
        }
        _ => (0, 0),
    };
    tcb.cspace_size.set(size);
    tcb.cspace_base.set(base);
    if !tcb.is_host() {
        tcb.vspace.set(match vspace.cap() {
            Cap::VSpace(space) => Some(space),
            _ => None,
        });
    }
    tcb.ipc_buffer.set(match buffer.cap() {
        Cap::Frame(frame) => frame.base.0,
        _ => 0,
    });
    if tcb.is_host() {
        host::thread_slots_changed(k, thread);
    }
    state::refresh_hot(k, thread);
}

/// True for the capability of a Frame that can be an IPC buffer: 16 KiB of memory, to read and write.
#[must_use]
pub fn is_buffer(cap: &Cap) -> bool {
    const { assert!(size_of::<IpcBuffer>() == 1 << abi::PAGE_BITS) };
    match cap {
        Cap::Frame(FrameCap { size_bits, is_device, rights, .. }) => {
            *size_bits == abi::PAGE_BITS && !is_device && rights.contains(Rights::READ_WRITE)
        }
        _ => false,
    }
}
