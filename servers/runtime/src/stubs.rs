//! Typed capabilities: a type for each kernel object, a method for each row of the table of invocations.
//!
//! The methods are expanded from `abi::for_each_invocation!`, arguments in the order of the row, capabilities
//! first. They are not inlined: they are what real clients call, and their cost is counted as such (C-7). The
//! operations on endpoints, notifications and replies are written out below; `#[inline(always)]` ones are
//! marked `_inline` and cost what the trap costs.

#![expect(clippy::too_many_arguments, reason = "as many as the rows of the table have")]

use abi::{CPtr, Error, MessageInfo, Method, Syscall};
use pastey::paste;

use crate::error::InvocationError;
use crate::message::{Buffer, info};
use crate::trap::{Arguments, Received, Words, trap, trap_to};

macro_rules! define_capabilities {
    ($($name:ident = $number:literal, $size:ident $(($($arg:literal),*))?, $doc:literal;)*) => {
        $(
            #[doc = concat!("Names a capability that is believed to be of this type: ", $doc)]
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            #[repr(transparent)]
            pub struct $name(pub CPtr);

            impl From<$name> for CPtr {
                fn from(capability: $name) -> Self {
                    capability.0
                }
            }
        )*
    };
}
abi::for_each_object_type!(define_capabilities);

macro_rules! answer_type {
    () => {
        ()
    };
    ($value:ident) => {
        u64
    };
    ($first:ident $second:ident) => {
        (u64, u64)
    };
}

macro_rules! answer_value {
    ($words:ident) => {{
        let _ = $words;
        Ok(())
    }};
    ($words:ident $value:ident) => {{
        let [$value, ..] = $words;
        Ok($value)
    }};
    ($words:ident $first:ident $second:ident) => {{
        let [$first, $second, ..] = $words;
        Ok(($first, $second))
    }};
}

macro_rules! define_method {
    // Only a name: Send on a Reply is an operation of its own ([`Reply::send`] below).
    (ReplySend $($rest:tt)*) => {};
    // Their words are as many as the registers: see `crate::registers`.
    (TcbReadRegisters $($rest:tt)*) => {};
    (TcbWriteRegisters $($rest:tt)*) => {};
    // A keyword, and an abbreviation.
    (CNodeMove $object:ident $method:ident $($rest:tt)*) => {
        define_named_method! { CNodeMove $object move_capability $($rest)* }
    };
    (TcbSetMCPriority $object:ident $method:ident $($rest:tt)*) => {
        define_named_method! { TcbSetMCPriority $object set_mc_priority $($rest)* }
    };
    ($row:ident $object:ident $method:ident $($rest:tt)*) => {
        paste! { define_named_method! { $row $object [<$method:snake>] $($rest)* } }
    };
}

macro_rules! define_named_method {
    ($row:ident $object:ident $method:ident ($($cap:ident)*) ($($word:ident)*) ($($value:ident)*) $doc:literal) => {
        impl $object {
            #[doc = $doc]
            ///
            /// # Errors
            /// What the row of `abi::invocation` lists, and what every invocation may answer.
            #[inline(never)]
            pub fn $method(
                self,
                $($cap: impl Into<CPtr>,)*
                $($word: u64,)*
            ) -> Result<answer_type!($($value)*), InvocationError> {
                let words = invoke(self.0, Method::$row, &[$($cap.into()),*], &[$($word),*])?;
                answer_value!(words $($value)*)
            }
        }
    };
}

macro_rules! define_methods {
    ($($name:ident: $object:ident.$method:ident = $number:literal, $state:ident, caps($($cap:ident),*), words($($word:ident),*) -> ($($value:ident),*), [$($error:ident),*], $doc:literal;)*) => {
        $(define_method! { $name $object $method ($($cap)*) ($($word)*) ($($value)*) $doc })*
    };
}
abi::for_each_invocation!(define_methods);

/// Invokes a method of a kernel object.
///
/// # Errors
/// What the kernel refused; NoIpcBuffer when capabilities are to be passed by a thread without one;
/// InvalidCapability when it was no kernel object that answered.
pub fn invoke(target: CPtr, method: Method, caps: &[CPtr], words: &[u64]) -> Result<Words, InvocationError> {
    let mut arguments = Arguments::of(target);
    for (place, word) in arguments.words.iter_mut().zip(words) {
        *place = *word;
    }
    let caps_count = pass_capabilities(caps)?;
    arguments.info = info(method.label(), words.len()).with_caps(caps_count);
    let answer = trap(Syscall::Call, arguments).accepted()?;
    if answer.info.is_from_kernel() { Ok(answer.words) } else { Err(Error::InvalidCapability.into()) }
}

/// Puts capabilities into the IPC buffer for the next message and says how many they are.
///
/// # Errors
/// NoIpcBuffer in a thread without one.
pub fn pass_capabilities(caps: &[CPtr]) -> Result<u8, InvocationError> {
    if caps.is_empty() {
        return Ok(0);
    }
    let buffer = Buffer::of_thread().ok_or(Error::NoIpcBuffer)?;
    for (index, capability) in caps.iter().enumerate() {
        buffer.set_capability(index, *capability);
    }
    Ok(u8::try_from(caps.len()).unwrap_or(u8::MAX))
}

impl Endpoint {
    /// Sends a message of register words and waits for the answer.
    #[inline(always)]
    pub fn call_inline(self, info: MessageInfo, words: Words) -> Received {
        trap(Syscall::Call, Arguments { info, words, ..Arguments::of(self.0) })
    }

    /// The same as a function of its own: what a typed client calls.
    #[inline(never)]
    pub fn call<const N: usize>(self, label: u64, words: [u64; N]) -> Result<[u64; N], InvocationError> {
        let answer = self.call_inline(info(label, N), pad(words)).accepted()?;
        Ok(cut(answer.words))
    }

    /// Sends, and waits until somebody has received.
    #[inline(never)]
    pub fn send(self, info: MessageInfo, words: Words) -> Result<(), InvocationError> {
        trap(Syscall::Send, Arguments { info, words, ..Arguments::of(self.0) }).accepted().map(drop)
    }

    /// Sends if somebody is waiting to receive, else does nothing.
    #[inline(never)]
    pub fn nb_send(self, info: MessageInfo, words: Words) -> Result<(), InvocationError> {
        trap(Syscall::NBSend, Arguments { info, words, ..Arguments::of(self.0) }).accepted().map(drop)
    }

    /// Receives; `reply` takes a caller that wants an answer.
    #[inline(always)]
    pub fn recv(self, reply: Reply) -> Received {
        trap(Syscall::Recv, Arguments { reply: reply.0, ..Arguments::of(self.0) })
    }

    /// Receives if somebody is waiting to send, else answers with badge 0.
    #[inline(always)]
    pub fn nb_recv(self, reply: Reply) -> Received {
        trap(Syscall::NBRecv, Arguments { reply: reply.0, ..Arguments::of(self.0) })
    }

    /// Receives without a Reply: a caller cannot be answered.
    #[inline(always)]
    pub fn wait(self) -> Received {
        trap(Syscall::Wait, Arguments::of(self.0))
    }

    /// Answers through `reply`, then receives with it.
    #[inline(always)]
    pub fn reply_recv_inline(self, reply: Reply, info: MessageInfo, words: Words) -> Received {
        trap(Syscall::ReplyRecv, Arguments { reply: reply.0, info, words, ..Arguments::of(self.0) })
    }

    /// The same as a function of its own: what a typed server calls.
    #[inline(never)]
    pub fn reply_recv<const N: usize>(
        self,
        reply: Reply,
        label: u64,
        words: [u64; N],
    ) -> (MessageInfo, u64, [u64; N]) {
        let received = self.reply_recv_inline(reply, info(label, N), pad(words));
        (received.info, received.badge, cut(received.words))
    }

    /// NBSend to `destination`, then Recv here, in one call.
    #[inline(never)]
    pub fn nb_send_recv(self, destination: CPtr, reply: Reply, info: MessageInfo, words: Words) -> Received {
        trap_to(
            destination,
            Syscall::NBSendRecv,
            Arguments { reply: reply.0, info, words, ..Arguments::of(self.0) },
        )
    }

    /// NBSend to `destination`, then Wait here, in one call.
    #[inline(never)]
    pub fn nb_send_wait(self, destination: CPtr, info: MessageInfo, words: Words) -> Received {
        trap_to(destination, Syscall::NBSendWait, Arguments { info, words, ..Arguments::of(self.0) })
    }
}

impl Reply {
    /// Answers the caller, and keeps running.
    #[inline(never)]
    pub fn send(self, info: MessageInfo, words: Words) -> Result<(), InvocationError> {
        trap(Syscall::Send, Arguments { info, words, ..Arguments::of(self.0) }).accepted().map(drop)
    }
}

impl Notification {
    /// Adds the capability's badge to the notification, and wakes whoever waits.
    #[inline(never)]
    pub fn signal(self) -> Result<(), InvocationError> {
        trap(Syscall::Send, Arguments::of(self.0)).accepted().map(drop)
    }

    /// Waits for a signal; answers the badges since the last time.
    #[inline(never)]
    pub fn wait(self) -> Result<u64, InvocationError> {
        trap(Syscall::Wait, Arguments::of(self.0)).accepted().map(|received| received.badge)
    }

    /// The badges since the last time, 0 when there was no signal.
    #[inline(never)]
    pub fn poll(self) -> Result<u64, InvocationError> {
        trap(Syscall::Poll, Arguments::of(self.0)).accepted().map(|received| received.badge)
    }
}

/// Gives up the processor until the scheduling context is due again.
pub fn yield_now() {
    trap(Syscall::Yield, Arguments::of(CPtr::NULL));
}

#[inline(always)]
fn pad<const N: usize>(words: [u64; N]) -> Words {
    core::array::from_fn(|index| words.get(index).copied().unwrap_or(0))
}

#[inline(always)]
fn cut<const N: usize>(words: Words) -> [u64; N] {
    core::array::from_fn(|index| words.get(index).copied().unwrap_or(0))
}
