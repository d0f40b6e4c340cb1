//! Signals by number, and what each does by default.

/// A signal's number, 1 to 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signal(pub u8);

macro_rules! define_signals {
    ($($name:ident = $number:literal, $doc:literal;)*) => {
        impl Signal {
            $(#[doc = $doc] pub const $name: Self = Self($number);)*

            /// Its name in C, for people.
            pub const fn name(self) -> &'static str {
                match self.0 { $($number => stringify!($name),)* _ => "SIGRT" }
            }
        }

        #[cfg(target_arch = "loongarch64")]
        const _: () = { $(assert!($number == linux_raw_sys::general::$name);)* };
    };
}

define_signals! {
    SIGHUP = 1, "The terminal hung up.";
    SIGINT = 2, "Ctrl-C.";
    SIGQUIT = 3, "Ctrl-\\.";
    SIGILL = 4, "Illegal instruction.";
    SIGTRAP = 5, "Break point.";
    SIGABRT = 6, "abort.";
    SIGBUS = 7, "Bad address behind a mapping's end, or misaligned.";
    SIGFPE = 8, "Arithmetic.";
    SIGKILL = 9, "Killed.";
    SIGUSR1 = 10, "The program's own.";
    SIGSEGV = 11, "Bad address.";
    SIGUSR2 = 12, "The program's own.";
    SIGPIPE = 13, "Nobody reads.";
    SIGALRM = 14, "The real timer.";
    SIGTERM = 15, "Asked to end.";
    SIGSTKFLT = 16, "Unused.";
    SIGCHLD = 17, "A child changed.";
    SIGCONT = 18, "A stopped process goes on.";
    SIGSTOP = 19, "Stopped.";
    SIGTSTP = 20, "Ctrl-Z.";
    SIGTTIN = 21, "Read from the terminal in the background.";
    SIGTTOU = 22, "Write to the terminal in the background.";
    SIGURG = 23, "Urgent data.";
    SIGXCPU = 24, "Processor time is used up.";
    SIGXFSZ = 25, "File too large.";
    SIGVTALRM = 26, "The virtual timer.";
    SIGPROF = 27, "The profiling timer.";
    SIGWINCH = 28, "The window has another size.";
    SIGIO = 29, "Input or output is possible.";
    SIGPWR = 30, "Power fails.";
    SIGSYS = 31, "Bad system call.";
}

/// What a signal does that nobody handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultAction {
    /// Ends the process; a core dump, where Linux makes one, is never written here.
    Terminate,
    /// Stops the process.
    Stop,
    /// Nothing.
    Ignore,
}

/// SIGKILL and SIGSTOP, which nobody holds off, handles or ignores.
pub const NEVER: u64 = Signal::SIGKILL.bit() | Signal::SIGSTOP.bit();
/// The signals that stop a process by default.
pub const STOPS: u64 =
    Signal::SIGSTOP.bit() | Signal::SIGTSTP.bit() | Signal::SIGTTIN.bit() | Signal::SIGTTOU.bit();
/// The signals that do nothing by default.
pub const IGNORED: u64 =
    Signal::SIGCONT.bit() | Signal::SIGCHLD.bit() | Signal::SIGWINCH.bit() | Signal::SIGURG.bit();
/// The signals of faults, which go before all others (Linux's SYNCHRONOUS_MASK).
pub const SYNCHRONOUS: u64 = Signal::SIGSEGV.bit()
    | Signal::SIGBUS.bit()
    | Signal::SIGILL.bit()
    | Signal::SIGTRAP.bit()
    | Signal::SIGFPE.bit()
    | Signal::SIGSYS.bit();

impl Signal {
    /// The first realtime signal.
    pub const FIRST_REALTIME: u8 = 32;

    /// The signal of a number; `None` for 0 and above 64.
    pub const fn new(number: u64) -> Option<Self> {
        if number == 0 || number > 64 {
            return None;
        }
        Some(Self(number.to_le_bytes()[0]))
    }

    /// The lowest signal of a set.
    pub const fn lowest(set: u64) -> Option<Self> {
        if set == 0 {
            return None;
        }
        Self::new(set.trailing_zeros() as u64 + 1)
    }

    /// Its bit in a set: signal n at bit n - 1.
    pub const fn bit(self) -> u64 {
        1 << (self.0.wrapping_sub(1) & 63)
    }

    /// Its place in a table of actions.
    pub const fn place(self) -> usize {
        self.0.wrapping_sub(1) as usize
    }

    /// Whether it queues.
    pub const fn is_realtime(self) -> bool {
        self.0 >= Self::FIRST_REALTIME
    }

    /// What it does by default.
    pub const fn default_action(self) -> DefaultAction {
        if self.bit() & STOPS != 0 {
            DefaultAction::Stop
        } else if self.bit() & IGNORED != 0 {
            DefaultAction::Ignore
        } else {
            DefaultAction::Terminate
        }
    }
}
