//! Calls and answers between two threads.

use abi::{Error, MessageInfo, Rights, Syscall};

use crate::world::{Call, World, info};

#[test]
fn a_call_reaches_a_passive_server_and_its_answer_comes_back() {
    let mut w = World::new();
    let (endpoint, reply) = (w.endpoint(), w.reply());
    let client_cap = w.mint(endpoint, 42, Rights::WRITE.union(Rights::GRANT_REPLY));
    let server = w.passive_server(10, endpoint, reply);
    let client = w.thread(10);

    w.call(client, client_cap, &[1, 2, 3]);
    assert!(w.is_running(server));
    let received = w.received(server);
    assert_eq!((received.badge, received.info, received.message()), (42, info(7, 3), &[1, 2, 3][..]));

    w.reply_recv(server, endpoint, reply, &[9; 8]);
    assert!(w.is_running(client));
    let answer = w.received(client);
    assert_eq!((answer.badge, answer.info, answer.message()), (0, info(8, 8), &[9; 8][..]));
}

#[test]
fn a_call_that_finds_nobody_waits_and_is_received() {
    let mut w = World::new();
    let (endpoint, reply) = (w.endpoint(), w.reply());
    let client = w.thread(10);
    w.call(client, endpoint, &[5]);
    assert_eq!(w.running(), None);
    let server = w.thread(9);
    w.recv(server, endpoint, reply);
    assert_eq!(w.received(server).message(), &[5]);
    w.reply_recv(server, endpoint, reply, &[6]);
    assert!(w.is_running(client));
    assert_eq!(w.received(client).message(), &[6]);
}

#[test]
fn a_plain_send_brings_nothing_back() {
    let mut w = World::new();
    let endpoint = w.endpoint();
    let receiver = w.thread(20);
    w.wait(receiver, endpoint);
    let sender = w.thread(10);
    w.send(sender, endpoint, &[1]);
    assert!(w.is_running(receiver));
    w.wait(receiver, endpoint);
    assert!(w.is_running(sender));
    assert!(w.received(sender).is_plain_success());
}

#[test]
fn what_finds_nobody_and_does_not_wait_says_so() {
    let mut w = World::new();
    let (endpoint, notification) = (w.endpoint(), w.notification());
    let thread = w.thread(10);
    for (operation, a0) in [
        (Syscall::NBSend, endpoint),
        (Syscall::NBRecv, endpoint),
        (Syscall::Poll, endpoint),
        (Syscall::Poll, notification),
        (Syscall::NBRecv, notification),
    ] {
        w.syscall(thread, operation, Call { a0, ..Call::default() });
        assert!(w.received(thread).is_plain_success(), "{operation:?}");
    }
}

#[test]
fn an_operation_that_does_not_exist_or_is_for_hosts_has_its_error() {
    let mut w = World::new();
    let thread = w.thread(10);
    for operation in [Syscall::Switch, Syscall::EnterFull, Syscall::SyncVector] {
        w.syscall(thread, operation, Call::default());
        assert_eq!(w.received(thread).error(), Some(Error::IllegalOperation), "{operation:?}");
    }
    w.k.get(thread.tcb).registers[11].set(77);
    w.again(thread);
    assert_eq!(w.received(thread).error(), Some(Error::UnknownSyscall));
    assert_eq!(w.received(thread).info, MessageInfo::from_kernel(Error::UnknownSyscall.label(), 2));
}
