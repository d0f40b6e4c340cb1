//! Signals: taken, kept, bound.

use abi::{Error, MessageInfo, Method, Rights, Syscall};

use crate::world::{Call, LONG, World};

fn badges(w: &mut World, notification: u64) -> [u64; 2] {
    [1, 2].map(|badge| w.mint(notification, badge, Rights::WRITE))
}

#[test]
fn signals_gather_until_taken() {
    let mut w = World::new();
    let notification = w.notification();
    let signals = badges(&mut w, notification);
    let thread = w.thread(10);
    for signal in signals {
        w.syscall(thread, Syscall::Send, Call { a0: signal, ..Call::default() });
        assert!(w.received(thread).is_plain_success());
    }
    w.wait(thread, notification);
    assert_eq!((w.received(thread).badge, w.received(thread).info), (3, MessageInfo::new(0, 0)));
    w.syscall(thread, Syscall::Poll, Call { a0: notification, ..Call::default() });
    assert!(w.received(thread).is_plain_success());
}

#[test]
fn a_waiter_gets_the_signal_and_runs_by_its_priority() {
    let mut w = World::new();
    let notification = w.notification();
    let [signal, _] = badges(&mut w, notification);
    let (high, low) = (w.thread(20), w.thread(5));
    w.wait(high, notification);
    w.syscall(low, Syscall::NBSend, Call { a0: signal, ..Call::default() });
    assert!(w.is_running(high));
    assert_eq!(w.received(high).badge, 1);
}

#[test]
fn waiting_for_what_is_bound_to_another_says_so() {
    let mut w = World::new();
    let (notification, endpoint) = (w.notification(), w.endpoint());
    let (owner, other) = (w.thread(20), w.thread(10));
    w.admin(owner.cap, Method::TcbBindNotification, &[notification], &[]).unwrap();
    w.recv(owner, endpoint, 0);
    for operation in [Syscall::Wait, Syscall::Recv, Syscall::Poll, Syscall::NBRecv] {
        w.syscall(other, operation, Call { a0: notification, ..Call::default() });
        assert_eq!(w.received(other).error(), Some(Error::BoundToOther), "{operation:?}");
    }
    let bind =
        |w: &mut World, notification| w.admin(other.cap, Method::TcbBindNotification, &[notification], &[]);
    assert_eq!(bind(&mut w, notification), Err(Error::AlreadyBound));
    assert_eq!(w.admin(other.cap, Method::TcbUnbindNotification, &[], &[]), Err(Error::NotBound));
    w.admin(owner.cap, Method::TcbUnbindNotification, &[], &[]).unwrap();
    assert!(bind(&mut w, notification).is_ok());
}

#[test]
fn a_bound_notification_ends_a_receive_and_frees_the_reply() {
    let mut w = World::new();
    let (notification, endpoint, reply) = (w.notification(), w.endpoint(), w.reply());
    let [signal, _] = badges(&mut w, notification);
    let (server, other) = (w.thread(20), w.thread(10));
    w.admin(server.cap, Method::TcbBindNotification, &[notification], &[]).unwrap();
    w.recv(server, endpoint, reply);
    w.syscall(other, Syscall::Send, Call { a0: signal, ..Call::default() });
    assert!(w.is_running(server));
    assert_eq!(w.received(server).badge, 1);
    w.recv(server, endpoint, reply);
    w.call(other, endpoint, &[]);
    // A signal that comes while the server works is there at its next receive, and only once.
    w.syscall(server, Syscall::Send, Call { a0: signal, ..Call::default() });
    w.reply_recv(server, endpoint, reply, &[]);
    assert_eq!(w.received(server).badge, 1);
    w.recv(server, endpoint, reply);
    assert!(w.is_running(other));
}

#[test]
fn a_signal_for_a_passive_server_is_kept_and_does_not_keep_calls_away() {
    let mut w = World::new();
    let (notification, endpoint, reply) = (w.notification(), w.endpoint(), w.reply());
    let [signal, _] = badges(&mut w, notification);
    let server = w.passive_server(10, endpoint, reply);
    w.admin(server.cap, Method::TcbBindNotification, &[notification], &[]).unwrap();
    let client = w.thread(10);
    w.syscall(client, Syscall::Send, Call { a0: signal, ..Call::default() });
    assert!(w.is_running(client));
    w.call(client, endpoint, &[1]);
    assert!(w.is_running(server));
    w.reply_recv(server, endpoint, reply, &[]);
    assert!(w.is_running(client));
    w.call(client, endpoint, &[2]);
    // The server may ask while it runs.
    w.syscall(server, Syscall::Poll, Call { a0: notification, ..Call::default() });
    assert_eq!(w.received(server).badge, 1);
    // Or it gets a context, and the signal with it.
    w.syscall(server, Syscall::Send, Call { a0: signal, ..Call::default() });
    w.reply_recv(server, endpoint, reply, &[]);
    let context = w.context(LONG, LONG);
    w.bind(context, server);
    assert_eq!(w.received(server).badge, 1);
}

/// CASES 8: at whatever moment a server becomes passive, the signal is not lost, and neither is the server.
#[test]
fn becoming_passive_loses_no_signal() {
    for signal_at in 0..4 {
        let mut w = World::new();
        let (notification, endpoint, reply) = (w.notification(), w.endpoint(), w.reply());
        let [signal, _] = badges(&mut w, notification);
        let server = w.bare_thread(50);
        let context = w.context(LONG, LONG);
        w.bind(context, server);
        w.resume(server);
        w.admin(server.cap, Method::TcbBindNotification, &[notification], &[]).unwrap();
        let sender = w.thread(60);
        let mut step = 0;
        let mut now = |w: &mut World| {
            if step == signal_at {
                w.syscall(sender, Syscall::Send, Call { a0: signal, ..Call::default() });
            }
            step += 1;
        };
        now(&mut w);
        let blocked = w.endpoint();
        w.suspend(sender);
        w.recv(server, endpoint, reply);
        w.resume(sender);
        now(&mut w);
        w.admin(context, Method::SchedContextUnbind, &[], &[]).unwrap();
        now(&mut w);
        w.bind(context, server);
        now(&mut w);
        w.wait(sender, blocked);
        assert!(w.is_running(server), "signalled at step {signal_at}");
        assert_eq!(w.received(server).badge, 1, "signalled at step {signal_at}");
    }
}
