//! Emptying slots: Delete and Revoke, preemptible and without recursion (C-3).
//!
//! The last capability of a CNode, Tcb or Host becomes a *Zombie*, which counts down the slots that may still
//! be filled; when none is, it goes, and the object's memory is free. Capabilities to containers may lie
//! in containers to any depth, and in themselves, so the walk keeps its way back in the slots themselves:
//!
//! - The *work slot* holds the Zombie of the container that is being emptied.
//! - On the way down from B to a container C whose last capability lies in B, C's Zombie goes to the work
//!   slot, B's into C's last slot, and what was there into B, where it is looked at next.
//! - On the way up from C, what lies in its last slot returns to the work slot and C is gone.
//! - When the work slot is itself a slot of the container, it is that container's first slot; then C stays
//!   until the rest of the way up is done, because its memory holds the work slot.
//!
//! After each step the list of capabilities is well-formed, every Zombie's memory counts as in use, and
//! any Zombie is a place to go on from: a preempted Delete is finished by itself, by a Delete of what
//! holds the slot, or by a Revoke of an ancestor.

use abi::Error;
use abi::object::SLOT_BITS;

use super::cap::{Cap, Slot, ZombieKind};
use super::derivation::{self, empty, first_child, insert, set_cap, swap};
use super::finalise::finalise;
use super::region::same_object;
use crate::arch::Machine;
use crate::failure::Failure;
use crate::kernel::Kernel;
use crate::object::store::Ref;
use crate::object::thread::TCB_SLOTS;

/// Steps that only move, after which a walk may stop all the same. If it could stop after each, the next
/// Revoke might begin elsewhere and move back.
const MOST_MOVES: u32 = 8;

/// Empties `slot`; the last capability of an object takes the object with it.
///
/// A slot that is part of what goes may be gone when this returns.
///
/// Errors: `Preempted`; called again it goes on.
pub fn delete<M: Machine>(k: &mut Kernel<M>, slot: Ref<Slot>) -> Result<(), Failure> {
    let mut walk = Walk { work: slot, end: slot };
    let mut moves = 0;
    loop {
        match walk.step(k)? {
            Step::Done => return Ok(()),
            Step::Moved if moves < MOST_MOVES => moves += 1,
            Step::Moved | Step::More if k.machine.preemption_pending() => return Err(Failure::Preempted),
            Step::Moved | Step::More => moves = 0,
        }
    }
}

/// Deletes every capability that derives from the one in `slot`.
///
/// Errors: `Preempted`; called again it goes on.
pub fn revoke<M: Machine>(k: &mut Kernel<M>, slot: Ref<Slot>) -> Result<(), Failure> {
    while let Some(child) = first_child(k, slot) {
        delete(k, child)?;
        if k.machine.preemption_pending() && derivation::has_children(k, slot) {
            return Err(Failure::Preempted);
        }
    }
    Ok(())
}

/// Puts `cap`, which derives from `source`, into a slot of the object that `owner` names, in place of what
/// is there.
///
/// What was there may be the last way to the object or to `source`, and take them with it: then the slot
/// stays empty.
///
/// Errors: `Preempted`; nothing is replaced yet.
pub fn replace<M: Machine>(
    k: &mut Kernel<M>,
    slot: Ref<Slot>,
    cap: Cap,
    source: Ref<Slot>,
    owner: Ref<Slot>,
) -> Result<(), Failure> {
    let (from, of) = (k.get(source).cap(), k.get(owner).cap());
    delete(k, slot)?;
    let still_there =
        |slot: Ref<Slot>, cap: &Cap| k.get(slot).cap() == *cap || same_object(&k.get(slot).cap(), cap);
    if still_there(source, &from) && still_there(owner, &of) {
        insert(k, cap, source, slot);
    }
    Ok(())
}

/// A walk through what a deletion takes with it.
struct Walk {
    /// The slot that is being emptied now.
    work: Ref<Slot>,
    /// The slot after which nothing is left to do.
    end: Ref<Slot>,
}

enum Step {
    /// Something was done and more is left.
    More,
    /// Only the walk moved, perhaps to where another deletion that was begun and not finished came from.
    Moved,
    /// Nothing is left.
    Done,
}

/// A CNode, Tcb or Host that is being emptied. Half of a Host is no slots; what lies there reads as empty ones.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Container {
    base: Ref<Slot>,
    kind: ZombieKind,
}

impl Container {
    fn slots(self) -> u64 {
        match self.kind {
            ZombieKind::CNode { radix } => 1 << radix,
            ZombieKind::Tcb => TCB_SLOTS,
            ZombieKind::Host { size_bits } => 1 << (size_bits - SLOT_BITS),
        }
    }

    fn last(self) -> Ref<Slot> {
        self.base.element(self.slots() - 1)
    }

    fn holds(self, slot: Ref<Slot>) -> bool {
        let offset = slot.raw().wrapping_sub(self.base.raw());
        offset / (size_of::<Slot>() as u64) < self.slots()
    }

    fn zombie(self, remaining: u64) -> Cap {
        Cap::Zombie { base: self.base, kind: self.kind, remaining }
    }
}

impl Walk {
    /// Does a bounded piece of work.
    fn step<M: Machine>(&mut self, k: &mut Kernel<M>) -> Result<Step, Failure> {
        match k.get(self.work).cap() {
            Cap::Null => Ok(self.emptied()),
            Cap::Zombie { base, kind, remaining } => self.reduce(k, Container { base, kind }, remaining),
            _ => match finalise(k, self.work)? {
                Cap::Null => {
                    empty(k, self.work);
                    Ok(self.emptied())
                }
                zombie => {
                    set_cap(k, self.work, zombie);
                    Ok(Step::More)
                }
            },
        }
    }

    /// The work slot is empty now.
    fn emptied(&mut self) -> Step {
        if self.work == self.end {
            return Step::Done;
        }
        self.work = self.end;
        Step::More
    }

    /// Looks at one slot of the container whose Zombie lies in the work slot.
    fn reduce<M: Machine>(
        &mut self,
        k: &mut Kernel<M>,
        container: Container,
        remaining: u64,
    ) -> Result<Step, Failure> {
        self.leave_middle(k, container);
        let own_slots = u64::from(self.work == container.base);
        if remaining <= own_slots {
            return Ok(self.finish(k, container));
        }
        let slot = container.base.element(remaining - 1);
        match k.get(slot).cap() {
            Cap::Null => set_cap(k, self.work, container.zombie(remaining - 1)),
            Cap::Zombie { base, kind, remaining: inner } => {
                self.descend(k, slot, Container { base, kind }, inner);
                return Ok(Step::Moved);
            }
            _ => match finalise(k, slot)? {
                Cap::Null => {
                    empty(k, slot);
                    set_cap(k, self.work, container.zombie(remaining - 1));
                }
                zombie => set_cap(k, slot, zombie),
            },
        }
        Ok(Step::More)
    }

    /// Goes on with `inner`, whose Zombie lies in `slot` of the present container.
    fn descend<M: Machine>(&mut self, k: &mut Kernel<M>, slot: Ref<Slot>, inner: Container, remaining: u64) {
        self.leave_middle(k, inner);
        let last = inner.last();
        set_cap(k, slot, inner.zombie(remaining.min(inner.slots() - 1)));
        swap(k, slot, last);
        swap(k, self.work, last);
    }

    /// If the work slot is one of the container's but not its first, makes its first the work slot. The
    /// capability in the first goes where the work slot was, and is looked at there: the container is not
    /// begun yet, or the work slot is its last, whose content goes elsewhere next.
    fn leave_middle<M: Machine>(&mut self, k: &mut Kernel<M>, container: Container) {
        if self.work == container.base || !container.holds(self.work) {
            return;
        }
        swap(k, self.work, container.base);
        if self.end == self.work {
            self.end = container.base;
        }
        self.work = container.base;
    }

    /// The container is empty, but for its last slot when the walk came from another container.
    fn finish<M: Machine>(&mut self, k: &mut Kernel<M>, container: Container) -> Step {
        let last = container.last();
        if k.get(last).is_empty() {
            empty(k, self.work);
            return self.emptied();
        }
        if self.work == container.base {
            // The rest of the way up first: this container's memory holds the slots that it needs. Its own
            // Zombie is then the end of the walk.
            self.work = last;
            return Step::Moved;
        }
        empty(k, self.work);
        swap(k, last, self.work);
        Step::More
    }
}

/// Refuses to move or copy what a deletion is taking apart.
pub fn check_alive(cap: &Cap) -> Result<(), Failure> {
    match cap {
        Cap::Null => Err(Error::SlotEmpty.into()),
        Cap::Zombie { .. } => Err(Error::IllegalOperation.into()),
        _ => Ok(()),
    }
}
