//! What capabilities are, said as simply as possible: a tree of nodes with places.
//!
//! The kernel keeps one list, flags and Zombies; the model keeps parents, and deletes by recursion.

use std::collections::BTreeMap;

use abi::ObjectType;

/// Where a capability lies: a container's object, and the index in it. Container 0 is the thread's CNode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) container: usize,
    pub(crate) index: u64,
}

/// A capability.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) object: usize,
    pub(crate) badge: u64,
    /// What it derives from; none for what was there from the beginning.
    parent: Option<usize>,
    /// What is copied from it derives from it, not from its parent.
    original: bool,
    /// For Untyped memory: bytes given away.
    free: u64,
}

/// An object, or what was one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object {
    pub(crate) object_type: ObjectType,
    pub(crate) size_bits: u8,
}

impl Object {
    /// How many slots it has.
    pub(crate) fn slots(self) -> u64 {
        match self.object_type {
            ObjectType::CNode => 1 << (self.size_bits - 5),
            ObjectType::Tcb => 5,
            _ => 0,
        }
    }
}

/// All capabilities.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) objects: Vec<Object>,
    nodes: BTreeMap<usize, (Node, Place)>,
    next: usize,
}

impl Model {
    /// A container of `slots`' bits that holds an Untyped of `size_bits` at `index`.
    pub(crate) fn new(root_bits: u8, index: u64, size_bits: u8) -> Self {
        let root = Object { object_type: ObjectType::CNode, size_bits: root_bits };
        let untyped = Object { object_type: ObjectType::Untyped, size_bits };
        let mut model = Self { objects: vec![root, untyped], ..Self::default() };
        let node = Node { object: 1, badge: 0, parent: None, original: true, free: 0 };
        model.put(node, Place { container: 0, index });
        model
    }

    fn put(&mut self, node: Node, place: Place) {
        self.nodes.insert(self.next, (node, place));
        self.next += 1;
    }

    fn id(&self, place: Place) -> Option<usize> {
        self.nodes.iter().find(|(_, (_, at))| *at == place).map(|(id, _)| *id)
    }

    pub(crate) fn node(&self, place: Place) -> Option<(Node, Object)> {
        let (node, _) = self.nodes.get(&self.id(place)?)?;
        Some((*node, *self.objects.get(node.object)?))
    }

    pub(crate) fn places(&self) -> impl Iterator<Item = Place> + '_ {
        self.nodes.values().map(|(_, place)| *place)
    }

    pub(crate) fn has_children(&self, place: Place) -> bool {
        self.id(place).is_some_and(|id| self.nodes.values().any(|(node, _)| node.parent == Some(id)))
    }

    pub(crate) fn is_final(&self, place: Place) -> bool {
        self.node(place).is_some_and(|(node, object)| {
            let twins = self.nodes.values().filter(|(other, _)| other.object == node.object).count();
            twins == 1 || object.object_type == ObjectType::Untyped
        })
    }

    /// True when the capability's own slot goes with what derives from it.
    pub(crate) fn holds_itself(&self, place: Place) -> bool {
        let mut after = self.clone();
        after.revoke(place);
        after.id(place).is_none()
    }

    /// The numbers of new objects, or false and nothing happens.
    pub(crate) fn retype(&mut self, from: Place, new: Object, into: &[Place]) -> bool {
        let Some(id) = self.id(from) else { return false };
        let Some((node, untyped)) = self.node(from) else { return false };
        let used = if self.has_children(from) { node.free } else { 0 };
        let bytes = 1_u64 << new.size_bits;
        let start = used.div_ceil(bytes) * bytes;
        let end = start + bytes * into.len() as u64;
        if untyped.object_type != ObjectType::Untyped
            || end > 1 << untyped.size_bits
            || into.iter().any(|place| self.id(*place).is_some())
        {
            return false;
        }
        if let Some((node, _)) = self.nodes.get_mut(&id) {
            node.free = end;
        }
        for place in into {
            let object = self.objects.len();
            self.objects.push(new);
            self.put(Node { object, badge: 0, parent: Some(id), original: true, free: 0 }, *place);
        }
        true
    }

    /// Copy, or Mint where a badge is given.
    pub(crate) fn copy(&mut self, from: Place, into: Place, badge: Option<u64>) -> bool {
        let (Some(id), Some((node, object))) = (self.id(from), self.node(from)) else { return false };
        let is_untyped = object.object_type == ObjectType::Untyped;
        let takes_badge = matches!(object.object_type, ObjectType::Endpoint | ObjectType::Notification);
        if self.id(into).is_some()
            || is_untyped && self.has_children(from)
            || badge.is_some_and(|_| !takes_badge || node.badge != 0)
        {
            return false;
        }
        let badge = badge.unwrap_or(node.badge);
        let parent = if node.original { Some(id) } else { node.parent };
        if is_untyped && let Some((node, _)) = self.nodes.get_mut(&id) {
            node.free = 1 << object.size_bits;
        }
        self.put(Node { badge, parent, original: is_untyped || badge != node.badge, ..node }, into);
        true
    }

    pub(crate) fn move_cap(&mut self, from: Place, into: Place) -> bool {
        let (Some(id), None) = (self.id(from), self.id(into)) else { return false };
        self.nodes.entry(id).and_modify(|(_, place)| *place = into);
        true
    }

    pub(crate) fn rotate(&mut self, into: Place, pivot: Place, source: Place) -> bool {
        let (Some(first), Some(second)) = (self.id(pivot), self.id(source)) else { return false };
        if pivot == into || pivot == source || source != into && self.id(into).is_some() {
            return false;
        }
        self.nodes.entry(first).and_modify(|(_, place)| *place = into);
        self.nodes.entry(second).and_modify(|(_, place)| *place = pivot);
        true
    }

    pub(crate) fn delete(&mut self, place: Place) {
        let Some(id) = self.id(place) else { return };
        let Some((node, _)) = self.nodes.remove(&id) else { return };
        for (child, _) in self.nodes.values_mut().filter(|(child, _)| child.parent == Some(id)) {
            child.parent = node.parent;
        }
        if self.nodes.values().any(|(other, _)| other.object == node.object) {
            return;
        }
        let slots = self.objects.get(node.object).map_or(0, |object| object.slots());
        for index in 0..slots {
            self.delete(Place { container: node.object, index });
        }
    }

    pub(crate) fn revoke(&mut self, place: Place) {
        let Some(id) = self.id(place) else { return };
        while let Some((_, child)) = self.nodes.values().find(|(node, _)| node.parent == Some(id)) {
            self.delete(*child);
        }
    }

    /// Puts a copy of `from` into a thread's slot, in place of what is there.
    pub(crate) fn replace(&mut self, slot: Place, from: Place) {
        self.delete(slot);
        let owner_lives = self.nodes.values().any(|(node, _)| node.object == slot.container);
        if owner_lives {
            self.copy(from, slot, None);
        }
    }
}
