//! The timers that are armed, by deadline: a heap a core, through the timers themselves.
//!
//! Owns the tree below [`Core::timers`]: a leftist heap (Crane 1972; Knuth vol. 3 §5.2.3). No timer is due before
//! its parent. A timer's *rank* is one more than its right child's, and no child on the right has a higher rank
//! than its sibling, so the way down on the right is never longer than the logarithm of how many there are.
//! Every operation walks such ways only: it is bounded however many timers anybody arms (C-3).

use crate::arch::Machine;
use crate::kernel::{Core, Kernel};
use crate::object::store::Ref;
use crate::object::thread::hot::HOME_SHIFT;
use crate::object::timer::Timer;

/// The core whose heap a timer belongs to.
fn core_of<M: Machine>(k: &Kernel<M>, timer: Ref<Timer>) -> &Core {
    let index = usize::try_from(k.get(timer).home.get() >> HOME_SHIFT).unwrap_or(0);
    k.cores.get(index).unwrap_or(&k.cores[0])
}

/// Puts a timer that is not armed among those that are.
pub fn insert<M: Machine>(k: &Kernel<M>, timer: Ref<Timer>) {
    let root = &core_of(k, timer).timers;
    k.get(timer).rank.set(1);
    root.set(meld(k, root.get(), Some(timer)));
}

/// Takes a timer out, if it is armed.
pub fn remove<M: Machine>(k: &Kernel<M>, timer: Ref<Timer>) {
    let gone = k.get(timer);
    if gone.rank.replace(0) == 0 {
        return;
    }
    let below = meld(k, gone.left.take(), gone.right.take());
    let parent = gone.parent.take();
    if let Some(below) = below {
        k.get(below).parent.set(parent);
    }
    let Some(parent) = parent else { return core_of(k, timer).timers.set(below) };
    let above = k.get(parent);
    let place = if above.left.get() == Some(timer) { &above.left } else { &above.right };
    place.set(below);
    // Above a timer whose rank stays, every rank does.
    let mut next = Some(parent);
    while let Some(timer) = next.filter(|timer| repair(k, *timer)) {
        next = k.get(timer).parent.get();
    }
}

/// Makes one heap of two; its root has no parent.
fn meld<M: Machine>(
    k: &Kernel<M>,
    mut one: Option<Ref<Timer>>,
    mut other: Option<Ref<Timer>>,
) -> Option<Ref<Timer>> {
    let mut root = None;
    let mut last: Option<Ref<Timer>> = None;
    // Down the right sides of both: the earlier of two goes first, its right side is melded with the other.
    loop {
        let next = match (one, other) {
            (Some(a), Some(b)) if k.get(b).deadline.get() < k.get(a).deadline.get() => Some((b, one)),
            (Some(a), Some(_)) => Some((a, other)),
            (Some(rest), None) | (None, Some(rest)) => {
                hang(k, last, &mut root, rest);
                None
            }
            (None, None) => None,
        };
        let Some((earlier, later)) = next else { break };
        hang(k, last, &mut root, earlier);
        one = k.get(earlier).right.get();
        other = later;
        last = Some(earlier);
    }
    // And up again.
    while let Some(timer) = last {
        repair(k, timer);
        last = k.get(timer).parent.get();
    }
    root
}

/// Hangs a timer to the right below `last`; without one it is the root.
fn hang<M: Machine>(
    k: &Kernel<M>,
    last: Option<Ref<Timer>>,
    root: &mut Option<Ref<Timer>>,
    timer: Ref<Timer>,
) {
    k.get(timer).parent.set(last);
    match last {
        Some(last) => k.get(last).right.set(Some(timer)),
        None => *root = Some(timer),
    }
}

/// Puts a timer's children into their order and sets its rank; true if that changed.
fn repair<M: Machine>(k: &Kernel<M>, timer: Ref<Timer>) -> bool {
    let here = k.get(timer);
    if rank(k, here.left.get()) < rank(k, here.right.get()) {
        here.left.swap(&here.right);
    }
    let now = rank(k, here.right.get()) + 1;
    here.rank.replace(now) != now
}

fn rank<M: Machine>(k: &Kernel<M>, timer: Option<Ref<Timer>>) -> u64 {
    timer.map_or(0, |timer| k.get(timer).rank.get())
}
