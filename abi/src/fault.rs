//! Faults as messages (C-4): what a handler receives, and what it may answer.
//!
//! The label is the fault's number; the answer's label 0 resumes the thread, any other leaves it
//! stopped. An answer to [`Fault::UserException`] of length 1 sets the pc.

/// Calls `$callback!` with every fault: `Name = label, words, "meaning; the words";`.
#[macro_export]
macro_rules! for_each_fault {
    ($callback:ident) => {
        $callback! {
            Page = 1, 4, "A page fault. Words: pc, address, cause (ESTAT.Ecode), instruction (BADI).";
            UserException = 2, 4, "Any other exception. Words: pc, address, cause (Ecode | EsubCode << 6), instruction.";
            Timeout = 3, 2, "The budget is used up. Words: data of the scheduling context, consumed time.";
            HostLost = 4, 2, "A host's thread cannot go on: something that it stands on was deleted (C-28). Words: pc, or 0 where a program ran; what is gone, a number of `host_part`.";
        }
    };
}

/// What a host's thread can lose, in word 1 of [`Fault::HostLost`].
pub mod host_part {
    /// The Host object.
    pub const HOST: u64 = 1;
    /// The contexts frame.
    pub const CONTEXTS: u64 = 2;
    /// The upper half.
    pub const UPPER_HALF: u64 = 3;
}

macro_rules! define_faults {
    ($($name:ident = $number:literal, $words:literal, $doc:literal;)*) => {
        /// A kind of fault; its number is the message's label.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u64)]
        pub enum Fault { $(#[doc = $doc] $name = $number,)* }

        impl Fault {
            /// The fault that a label names.
            pub const fn from_label(label: u64) -> Option<Self> {
                match label { $($number => Some(Self::$name),)* _ => None }
            }

            /// The label of the fault's message.
            pub const fn label(self) -> u64 {
                match self { $(Self::$name => $number,)* }
            }

            /// Words in the fault's message.
            pub const fn words(self) -> u8 {
                match self { $(Self::$name => $words,)* }
            }
        }
    };
}
for_each_fault!(define_faults);
