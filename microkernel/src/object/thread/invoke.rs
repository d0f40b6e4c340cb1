//! Methods of a Tcb.
//!
//! Each decodes first and changes then. What replaces a capability may be preempted, and is then done
//! again from the beginning with the same result.

use abi::{Error, Method, ObjectType};

use super::slots::is_buffer;
use super::{TcbSlot, life, register, registers, slots};
use crate::arch::Machine;
use crate::capability::cap::{Cap, Slot};
use crate::capability::derivation;
use crate::failure::Failure;
use crate::ipc::fault;
use crate::kernel::Kernel;
use crate::object::sched_context::{self, SchedContext};
use crate::object::store::Ref;
use crate::object::thread::Tcb;
use crate::object::vspace::{self, Owner};
use crate::object::{host, notification};
use crate::scheduler;
use crate::scheduler::ready_queue::PRIORITIES;
use crate::syscall::invoke::{Answer, Arguments, Target};

/// The highest priority that there is.
const MAX_PRIORITY: u64 = PRIORITIES as u64 - 1;

/// Methods of a Tcb.
///
/// # Errors
///
/// As the table says.
pub fn invoke<M: Machine>(
    k: &mut Kernel<M>,
    target: &Target,
    method: Method,
    arguments: &Arguments,
) -> Result<Answer, Failure> {
    let Cap::Tcb(thread) = target.cap else { return Err(Error::IllegalOperation.into()) };
    match method {
        Method::TcbConfigure => configure(k, target, thread, arguments)?,
        Method::TcbSetSpace => set_space(k, target, thread, arguments)?,
        Method::TcbSetPriority => {
            let priority = allowed_priority(k, arguments, 0)?;
            scheduler::set_priority(k, thread, priority);
        }
        Method::TcbSetMCPriority => {
            let priority = allowed_priority(k, arguments, 0)?;
            k.get(thread).max_priority.set(priority);
        }
        Method::TcbSetSchedParams => set_sched_params(k, target, thread, arguments)?,
        Method::TcbSetIpcBuffer => {
            let buffer = New::buffer(k, arguments, 0)?;
            buffer.put(k, target, thread)?;
        }
        Method::TcbSetTlsBase => {
            let tcb = k.get(thread);
            tcb.tls_base.set(arguments.word(0));
            tcb.registers[register::TP].set(arguments.word(0));
        }
        Method::TcbReadRegisters => return registers::read(k, target, thread, arguments),
        Method::TcbWriteRegisters => registers::write(k, target, thread, arguments)?,
        Method::TcbCopyRegisters => registers::copy(k, target, thread, arguments)?,
        Method::TcbSuspend => life::suspend(k, thread),
        Method::TcbResume => life::resume(k, thread)?,
        Method::TcbBindNotification => bind_notification(k, thread, arguments)?,
        Method::TcbUnbindNotification => {
            if !notification::unbind(k, thread) {
                return Err(Error::NotBound.into());
            }
        }
        Method::TcbConfigureHost => host::configure::configure_thread(k, target, thread, arguments)?,
        _ => return Err(Error::IllegalOperation.into()),
    }
    Ok(Answer::default())
}

/// What one of the thread's slots is to hold.
struct New {
    which: TcbSlot,
    /// The capability, and the slot that it derives from; nothing empties the slot.
    cap: Option<(Cap, Ref<Slot>)>,
}

impl New {
    /// Capability argument `index`, if it is one that `fits`; the null pointer stands for none.
    fn decode<M: Machine>(
        k: &Kernel<M>,
        arguments: &Arguments,
        index: usize,
        which: TcbSlot,
        fits: impl FnOnce(&Cap) -> bool,
    ) -> Result<Self, Failure> {
        let Some(source) = arguments.optional_cap_slot(index) else { return Ok(Self { which, cap: None }) };
        let cap = k.get(source).cap();
        if cap == Cap::Null || !fits(&cap) {
            return Err(Failure::about(Error::InvalidCapability, index as u64, 0));
        }
        let derived =
            derivation::derive(k, source, cap).map_err(|failure| failure.of_argument(index as u64))?;
        Ok(Self { which, cap: Some((derived, source)) })
    }

    /// The IPC buffer's Frame.
    fn buffer<M: Machine>(k: &Kernel<M>, arguments: &Arguments, index: usize) -> Result<Self, Failure> {
        let new = Self::decode(k, arguments, index, TcbSlot::IpcBuffer, |cap| matches!(cap, Cap::Frame(_)))?;
        match &new.cap {
            Some((cap, _)) if !is_buffer(cap) => Err(Failure::about(Error::InvalidArgument, index as u64, 0)),
            _ => Ok(new),
        }
    }

    /// The endpoint of faults.
    fn fault_handler<M: Machine>(
        k: &Kernel<M>,
        arguments: &Arguments,
        index: usize,
    ) -> Result<Self, Failure> {
        Self::decode(k, arguments, index, TcbSlot::FaultHandler, fault::is_handler)
    }

    /// Capability space and address space, from `index` on; word 0 is the guard, 0 to leave it. The address
    /// space of a host's thread is the host's upper half, so none is given.
    fn spaces<M: Machine>(
        k: &Kernel<M>,
        thread: Ref<Tcb>,
        arguments: &Arguments,
        index: usize,
    ) -> Result<[Option<Self>; 2], Failure> {
        let of_type = |object_type| move |cap: &Cap| cap.object_type() == Some(object_type);
        let mut cspace = Self::decode(k, arguments, index, TcbSlot::CSpace, of_type(ObjectType::CNode))?;
        if let (Some((cap, _)), guard @ 1..) = (&mut cspace.cap, arguments.word(0)) {
            *cap = cap.with_badge(guard).map_err(|failure| arguments.about_word(0, failure))?;
        }
        let vspace = Self::decode(k, arguments, index + 1, TcbSlot::VSpace, of_type(ObjectType::VSpace))?;
        let vspace = match vspace.cap {
            Some(_) if k.get(thread).is_host() => {
                return Err(Failure::about(Error::InvalidState, index as u64 + 1, 0));
            }
            None if k.get(thread).is_host() => None,
            Some((Cap::VSpace(space), _)) => {
                vspace::check_claim(k, space, Owner::Native)
                    .map_err(|failure| failure.of_argument(index as u64 + 1))?;
                Some(vspace)
            }
            _ => Some(vspace),
        };
        Ok([Some(cspace), vspace])
    }

    /// Puts it into the slot, in place of what is there.
    fn put<M: Machine>(&self, k: &mut Kernel<M>, target: &Target, thread: Ref<Tcb>) -> Result<(), Failure> {
        let slot = slots::slot(thread, self.which);
        if let Some((Cap::VSpace(space), _)) = self.cap {
            vspace::claim(k, space, Owner::Native)?;
        }
        match self.cap {
            Some((cap, source)) => derivation::replace(k, slot, cap, source, target.slot),
            None => derivation::delete(k, slot),
        }
    }
}

fn configure<M: Machine>(
    k: &mut Kernel<M>,
    target: &Target,
    thread: Ref<Tcb>,
    arguments: &Arguments,
) -> Result<(), Failure> {
    let spaces = New::spaces(k, thread, arguments, 0)?;
    let buffer = New::buffer(k, arguments, 2)?;
    spaces.iter().flatten().chain([&buffer]).try_for_each(|new| new.put(k, target, thread))
}

fn set_space<M: Machine>(
    k: &mut Kernel<M>,
    target: &Target,
    thread: Ref<Tcb>,
    arguments: &Arguments,
) -> Result<(), Failure> {
    let handler = New::fault_handler(k, arguments, 0)?;
    let spaces = New::spaces(k, thread, arguments, 1)?;
    spaces.iter().flatten().chain([&handler]).try_for_each(|new| new.put(k, target, thread))
}

fn set_sched_params<M: Machine>(
    k: &mut Kernel<M>,
    target: &Target,
    thread: Ref<Tcb>,
    arguments: &Arguments,
) -> Result<(), Failure> {
    let max_priority = allowed_priority(k, arguments, 0)?;
    let priority = allowed_priority(k, arguments, 1)?;
    let handler = New::fault_handler(k, arguments, 2)?;
    let context = match arguments.optional_cap_slot(1) {
        None => None,
        Some(slot) => match k.get(slot).cap() {
            Cap::SchedContext(context) => Some(context),
            _ => return Err(Failure::about(Error::InvalidCapability, 1, 0)),
        },
    };
    let has = k.get(thread).sched_context.get();
    let is_new = context.filter(|context| has != Some(*context));
    let is_taken = |context: Ref<SchedContext>| has.is_some() || k.get(context).thread.get().is_some();
    if is_new.is_some_and(is_taken) {
        return Err(Failure::about(Error::AlreadyBound, 1, 0));
    }
    handler.put(k, target, thread)?;
    k.get(thread).max_priority.set(max_priority);
    scheduler::set_priority(k, thread, priority);
    match (context, k.get(thread).sched_context.get()) {
        (None, Some(has)) => sched_context::unbind(k, has),
        (Some(context), None) => sched_context::bind(k, context, thread),
        _ => {}
    }
    Ok(())
}

/// Priority word `index`, at most the maximum of the thread that capability argument 0 names.
fn allowed_priority<M: Machine>(k: &Kernel<M>, arguments: &Arguments, index: usize) -> Result<u64, Failure> {
    let Cap::Tcb(authority) = k.get(arguments.cap_slot(0)?).cap() else {
        return Err(Failure::about(Error::InvalidCapability, 0, 0));
    };
    let limit = k.get(authority).max_priority.get().min(MAX_PRIORITY);
    let priority = arguments.word(index);
    if priority > limit {
        return Err(arguments.refuse_word(index, Error::RangeError, limit));
    }
    Ok(priority)
}

fn bind_notification<M: Machine>(
    k: &Kernel<M>,
    thread: Ref<Tcb>,
    arguments: &Arguments,
) -> Result<(), Failure> {
    let Cap::Notification { notification, rights, .. } = k.get(arguments.cap_slot(0)?).cap() else {
        return Err(Failure::about(Error::InvalidCapability, 0, 0));
    };
    if !rights.contains(abi::Rights::READ) {
        return Err(Failure::about(Error::MissingRight, 0, abi::Rights::READ.raw()));
    }
    notification::check_bind(k, notification, thread)?;
    notification::bind(k, notification, thread);
    Ok(())
}
