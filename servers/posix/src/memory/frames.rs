//! The page frames of the windows: who holds each, and which are free or already zero.
//!
//! Invariant: a frame is on exactly one of the two free lists when its count of references is 0, and on
//! none otherwise. Frames of the zeroed list hold zeros only. The lists are chains through the table, so
//! that taking and giving back allocates nothing.

use crate::address::Frame;
use crate::host::{Host, WindowPage};
use crate::number::index;
use alloc::vec::Vec;
use arrayvec::ArrayVec;

/// Most windows of a VSpace (C-41).
pub const WINDOWS: usize = 8;
const NONE: u32 = u32::MAX;

/// Every page frame that the server has.
#[derive(Debug)]
pub struct Frames {
    table: Vec<State>,
    windows: ArrayVec<Window, WINDOWS>,
    free: List,
    zeroed: List,
}

#[derive(Clone, Copy, Debug)]
struct State {
    references: u32,
    next: u32,
}

#[derive(Clone, Copy, Debug)]
struct Window {
    first: u32,
    pages: u32,
}

#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    length: u32,
}

impl Frames {
    /// The frames of windows with so many pages each; windows after the eighth are not used.
    pub fn new(window_pages: &[u32]) -> Self {
        let mut frames =
            Self { table: Vec::new(), windows: ArrayVec::new(), free: List::EMPTY, zeroed: List::EMPTY };
        let mut first = 0_u32;
        for pages in window_pages.iter().take(WINDOWS) {
            let pages = (*pages).min(NONE - first);
            frames.windows.push(Window { first, pages });
            first += pages;
        }
        frames.table = alloc::vec![State { references: 0, next: NONE }; index(first)];
        // Backwards, so that frames come in ascending runs: those make short lists for MapMany.
        for number in (0..first).rev() {
            frames.free.push(&mut frames.table, number);
        }
        frames
    }

    /// Frames there are.
    pub fn total(&self) -> u64 {
        self.table.len() as u64
    }

    /// Frames nobody holds.
    pub fn free_count(&self) -> u64 {
        u64::from(self.free.length) + u64::from(self.zeroed.length)
    }

    /// Takes a frame with whatever is in it, for the caller to fill; it has one reference.
    pub fn take(&mut self) -> Option<Frame> {
        let number = self.free.pop(&self.table).or_else(|| self.zeroed.pop(&self.table))?;
        self.first_reference(number)
    }

    /// Takes a frame of zeros; it has one reference.
    pub fn take_zeroed<H: Host>(&mut self, host: &mut H) -> Option<Frame> {
        if let Some(number) = self.zeroed.pop(&self.table) {
            return self.first_reference(number);
        }
        let number = self.free.pop(&self.table)?;
        let frame = self.first_reference(number)?;
        host.zero_frame(self.locate(frame));
        Some(frame)
    }

    /// Adds a reference to a frame that has one.
    pub fn share(&mut self, frame: Frame) {
        if let Some(state) = self.table.get_mut(index(frame.0)) {
            state.references = state.references.saturating_add(1);
        }
    }

    /// Takes a reference away; the last one frees the frame. A count that ever saturated stays for good.
    pub fn release(&mut self, frame: Frame) {
        let Some(state) = self.table.get_mut(index(frame.0)) else { return };
        match state.references {
            0 | u32::MAX => {}
            1 => {
                state.references = 0;
                self.free.push(&mut self.table, frame.0);
            }
            more => state.references = more - 1,
        }
    }

    /// Whether exactly one holds the frame.
    pub fn is_exclusive(&self, frame: Frame) -> bool {
        self.references(frame) == 1
    }

    /// How many hold the frame.
    pub fn references(&self, frame: Frame) -> u32 {
        self.table.get(index(frame.0)).map_or(0, |state| state.references)
    }

    /// Clears one free frame in advance; says whether there was one and the pool was not yet `enough`.
    pub fn zero_one<H: Host>(&mut self, host: &mut H, enough: u32) -> bool {
        if self.zeroed.length >= enough {
            return false;
        }
        let Some(number) = self.free.pop(&self.table) else { return false };
        host.zero_frame(self.locate(Frame(number)));
        self.zeroed.push(&mut self.table, number);
        true
    }

    /// Where a frame lies. A number that no window has names page 2^56-1, which every map call refuses.
    #[inline]
    pub fn locate(&self, frame: Frame) -> WindowPage {
        match self.windows.first() {
            // Most frames are in the first, and it begins with frame 0.
            Some(window) if frame.0 < window.pages => WindowPage { slot: 0, page: u64::from(frame.0) },
            _ => self.locate_beyond(frame),
        }
    }

    /// As [`Frames::locate`], where the frame need not be in the first window.
    fn locate_beyond(&self, frame: Frame) -> WindowPage {
        for (slot, window) in (0_u8..).zip(&self.windows) {
            if let Some(page) = frame.0.checked_sub(window.first).filter(|page| *page < window.pages) {
                return WindowPage { slot, page: u64::from(page) };
            }
        }
        WindowPage { slot: u8::MAX, page: (1 << 56) - 1 }
    }

    fn first_reference(&mut self, number: u32) -> Option<Frame> {
        self.table.get_mut(index(number))?.references = 1;
        Some(Frame(number))
    }
}

impl List {
    const EMPTY: Self = Self { first: NONE, length: 0 };

    fn push(&mut self, table: &mut [State], number: u32) {
        if let Some(state) = table.get_mut(index(number)) {
            state.next = self.first;
            self.first = number;
            self.length += 1;
        }
    }

    fn pop(&mut self, table: &[State]) -> Option<u32> {
        let number = self.first;
        // The end of the chain is a number that the table does not have.
        self.first = table.get(index(number))?.next;
        self.length -= 1;
        Some(number)
    }
}
