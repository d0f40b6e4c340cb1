//! THE table of traps: the operations that `$a7` names in `syscall 0` (C-6).
//!
//! | register | in | out |
//! | --- | --- | --- |
//! | `$a7` | operation | lost |
//! | `$a0` | capability called, sent to or received from | badge of the sender, 0 after a Call |
//! | `$a1` | [`crate::MessageInfo`] | the same of the message received, or the kernel's result |
//! | `$a2` | Reply capability to receive with | lost |
//! | `$t0` | destination of the send half of NBSendRecv and NBSendWait | lost |
//! | [`crate::message::REGISTERS`] | message words 0 to 7 | the same |
//!
//! Preserved: `$sp`, `$fp`, `$s8`, and `$tp` as SetTlsBase set it. Everything else is lost.

/// Calls `$callback!` with every row of the table: `Name = number, "what it does";`.
#[macro_export]
macro_rules! for_each_syscall {
    ($callback:ident) => {
        $callback! {
            Call = 1, "Sends to an endpoint or invokes a kernel object, and waits for the answer.";
            ReplyRecv = 2, "Answers through the Reply capability in `$a2`, then receives with it.";
            Send = 3, "Sends, and waits until somebody has received; on a notification, signals.";
            NBSend = 4, "Sends if somebody is waiting to receive, else does nothing.";
            Recv = 5, "Receives; a Reply capability in `$a2` takes a caller that wants an answer.";
            NBRecv = 6, "Receives if somebody is waiting to send, else answers with badge 0.";
            NBSendRecv = 7, "NBSend to `$t0`, then Recv, in one call.";
            NBSendWait = 8, "NBSend to `$t0`, then Wait, in one call.";
            Wait = 9, "Receives without a Reply capability; on a notification, waits for a signal.";
            Poll = 10, "Wait that answers at once, with badge 0 when nothing was pending.";
            Yield = 11, "Gives up the processor until the scheduling context is due again.";
            Switch = 12, "Host only (C-26): makes the context of number `$a0` current.";
            EnterFull = 13, "Host only (C-25): enters the current context with every register; `$a0` has flags.";
            SyncVector = 14, "Host only (C-30): brings the vector state of the context of number `$a0` to its memory.";
        }
    };
}

macro_rules! define_syscalls {
    ($($name:ident = $number:literal, $doc:literal;)*) => {
        /// An operation of `syscall 0`, as `$a7` names it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u64)]
        pub enum Syscall { $(#[doc = $doc] $name = $number,)* }

        impl Syscall {
            /// Every operation, in the order of the table.
            pub const ALL: &'static [Syscall] = &[$(Syscall::$name),*];

            /// The operation that `$a7` = `raw` names, if there is one.
            pub const fn from_raw(raw: u64) -> Option<Self> {
                match raw { $($number => Some(Self::$name),)* _ => None }
            }

            /// The operation's number in `$a7`.
            pub const fn raw(self) -> u64 {
                match self { $(Self::$name => $number,)* }
            }
        }
    };
}
for_each_syscall!(define_syscalls);
