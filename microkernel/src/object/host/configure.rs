//! Methods: HostControl.AssignUpper, Host.Configure, Host.SetSpace, Tcb.ConfigureHost.

use abi::{Error, Method, Rights};

use super::{Host, count, frame_bits};
use crate::arch::Machine;
use crate::capability::cap::{Cap, FrameCap, Place, Slot};
use crate::capability::derivation;
use crate::failure::Failure;
use crate::kernel::Kernel;
use crate::object::store::Ref;
use crate::object::thread::{Tcb, TcbSlot, hot, slots};
use crate::object::vspace::{self, HALF_LOWER, HALF_UPPER, Owner};
use crate::object::{asid, host};
use crate::syscall::invoke::{Answer, Arguments, Target};

/// PRMD of a host: privilege level 2, interrupts on (C-21).
const HOST_PRMD: u64 = 6;

/// Decodes and invokes `HostControl.AssignUpper`.
///
/// # Errors
///
/// As the method's row says.
pub fn invoke_control<M: Machine>(
    k: &mut Kernel<M>,
    method: Method,
    arguments: &Arguments,
) -> Result<Answer, Failure> {
    if method != Method::HostControlAssignUpper {
        return Err(Error::IllegalOperation.into());
    }
    let space = vspace::argument(k, arguments.cap_slot(0)?, 0)?;
    asid::assign_upper(k, space)?;
    Ok(Answer::default())
}

/// Decodes and invokes a method of a Host.
///
/// # Errors
///
/// As the method's row says.
pub fn invoke<M: Machine>(
    k: &mut Kernel<M>,
    target: &Target,
    method: Method,
    arguments: &Arguments,
) -> Result<Answer, Failure> {
    let Cap::Host { host, size_bits } = target.cap else { return Err(Error::IllegalOperation.into()) };
    match method {
        Method::HostConfigure => configure(k, host, size_bits, arguments)?,
        Method::HostSetSpace => set_space(k, target, host, size_bits, arguments)?,
        _ => return Err(Error::IllegalOperation.into()),
    }
    Ok(Answer::default())
}

fn configure<M: Machine>(
    k: &mut Kernel<M>,
    host: Ref<Host>,
    size_bits: u8,
    arguments: &Arguments,
) -> Result<(), Failure> {
    let slots = [arguments.cap_slot(0)?, arguments.cap_slot(1)?, arguments.cap_slot(2)?];
    let [control, upper, contexts] = slots;
    if k.get(control).cap() != Cap::HostControl {
        return Err(Failure::about(Error::InvalidCapability, 0, 0));
    }
    let space = vspace::argument(k, upper, 1)?;
    if k.get(space).half.get() != HALF_UPPER {
        return Err(Failure::about(Error::InvalidArgument, 1, 0));
    }
    let Cap::Frame(frame) = k.get(contexts).cap() else {
        return Err(Failure::about(Error::InvalidCapability, 2, 0));
    };
    let fits = frame.size_bits == frame_bits(size_bits)
        && !frame.is_device
        && frame.rights.contains(Rights::READ_WRITE);
    if !fits {
        return Err(Failure::about(Error::InvalidArgument, 2, frame_bits(size_bits).into()));
    }
    if host::is_configured(k, host) {
        return Err(Error::InvalidState.into());
    }
    for (source, into) in [(upper, host.cast::<Slot>().element(1)), (contexts, host.cast())] {
        let derived = derivation::derive(k, source, k.get(source).cap())?;
        k.get(into).set_place(Place::Host);
        derivation::insert(k, derived, source, into);
    }
    Ok(())
}

fn set_space<M: Machine>(
    k: &mut Kernel<M>,
    target: &Target,
    host: Ref<Host>,
    size_bits: u8,
    arguments: &Arguments,
) -> Result<(), Failure> {
    let number = arguments.word(0);
    if !(1..count(size_bits)).contains(&number) {
        return Err(arguments.refuse_word(0, Error::RangeError, count(size_bits) - 1));
    }
    let Cap::Frame(FrameCap { base, .. }) = k.get(host).contexts.cap() else {
        return Err(Error::InvalidState.into());
    };
    let context = host::context(host, number);
    let slot = context.cast::<Slot>();
    if k.get(slot).place() != Place::Context {
        k.get(slot).set_place(Place::Context);
        k.get(context).context.set(base.offset(number << abi::context::CONTEXT_BITS).0);
    }
    let Some(source) = arguments.optional_cap_slot(0) else { return derivation::delete(k, slot) };
    let space = vspace::argument(k, source, 0)?;
    vspace::identifier(k, space, 0)?;
    if k.get(space).half.get() != HALF_LOWER {
        return Err(Failure::about(Error::InvalidCapability, 0, 0));
    }
    vspace::claim(k, space, Owner::Host(host)).map_err(|failure| failure.of_argument(0))?;
    let derived = derivation::derive(k, source, Cap::VSpace(space))?;
    derivation::replace(k, slot, derived, source, target.slot)
}

/// Tcb.ConfigureHost. A thread cannot make itself a host's: it would return to another address space.
///
/// # Errors
///
/// As the method's row says.
pub fn configure_thread<M: Machine>(
    k: &mut Kernel<M>,
    target: &Target,
    thread: Ref<Tcb>,
    arguments: &Arguments,
) -> Result<(), Failure> {
    if target.thread == thread {
        return Err(Error::InvalidState.into());
    }
    let source = arguments.cap_slot(0)?;
    let Cap::Host { host, size_bits } = k.get(source).cap() else {
        return Err(Failure::about(Error::InvalidCapability, 0, 0));
    };
    let (contexts, upper) = (host.cast::<Slot>(), host.cast::<Slot>().element(1));
    let (frame, space) = match (k.get(contexts).cap(), k.get(upper).cap()) {
        (frame @ Cap::Frame(_), space @ Cap::VSpace(_)) => (frame, space),
        _ => return Err(Failure::about(Error::InvalidState, 0, 0)),
    };
    let cap = Cap::Host { host, size_bits };
    host::leave(k, thread);
    for (which, cap, source) in
        [(TcbSlot::VSpace, space, upper), (TcbSlot::Contexts, frame, contexts), (TcbSlot::Host, cap, source)]
    {
        derivation::replace(k, slots::slot(thread, which), cap, source, target.slot)?;
    }
    let tcb = k.get(thread);
    let [block, entries @ ..] = [0, 1, 2, 3, 4].map(|index| arguments.word(index));
    tcb.host_block.set(block);
    for (place, entry) in tcb.host_entries.iter().zip(entries) {
        place.set(entry);
    }
    tcb.prmd.set(HOST_PRMD);
    tcb.context_count.set(count(size_bits));
    tcb.host.set(Some(host));
    tcb.hot.set(tcb.hot.get() | hot::HOST);
    host::thread_slots_changed(k, thread);
    host::make_current(k, thread, None);
    Ok(())
}
