//! Reading and writing a thread's registers from outside.
//!
//! A thread that waits goes on waiting when its registers are written, and what it waits for overwrites
//! the message registers; a thread that is stopped, or that the writing resumes, has forgotten its wait and
//! goes on with exactly these registers.

use core::cell::Cell;

use abi::Error;

use super::{life, register, state};
use crate::arch::Machine;
use crate::capability::cap::Cap;
use crate::failure::Failure;
use crate::ipc::cancel;
use crate::kernel::Kernel;
use crate::object::store::Ref;
use crate::object::thread::{Tcb, ThreadState, attempt};
use crate::syscall::invoke::{Answer, Arguments, Target};

/// Registers of a thread.
const REGISTERS: u64 = 32;

/// CopyRegisters: suspends the source first.
const SUSPEND_SOURCE: u64 = 1;
/// CopyRegisters: resumes the target.
const RESUME_TARGET: u64 = 2;
/// CopyRegisters: pc, `$sp`, `$fp`, callee-saved.
const FRAME: u64 = 4;
/// CopyRegisters: all others.
const REST: u64 = 8;
const ALL_FLAGS: u64 = SUSPEND_SOURCE | RESUME_TARGET | FRAME | REST;

/// A thread's call is under way while it names itself, and its registers are the call's; the registers of a
/// host whose program runs are its context's (C-28).
fn check<M: Machine>(k: &Kernel<M>, target: &Target, thread: Ref<Tcb>) -> Result<(), Failure> {
    if target.thread == thread || k.get(thread).is_in_program() {
        return Err(Error::InvalidState.into());
    }
    Ok(())
}

/// ReadRegisters.
pub(super) fn read<M: Machine>(
    k: &Kernel<M>,
    target: &Target,
    thread: Ref<Tcb>,
    arguments: &Arguments,
) -> Result<Answer, Failure> {
    check(k, target, thread)?;
    let (first, count) = (arguments.word(0), arguments.word(1));
    if first >= REGISTERS {
        return Err(arguments.refuse_word(0, Error::RangeError, REGISTERS));
    }
    if count > REGISTERS - first {
        return Err(arguments.refuse_word(1, Error::RangeError, REGISTERS - first));
    }
    let (first, count) = (index(first), index(count));
    state::settle_thread_pointer(k.get(thread));
    Ok(Answer::Registers { thread, first, count })
}

/// WriteRegisters.
pub(super) fn write<M: Machine>(
    k: &mut Kernel<M>,
    target: &Target,
    thread: Ref<Tcb>,
    arguments: &Arguments,
) -> Result<(), Failure> {
    check(k, target, thread)?;
    let (resume, first) = (arguments.word(0), arguments.word(1));
    if resume > 1 {
        return Err(arguments.refuse_word(0, Error::RangeError, 1));
    }
    let values = arguments.further_words(k, target.thread);
    if first > REGISTERS || values.len() as u64 > REGISTERS - first {
        return Err(arguments.refuse_word(1, Error::RangeError, REGISTERS));
    }
    rewrite(k, thread, if resume == 1 { Then::Resume } else { Then::Stay }, |tcb| {
        for (number, value) in (index(first)..).zip(values) {
            set(tcb, number, value);
        }
    })
}

/// CopyRegisters.
pub(super) fn copy<M: Machine>(
    k: &mut Kernel<M>,
    target: &Target,
    thread: Ref<Tcb>,
    arguments: &Arguments,
) -> Result<(), Failure> {
    check(k, target, thread)?;
    let Cap::Tcb(source) = k.get(arguments.cap_slot(0)?).cap() else {
        return Err(Failure::about(Error::InvalidCapability, 0, 0));
    };
    if k.get(source).is_in_program() {
        return Err(Failure::about(Error::InvalidState, 0, 0));
    }
    let flags = arguments.word(0);
    if flags & !ALL_FLAGS != 0 {
        return Err(arguments.refuse_word(0, Error::InvalidArgument, ALL_FLAGS));
    }
    if flags & SUSPEND_SOURCE != 0 {
        life::suspend(k, source);
    }
    state::settle_thread_pointer(k.get(source));
    let values = k.get(source).registers.each_ref().map(Cell::get);
    rewrite(k, thread, if flags & RESUME_TARGET != 0 { Then::Resume } else { Then::Stay }, |tcb| {
        for (number, value) in values.into_iter().enumerate() {
            if flags & (if is_frame(number) { FRAME } else { REST }) != 0 {
                set(tcb, number, value);
            }
        }
    })
}

/// Writes a register; `$tp` stays so past the thread's next calls too.
fn set(tcb: &Tcb, number: usize, value: u64) {
    if let Some(place) = tcb.registers.get(number) {
        place.set(value);
    }
    if number == register::TP {
        tcb.tls_base.set(value);
    }
}

const fn is_frame(number: usize) -> bool {
    matches!(number, register::PC | register::SP | register::FP | 23..=register::S8)
}

/// What a thread does once its registers are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    /// It goes on with them.
    Resume,
    /// What it did before.
    Stay,
}

fn rewrite<M: Machine>(
    k: &mut Kernel<M>,
    thread: Ref<Tcb>,
    then: Then,
    change: impl FnOnce(&Tcb),
) -> Result<(), Failure> {
    let state = k.get(thread).thread_state();
    if state == ThreadState::Inactive || then == Then::Resume && state != ThreadState::Runnable {
        cancel::forget(k, thread);
    }
    k.get(thread).attempt.set(attempt::FIRST);
    state::leave_fully(k, thread);
    change(k.get(thread));
    if then == Then::Resume { life::resume(k, thread) } else { Ok(()) }
}

/// A register's number, checked to be at most 32.
fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
