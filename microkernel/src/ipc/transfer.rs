//! What a message carries from one thread to another: words, and capabilities as far as they may go.
//!
//! The checks have been made (`meeting`), so nothing here fails. Words past the registers are copied from
//! buffer to buffer, each read once (C-5). Capabilities follow seL4 (manual §4.2.2): one to the endpoint
//! that the message goes through arrives as its badge; of the others the first goes into the receive slot,
//! if that is offered and empty; at the first that cannot go, transfer ends. The receiver's information
//! says how many arrived, and which of them as badges.

use core::mem::offset_of;

use abi::message::{IpcBuffer, MAX_CAPS, MAX_WORDS, REGISTER_WORDS, ReceiveSlot};
use abi::{CPtr, MessageInfo, Rights};

use crate::address::WindowAddr;
use crate::arch::Machine;
use crate::capability::cap::{Cap, Slot};
use crate::capability::{derivation, space};
use crate::ipc::meeting::Sending;
use crate::kernel::Kernel;
use crate::object::endpoint::Endpoint;
use crate::object::store::Ref;
use crate::object::thread::{Tcb, register, send_flag};

/// Copies a message to its receiver: a fault, or what the sender's registers and buffer have.
pub fn message<M: Machine>(
    k: &mut Kernel<M>,
    endpoint: Ref<Endpoint>,
    sending: &Sending,
    receiver: Ref<Tcb>,
) {
    let sender = k.get(sending.sender);
    let received = k.get(receiver);
    if let Some(fault) = sender.pending_fault().filter(|_| sending.has(send_flag::FAULT)) {
        let [_, words @ ..] = &sender.fault;
        let info = MessageInfo::new(fault.label(), fault.words());
        crate::ipc::answer(k, receiver, sending.badge, info, &words.each_ref().map(|word| word.get()));
        return;
    }
    received.registers[register::A0].set(sending.badge);
    let info = copy_words(k, sending.sender, receiver);
    let rights = if sending.has(send_flag::GRANT) { Rights::GRANT } else { Rights::NONE };
    copy_caps(k, sending.sender, receiver, Some(endpoint), rights, info);
}

/// Copies an answer to its caller; `rights` says whether capabilities may go along.
pub fn answer<M: Machine>(k: &mut Kernel<M>, server: Ref<Tcb>, caller: Ref<Tcb>, rights: Rights) {
    k.get(caller).registers[register::A0].set(0);
    let info = copy_words(k, server, caller);
    copy_caps(k, server, caller, None, rights, info);
}

/// Where in a thread's IPC buffer a byte lies.
fn in_buffer<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>, offset: usize) -> WindowAddr {
    WindowAddr(k.get(thread).ipc_buffer.get()).offset(offset as u64)
}

/// Copies the words; returns the information as sent, with the capabilities that it promises.
fn copy_words<M: Machine>(k: &Kernel<M>, sender: Ref<Tcb>, receiver: Ref<Tcb>) -> MessageInfo {
    let info = k.get(sender).message_info();
    let from = k.get(sender).message_registers();
    let to = k.get(receiver).message_registers();
    for (index, (from, to)) in from.zip(to).enumerate() {
        to.set(if index < info.length() { from.get() } else { 0 });
    }
    for index in REGISTER_WORDS..info.length().min(MAX_WORDS) {
        let offset = offset_of!(IpcBuffer, words) + 8 * index;
        let word = k.machine.load(in_buffer(k, sender, offset));
        k.machine.store(in_buffer(k, receiver, offset), word);
    }
    info
}

/// Transfers what capabilities can go, and writes the receiver's information.
fn copy_caps<M: Machine>(
    k: &mut Kernel<M>,
    sender: Ref<Tcb>,
    receiver: Ref<Tcb>,
    endpoint: Option<Ref<Endpoint>>,
    rights: Rights,
    info: MessageInfo,
) {
    let promised = if rights.contains(Rights::GRANT) { info.caps() } else { 0 };
    let mut offered = if promised == 0 { None } else { receive_slot(k, receiver) };
    let mut arrived = 0;
    let mut unwrapped = 0;
    for (index, bit) in (0..promised.min(MAX_CAPS)).zip([1, 2, 4]) {
        let place = offset_of!(IpcBuffer, caps) + 8 * index;
        let name = k.machine.load(in_buffer(k, sender, place));
        let Ok(slot) = space::lookup(k, sender, CPtr(name)) else { break };
        let cap = k.get(slot).cap();
        match cap {
            Cap::Endpoint { endpoint: through, badge, .. }
                if endpoint == Some(through) && has_buffer(k, receiver) =>
            {
                k.machine.store(in_buffer(k, receiver, place), badge);
                unwrapped |= bit;
            }
            _ => {
                let Some(into) = offered.take() else { break };
                let Ok(derived) = derivation::derive(k, slot, cap) else { break };
                if derived == Cap::Null {
                    break;
                }
                derivation::insert(k, derived, slot, into);
            }
        }
        arrived += 1;
    }
    let length = u8::try_from(info.length()).unwrap_or(u8::MAX);
    let info = MessageInfo::new(info.label(), length).with_caps(arrived).with_unwrapped(unwrapped);
    k.get(receiver).registers[register::A1].set(info.raw());
}

fn has_buffer<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) -> bool {
    k.get(thread).ipc_buffer.get() != 0
}

/// The empty slot that a receiver offers, if it offers one.
fn receive_slot<M: Machine>(k: &mut Kernel<M>, receiver: Ref<Tcb>) -> Option<Ref<Slot>> {
    if !has_buffer(k, receiver) {
        return None;
    }
    let field =
        |offset: usize| k.machine.load(in_buffer(k, receiver, offset_of!(IpcBuffer, receive) + offset));
    let offered = ReceiveSlot {
        root: field(offset_of!(ReceiveSlot, root)),
        index: field(offset_of!(ReceiveSlot, index)),
        depth: field(offset_of!(ReceiveSlot, depth)),
    };
    let root = space::lookup(k, receiver, CPtr(offered.root)).ok().filter(|_| offered.root != 0)?;
    let root = k.get(root).cap();
    let slot = space::lookup_slot(k, &root, offered.index, offered.depth).ok()?;
    (k.get(slot).cap() == Cap::Null).then_some(slot)
}
