//! Whose state is in the vector unit (C-30).
//!
//! Owned here: each core's `vector_owner`, a context whose registers the unit holds, and that context's
//! `euen` and `width`. The unit is enabled while the owner is current and never else, so its registers change
//! by nobody but the owner; a context gets it by the trap for a disabled unit. What was there before goes to
//! its own context's memory first. A width that was not used yet is zero in memory before it is loaded, so a
//! new owner sees zeros.
//!
//! The memory is user data: what is read from it may be anything, and all but fcsr is loaded as it is.

use core::mem::offset_of;

use abi::Error;
use abi::context::{Context, Width, flag};

use super::{Host, HostedContext};
use crate::address::WindowAddr;
use crate::arch::Machine;
use crate::failure::Failure;
use crate::kernel::{Core, Kernel};
use crate::object::store::Ref;

/// Bits of FCSR0 that are kept: enables 4:0, rounding 9:8, flags 20:16, cause 28:24. TM (bit 6) is not.
const FCSR_MASK: u64 = 0x1f1f_031f;
/// Where FCSR0's cause begins; its bits stand in the order of the enables.
const CAUSE_SHIFT: u32 = 24;
/// The enables.
const ENABLES: u64 = 0x1f;

/// A word of a context's memory.
fn at(context: &HostedContext, offset: usize) -> WindowAddr {
    WindowAddr(context.context.get()).offset(offset as u64)
}

/// Gives the unit of this core to a context at the width that it asks for, or that it has used before; false
/// when the machine has no such unit.
pub fn enable<M: Machine>(k: &mut Kernel<M>, context: Ref<HostedContext>, wanted: Width) -> bool {
    if wanted > k.machine.vector_width() {
        return false;
    }
    put_away(k);
    let object = k.get(context);
    let used = Width::from_raw(object.width.get());
    let width = used.max(wanted);
    clear_unused(k, object, used, width);
    let fcsr = checked_fcsr(k, object);
    k.machine.store(at(object, offset_of!(Context, fcsr)), fcsr);
    k.machine.store(at(object, offset_of!(Context, width)), width as u64);
    k.machine.store(at(object, offset_of!(Context, vector_live)), 1);
    object.width.set(width as u64);
    object.euen.set(width.euen());
    if let Some(thread) = object.thread() {
        k.get(thread).euen.set(width.euen());
        k.core().vector_host.set(k.get(thread).host.get());
    }
    let memory = at(object, 0);
    k.core().vector_owner.set(Some(context));
    k.machine.load_vector(memory, width);
    true
}

/// Zeros what the context has not used yet of what is to be loaded.
fn clear_unused<M: Machine>(k: &Kernel<M>, object: &HostedContext, used: Width, width: Width) {
    if used == Width::None {
        k.machine.store(at(object, offset_of!(Context, fcc)), 0);
        k.machine.store(at(object, offset_of!(Context, fcsr)), 0);
    }
    let first = offset_of!(Context, vector);
    for register in 0..32 {
        for lane in used.lanes()..width.lanes() {
            k.machine.store(at(object, first + register * 32 + lane * 8), 0);
        }
    }
}

/// FCSR0 from memory as it may be loaded: a cause whose enable is set would be an exception of the kernel's.
fn checked_fcsr<M: Machine>(k: &Kernel<M>, object: &HostedContext) -> u64 {
    let fcsr = k.machine.load(at(object, offset_of!(Context, fcsr))) & FCSR_MASK;
    let raised = fcsr >> CAUSE_SHIFT & fcsr & ENABLES;
    if raised != 0 {
        let flags = at(object, offset_of!(Context, flags));
        k.machine.store(flags, k.machine.load(flags) | flag::FCSR_CAUSE);
    }
    fcsr & !(raised << CAUSE_SHIFT)
}

/// Brings the state in this core's unit to its owner's memory; the unit is nobody's then.
pub fn put_away<M: Machine>(k: &mut Kernel<M>) {
    let Some(owner) = k.core().vector_owner.get() else { return };
    let object = k.get(owner);
    let (memory, width) = (at(object, 0), Width::from_raw(object.width.get()));
    k.machine.save_vector(memory, width);
    k.machine.store(at(k.get(owner), offset_of!(Context, vector_live)), 0);
    forget(k, k.core());
}

/// Lets a context's memory count, whatever the unit holds; its width too, as far as the machine has it.
pub fn take_from_memory<M: Machine>(k: &Kernel<M>, context: Ref<HostedContext>) {
    if k.core().vector_owner.get() == Some(context) {
        forget(k, k.core());
    }
    let object = k.get(context);
    k.machine.store(at(object, offset_of!(Context, vector_live)), 0);
    let width = Width::from_raw(k.machine.load(at(object, offset_of!(Context, width))));
    object.width.set(width.min(k.machine.vector_width()) as u64);
}

/// Lets nobody own a core's unit, without a look at anybody's memory.
fn forget<M: Machine>(k: &Kernel<M>, core: &Core) {
    let Some(owner) = core.vector_owner.take() else { return };
    let object = k.get(owner);
    object.euen.set(0);
    if let Some(thread) = object.thread() {
        k.get(thread).euen.set(0);
    }
}

/// Lets no context of a host own a unit: its contexts are going (C-28).
pub fn forget_host<M: Machine>(k: &Kernel<M>, host: Ref<Host>) {
    for core in &k.cores {
        if core.vector_host.get() == Some(host) {
            forget(k, core);
        }
    }
}

/// Refuses a context whose state is in another core's unit.
///
/// # Errors
///
/// `NeedsSync`.
pub fn check_here<M: Machine>(k: &Kernel<M>, context: Ref<HostedContext>) -> Result<(), Failure> {
    let here = k.core();
    let elsewhere = |core: &Core| !core::ptr::eq(core, here) && core.vector_owner.get() == Some(context);
    if k.cores.iter().any(elsewhere) { Err(Error::NeedsSync.into()) } else { Ok(()) }
}
