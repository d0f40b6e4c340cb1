//! What must hold of the timers that are armed.

use std::collections::HashSet;
use std::format;
use std::string::String;

use crate::arch::Machine;
use crate::kernel::{Core, Kernel};
use crate::object::store::Ref;
use crate::object::timer::Timer;

/// Checks a core's heap: no timer is due before its parent, children and parents know each other, the right side
/// is never the longer one. Answers the timers in it.
///
/// # Errors
///
/// The first rule that is broken.
pub fn check<M: Machine>(k: &Kernel<M>, core: &Core) -> Result<HashSet<Ref<Timer>>, String> {
    let mut seen = HashSet::new();
    let mut to_see: std::vec::Vec<_> = core.timers.get().map(|root| (None, root)).into_iter().collect();
    while let Some((parent, timer)) = to_see.pop() {
        if !seen.insert(timer) {
            return Err(format!("{timer:?} is in the heap twice"));
        }
        let here = k.get(timer);
        if here.parent.get() != parent {
            return Err(format!("{timer:?} has the parent {:?}, not {parent:?}", here.parent.get()));
        }
        if parent.is_some_and(|parent: Ref<Timer>| k.get(parent).deadline.get() > here.deadline.get()) {
            return Err(format!("{timer:?} is due before its parent {parent:?}"));
        }
        let rank = |child: Option<Ref<Timer>>| child.map_or(0, |child| k.get(child).rank.get());
        let (left, right) = (rank(here.left.get()), rank(here.right.get()));
        if here.rank.get() != right + 1 || left < right {
            return Err(format!("{timer:?} has rank {}, with {left} and {right} below", here.rank.get()));
        }
        to_see.extend(
            [here.left.get(), here.right.get()].into_iter().flatten().map(|child| (Some(timer), child)),
        );
    }
    Ok(seen)
}
