//! Faults as messages (C-4): from the thread to its handler, and the handler's answer.
//!
//! A fault is sent as a Call is, through the endpoint capability in the Tcb's slot for it: a passive
//! handler runs on the faulting thread's context. A thread whose fault nobody can handle becomes inactive,
//! and the log says so.

use core::cell::Cell;
use core::fmt::Write as _;

use abi::Rights;
use abi::fault::Fault;

use crate::arch::Machine;
use crate::capability::cap::Cap;
use crate::failure::Failure;
use crate::ipc::meeting::Sending;
use crate::ipc::send::{self, Patience};
use crate::kernel::Kernel;
use crate::log::Log;
use crate::object::store::Ref;
use crate::object::thread::{Tcb, TcbSlot, name, register, send_flag, slots, state};

/// The current thread has faulted: its handler is told, or it is stopped.
pub fn raise<M: Machine>(k: &mut Kernel<M>, thread: Ref<Tcb>, fault: Fault, words: [u64; 4]) {
    let [label, places @ ..] = &k.get(thread).fault;
    label.set(fault.label());
    for (place, word) in places.iter().zip(words) {
        place.set(word);
    }
    let handler = k.get(slots::slot(thread, TcbSlot::FaultHandler)).cap();
    let Cap::Endpoint { endpoint, badge, .. } = handler else {
        return abandon(k, thread, "it has no handler");
    };
    let mut flags = send_flag::FAULT | send_flag::DONATE;
    if let Cap::Endpoint { rights, .. } = handler
        && rights.contains(Rights::GRANT)
    {
        flags |= send_flag::GRANT;
    }
    let sending = Sending { sender: thread, badge, flags };
    match send::send(k, endpoint, &sending, Patience::Wait) {
        Ok(()) | Err(Failure::Preempted) => {}
        Err(Failure::Refused(refusal)) => abandon(k, thread, refusal.error.meaning()),
    }
}

/// True for a capability through which faults can be sent and answered.
pub fn is_handler(cap: &Cap) -> bool {
    match cap {
        Cap::Endpoint { rights, .. } => {
            rights.contains(Rights::WRITE)
                && (rights.contains(Rights::GRANT) || rights.contains(Rights::GRANT_REPLY))
        }
        _ => false,
    }
}

/// The handler has answered: label 0 resumes the thread, any other leaves it inactive. An answer of one
/// word to a user exception sets the pc.
pub fn answered<M: Machine>(k: &mut Kernel<M>, thread: Ref<Tcb>, handler: Ref<Tcb>) {
    let tcb = k.get(thread);
    let answer = k.get(handler).message_info();
    let fault = tcb.pending_fault();
    tcb.fault[0].set(0);
    if answer.label() != 0 {
        return state::deactivate(k, thread);
    }
    if fault == Some(Fault::UserException) && answer.length() == 1 {
        let pc = k.get(handler).message_register(0).map_or(0, Cell::get);
        tcb.registers[register::PC].set(pc);
    }
    state::leave_fully(k, thread);
    state::wake(k, thread);
}

/// Nobody will answer the thread's fault: it becomes inactive, out of every queue.
pub fn abandon<M: Machine>(k: &mut Kernel<M>, thread: Ref<Tcb>, why: &str) {
    let tcb = k.get(thread);
    let [label, words @ ..] = &tcb.fault;
    let label = label.replace(0);
    let [pc, address, cause, instruction] = words.each_ref().map(|word| word.get());
    let name = name::of(tcb);
    state::deactivate(k, thread);
    // The log does not fail: whether its line is seen is not the kernel's to decide.
    let _ = writeln!(
        Log(&mut k.machine),
        "thread {name}: fault {label} at pc {pc:#x}, address {address:#x}, cause {cause:#x}, \
         instruction {instruction:#x}; stopped: {why}"
    );
}
