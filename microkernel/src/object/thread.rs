//! Threads: the Tcb, its registers, its hot word.
//!
//! The hot path reads and writes the fields above `registers` by their offsets; the slow path keeps
//! them true: `cspace_*` mirror the capability space's root, `hot` says why the thread cannot be reached
//! by the hot path, `state` says what the thread waits for and by which Reply.

pub mod invoke;
pub mod life;
pub mod name;
pub mod registers;
pub mod slots;
pub mod state;

use core::cell::Cell;

pub use invoke::invoke;
pub use life::{finalise, initialise};
pub use slots::slots_changed;

use abi::MessageInfo;
use abi::fault::Fault;
use abi::message::{REGISTER_WORDS, REGISTERS};

use crate::arch::CoreId;
use crate::capability::cap::Slot;
use crate::object::host::{Host, HostedContext};
use crate::object::notification::Notification;
use crate::object::reply::Reply;
use crate::object::sched_context::SchedContext;
use crate::object::store::Ref;
use crate::object::vspace::VSpace;

/// Reasons why a thread that waits cannot be reached by the hot path; all clear and on the core's own
/// `home`, the hot word equals the core's (C-9).
pub mod hot {
    /// It waits, to receive or for an answer, and has a scheduling context.
    pub const ACTIVE: u64 = 1;
    /// It receives without a Reply.
    pub const NO_REPLY: u64 = 2;
    /// It has no address space that is valid.
    pub const NO_SPACE: u64 = 4;
    /// It waits for the answer to a fault.
    pub const FAULT: u64 = 8;
    /// Its registers were rewritten: it leaves by the full exit.
    pub const FULL_EXIT: u64 = 16;
    /// It is a host's thread.
    pub const HOST: u64 = 32;
    /// It was suspended while it waited.
    pub const STOPPED: u64 = 64;
    /// The home core's number begins at this bit.
    pub const HOME_SHIFT: u32 = 32;
}

/// What a thread is doing: the low six bits of [`Tcb::state`]; the rest is the Reply that it waits with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum ThreadState {
    /// Running, or in a ready or release queue.
    Runnable = 0,
    /// Has called and waits for the answer; `state` holds the Reply.
    BlockedOnReply = 1,
    /// Waits to receive; `state` holds the Reply, if any.
    BlockedOnReceive = 2,
    /// Waits to send.
    BlockedOnSend = 3,
    /// Waits for a notification.
    BlockedOnNotification = 4,
    /// Not to be run until resumed; with [`Self::STOPPED`], what it waited for goes on then.
    Inactive = 5,
    /// A core's idle thread.
    Idle = 6,
}

impl ThreadState {
    /// The bits that hold the state.
    pub const MASK: u64 = 63;
    /// Added to a blocked state: suspended meanwhile.
    pub const STOPPED: u64 = 32;

    /// The state in a word; Inactive for a thread that was suspended while it waited.
    pub const fn from_word(word: u64) -> Self {
        match word & Self::MASK {
            0 => Self::Runnable,
            1 => Self::BlockedOnReply,
            2 => Self::BlockedOnReceive,
            3 => Self::BlockedOnSend,
            4 => Self::BlockedOnNotification,
            6 => Self::Idle,
            _ => Self::Inactive,
        }
    }
}

/// By which exit the thread goes on (DESIGN §1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Exit {
    /// It entered by a call: only what C-6 preserves and the message come back, the rest is zero.
    Minimal = 0,
    /// It was interrupted, faulted, is new, or was rewritten: every general register.
    Full = 1,
    /// It is a host whose program was interrupted, or entered fully: every general register, from its current
    /// context (C-25, C-28).
    Program = 2,
}

/// What a thread that is [`ThreadState::BlockedOnSend`] does once somebody receives, bits of [`Tcb::send_flags`].
pub mod send_flag {
    /// It waits for an answer.
    pub const CALL: u64 = 1;
    /// The receiver may answer.
    pub const GRANT_REPLY: u64 = 2;
    /// It may transfer capabilities; the bit that the hot path takes from an Endpoint's tag.
    pub const GRANT: u64 = abi::Rights::GRANT.raw();
    /// The message is the thread's pending fault.
    pub const FAULT: u64 = 8;
    /// A receiver without a scheduling context gets the sender's.
    pub const DONATE: u64 = 16;
}

/// Whether a thread's call is the first attempt or goes on after preemption (C-3): [`Tcb::attempt`].
pub mod attempt {
    /// It is the first.
    pub const FIRST: u64 = 0;
    /// It was preempted, and the thread's next call is the same again.
    pub const PREEMPTED: u64 = 1;
    /// It is the same as the call before, which was preempted.
    pub const AGAIN: u64 = 2;
}

/// The capability slots inside a Tcb, in the order in which they lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum TcbSlot {
    /// The capability space's root.
    CSpace = 0,
    /// The address space.
    VSpace = 1,
    /// The Frame of the IPC buffer.
    IpcBuffer = 2,
    /// The endpoint of faults.
    FaultHandler = 3,
    /// The endpoint of timeout faults.
    TimeoutHandler = 4,
    /// The Host whose thread it is. A host's thread has the upper half in `VSpace`.
    Host = 5,
    /// The Host's contexts frame.
    Contexts = 6,
}

/// Slots in a Tcb.
pub const TCB_SLOTS: u64 = 7;

/// Register numbers with a role in the native call.
pub mod register {
    /// In [`super::Tcb::registers`], where `$zero` would lie, is the pc.
    pub const PC: usize = 0;
    /// `$ra`.
    pub const RA: usize = 1;
    /// `$tp`.
    pub const TP: usize = 2;
    /// `$sp`.
    pub const SP: usize = 3;
    /// `$a0`: capability in, badge out.
    pub const A0: usize = 4;
    /// `$a1`: message information.
    pub const A1: usize = 5;
    /// `$a2`: the Reply capability.
    pub const A2: usize = 6;
    /// `$a7`: the operation.
    pub const A7: usize = 11;
    /// `$t0`: destination of the send half of a combined operation.
    pub const T0: usize = 12;
    /// `$t5`, the first of four in which a host's own fault is told.
    pub const T5: usize = 17;
    /// `$fp`.
    pub const FP: usize = 22;
    /// `$s8`.
    pub const S8: usize = 31;
}

/// A thread. Aligned to its size, so that a slot in it leads to it.
#[derive(Clone, Debug)]
#[repr(C, align(1024))]
pub struct Tcb {
    /// Slots that a plain index reaches in the capability space; 0 sends every call to the slow path
    /// (no root, or its guard is not all zero over the bits above the radix).
    pub cspace_size: Cell<u64>,
    /// Address of the root CNode's first slot, where `cspace_size` is not 0.
    pub cspace_base: Cell<u64>,
    /// See [`hot`].
    pub hot: Cell<u64>,
    /// What `hot` is when nothing stands against: the home core's number above [`hot::HOME_SHIFT`].
    pub home: Cell<u64>,
    /// Priority, 0 to 255.
    pub priority: Cell<u64>,
    /// What EUEN is while the thread runs (C-30).
    pub euen: Cell<u64>,
    /// The address space, or none.
    pub vspace: Cell<Option<Ref<VSpace>>>,
    /// The Reply that the thread waits with, and its [`ThreadState`] in the low bits.
    pub state: Cell<u64>,
    /// The scheduling context that it has, its own or donated.
    pub sched_context: Cell<Option<Ref<SchedContext>>>,
    /// The endpoint or notification that it waits at; meaningful in the blocked states only.
    pub blocked_on: Cell<u64>,
    /// Not 0: the bound notification is active, so that ReplyRecv must look (slow path).
    pub notification_pending: Cell<u64>,
    /// [`Exit`] as a word.
    pub exit: Cell<u64>,
    /// PRMD with which the thread runs: 7 for users, 6 for a host, 4 for the idle thread.
    pub prmd: Cell<u64>,
    /// What SetTlsBase set: every call's end loads it into `$tp` (C-6). Apart from `registers`, which has what
    /// `$tp` held when the thread was interrupted: a host may have a program's there.
    pub tls_base: Cell<u64>,

    /// General registers as last saved; index 0 holds the pc. `$tp` is saved only where the thread leaves by
    /// the full exit.
    pub registers: [Cell<u64>; 32],

    /// Highest priority that the thread may give.
    pub max_priority: Cell<u64>,
    /// Neighbours in an endpoint's or notification's queue.
    pub queue_next: Cell<Option<Ref<Tcb>>>,
    /// See `queue_next`.
    pub queue_previous: Cell<Option<Ref<Tcb>>>,
    /// Neighbours in the ready queue; children in the release queue.
    pub sched_next: Cell<Option<Ref<Tcb>>>,
    /// See `sched_next`.
    pub sched_previous: Cell<Option<Ref<Tcb>>>,
    /// In a queue, of the first thread of a priority: the first of the next lower one there.
    pub queue_group: Cell<Option<Ref<Tcb>>>,
    /// In the release queue: see [`crate::scheduler::release_queue`].
    pub release_rank: Cell<u64>,
    /// Which queue it is in: [`crate::scheduler::queue`].
    pub sched_queue: Cell<u64>,
    /// The badge that a blocked send carries.
    pub send_badge: Cell<u64>,
    /// Whether its call is made again: [`attempt`].
    pub attempt: Cell<u64>,
    /// [`send_flag`]s of a blocked send.
    pub send_flags: Cell<u64>,
    /// The bound notification.
    pub notification: Cell<Option<Ref<Notification>>>,
    /// A pending fault: [`abi::fault::Fault`]'s label, 0 for none, and its words.
    pub fault: [Cell<u64>; 5],
    /// The IPC buffer's window address, 0 for none; mirrors [`TcbSlot::IpcBuffer`].
    pub ipc_buffer: Cell<u64>,
    /// 16 bytes for the log.
    pub name: [Cell<u64>; 2],

    /// A host's: why the minimal Enter must not enter ([`crate::object::host::pending`]).
    pub host_pending: Cell<u64>,
    /// A host's: its Host, while that and its contexts are there.
    pub host: Cell<Option<Ref<Host>>>,
    /// A host's: contexts that its Host has, the header counted; 0 for any other thread.
    pub context_count: Cell<u64>,
    /// A host's: its current context, or [`Self::no_context`].
    pub hosted: Cell<Option<Ref<HostedContext>>>,
    /// A host's: the address of its per-core block, in KS2 while it runs (C-13).
    pub host_block: Cell<u64>,
    /// A host's: its entries ([`crate::object::host::entry`]); the first is in KS3 while it runs.
    pub host_entries: [Cell<u64>; 4],
    /// A host's: its upper half.
    pub upper: Cell<Option<Ref<VSpace>>>,
    /// Not 0: what a host's thread stands on is gone, a number of [`abi::fault::host_part`] (C-28).
    pub host_lost: Cell<u64>,

    /// See [`TcbSlot`].
    pub slots: [Slot; 7],

    /// A host's: what stands for the current context where there is none.
    pub no_context: HostedContext,
}

const _: () = assert!(size_of::<Tcb>() == 1024);

/// What the home words of objects are that are at home on `core`.
pub const fn home_word(core: CoreId) -> u64 {
    (core.0 as u64) << hot::HOME_SHIFT
}

impl Tcb {
    /// A thread's core, from its hot word.
    pub fn home_core(&self) -> CoreId {
        CoreId(usize::try_from(self.home.get() >> hot::HOME_SHIFT).unwrap_or(0))
    }

    /// What the thread is doing.
    pub fn thread_state(&self) -> ThreadState {
        ThreadState::from_word(self.state.get())
    }

    /// What it waits for, even when it was suspended meanwhile.
    pub fn wait_state(&self) -> ThreadState {
        ThreadState::from_word(self.state.get() & !ThreadState::STOPPED)
    }

    /// True when it was suspended while it waited.
    pub fn is_stopped(&self) -> bool {
        self.state.get() & ThreadState::STOPPED != 0
    }

    /// The Reply that it waits with.
    pub fn reply(&self) -> Option<Ref<Reply>> {
        Ref::from_raw(self.state.get() & !ThreadState::MASK)
    }

    /// Sets what a thread is doing and the Reply that it waits with, for one that waits nowhere yet.
    pub fn set_state(&self, state: ThreadState, reply: Option<Ref<Reply>>) {
        self.state.set(reply.map_or(0, Ref::raw) | state as u64);
    }

    /// The fault that waits for its handler or for the handler's answer.
    pub fn pending_fault(&self) -> Option<Fault> {
        Fault::from_label(self.fault[0].get())
    }

    /// The register that carries word `index` of a message; `None` for words that lie in the buffer.
    pub fn message_register(&self, index: usize) -> Option<&Cell<u64>> {
        self.registers.get(*REGISTERS.get(index)?)
    }

    /// The registers that carry words 0 to 7, in their order.
    pub fn message_registers(&self) -> impl Iterator<Item = &Cell<u64>> {
        (0..REGISTER_WORDS).filter_map(|index| self.message_register(index))
    }

    /// The message information in `$a1`, as a sender's.
    pub fn message_info(&self) -> MessageInfo {
        MessageInfo::from_sender(self.registers[register::A1].get())
    }
}
