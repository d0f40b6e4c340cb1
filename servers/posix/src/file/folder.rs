//! The entries of one directory: found by name in a few steps, listed from the newest to the oldest, as Linux's
//! tmpfs lists them.
//!
//! Invariant: cookies ascend through `entries` and are never used again, so that a listing goes on behind the
//! last cookie it saw whatever was added or removed meanwhile. `index` is a hash table (open addressing) of
//! positions in `entries`; a removed entry keeps its place, without a node, until the next rebuild.

use super::tree::NodeId;
use crate::number::{index, low_u32};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// A name that lies in the initial archive or was given by a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// In the archive.
    Archive(&'static [u8]),
    /// Given.
    Given(Box<[u8]>),
}

impl Name {
    /// Its bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Archive(bytes) => bytes,
            Self::Given(bytes) => bytes,
        }
    }
}

/// An entry.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub name: Name,
    /// What it names; nothing once it was removed.
    pub node: Option<NodeId>,
    /// Where a listing goes on to reach it.
    pub cookie: u64,
    hash: u32,
}

/// The entries of a directory.
#[derive(Debug, Default)]
pub struct Folder {
    entries: Vec<Entry>,
    /// Positions in `entries` plus one; 0 for none. Its length is a power of two, or 0.
    index: Vec<u32>,
    live: usize,
    last_cookie: u64,
}

/// The hash of a name (FNV-1a), byte by byte: a path walk makes it while it looks for the next slash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hash(pub u32);

impl Hash {
    /// Of nothing.
    pub const EMPTY: Self = Self(0x811c_9dc5);

    /// With one byte more.
    #[inline]
    #[must_use]
    pub const fn with(self, byte: u8) -> Self {
        Self((self.0 ^ byte as u32).wrapping_mul(0x0100_0193))
    }

    /// Of a whole name.
    pub fn of(name: &[u8]) -> Self {
        name.iter().fold(Self::EMPTY, |hash, byte| hash.with(*byte))
    }
}

const LEAST: usize = 8;
/// Places that an emptied directory keeps.
const KEPT: usize = 128;
/// Cookies begin where a listing's positions of `.` and `..` end.
pub const FIRST_COOKIE: u64 = 3;

impl Folder {
    /// How many entries there are.
    pub const fn len(&self) -> usize {
        self.live
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// What a name names.
    #[inline]
    pub fn get(&self, name: &[u8], hash: Hash) -> Option<NodeId> {
        self.entries.get(self.position(name, hash)?)?.node
    }

    /// The entry of a cookie, if it is still there.
    pub fn at(&self, cookie: u64) -> Option<&Entry> {
        let position = self.entries.binary_search_by_key(&cookie, |entry| entry.cookie).ok()?;
        self.entries.get(position).filter(|entry| entry.node.is_some())
    }

    /// Every entry whose cookie is below `cookie`, the newest first.
    pub fn before(&self, cookie: u64) -> impl Iterator<Item = (&Entry, NodeId)> {
        let end = self.entries.partition_point(|entry| entry.cookie < cookie);
        let rest = self.entries.get(..end).unwrap_or_default();
        rest.iter().rev().filter_map(|entry| Some((entry, entry.node?)))
    }

    /// Adds an entry whose name is not there; returns its cookie.
    pub fn insert(&mut self, name: Name, node: NodeId) -> u64 {
        if (self.entries.len() + 1) * 4 > self.index.len() * 3 {
            self.rebuild();
        }
        let hash = Hash::of(name.bytes()).0;
        self.last_cookie = self.last_cookie.max(FIRST_COOKIE - 1) + 1;
        self.entries.push(Entry { name, node: Some(node), cookie: self.last_cookie, hash });
        self.live += 1;
        self.note(self.entries.len(), hash);
        self.last_cookie
    }

    /// Takes an entry away; its name is returned with what it named.
    pub fn remove(&mut self, name: &[u8]) -> Option<(Name, NodeId, u64)> {
        let position = self.position(name, Hash::of(name))?;
        let entry = self.entries.get_mut(position)?;
        let node = entry.node.take()?;
        let name = core::mem::replace(&mut entry.name, Name::Archive(&[]));
        let cookie = entry.cookie;
        self.live -= 1;
        if self.live == 0 {
            self.entries.clear();
            self.index.fill(0);
        }
        if self.entries.capacity() > KEPT && self.live < self.entries.capacity() / 8 {
            self.rebuild();
            self.entries.shrink_to(self.live * 2);
        }
        Some((name, node, cookie))
    }

    fn position(&self, name: &[u8], hash: Hash) -> Option<usize> {
        let mask = self.index.len().checked_sub(1)?;
        let mut slot = index(hash.0) & mask;
        loop {
            let position = index(*self.index.get(slot)?).checked_sub(1)?;
            let entry = self.entries.get(position)?;
            if entry.hash == hash.0 && entry.node.is_some() && entry.name.bytes() == name {
                return Some(position);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Writes an entry's place, counted from 1, into the first free slot of the index.
    fn note(&mut self, place: usize, hash: u32) {
        let Some(mask) = self.index.len().checked_sub(1) else { return };
        let mut slot = index(hash) & mask;
        while let Some(place) = self.index.get(slot)
            && *place != 0
        {
            slot = (slot + 1) & mask;
        }
        if let Some(slot) = self.index.get_mut(slot) {
            *slot = low_u32(place as u64);
        }
    }

    /// Forgets removed entries and makes room for more than there are.
    fn rebuild(&mut self) {
        self.entries.retain(|entry| entry.node.is_some());
        let slots = ((self.live + 1) * 2).next_power_of_two().max(LEAST);
        self.index = alloc::vec![0; slots];
        for position in 0..self.entries.len() {
            let hash = self.entries.get(position).map_or(0, |entry| entry.hash);
            self.note(position + 1, hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slots::Id;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::format;

    proptest! {
        /// Against a map, and a listing in steps of one sees what stays exactly once.
        #[test]
        fn it_is_a_map_with_a_steady_order(steps in prop::collection::vec((0..40_u32, 0..3_u32), 1..400)) {
            let mut folder = Folder::default();
            let mut model = BTreeMap::new();
            for (number, (name, action)) in steps.into_iter().enumerate() {
                let text = format!("name-{name}");
                let node = NodeId::new(u32::try_from(number).unwrap());
                let there = folder.get(text.as_bytes(), Hash::of(text.as_bytes()));
                prop_assert_eq!(there, model.get(&name).copied());
                match (action, there) {
                    (0, Some(_)) => {
                        let gone = folder.remove(text.as_bytes()).unwrap();
                        prop_assert_eq!(gone.0.bytes(), text.as_bytes());
                        model.remove(&name);
                    }
                    (_, None) => {
                        let given = Name::Given(text.into_bytes().into_boxed_slice());
                        let cookie = folder.insert(given, node);
                        prop_assert!(folder.at(cookie).is_some());
                        model.insert(name, node);
                    }
                    _ => {}
                }
                prop_assert_eq!(folder.len(), model.len());
            }
            let mut cookie = u64::MAX;
            let mut seen = 0;
            while let Some((entry, node)) = folder.before(cookie).next() {
                prop_assert!(model.values().any(|other| *other == node));
                cookie = entry.cookie;
                seen += 1;
            }
            prop_assert_eq!(seen, model.len());
        }
    }
}
