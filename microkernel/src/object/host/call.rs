//! Operations of a running host on its own Host: Switch, EnterFull, SyncVector, and its own exceptions.
//!
//! The usual Switch and EnterFull never come here (`hosted_path`); what does is decided again from the
//! beginning.

use abi::context::{Width, access, enter};
use abi::{Error, LOWER_HALF_END};

use super::{HostedContext, context, entry, hosted, make_current, vector};
use crate::arch::Machine;
use crate::entry::Exception;
use crate::failure::Failure;
use crate::ipc::succeed;
use crate::kernel::Kernel;
use crate::object::store::Ref;
use crate::object::thread::{Exit, Tcb, register};

/// The context that a host names by its number.
fn named<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>, number: u64) -> Result<Ref<HostedContext>, Failure> {
    let tcb = k.get(thread);
    let host = tcb.host.get().ok_or(Error::IllegalOperation)?;
    if !(1..tcb.context_count.get()).contains(&number) {
        return Err(Failure::about(Error::RangeError, 0, tcb.context_count.get() - 1));
    }
    Ok(context(host, number))
}

/// Switch (C-26).
///
/// # Errors
///
/// `IllegalOperation` for a thread that is no host's, `RangeError`, `InvalidState` for a context without a
/// space, `Busy` for one that is current for another thread, `NeedsSync`.
pub fn switch<M: Machine>(k: &mut Kernel<M>, thread: Ref<Tcb>) -> Result<(), Failure> {
    let to = named(k, thread, k.get(thread).registers[register::A0].get())?;
    let object = k.get(to);
    if object.vspace().is_none() {
        return Err(Error::InvalidState.into());
    }
    if object.thread().is_some_and(|other| other != thread) {
        return Err(Error::Busy.into());
    }
    vector::check_here(k, to)?;
    make_current(k, thread, Some(to));
    succeed(k, thread);
    Ok(())
}

/// EnterFull (C-25): the program goes on with every register of its context.
///
/// # Errors
///
/// `IllegalOperation` for a thread that is no host's, `InvalidArgument`, `InvalidState` without a context.
pub fn enter_full<M: Machine>(k: &mut Kernel<M>, thread: Ref<Tcb>) -> Result<(), Failure> {
    let tcb = k.get(thread);
    tcb.host.get().ok_or(Error::IllegalOperation)?;
    let flags = tcb.registers[register::A0].get();
    if flags & !enter::VECTOR_CHANGED != 0 {
        return Err(Failure::about(Error::InvalidArgument, 0, enter::VECTOR_CHANGED));
    }
    let context = hosted(k, thread).ok_or(Error::InvalidState)?;
    if flags & enter::VECTOR_CHANGED != 0 {
        vector::take_from_memory(k, context);
    }
    k.get(thread).exit.set(Exit::Program as u64);
    Ok(())
}

/// SyncVector (C-30): a context's memory has its vector state, and the unit is nobody's.
///
/// # Errors
///
/// `IllegalOperation` for a thread that is no host's, `RangeError`, `NeedsSync`.
pub fn sync_vector<M: Machine>(k: &mut Kernel<M>, thread: Ref<Tcb>) -> Result<(), Failure> {
    let context = named(k, thread, k.get(thread).registers[register::A0].get())?;
    vector::check_here(k, context)?;
    if k.core().vector_owner.get() == Some(context) {
        vector::put_away(k);
    }
    succeed(k, thread);
    Ok(())
}

/// Ecodes of disabled units (manual, table 7-8), each with the width that it asks for.
const fn asked_width(code: u64) -> Option<Width> {
    match code {
        0xf => Some(Width::Fp),
        0x10 => Some(Width::Lsx),
        0x11 => Some(Width::Lasx),
        _ => None,
    }
}

/// Enables the vector unit for the current context, if that is what the exception is about; true: go on.
pub fn enables_unit<M: Machine>(k: &mut Kernel<M>, thread: Ref<Tcb>, exception: &Exception) -> bool {
    match (asked_width(exception.code), hosted(k, thread)) {
        (Some(width), Some(context)) => vector::enable(k, context, width),
        _ => false,
    }
}

/// How a host's load or store at `code` is told to it; `None` for an exception that is no such fault.
const fn access_kind(code: u64) -> Option<u64> {
    match code {
        // Load invalid, not readable; privilege cannot be: everybody may use a lower half's pages.
        1 | 5 => Some(access::LOAD),
        // Store invalid, not writable.
        2 | 4 => Some(access::STORE),
        _ => None,
    }
}

/// An exception of the host itself that it is to handle: its current context's vector unit is enabled, or a
/// load or store in the lower half failed (C-29). False: it is for the Tcb's fault endpoint.
pub fn own_exception<M: Machine>(k: &mut Kernel<M>, thread: Ref<Tcb>, exception: &Exception) -> bool {
    if !k.get(thread).is_host() {
        return false;
    }
    if enables_unit(k, thread, exception) {
        return true;
    }
    let Some(kind) = access_kind(exception.code).filter(|_| exception.address < LOWER_HALF_END) else {
        return false;
    };
    let tcb = k.get(thread);
    let pc = tcb.registers[register::PC].replace(tcb.host_entries[entry::OWN_FAULT].get());
    for (number, value) in (register::T5..).zip([pc, exception.address, kind, exception.code]) {
        if let Some(place) = tcb.registers.get(number) {
            place.set(value);
        }
    }
    true
}
