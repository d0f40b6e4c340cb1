//! What must hold of a scene after every step.

use microkernel::object::translation::Entry;
use microkernel::object::window;

use super::scene::{PLACES, SPACES, Scene, TABLES};

impl Scene {
    /// Everything; the error says what does not hold.
    pub(super) fn check(&self) -> Result<(), String> {
        for space in (0..SPACES).filter(|space| self.model.alive[*space]) {
            self.check_pages(space)?;
            self.check_windows(space)?;
            self.check_stock(space)?;
            let asid = self.identifier(space);
            for ((_, first), words) in self.cached.iter().filter(|((of, _), _)| *of == asid) {
                let now = [0, 1].map(|half| self.word(space, first + half));
                if *words != now {
                    return Err(format!("space {space} has {words:x?} cached at {first:#x}, is {now:x?}"));
                }
            }
        }
        Ok(())
    }

    /// The tables say what the model says; of a window that is going, they may say less.
    fn check_pages(&self, space: usize) -> Result<(), String> {
        for (page, shown) in self.model.shown[space].iter().enumerate() {
            let word = self.word(space, PLACES[page]);
            let expected = shown.map_or(0, |shown| {
                let memory = self.world.frame_memory(self.frames[shown.window]) + ((page as u64) << 14);
                memory | 1 << 62 | 0x9d | if shown.writes { 0x102 } else { 0 }
            });
            let may_be_gone = shown.is_some_and(|shown| self.model.going == Some(shown.window));
            if word != expected && !(may_be_gone && word == 0) {
                return Err(format!("space {space} has {word:#x} at place {page}, not {expected:#x}"));
            }
        }
        Ok(())
    }

    /// What is not bound is not shown: the Frame is free. (C-41: only then.)
    fn check_windows(&self, space: usize) -> Result<(), String> {
        for (number, frame) in self.frames.into_iter().enumerate() {
            if !self.world.k.get(window::slot(self.space(space), number as u64)).is_empty() {
                continue;
            }
            let memory = self.world.frame_memory(frame);
            let shows = |word: u64| {
                word & 1 != 0 && (memory..memory + (1 << 16)).contains(&(word & 0xffff_ffff_c000))
            };
            let asid = self.identifier(space);
            let cached = self.cached.iter().filter(|((of, _), _)| *of == asid).flat_map(|(_, words)| *words);
            let mapped = PLACES.map(|page| self.word(space, page));
            if cached.chain(mapped).any(shows) {
                return Err(format!("space {space} shows window {number}, which is not bound"));
            }
        }
        Ok(())
    }

    /// Counts are right, no table is empty, and none is lost.
    fn check_stock(&self, space: usize) -> Result<(), String> {
        let object = self.world.k.get(self.space(space));
        let root = Entry(object.root.place(0).get());
        let mut used = 0;
        if let Some(middle) = root.next_table() {
            let mut below = 0;
            for index in 0..2 {
                let entry = self.world.k.get(middle).entry(index);
                let Some(last) = entry.next_table() else { continue };
                let filled = (0..2).filter(|page| self.world.k.get(last).entry(*page).0 != 0).count() as u64;
                if entry.filled() != filled || filled == 0 {
                    return Err(format!("space {space} counts {} of {filled} entries", entry.filled()));
                }
                below += 1;
            }
            if root.filled() != below || below == 0 {
                return Err(format!("space {space} counts {} of {below} tables", root.filled()));
            }
            used = 1 + below;
        }
        if object.stock.free.get() + used != TABLES {
            return Err(format!("space {space} has {} tables and uses {used}", object.stock.free.get()));
        }
        Ok(())
    }
}
