//! Calls: what each operation does with the capabilities that its registers name (`abi::syscall`).
//!
//! Everything that an operation needs is decoded before anything is changed (C-2): the second half of a
//! combined operation before the first is done. In a refusal the argument is the register's number after
//! `$a0`; 3 stands for `$t0`.

use core::cell::Cell;

use abi::{CPtr, Error, MessageInfo, Rights, Syscall};

use super::invoke::{self, Answer, Target};
use crate::address::WindowAddr;
use crate::arch::Machine;
use crate::capability::cap::{Cap, Slot};
use crate::capability::space;
use crate::failure::Failure;
use crate::ipc::meeting::{self, Receiving, Sending};
use crate::ipc::receive::receive;
use crate::ipc::send::{Patience, send};
use crate::ipc::{answer, reply, succeed};
use crate::kernel::Kernel;
use crate::object::endpoint::Endpoint;
use crate::object::host;
use crate::object::notification::{self, Notification};
use crate::object::reply::Reply;
use crate::object::store::Ref;
use crate::object::thread::{Tcb, register, send_flag};

/// Carries out an operation: its end is written to the thread's registers, or the thread waits.
///
/// # Errors
///
/// As the operation's parts say; nothing was changed.
pub fn dispatch<M: Machine>(
    k: &mut Kernel<M>,
    thread: Ref<Tcb>,
    operation: Syscall,
    name: CPtr,
) -> Result<(), Failure> {
    match operation {
        Syscall::Call => call(k, thread, name),
        Syscall::Send => send_once(k, thread, name, Patience::Wait),
        Syscall::NBSend => send_once(k, thread, name, Patience::Never),
        Syscall::Recv => receive_once(k, thread, name, WithReply::Yes, Patience::Wait),
        Syscall::NBRecv => receive_once(k, thread, name, WithReply::Yes, Patience::Never),
        Syscall::Wait => receive_once(k, thread, name, WithReply::No, Patience::Wait),
        Syscall::Poll => receive_once(k, thread, name, WithReply::No, Patience::Never),
        Syscall::ReplyRecv => reply_receive(k, thread, name),
        Syscall::NBSendRecv => send_receive(k, thread, name, WithReply::Yes),
        Syscall::NBSendWait => send_receive(k, thread, name, WithReply::No),
        Syscall::Yield => give_up_processor(k, thread),
        Syscall::Switch => host::call::switch(k, thread),
        Syscall::EnterFull => host::call::enter_full(k, thread),
        Syscall::SyncVector => host::call::sync_vector(k, thread),
    }
}

/// Whether a receive takes the Reply capability in `$a2`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WithReply {
    Yes,
    No,
}

/// The capability that register argument `argument` names, and its slot; never an empty one.
fn lookup<M: Machine>(
    k: &Kernel<M>,
    thread: Ref<Tcb>,
    name: CPtr,
    argument: u64,
) -> Result<(Ref<Slot>, Cap), Failure> {
    let slot = space::lookup(k, thread, name).map_err(|failure| failure.of_argument(argument))?;
    match k.get(slot).cap() {
        Cap::Null | Cap::Zombie { .. } => Err(Failure::about(Error::InvalidCapability, argument, 0)),
        cap => Ok((slot, cap)),
    }
}

fn check_right(rights: Rights, needed: Rights, argument: u64) -> Result<(), Failure> {
    if rights.contains(needed) {
        Ok(())
    } else {
        Err(Failure::about(Error::MissingRight, argument, needed.raw()))
    }
}

/// Call: to an endpoint, or an invocation of a kernel object.
fn call<M: Machine>(k: &mut Kernel<M>, thread: Ref<Tcb>, name: CPtr) -> Result<(), Failure> {
    let (slot, cap) = lookup(k, thread, name, 0)?;
    match cap {
        Cap::Endpoint { endpoint, badge, rights } => {
            check_right(rights, Rights::WRITE, 0)?;
            if !rights.contains(Rights::GRANT) {
                check_right(rights, Rights::GRANT_REPLY, 0)?;
            }
            meeting::check_own_length(k, thread)?;
            let flags = send_flag::CALL | send_flag::DONATE | grant(rights);
            send(k, endpoint, &Sending { sender: thread, badge, flags }, Patience::Wait)
        }
        Cap::Notification { .. } | Cap::Reply { .. } => Err(Error::IllegalOperation.into()),
        _ => invoke_object(k, &Target { thread, slot, cap }),
    }
}

const fn grant(rights: Rights) -> u64 {
    if rights.contains(Rights::GRANT) { send_flag::GRANT } else { 0 }
}

fn invoke_object<M: Machine>(k: &mut Kernel<M>, target: &Target) -> Result<(), Failure> {
    let thread = target.thread;
    let info = k.get(thread).message_info();
    match invoke::invoke_target(k, target, info)? {
        Answer::Words(words) => answer_words(k, thread, &words),
        Answer::Registers { thread: of, first, count } => answer_registers(k, thread, of, first, count)?,
    }
    Ok(())
}

/// Ends an invocation with words that registers carry.
fn answer_words<M: Machine>(k: &Kernel<M>, thread: Ref<Tcb>, words: &[u64]) {
    let length = u8::try_from(words.len()).unwrap_or(u8::MAX);
    answer(k, thread, 0, MessageInfo::from_kernel(0, length), words);
}

/// ReadRegisters: `count` registers of another thread, past the first few in the buffer.
#[inline(never)]
fn answer_registers<M: Machine>(
    k: &Kernel<M>,
    thread: Ref<Tcb>,
    of: Ref<Tcb>,
    first: usize,
    count: usize,
) -> Result<(), Failure> {
    let values = k.get(of).registers.each_ref().map(Cell::get);
    let values = values.get(first..first + count).unwrap_or_default();
    let (in_registers, in_buffer) =
        values.split_at_checked(abi::message::REGISTER_WORDS).unwrap_or((values, &[]));
    let buffer = k.get(thread).ipc_buffer.get();
    if !in_buffer.is_empty() && buffer == 0 {
        return Err(Error::NoIpcBuffer.into());
    }
    let start = WindowAddr(buffer).offset(8 * abi::message::REGISTER_WORDS as u64);
    for (index, word) in (0..).zip(in_buffer) {
        k.machine.store(start.offset(8 * index), *word);
    }
    let length = u8::try_from(values.len()).unwrap_or(u8::MAX);
    answer(k, thread, 0, MessageInfo::from_kernel(0, length), in_registers);
    Ok(())
}

/// Where a message goes, decoded.
enum Destination {
    Endpoint(Ref<Endpoint>, Sending),
    Notification(Ref<Notification>, u64),
    /// A Reply, with the caller that waits for it.
    Reply(Ref<Reply>, Rights, Ref<Tcb>),
}

fn destination<M: Machine>(
    k: &Kernel<M>,
    thread: Ref<Tcb>,
    name: CPtr,
    argument: u64,
) -> Result<Destination, Failure> {
    match lookup(k, thread, name, argument)?.1 {
        Cap::Endpoint { endpoint, badge, rights } => {
            check_right(rights, Rights::WRITE, argument)?;
            meeting::check_own_length(k, thread)?;
            Ok(Destination::Endpoint(endpoint, Sending { sender: thread, badge, flags: grant(rights) }))
        }
        Cap::Notification { notification, badge, rights } => {
            check_right(rights, Rights::WRITE, argument)?;
            Ok(Destination::Notification(notification, badge))
        }
        Cap::Reply { reply, rights } => {
            Ok(Destination::Reply(reply, rights, reply::check(k, thread, reply)?))
        }
        _ => Err(Failure::about(Error::IllegalOperation, argument, 0)),
    }
}

/// Sends, signals or answers. The thread's own call ends with success where nothing else is said.
fn deliver<M: Machine>(
    k: &mut Kernel<M>,
    thread: Ref<Tcb>,
    destination: &Destination,
    patience: Patience,
) -> Result<(), Failure> {
    match *destination {
        Destination::Endpoint(endpoint, ref sending) => send(k, endpoint, sending, patience)?,
        Destination::Notification(notification, badge) => {
            notification::signal(k, notification, badge);
            succeed(k, thread);
        }
        Destination::Reply(reply, rights, caller) => {
            reply::answer(k, thread, reply, rights, caller);
            succeed(k, thread);
        }
    }
    Ok(())
}

fn send_once<M: Machine>(
    k: &mut Kernel<M>,
    thread: Ref<Tcb>,
    name: CPtr,
    patience: Patience,
) -> Result<(), Failure> {
    let destination = destination(k, thread, name, 0)?;
    deliver(k, thread, &destination, patience)
}

/// What is received from, decoded.
enum Source {
    Endpoint(Ref<Endpoint>, Receiving),
    Notification(Ref<Notification>),
}

fn source<M: Machine>(
    k: &Kernel<M>,
    thread: Ref<Tcb>,
    name: CPtr,
    with_reply: WithReply,
) -> Result<Source, Failure> {
    let reply = match (with_reply, CPtr(k.get(thread).registers[register::A2].get())) {
        (WithReply::No, _) | (WithReply::Yes, CPtr::NULL) => None,
        (WithReply::Yes, name) => match lookup(k, thread, name, 2)?.1 {
            Cap::Reply { reply, .. } => Some(reply),
            _ => return Err(Failure::about(Error::InvalidCapability, 2, 0)),
        },
    };
    match lookup(k, thread, name, 0)?.1 {
        Cap::Endpoint { endpoint, rights, .. } => {
            check_right(rights, Rights::READ, 0)?;
            Ok(Source::Endpoint(endpoint, Receiving { receiver: thread, reply }))
        }
        Cap::Notification { notification, rights, .. } => {
            check_right(rights, Rights::READ, 0)?;
            notification::check_wait(k, thread, notification)?;
            Ok(Source::Notification(notification))
        }
        _ => Err(Error::IllegalOperation.into()),
    }
}

impl Source {
    fn receive<M: Machine>(
        &self,
        k: &mut Kernel<M>,
        thread: Ref<Tcb>,
        patience: Patience,
    ) -> Result<(), Failure> {
        match self {
            Self::Endpoint(endpoint, receiving) => receive(k, *endpoint, receiving, patience),
            Self::Notification(notification) => notification::wait(k, thread, *notification, patience),
        }
    }

    /// The Reply must be free by the time it is received with; the caller of a ReplyRecv is answered first.
    fn check_reply<M: Machine>(&self, k: &Kernel<M>, answered: Option<Ref<Reply>>) -> Result<(), Failure> {
        match self {
            Self::Endpoint(_, Receiving { reply: Some(reply), .. })
                if answered != Some(*reply) && k.get(*reply).thread.get().is_some() =>
            {
                Err(Failure::about(Error::ReplyInUse, 2, 0))
            }
            _ => Ok(()),
        }
    }
}

fn receive_once<M: Machine>(
    k: &mut Kernel<M>,
    thread: Ref<Tcb>,
    name: CPtr,
    with_reply: WithReply,
    patience: Patience,
) -> Result<(), Failure> {
    let source = source(k, thread, name, with_reply)?;
    source.check_reply(k, None)?;
    source.receive(k, thread, patience)
}

/// ReplyRecv: a caller that has gone away meanwhile is no error, the server goes on receiving.
fn reply_receive<M: Machine>(k: &mut Kernel<M>, thread: Ref<Tcb>, name: CPtr) -> Result<(), Failure> {
    let reply_name = CPtr(k.get(thread).registers[register::A2].get());
    let Cap::Reply { reply, rights } = lookup(k, thread, reply_name, 2)?.1 else {
        return Err(Failure::about(Error::InvalidCapability, 2, 0));
    };
    let source = source(k, thread, name, WithReply::Yes)?;
    let caller = match crate::object::reply::caller(k, reply) {
        Some(_) => Some(reply::check(k, thread, reply)?),
        None => None,
    };
    source.check_reply(k, caller.map(|_| reply))?;
    if let Some(caller) = caller {
        reply::answer(k, thread, reply, rights, caller);
    }
    receive_second(k, thread, name, &source, Syscall::Recv)
}

/// NBSendRecv and NBSendWait: the send donates the thread's scheduling context to a passive receiver.
fn send_receive<M: Machine>(
    k: &mut Kernel<M>,
    thread: Ref<Tcb>,
    name: CPtr,
    with_reply: WithReply,
) -> Result<(), Failure> {
    let send_to = CPtr(k.get(thread).registers[register::T0].get());
    let mut destination = destination(k, thread, send_to, 3)?;
    if let Destination::Endpoint(_, sending) = &mut destination {
        sending.flags |= send_flag::DONATE;
    }
    let source = source(k, thread, name, with_reply)?;
    let answered = match destination {
        Destination::Reply(reply, ..) => Some(reply),
        _ => None,
    };
    source.check_reply(k, answered)?;
    deliver(k, thread, &destination, Patience::Never)?;
    let alone = if with_reply == WithReply::Yes { Syscall::Recv } else { Syscall::Wait };
    receive_second(k, thread, name, &source, alone)
}

/// The second half of a combined operation. If it is preempted, it is made again without the first:
/// as `alone`.
fn receive_second<M: Machine>(
    k: &mut Kernel<M>,
    thread: Ref<Tcb>,
    name: CPtr,
    source: &Source,
    alone: Syscall,
) -> Result<(), Failure> {
    let received = source.receive(k, thread, Patience::Wait);
    if received == Err(Failure::Preempted) {
        let registers = &k.get(thread).registers;
        registers[register::A7].set(alone.raw());
        registers[register::A0].set(name.0);
    }
    received
}

/// Yield: the rest of the refill is given up.
fn give_up_processor<M: Machine>(k: &mut Kernel<M>, thread: Ref<Tcb>) -> Result<(), Failure> {
    succeed(k, thread);
    if let Some(context) = k.get(thread).sched_context.get() {
        crate::scheduler::budget::give_up(k, context);
    }
    Ok(())
}
