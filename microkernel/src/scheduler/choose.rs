//! The choice of the thread to run.

use crate::arch::Machine;
use crate::event_log::Event;
use crate::kernel::Kernel;
use crate::scheduler::ready_queue::{self, Place};
use crate::scheduler::{is_schedulable, queue};

/// Sets [`crate::kernel::Core::current`] to the thread with the highest priority; among equals the current
/// one goes on, and a thread that is preempted keeps its turn.
pub fn choose<M: Machine>(k: &mut Kernel<M>) {
    let core = k.core();
    let current = k.current();
    let tcb = k.get(current);
    if is_schedulable(k, current) && tcb.sched_queue.get() == queue::NONE {
        if tcb.priority.get() >= core.top_ready.get() {
            return;
        }
        ready_queue::insert(k, current, Place::First);
    }
    let next = ready_queue::take_first(k, core).or(core.idle.get());
    core.current.set(next);
    if let Some(next) = next.filter(|next| *next != current) {
        k.log.note(Event::Switch(next.raw()));
    }
}
