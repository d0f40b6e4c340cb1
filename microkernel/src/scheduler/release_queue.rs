//! The threads that wait for their context's next refill, the one that is due first at the head.
//!
//! Owns the heap behind [`Core::release_head`]. It is *leftist*: no thread is due before its parent, and
//! the way down along right children is the shortest there is. So that way, and with it every insertion
//! and removal, takes at most as many steps as the number of threads has bits (C-3).
//!
//! A thread that waits for a refill waits for nothing else, so its links are at hand: `sched_next` is the
//! left child, `sched_previous` the right one, `queue_previous` the parent, and `release_rank` the length
//! of the way down along right children, the thread included.

use crate::arch::{Machine, Ticks};
use crate::kernel::{Core, Kernel};
use crate::object::store::Ref;
use crate::object::thread::Tcb;
use crate::scheduler::queue;

/// A heap: the thread at its head.
type Heap = Option<Ref<Tcb>>;

/// When a thread's refill comes.
fn due<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) -> Ticks {
    let context = k.get(thread).sched_context.get();
    Ticks(context.map_or(0, |context| k.get(context).refill_at.get()))
}

fn rank<M: Machine>(k: &Kernel<M>, heap: Heap) -> u64 {
    heap.map_or(0, |thread| k.get(thread).release_rank.get())
}

/// Puts a thread that is in no queue where its time says.
pub fn insert<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    let core = k.home_core(thread);
    k.get(thread).sched_queue.set(queue::RELEASE);
    k.get(thread).release_rank.set(1);
    set_root(k, core, merge(k, core.release_head.get(), Some(thread)));
}

/// Takes a thread out; its context still says when it was due.
pub fn remove<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) {
    let core = k.home_core(thread);
    let tcb = k.get(thread);
    let heir = merge(k, tcb.sched_next.take(), tcb.sched_previous.take());
    let parent = tcb.queue_previous.take();
    tcb.sched_queue.set(queue::NONE);
    tcb.release_rank.set(0);
    let Some(above) = parent else { return set_root(k, core, heir) };
    if let Some(heir) = heir {
        k.get(heir).queue_previous.set(parent);
    }
    let children = k.get(above);
    let place = if children.sched_next.get() == Some(thread) {
        &children.sched_next
    } else {
        &children.sched_previous
    };
    place.set(heir);
    // Above, ranks become smaller as far as this was the shortest way: that far up, and no further.
    let mut changed = parent;
    while let Some(thread) = changed.filter(|thread| level(k, *thread) == Level::Changed) {
        changed = k.get(thread).queue_previous.get();
    }
}

fn set_root<M: Machine>(k: &Kernel<M>, core: &Core, root: Heap) {
    core.release_head.set(root);
    if let Some(root) = root {
        k.get(root).queue_previous.set(None);
    }
}

/// Whether a thread's rank had to change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Changed,
    Same,
}

/// Puts a thread's children in their order and its rank right.
fn level<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) -> Level {
    let tcb = k.get(thread);
    if rank(k, tcb.sched_next.get()) < rank(k, tcb.sched_previous.get()) {
        tcb.sched_next.swap(&tcb.sched_previous);
    }
    let rank = rank(k, tcb.sched_previous.get()) + 1;
    if tcb.release_rank.replace(rank) == rank { Level::Same } else { Level::Changed }
}

/// One heap of two, along their right children: down to hang one below the other, up to level.
fn merge<M: Machine>(k: &Kernel<M>, mut one: Heap, mut other: Heap) -> Heap {
    let mut above: Heap = None;
    let mut root = None;
    while let (Some(a), Some(b)) = (one, other) {
        let (first, second) = if due(k, b) < due(k, a) { (b, a) } else { (a, b) };
        hang(k, above, first, &mut root);
        above = Some(first);
        one = k.get(first).sched_previous.get();
        other = Some(second);
    }
    if let Some(rest) = one.or(other) {
        hang(k, above, rest, &mut root);
    }
    while let Some(thread) = above {
        level(k, thread);
        above = k.get(thread).queue_previous.get();
    }
    root
}

/// Makes `below` the right child of `above`, or the root where there is none above.
fn hang<M: Machine>(k: &Kernel<M>, above: Heap, below: Ref<Tcb>, root: &mut Heap) {
    k.get(below).queue_previous.set(above);
    match above {
        Some(above) => k.get(above).sched_previous.set(Some(below)),
        None => *root = Some(below),
    }
}

/// When the first thread is due, [`Ticks::NEVER`] when nobody waits.
pub fn first_due<M: Machine>(k: &Kernel<M>, core: &Core) -> Ticks {
    core.release_head.get().map_or(Ticks::NEVER, |thread| due(k, thread))
}

/// Every thread that waits, a parent before its children.
pub fn iter<M: Machine>(k: &Kernel<M>, core: &Core) -> impl Iterator<Item = Ref<Tcb>> {
    core::iter::successors(core.release_head.get(), |thread| after(k, *thread))
}

fn after<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>) -> Heap {
    let tcb = k.get(thread);
    if let Some(child) = tcb.sched_next.get().or(tcb.sched_previous.get()) {
        return Some(child);
    }
    let mut from = thread;
    while let Some(above) = k.get(from).queue_previous.get() {
        let right = k.get(above).sched_previous.get();
        if right.is_some() && right != Some(from) {
            return right;
        }
        from = above;
    }
    None
}
