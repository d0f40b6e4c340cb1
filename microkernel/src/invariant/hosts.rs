//! What must hold of hosts: which context is current for whom, what of a Tcb mirrors it, whose the vector unit is.

use std::collections::HashSet;
use std::format;
use std::string::String;

use abi::context::{CONTEXT_BITS, Width};

use crate::arch::Machine;
use crate::capability::cap::{Cap, Place};
use crate::kernel::Kernel;
use crate::object::host::{self, FREE, Host, HostedContext, pending};
use crate::object::store::Ref;
use crate::object::thread::{Tcb, TcbSlot, slots};

/// Checks the hosts and threads whose capabilities can be found.
///
/// Errors: the first rule that is broken.
pub fn check<M: Machine>(
    k: &Kernel<M>,
    hosts: &HashSet<(Ref<Host>, u8)>,
    threads: &HashSet<Ref<Tcb>>,
) -> Result<(), String> {
    for thread in threads {
        check_thread(k, *thread)?;
    }
    for (host, size_bits) in hosts {
        for number in 1..host::count(*size_bits) {
            check_context(k, *host, number, threads)?;
        }
    }
    check_unit(k, hosts)
}

fn check_thread<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) -> Result<(), String> {
    let tcb = k.get(thread);
    let current = host::hosted(k, thread);
    if !tcb.is_host() {
        let nothing = tcb.hosted.get().is_none() && tcb.host.get().is_none() && !tcb.is_in_program();
        return if nothing { Ok(()) } else { Err(format!("{thread:?} has something of a host's")) };
    }
    if tcb.hosted.get().is_none() {
        return Err(format!("{thread:?} has not even the context that stands for none"));
    }
    let space = current.and_then(|context| k.get(context).vspace());
    if tcb.vspace.get() != space {
        return Err(format!("{thread:?} has another space than its current context"));
    }
    let none = if current.is_none() { pending::NO_CONTEXT } else { 0 };
    let kick = if tcb.notification_pending.get() != 0 { pending::KICK } else { 0 };
    if tcb.host_pending.get() != none | kick {
        return Err(format!("{thread:?} does not know why it must not enter"));
    }
    let cap = |which| k.get(slots::slot(thread, which)).cap();
    let whole = match (cap(TcbSlot::Host), cap(TcbSlot::Contexts), cap(TcbSlot::VSpace)) {
        (Cap::Host { host, size_bits }, Cap::Frame(_), Cap::VSpace(upper)) => {
            tcb.host.get() == Some(host)
                && tcb.context_count.get() == host::count(size_bits)
                && tcb.upper.get() == Some(upper)
        }
        _ => false,
    };
    match (tcb.host_lost.get(), whole) {
        (0, true) => Ok(()),
        (0, false) => Err(format!("{thread:?} lacks what it stands on and does not know")),
        _ if current.is_some() || tcb.host.get().is_some() || tcb.is_in_program() => {
            Err(format!("{thread:?} has lost its ground and holds on to it"))
        }
        _ => Ok(()),
    }
}

fn check_context<M: Machine>(
    k: &Kernel<M>,
    host: Ref<Host>,
    number: u64,
    threads: &HashSet<Ref<Tcb>>,
) -> Result<(), String> {
    let context = host::context(host, number);
    let object = k.get(context);
    let is_right = match object.thread() {
        Some(thread) => {
            threads.contains(&thread)
                && k.get(thread).hosted.get() == Some(context)
                && k.get(thread).host.get() == Some(host)
        }
        None => object.current.get() == if object.vspace().is_some() { FREE } else { 0 },
    };
    if !is_right {
        return Err(format!("context {number} of {host:?} is current for {:#x}", object.current.get()));
    }
    if let Cap::Frame(frame) = k.get(host).contexts.cap()
        && object.space.place() == Place::Context
        && object.context.get() != frame.base.offset(number << CONTEXT_BITS).0
    {
        return Err(format!("context {number} of {host:?} has other memory than its host"));
    }
    let owns = k.cores.iter().any(|core| core.vector_owner.get() == Some(context));
    let enabled = if owns { Width::from_raw(object.width.get()).euen() } else { 0 };
    if object.euen.get() != enabled || owns && enabled == 0 {
        return Err(format!("context {number} of {host:?} has {:#x} in EUEN", object.euen.get()));
    }
    Ok(())
}

/// An owner is a context of a host that has its contexts frame.
fn check_unit<M: Machine>(k: &Kernel<M>, hosts: &HashSet<(Ref<Host>, u8)>) -> Result<(), String> {
    for core in &k.cores {
        let Some(owner) = core.vector_owner.get() else { continue };
        let is_of = |host: Ref<Host>, size_bits: u8| {
            let offset = owner.raw().wrapping_sub(host.raw());
            offset / (size_of::<HostedContext>() as u64) < host::count(size_bits)
        };
        let of = hosts.iter().find(|(host, size_bits)| is_of(*host, *size_bits));
        let pinned = of.is_some_and(|(host, _)| {
            core.vector_host.get() == Some(*host) && matches!(k.get(*host).contexts.cap(), Cap::Frame(_))
        });
        if !pinned {
            return Err(format!("{owner:?} owns a vector unit and is no context of a host"));
        }
    }
    Ok(())
}
