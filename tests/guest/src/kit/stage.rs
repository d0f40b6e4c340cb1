//! The stage: memory and slots for one story, taken back whole when it ends.
//!
//! Invariant: everything that a story makes comes from one Untyped and lies in one run of slots, so that one
//! Revoke and a few Deletes leave nothing behind, however the story ended. That every story begins on a stage
//! that others have used is itself a test of Revoke and of memory's reuse.

use abi::server::slot;
use abi::{CPtr, ObjectType, Rights};
use runtime::InvocationError;
use runtime::memory::{DEPTH, Memory, Piece, Slots};
use runtime::server::Server;
use runtime::space::{make_space, map_image};
use runtime::stubs::{
    AsidControl, AsidPool, CNode, Debug, Endpoint, Notification, Reply, SchedControl, Tcb, VSpace,
};

use super::shared;

/// Base-2 logarithm of the stage's bytes.
const STAGE_BITS: u8 = 25;
/// Slots of the stage.
const STAGE_SLOTS: u64 = 2800;

/// The guest's own capability space.
pub(crate) const CNODE: CNode = CNode(CPtr(slot::CNODE));
/// The guest's own address space.
pub(crate) const HERE: VSpace = VSpace(CPtr(slot::VSPACE));
/// The director's own thread.
pub(crate) const DIRECTOR: Tcb = Tcb(CPtr(slot::TCB));
/// The right to give time.
pub(crate) const SCHED_CONTROL: SchedControl = SchedControl(CPtr(slot::SCHED_CONTROL));
/// The right to make pools of identifiers.
pub(crate) const ASID_CONTROL: AsidControl = AsidControl(CPtr(slot::ASID_CONTROL));
/// Log and halt.
pub(crate) const DEBUG: Debug = Debug(CPtr(slot::DEBUG));
/// A slot that is empty: root's convention, not the kernel's.
pub(crate) const NOTHING: CPtr = CPtr::NULL;

/// What a story is told with.
pub(crate) struct Stage {
    /// The server that tells it.
    pub(crate) server: Server,
    /// Memory and slots.
    pub(crate) memory: Memory,
    /// Identifiers for address spaces.
    pub(crate) pool: AsidPool,
    /// Threads made so far: each has addresses of its own.
    pub(crate) assistants: u64,
    whole: Piece,
    slots: (u64, u64),
    first_assistant: u64,
}

impl Stage {
    /// Takes the server's memory.
    pub(crate) fn build(server: Server) -> Result<Self, InvocationError> {
        let mut all = server.memory();
        let pool = AsidPool(all.slots.take()?);
        let untyped = all.take_untyped(12)?;
        ASID_CONTROL.make_pool(untyped, CNODE, pool.0.0, DEPTH)?;
        let rest = Notification(all.make(ObjectType::Notification, 0)?);
        shared::set_rest(rest.0.0);
        let whole = Piece { untyped: all.take_untyped(STAGE_BITS)?, size_bits: STAGE_BITS };
        let first = all.slots.take_run(STAGE_SLOTS)?.0;
        let slots = (first, first + STAGE_SLOTS);
        Ok(Self {
            server,
            memory: fresh(whole, slots),
            pool,
            assistants: 0,
            whole,
            slots,
            first_assistant: 0,
        })
    }

    /// Takes everything back that was made on the stage.
    pub(crate) fn sweep(&mut self) -> Result<(), InvocationError> {
        CNODE.revoke(self.whole.untyped.0, DEPTH)?;
        // What is left are copies of what does not belong to the stage.
        let (used, _) = self.memory.slots.untouched();
        for slot in self.slots.0..used {
            CNODE.delete(slot, DEPTH)?;
        }
        self.memory = fresh(self.whole, self.slots);
        self.assistants = self.first_assistant;
        shared::clear();
        Ok(())
    }

    /// A smaller stage on this one, which can be swept by itself.
    pub(crate) fn inner(&mut self, size_bits: u8, slots: u64) -> Result<Self, InvocationError> {
        let whole = Piece { untyped: self.memory.take_untyped(size_bits)?, size_bits };
        let first = self.memory.slots.take_run(slots)?.0;
        let slots = (first, first + slots);
        let memory = fresh(whole, slots);
        let (server, pool, first_assistant) = (self.server, self.pool, self.assistants + 64);
        Ok(Self { server, memory, pool, assistants: first_assistant, whole, slots, first_assistant })
    }

    pub(crate) fn endpoint(&mut self) -> Result<Endpoint, InvocationError> {
        self.memory.make(ObjectType::Endpoint, 0).map(Endpoint)
    }

    pub(crate) fn reply(&mut self) -> Result<Reply, InvocationError> {
        self.memory.make(ObjectType::Reply, 0).map(Reply)
    }

    pub(crate) fn notification(&mut self) -> Result<Notification, InvocationError> {
        self.memory.make(ObjectType::Notification, 0).map(Notification)
    }

    /// The same endpoint under a badge, with every right.
    pub(crate) fn badged(&mut self, endpoint: Endpoint, badge: u64) -> Result<Endpoint, InvocationError> {
        self.memory.mint(endpoint.0, Rights::ALL, badge).map(Endpoint)
    }

    /// Another address space with the same image.
    pub(crate) fn there(&mut self) -> Result<VSpace, InvocationError> {
        let space = make_space(&mut self.memory, self.pool)?;
        map_image(&mut self.memory, space, self.server.segments())?;
        Ok(space)
    }

    /// The director's priority; assistants may have up to 50 more.
    pub(crate) fn priority(&self) -> u64 {
        self.server.priority()
    }

    /// Counter ticks in a number of microseconds.
    pub(crate) fn ticks(&self, microseconds: u64) -> u64 {
        self.server.timer_hz().saturating_mul(microseconds) / 1_000_000
    }
}

fn fresh(whole: Piece, (first, end): (u64, u64)) -> Memory {
    let mut memory = Memory::new(CNODE, Slots::new(first, end));
    memory.add(whole.untyped, whole.size_bits);
    memory
}
