//! Processes and threads as data: who they are, what they share, how they begin and end.

pub mod capability;
pub mod clone;
pub mod credentials;
pub mod exit;
pub mod family;
pub mod fault;
pub mod fork;
pub mod group;
pub mod identity;
mod instruction;
pub mod limits;
pub mod numbers;
pub mod policy;
pub mod prctl;
pub mod priority;
pub mod robust;
pub mod schedule;
mod shortage;
pub mod start;
pub mod system;
pub mod usage;
pub mod users;
pub mod wait;

#[cfg(test)]
mod tests;

pub use crate::signal::number::Signal;

use crate::define_id;
use crate::executor::cx::Call;
use crate::executor::parked::Parked;
use crate::executor::wait::QueueId;
use crate::executor::wait::WaiterId;
use crate::file::place::Holdings;
use crate::host::{ContextId, Exit};
use crate::signal::{ProcessSignals, ThreadSignals};
use crate::terminal::table::TerminalId;
use alloc::vec::Vec;
use credentials::Credentials;
use limits::Limits;

define_id! {
    /// A thread, by its place in the server's table.
    ThreadId
}
define_id! {
    /// A process, by its place in the server's table.
    ProcessId
}
define_id! {
    /// An address space, by its place in the server's table.
    SpaceKey
}

/// What Linux calls a pid or tid: 1 to 32,767.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pid(pub u32);

/// A hosted thread.
#[derive(Debug)]
pub struct Thread {
    /// What gettid says.
    pub tid: Pid,
    /// The process that it belongs to.
    pub process: ProcessId,
    /// Its registers.
    pub context: ContextId,
    /// How it is to be entered next.
    pub exit: Exit,
    /// The call that it waits in, or whose result it has not taken yet.
    pub call: Option<Call>,
    /// What that call waits for, if no task has it.
    pub parked: Option<Parked>,
    /// Bytes that a write had written when it came to wait.
    pub written: u64,
    /// What its parked calls wait with, once it has had one.
    pub waiter: Option<WaiterId>,
    /// Where to store 0 and wake a futex when it ends (set_tid_address, CLONE_CHILD_CLEARTID); 0 for nowhere.
    pub clear_child_tid: u64,
    /// The list of robust futexes that it registered; 0 for none.
    pub robust_list: u64,
    /// The signals that it holds off, signal n at bit n - 1.
    pub mask: u64,
    /// Everything else about its signals.
    pub signals: ThreadSignals,
    /// Its name (prctl PR_SET_NAME), ended by zeros.
    pub name: [u8; 16],
    /// The child of its vfork that it waits for.
    pub vforked: Option<ProcessId>,
}

/// A hosted process.
#[derive(Debug)]
pub struct Process {
    /// What getpid says: the tid of its first thread.
    pub pid: Pid,
    /// Who gets its exit status; init, which is the server, if there is none.
    pub parent: Option<ProcessId>,
    /// Who began it.
    pub origin: Origin,
    /// Its children, dead ones that nobody waited for among them, in the order of their birth.
    pub children: Vec<ProcessId>,
    /// The number of its group; one use of it in [`numbers::Numbers`].
    pub group: Pid,
    /// The number of its session; one use of it in [`numbers::Numbers`].
    pub session: Pid,
    /// What its parent is sent when it ends.
    pub exit_signal: Option<Signal>,
    /// What it is sent when its parent ends (PR_SET_PDEATHSIG).
    pub parent_death: Option<Signal>,
    /// Whether it adopts the orphans among its descendants (PR_SET_CHILD_SUBREAPER).
    pub adopts: Adopts,
    /// Whether it has executed a program since it was born.
    pub executed: Executed,
    /// The thread that waits for it to let go of its memory (CLONE_VFORK).
    pub vforker: Option<ThreadId>,
    /// Its address space.
    pub space: SpaceKey,
    /// Its descriptors, its working directory, its program.
    pub files: Holdings,
    /// Its living threads.
    pub threads: Vec<ThreadId>,
    /// Users and groups.
    pub credentials: Credentials,
    /// RLIMIT_.
    pub limits: Limits,
    /// The file mode creation mask.
    pub umask: u32,
    /// When it was born, by the monotonic clock.
    pub started_ns: u64,
    /// The name of its thread that ended last.
    pub last_name: [u8; 16],
    /// Processor time of threads that ended, and up to the last switch of those that live.
    pub cpu_ns: u64,
    /// Processor time of the children that were waited for, and of theirs.
    pub children_cpu_ns: u64,
    /// The terminal that controls it.
    pub terminal: Option<TerminalId>,
    /// The group that was in the foreground of the terminal that it, a session's leader, has lost.
    pub lost_foreground: Option<Pid>,
    /// How it ended, once its last thread is gone.
    pub status: Option<Status>,
    /// What a wait for it would report beside its end, and did not yet.
    pub change: Option<Change>,
    /// Its threads wait here: for children to change, for the child of a vfork.
    pub changed: QueueId,
    /// Its signals.
    pub signals: ProcessSignals,
    /// How nice it is, -20 to 19.
    pub nice: i32,
    /// What personality says it is.
    pub personality: u32,
    /// PR_SET_NO_NEW_PRIVS: 0 or 1.
    pub no_new_privileges: u64,
}

/// Who began a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The server: its end is told outside.
    Server,
    /// A process.
    Fork,
}

/// Whether a process adopts orphans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adopts {
    /// It does not.
    No,
    /// It does.
    Descendants,
}

/// Whether a process has executed a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Executed {
    /// It has the program that its parent had.
    No,
    /// It has its own; its parent cannot change its group any more.
    Yes,
}

/// What wait4 reports of a living process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A signal stopped it.
    Stopped(Signal),
    /// SIGCONT let it go on.
    Continued,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// By exit or exit_group, with the low 8 bits of its code.
    Exited(u8),
    /// By a signal.
    Killed(Signal),
}

impl Status {
    /// What a shell makes of it: the code, or 128 and the signal.
    pub const fn shell_code(self) -> u8 {
        match self {
            Self::Exited(code) => code,
            Self::Killed(signal) => 128 + signal.0,
        }
    }
}
