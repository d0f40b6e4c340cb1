//! Receiving from an endpoint.

use abi::Error;

use crate::arch::Machine;
use crate::failure::Failure;
use crate::ipc::meeting::{self, Receiving, Sending};
use crate::ipc::send::Patience;
use crate::ipc::{cancel, succeed};
use crate::kernel::Kernel;
use crate::object::endpoint::{self, Endpoint};
use crate::object::notification;
use crate::object::store::Ref;
use crate::object::thread::{ThreadState, state};

/// Receives: the bound notification's badge if it is active, a message that waits to be sent, or waits.
///
/// # Errors
///
/// `ReplyInUse`; `Preempted` between senders whose message cannot go.
pub fn receive<M: Machine>(
    k: &mut Kernel<M>,
    endpoint: Ref<Endpoint>,
    receiving: &Receiving,
    patience: Patience,
) -> Result<(), Failure> {
    let Receiving { receiver, reply } = *receiving;
    if reply.is_some_and(|reply| k.get(reply).thread.get().is_some()) {
        return Err(Failure::about(Error::ReplyInUse, 2, 0));
    }
    if notification::take_bound(k, receiver) {
        state::wake(k, receiver);
        return Ok(());
    }
    if let Some(sending) = first_that_can_go(k, endpoint, receiving)? {
        endpoint::remove(k, endpoint, sending.sender);
        meeting::meet(k, endpoint, &sending, receiving);
        return Ok(());
    }
    match patience {
        Patience::Never => {
            succeed(k, receiver);
            state::wake(k, receiver);
        }
        Patience::Wait => wait(k, endpoint, receiving),
    }
    Ok(())
}

/// The first sender whose message this receiver can take; those before it are told why theirs cannot go.
///
/// # Errors
///
/// Only `Preempted`, between two of those.
pub fn first_that_can_go<M: Machine>(
    k: &mut Kernel<M>,
    endpoint: Ref<Endpoint>,
    receiving: &Receiving,
) -> Result<Option<Sending>, Failure> {
    while let Some(sender) = k.get(endpoint).first_sender() {
        let sending = Sending::of_blocked(k, sender);
        match meeting::check(k, &sending, receiving) {
            Ok(()) => return Ok(Some(sending)),
            Err(Failure::Refused(refusal)) => cancel::give_up(k, sender, refusal),
            Err(Failure::Preempted) => return Err(Failure::Preempted),
        }
        if k.machine.preemption_pending() {
            return Err(Failure::Preempted);
        }
    }
    Ok(None)
}

fn wait<M: Machine>(k: &Kernel<M>, endpoint: Ref<Endpoint>, receiving: &Receiving) {
    let Receiving { receiver, reply } = *receiving;
    if let Some(reply) = reply {
        k.get(reply).thread.set(Some(receiver));
    }
    k.get(receiver).blocked_on.set(endpoint.raw());
    state::block(k, receiver, ThreadState::BlockedOnReceive, reply);
    endpoint::insert(k, endpoint, receiver);
}
