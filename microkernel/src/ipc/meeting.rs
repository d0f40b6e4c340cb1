//! A sender and a receiver have met: may the message go, and what happens when it does.
//!
//! Owns the rules that seL4 leaves to fate. A message goes only if its receiver can then run and its
//! sender can then be told; otherwise the *sender* gets an error and the receiver waits on:
//!
//! - `MessageTooLong`, `NoIpcBuffer`: words past the registers need the buffers of both sides (argument 1:
//!   the sender has none; 3: the receiver has none). Nothing is ever cut off (CASES 5).
//! - `NoSchedContext`: the receiver is passive and the send brings no scheduling context. So no message
//!   strands a passive server where calls no longer reach it.
//! - `InvalidState`: a Call met a receiver without a Reply, which could never answer.

use abi::Error;
use abi::message::{MAX_WORDS, REGISTER_WORDS};

use crate::arch::Machine;
use crate::failure::Failure;
use crate::ipc::{fault, reply, succeed, transfer};
use crate::kernel::Kernel;
use crate::object::endpoint::Endpoint;
use crate::object::store::Ref;
use crate::object::thread::{Tcb, send_flag, state};
use crate::object::{self, sched_context};

/// A message that is about to be sent, or waits to be.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    /// Who sends; its registers and buffer have the message.
    pub sender: Ref<Tcb>,
    /// What the receiver sees of the capability used.
    pub badge: u64,
    /// [`send_flag`]s.
    pub flags: u64,
}

impl Sending {
    /// The send that a blocked sender waits with.
    pub fn of_blocked<M: Machine>(k: &Kernel<M>, sender: Ref<Tcb>) -> Self {
        let tcb = k.get(sender);
        Self { sender, badge: tcb.send_badge.get(), flags: tcb.send_flags.get() }
    }

    /// True when one of the flags is set.
    pub const fn has(&self, flags: u64) -> bool {
        self.flags & flags != 0
    }
}

/// A thread that receives, and the Reply that takes a caller.
#[derive(Clone, Copy, Debug)]
pub struct Receiving {
    /// Who receives.
    pub receiver: Ref<Tcb>,
    /// With what; it stands for nobody else.
    pub reply: Option<Ref<object::reply::Reply>>,
}

/// Whether the message may go; changes nothing.
pub fn check<M: Machine>(k: &Kernel<M>, sending: &Sending, receiving: &Receiving) -> Result<(), Failure> {
    if !sending.has(send_flag::FAULT) {
        check_length(k, sending.sender, receiving.receiver)?;
    }
    if sending.has(send_flag::CALL) && receiving.reply.is_none() {
        return Err(Error::InvalidState.into());
    }
    let receives = k.get(receiving.receiver).sched_context.get();
    let takes_donation =
        sending.has(send_flag::DONATE) && (receiving.reply.is_some() || !sending.has(send_flag::FAULT));
    let sends = k.get(sending.sender).sched_context.get().filter(|_| takes_donation);
    receives.or(sends).map(|_| ()).ok_or(Error::NoSchedContext.into())
}

/// Whether both sides have room for the words; the length is looked at again whenever a message goes, since
/// a sender's registers may have been rewritten.
pub fn check_length<M: Machine>(k: &Kernel<M>, sender: Ref<Tcb>, receiver: Ref<Tcb>) -> Result<(), Failure> {
    check_own_length(k, sender)?;
    let is_long = k.get(sender).message_info().length() > REGISTER_WORDS;
    if is_long && k.get(receiver).ipc_buffer.get() == 0 {
        return Err(Failure::about(Error::NoIpcBuffer, 3, 0));
    }
    Ok(())
}

/// Whether a message can be sent as far as the sender alone is concerned.
pub fn check_own_length<M: Machine>(k: &Kernel<M>, sender: Ref<Tcb>) -> Result<(), Failure> {
    let tcb = k.get(sender);
    let info = tcb.message_info();
    if info.length() > MAX_WORDS {
        return Err(Failure::about(Error::MessageTooLong, 1, MAX_WORDS as u64));
    }
    let needs_buffer = info.length() > REGISTER_WORDS || info.caps() > 0;
    if needs_buffer && tcb.ipc_buffer.get() == 0 {
        return Err(Failure::about(Error::NoIpcBuffer, 1, 0));
    }
    Ok(())
}

/// The message goes, as [`check`] allows: both threads are in no queue, and the receiver goes on with it.
///
/// The sender waits for the answer of a Call; any other sender's call ends.
pub fn meet<M: Machine>(
    k: &mut Kernel<M>,
    endpoint: Ref<Endpoint>,
    sending: &Sending,
    receiving: &Receiving,
) {
    let Receiving { receiver, reply } = *receiving;
    let sender = sending.sender;
    transfer::message(k, endpoint, sending, receiver);
    match reply {
        Some(reply) if sending.has(send_flag::CALL | send_flag::FAULT) => {
            object::reply::push(k, reply, sender, sending.flags, receiver);
        }
        None if sending.has(send_flag::FAULT) => fault::abandon(k, sender, "its handler does not answer"),
        _ => {
            if let Some(reply) = reply {
                reply::release(k, reply);
            }
            let donated =
                k.get(sender).sched_context.get().filter(|_| {
                    sending.has(send_flag::DONATE) && k.get(receiver).sched_context.get().is_none()
                });
            if let Some(context) = donated {
                sched_context::donate(k, context, receiver);
            }
            succeed(k, sender);
            state::wake(k, sender);
        }
    }
    state::wake(k, receiver);
}
