//! Hosts (C-20): an array of hosted contexts, of which each of the host's threads has one current.
//!
//! Owned here: [`Host`], with its contexts frame and upper half, and a [`HostedContext`] for each context
//! with its address space; which context is current for which thread; and what of a Tcb mirrors that. The
//! capabilities lie in real slots. A host's thread has capabilities of its own to the Host and to the
//! contexts frame, derived from those: so while a thread is a host's its Host lives, and whatever is revoked
//! reaches the thread through its own slots.
//!
//! A context that is current is current for one thread. Its space is the thread's lower half; when that is
//! deleted nothing is translated there any more, and the next Enter faults at its first instruction (C-28).
//!
//! Neighbours: [`configure`] has the methods, [`call`] the operations of a running host, [`way_out`] what
//! the end of every entry looks at, [`vector`] the vector unit's owner, `arch::loongarch64::hosted_path`
//! the same for the usual case.

pub mod call;
pub mod configure;
pub mod vector;
pub mod way_out;

use core::cell::Cell;
use core::mem::offset_of;

use abi::context::{CONTEXT_BITS, ENTRY_BITS};
use abi::fault::host_part;

use crate::address::WindowAddr;
use crate::arch::Machine;
use crate::capability::cap::{Cap, Place, Slot};
use crate::kernel::Kernel;
use crate::object::store::Ref;
use crate::object::thread::life::USER_PRMD;
use crate::object::thread::{Exit, Tcb, TcbSlot, hot, slots, state};
use crate::object::vspace::{HALF_UPPER, VSpace};

/// A Host's own capabilities, where its array of contexts has the header.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Host {
    /// The contexts frame.
    pub contexts: Slot,
    /// The upper half.
    pub upper: Slot,
}

/// What the kernel keeps of a context. The second half lies where the Zombie of a Host looks for a slot:
/// `euen` is its capability's word, and 0 whenever there is a Zombie.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub struct HostedContext {
    /// Its address space.
    pub space: Slot,
    /// What EUEN may be while it is current: not 0 where its state is in the vector unit (C-30).
    pub euen: Cell<u64>,
    /// 0: it has no space. [`FREE`]: it has, and Switch may take it. Else the thread for which it is current,
    /// with a space or without.
    pub current: Cell<u64>,
    /// Window address of the [`abi::context::Context`], 0 before the first SetSpace.
    pub context: Cell<u64>,
    /// How much of the vector unit it has used so far.
    pub width: Cell<u64>,
}

/// [`HostedContext::current`] of a context that Switch may take: what is in `$a7` then anyway.
pub const FREE: u64 = abi::Syscall::Switch.raw();

impl HostedContext {
    /// The thread for which it is current.
    pub fn thread(&self) -> Option<Ref<Tcb>> {
        Ref::from_raw(self.current.get() & !(align_of::<Tcb>() as u64 - 1))
    }

    /// Its address space.
    pub fn vspace(&self) -> Option<Ref<VSpace>> {
        match self.space.cap() {
            Cap::VSpace(space) => Some(space),
            _ => None,
        }
    }

    /// Makes it current for nobody.
    fn free(&self) {
        self.current.set(if self.vspace().is_some() { FREE } else { 0 });
    }
}

const _: () = assert!(FREE < align_of::<Tcb>() as u64);
const _: () = assert!(size_of::<Host>() == 1 << ENTRY_BITS);
const _: () = assert!(size_of::<HostedContext>() == 1 << ENTRY_BITS);
const _: () = assert!(offset_of!(HostedContext, space) == 0);
const _: () = assert!(offset_of!(HostedContext, euen) == size_of::<Slot>());

/// Bits of [`Tcb::host_pending`]: why the minimal Enter must not enter.
pub mod pending {
    /// The bound notification is active (C-27).
    pub const KICK: u64 = 1;
    /// No context is current.
    pub const NO_CONTEXT: u64 = 2;
}

/// The entries of a host, in the order of ConfigureHost.
pub mod entry {
    /// A program's system call.
    pub const SYSTEM_CALL: usize = 0;
    /// A program's fault.
    pub const FAULT: usize = 1;
    /// A program was interrupted.
    pub const INTERRUPTED: usize = 2;
    /// A fault of the host's own.
    pub const OWN_FAULT: usize = 3;
}

/// A context's record; `number` is below the host's count of contexts.
pub const fn context(host: Ref<Host>, number: u64) -> Ref<HostedContext> {
    host.cast().element(number)
}

/// Contexts that a Host of this size has, the header counted.
pub const fn count(size_bits: u8) -> u64 {
    1 << (size_bits - ENTRY_BITS)
}

/// Base-2 logarithm of the bytes of the contexts frame of a Host of this size.
pub const fn frame_bits(size_bits: u8) -> u8 {
    size_bits - ENTRY_BITS + CONTEXT_BITS
}

/// True once a Host was given its contexts. It is given some once: its contexts' records say where they lie.
/// A new Host is all zero; records are brought into their first state one by one, by SetSpace.
pub fn is_configured<M: Machine>(k: &Kernel<M>, host: Ref<Host>) -> bool {
    k.get(host).contexts.place() == Place::Host
}

/// Ends a Host with its last capability: no thread refers to it. The caller empties its slots.
pub fn finalise<M: Machine>(k: &mut Kernel<M>, host: Ref<Host>, size_bits: u8) {
    vector::forget_host(k, host);
    // The Zombie keeps its way back in the last place for a slot, which is no longer a context's then.
    let last = k.get(context(host, count(size_bits) - 1));
    last.space.forget_place();
    for word in [&last.euen, &last.current, &last.context, &last.width] {
        word.set(0);
    }
}

/// A Host's own capability changed: without the contexts frame nobody owns a vector unit (C-28).
pub fn contexts_changed<M: Machine>(k: &mut Kernel<M>, slot: Ref<Slot>) {
    let Some(host) = Ref::<Host>::from_raw(slot.raw() & !(size_of::<Host>() as u64 - 1)) else { return };
    if !matches!(k.get(host).contexts.cap(), Cap::Frame(_)) {
        vector::forget_host(k, host);
    }
}

/// The address space of a context changed.
pub fn space_changed<M: Machine>(k: &mut Kernel<M>, context: Ref<HostedContext>) {
    match k.get(context).thread() {
        Some(thread) => refresh(k, thread),
        None => k.get(context).free(),
    }
}

impl Tcb {
    /// True for a thread of a host's.
    pub fn is_host(&self) -> bool {
        self.hot.get() & hot::HOST != 0
    }

    /// True while a program of the host's runs, or was interrupted: the thread's registers are in the context.
    pub fn is_in_program(&self) -> bool {
        self.exit.get() == Exit::Program as u64
    }
}

/// The current context's memory.
pub fn current_context<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) -> Option<WindowAddr> {
    Some(WindowAddr(k.get(hosted(k, thread)?).context.get()))
}

/// The record in a Tcb that stands for the current context where there is none, so that Switch has one to free.
const fn nowhere(thread: Ref<Tcb>) -> Ref<HostedContext> {
    const INDEX: u64 = (offset_of!(Tcb, no_context) / size_of::<HostedContext>()) as u64;
    const { assert!(offset_of!(Tcb, no_context).is_multiple_of(size_of::<HostedContext>())) };
    thread.cast::<HostedContext>().element(INDEX)
}

/// A thread's current context.
pub fn hosted<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) -> Option<Ref<HostedContext>> {
    k.get(thread).hosted.get().filter(|context| *context != nowhere(thread))
}

/// Makes a context, or none, current for a thread.
pub fn make_current<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>, context: Option<Ref<HostedContext>>) {
    if let Some(old) = hosted(k, thread) {
        k.get(old).free();
    }
    let new = context.unwrap_or(nowhere(thread));
    k.get(new).current.set(thread.raw());
    k.get(thread).hosted.set(Some(new));
    refresh(k, thread);
}

/// Brings what mirrors the current context in step with it. The hosted path changes `Tcb::hosted` alone.
pub fn refresh<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    let tcb = k.get(thread);
    if !tcb.is_host() {
        return;
    }
    let context = hosted(k, thread).map(|context| k.get(context));
    tcb.vspace.set(context.and_then(HostedContext::vspace));
    tcb.euen.set(context.map_or(0, |context| context.euen.get()));
    refresh_pending(k, thread);
    state::refresh_hot(k, thread);
}

/// Says again why the minimal Enter must not enter.
pub fn refresh_pending<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    let tcb = k.get(thread);
    if !tcb.is_host() {
        return;
    }
    let kick = if tcb.notification_pending.get() != 0 { pending::KICK } else { 0 };
    let none = if hosted(k, thread).is_none() { pending::NO_CONTEXT } else { 0 };
    tcb.host_pending.set(kick | none);
}

/// A slot of a host's thread changed: if what it stands on is gone, the thread does not go on (C-28).
pub fn thread_slots_changed<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    let tcb = k.get(thread);
    let cap = |which| k.get(slots::slot(thread, which)).cap();
    let upper = match cap(TcbSlot::VSpace) {
        Cap::VSpace(space) => Some(space).filter(|space| is_upper(k, *space)),
        _ => None,
    };
    tcb.upper.set(upper);
    let lost = match (cap(TcbSlot::Host), cap(TcbSlot::Contexts), upper) {
        (Cap::Host { .. }, Cap::Frame(_), Some(_)) => return refresh(k, thread),
        (Cap::Host { .. }, Cap::Frame(_), None) => host_part::UPPER_HALF,
        (Cap::Host { .. }, _, _) => host_part::CONTEXTS,
        _ => host_part::HOST,
    };
    if let Some(host) = tcb.host.take() {
        vector::forget_host(k, host);
    }
    tcb.context_count.set(0);
    leave_program(k, thread);
    tcb.host_lost.set(lost);
    make_current(k, thread, None);
}

/// A program that was interrupted does not go on: its registers were in a context that is no longer the thread's.
fn leave_program<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    let tcb = k.get(thread);
    if tcb.is_in_program() {
        tcb.registers.iter().for_each(|register| register.set(0));
        state::leave_fully(k, thread);
    }
}

fn is_upper<M: Machine>(k: &Kernel<M>, space: Ref<VSpace>) -> bool {
    let space = k.get(space);
    space.half.get() == HALF_UPPER && space.asid.get() != 0
}

/// Ends what a thread has of its host, with the thread or before it becomes another's.
pub fn leave<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    let tcb = k.get(thread);
    if !tcb.is_host() {
        return;
    }
    leave_program(k, thread);
    make_current(k, thread, None);
    tcb.hosted.set(None);
    tcb.prmd.set(USER_PRMD);
    tcb.euen.set(0);
    tcb.hot.set(tcb.hot.get() & !hot::HOST);
    tcb.host.set(None);
    tcb.upper.set(None);
    tcb.context_count.set(0);
    tcb.host_lost.set(0);
}
