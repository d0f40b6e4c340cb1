//! What an interrupted call comes to.

use super::action::flags;
use crate::Errno;

/// What the program finds after a call that a signal ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// This result.
    Result(u64),
    /// The same call once more, with its first argument where the result would have been.
    Again,
}

/// What ran meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meanwhile {
    /// No handler.
    Nothing,
    /// A handler that was set with these flags.
    Handler(u64),
}

/// Linux's rules (signal(7), arch/loongarch/kernel/signal.c): the first handler decides.
///
/// A call whose rest Linux keeps for restart_syscall begins anew if no handler ran. That does not happen to one
/// that waits here: a stop interrupts no wait, and what is ignored is taken away before a wait is ended for it.
pub fn outcome(result: u64, meanwhile: Meanwhile) -> Outcome {
    let Some(error) = Errno::restart(result) else { return Outcome::Result(result) };
    let again = match meanwhile {
        Meanwhile::Nothing => true,
        Meanwhile::Handler(of) => {
            error == Errno::ERESTARTNOINTR || (error == Errno::ERESTARTSYS && of & flags::RESTART != 0)
        }
    };
    if again { Outcome::Again } else { Outcome::Result(Errno::EINTR.to_result()) }
}

/// restart_syscall(2): nothing is ever left to restart (see [`outcome`]); so says Linux too then.
pub fn restart_syscall<H: crate::host::Host>(
    _: &mut crate::server::Server<H>,
    _: crate::dispatch::Arguments,
) -> Result<u64, Errno> {
    Err(Errno::EINTR)
}
