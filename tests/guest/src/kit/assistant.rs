//! Assistants: threads that a story starts, here or in another address space, active or passive, and that may die.

use abi::server::{CNODE_RADIX, FREE_ADDRESS, slot};
use abi::{CPtr, PAGE_BYTES};
use runtime::InvocationError;
use runtime::registers::{Registers, Resume};
use runtime::space::{Access, map_new_page};
use runtime::stubs::{SchedContext, Tcb, VSpace};
use runtime::thread::{Start, Time, first_registers, guard, make_thread, make_time};

use super::stage::{CNODE, DIRECTOR, HERE, SCHED_CONTROL, Stage};

/// An assistant's beginning; the four words are its story's.
pub(crate) type Entry = extern "C" fn(u64, u64, u64, u64) -> !;

/// Addresses of one assistant: a gap, its stack, a gap, its IPC buffer.
const STRIDE: u64 = 16 * PAGE_BYTES;
const STACK_PAGES: u64 = 4;
const STACK_TOP: u64 = 8 * PAGE_BYTES;
const IPC_BUFFER: u64 = 12 * PAGE_BYTES;
/// Time that never ends while a story lasts.
pub(crate) const PLENTY: Time = Time { budget_ns: 1_000_000_000, period_ns: 1_000_000_000 };

/// How an assistant is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Role {
    /// Its priority, as a difference to the director's.
    pub(crate) above: i64,
    /// Where it runs.
    pub(crate) space: VSpace,
    /// Its own time; none: it runs on what callers donate.
    pub(crate) time: Option<Time>,
    /// Who hears of its faults.
    pub(crate) fault_handler: CPtr,
}

impl Role {
    /// Above the director, in its space, with plenty of time; root hears of its faults.
    pub(crate) const ABOVE: Self =
        Self { above: 10, space: HERE, time: Some(PLENTY), fault_handler: CPtr(slot::PARENT) };
    /// The same below the director.
    pub(crate) const BELOW: Self = Self { above: -10, ..Self::ABOVE };

    /// The same in another space.
    pub(crate) const fn in_space(self, space: VSpace) -> Self {
        Self { space, ..self }
    }

    /// The same so much above the director.
    pub(crate) const fn above(self, above: i64) -> Self {
        Self { above, ..self }
    }

    /// The same with this time.
    pub(crate) const fn with_time(self, time: Time) -> Self {
        Self { time: Some(time), ..self }
    }

    /// The same with this fault handler.
    pub(crate) const fn with_handler(self, fault_handler: CPtr) -> Self {
        Self { fault_handler, ..self }
    }
}

/// A thread of a story's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Assistant {
    pub(crate) tcb: Tcb,
    /// Its scheduling context; a passive one's was taken away.
    pub(crate) time: SchedContext,
    start: Start,
}

impl Assistant {
    /// Lets it run.
    pub(crate) fn resume(&self) -> Result<(), InvocationError> {
        self.tcb.resume()
    }

    /// The registers with which it began.
    pub(crate) fn first_registers(&self) -> Registers {
        first_registers(&self.start)
    }

    /// Lets it begin anew.
    pub(crate) fn begin_anew(&self) -> Result<(), InvocationError> {
        self.tcb.suspend()?;
        self.tcb.write_registers(Resume::Run, &first_registers(&self.start))
    }
}

impl Stage {
    /// Makes an assistant that does not run yet, with its own scheduling context bound unless it is passive.
    pub(crate) fn hire(
        &mut self,
        role: Role,
        entry: Entry,
        arguments: [u64; 4],
    ) -> Result<Assistant, InvocationError> {
        let base = FREE_ADDRESS + self.assistants * STRIDE;
        self.assistants += 1;
        for page in 1..=STACK_PAGES {
            map_new_page(
                &mut self.memory,
                role.space,
                base + STACK_TOP - page * PAGE_BYTES,
                Access::ReadWrite,
            )?;
        }
        let priority = self.priority().saturating_add_signed(role.above);
        let start = Start {
            cnode: CNODE,
            guard: guard(CNODE_RADIX),
            space: role.space,
            ipc_buffer: base + IPC_BUFFER,
            pc: (entry as *const ()).expose_provenance() as u64,
            stack_top: base + STACK_TOP,
            arguments,
            fault_handler: role.fault_handler,
            authority: DIRECTOR,
            priority,
            max_priority: priority,
        };
        let thread = make_thread(&mut self.memory, &start)?;
        let time = make_time(&mut self.memory, SCHED_CONTROL, role.time.unwrap_or(PLENTY))?;
        if role.time.is_some() {
            time.bind(thread.tcb)?;
        }
        Ok(Assistant { tcb: thread.tcb, time, start })
    }

    /// Makes an assistant and lets it run; one that is above the director runs until it waits.
    pub(crate) fn start(
        &mut self,
        role: Role,
        entry: Entry,
        arguments: [u64; 4],
    ) -> Result<Assistant, InvocationError> {
        let assistant = self.hire(role, entry, arguments)?;
        assistant.resume()?;
        Ok(assistant)
    }

    /// Makes a passive server: above the director, run until it waits, then without time of its own (C-10).
    pub(crate) fn passive(
        &mut self,
        space: VSpace,
        entry: Entry,
        arguments: [u64; 4],
    ) -> Result<Assistant, InvocationError> {
        let assistant = self.start(Role::ABOVE.in_space(space), entry, arguments)?;
        assistant.time.unbind()?;
        Ok(assistant)
    }
}
