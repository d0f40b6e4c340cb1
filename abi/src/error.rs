//! Named errors of calls and invocations (C-2): the label of the kernel's answer.
//!
//! Word 0 of the answer says which argument was wrong (its index in the method's row, capabilities
//! first), word 1 how many bits of a lookup were left, or the limit that was passed.

/// Calls `$callback!` with every error: `Name = number, "what it means";`.
#[macro_export]
macro_rules! for_each_error {
    ($callback:ident) => {
        $callback! {
            InvalidCapability = 1, "The capability pointer leads to no capability, or to one of another type.";
            LookupFailed = 2, "The lookup met an empty slot or something that is no CNode; word 1: bits left.";
            GuardMismatch = 3, "A CNode's guard differs from the address; word 1: bits left.";
            DepthMismatch = 4, "The lookup ended with bits left, or a CNode resolves more than are left; word 1: bits left.";
            IllegalOperation = 5, "The object has no such method, or the call does not apply to it.";
            MissingRight = 6, "The capability lacks a right that the operation needs.";
            InvalidArgument = 7, "An argument has a value that is never valid; word 0: which.";
            RangeError = 8, "An argument is outside what this object allows; word 1: the limit.";
            AlignmentError = 9, "An address or offset is not aligned as it must be.";
            SlotOccupied = 10, "The destination slot already holds a capability.";
            SlotEmpty = 11, "The source slot holds no capability.";
            NotEnoughMemory = 12, "The Untyped has too little left; word 1: bytes left.";
            RevokeFirst = 13, "The object is in use or has children; revoke or unbind it first.";
            TruncatedMessage = 14, "Fewer words or capabilities than the method needs; word 1: how many it needs.";
            MessageTooLong = 15, "The message is longer than 120 words, or longer than the buffer given.";
            NoIpcBuffer = 16, "The message needs an IPC buffer and the thread has none.";
            NotImplemented = 17, "The operation is in the table and not built yet.";
            InvalidState = 18, "The object is in a state in which this cannot be done.";
            AlreadyBound = 19, "One of the two is already bound to something.";
            NotBound = 20, "Nothing is bound that could be taken away.";
            BoundToOther = 21, "The notification is bound to another thread, which alone may wait for it.";
            AlreadyMapped = 22, "The frame or table is mapped, or something is mapped there.";
            NotMapped = 23, "The frame or table is not mapped.";
            NoPageTable = 24, "A page table is missing on the way; word 1: bits that its entry would cover.";
            NoAsid = 25, "The VSpace has no ASID from a pool, or the pool is full.";
            UnknownSyscall = 26, "`$a7` names no operation.";
            DeletedWhileWaiting = 27, "What the thread waited on was deleted, or the wait was cancelled.";
            ReplyInUse = 28, "The Reply already stands for a caller.";
            NoSchedContext = 29, "The thread has no scheduling context, and this needs one.";
            Busy = 30, "In use by another core, thread or request; try again.";
            NeedsSync = 31, "The context's vector state lives on another core, which must bring it to memory first (C-30).";
            NeedTable = 32, "The VSpace's stock has too few page tables; GiveTables gives it more (C-41).";
        }
    };
}

macro_rules! define_errors {
    ($($name:ident = $number:literal, $doc:literal;)*) => {
        /// Why the kernel refused; the number is the label of its answer.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u64)]
        pub enum Error { $(#[doc = $doc] $name = $number,)* }

        impl Error {
            /// Every error, in the order of the table.
            pub const ALL: &'static [Error] = &[$(Error::$name),*];

            /// The error that a label names; 0 is success and no error.
            pub const fn from_label(label: u64) -> Option<Self> {
                match label { $($number => Some(Self::$name),)* _ => None }
            }

            /// The label of the kernel's answer.
            pub const fn label(self) -> u64 {
                match self { $(Self::$name => $number,)* }
            }

            /// One sentence for people.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => $doc,)* }
            }
        }
    };
}
for_each_error!(define_errors);

impl core::fmt::Display for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{self:?}: {}", self.meaning())
    }
}

impl core::error::Error for Error {}
