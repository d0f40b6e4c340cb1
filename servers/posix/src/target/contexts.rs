//! Contexts and address spaces (C-20, C-24 to C-26, C-30): registers, identities, who is current.

use alloc::vec::Vec;

use abi::CPtr;
use abi::boot_info::SlotRange;
use abi::context::enter;
use posix::host::{ContextId, Exit, Identity, Registers, SpaceId};
use runtime::host::{Next, calls};
use runtime::stubs::{Host, VSpace};

use super::block::{BlockWord, ContextWord, context_address};
use super::bug;

const A0: usize = 4;

/// All contexts, and the spaces that they run in.
#[derive(Debug)]
pub(super) struct Contexts {
    host: Host,
    spaces: SlotRange,
    identities: Vec<Identity>,
    /// Whether the host changed a context's vector state in memory since it was entered.
    vectors_changed: Vec<bool>,
    current: Option<ContextId>,
}

impl Contexts {
    /// Those of a host with so many contexts, the header counted; none is current.
    pub(super) fn new(host: Host, spaces: SlotRange, count: usize) -> Self {
        Self {
            host,
            spaces,
            identities: alloc::vec![Identity::default(); count],
            vectors_changed: alloc::vec![false; count],
            current: None,
        }
    }

    /// The capability of a space.
    pub(super) fn space(&self, space: SpaceId) -> VSpace {
        let slot = self.spaces.start + u64::from(space.0);
        if slot >= self.spaces.end {
            bug(format_args!("there is no space {}", space.0));
        }
        VSpace(CPtr(slot))
    }

    pub(super) fn set_space(&mut self, context: ContextId, space: SpaceId) {
        if let Err(refusal) = self.host.set_space(self.space(space), u64::from(context.0)) {
            bug(format_args!("setting a context's space: {refusal}"));
        }
    }

    pub(super) fn set_identity(&mut self, context: ContextId, identity: &Identity) {
        if let Some(place) = self.identities.get_mut(usize::from(context.0)) {
            *place = *identity;
        }
    }

    /// Makes a context current at the kernel and in the block.
    pub(super) fn switch(&mut self, context: ContextId) {
        if self.current == Some(context) {
            return;
        }
        if let Err(refusal) = calls::switch(u64::from(context.0)) {
            bug(format_args!("switching to context {}: {refusal}", context.0));
        }
        self.current = Some(context);
        BlockWord::CONTEXT.set(context_address(context));
        if let Some(identity) = self.identities.get(usize::from(context.0)) {
            BlockWord::IDENTITY.set(core::ptr::from_ref(identity).expose_provenance() as u64);
        }
    }

    /// The context that is current.
    pub(super) const fn current(&self) -> Option<ContextId> {
        self.current
    }

    pub(super) fn registers(context: ContextId) -> Registers {
        let mut registers = Registers::ZERO;
        for (number, place) in registers.general.iter_mut().enumerate().skip(1) {
            *place = ContextWord::register(number).get(context);
        }
        registers.pc = ContextWord::PC.get(context);
        registers
    }

    pub(super) fn set_registers(context: ContextId, registers: &Registers) {
        for (number, value) in registers.general.iter().enumerate().skip(1) {
            ContextWord::register(number).set(context, *value);
        }
        ContextWord::PC.set(context, registers.pc);
    }

    /// A call ends: its context has its pc until then.
    pub(super) fn set_result(context: ContextId, result: u64) {
        ContextWord::register(A0).set(context, result);
        ContextWord::PC.set(context, ContextWord::PC.get(context).wrapping_add(4));
    }

    /// A context that has used no unit finds zeros in each by itself (C-30).
    pub(super) fn clear_vectors(&mut self, context: ContextId) {
        if ContextWord::WIDTH.get(context) != 0 {
            ContextWord::WIDTH.set(context, 0);
            self.changed(context);
        }
    }

    pub(super) fn copy_vectors(&mut self, from: ContextId, to: ContextId) {
        let width = ContextWord::WIDTH.get(from);
        if width == 0 {
            return self.clear_vectors(to);
        }
        if ContextWord::VECTOR_LIVE.get(from) != 0
            && let Err(refusal) = calls::sync_vector(u64::from(from.0))
        {
            bug(format_args!("bringing vectors to memory: {refusal}"));
        }
        for (offset, words) in ContextWord::VECTOR_STATE {
            for word in (offset..).step_by(8).take(words).map(ContextWord::at) {
                word.set(to, word.get(from));
            }
        }
        ContextWord::WIDTH.set(to, width);
        self.changed(to);
    }

    fn changed(&mut self, context: ContextId) {
        if let Some(place) = self.vectors_changed.get_mut(usize::from(context.0)) {
            *place = true;
        }
    }

    /// What EnterFull of the current context is told.
    #[inline]
    pub(super) fn enter_flags(&mut self, context: ContextId) -> u64 {
        let changed = self.vectors_changed.get_mut(usize::from(context.0)).is_some_and(core::mem::take);
        if changed { enter::VECTOR_CHANGED } else { 0 }
    }

    /// How the current context is entered next. Vector state that came from memory needs the full way.
    #[inline]
    pub(super) fn entering(&mut self, context: ContextId, exit: Exit) -> Next {
        if self.current != Some(context) {
            bug(format_args!("context {} is to be entered and is not current", context.0));
        }
        let changed = self.vectors_changed.get_mut(usize::from(context.0)).is_some_and(core::mem::take);
        match exit {
            Exit::Full if changed => Next::full_with_vectors(),
            Exit::Full => Next::full(),
            Exit::Minimal if changed => bug(format_args!("vectors were changed in a call")),
            Exit::Minimal => Next::minimal(),
        }
    }
}

/// Enters the current context for the first time; at every entry after it the stack is empty.
pub(super) fn begin(next: Next) -> ! {
    let flags = if next == Next::full_with_vectors() { enter::VECTOR_CHANGED } else { 0 };
    let refusal = calls::enter_full(flags);
    bug(format_args!("entering a program: {refusal}"))
}
