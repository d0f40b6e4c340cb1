//! How capabilities derive from each other: one list of all filled slots that belong together, in
//! derivation order, as seL4's mapping database.
//!
//! What derives from a capability follows it in the list. Whether a capability is an ancestor of one
//! behind it is decided by what they stand for ([`region`]), by badges, and by two flags: *revocable* for
//! an object's original and for the first capability with its badge, *first badged* for the latter, which
//! no sibling with the same badge adopts.
//!
//! Everything that fills or empties a slot goes through here, so that the thread whose slot it is learns
//! of it.

use abi::Error;

use super::cap::{Cap, FrameCap, Place, Slot, UntypedCap, flag};
pub use super::delete::{delete, replace, revoke};
use super::region;
use crate::arch::Machine;
use crate::failure::Failure;
use crate::kernel::Kernel;
use crate::object::host;
use crate::object::store::Ref;
use crate::object::thread::{self, Tcb};

impl Slot {
    /// The next slot in derivation order.
    pub fn next_slot(&self) -> Option<Ref<Slot>> {
        Ref::from_raw(self.next.get() & !flag::MASK)
    }

    /// The previous slot in derivation order.
    pub fn previous_slot(&self) -> Option<Ref<Slot>> {
        Ref::from_raw(self.previous.get())
    }

    /// True when the flag is set: [`flag::REVOCABLE`] or [`flag::FIRST_BADGED`].
    pub fn has_flag(&self, flag: u64) -> bool {
        self.next.get() & flag != 0
    }

    fn set_next(&self, next: Option<Ref<Slot>>) {
        self.next.set(self.next.get() & flag::MASK | next.map_or(0, Ref::raw));
    }

    fn set_previous(&self, previous: Option<Ref<Slot>>) {
        self.previous.set(previous.map_or(0, Ref::raw));
    }

    /// The capability's flags, without the slot's place.
    fn flags(&self) -> u64 {
        self.next.get() & flag::MASK & !flag::PLACE
    }

    /// Sets the capability's flags and the links; the place stays.
    fn set_links(&self, flags: u64, previous: Option<Ref<Slot>>, next: Option<Ref<Slot>>) {
        self.next.set(self.next.get() & flag::PLACE | flags | next.map_or(0, Ref::raw));
        self.set_previous(previous);
    }
}

/// Tells the object that mirrors the slot that it changed.
fn changed<M: Machine>(k: &mut Kernel<M>, slot: Ref<Slot>) {
    match k.get(slot).place() {
        Place::CNode | Place::Window => {}
        Place::Tcb => {
            if let Some(thread) = Ref::from_raw(slot.raw() & !(size_of::<Tcb>() as u64 - 1)) {
                thread::slots_changed(k, thread);
            }
        }
        Place::Host => host::contexts_changed(k, slot.cast()),
        Place::Context => host::space_changed(k, slot.cast()),
    }
}

/// Puts `cap`, which derives from the capability in `parent`, into the empty slot `into`.
///
/// What is new (retyped, a handler, or with another badge) becomes an original, what is a copy does not.
/// The memory of an Untyped that is copied belongs to the copy from now on: the parent counts as given away.
pub fn insert<M: Machine>(k: &mut Kernel<M>, cap: Cap, parent: Ref<Slot>, into: Ref<Slot>) {
    let from = k.get(parent).cap();
    let flags = if is_original(&cap, &from) { flag::REVOCABLE | flag::FIRST_BADGED } else { 0 };
    if let (Cap::Untyped(source), Cap::Untyped(copy)) = (from, cap)
        && (source.base, source.size_bits) == (copy.base, copy.size_bits)
    {
        k.get(parent).set_cap(Cap::Untyped(UntypedCap { free: 1 << source.size_bits, ..source }));
    }

    let next = k.get(parent).next_slot();
    let slot = k.get(into);
    slot.set_links(flags, Some(parent), next);
    slot.set_cap(cap);
    k.get(parent).set_next(Some(into));
    if let Some(next) = next {
        k.get(next).set_previous(Some(into));
    }
    changed(k, into);
}

/// Puts a capability that derives from nothing into the empty slot `into`: what the kernel makes at boot.
pub fn insert_root<M: Machine>(k: &mut Kernel<M>, cap: Cap, into: Ref<Slot>) {
    let slot = k.get(into);
    slot.set_links(flag::REVOCABLE | flag::FIRST_BADGED, None, None);
    slot.set_cap(cap);
    changed(k, into);
}

fn is_original(cap: &Cap, from: &Cap) -> bool {
    match (cap, from) {
        (_, Cap::Untyped(_)) | (Cap::IrqHandler(_), Cap::IrqControl) => true,
        (Cap::Endpoint { badge, .. }, Cap::Endpoint { badge: parent, .. })
        | (Cap::Notification { badge, .. }, Cap::Notification { badge: parent, .. }) => badge != parent,
        _ => false,
    }
}

/// Moves the capability in `from` to the empty slot `into` as `cap`, which may have another badge or guard.
pub fn move_cap<M: Machine>(k: &mut Kernel<M>, cap: Cap, from: Ref<Slot>, into: Ref<Slot>) {
    swap(k, from, into);
    k.get(into).set_cap(cap);
    changed(k, into);
}

/// Exchanges what two slots hold; either may be empty.
pub fn swap<M: Machine>(k: &mut Kernel<M>, one: Ref<Slot>, other: Ref<Slot>) {
    if one == other {
        return;
    }
    let (a, b) = (Content::of(k.get(one)), Content::of(k.get(other)));
    b.put(k, one, other);
    a.put(k, other, one);
    for slot in [one, other] {
        relink(k, slot);
    }
    changed(k, one);
    changed(k, other);
}

/// What a slot holds, beside its place.
struct Content {
    cap: Cap,
    flags: u64,
    previous: Option<Ref<Slot>>,
    next: Option<Ref<Slot>>,
}

impl Content {
    fn of(slot: &Slot) -> Self {
        Self { cap: slot.cap(), flags: slot.flags(), previous: slot.previous_slot(), next: slot.next_slot() }
    }

    /// Writes the content of `from` to `slot`, while that of `slot` goes to `from`: a neighbour that is
    /// `slot` itself lies in `from` then.
    fn put<M: Machine>(&self, k: &Kernel<M>, slot: Ref<Slot>, from: Ref<Slot>) {
        let renamed = |link: Option<Ref<Slot>>| link.map(|link| if link == slot { from } else { link });
        let place = k.get(slot);
        place.set_links(self.flags, renamed(self.previous), renamed(self.next));
        place.set_cap(self.cap);
    }
}

/// Lets the neighbours of `slot` point to it.
fn relink<M: Machine>(k: &Kernel<M>, slot: Ref<Slot>) {
    if let Some(previous) = k.get(slot).previous_slot() {
        k.get(previous).set_next(Some(slot));
    }
    if let Some(next) = k.get(slot).next_slot() {
        k.get(next).set_previous(Some(slot));
    }
}

/// Writes another form of the capability that a slot holds; its place in the list stays.
pub fn set_cap<M: Machine>(k: &mut Kernel<M>, slot: Ref<Slot>, cap: Cap) {
    k.get(slot).set_cap(cap);
    changed(k, slot);
}

/// Empties a slot whose object needs no care any more.
pub(super) fn empty<M: Machine>(k: &mut Kernel<M>, slot: Ref<Slot>) {
    let Content { flags, previous, next, .. } = Content::of(k.get(slot));
    if let Some(previous) = previous {
        k.get(previous).set_next(next);
    }
    if let Some(next) = next {
        let follower = k.get(next);
        follower.set_previous(previous);
        // The badge's next capability takes the first's part, or a sibling before it would adopt it.
        follower.next.set(follower.next.get() | flags & flag::FIRST_BADGED);
    }
    let slot_now_empty = k.get(slot);
    slot_now_empty.set_cap(Cap::Null);
    slot_now_empty.set_links(0, None, None);
    changed(k, slot);
}

/// True when what `child` holds derives from what `parent` holds, given that it comes later in the list.
pub fn is_ancestor(parent: &Slot, child: &Slot) -> bool {
    let (from, cap) = (parent.cap(), child.cap());
    if !parent.has_flag(flag::REVOCABLE) || !region::same_region(&from, &cap) {
        return false;
    }
    match (from, cap) {
        (Cap::Endpoint { badge, .. }, Cap::Endpoint { badge: of_child, .. })
        | (Cap::Notification { badge, .. }, Cap::Notification { badge: of_child, .. })
            if badge != 0 =>
        {
            badge == of_child && !child.has_flag(flag::FIRST_BADGED)
        }
        _ => true,
    }
}

/// The first capability that derives from the one in `slot`.
pub fn first_child<M: Machine>(k: &Kernel<M>, slot: Ref<Slot>) -> Option<Ref<Slot>> {
    let next = k.get(slot).next_slot()?;
    is_ancestor(k.get(slot), k.get(next)).then_some(next)
}

/// True when some capability derives from the one in `slot`.
pub fn has_children<M: Machine>(k: &Kernel<M>, slot: Ref<Slot>) -> bool {
    first_child(k, slot).is_some()
}

/// True when the capability in `slot` is the last of its object: the object goes with it.
pub fn is_final<M: Machine>(k: &Kernel<M>, slot: Ref<Slot>) -> bool {
    let here = k.get(slot);
    let cap = here.cap();
    // The capabilities of one object lie side by side.
    ![here.previous_slot(), here.next_slot()]
        .into_iter()
        .flatten()
        .any(|neighbour| region::same_object(&k.get(neighbour).cap(), &cap))
}

/// What a copy of `cap`, which lies in `slot`, is.
///
/// Errors: [`Error::RevokeFirst`] for an Untyped from which something was made, [`Error::SlotEmpty`],
/// [`Error::IllegalOperation`] for what exists once: IrqControl, page tables (their record of where they
/// are mapped must be the only one), and what is being taken apart.
pub fn derive<M: Machine>(k: &Kernel<M>, slot: Ref<Slot>, cap: Cap) -> Result<Cap, Failure> {
    match cap {
        Cap::Null => Err(Error::SlotEmpty.into()),
        Cap::Untyped(_) if has_children(k, slot) => Err(Error::RevokeFirst.into()),
        Cap::Frame(frame) => Ok(Cap::Frame(FrameCap { mapping: None, ..frame })),
        Cap::IrqControl | Cap::PageTable { .. } | Cap::GivenTable { .. } | Cap::Zombie { .. } => {
            Err(Error::IllegalOperation.into())
        }
        cap => Ok(cap),
    }
}
