//! Answering through a Reply.

use abi::{Error, Rights};

use crate::arch::Machine;
use crate::failure::Failure;
use crate::ipc::{fault, meeting, transfer};
use crate::kernel::Kernel;
use crate::object::reply::{self, Reply};
use crate::object::store::Ref;
use crate::object::thread::{Tcb, state};

/// The caller that an answer from `server` reaches, after all checks; changes nothing.
///
/// # Errors
///
/// `InvalidState` when nobody waits: a caller may go away at any time. Length and buffers as for a send.
pub fn check<M: Machine>(k: &Kernel<M>, server: Ref<Tcb>, reply: Ref<Reply>) -> Result<Ref<Tcb>, Failure> {
    let caller = reply::caller(k, reply).ok_or(Failure::new(Error::InvalidState))?;
    if k.get(caller).pending_fault().is_none() {
        meeting::check_length(k, server, caller)?;
    }
    Ok(caller)
}

/// Answers `caller`, who waits with `reply`: it gets its scheduling context back and goes on.
///
/// Capabilities go along if both the call and the Reply capability, with `rights`, allow it.
pub fn answer<M: Machine>(
    k: &mut Kernel<M>,
    server: Ref<Tcb>,
    reply: Ref<Reply>,
    rights: Rights,
    caller: Ref<Tcb>,
) {
    let may_grant = rights.contains(Rights::GRANT) && k.get(reply).can_grant.get() != 0;
    reply::pop(k, reply, caller);
    if k.get(caller).pending_fault().is_some() {
        return fault::answered(k, caller, server);
    }
    transfer::answer(k, server, caller, if may_grant { Rights::GRANT } else { Rights::NONE });
    state::wake(k, caller);
}

/// Takes a Reply from its receiver, who goes on without having needed it.
pub fn release<M: Machine>(k: &Kernel<M>, reply: Ref<Reply>) {
    k.get(reply).thread.set(None);
}
