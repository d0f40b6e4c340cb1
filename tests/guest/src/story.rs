//! The stories, by subject, in the order in which they are told.

mod calls;
mod cancelled;
mod clock;
mod donation;
mod faults;
mod hosted_faults;
mod hosted_revocation;
mod hosted_vectors;
mod hostile;
mod hosting;
mod interrupts;
mod kicks;
mod leaks;
mod linked;
mod mapping;
mod memory;
mod messages;
mod newborn;
mod notifications;
mod restarts;
mod servers;
mod switches;
mod timers;
mod transfer;
mod windows;

use crate::kit::failure::Outcome;
use crate::kit::stage::Stage;

/// A named test against the real kernel.
#[derive(Clone, Copy)]
pub(crate) struct Story {
    /// Its name on the control line.
    pub(crate) name: &'static str,
    /// Tells it.
    pub(crate) tell: fn(&mut Stage) -> Outcome,
}

/// Makes the table of a module's stories: `name,` for each function.
macro_rules! stories {
    ($($name:ident,)*) => {
        pub(super) const STORIES: &[$crate::story::Story] =
            &[$($crate::story::Story { name: stringify!($name), tell: $name },)*];
    };
}
use stories;

/// All of them.
pub(crate) const ALL: &[&[Story]] = &[
    calls::STORIES,
    messages::STORIES,
    transfer::STORIES,
    notifications::STORIES,
    donation::STORIES,
    servers::STORIES,
    clock::STORIES,
    timers::STORIES,
    faults::STORIES,
    interrupts::STORIES,
    hosting::STORIES,
    hosted_faults::STORIES,
    kicks::STORIES,
    hosted_vectors::STORIES,
    hosted_revocation::STORIES,
    hostile::STORIES,
    restarts::STORIES,
    memory::STORIES,
    mapping::STORIES,
    windows::STORIES,
    cancelled::STORIES,
    linked::STORIES,
    leaks::STORIES,
    switches::STORIES,
    newborn::STORIES,
];
