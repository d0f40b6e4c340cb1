//! Random operations on two address spaces against a simple model, and a TLB that caches all it can.
//!
//! The model is a map from (space, address) to what a leaf there must say, and one from (space, level,
//! address) to the table there. The tables are read with the test's own walk. The TLB caches, after every
//! operation, the pair around every address of interest in every space that has a hardware identifier,
//! invalid halves too (C-42), and forgets only what the kernel flushes; an entry that no longer says what
//! the tables say is a failure.

use std::collections::BTreeMap;

use abi::{Error, Method};
use microkernel::arch::Machine;
use microkernel::capability::cap::Cap;
use microkernel::failure::{Failure, Refusal};
use microkernel::object::{frame, page_table, vspace};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::support::{BOTH, POOL, READ, World};

const TABLES: usize = 6;
/// Sizes of the frames; each has two capabilities. The one of 64 pages has more pairs than are flushed one by one.
const FRAMES: [u8; 6] = [14, 14, 15, 17, 20, 25];
/// Where things are mapped: two stretches of 64 GiB, in each two of 32 MiB, in each the first pages.
const ROOTS: [u64; 2] = [0, 5 << 36];

/// What a test breaks on purpose, to see that the checks find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plant {
    Nothing,
    /// The flush after a Map is forgotten.
    NoFlushAfterMap,
    /// The flush after an Unmap is forgotten.
    NoFlushAfterUnmap,
    /// Taking a table away flushes one page only.
    TableFlushesOnePage,
    /// A page that may only be read is written as one that may be written.
    Writable,
    /// Deleting a capability leaves its mapping.
    DeletedStaysMapped,
}

#[derive(Clone, Debug)]
enum Operation {
    MapTable {
        table: usize,
        space: usize,
        place: usize,
    },
    UnmapTable {
        table: usize,
    },
    MapFrame {
        frame: usize,
        space: usize,
        place: usize,
        rights: u64,
        attributes: u64,
    },
    UnmapFrame {
        frame: usize,
    },
    DeleteFrame {
        frame: usize,
    },
    DeleteTable {
        table: usize,
    },
    Activate {
        space: usize,
    },
    /// The space is deleted and made again, with the same identifier.
    Remake {
        space: usize,
    },
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let (table, space, frame) = (0..TABLES, 0..2_usize, 0..2 * FRAMES.len());
    let place = 0..places().len();
    let one = prop_oneof![
        4 => (table.clone(), space.clone(), place.clone())
            .prop_map(|(table, space, place)| Operation::MapTable { table, space, place }),
        1 => table.clone().prop_map(|table| Operation::UnmapTable { table }),
        9 => (frame.clone(), space.clone(), place, prop_oneof![Just(READ), Just(BOTH)], 0..4_u64).prop_map(
            |(frame, space, place, rights, attributes)| Operation::MapFrame {
                frame, space, place, rights, attributes
            }
        ),
        3 => frame.clone().prop_map(|frame| Operation::UnmapFrame { frame }),
        1 => frame.prop_map(|frame| Operation::DeleteFrame { frame }),
        1 => table.prop_map(|table| Operation::DeleteTable { table }),
        2 => space.clone().prop_map(|space| Operation::Activate { space }),
        1 => space.prop_map(|space| Operation::Remake { space }),
    ];
    prop::collection::vec(one, 1..60)
}

/// The addresses of interest: what an operation maps at, and what is looked at.
fn places() -> Vec<u64> {
    let large = |root: u64| [0, 1].map(|index| root + (index << 25));
    let pages = |base: u64| [0, 1, 2, 3, 8, 32, 33, 63, 2047].map(|page| base + (page << 14));
    ROOTS.into_iter().flat_map(large).flat_map(pages).collect()
}

/// What the kernel must have: see the module's head.
#[derive(Clone, Debug, Default)]
struct Model {
    /// (space, address of the leaf) to (its memory, rights, attributes, base-2 logarithm of its bytes).
    leaves: BTreeMap<(usize, u64), Leaf>,
    /// (space, bits that the table covers, address) to the table.
    tables: BTreeMap<(usize, u32, u64), usize>,
    table_at: BTreeMap<usize, (usize, u64)>,
    frame_at: BTreeMap<usize, (usize, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Leaf {
    memory: u64,
    rights: u64,
    attributes: u64,
    bits: u32,
}

impl Leaf {
    fn word(self) -> u64 {
        let mut word = self.memory | 0x8d;
        word |= if self.rights == BOTH { 0x102 } else { 0 };
        word |= if self.attributes & 1 != 0 { 1 << 62 } else { 0 };
        word |= if self.attributes & 2 == 0 { 0x10 } else { 0 };
        word | if self.bits == 25 { 0x40 } else { 0 }
    }
}

const fn base(address: u64, bits: u32) -> u64 {
    address >> bits << bits
}

impl Model {
    fn leaf_over(&self, space: usize, address: u64) -> Option<Leaf> {
        [14, 25].into_iter().find_map(|bits| {
            let leaf = self.leaves.get(&(space, base(address, bits)))?;
            (leaf.bits >= bits).then_some(*leaf)
        })
    }

    fn has_table(&self, space: usize, bits: u32, address: u64) -> bool {
        self.tables.contains_key(&(space, bits, base(address, bits)))
    }

    fn map_table(&mut self, table: usize, space: usize, address: u64) -> Result<(), Error> {
        if self.table_at.contains_key(&table) {
            return Err(Error::AlreadyMapped);
        }
        let bits = if !self.has_table(space, 36, address) {
            36
        } else if !self.has_table(space, 25, address)
            && self.leaf_over(space, address).is_none_or(|leaf| leaf.bits < 25)
        {
            25
        } else {
            return Err(Error::AlreadyMapped);
        };
        self.tables.insert((space, bits, base(address, bits)), table);
        self.table_at.insert(table, (space, base(address, bits)));
        Ok(())
    }

    fn unmap_table(&mut self, table: usize) -> Result<(), Error> {
        let (space, address) = self.table_at.remove(&table).ok_or(Error::NotMapped)?;
        for bits in [36, 25] {
            if self.tables.get(&(space, bits, address)) == Some(&table) {
                let inside = |at: u64| base(at, bits) == address;
                self.tables.retain(|(s, b, at), _| !(*s == space && *b <= bits && inside(*at)));
                self.leaves.retain(|(s, at), _| !(*s == space && inside(*at)));
                break;
            }
        }
        Ok(())
    }

    fn map_frame(
        &mut self,
        frame: usize,
        (space, address): (usize, u64),
        (memory, size_bits): (u64, u8),
        (rights, attributes): (u64, u64),
    ) -> Result<(), Error> {
        let bits = if size_bits >= 25 { 25 } else { 14 };
        if address % (1 << size_bits) != 0 {
            return Err(Error::AlignmentError);
        }
        if self.frame_at.get(&frame).is_some_and(|at| *at != (space, address)) {
            return Err(Error::AlreadyMapped);
        }
        if !self.has_table(space, 36, address) {
            return Err(Error::NoPageTable);
        }
        if bits == 14 && !self.has_table(space, 25, address) {
            let huge = self.leaf_over(space, address).is_some();
            return Err(if huge { Error::AlreadyMapped } else { Error::NoPageTable });
        }
        if bits == 25 && self.has_table(space, 25, address) {
            return Err(Error::AlreadyMapped);
        }
        let offsets = || (0..1_u64 << size_bits).step_by(1 << bits);
        let own = self.frame_at.contains_key(&frame);
        for offset in offsets() {
            match self.leaf_over(space, address + offset) {
                Some(leaf) if !own || leaf.memory != memory + offset => return Err(Error::AlreadyMapped),
                _ => {}
            }
        }
        for offset in offsets() {
            let leaf = Leaf { memory: memory + offset, rights, attributes, bits };
            self.leaves.insert((space, address + offset), leaf);
        }
        self.frame_at.insert(frame, (space, address));
        Ok(())
    }

    fn unmap_frame(&mut self, frame: usize, memory: u64, size_bits: u8) -> Result<(), Error> {
        let (space, address) = self.frame_at.remove(&frame).ok_or(Error::NotMapped)?;
        let bits = if size_bits >= 25 { 25 } else { 14 };
        for offset in (0..1_u64 << size_bits).step_by(1 << bits) {
            let at = (space, address + offset);
            if self.leaves.get(&at).is_some_and(|leaf| leaf.memory == memory + offset && leaf.bits == bits) {
                self.leaves.remove(&at);
            }
        }
        Ok(())
    }

    fn remake(&mut self, space: usize) {
        self.leaves.retain(|(s, _), _| *s != space);
        self.tables.retain(|(s, ..), _| *s != space);
    }
}

/// The kernel, the model, and the TLB.
struct Run {
    world: World,
    model: Model,
    plant: Plant,
    places: Vec<u64>,
    spaces: [u64; 2],
    tables: Vec<u64>,
    frames: Vec<(u64, u8)>,
    /// (identifier, first address, base-2 logarithm of a half) to the words of both halves.
    cached: BTreeMap<(u64, u64, u32), [u64; 2]>,
}

impl Run {
    fn new(plant: Plant) -> Self {
        let mut world = World::new(2 << 20);
        let spaces = [world.space(), world.space()];
        let tables = (0..TABLES).map(|_| world.table()).collect();
        let originals: Vec<_> = FRAMES.iter().map(|bits| (world.frame(*bits), *bits)).collect();
        let copies: Vec<_> = originals.iter().map(|(frame, bits)| (world.copy(*frame), *bits)).collect();
        let frames = originals.into_iter().chain(copies).collect();
        let model = Model::default();
        Self { world, model, plant, places: places(), spaces, tables, frames, cached: BTreeMap::new() }
    }

    /// Carries out an operation on both and compares.
    fn step(&mut self, operation: &Operation) -> Result<(), String> {
        let (expected, found) = self.apply(operation);
        let found = match found {
            Ok(()) => Ok(()),
            Err(Failure::Refused(Refusal { error, .. })) => Err(error),
            Err(Failure::Preempted) => return Err("preempted".into()),
        };
        if expected != found {
            return Err(format!("{operation:?}: the kernel says {found:?}, the model {expected:?}"));
        }
        self.forget(operation);
        self.compare_tables(operation)?;
        self.compare_cached(operation)?;
        self.cache_all();
        Ok(())
    }

    fn apply(&mut self, operation: &Operation) -> (Result<(), Error>, Result<(), Failure>) {
        match *operation {
            Operation::MapTable { table, space, place } => {
                let address = self.places[place];
                let (cap, space_cap) = (self.tables[table], self.spaces[space]);
                let expected = self.model.map_table(table, space, address);
                (expected, self.call(cap, Method::PageTableMap, &[space_cap], &[address]))
            }
            Operation::UnmapTable { table } => {
                let expected = self.model.unmap_table(table);
                (expected, self.call(self.tables[table], Method::PageTableUnmap, &[], &[]))
            }
            Operation::MapFrame { frame, space, place, rights, attributes } => {
                let (cap, size_bits) = self.frames[frame];
                let memory = (self.world.frame_memory(cap), size_bits);
                let address = self.places[place];
                let expected = self.model.map_frame(frame, (space, address), memory, (rights, attributes));
                let given = if self.plant == Plant::Writable { BOTH } else { rights };
                let space_cap = self.spaces[space];
                (expected, self.call(cap, Method::FrameMap, &[space_cap], &[address, given, attributes]))
            }
            Operation::UnmapFrame { frame } => {
                let (cap, size_bits) = self.frames[frame];
                let expected = self.model.unmap_frame(frame, self.world.frame_memory(cap), size_bits);
                (expected, self.call(cap, Method::FrameUnmap, &[], &[]))
            }
            Operation::DeleteFrame { frame } => {
                let (cap, size_bits) = self.frames[frame];
                let _ = self.model.unmap_frame(frame, self.world.frame_memory(cap), size_bits);
                let Cap::Frame(decoded) = self.world.cap(cap) else { unreachable!() };
                let result = match self.plant {
                    Plant::DeletedStaysMapped => Ok(()),
                    _ => frame::finalise(&mut self.world.k, &decoded),
                };
                let unmapped =
                    Cap::Frame(microkernel::capability::cap::FrameCap { mapping: None, ..decoded });
                self.world.k.get(self.world.slot(cap)).set_cap(unmapped);
                (Ok(()), result)
            }
            Operation::DeleteTable { table } => {
                let _ = self.model.unmap_table(table);
                let slot = self.world.slot(self.tables[table]);
                let Cap::PageTable { table, mapping } = self.world.k.get(slot).cap() else { unreachable!() };
                page_table::finalise(&mut self.world.k, table, mapping);
                // Retyped again, which clears it.
                self.world.k.machine.clear(table.address(), 1 << 14);
                self.world.k.get(slot).set_cap(Cap::PageTable { table, mapping: None });
                (Ok(()), Ok(()))
            }
            Operation::Activate { space } => {
                let space = self.world.space_ref(self.spaces[space]);
                vspace::activate(&mut self.world.k, Some(space));
                (Ok(()), Ok(()))
            }
            Operation::Remake { space } => {
                self.model.remake(space);
                let cap = self.spaces[space];
                let space = self.world.space_ref(cap);
                vspace::finalise(&mut self.world.k, space).unwrap();
                self.world.k.machine.clear(space.address(), 1 << 15);
                (Ok(()), self.call(POOL, Method::AsidPoolAssign, &[cap], &[]))
            }
        }
    }

    fn call(&mut self, cap: u64, method: Method, caps: &[u64], words: &[u64]) -> Result<(), Failure> {
        self.world.call(cap, method, caps, words).map(drop)
    }

    /// Lets the TLB forget what was flushed, but for what the plant leaves out.
    fn forget(&mut self, operation: &Operation) {
        for (asid, page) in self.world.take_flushes() {
            let page = match (self.plant, operation) {
                (Plant::NoFlushAfterMap, Operation::MapFrame { .. })
                | (Plant::NoFlushAfterUnmap, Operation::UnmapFrame { .. }) => continue,
                (Plant::TableFlushesOnePage, Operation::UnmapTable { .. }) => Some(0),
                _ => page,
            };
            self.cached.retain(|(of, first, bits), _| {
                let hit = page.is_none_or(|page| (*first..*first + (2 << bits)).contains(&page));
                *of != asid || !hit
            });
        }
    }

    fn compare_tables(&self, operation: &Operation) -> Result<(), String> {
        for (space, cap) in self.spaces.iter().enumerate() {
            for address in &self.places {
                let (word, _) = self.world.translate(*cap, *address);
                let expected = self.model.leaf_over(space, *address).map_or(0, Leaf::word);
                if word != expected {
                    return Err(format!(
                        "after {operation:?}: space {space} at {address:#x} has {word:#x}, not {expected:#x}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Every cached half must say what the tables say now; an invalid one, that nothing is there.
    fn compare_cached(&self, operation: &Operation) -> Result<(), String> {
        for ((asid, first, bits), words) in &self.cached {
            let owner = self
                .spaces
                .iter()
                .find(|cap| self.world.k.get(self.world.space_ref(**cap)).hardware_asid.get() == *asid);
            // Nobody's identifier: nothing can use the entry until somebody gets it.
            let Some(cap) = owner else { continue };
            for address in self.places.iter().filter(|address| base(**address, bits + 1) == *first) {
                let cached = words[usize::try_from(*address >> bits & 1).unwrap_or(0)];
                let (now, _) = self.world.translate(*cap, *address);
                if cached != now {
                    return Err(format!(
                        "after {operation:?}: {asid} at {address:#x} is cached as {cached:#x}, is {now:#x}"
                    ));
                }
            }
        }
        Ok(())
    }

    fn cache_all(&mut self) {
        for cap in self.spaces {
            let asid = self.world.k.get(self.world.space_ref(cap)).hardware_asid.get();
            if asid == 0 {
                continue;
            }
            for address in self.places.clone() {
                let (word, bits) = self.world.translate(cap, address);
                let entry = match bits {
                    25 => ((asid, base(address, 25), 24), [word, word]),
                    _ => {
                        let first = base(address, 15);
                        let half = |offset| self.world.translate(cap, first + offset).0;
                        ((asid, first, 14), [half(0), half(1 << 14)])
                    }
                };
                self.cached.insert(entry.0, entry.1);
            }
        }
    }
}

/// Runs random operations; the failure if there is one.
fn run(plant: Plant, cases: u32) -> Result<(), String> {
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 500, ..Config::default() };
    TestRunner::new(config)
        .run(&operations(), |operations| {
            let mut run = Run::new(plant);
            // From the start both spaces have identifiers and their missing tables are cached.
            for space in 0..2 {
                run.step(&Operation::Activate { space }).map_err(TestCaseError::fail)?;
            }
            for operation in &operations {
                run.step(operation).map_err(TestCaseError::fail)?;
            }
            Ok(())
        })
        .map_err(|failure| failure.to_string())
}

#[test]
fn random_operations_do_what_the_model_says_and_leave_nothing_stale() {
    if let Err(failure) = run(Plant::Nothing, 400) {
        panic!("{failure}");
    }
}

#[test]
fn each_planted_bug_is_found() {
    for plant in [
        Plant::NoFlushAfterMap,
        Plant::NoFlushAfterUnmap,
        Plant::TableFlushesOnePage,
        Plant::Writable,
        Plant::DeletedStaysMapped,
    ] {
        assert!(run(plant, 400).is_err(), "{plant:?} was not found");
    }
}
