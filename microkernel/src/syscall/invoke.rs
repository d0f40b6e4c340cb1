//! Invocation of kernel objects: from a message to the method's code (C-1, C-2).

use abi::{Error, MessageInfo, Method};

pub use super::arguments::{Answer, Arguments, Target};
use crate::arch::Machine;
use crate::capability::cap::{Cap, Slot};
use crate::failure::Failure;
use crate::kernel::Kernel;
use crate::object::store::Ref;
use crate::object::thread::Tcb;
use crate::object::{
    asid, cnode, debug, frame, host, interrupt, page_table, sched_context, sched_control, thread, timer,
    untyped, vspace,
};

/// Carries out the method that the label of `info` names, on the capability in `slot`, for `thread`.
///
/// The thread's registers and buffer hold the message. Refused with: [`Error::InvalidCapability`] for an
/// empty slot, [`Error::IllegalOperation`] for a label that is no method of the object's,
/// [`Error::NotImplemented`] for a row that is planned, [`Error::TruncatedMessage`], and what the row says.
pub fn invoke<M: Machine>(
    k: &mut Kernel<M>,
    thread: Ref<Tcb>,
    slot: Ref<Slot>,
    info: MessageInfo,
) -> Result<Answer, Failure> {
    invoke_target(k, &Target { thread, slot, cap: k.get(slot).cap() }, info)
}

/// The same with the capability decoded.
///
/// # Errors
///
/// As [`invoke`].
pub fn invoke_target<M: Machine>(
    k: &mut Kernel<M>,
    target: &Target,
    info: MessageInfo,
) -> Result<Answer, Failure> {
    let object_type = target.cap.object_type().ok_or(Error::InvalidCapability)?;
    let method = Method::from_label(info.label()).ok_or(Error::IllegalOperation)?;
    let row = method.row();
    if row.object != object_type {
        return Err(Error::IllegalOperation.into());
    }
    if !row.built {
        return Err(Error::NotImplemented.into());
    }
    let mut arguments = Arguments::of(info);
    arguments.read(k, target.thread, row, info)?;
    match effect(method) {
        Effect::Additive => dispatch(k, target, method, &arguments),
        Effect::Removes => {
            k.machine.park_others();
            let result = dispatch(k, target, method, &arguments);
            k.machine.unpark_others();
            result
        }
    }
}

/// What a method may do to what a hot path on another core is reading (C-50).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It adds, or touches nothing that the hot path reads.
    Additive,
    /// It changes or removes such things: the other cores are parked meanwhile.
    Removes,
}

/// The effect of a method; what is not known to be additive removes.
pub const fn effect(method: Method) -> Effect {
    match method {
        Method::UntypedRetype
        | Method::CNodeCopy
        | Method::CNodeMint
        | Method::PageTableMap
        | Method::FrameMap
        | Method::FrameGetAddress
        | Method::AsidControlMakePool
        | Method::AsidPoolAssign
        | Method::VSpaceGiveTables
        | Method::VSpaceMapMany
        | Method::IrqControlGet
        | Method::IrqHandlerAck
        | Method::DebugPutChar
        | Method::DebugDumpScheduler => Effect::Additive,
        _ => Effect::Removes,
    }
}

/// Hands the call to the object's own code.
fn dispatch<M: Machine>(
    k: &mut Kernel<M>,
    target: &Target,
    method: Method,
    arguments: &Arguments,
) -> Result<Answer, Failure> {
    match target.cap {
        Cap::Untyped(_) => untyped::invoke(k, target, method, arguments),
        Cap::CNode { .. } => cnode::invoke(k, target, method, arguments),
        Cap::AsidControl => asid::invoke_control(k, method, arguments),
        Cap::AsidPool(_) => asid::invoke_pool(k, target, method, arguments),
        Cap::VSpace(_) => vspace::invoke(k, target, method, arguments),
        Cap::PageTable { .. } | Cap::GivenTable { .. } => page_table::invoke(k, target, method, arguments),
        Cap::Frame(_) => frame::invoke(k, target, method, arguments),
        Cap::IrqControl => interrupt::invoke_control(k, target, method, arguments),
        Cap::Timer(_) => timer::invoke(k, target, method, arguments),
        Cap::IrqHandler(_) => interrupt::invoke_handler(k, target, method, arguments),
        Cap::Tcb(_) => thread::invoke(k, target, method, arguments),
        Cap::SchedContext(_) => sched_context::invoke(k, target, method, arguments),
        Cap::SchedControl(_) => sched_control::invoke(k, target, method, arguments),
        Cap::HostControl => host::configure::invoke_control(k, method, arguments),
        Cap::Host { .. } => host::configure::invoke(k, target, method, arguments),
        Cap::Debug => debug::invoke(k, target, method, arguments),
        _ => Err(Error::NotImplemented.into()),
    }
}
