//! What must hold of all capabilities whenever no call is being handled; for host tests only.
//!
//! [`check`] finds every slot that can be reached from the threads that a core knows, from the interrupt
//! slots and from the roots that it is given, through CNodes, Tcbs, Zombies and the derivation list.

pub mod hosts;
pub mod threads;
pub mod timers;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::format;
use std::string::String;
use std::vec::Vec;

use abi::object::SLOT_BITS;

use crate::arch::{IRQ_LINES, Machine};
use crate::capability::cap::{Cap, Slot, ZombieKind, flag};
use crate::capability::codec::tcb_slots;
use crate::capability::derivation::is_ancestor;
use crate::capability::region::{Region, region, same_object};
use crate::kernel::Kernel;
use crate::object::host::{self, Host};
use crate::object::store::Ref;
use crate::object::thread::{TCB_SLOTS, Tcb};
use crate::object::{timer, window};
use abi::mapping::WINDOWS;

/// A filled slot, as a check sees it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    slot: Ref<Slot>,
    cap: Cap,
}

/// Checks everything; the error says what does not hold, in words.
///
/// Errors: the first rule that is broken.
pub fn check<M: Machine>(k: &Kernel<M>, roots: &[Ref<Slot>]) -> Result<(), String> {
    let slots = reachable(k, roots);
    let filled: Vec<Entry> = slots
        .iter()
        .map(|slot| Entry { slot: *slot, cap: k.get(*slot).cap() })
        .filter(|entry| entry.cap != Cap::Null)
        .collect();
    for slot in &slots {
        check_links(k, *slot)?;
    }
    for list in lists(k, &filled)? {
        check_families(k, &list)?;
    }
    check_memory(k, &filled)?;
    check_homes(k, &filled, roots)?;
    check_zombies(k, &filled)?;
    check_threads(k, &filled)?;
    let hosts = filled.iter().filter_map(|entry| match entry.cap {
        Cap::Host { host, size_bits } => Some((host, size_bits)),
        _ => None,
    });
    hosts::check(k, &hosts.collect(), &threads_in(&filled))
}

/// The threads whose capabilities are among these.
fn threads_in(filled: &[Entry]) -> HashSet<Ref<Tcb>> {
    let thread = |entry: &Entry| if let Cap::Tcb(thread) = entry.cap { Some(thread) } else { None };
    filled.iter().filter_map(thread).collect()
}

/// The slots that hold a capability, of all that can be found.
pub fn filled_slots<M: Machine>(k: &Kernel<M>, roots: &[Ref<Slot>]) -> Vec<Ref<Slot>> {
    reachable(k, roots).into_iter().filter(|slot| !k.get(*slot).is_empty()).collect()
}

/// Every slot that can be found.
fn reachable<M: Machine>(k: &Kernel<M>, roots: &[Ref<Slot>]) -> Vec<Ref<Slot>> {
    let mut to_see: Vec<Ref<Slot>> = roots.to_vec();
    to_see.extend(own_slots(k));
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    while let Some(slot) = to_see.pop() {
        if !seen.insert(slot) {
            continue;
        }
        found.push(slot);
        let here = k.get(slot);
        to_see.extend(here.next_slot());
        to_see.extend(here.previous_slot());
        to_see.extend(container(&here.cap()));
    }
    found
}

/// The slots that the kernel itself keeps: the interrupts', and those of its idle and current threads.
fn own_slots<M: Machine>(k: &Kernel<M>) -> Vec<Ref<Slot>> {
    let irq = (0..IRQ_LINES as u64).map(|line| k.irq_slots.element(line));
    let threads = k.cores.iter().flat_map(|core| [core.current.get(), core.idle.get()]).flatten();
    irq.chain(threads.flat_map(|thread| (0..TCB_SLOTS).map(move |i| tcb_slots(thread).element(i)))).collect()
}

/// The slots that a capability is the way to.
fn container(cap: &Cap) -> Vec<Ref<Slot>> {
    let (base, count) = match cap {
        Cap::CNode { base, radix, .. } | Cap::Zombie { base, kind: ZombieKind::CNode { radix }, .. } => {
            (*base, 1 << radix)
        }
        Cap::Tcb(thread) => (tcb_slots(*thread), TCB_SLOTS),
        Cap::Zombie { base, kind: ZombieKind::Tcb, .. } => (*base, TCB_SLOTS),
        Cap::Host { host, size_bits } => return host_slots(*host, *size_bits).collect(),
        Cap::Zombie { base, kind: ZombieKind::Host { size_bits }, .. } => {
            // The last place may be the way back.
            let last = base.element((1 << (size_bits - SLOT_BITS)) - 1);
            return host_slots(base.cast(), *size_bits).chain([last]).collect();
        }
        Cap::Timer(timer) => (timer::slot(*timer), 1),
        Cap::VSpace(space) => (window::slot(*space, 0), WINDOWS as u64),
        _ => return Vec::new(),
    };
    (0..count).map(|index| base.element(index)).collect()
}

/// The slots of a Host: two in its header, one a context.
fn host_slots(host: Ref<Host>, size_bits: u8) -> impl Iterator<Item = Ref<Slot>> {
    let contexts = (1..host::count(size_bits)).map(move |number| host::context(host, number).cast());
    [host.cast(), host.cast::<Slot>().element(1)].into_iter().chain(contexts)
}

/// Neighbours point to each other and are filled; an empty slot has none and no flags.
fn check_links<M: Machine>(k: &Kernel<M>, slot: Ref<Slot>) -> Result<(), String> {
    let here = k.get(slot);
    if here.is_empty() {
        let clean = here.previous.get() == 0 && here.next.get() & !flag::PLACE == 0;
        return if clean { Ok(()) } else { Err(format!("the empty slot {slot:?} has links or flags")) };
    }
    for (neighbour, back) in [
        (here.next_slot(), k_previous as fn(&Kernel<M>, Ref<Slot>) -> Option<Ref<Slot>>),
        (here.previous_slot(), k_next),
    ] {
        let Some(neighbour) = neighbour else { continue };
        if back(k, neighbour) != Some(slot) {
            return Err(format!("{neighbour:?} does not point back to its neighbour {slot:?}"));
        }
        if k.get(neighbour).is_empty() {
            return Err(format!("the empty slot {neighbour:?} is in the list, beside {slot:?}"));
        }
    }
    Ok(())
}

fn k_previous<M: Machine>(k: &Kernel<M>, slot: Ref<Slot>) -> Option<Ref<Slot>> {
    k.get(slot).previous_slot()
}

fn k_next<M: Machine>(k: &Kernel<M>, slot: Ref<Slot>) -> Option<Ref<Slot>> {
    k.get(slot).next_slot()
}

/// The lists from their heads on; every filled slot is in exactly one.
fn lists<M: Machine>(k: &Kernel<M>, filled: &[Entry]) -> Result<Vec<Vec<Entry>>, String> {
    let mut seen = HashSet::new();
    let mut lists = Vec::new();
    for head in filled.iter().filter(|entry| k.get(entry.slot).previous_slot().is_none()) {
        let mut list = Vec::new();
        let mut next = Some(head.slot);
        while let Some(slot) = next {
            if !seen.insert(slot) {
                return Err(format!("{slot:?} is in the list twice"));
            }
            list.push(Entry { slot, cap: k.get(slot).cap() });
            next = k.get(slot).next_slot();
        }
        lists.push(list);
    }
    match filled.iter().find(|entry| !seen.contains(&entry.slot)) {
        Some(entry) => Err(format!("{entry:x?} is in a list without a head")),
        None => Ok(lists),
    }
}

/// The descendants of a capability, and the capabilities of an object, lie side by side.
fn check_families<M: Machine>(k: &Kernel<M>, list: &[Entry]) -> Result<(), String> {
    for (index, parent) in list.iter().enumerate() {
        let rest = list.get(index + 1..).unwrap_or_default();
        let is_child = |entry: &Entry| is_ancestor(k.get(parent.slot), k.get(entry.slot));
        let is_badged =
            matches!(parent.cap, Cap::Endpoint { badge, .. } | Cap::Notification { badge, .. } if badge != 0);
        // A badge given twice has a family each, and only the way from the first to its copies counts.
        if !is_badged && let Some(late) = rest.iter().skip_while(|e| is_child(e)).find(|e| is_child(e)) {
            return Err(format!("{late:x?} derives from {parent:x?} and does not follow its family"));
        }
        let is_same = |entry: &Entry| same_object(&parent.cap, &entry.cap);
        if let Some(late) = rest.iter().skip_while(|e| is_same(e)).find(|e| is_same(e)) {
            return Err(format!("{late:x?} has the object of {parent:x?} and does not lie beside it"));
        }
    }
    Ok(())
}

/// Memory has one use: what overlaps is one object, or lies in an Untyped that it derives from.
fn check_memory<M: Machine>(k: &Kernel<M>, filled: &[Entry]) -> Result<(), String> {
    let mut regions: BTreeMap<u64, Vec<(Region, Entry)>> = BTreeMap::new();
    for entry in filled {
        if let Some(region) = region(&entry.cap) {
            regions.entry(region.start).or_default().push((region, *entry));
        }
    }
    for entry in filled {
        let Some(outer) = region(&entry.cap) else { continue };
        let inside = regions.range(outer.start..outer.start + outer.bytes).flat_map(|(_, found)| found);
        for (inner, other) in inside.filter(|(_, other)| other.slot != entry.slot) {
            check_pair(k, *entry, outer, *other, *inner)?;
        }
        if let Cap::Untyped(untyped) = entry.cap
            && !untyped.is_device
            && let Some(dirty) = (untyped.free..untyped.clean_end)
                .step_by(8)
                .find(|offset| k.machine.load(untyped.base.offset(*offset)) != 0)
        {
            return Err(format!("{entry:x?} is not clean at {dirty:#x}"));
        }
    }
    Ok(())
}

/// `other` begins in the memory of `entry`.
fn check_pair<M: Machine>(
    k: &Kernel<M>,
    entry: Entry,
    outer: Region,
    other: Entry,
    inner: Region,
) -> Result<(), String> {
    match (entry.cap, other.cap) {
        // The same pair is looked at from the outer one's side.
        (_, Cap::Untyped(_)) if inner.contains(outer) => Ok(()),
        (Cap::Untyped(untyped), _) => {
            let within = outer.contains(inner);
            if !within || !is_ancestor(k.get(entry.slot), k.get(other.slot)) {
                return Err(format!("{other:x?} lies in {entry:x?} and does not derive from it"));
            }
            if inner.start + inner.bytes > outer.start + untyped.free {
                return Err(format!("{entry:x?} counts the memory of {other:x?} as free"));
            }
            Ok(())
        }
        (one, two) if same_object(&one, &two) => Ok(()),
        _ => Err(format!("{entry:x?} and {other:x?} share memory")),
    }
}

/// Every filled slot lies in a container that lives, or in the kernel's own memory.
fn check_homes<M: Machine>(k: &Kernel<M>, filled: &[Entry], roots: &[Ref<Slot>]) -> Result<(), String> {
    let mut homes: HashSet<Ref<Slot>> = own_slots(k).into_iter().chain(roots.iter().copied()).collect();
    homes.extend(filled.iter().flat_map(|entry| container(&entry.cap)));
    match filled.iter().find(|entry| !homes.contains(&entry.slot)) {
        Some(entry) => Err(format!("{entry:x?} lies in no container that lives")),
        None => Ok(()),
    }
}

/// A Zombie is alone, and above what remains only its last slot may be filled: by the way back.
fn check_zombies<M: Machine>(k: &Kernel<M>, filled: &[Entry]) -> Result<(), String> {
    let mut zombies: HashMap<Ref<Slot>, Entry> = HashMap::new();
    for entry in filled {
        let Cap::Zombie { base, remaining, .. } = entry.cap else { continue };
        let slots = container(&entry.cap);
        if let Some(twin) = zombies.insert(base, *entry) {
            return Err(format!("{entry:x?} and {twin:x?} are Zombies of one object"));
        }
        let last = slots.last().copied();
        let filled_above = slots.into_iter().find(|slot| {
            slot.raw() >= base.element(remaining).raw()
                && Some(*slot) != last
                && *slot != entry.slot
                && !k.get(*slot).is_empty()
        });
        if let Some(slot) = filled_above {
            return Err(format!("{entry:x?} counts {slot:?} as empty"));
        }
    }
    Ok(())
}

/// What mirrors a thread's slots is true.
fn check_threads<M: Machine>(k: &Kernel<M>, filled: &[Entry]) -> Result<(), String> {
    for thread in threads_in(filled) {
        let tcb = k.get(thread);
        let [cspace, vspace, buffer, ..] = &tcb.slots;
        let mirrored = tcb.cspace_size.get() == 0
            || matches!(cspace.cap(), Cap::CNode { base, radix, .. }
                if (tcb.cspace_base.get(), tcb.cspace_size.get()) == (base.raw(), 1 << radix));
        if !mirrored {
            return Err(format!("{thread:?} has another capability space than its slot says"));
        }
        if !tcb.is_host() && tcb.vspace.get().is_some_and(|space| vspace.cap() != Cap::VSpace(space)) {
            return Err(format!("{thread:?} has another address space than its slot says"));
        }
        let pinned = matches!(buffer.cap(), Cap::Frame(frame) if frame.base.0 == tcb.ipc_buffer.get());
        if tcb.ipc_buffer.get() != 0 && !pinned {
            return Err(format!("{thread:?} has another IPC buffer than its slot says"));
        }
    }
    Ok(())
}
