//! Sending to an endpoint.

use crate::arch::Machine;
use crate::failure::Failure;
use crate::ipc::meeting::{self, Receiving, Sending};
use crate::ipc::succeed;
use crate::kernel::Kernel;
use crate::object::endpoint::{self, Endpoint};
use crate::object::store::Ref;
use crate::object::thread::{ThreadState, state};

/// What happens when the other side is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// The thread waits.
    Wait,
    /// The call ends without having done anything.
    Never,
}

/// Sends: to the receiver whose turn it is, or waits for one.
///
/// # Errors
///
/// As [`meeting`] says; nothing was changed.
pub fn send<M: Machine>(
    k: &mut Kernel<M>,
    endpoint: Ref<Endpoint>,
    sending: &Sending,
    patience: Patience,
) -> Result<(), Failure> {
    if let Some(receiver) = k.get(endpoint).first_receiver() {
        let receiving = Receiving { receiver, reply: k.get(receiver).reply() };
        meeting::check(k, sending, &receiving)?;
        endpoint::remove(k, endpoint, receiver);
        meeting::meet(k, endpoint, sending, &receiving);
    } else if patience == Patience::Never {
        succeed(k, sending.sender);
    } else {
        let sender = k.get(sending.sender);
        sender.send_badge.set(sending.badge);
        sender.send_flags.set(sending.flags);
        sender.blocked_on.set(endpoint.raw());
        state::block(k, sending.sender, ThreadState::BlockedOnSend, None);
        endpoint::insert(k, endpoint, sending.sender);
    }
    Ok(())
}
