//! Interrupts of devices: a handler a line, and the notification that the line signals.
//!
//! A line is masked until its handler acknowledges it for the first time, and again from each delivery to
//! the next acknowledgement. A line without a notification stays masked: acknowledging it does nothing.
//! The notification's capability lies in a slot of the kernel's, derived from the one that was given, so
//! that revoking or deleting the notification empties it.

use abi::{Error, Method, Rights};

use crate::arch::{IRQ_LINES, IrqLine, Machine};
use crate::capability::cap::{Cap, Slot};
use crate::capability::{derivation, space};
use crate::failure::Failure;
use crate::kernel::Kernel;
use crate::object::notification;
use crate::object::store::Ref;
use crate::syscall::invoke::{Answer, Arguments, Target};

/// Decodes and invokes `IrqControl.Get`.
///
/// # Errors
///
/// As the method's row says.
pub fn invoke_control<M: Machine>(
    k: &mut Kernel<M>,
    target: &Target,
    method: Method,
    arguments: &Arguments,
) -> Result<Answer, Failure> {
    if method != Method::IrqControlGet {
        return Err(Error::IllegalOperation.into());
    }
    let line = IrqLine(arguments.word(0));
    if line.0 >= IRQ_LINES as u64 || !k.machine.has_line(line) {
        return Err(Failure::about(Error::RangeError, 1, IRQ_LINES as u64));
    }
    if k.irq_taken & bit(line) != 0 {
        return Err(Failure::about(Error::AlreadyBound, 1, 0));
    }
    let root = k.get(arguments.cap_slot(0)?).cap();
    let destination = space::lookup_slot(k, &root, arguments.word(1), arguments.word(2))
        .map_err(|failure| failure.of_argument(2))?;
    if k.get(destination).cap() != Cap::Null {
        return Err(Failure::about(Error::SlotOccupied, 2, 0));
    }

    k.machine.mask(line);
    k.irq_taken |= bit(line);
    derivation::insert(k, Cap::IrqHandler(line), target.slot, destination);
    Ok(Answer::default())
}

/// Decodes and invokes a method on a handler's capability.
///
/// # Errors
///
/// As the method's row says.
pub fn invoke_handler<M: Machine>(
    k: &mut Kernel<M>,
    target: &Target,
    method: Method,
    arguments: &Arguments,
) -> Result<Answer, Failure> {
    let Cap::IrqHandler(line) = target.cap else {
        return Err(Error::IllegalOperation.into());
    };
    match method {
        Method::IrqHandlerAck => acknowledge(k, line),
        Method::IrqHandlerSetNotification => {
            let source = arguments.cap_slot(0)?;
            let notification = decode_notification(k, source)?;
            k.machine.mask(line);
            derivation::replace(k, slot(k, line), notification, source, target.slot)?;
        }
        Method::IrqHandlerClear => clear(k, line)?,
        _ => return Err(Error::IllegalOperation.into()),
    }
    Ok(Answer::default())
}

/// The capability that SetNotification and Timer.Arm take: a notification that may be signalled.
///
/// # Errors
///
/// `MissingRight`, `InvalidCapability`.
pub fn decode_notification<M: Machine>(k: &Kernel<M>, source: Ref<Slot>) -> Result<Cap, Failure> {
    let cap = k.get(source).cap();
    match cap {
        Cap::Notification { rights, .. } if rights.contains(Rights::WRITE) => Ok(cap),
        Cap::Notification { .. } => Err(Failure::about(Error::MissingRight, 0, 0)),
        _ => Err(Failure::about(Error::InvalidCapability, 0, 0)),
    }
}

/// The line has interrupted, and is masked: signals its notification, if it has one.
pub fn deliver<M: Machine>(k: &mut Kernel<M>, line: IrqLine) {
    if line.0 >= IRQ_LINES as u64 {
        return;
    }
    if let Cap::Notification { notification, badge, .. } = k.get(slot(k, line)).cap() {
        notification::signal(k, notification, badge);
    }
}

/// Ends a line's handler with its last capability.
///
/// # Errors
///
/// Preempted, with the handler still there.
pub fn finalise<M: Machine>(k: &mut Kernel<M>, line: IrqLine) -> Result<(), Failure> {
    clear(k, line)?;
    k.irq_taken &= !bit(line);
    Ok(())
}

fn acknowledge<M: Machine>(k: &mut Kernel<M>, line: IrqLine) {
    if matches!(k.get(slot(k, line)).cap(), Cap::Notification { .. }) {
        k.machine.unmask(line);
    }
}

/// Masks the line and forgets its notification.
fn clear<M: Machine>(k: &mut Kernel<M>, line: IrqLine) -> Result<(), Failure> {
    k.machine.mask(line);
    derivation::delete(k, slot(k, line))
}

/// Where the line's notification lies.
fn slot<M: Machine>(k: &Kernel<M>, line: IrqLine) -> Ref<Slot> {
    k.irq_slots.element(line.0)
}

const fn bit(line: IrqLine) -> u64 {
    1 << line.0
}
