//! Words that all threads of a story share, in whatever space they run: every space maps the same image.

use core::sync::atomic::{AtomicU64, Ordering};

/// Shared words that a story may use as it likes; zero when it begins.
const CELLS: usize = 16;

static WORDS: [AtomicU64; CELLS] = [const { AtomicU64::new(0) }; CELLS];
/// The slot of the notification that nobody signals.
static REST: AtomicU64 = AtomicU64::new(0);

/// A shared word, by its number below 16.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell(pub(crate) usize);

impl Cell {
    fn word(self) -> &'static AtomicU64 {
        let [first, ..] = &WORDS;
        WORDS.get(self.0).unwrap_or(first)
    }

    pub(crate) fn get(self) -> u64 {
        self.word().load(Ordering::SeqCst)
    }

    pub(crate) fn set(self, value: u64) {
        self.word().store(value, Ordering::SeqCst);
    }

    pub(crate) fn add(self, value: u64) -> u64 {
        self.word().fetch_add(value, Ordering::SeqCst).wrapping_add(value)
    }

    /// Where the word lies, in every space.
    pub(crate) fn address(self) -> u64 {
        core::ptr::from_ref(self.word()).expose_provenance() as u64
    }
}

/// Zeroes every word.
pub(crate) fn clear() {
    (0..CELLS).for_each(|cell| Cell(cell).set(0));
}

/// Sets where [`rest`] waits.
pub(crate) fn set_rest(notification: u64) {
    REST.store(notification, Ordering::SeqCst);
}

/// An assistant's end: it waits for what never comes.
pub(crate) fn rest() -> ! {
    loop {
        let _ = runtime::stubs::Notification(abi::CPtr(REST.load(Ordering::SeqCst))).wait();
    }
}

static REGISTERS: [AtomicU64; 32] = [const { AtomicU64::new(0) }; 32];

/// Where a thread may store its registers, in every space.
pub(crate) fn registers_address() -> u64 {
    core::ptr::from_ref(&REGISTERS).expose_provenance() as u64
}

/// What a thread stored there.
pub(crate) fn register(index: usize) -> u64 {
    REGISTERS.get(index).map_or(0, |register| register.load(Ordering::SeqCst))
}
