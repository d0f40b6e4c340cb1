//! Tables of things that come and go, by small numbers that are used again.
//!
//! Invariant: a number on the list of unused ones names an empty place, and each empty place is on it once.

use crate::number::{index, low_u32};
use alloc::vec::Vec;
use core::marker::PhantomData;

/// A number of a table; one type a table, so that none is used with another.
pub trait Id: Copy {
    /// From its number.
    fn new(number: u32) -> Self;
    /// Its number.
    fn number(self) -> u32;
}

/// Declares a table's number.
#[macro_export]
macro_rules! define_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $crate::slots::Id for $name {
            fn new(number: u32) -> Self {
                Self(number)
            }

            fn number(self) -> u32 {
                self.0
            }
        }
    };
}

/// A table.
#[derive(Debug)]
pub struct Slots<K, T> {
    places: Vec<Option<T>>,
    unused: Vec<u32>,
    most: usize,
    key: PhantomData<fn() -> K>,
}

impl<K: Id, T> Slots<K, T> {
    /// An empty table of at most `most` things.
    pub const fn new(most: usize) -> Self {
        Self { places: Vec::new(), unused: Vec::new(), most, key: PhantomData }
    }

    /// Adds a thing; `None` when the table is full.
    pub fn insert(&mut self, value: T) -> Option<K> {
        if let Some(number) = self.unused.pop() {
            *self.places.get_mut(index(number))? = Some(value);
            return Some(K::new(number));
        }
        if self.places.len() >= self.most {
            return None;
        }
        self.places.push(Some(value));
        // Room for all is made here, so that taking things away never allocates.
        self.unused.reserve(self.places.len());
        Some(K::new(low_u32(self.places.len() as u64 - 1)))
    }

    /// Takes a thing away.
    pub fn remove(&mut self, key: K) -> Option<T> {
        let value = self.places.get_mut(index(key.number()))?.take()?;
        self.unused.push(key.number());
        Some(value)
    }

    /// A thing.
    #[inline]
    pub fn get(&self, key: K) -> Option<&T> {
        match self.places.get(index(key.number())) {
            Some(Some(thing)) => Some(thing),
            _ => nothing(),
        }
    }

    /// A thing, to change it.
    #[inline]
    pub fn get_mut(&mut self, key: K) -> Option<&mut T> {
        match self.places.get_mut(index(key.number())) {
            Some(Some(thing)) => Some(thing),
            _ => nothing(),
        }
    }

    /// Most things that there can be.
    pub const fn most(&self) -> usize {
        self.most
    }

    /// How many things there are.
    pub fn len(&self) -> usize {
        self.places.len() - self.unused.len()
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Everything with its number.
    pub fn iter(&self) -> impl Iterator<Item = (K, &T)> {
        (0..).zip(&self.places).filter_map(|(number, place)| Some((K::new(number), place.as_ref()?)))
    }
}

/// There is no such thing: what is rare is told to the compiler by a function that says so.
#[cold]
#[inline]
const fn nothing<T>() -> Option<T> {
    None
}
