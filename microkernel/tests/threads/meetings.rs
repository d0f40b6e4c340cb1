//! Messages that cannot go, and who is told why.

use std::mem::offset_of;

use abi::message::IpcBuffer;
use abi::{Error, MessageInfo, Rights, Syscall};
use microkernel::object::thread::ThreadState;

use crate::world::{Call, LONG, World, info};

fn long(length: u8) -> Call<'static> {
    Call { info: MessageInfo::new(1, length), words: &[1, 2, 3, 4, 5, 6, 7, 8], ..Call::default() }
}

#[test]
fn words_past_the_registers_go_through_both_buffers() {
    let mut w = World::new();
    let (endpoint, reply) = (w.endpoint(), w.reply());
    let server = w.passive_server(10, endpoint, reply);
    let client = w.thread(10);
    for index in 8..120_usize {
        w.put(client, offset_of!(IpcBuffer, words) + 8 * index, 1000 + index as u64);
    }
    w.syscall(client, Syscall::Call, Call { a0: endpoint, ..long(120) });
    assert_eq!(w.received(server).info, info(1, 120));
    assert_eq!(w.received(server).words, [1, 2, 3, 4, 5, 6, 7, 8]);
    for index in 8..120_usize {
        assert_eq!(w.peek(server, offset_of!(IpcBuffer, words) + 8 * index), 1000 + index as u64);
    }
    assert_eq!(w.peek(server, offset_of!(IpcBuffer, caps)), 0, "what is behind the words is not written");
}

#[test]
fn a_message_too_long_is_refused_before_anything() {
    let mut w = World::new();
    let endpoint = w.endpoint();
    let client = w.thread(10);
    for operation in [Syscall::Call, Syscall::Send, Syscall::NBSend] {
        w.syscall(client, operation, Call { a0: endpoint, ..long(121) });
        let received = w.received(client);
        assert_eq!(received.error(), Some(Error::MessageTooLong), "{operation:?}");
        assert_eq!(received.message(), [1, 120]);
    }
}

#[test]
fn a_long_message_without_the_senders_buffer_is_refused() {
    let mut w = World::new();
    let endpoint = w.endpoint();
    let client = w.thread(10);
    w.take_buffer(client);
    w.syscall(client, Syscall::Call, Call { a0: endpoint, ..long(9) });
    assert_eq!((w.received(client).error(), w.received(client).words[0]), (Some(Error::NoIpcBuffer), 1));
    let info = MessageInfo::new(1, 0).with_caps(1);
    w.syscall(client, Syscall::Send, Call { a0: endpoint, info, ..Call::default() });
    assert_eq!(w.received(client).error(), Some(Error::NoIpcBuffer));
}

#[test]
fn a_receiver_without_a_buffer_gets_short_messages_only_and_long_senders_are_told() {
    let mut w = World::new();
    let (endpoint, reply) = (w.endpoint(), w.reply());
    let server = w.passive_server(10, endpoint, reply);
    w.take_buffer(server);
    let client = w.thread(10);
    w.syscall(client, Syscall::Call, Call { a0: endpoint, ..long(9) });
    assert_eq!((w.received(client).error(), w.received(client).words[0]), (Some(Error::NoIpcBuffer), 3));
    w.syscall(client, Syscall::Call, Call { a0: endpoint, ..long(8) });
    assert!(w.is_running(server), "the server waited on and takes what it can");
    // While it serves, two others wait: the one with the long message is told, the other served.
    let (long_one, short_one) = (w.thread(12), w.thread(11));
    w.syscall(long_one, Syscall::Call, Call { a0: endpoint, ..long(50) });
    w.syscall(short_one, Syscall::Call, Call { a0: endpoint, ..long(2) });
    w.reply_recv(server, endpoint, reply, &[]);
    assert_eq!(w.received(long_one).error(), Some(Error::NoIpcBuffer));
    assert_eq!(w.received(server).info.length(), 2);
}

#[test]
fn an_answer_too_long_for_its_caller_is_refused_and_may_be_made_shorter() {
    let mut w = World::new();
    let (endpoint, reply) = (w.endpoint(), w.reply());
    let server = w.passive_server(10, endpoint, reply);
    let client = w.thread(10);
    w.take_buffer(client);
    w.call(client, endpoint, &[]);
    w.syscall(server, Syscall::ReplyRecv, Call { a0: endpoint, a2: reply, ..long(20) });
    assert_eq!(w.received(server).error(), Some(Error::NoIpcBuffer));
    w.reply_recv(server, endpoint, reply, &[4]);
    assert_eq!(w.received(client).message(), [4]);
}

#[test]
fn a_passive_receiver_takes_no_message_that_brings_no_context() {
    let mut w = World::new();
    let (endpoint, reply) = (w.endpoint(), w.reply());
    let server = w.passive_server(10, endpoint, reply);
    let client = w.thread(10);
    for operation in [Syscall::Send, Syscall::NBSend] {
        w.syscall(client, operation, Call { a0: endpoint, ..Call::default() });
        assert_eq!(w.received(client).error(), Some(Error::NoSchedContext), "{operation:?}");
    }
    // The same for a send that waited while the server was at work; the call behind it is served.
    w.call(client, endpoint, &[]);
    let (sender, caller) = (w.thread(12), w.thread(11));
    w.send(sender, endpoint, &[]);
    w.call(caller, endpoint, &[3]);
    w.reply_recv(server, endpoint, reply, &[]);
    assert!(w.is_running(sender));
    assert_eq!(w.received(sender).error(), Some(Error::NoSchedContext));
    assert_eq!(w.received(server).message(), [3]);
}

#[test]
fn a_call_to_a_receiver_without_a_reply_is_refused() {
    let mut w = World::new();
    let endpoint = w.endpoint();
    let receiver = w.thread(20);
    w.wait(receiver, endpoint);
    let client = w.thread(10);
    w.call(client, endpoint, &[1]);
    assert_eq!(w.received(client).error(), Some(Error::InvalidState));
    w.send(client, endpoint, &[2]);
    assert_eq!(w.received(receiver).message(), [2]);
}

#[test]
fn rights_are_checked_before_anything() {
    let mut w = World::new();
    let (endpoint, notification, reply) = (w.endpoint(), w.notification(), w.reply());
    let read_only = w.mint(endpoint, 1, Rights::READ);
    let write_only = w.mint(endpoint, 1, Rights::WRITE);
    let wait_only = w.mint(notification, 1, Rights::READ);
    let signal_only = w.mint(notification, 1, Rights::WRITE);
    let thread = w.thread(10);
    for (operation, a0, t0, error, argument) in [
        (Syscall::Call, read_only, 0, Error::MissingRight, 0),
        (Syscall::Call, write_only, 0, Error::MissingRight, 0),
        (Syscall::Call, notification, 0, Error::IllegalOperation, 0),
        (Syscall::Call, reply, 0, Error::IllegalOperation, 0),
        (Syscall::Send, read_only, 0, Error::MissingRight, 0),
        (Syscall::NBSend, wait_only, 0, Error::MissingRight, 0),
        (Syscall::Send, thread.cap, 0, Error::IllegalOperation, 0),
        (Syscall::Send, 4000, 0, Error::InvalidCapability, 0),
        (Syscall::Send, u64::MAX, 0, Error::GuardMismatch, 0),
        (Syscall::Recv, write_only, 0, Error::MissingRight, 0),
        (Syscall::Wait, signal_only, 0, Error::MissingRight, 0),
        (Syscall::Recv, thread.cap, 0, Error::IllegalOperation, 0),
        (Syscall::ReplyRecv, endpoint, 0, Error::InvalidCapability, 2),
        (Syscall::NBSendRecv, endpoint, read_only, Error::MissingRight, 3),
        (Syscall::NBSendRecv, write_only, endpoint, Error::MissingRight, 0),
        (Syscall::NBSendWait, endpoint, 4000, Error::InvalidCapability, 3),
        (Syscall::Send, reply, 0, Error::InvalidState, 0),
    ] {
        w.syscall(thread, operation, Call { a0, t0, a2: 4001, ..Call::default() });
        let received = w.received(thread);
        assert!(w.is_running(thread));
        // A Recv looks at its Reply first.
        let (error, argument) = match (operation, w.k.get(thread.tcb).registers[6].get()) {
            (Syscall::Recv | Syscall::NBSendRecv, _) if error != Error::MissingRight || argument == 0 => {
                (Error::InvalidCapability, 2)
            }
            _ => (error, argument),
        };
        assert_eq!((received.error(), received.words[0]), (Some(error), argument), "{operation:?} {a0}");
    }
}

#[test]
fn a_send_and_receive_in_one_donates_to_a_passive_receiver() {
    let mut w = World::new();
    let (endpoint, reply, other) = (w.endpoint(), w.reply(), w.endpoint());
    let server = w.passive_server(10, endpoint, reply);
    let client = w.thread(10);
    let call = Call { a0: other, t0: endpoint, info: info(1, 1), words: &[6], ..Call::default() };
    w.syscall(client, Syscall::NBSendWait, call);
    assert!(w.is_running(server));
    assert_eq!(w.received(server).message(), [6]);
    assert_eq!(w.k.get(client.tcb).sched_context.get(), None);
}

#[test]
fn a_reply_that_stands_for_somebody_takes_no_other() {
    let mut w = World::new();
    let (endpoint, other, reply) = (w.endpoint(), w.endpoint(), w.reply());
    let server = w.thread(20);
    w.recv(server, endpoint, reply);
    let second = w.thread(19);
    w.recv(second, other, reply);
    assert_eq!(w.received(second).error(), Some(Error::ReplyInUse));
    let client = w.thread(30);
    w.call(client, endpoint, &[]);
    w.recv(server, endpoint, reply);
    assert_eq!(w.received(server).error(), Some(Error::ReplyInUse));
    w.reply_recv(server, endpoint, reply, &[]);
    assert!(w.is_running(client));
}

#[test]
fn the_highest_priority_is_served_first_and_equals_in_order() {
    let mut w = World::new();
    let (endpoint, reply) = (w.endpoint(), w.reply());
    let priorities = [30, 50, 30, 40, 50, 60];
    for (number, priority) in (0..).zip(priorities) {
        let client = w.thread(priority);
        w.call(client, endpoint, &[number]);
    }
    let server = w.thread(100);
    w.recv(server, endpoint, reply);
    let mut order = vec![w.received(server).words[0]];
    for _ in 1..priorities.len() {
        w.reply_recv(server, endpoint, reply, &[]);
        order.push(w.received(server).words[0]);
    }
    assert_eq!(order, [5, 1, 4, 3, 0, 2]);
}

#[test]
fn a_new_priority_changes_the_place_in_every_queue() {
    let mut w = World::new();
    let (endpoint, reply) = (w.endpoint(), w.reply());
    let (low, high) = (w.thread(30), w.thread(31));
    w.call(high, endpoint, &[1]);
    w.call(low, endpoint, &[0]);
    w.admin(low.cap, abi::Method::TcbSetPriority, &[low.cap], &[200]).unwrap();
    let server = w.bare_thread(100);
    let context = w.context(LONG, LONG);
    w.bind(context, server);
    w.resume(server);
    w.recv(server, endpoint, reply);
    assert_eq!(w.received(server).message(), [0]);
}

/// C-3: the half that is done is not done again.
#[test]
fn a_combined_call_that_gives_way_goes_on_with_its_second_half() {
    let mut w = World::new();
    let (endpoint, other, reply) = (w.endpoint(), w.endpoint(), w.reply());
    let receiver = w.thread(60);
    w.wait(receiver, other);
    let server = w.thread(50);
    w.take_buffer(server);
    w.recv(server, endpoint, reply);
    let senders: Vec<_> = (0..4).map(|_| w.thread(10)).collect();
    for sender in &senders[..3] {
        w.suspend(*sender);
    }
    w.call(senders[3], endpoint, &[7]);
    w.suspend(server);
    for sender in &senders[..3] {
        w.resume(*sender);
        w.syscall(*sender, Syscall::Call, Call { a0: endpoint, ..long(9) });
    }
    w.resume(server);
    w.k.machine.preempt = true;
    let call = Call { a0: endpoint, t0: other, a2: reply, info: info(3, 1), words: &[5] };
    // The call in hand is answered, and a message sent on, exactly once.
    w.syscall(server, Syscall::Send, Call { a0: reply, info: info(8, 1), words: &[6], ..Call::default() });
    assert_eq!(w.received(senders[3]).message(), [6]);
    w.syscall(server, Syscall::NBSendRecv, call);
    assert!(w.is_running(receiver));
    assert_eq!(w.received(receiver).message(), [5]);
    w.wait(receiver, other);
    let mut again = 0;
    while w.is_running(server) {
        w.again(server);
        again += 1;
    }
    assert_eq!(again, 3, "once for each that is turned away");
    w.k.machine.preempt = false;
    for sender in &senders[..3] {
        assert_eq!(w.received(*sender).error(), Some(Error::NoIpcBuffer));
    }
    assert_eq!(w.k.get(receiver.tcb).thread_state(), ThreadState::BlockedOnReceive, "nothing was sent twice");
    w.call(senders[3], endpoint, &[8]);
    assert_eq!(w.received(server).message(), [8]);
}
