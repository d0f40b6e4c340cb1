//! Signals, all of them here: the kernel knows none (design, idea 5).
//!
//! A signal is sent ([`send`]; the calls that do are in [`kill`]), waits where somebody holds it off
//! ([`pending`], [`mask`], [`wait`]), and is delivered when its thread is about to go on ([`deliver`]): it comes
//! to nothing, stops ([`stop`]) or ends the process, or its handler is entered on a frame on the program's stack
//! ([`frame`], [`stack`]), from which [`sigreturn`] comes back. [`timer`] sends when time has passed.
//!
//! Where they are delivered: every way to a program but the shortest one leads through
//! [`Server::resume`](crate::server::Server::resume). A call that may have raised a signal at its own thread
//! sets `attention`, which each call's end tests. A thread that waits in a call is put among those that can go
//! on; its turn ends its waits with [`Errno::ERESTARTSYS`](crate::Errno::ERESTARTSYS), and [`restart`] makes of
//! the call's result what Linux makes of it. Who writes a waiting call lets that error through, or answers one
//! of its kin.
//!
//! Invariants:
//! - `mask` never has SIGKILL or SIGSTOP.
//! - What is ignored and not held off is never pending: nothing is woken for it (CASES 27).
//! - A signal that ends the process does so when it is sent, unless every thread holds it off.

pub mod action;
pub mod child;
pub mod deliver;
pub mod file;
pub mod frame;
pub mod info;
pub mod kill;
pub mod mask;
pub mod number;
pub mod pending;
pub mod restart;
pub mod send;
pub mod sigreturn;
pub mod stack;
pub mod stop;
pub mod timer;
pub mod wait;

#[cfg(test)]
mod tests;

use action::Actions;
use pending::Pending;
use stack::AlternateStack;
use timer::IntervalTimers;

/// What a thread has of signals, its mask aside.
#[derive(Clone, Debug, Default)]
pub struct ThreadSignals {
    /// The mask to come back to when a call that had another one ends (rt_sigsuspend, ppoll).
    pub saved_mask: Option<u64>,
    /// Sent to it alone.
    pub pending: Pending,
    /// What rt_sigtimedwait waits for: held off from handlers, but not from it.
    pub awaited: u64,
    /// Its alternate stack.
    pub stack: AlternateStack,
    /// How it touched memory when a page fault last became a signal, as [`frame::flags`] has it, or 0: Linux keeps it
    /// for all later frames.
    pub bad_access: u32,
}

impl ThreadSignals {
    /// What a new thread or process has of its maker's.
    #[must_use]
    pub fn child(&self, stack: AlternateStack) -> Self {
        Self { stack, bad_access: self.bad_access, ..Self::default() }
    }
}

/// What a process has of signals.
#[derive(Clone, Debug, Default)]
pub struct ProcessSignals {
    /// What it does with them.
    pub actions: Actions,
    /// Sent to it, for whichever thread takes them.
    pub pending: Pending,
    /// Whether a signal has stopped it.
    pub stopped: Stopped,
    /// setitimer's.
    pub timers: IntervalTimers,
}

impl ProcessSignals {
    /// What a forked process has of its parent's.
    #[must_use]
    pub fn child(&self) -> Self {
        Self { actions: self.actions.clone(), ..Self::default() }
    }
}

/// Whether a process is stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stopped {
    /// It runs.
    #[default]
    No,
    /// None of its threads is entered.
    Yes,
}

/// Whether something beside its result is due to the acting thread at its call's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attention {
    /// Nothing.
    Quiet,
    /// A signal may be deliverable, or the thread is no more.
    Due,
}
