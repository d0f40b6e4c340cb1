//! Messages between threads: the reading order is `send`, `receive`, `meeting`, `transfer`, `reply`.
//!
//! Owns how a call ends in a thread's registers. A thread leaves a call by the minimal exit, which loads
//! `$a0`, `$a1` and the message registers as they lie in the Tcb and nothing else that a call changes; so
//! whoever ends a call writes all of them, and words past the message are zero (C-8).

pub mod cancel;
pub mod fault;
pub mod meeting;
pub mod receive;
pub mod reply;
pub mod send;
pub mod transfer;
pub mod wait_queue;

use abi::MessageInfo;

use crate::arch::Machine;
use crate::failure::Refusal;
use crate::kernel::Kernel;
use crate::object::store::Ref;
use crate::object::thread::{Tcb, register, state};

/// Bytes of the instruction `syscall 0`.
const SYSCALL_BYTES: u64 = 4;

/// Ends a thread's call: badge, information, and words, at most those that travel in registers.
pub fn answer<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>, badge: u64, info: MessageInfo, words: &[u64]) {
    let tcb = k.get(thread);
    tcb.registers[register::A0].set(badge);
    tcb.registers[register::A1].set(info.raw());
    let words = words.iter().copied().chain(core::iter::repeat(0));
    for (register, word) in tcb.message_registers().zip(words) {
        register.set(word);
    }
}

/// Ends a thread's call: it did what it should and brings nothing back.
pub fn succeed<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    answer(k, thread, 0, MessageInfo::from_kernel(0, 0), &[]);
}

/// Ends a thread's call with an error (C-2).
pub fn refuse<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>, refusal: Refusal) {
    let info = MessageInfo::from_kernel(refusal.error.label(), 2);
    answer(k, thread, 0, info, &[refusal.argument, refusal.detail]);
}

/// The way in leaves the pc at the call; whatever becomes of it, the thread goes on behind it.
pub fn past_call<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    let pc = &k.get(thread).registers[register::PC];
    pc.set(pc.get().wrapping_add(SYSCALL_BYTES));
}

/// Lets the thread make its call again, with the registers that it had.
pub fn back_to_call<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    let tcb = k.get(thread);
    let pc = &tcb.registers[register::PC];
    pc.set(pc.get().wrapping_sub(SYSCALL_BYTES));
    state::leave_fully(k, thread);
}
