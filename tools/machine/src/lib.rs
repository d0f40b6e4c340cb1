//! Runs Bixi in QEMU: starts it, listens to its serial lines, times it out and judges how it ended.
//!
//! A run has one of three results, each with everything the guest printed: it *passed* (it wrote an exit record and
//! powered off), it *failed* (it ended in another way), or it *hung* (its time was up). What cannot be started at all
//! is an error instead.
//!
//! Reading order: [`emulator`] (which QEMU), [`machine`] (what is started), [`initrd`] (where the guest's files
//! go), [`lines`] (how its four serial lines are
//! heard), [`input`] (what goes the other way), [`run`] (one run from start to end), [`heard`] (what is told and kept
//! of it), [`verdict`] (how it is judged).

mod child;
mod emulator;
mod fit;
mod guest;
mod heard;
pub mod initrd;
mod input;
mod lines;
mod machine;
mod run;
mod verdict;

pub use child::start_with_us;
pub use emulator::{Emulator, EmulatorError};
pub use fit::FitError;
pub use guest::Answers;
pub use heard::{Keep, Listener};
pub use input::{Ender, Happened, Keyboard, Source};
pub use lines::Line;
pub use machine::{Counting, Machine};
pub use run::{Run, RunError};
pub use verdict::{Failure, Verdict};
