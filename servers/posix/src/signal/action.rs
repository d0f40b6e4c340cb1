//! What a process does with each signal: rt_sigaction.
//!
//! Actions are shared with a forked child until either changes one, so that fork copies none of them.

use super::number::{DefaultAction, NEVER, Signal};
use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::number::low_u32;
use crate::process::ProcessId;
use crate::server::Server;
use crate::user::UserPtr;
use alloc::rc::Rc;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Bytes of the kernel's sigset_t.
pub const SET_BYTES: u64 = 8;
const SIG_DFL: u64 = 0;
const SIG_IGN: u64 = 1;

/// sa_flags.
pub mod flags {
    /// No SIGCHLD when children stop or go on.
    pub const NOCLDSTOP: u64 = 1;
    /// Children are reaped by themselves.
    pub const NOCLDWAIT: u64 = 2;
    /// The handler takes siginfo; it always gets it.
    pub const SIGINFO: u64 = 4;
    /// On the alternate stack.
    pub const ONSTACK: u64 = 0x0800_0000;
    /// Interrupted calls go on.
    pub const RESTART: u64 = 0x1000_0000;
    /// The signal itself is not held off meanwhile.
    pub const NODEFER: u64 = 0x4000_0000;
    /// Default again after the first.
    pub const RESETHAND: u64 = 0x8000_0000;
    /// Those that are kept; Linux forgets others, so that programs can ask which it knows. LoongArch has no
    /// SA_RESTORER.
    pub const KNOWN: u64 = NOCLDSTOP | NOCLDWAIT | SIGINFO | 0x800 | ONSTACK | RESTART | NODEFER | RESETHAND;
}

/// Linux's `struct sigaction` on LoongArch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Action {
    /// SIG_DFL, SIG_IGN, or where the handler is.
    pub handler: u64,
    /// [`flags`].
    pub flags: u64,
    /// What is held off while it runs.
    pub mask: u64,
}

/// What an action comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// What the signal does by default.
    Default(DefaultAction),
    /// Nothing.
    Ignore,
    /// A handler runs.
    Handle,
}

impl Action {
    /// What it does with a signal.
    pub const fn disposition(&self, signal: Signal) -> Disposition {
        match self.handler {
            SIG_DFL => Disposition::Default(signal.default_action()),
            SIG_IGN => Disposition::Ignore,
            _ => Disposition::Handle,
        }
    }

    /// Whether the signal comes to nothing.
    pub const fn ignores(&self, signal: Signal) -> bool {
        matches!(self.disposition(signal), Disposition::Ignore | Disposition::Default(DefaultAction::Ignore))
    }
}

/// An action as it is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Kept {
    action: Action,
    /// All that is held off while its handler runs: the mask, and the signal itself unless its flags say otherwise.
    held: u64,
}

impl Kept {
    const fn new(signal: u64, action: Action) -> Self {
        let own = if action.flags & flags::NODEFER == 0 { signal } else { 0 };
        Self { action, held: action.mask | own }
    }
}

/// The actions of a process.
#[derive(Clone, Debug)]
pub struct Actions(Rc<[Kept; 64]>);

impl Default for Actions {
    fn default() -> Self {
        Self(Rc::new([Kept::default(); 64]))
    }
}

impl Actions {
    /// What is done with a signal.
    #[inline]
    pub fn get(&self, signal: Signal) -> Action {
        self.0.get(signal.place()).map_or_else(Action::default, |kept| kept.action)
    }

    /// What is held off while a signal's handler runs.
    #[inline]
    pub fn held(&self, signal: Signal) -> u64 {
        self.0.get(signal.place()).map_or(0, |kept| kept.held)
    }

    /// Sets what is done with a signal.
    pub fn set(&mut self, signal: Signal, action: Action) {
        if let Some(place) = Rc::make_mut(&mut self.0).get_mut(signal.place()) {
            *place = Kept::new(signal.bit(), action);
        }
    }

    /// Default again, as after SA_RESETHAND; mask and flags stay.
    pub fn reset(&mut self, signal: Signal) {
        self.set(signal, Action { handler: SIG_DFL, ..self.get(signal) });
    }

    /// Every handler is gone, what is ignored stays so: execve, CLONE_CLEAR_SIGHAND.
    pub fn forget_handlers(&mut self) {
        let left = |kept: &Kept| {
            let handler = if kept.action.handler == SIG_IGN { SIG_IGN } else { SIG_DFL };
            Kept { action: Action { handler, flags: 0, mask: 0 }, held: 0 }
        };
        if self.0.iter().any(|kept| *kept != left(kept)) {
            for kept in Rc::make_mut(&mut self.0) {
                *kept = left(kept);
            }
        }
    }
}

/// rt_sigaction(2).
pub fn rt_sigaction<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [number, new, old, bytes, ..] = arguments.words();
    if bytes != SET_BYTES {
        return Err(Errno::EINVAL);
    }
    let new = match UserPtr::<Action>::optional(new)? {
        Some(pointer) => Some(server.view()?.read(pointer)?),
        None => None,
    };
    let signal = Signal::new(u64::from(low_u32(number))).ok_or(Errno::EINVAL)?;
    let process = server.current()?.process;
    let before = server.process()?.signals.actions.get(signal);
    if let Some(action) = new {
        if signal.bit() & NEVER != 0 {
            return Err(Errno::EINVAL);
        }
        let action = Action { flags: action.flags & flags::KNOWN, mask: action.mask & !NEVER, ..action };
        server.process_mut()?.signals.actions.set(signal, action);
        if action.ignores(signal) {
            // What waits comes to nothing too, blocked or not.
            server.drop_pending(process, signal.bit());
        }
    }
    if let Some(pointer) = UserPtr::optional(old)? {
        server.view()?.write(pointer, &before)?;
    }
    Ok(0)
}

impl<H: Host> Server<H> {
    /// What a process does with a signal.
    pub(crate) fn action(&self, process: ProcessId, signal: Signal) -> Action {
        self.processes
            .get(process)
            .map_or_else(Action::default, |process| process.signals.actions.get(signal))
    }
}
