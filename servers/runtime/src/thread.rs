//! Threads: a Tcb with its spaces, IPC buffer, registers, priority and, if it is to run by itself, time.

use abi::object::ObjectType;
use abi::{CPtr, PAGE_BITS};

use crate::error::InvocationError;
use crate::memory::Memory;
use crate::registers::{A0, PC, Registers, Resume, SP, TP};
use crate::space::{Access, map};
use crate::stubs::{CNode, Frame, SchedContext, SchedControl, Tcb, VSpace};

/// The `cspace_guard` of a CNode whose addresses are slot numbers: see [`guard`].
pub const CNODE_RADIX: u8 = abi::server::CNODE_RADIX;

/// The guard word that makes a CNode of `radix` bits resolve all 64 bits of a slot number.
pub const fn guard(radix: u8) -> u64 {
    // Guard bits in the low six, the guard's value above (seL4 manual §3.3.1).
    64 - radix as u64
}

/// Processor time in each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    /// Nanoseconds of each period in which the thread may run.
    pub budget_ns: u64,
    /// The period, in nanoseconds.
    pub period_ns: u64,
}

/// How a thread begins.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Its capability space.
    pub cnode: CNode,
    /// The guard word of its capability space's root.
    pub guard: u64,
    /// Its address space.
    pub space: VSpace,
    /// Where its IPC buffer is to be mapped.
    pub ipc_buffer: u64,
    /// Its first instruction.
    pub pc: u64,
    /// One past its stack.
    pub stack_top: u64,
    /// What it finds in `$a0` to `$a3`.
    pub arguments: [u64; 4],
    /// The endpoint of its faults; null for none.
    pub fault_handler: CPtr,
    /// Whose maximum controlled priority allows the two priorities.
    pub authority: Tcb,
    /// Its priority.
    pub priority: u64,
    /// The highest priority that it may give.
    pub max_priority: u64,
}

/// A thread that was built, not resumed yet.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    /// Its Tcb.
    pub tcb: Tcb,
    /// The Frame of its IPC buffer.
    pub ipc_buffer: Frame,
}

/// Builds a thread without time.
///
/// # Errors
/// What any of the invocations refuses.
pub fn make_thread(memory: &mut Memory, start: &Start) -> Result<Thread, InvocationError> {
    let tcb = Tcb(memory.make(ObjectType::Tcb, 0)?);
    let ipc_buffer = Frame(memory.make(ObjectType::Frame, PAGE_BITS)?);
    map(memory, start.space, ipc_buffer, start.ipc_buffer, Access::ReadWrite)?;
    tcb.set_space(start.fault_handler, start.cnode, start.space, start.guard)?;
    tcb.set_ipc_buffer(ipc_buffer)?;
    tcb.set_tls_base(start.ipc_buffer)?;
    tcb.set_mc_priority(start.authority, start.max_priority)?;
    tcb.set_priority(start.authority, start.priority)?;
    tcb.write_registers(Resume::Leave, &first_registers(start))?;
    Ok(Thread { tcb, ipc_buffer })
}

/// The registers with which a thread begins.
pub fn first_registers(start: &Start) -> Registers {
    let mut registers: Registers = [0; 32];
    let fixed = [(PC, start.pc), (SP, start.stack_top), (TP, start.ipc_buffer)];
    for (index, value) in fixed.into_iter().chain((A0..).zip(start.arguments)) {
        if let Some(register) = registers.get_mut(index) {
            *register = value;
        }
    }
    registers
}

/// Makes a scheduling context.
///
/// # Errors
/// What Retype and Configure refuse.
pub fn make_time(
    memory: &mut Memory,
    control: SchedControl,
    time: Time,
) -> Result<SchedContext, InvocationError> {
    let context = SchedContext(memory.make(ObjectType::SchedContext, 0)?);
    control.configure(context, time.budget_ns, time.period_ns, 0, 0)?;
    Ok(context)
}
