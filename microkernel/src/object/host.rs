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
/// `current` is its capability's word, and empty whenever there is a Zombie.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct HostedContext {
    /// Its address space.
    pub space: Slot,
    /// The thread for which it is current.
    pub current: Cell<Option<Ref<Tcb>>>,
    /// What EUEN may be while it is current: not 0 where its state is in the vector unit (C-30).
    pub euen: Cell<u64>,
    /// Window address of the [`abi::context::Context`], 0 before the first SetSpace.
    pub context: Cell<u64>,
    /// How much of the vector unit it has used so far.
    pub width: Cell<u64>,
}

const _: () = assert!(size_of::<Host>() == 1 << ENTRY_BITS);
const _: () = assert!(size_of::<HostedContext>() == 1 << ENTRY_BITS);
const _: () = assert!(offset_of!(HostedContext, space) == 0);
const _: () = assert!(offset_of!(HostedContext, current) == size_of::<Slot>());

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

/// Brings a new Host, whose memory is zero, into its first state. Contexts are brought there one by one.
pub fn initialise<M: Machine>(k: &Kernel<M>, host: Ref<Host>) {
    k.get(host).contexts.set_place(Place::Host);
    k.get(host).upper.set_place(Place::Host);
}

/// Ends a Host with its last capability: no thread refers to it. The caller empties its slots.
pub fn finalise<M: Machine>(k: &mut Kernel<M>, host: Ref<Host>, size_bits: u8) {
    vector::forget_host(k, host);
    // The Zombie keeps its way back in the last place for a slot.
    let last = k.get(context(host, count(size_bits) - 1));
    last.euen.set(0);
    last.context.set(0);
    last.width.set(0);
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
    if let Some(thread) = k.get(context).current.get() {
        refresh(k, thread);
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
    let context = k.get(thread).hosted.get()?;
    Some(WindowAddr(k.get(context).context.get()))
}

/// Makes a context, or none, current for a thread.
pub fn make_current<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>, context: Option<Ref<HostedContext>>) {
    if let Some(old) = k.get(thread).hosted.replace(context) {
        k.get(old).current.set(None);
    }
    if let Some(new) = context {
        k.get(new).current.set(Some(thread));
    }
    refresh(k, thread);
}

/// Brings what mirrors the current context in step with it. The hosted path changes `Tcb::hosted` alone.
pub fn refresh<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    let tcb = k.get(thread);
    if !tcb.is_host() {
        return;
    }
    let context = tcb.hosted.get().map(|context| k.get(context));
    tcb.vspace.set(context.and_then(|context| match context.space.cap() {
        Cap::VSpace(space) => Some(space),
        _ => None,
    }));
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
    let none = if tcb.hosted.get().is_none() { pending::NO_CONTEXT } else { 0 };
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
    tcb.prmd.set(USER_PRMD);
    tcb.euen.set(0);
    tcb.hot.set(tcb.hot.get() & !hot::HOST);
    tcb.host.set(None);
    tcb.upper.set(None);
    tcb.context_count.set(0);
    tcb.host_lost.set(0);
}
