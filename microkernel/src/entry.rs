//! The ways in: a call of the slow path, an exception, an interrupt. Each leaves the thread to run in
//! [`crate::kernel::Core::current`], its registers in the Tcb, and the machine set for it; the machine's
//! exit code does the rest (DESIGN §1.2).
//!
//! The machine's entry code has stored the current thread's registers (the pc of a call is the call's
//! own), and set [`crate::object::thread::Exit::Full`] for an exception or interrupt.

use abi::fault::Fault;
use abi::{CPtr, Syscall};

use crate::arch::{Interrupt, Machine};
use crate::event_log::Event;
use crate::failure::Failure;
use crate::ipc::{self, fault};
use crate::kernel::Kernel;
use crate::object::store::Ref;
use crate::object::thread::{Tcb, attempt, register};
use crate::object::{host, interrupt, timer, vspace};
use crate::scheduler::{budget, choose};
use crate::syscall::dispatch;

/// Timer, which is no line, in the event log.
const TIMER_EVENT: u64 = 64;
/// Ecodes of page faults: load, store and fetch from an invalid page, a write to a clean one, no read, no
/// execute, privilege (manual, table 21).
const PAGE_FAULTS: core::ops::RangeInclusive<u64> = 1..=7;
/// In a user exception's cause, EsubCode begins at this bit.
const SUBCODE_SHIFT: u32 = 6;

/// What the machine says of an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exception {
    /// ESTAT.Ecode.
    pub code: u64,
    /// ESTAT.EsubCode.
    pub subcode: u64,
    /// BADV.
    pub address: u64,
    /// BADI.
    pub instruction: u64,
}

/// A call that the hot path does not handle.
pub fn handle_syscall<M: Machine>(k: &mut Kernel<M>) {
    let thread = k.current();
    let tcb = k.get(thread);
    let (operation, name) = (tcb.registers[register::A7].get(), tcb.registers[register::A0].get());
    let again = tcb.attempt.get() == attempt::PREEMPTED;
    tcb.attempt.set(if again { attempt::AGAIN } else { attempt::FIRST });
    k.log.note(Event::Syscall(operation, name));
    ipc::past_call(k, thread);
    let done = match Syscall::from_raw(operation) {
        Some(operation) => dispatch::dispatch(k, thread, operation, CPtr(name)),
        None => Err(abi::Error::UnknownSyscall.into()),
    };
    match done {
        Ok(()) => k.get(thread).attempt.set(attempt::FIRST),
        Err(Failure::Refused(refusal)) => {
            k.get(thread).attempt.set(attempt::FIRST);
            ipc::refuse(k, thread, refusal);
        }
        Err(Failure::Preempted) => make_again(k, thread),
    }
    leave(k);
}

/// The call gives way to an interrupt: the thread makes it again from its beginning (C-3).
fn make_again<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    ipc::back_to_call(k, thread);
    k.get(thread).attempt.set(attempt::PREEMPTED);
}

/// An exception of the current thread: a fault for its handler.
pub fn handle_exception<M: Machine>(k: &mut Kernel<M>, exception: Exception) {
    let Exception { code, subcode, address, instruction } = exception;
    let thread = k.current();
    let pc = k.get(thread).registers[register::PC].get();
    k.log.note(Event::Fault(code, address));
    if host::call::own_exception(k, thread, &exception) {
        return;
    }
    if PAGE_FAULTS.contains(&code) {
        fault::raise(k, thread, Fault::Page, [pc, address, code, instruction]);
    } else {
        let cause = code | subcode << SUBCODE_SHIFT;
        fault::raise(k, thread, Fault::UserException, [pc, address, cause, instruction]);
    }
    leave(k);
}

/// An exception of the program that the current thread hosts, whose registers are in its context. True: the
/// program goes on; false: the host is to be told at its entry for faults (C-25).
pub fn handle_program_exception<M: Machine>(k: &mut Kernel<M>, exception: &Exception) -> bool {
    let thread = k.current();
    k.log.note(Event::Fault(exception.code, exception.address));
    host::call::enables_unit(k, thread, exception)
}

/// An interrupt; the one with the highest priority is taken, others interrupt again.
pub fn handle_interrupt<M: Machine>(k: &mut Kernel<M>) {
    match k.machine.claim_interrupt() {
        Interrupt::Timer => {
            k.log.note(Event::Interrupt(TIMER_EVENT));
            budget::timer_rang(k);
            timer::ring(k);
        }
        Interrupt::Device(line) => {
            k.log.note(Event::Interrupt(line.0));
            interrupt::deliver(k, line);
        }
        Interrupt::Spurious => {}
    }
    leave(k);
}

/// Chooses who runs, and sets machine and clock for it: the end of every way in, and of boot.
pub fn leave<M: Machine>(k: &mut Kernel<M>) {
    choose::choose(k);
    while host::way_out::raise_if_lost(k, k.current()) {
        choose::choose(k);
    }
    host::way_out::prepare(k, k.current());
    budget::charge_current(k);
    let space = k.get(k.current()).vspace.get();
    vspace::activate(k, space);
    budget::set_timer(k);
}
