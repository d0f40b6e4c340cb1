//! Stories of IrqControl and IrqHandler.

use abi::{Error, Method, Rights};
use microkernel::arch::IrqLine;
use microkernel::capability::cap::Cap;
use microkernel::capability::derivation;
use microkernel::object::interrupt;

use super::support::{CNODE, IRQ_CONTROL, World, refusal};

const LINE: u64 = 5;

fn handler(world: &mut World) -> u64 {
    let slot = world.empty_slot();
    world.call(IRQ_CONTROL, Method::IrqControlGet, &[CNODE], &[LINE, slot, 64]).unwrap();
    slot
}

fn is_open(world: &World) -> bool {
    world.k.machine.unmasked & 1 << LINE != 0
}

#[test]
fn each_line_that_exists_has_one_handler() {
    let mut world = World::new(1 << 20);
    let handler = handler(&mut world);
    assert_eq!(world.cap(handler), Cap::IrqHandler(IrqLine(LINE)));
    let slot = world.empty_slot();
    let mut get = |line, slot, depth| {
        refusal(world.call(IRQ_CONTROL, Method::IrqControlGet, &[CNODE], &[line, slot, depth]))
    };
    assert_eq!(get(LINE, slot, 64), (Error::AlreadyBound, 1, 0));
    // The mock has 32 lines.
    for line in [32, 63, 64, 1 << 32, u64::MAX] {
        assert_eq!(get(line, slot, 64), (Error::RangeError, 1, 64));
    }
    assert_eq!(get(LINE + 1, CNODE, 64), (Error::SlotOccupied, 2, 0));
    assert_eq!(get(LINE + 1, slot, 65).0, Error::RangeError);
    let result = world.call(IRQ_CONTROL, Method::IrqControlGet, &[IRQ_CONTROL], &[LINE + 1, slot, 64]);
    assert_eq!(refusal(result).0, Error::LookupFailed);
}

#[test]
fn a_line_signals_its_notification_and_waits_to_be_acknowledged() {
    let mut world = World::new(1 << 20);
    let handler = handler(&mut world);
    let (notification, object) = world.notification(0x40, Rights::READ_WRITE);
    world.call(handler, Method::IrqHandlerAck, &[], &[]).unwrap();
    assert!(!is_open(&world), "a line without a notification stays masked");
    world.call(handler, Method::IrqHandlerSetNotification, &[notification], &[]).unwrap();
    assert!(!is_open(&world));
    world.call(handler, Method::IrqHandlerAck, &[], &[]).unwrap();
    assert!(is_open(&world));

    interrupt::deliver(&mut world.k, IrqLine(LINE));
    let badge = world.k.get(object).word.take();
    assert_eq!(badge, 0x40);
    interrupt::deliver(&mut world.k, IrqLine(LINE + 1));
    interrupt::deliver(&mut world.k, IrqLine(64));
    assert_eq!(world.k.get(object).word.get(), 0, "other lines signal nothing");
}

#[test]
fn only_a_notification_that_may_be_signalled_is_taken() {
    let mut world = World::new(1 << 20);
    let handler = handler(&mut world);
    let (deaf, _) = world.notification(1, Rights::READ);
    let mut set = |cap| refusal(world.call(handler, Method::IrqHandlerSetNotification, &[cap], &[]));
    assert_eq!(set(deaf), (Error::MissingRight, 0, 0));
    assert_eq!(set(CNODE), (Error::InvalidCapability, 0, 0));
    assert_eq!(set(0), (Error::InvalidCapability, 0, 0));
}

#[test]
fn a_notification_is_replaced_cleared_and_revoked() {
    let mut world = World::new(1 << 20);
    let handler = handler(&mut world);
    let (first, one) = world.notification(1, Rights::READ_WRITE);
    let (second, two) = world.notification(2, Rights::READ_WRITE);
    world.call(handler, Method::IrqHandlerSetNotification, &[first], &[]).unwrap();
    world.call(handler, Method::IrqHandlerSetNotification, &[second], &[]).unwrap();
    interrupt::deliver(&mut world.k, IrqLine(LINE));
    assert_eq!((world.k.get(one).word.get(), world.k.get(two).word.take()), (0, 2));

    world.call(handler, Method::IrqHandlerAck, &[], &[]).unwrap();
    world.call(handler, Method::IrqHandlerClear, &[], &[]).unwrap();
    assert!(!is_open(&world));
    interrupt::deliver(&mut world.k, IrqLine(LINE));
    assert_eq!(world.k.get(two).word.get(), 0);

    world.call(handler, Method::IrqHandlerSetNotification, &[first], &[]).unwrap();
    let slot = world.slot(first);
    derivation::revoke(&mut world.k, slot).unwrap();
    interrupt::deliver(&mut world.k, IrqLine(LINE));
    assert_eq!(world.k.get(one).word.get(), 0, "the line's capability derives from the one given");
}

#[test]
fn a_deleted_handler_masks_its_line_and_frees_it() {
    let mut world = World::new(1 << 20);
    let first = handler(&mut world);
    let (notification, object) = world.notification(1, Rights::READ_WRITE);
    world.call(first, Method::IrqHandlerSetNotification, &[notification], &[]).unwrap();
    world.call(first, Method::IrqHandlerAck, &[], &[]).unwrap();
    let slot = world.slot(first);
    derivation::delete(&mut world.k, slot).unwrap();
    assert!(!is_open(&world));
    interrupt::deliver(&mut world.k, IrqLine(LINE));
    assert_eq!(world.k.get(object).word.get(), 0);
    handler(&mut world);
}
