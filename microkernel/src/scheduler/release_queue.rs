//! The threads that wait for their context's next refill, by the time at which it comes.
//!
//! Owns the list behind [`Core::release_head`], linked through `sched_next` and `sched_previous`.

use crate::arch::{Machine, Ticks};
use crate::kernel::{Core, Kernel};
use crate::object::store::Ref;
use crate::object::thread::Tcb;
use crate::scheduler::queue;

/// When a thread's refill comes.
fn due<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) -> Ticks {
    let context = k.get(thread).sched_context.get();
    Ticks(context.map_or(0, |context| k.get(context).refill_at.get()))
}

/// Puts a thread that is in no queue behind those that are due no later.
pub fn insert<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    let core = k.home_core(thread);
    let tcb = k.get(thread);
    let time = due(k, thread);
    let mut previous = None;
    let mut next = core.release_head.get();
    while let Some(other) = next.filter(|other| due(k, *other) <= time) {
        previous = next;
        next = k.get(other).sched_next.get();
    }
    tcb.sched_next.set(next);
    tcb.sched_previous.set(previous);
    previous.map_or(&core.release_head, |previous| &k.get(previous).sched_next).set(Some(thread));
    if let Some(next) = next {
        k.get(next).sched_previous.set(Some(thread));
    }
    tcb.sched_queue.set(queue::RELEASE);
}

/// Takes a thread out.
pub fn remove<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    let core = k.home_core(thread);
    let tcb = k.get(thread);
    let next = tcb.sched_next.take();
    let previous = tcb.sched_previous.take();
    previous.map_or(&core.release_head, |previous| &k.get(previous).sched_next).set(next);
    if let Some(next) = next {
        k.get(next).sched_previous.set(previous);
    }
    tcb.sched_queue.set(queue::NONE);
}

/// When the first thread is due, [`Ticks::NEVER`] when nobody waits.
pub fn first_due<M: Machine>(k: &Kernel<M>, core: &Core) -> Ticks {
    core.release_head.get().map_or(Ticks::NEVER, |thread| due(k, thread))
}
