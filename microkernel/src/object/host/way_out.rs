//! What the end of every entry does for hosts: vectors, upper half, a kick, a host that lost its ground.

use core::cell::Cell;

use abi::fault::Fault;

use super::{entry, pending, refresh};
use crate::arch::Machine;
use crate::ipc::fault;
use crate::kernel::Kernel;
use crate::object::store::Ref;
use crate::object::thread::{Exit, Tcb, register, state};
use crate::object::vspace::{self, VSpace};

/// A host's thread that is to run and cannot, since what it stands on is gone: it faults instead (C-28).
/// False: it can.
pub fn raise_if_lost<M: Machine>(k: &mut Kernel<M>, thread: Ref<Tcb>) -> bool {
    let lost = k.get(thread).host_lost.get();
    if lost == 0 || !k.get(thread).is_host() {
        return false;
    }
    let pc = k.get(thread).registers[register::PC].get();
    state::leave_fully(k, thread);
    fault::raise(k, thread, Fault::HostLost, [pc, lost, 0, 0]);
    true
}

/// Sets the machine's vectors and upper half for the thread that runs next. Ordinary threads leave the
/// upper half alone: its pages are not theirs (C-21, C-43).
pub fn prepare<M: Machine>(k: &mut Kernel<M>, thread: Ref<Tcb>) {
    let tcb = k.get(thread);
    if !tcb.is_host() {
        if k.core().hosted.replace(0) != 0 {
            k.machine.enter_native();
        }
        return;
    }
    refresh(k, thread);
    if tcb.is_in_program() && tcb.host_pending.get() & pending::KICK != 0 {
        interrupt(tcb);
    }
    let (block, upper) = (tcb.host_block.get(), tcb.upper.get());
    let system_call = tcb.host_entries[entry::SYSTEM_CALL].get();
    use_upper(k, upper);
    k.core().hosted.set(1);
    k.machine.enter_host(block, system_call);
}

/// The program's registers are in its context: the host goes on at its entry for interrupted programs (C-27).
fn interrupt(tcb: &Tcb) {
    let [interrupted, block] = [&tcb.host_entries[entry::INTERRUPTED], &tcb.host_block].map(Cell::get);
    tcb.registers.iter().for_each(|register| register.set(0));
    tcb.registers[register::PC].set(interrupted);
    tcb.registers[register::T0].set(block);
    tcb.exit.set(Exit::Full as u64);
}

/// Makes an upper half current, if another is.
fn use_upper<M: Machine>(k: &mut Kernel<M>, upper: Option<Ref<VSpace>>) {
    if k.core().upper.get() == upper {
        return;
    }
    k.core().upper.set(upper);
    let root = upper.map_or(k.empty_root, |space| vspace::root(space).address().physical());
    k.machine.set_upper(root);
}

/// Stops translating with an upper half that goes away.
pub fn forget_upper<M: Machine>(k: &mut Kernel<M>, upper: Ref<VSpace>) {
    if k.core().upper.get() == Some(upper) {
        use_upper(k, None);
    }
}
