//! Deleting what threads wait in, in every state (CASES 12), and giving way while many wait (CASES 13).

use abi::{Error, Method, Rights, Syscall};
use microkernel::arch::Interrupt;
use microkernel::object::thread::{ThreadState, attempt};

use crate::world::{CNODE, Call, LONG, Thread, World};

/// What waits, and in what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    Receiving,
    ReceivingPassive,
    ReceivingWithout,
    Sending,
    Calling,
    ForAnswer,
    ForSignal,
}

const ALL: [Waits; 7] = [
    Waits::Receiving,
    Waits::ReceivingPassive,
    Waits::ReceivingWithout,
    Waits::Sending,
    Waits::Calling,
    Waits::ForAnswer,
    Waits::ForSignal,
];

struct Scene {
    w: World,
    waiter: Thread,
    endpoint: u64,
    reply: u64,
    notification: u64,
    context: u64,
}

fn scene(waits: Waits, stopped: bool) -> Scene {
    let mut w = World::new();
    let (endpoint, reply, notification) = (w.endpoint(), w.reply(), w.notification());
    let waiter = w.bare_thread(20);
    let context = w.context(LONG, LONG);
    w.bind(context, waiter);
    w.resume(waiter);
    match waits {
        Waits::Receiving | Waits::ReceivingPassive => w.recv(waiter, endpoint, reply),
        Waits::ReceivingWithout => w.wait(waiter, endpoint),
        Waits::Sending => w.send(waiter, endpoint, &[]),
        Waits::Calling | Waits::ForAnswer => w.call(waiter, endpoint, &[]),
        Waits::ForSignal => w.wait(waiter, notification),
    }
    if waits == Waits::ReceivingPassive {
        w.admin(context, Method::SchedContextUnbind, &[], &[]).unwrap();
    }
    if waits == Waits::ForAnswer {
        let server = w.thread(10);
        w.recv(server, endpoint, reply);
        w.suspend(server);
    }
    if stopped {
        w.suspend(waiter);
    }
    Scene { w, waiter, endpoint, reply, notification, context }
}

#[test]
fn every_wait_ends_defined_when_its_object_is_deleted() {
    for waits in ALL {
        for stopped in [false, true] {
            let Scene { mut w, waiter, endpoint, reply, notification, .. } = scene(waits, stopped);
            let object = match waits {
                Waits::ForAnswer => reply,
                Waits::ForSignal => notification,
                _ => endpoint,
            };
            w.delete(object);
            // A sender that was stopped is back at its call, and finds the capability gone when it runs.
            let rewound = stopped && matches!(waits, Waits::Sending | Waits::Calling);
            if stopped {
                assert_eq!(w.k.get(waiter.tcb).thread_state(), ThreadState::Inactive, "{waits:?}");
                w.resume(waiter);
            }
            assert_eq!(w.k.get(waiter.tcb).thread_state(), ThreadState::Runnable, "{waits:?}");
            if waits != Waits::ReceivingPassive {
                assert!(w.is_running(waiter), "{waits:?}");
            }
            if rewound {
                w.again(waiter);
                assert_eq!(w.received(waiter).error(), Some(Error::InvalidCapability), "{waits:?}");
            } else {
                assert_eq!(
                    w.received(waiter).error(),
                    Some(Error::DeletedWhileWaiting),
                    "{waits:?} {stopped}"
                );
            }
        }
    }
}

#[test]
fn a_receiver_loses_its_reply_and_is_told() {
    for waits in [Waits::Receiving, Waits::ReceivingPassive] {
        for stopped in [false, true] {
            let Scene { mut w, waiter, reply, .. } = scene(waits, stopped);
            w.delete(reply);
            assert_eq!(w.received(waiter).error(), Some(Error::DeletedWhileWaiting), "{waits:?} {stopped}");
        }
    }
}

#[test]
fn a_thread_is_deleted_in_every_state() {
    for waits in ALL {
        for stopped in [false, true] {
            let Scene { mut w, waiter, endpoint, reply, notification, context } = scene(waits, stopped);
            w.delete(waiter.cap);
            // Everything can be used by others.
            let other = w.thread(30);
            w.syscall(other, Syscall::Poll, Call { a0: notification, ..Call::default() });
            w.syscall(other, Syscall::NBRecv, Call { a0: endpoint, a2: reply, ..Call::default() });
            assert!(w.received(other).is_plain_success(), "{waits:?} {stopped}");
            let heir = w.bare_thread(5);
            if waits != Waits::ReceivingPassive {
                w.bind(context, heir);
            }
        }
    }
}

#[test]
fn a_context_is_deleted_in_every_state() {
    for waits in ALL {
        let Scene { mut w, waiter, endpoint, context, .. } = scene(waits, false);
        let before = w.k.get(waiter.tcb).thread_state();
        w.delete(context);
        assert_eq!(w.k.get(waiter.tcb).thread_state(), before, "{waits:?}");
        assert_eq!(w.k.get(waiter.tcb).sched_context.get(), None, "{waits:?}");
        w.delete(endpoint);
    }
}

#[test]
fn the_running_thread_deletes_its_own() {
    for what in 0..5 {
        let mut w = World::new();
        let (endpoint, reply) = (w.endpoint(), w.reply());
        let server = w.passive_server(10, endpoint, reply);
        let client = w.bare_thread(10);
        let context = w.context(LONG, LONG);
        w.bind(context, client);
        w.resume(client);
        w.call(client, endpoint, &[]);
        let gone = [server.cap, reply, context, endpoint, client.cap][what];
        let cap = w.cap(gone);
        let info = abi::MessageInfo::new(Method::CNodeDelete.label(), 2);
        w.syscall(server, Syscall::Call, Call { a0: CNODE, info, words: &[gone, 64], ..Call::default() });
        let running = [None, Some(client), None, Some(server), Some(server)][what];
        assert_eq!(w.running(), running.map(|thread| thread.tcb), "{cap:?}");
    }
}

/// CASES 13: cancelling gives way after each sender, goes on where it was, and loses nobody.
#[test]
fn cancelling_many_senders_gives_way() {
    let mut w = World::with_memory(64 << 20);
    let endpoint = w.endpoint();
    let badged = [w.mint(endpoint, 1, Rights::ALL), w.mint(endpoint, 2, Rights::ALL)];
    // Without buffers, so that 10^4 of them fit.
    let count = 10_000;
    let mut senders = Vec::new();
    let context = w.context(LONG, LONG);
    for number in 0..count {
        w.quick(|w| {
            let sender = w.small_thread(20 + number % 7);
            w.bind(context, sender);
            w.resume(sender);
            w.send(sender, badged[usize::from(number % 3 == 0)], &[]);
            w.admin(context, Method::SchedContextUnbind, &[], &[]).unwrap();
            senders.push(sender);
        });
    }
    let canceller = w.thread(100);
    w.k.machine.preempt = true;
    let info = abi::MessageInfo::new(Method::CNodeCancelBadgedSends.label(), 2);
    let cancel = Call { a0: CNODE, info, words: &[badged[0], 64], ..Call::default() };
    w.syscall(canceller, Syscall::Call, cancel);
    let mut rounds = 1;
    while w.k.get(canceller.tcb).attempt.get() != attempt::FIRST {
        assert!(w.is_running(canceller));
        w.quick(|w| w.again(canceller));
        rounds += 1;
    }
    assert_eq!(rounds, count, "one step for each that waits");
    let left =
        senders.iter().filter(|thread| w.k.get(thread.tcb).thread_state() == ThreadState::BlockedOnSend);
    assert_eq!(left.count(), 3334);
    w.check();

    // The rest goes with the endpoint, thread by thread.
    let delete = abi::MessageInfo::new(Method::CNodeRevoke.label(), 2);
    w.syscall(
        canceller,
        Syscall::Call,
        Call { a0: CNODE, info: delete, words: &[endpoint, 64], ..Call::default() },
    );
    while w.k.get(canceller.tcb).attempt.get() != attempt::FIRST {
        w.quick(|w| w.again(canceller));
    }
    let delete = abi::MessageInfo::new(Method::CNodeDelete.label(), 2);
    w.syscall(
        canceller,
        Syscall::Call,
        Call { a0: CNODE, info: delete, words: &[endpoint, 64], ..Call::default() },
    );
    let mut rounds = 1;
    while w.k.get(canceller.tcb).attempt.get() != attempt::FIRST {
        w.quick(|w| w.again(canceller));
        rounds += 1;
    }
    assert!(rounds >= 3334, "{rounds} steps");
    assert!(senders.iter().all(|thread| w.k.get(thread.tcb).thread_state() == ThreadState::Runnable));
    w.k.machine.preempt = false;
    w.k.machine.pending.push(Interrupt::Spurious);
    w.interrupt();
}
