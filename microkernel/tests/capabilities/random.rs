//! Random operations on the kernel and on the model, which must agree after each; and random deletions
//! that are abandoned when preempted, after which everything must still hold.

use std::collections::BTreeMap;

use abi::{Method, ObjectType, Rights};
use microkernel::capability::cap::{Cap, Slot, flag};
use microkernel::capability::derivation;
use microkernel::object::store::Ref;
use proptest::prelude::*;

use crate::model::{Model, Object, Place};
use crate::world::{UNTYPED_BITS, World, at, slots_of};

/// Slots of the thread's CNode that the operations use, beside the Untyped's.
const SLOTS: u64 = 10;

/// A slot, as an operation names it.
#[derive(Clone, Copy, Debug)]
enum Name {
    /// In the thread's CNode.
    Root(u64),
    /// In the CNode whose capability lies in that slot of the thread's.
    In(u64, u64),
}

#[derive(Clone, Debug)]
enum Operation {
    Retype {
        from: Name,
        kind: usize,
        into: u64,
        count: u64,
    },
    Copy {
        from: Name,
        into: Name,
    },
    Mint {
        from: Name,
        into: Name,
        badge: u64,
    },
    Move {
        from: Name,
        into: Name,
    },
    Rotate {
        into: Name,
        pivot: Name,
        source: Name,
    },
    Delete(Name),
    Revoke(Name),
    /// Makes a CNode the capability space of a thread.
    SetSpace {
        thread: u64,
        cnode: u64,
    },
}

const KINDS: [Object; 6] = [
    Object { object_type: ObjectType::Untyped, size_bits: 13 },
    Object { object_type: ObjectType::CNode, size_bits: 6 },
    Object { object_type: ObjectType::CNode, size_bits: 7 },
    Object { object_type: ObjectType::Tcb, size_bits: 10 },
    Object { object_type: ObjectType::Endpoint, size_bits: 6 },
    Object { object_type: ObjectType::Notification, size_bits: 6 },
];

fn root_slots() -> impl Strategy<Value = u64> {
    at::FREE..at::FREE + SLOTS
}

fn names() -> impl Strategy<Value = Name> {
    prop_oneof![
        3 => root_slots().prop_map(Name::Root),
        2 => (root_slots(), 0_u64..4).prop_map(|(cnode, index)| Name::In(cnode, index)),
    ]
}

fn operations() -> impl Strategy<Value = Operation> {
    let memory = prop_oneof![3 => Just(Name::Root(at::UNTYPED)), 1 => names()];
    prop_oneof![
        6 => (memory, 0..KINDS.len(), root_slots(), 1_u64..4)
            .prop_map(|(from, kind, into, count)| Operation::Retype { from, kind, into, count }),
        4 => (names(), names()).prop_map(|(from, into)| Operation::Copy { from, into }),
        3 => (names(), names(), 1_u64..3)
            .prop_map(|(from, into, badge)| Operation::Mint { from, into, badge }),
        5 => (names(), names()).prop_map(|(from, into)| Operation::Move { from, into }),
        1 => (names(), names(), names())
            .prop_map(|(into, pivot, source)| Operation::Rotate { into, pivot, source }),
        4 => names().prop_map(Operation::Delete),
        2 => prop_oneof![4 => names(), 1 => Just(Name::Root(at::UNTYPED))].prop_map(Operation::Revoke),
        2 => (root_slots(), root_slots())
            .prop_map(|(thread, cnode)| Operation::SetSpace { thread, cnode }),
    ]
}

/// The kernel and the model side by side.
struct Pair {
    world: World,
    model: Model,
    /// Where the slots of the containers lie.
    bases: BTreeMap<usize, Ref<Slot>>,
}

impl Pair {
    fn new() -> Self {
        let world = World::new();
        let model = Model::new(13, at::UNTYPED, UNTYPED_BITS);
        let bases = BTreeMap::from([(0, world.slot(0))]);
        Self { world, model, bases }
    }

    fn place(&self, name: Name) -> Option<Place> {
        match name {
            Name::Root(index) => Some(Place { container: 0, index }),
            Name::In(cnode, index) => {
                let (node, object) = self.model.node(Place { container: 0, index: cnode })?;
                let fits = object.object_type == ObjectType::CNode && index < object.slots();
                fits.then_some(Place { container: node.object, index })
            }
        }
    }

    /// A slot as a CNode method names it: CNode, index, depth.
    fn address(&self, name: Name) -> (u64, u64, u64) {
        match name {
            Name::Root(index) => (at::CNODE, index, 64),
            Name::In(cnode, index) => {
                let place = Place { container: 0, index: cnode };
                let slots = self.model.node(place).map_or(2, |(_, object)| object.slots());
                (cnode, index, slots.ilog2().into())
            }
        }
    }

    fn slot(&self, place: Place) -> Ref<Slot> {
        self.bases.get(&place.container).unwrap().element(place.index)
    }

    fn cnode_call(&mut self, method: Method, into: Name, others: &[Name], rest: &[u64]) -> bool {
        let (target, index, depth) = self.address(into);
        let (mut caps, mut words) = (vec![], vec![index, depth]);
        for name in others {
            let (root, index, depth) = self.address(*name);
            caps.push(root);
            if method == Method::CNodeRotate {
                words.push(0);
            }
            words.extend([index, depth]);
        }
        words.extend(rest);
        self.world.call(target, method, &caps, &words).is_ok()
    }

    /// Does the operation on both, if all its slots exist; says whether it succeeded on each.
    fn apply(&mut self, operation: &Operation) -> Option<(bool, bool)> {
        let rights = Rights::ALL.raw();
        let results = match *operation {
            Operation::Retype { from, kind, into, count } => {
                let Name::Root(untyped) = from else { return None };
                let new = KINDS[kind];
                let into: Vec<Place> =
                    (into..into + count).map(|index| Place { container: 0, index }).collect();
                let first = self.model.objects.len();
                let made = self.model.retype(self.place(from)?, new, &into);
                let size_bits = u64::from(new.size_bits);
                let result = self.world.retype(untyped, new.object_type, size_bits, into[0].index, count);
                for (object, place) in (first..self.model.objects.len()).zip(&into) {
                    match self.world.cap(place.index) {
                        Cap::CNode { base, .. } => self.bases.insert(object, base),
                        Cap::Tcb(thread) => self.bases.insert(object, slots_of(thread)),
                        _ => None,
                    };
                }
                (made, result.is_ok())
            }
            Operation::Copy { from, into } => (
                self.model.clone().copy(self.place(from)?, self.place(into)?, None),
                self.cnode_call(Method::CNodeCopy, into, &[from], &[rights]),
            ),
            Operation::Mint { from, into, badge } => (
                self.model.clone().copy(self.place(from)?, self.place(into)?, Some(badge)),
                self.is_badged_kind(from)
                    && self.cnode_call(Method::CNodeMint, into, &[from], &[rights, badge]),
            ),
            Operation::Move { from, into } => (
                self.model.clone().move_cap(self.place(from)?, self.place(into)?),
                self.cnode_call(Method::CNodeMove, into, &[from], &[]),
            ),
            Operation::Rotate { into, pivot, source } => (
                self.model.clone().rotate(self.place(into)?, self.place(pivot)?, self.place(source)?),
                self.cnode_call(Method::CNodeRotate, into, &[pivot, source], &[]),
            ),
            Operation::Delete(name) => {
                self.place(name)?;
                (true, self.cnode_call(Method::CNodeDelete, name, &[], &[]))
            }
            Operation::Revoke(name) if self.model.holds_itself(self.place(name)?) => {
                // What is left depends on the order then.
                return None;
            }
            Operation::Revoke(name) => (true, self.cnode_call(Method::CNodeRevoke, name, &[], &[])),
            Operation::SetSpace { thread, cnode } => {
                let (slot, from) = self.thread_slot(thread, cnode)?;
                let (into, source) = (self.slot(slot), self.slot(from));
                let (cap, owner) = (self.world.cap(cnode), self.world.slot(thread));
                let result = derivation::replace(&mut self.world.k, into, cap, source, owner);
                (true, result.is_ok())
            }
        };
        // The names are looked up in what was before the operation.
        let places = |names: &[Name]| names.iter().map(|name| self.place(*name)).collect::<Option<Vec<_>>>();
        match *operation {
            Operation::Retype { .. } => {}
            Operation::Copy { from, into } => {
                let places = places(&[from, into])?;
                self.model.copy(places[0], places[1], None);
            }
            Operation::Mint { from, into, badge } => {
                let places = places(&[from, into])?;
                self.model.copy(places[0], places[1], Some(badge));
            }
            Operation::Move { from, into } => {
                let places = places(&[from, into])?;
                self.model.move_cap(places[0], places[1]);
            }
            Operation::Rotate { into, pivot, source } => {
                let places = places(&[into, pivot, source])?;
                self.model.rotate(places[0], places[1], places[2]);
            }
            Operation::Delete(name) => self.model.delete(places(&[name])?[0]),
            Operation::Revoke(name) => self.model.revoke(places(&[name])?[0]),
            Operation::SetSpace { thread, cnode } => {
                let (slot, from) = self.thread_slot(thread, cnode)?;
                self.model.replace(slot, from);
            }
        }
        Some(results)
    }

    fn is_badged_kind(&self, name: Name) -> bool {
        self.place(name).and_then(|place| self.model.node(place)).is_some_and(|(_, object)| {
            matches!(object.object_type, ObjectType::Endpoint | ObjectType::Notification)
        })
    }

    /// The first slot of the thread in one slot, and the place of the CNode in the other.
    fn thread_slot(&self, thread: u64, cnode: u64) -> Option<(Place, Place)> {
        let (of, from) = (Place { container: 0, index: thread }, Place { container: 0, index: cnode });
        let ((node, thread), (_, space)) = (self.model.node(of)?, self.model.node(from)?);
        let fits = thread.object_type == ObjectType::Tcb && space.object_type == ObjectType::CNode;
        fits.then_some((Place { container: node.object, index: 0 }, from))
    }

    /// Says where kernel and model differ.
    fn compare(&self) -> Result<(), String> {
        microkernel::invariant::check(&self.world.k, &[])?;
        let places: Vec<Place> = self.model.places().collect();
        for place in &places {
            let slot = self.slot(*place);
            let cap = self.world.k.get(slot).cap();
            let (node, object) = self.model.node(*place).ok_or("no node")?;
            let badge = match cap {
                Cap::Endpoint { badge, .. } | Cap::Notification { badge, .. } => badge,
                _ => 0,
            };
            if (cap.object_type(), badge) != (Some(object.object_type), node.badge) {
                return Err(format!("{place:?}: {cap:?} where the model has {node:?} {object:?}"));
            }
            let kin =
                (derivation::has_children(&self.world.k, slot), derivation::is_final(&self.world.k, slot));
            let expected = (self.model.has_children(*place), self.model.is_final(*place));
            if kin != expected {
                return Err(format!("{place:?}: children and last {kin:?}, in the model {expected:?}"));
            }
        }
        for index in at::FREE..at::FREE + SLOTS + 4 {
            let place = Place { container: 0, index };
            if !places.contains(&place) && self.world.cap(index) != Cap::Null {
                return Err(format!("{place:?}: {:?} where the model has nothing", self.world.cap(index)));
            }
        }
        Ok(())
    }
}

/// Preemption at every chance, where the operation's own way to its slots cannot go away meanwhile.
fn may_preempt(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Delete(Name::Root(_)) | Operation::Revoke(Name::Root(_)) | Operation::Retype { .. }
    )
}

/// So many cases, or as many as `PROPTEST_CASES` says.
pub(crate) fn config(cases: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(cases);
    ProptestConfig { failure_persistence: None, cases, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(32))]

    #[test]
    fn kernel_and_model_agree(operations in prop::collection::vec((operations(), any::<bool>()), 1..60)) {
        let mut pair = Pair::new();
        for (operation, preempt) in &operations {
            pair.world.k.machine.preempt = *preempt && may_preempt(operation);
            if let Some((model, kernel)) = pair.apply(operation) {
                prop_assert_eq!(model, kernel, "model and kernel on {:?}", operation);
            }
            if let Err(difference) = pair.compare() {
                return Err(TestCaseError::fail(format!("after {operation:?}: {difference}")));
            }
        }
        pair.world.k.machine.preempt = false;
        pair.world.revoke(at::UNTYPED).unwrap();
        prop_assert!(pair.world.untyped_is_whole());
    }

    /// Deletions of any slot are begun, stopped after a few steps, and others begun over them.
    #[test]
    fn abandoned_deletions_leave_nothing_broken(
        operations in prop::collection::vec(operations(), 10..60),
        deletions in prop::collection::vec((any::<prop::sample::Index>(), 1_usize..6), 1..20),
    ) {
        let mut pair = Pair::new();
        for operation in operations.iter().filter(|operation| !matches!(operation, Operation::Revoke(_))) {
            pair.apply(operation);
        }
        let k = &mut pair.world.k;
        k.machine.preempt = true;
        // The slots that any deletion might be called for: all that are in a list now.
        for (which, tries) in &deletions {
            let filled: Vec<Ref<Slot>> = microkernel::invariant::filled_slots(k, &[])
                .into_iter()
                .filter(|slot| derivation_root(k, *slot).is_some_and(|cap| matches!(cap, Cap::Untyped(_))))
                .collect();
            if filled.is_empty() {
                break;
            }
            let slot = *which.get(&filled);
            for _ in 0..*tries {
                if k.get(slot).is_empty() || derivation::delete(k, slot).is_ok() {
                    break;
                }
                if let Err(broken) = microkernel::invariant::check(k, &[]) {
                    return Err(TestCaseError::fail(broken));
                }
            }
        }
        k.machine.preempt = false;
        pair.world.revoke(at::UNTYPED).unwrap();
        prop_assert!(pair.world.untyped_is_whole());
    }
}

/// What the list of `slot` begins with, unless that is the slot itself.
fn derivation_root(
    k: &microkernel::kernel::Kernel<microkernel::arch::mock::MockMachine>,
    slot: Ref<Slot>,
) -> Option<Cap> {
    let mut first = k.get(slot).previous_slot()?;
    while let Some(previous) = k.get(first).previous_slot() {
        first = previous;
    }
    Some(k.get(first).cap())
}

/// The planted bugs: flags and neighbours that are wrong make the kernel differ from the model.
#[test]
fn the_comparison_sees_a_wrong_kernel() {
    let differs = |harm: fn(&Pair)| {
        let mut pair = Pair::new();
        let retype = Operation::Retype { from: Name::Root(at::UNTYPED), kind: 4, into: at::FREE, count: 1 };
        let mint = |into| Operation::Mint { from: Name::Root(at::FREE), into: Name::Root(into), badge: 1 };
        let copy = Operation::Copy { from: Name::Root(at::FREE + 1), into: Name::Root(at::FREE + 2) };
        for operation in [retype, mint(at::FREE + 1), copy, mint(at::FREE + 3)] {
            assert_eq!(pair.apply(&operation), Some((true, true)));
        }
        pair.compare().unwrap();
        harm(&pair);
        pair.compare().is_err()
    };
    assert!(differs(|pair| {
        let slot = pair.world.k.get(pair.world.slot(at::FREE));
        slot.next.set(slot.next.get() & !flag::REVOCABLE);
    }));
    assert!(differs(|pair| {
        let slot = pair.world.k.get(pair.world.slot(at::FREE + 2));
        slot.next.set(slot.next.get() | flag::FIRST_BADGED);
    }));
    assert!(differs(|pair| {
        let slot = pair.world.k.get(pair.world.slot(at::FREE + 1));
        slot.data.set(2);
    }));
}
