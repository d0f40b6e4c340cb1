//! A kernel with two spaces and two windows, what it must look like, and the TLB.

use std::collections::BTreeMap;

use abi::mapping::{Access, MapEntry};
use abi::{Error, Method, Rights};
use microkernel::capability::cap::Cap;
use microkernel::capability::derivation;
use microkernel::failure::{Failure, Refusal};
use microkernel::object::page_table::PageTable;
use microkernel::object::store::Ref;
use microkernel::object::translation::Entry;
use microkernel::object::vspace;

use crate::support::{CNODE, World};

pub(super) const SPACES: usize = 2;
pub(super) const WINDOWS: usize = 2;
pub(super) const PAGES: usize = 3;
/// The pages of interest: a pair, and one in another table.
pub(super) const PLACES: [u64; PAGES] = [0, 1, 2048];
/// Tables in each stock: as many as all places need.
pub(super) const TABLES: u64 = 3;
/// Memory for the kernel's objects in a scene.
const MEMORY: u64 = 288 << 10;

/// What a test breaks on purpose, to see that the checks find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plant {
    Nothing,
    NoFlushAfterMap,
    NoFlushAfterProtect,
    NoFlushAfterUnmap,
    /// Of several flushes only the first is made.
    OneFlushOnly,
    /// A window's revocation flushes nothing.
    NoFlushAfterSweep,
    /// The binding is dropped at the first poll, before the tables were looked through.
    DroppedTooEarly,
    /// The sweep goes on behind where it was.
    SweepSkips,
    /// A window that is going may still be mapped from, where the sweep has been.
    GoingStillMaps,
    /// A page of a read-only window can be written.
    Writable,
    /// A table's count is one too high.
    Miscounted,
}

impl Plant {
    pub(super) const ALL: [Self; 10] = [
        Self::NoFlushAfterMap,
        Self::NoFlushAfterProtect,
        Self::NoFlushAfterUnmap,
        Self::OneFlushOnly,
        Self::NoFlushAfterSweep,
        Self::DroppedTooEarly,
        Self::SweepSkips,
        Self::GoingStillMaps,
        Self::Writable,
        Self::Miscounted,
    ];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Map {
        space: usize,
        page: usize,
        window: usize,
        writes: bool,
    },
    /// The first two pages in one run.
    MapPair {
        space: usize,
        window: usize,
    },
    /// Everything of the window.
    Protect {
        space: usize,
        window: usize,
        writes: bool,
    },
    Unmap {
        space: usize,
        page: usize,
    },
    UnmapAll {
        space: usize,
    },
    Bind {
        space: usize,
        window: usize,
    },
    Activate {
        space: usize,
    },
    Revoke {
        window: usize,
    },
    Delete {
        space: usize,
    },
}

/// A page that is shown: which window's, and whether it can be written. Window 1 is read-only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shown {
    pub(super) window: usize,
    pub(super) writes: bool,
}

/// What the kernel must have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Model {
    pub(super) shown: [[Option<Shown>; PAGES]; SPACES],
    bound: [[bool; WINDOWS]; SPACES],
    pub(super) alive: [bool; SPACES],
    /// The window that is being revoked: of what it shows, some may be gone.
    pub(super) going: Option<usize>,
}

/// What two scenes have in common that need not be told apart.
pub(super) type State = (Vec<u64>, Vec<bool>, Vec<bool>);

#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub(super) world: World,
    pub(super) model: Model,
    plant: Plant,
    spaces: [u64; SPACES],
    objects: [Ref<vspace::VSpace>; SPACES],
    pub(super) frames: [u64; WINDOWS],
    /// (identifier, first page of a pair) to the words of both.
    pub(super) cached: BTreeMap<(u64, u64), [u64; 2]>,
}

impl Scene {
    /// Both windows are bound in both spaces, nothing is mapped, the first space is current.
    pub(super) fn new(plant: Plant) -> Self {
        let mut world = World::sized(MEMORY, 6);
        let spaces = [world.space(), world.space()];
        let frames = [world.frame(16), world.frame_with(16, Rights::READ, false)];
        for space in spaces {
            world.give_tables(space, TABLES);
        }
        let model = Model {
            shown: [[None; PAGES]; SPACES],
            bound: [[true; WINDOWS]; SPACES],
            alive: [true; SPACES],
            going: None,
        };
        for (number, frame) in frames.into_iter().enumerate() {
            for space in spaces {
                world.call(space, Method::VSpaceBindWindow, &[frame], &[number as u64]).unwrap();
            }
        }
        let objects = spaces.map(|space| world.space_ref(space));
        let mut scene = Self { world, model, plant, spaces, objects, frames, cached: BTreeMap::new() };
        for space in 0..SPACES {
            scene.step(&Operation::Activate { space }).unwrap();
        }
        scene
    }

    pub(super) fn state(&self) -> State {
        let words = (0..SPACES).flat_map(|space| PLACES.map(|page| self.word(space, page))).collect();
        let identifiers = (0..SPACES).map(|space| self.identifier(space) != 0).collect();
        (words, self.model.bound.as_flattened().to_vec(), identifiers)
    }

    /// How many pages are shown.
    pub(super) fn shown(&self) -> usize {
        self.model.shown.as_flattened().iter().flatten().count()
    }

    /// How far the revocation of a window has come, as far as it matters: which pages lie behind it.
    pub(super) fn progress(&self, number: usize) -> Vec<usize> {
        let swept = |space: usize| {
            let space = self.world.k.get(self.space(space));
            let next = space.swept[number].get();
            let bound = usize::from(!space.windows[number].is_empty());
            PLACES.iter().filter(|page| **page + 1 < next).count() * 2 + bound
        };
        (0..SPACES).filter(|space| self.model.alive[*space]).map(swept).collect()
    }

    /// Carries out an operation on kernel and model, and compares.
    pub(super) fn step(&mut self, operation: &Operation) -> Result<(), String> {
        let expected = self.expect(operation);
        let found = match self.carry_out(operation) {
            Ok(_) => Ok(()),
            Err(Failure::Refused(Refusal { error, .. })) => Err(error),
            Err(Failure::Preempted) => return Err(format!("{operation:?} was preempted")),
        };
        if found != expected {
            return Err(format!("{operation:?}: {found:?}, not {expected:?}"));
        }
        self.break_something(operation);
        self.settle(&format!("{operation:?}"), operation)
    }

    /// Revokes up to the next poll; true when it is done.
    pub(super) fn begin_revoke(&mut self, window: usize) -> Result<bool, String> {
        self.model.going = Some(window);
        self.world.k.machine.preempt = true;
        let result = self.revoke(window);
        self.world.k.machine.preempt = false;
        if result.is_err() {
            self.break_sweep(window);
        }
        self.settle("a step of a revocation", &Operation::Revoke { window })?;
        Ok(result.is_ok())
    }

    /// Revokes what is left: then nothing shows the window.
    pub(super) fn end_revoke(&mut self, window: usize) -> Result<(), String> {
        self.revoke(window).map_err(|failure| format!("{failure:?}"))?;
        self.model.going = None;
        self.forget_window(window);
        self.settle("the end of a revocation", &Operation::Revoke { window })
    }

    fn revoke(&mut self, window: usize) -> Result<Vec<u64>, Failure> {
        self.world.call(CNODE, Method::CNodeRevoke, &[], &[self.frames[window], 64])
    }

    fn carry_out(&mut self, operation: &Operation) -> Result<Vec<u64>, Failure> {
        let access = |writes: bool| if writes { Access::READ_WRITE } else { Access::READ };
        let entry = match *operation {
            Operation::Map { page, window, writes, .. } => {
                MapEntry::map(PLACES[page], 1, access(writes), byte(window), page as u64)
            }
            Operation::MapPair { window, .. } => MapEntry::map(0, 2, Access::READ, byte(window), 0),
            Operation::Protect { window, writes, .. } => {
                MapEntry::protect(0, 4096, access(writes), byte(window))
            }
            Operation::Unmap { page, .. } => MapEntry::unmap(PLACES[page], 1),
            Operation::UnmapAll { .. } => MapEntry::unmap(0, 4096),
            Operation::Bind { space, window } => {
                let (space, frame) = (self.spaces[space], self.frames[window]);
                return self.world.call(space, Method::VSpaceBindWindow, &[frame], &[window as u64]);
            }
            Operation::Activate { space } => {
                let space = self.space(space);
                vspace::activate(&mut self.world.k, Some(space));
                return Ok(Vec::new());
            }
            Operation::Revoke { window } => return self.revoke(window),
            Operation::Delete { space } => {
                let slot = self.world.slot(self.spaces[space]);
                return derivation::delete(&mut self.world.k, slot).map(|()| Vec::new());
            }
        };
        self.world.map_many(self.spaces[operation.space()], entry)
    }

    /// What the model says; it changes with it.
    fn expect(&mut self, operation: &Operation) -> Result<(), Error> {
        match *operation {
            Operation::Map { space, page, window, writes } => {
                self.expect_window(space, window, writes)?;
                self.model.shown[space][page] = Some(Shown { window, writes });
            }
            Operation::MapPair { space, window } => {
                self.expect_window(space, window, false)?;
                self.model.shown[space][..2].fill(Some(Shown { window, writes: false }));
            }
            Operation::Protect { space, window, writes } => {
                self.expect_window(space, window, writes)?;
                for shown in self.model.shown[space].iter_mut().flatten() {
                    shown.writes = if shown.window == window { writes } else { shown.writes };
                }
            }
            Operation::Unmap { space, page } => self.model.shown[space][page] = None,
            Operation::UnmapAll { space } => self.model.shown[space].fill(None),
            Operation::Bind { space, window } => {
                if self.is_bound(space, window) {
                    return Err(Error::AlreadyBound);
                }
                self.model.bound[space][window] = true;
            }
            Operation::Activate { .. } => {}
            Operation::Revoke { window } => self.forget_window(window),
            Operation::Delete { space } => {
                self.model.alive[space] = false;
                self.model.shown[space].fill(None);
                self.model.bound[space].fill(false);
            }
        }
        Ok(())
    }

    fn expect_window(&self, space: usize, window: usize, writes: bool) -> Result<(), Error> {
        let going = self.model.going == Some(window) && self.is_going(space, window);
        match self.is_bound(space, window) {
            true if !going && writes && window == 1 => Err(Error::MissingRight),
            true if !going => Ok(()),
            _ => Err(Error::NotBound),
        }
    }

    /// Whether a window is bound: of one that is being revoked, the kernel's slot says so.
    fn is_bound(&self, space: usize, window: usize) -> bool {
        match self.model.going {
            Some(going) if going == window => !self.world.k.get(self.space(space)).windows[window].is_empty(),
            _ => self.model.bound[space][window],
        }
    }

    fn is_going(&self, space: usize, window: usize) -> bool {
        self.world.k.get(self.space(space)).swept[window].get() != 0
    }

    fn forget_window(&mut self, window: usize) {
        for space in 0..SPACES {
            self.model.bound[space][window] = false;
            for shown in &mut self.model.shown[space] {
                *shown = shown.filter(|shown| shown.window != window);
            }
        }
    }

    fn break_something(&mut self, operation: &Operation) {
        let Operation::Map { space, page, window, .. } = *operation else { return };
        let Some((last, above)) = self.table(space, PLACES[page]) else { return };
        let cell = last.place(PLACES[page]);
        match self.plant {
            Plant::Writable if window == 1 && cell.get() != 0 => cell.set(cell.get() | 0x102),
            Plant::Miscounted => above.set(above.get() + (1 << 48)),
            _ => {}
        }
    }

    fn break_sweep(&mut self, window: usize) {
        for space in 0..SPACES {
            let object = self.world.k.get(self.space(space));
            let swept = &object.swept[window];
            match self.plant {
                Plant::SweepSkips if swept.get() != 0 => swept.set(swept.get().max(1 << 32)),
                Plant::DroppedTooEarly => object.windows[window].set_cap(Cap::Null),
                Plant::GoingStillMaps if swept.get() > 2049 => self.map_behind(space, window),
                _ => {}
            }
        }
    }

    /// Maps from a window that is going, as if it were not.
    fn map_behind(&self, space: usize, window: usize) {
        if let Some((last, _)) = self.table(space, 0) {
            let memory = self.world.frame_memory(self.frames[window]);
            last.place(0).set(memory | 0x9d | 1 << 62);
        }
    }

    fn settle(&mut self, what: &str, operation: &Operation) -> Result<(), String> {
        self.forget_flushed(operation);
        self.check().map_err(|failure| format!("after {what}: {failure}"))?;
        self.cache_all();
        Ok(())
    }

    fn forget_flushed(&mut self, operation: &Operation) {
        let dropped = match self.plant {
            Plant::NoFlushAfterMap => matches!(operation, Operation::Map { .. }),
            Plant::NoFlushAfterProtect => matches!(operation, Operation::Protect { .. }),
            Plant::NoFlushAfterUnmap => matches!(operation, Operation::Unmap { .. }),
            Plant::NoFlushAfterSweep => matches!(operation, Operation::Revoke { .. }),
            _ => false,
        };
        let most = match self.plant {
            _ if dropped => 0,
            Plant::OneFlushOnly => 1,
            _ => usize::MAX,
        };
        for (asid, page) in self.world.take_flushes().into_iter().take(most) {
            let pair = page.map(|page| page >> 15 << 1);
            self.cached.retain(|(of, first), _| *of != asid || pair.is_some_and(|pair| pair != *first));
        }
    }

    fn cache_all(&mut self) {
        for space in (0..SPACES).filter(|space| self.model.alive[*space]) {
            let asid = self.identifier(space);
            for first in PLACES.map(|page| page & !1) {
                if asid != 0 {
                    self.cached.insert((asid, first), [0, 1].map(|half| self.word(space, first + half)));
                }
            }
        }
    }

    pub(super) fn space(&self, space: usize) -> Ref<vspace::VSpace> {
        // Also of one that is deleted: its memory is still there.
        self.objects[space]
    }

    pub(super) fn identifier(&self, space: usize) -> u64 {
        self.world.k.get(self.space(space)).hardware_asid.get()
    }

    pub(super) fn word(&self, space: usize, page: u64) -> u64 {
        self.world.walk(self.space(space).address().physical().0 + 0x4000, page << 14).0
    }

    /// The last table over a page, and the entry that leads to it.
    fn table(&self, space: usize, page: u64) -> Option<(&PageTable, &core::cell::Cell<u64>)> {
        let root = Entry(self.world.k.get(self.space(space)).root.place(page >> 22).get());
        let above = self.world.k.get(root.next_table()?).place(page >> 11);
        Some((self.world.k.get(Entry(above.get()).next_table()?), above))
    }
}

impl Operation {
    fn space(&self) -> usize {
        match *self {
            Self::Map { space, .. }
            | Self::MapPair { space, .. }
            | Self::Protect { space, .. }
            | Self::Unmap { space, .. }
            | Self::UnmapAll { space }
            | Self::Bind { space, .. }
            | Self::Activate { space }
            | Self::Delete { space } => space,
            Self::Revoke { .. } => 0,
        }
    }
}

fn byte(number: usize) -> u8 {
    u8::try_from(number).unwrap()
}
