//! Replies: each stands for one caller, and they stack on the scheduling context that was donated.

use core::cell::Cell;

use crate::object::sched_context::SchedContext;
use crate::object::store::Ref;
use crate::object::thread::Tcb;

/// A reply object.
///
/// Free: all fields empty. A thread receives with it: `thread` is that receiver (whose state is
/// BlockedOnReceive). A caller waits: `thread` is the caller (BlockedOnReply), and when the call donated a
/// scheduling context the Reply is in that context's stack: the newest has `sched_context` set, the others
/// have `next`.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Reply {
    /// The receiver that will use it or the caller that waits.
    pub thread: Cell<Option<Ref<Tcb>>>,
    /// The scheduling context that an answer gives back, on the top of its stack only.
    pub sched_context: Cell<Option<Ref<SchedContext>>>,
    /// The next older Reply of the stack.
    pub previous: Cell<Option<Ref<Reply>>>,
    /// The next newer Reply of the stack; none on top.
    pub next: Cell<Option<Ref<Reply>>>,
    /// 1: the answer may transfer capabilities.
    pub can_grant: Cell<u64>,
    /// Home core above [`super::thread::hot::HOME_SHIFT`].
    pub home: Cell<u64>,
    /// Unused.
    pub reserved: [Cell<u64>; 2],
}

const _: () = assert!(size_of::<Reply>() == 64);
