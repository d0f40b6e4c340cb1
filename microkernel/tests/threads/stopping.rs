//! Suspend, Resume, and registers from outside.

use abi::{Error, Method, Syscall};
use microkernel::object::thread::{ThreadState, register};

use crate::world::{Call, Thread, World};

/// CASES 7, hot path included: the server waits with a Reply and without a context.
#[test]
fn a_passive_server_serves_again_after_it_was_stopped() {
    let mut w = World::new();
    let (endpoint, reply) = (w.endpoint(), w.reply());
    let server = w.passive_server(10, endpoint, reply);
    let client = w.thread(10);
    for round in 0..3 {
        w.suspend(server);
        w.call(client, endpoint, &[round]);
        assert_eq!(w.running(), None, "a stopped server takes nothing");
        w.resume(server);
        assert!(w.is_running(server));
        assert_eq!(w.received(server).message(), [round]);
        w.suspend(server);
        assert_eq!(w.running(), None);
        w.resume(server);
        w.reply_recv(server, endpoint, reply, &[round]);
        assert!(w.is_running(client));
    }
    w.suspend(server);
    w.resume(server);
    w.call(client, endpoint, &[]);
    assert!(w.is_running(server));
}

#[test]
fn others_get_what_comes_while_a_thread_is_stopped() {
    let mut w = World::new();
    let (endpoint, notification) = (w.endpoint(), w.notification());
    let (first, second, sender) = (w.thread(30), w.thread(20), w.thread(10));
    for (wait_at, send_to) in [(endpoint, endpoint), (notification, notification)] {
        w.wait(first, wait_at);
        w.wait(second, wait_at);
        w.suspend(first);
        w.send(sender, send_to, &[]);
        assert!(w.is_running(second));
        w.resume(first);
        assert!(w.is_running(second));
        w.wait(second, wait_at);
        w.send(sender, send_to, &[]);
        assert!(w.is_running(first));
        w.wait(first, wait_at);
        w.admin(first.cap, Method::TcbWriteRegisters, &[], &[1, 0]).unwrap();
        w.admin(second.cap, Method::TcbWriteRegisters, &[], &[1, 0]).unwrap();
    }
}

#[test]
fn a_stopped_caller_is_answered_and_goes_on_when_resumed() {
    let mut w = World::new();
    let (endpoint, reply) = (w.endpoint(), w.reply());
    let server = w.passive_server(10, endpoint, reply);
    let client = w.thread(10);
    w.call(client, endpoint, &[]);
    w.suspend(client);
    w.reply_recv(server, endpoint, reply, &[5]);
    assert_eq!(w.running(), None, "the context is back with a thread that is stopped");
    w.resume(client);
    assert!(w.is_running(client));
    assert_eq!(w.received(client).message(), [5]);
    w.call(client, endpoint, &[]);
    w.suspend(client);
    w.resume(client);
    w.reply_recv(server, endpoint, reply, &[6]);
    assert_eq!(w.received(client).message(), [6]);
}

#[test]
fn a_stopped_sender_makes_its_call_again() {
    let mut w = World::new();
    let (endpoint, reply) = (w.endpoint(), w.reply());
    let client = w.thread(10);
    w.call(client, endpoint, &[5]);
    let pc = w.k.get(client.tcb).registers[register::PC].get();
    w.suspend(client);
    let server = w.thread(9);
    w.syscall(server, Syscall::NBRecv, Call { a0: endpoint, a2: reply, ..Call::default() });
    assert!(w.received(server).is_plain_success());
    w.resume(client);
    assert!(w.is_running(client));
    assert_eq!(w.k.get(client.tcb).registers[register::PC].get(), pc - 4);
    w.again(client);
    w.recv(server, endpoint, reply);
    assert_eq!(w.received(server).message(), [5]);
}

#[test]
fn a_thread_suspends_itself_and_goes_on_behind_the_call() {
    let mut w = World::new();
    let thread = w.thread(10);
    let method = abi::MessageInfo::new(Method::TcbSuspend.label(), 0);
    w.syscall(thread, Syscall::Call, Call { a0: thread.cap, info: method, ..Call::default() });
    assert_eq!(w.running(), None);
    w.resume(thread);
    assert!(w.is_running(thread));
    assert!(w.received(thread).is_plain_success());
}

#[test]
fn a_waiting_thread_whose_registers_are_written_leaves_by_the_full_exit() {
    let mut w = World::new();
    let (endpoint, reply) = (w.endpoint(), w.reply());
    let server = w.passive_server(10, endpoint, reply);
    w.admin(server.cap, Method::TcbWriteRegisters, &[], &[0, 0, 0x1000, 0x2000]).unwrap();
    assert_eq!(w.k.get(server.tcb).thread_state(), ThreadState::BlockedOnReceive);
    let client = w.thread(10);
    w.call(client, endpoint, &[3]);
    assert!(w.is_running(server));
    let tcb = w.k.get(server.tcb);
    assert_eq!((tcb.registers[0].get(), tcb.registers[1].get()), (0x1000, 0x2000));
    assert_eq!(w.received(server).message(), [3]);
}

#[test]
fn a_resumed_rewriting_forgets_the_wait() {
    for stopped in [true, false] {
        let mut w = World::new();
        let (endpoint, reply, notification) = (w.endpoint(), w.reply(), w.notification());
        let server = w.thread(10);
        w.recv(server, endpoint, reply);
        if stopped {
            w.suspend(server);
        }
        w.admin(server.cap, Method::TcbWriteRegisters, &[], &[1, 0, 0x1000]).unwrap();
        assert!(w.is_running(server), "stopped: {stopped}");
        assert_eq!(w.k.get(server.tcb).registers[0].get(), 0x1000);
        w.recv(server, endpoint, reply);
        let writes = [0, 4, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
        w.admin(server.cap, Method::TcbWriteRegisters, &[], &writes).unwrap();
        let read = w.admin(server.cap, Method::TcbReadRegisters, &[], &[4, 8]).unwrap();
        assert_eq!(read.message(), [1, 2, 3, 4, 5, 6, 7, 8]);
        w.admin(server.cap, Method::TcbWriteRegisters, &[], &[1, 0]).unwrap();
        w.wait(server, notification);
    }
}

#[test]
fn reading_and_writing_registers_is_checked() {
    let mut w = World::new();
    let (thread, other) = (w.thread(10), w.thread(11));
    let endpoint = w.endpoint();
    w.wait(other, endpoint);
    let call = |w: &mut World, target: Thread, method, words: &[u64]| {
        w.invoke(thread, target.cap, method, &[], words)
    };
    for (method, words, error) in [
        (Method::TcbReadRegisters, &[0, 33][..], Error::RangeError),
        (Method::TcbReadRegisters, &[32, 0], Error::RangeError),
        (Method::TcbReadRegisters, &[u64::MAX, 2], Error::RangeError),
        (Method::TcbReadRegisters, &[31, 2], Error::RangeError),
        (Method::TcbReadRegisters, &[0], Error::TruncatedMessage),
        (Method::TcbWriteRegisters, &[2, 0], Error::RangeError),
        (Method::TcbWriteRegisters, &[0, 32, 1], Error::RangeError),
        (Method::TcbWriteRegisters, &[0, u64::MAX, 1], Error::RangeError),
        (Method::TcbWriteRegisters, &[0], Error::TruncatedMessage),
    ] {
        assert_eq!(call(&mut w, other, method, words), Err(error), "{method:?} {words:?}");
    }
    assert_eq!(call(&mut w, thread, Method::TcbReadRegisters, &[0, 1]), Err(Error::InvalidState));
    assert_eq!(call(&mut w, thread, Method::TcbWriteRegisters, &[0, 0]), Err(Error::InvalidState));
    assert_eq!(
        call(&mut w, other, Method::TcbReadRegisters, &[0, 32]).map(|answer| answer.info.length()),
        Ok(32)
    );
    assert_eq!(
        w.invoke(thread, other.cap, Method::TcbCopyRegisters, &[endpoint], &[0]),
        Err(Error::InvalidCapability)
    );
    let copied = w.invoke(thread, other.cap, Method::TcbCopyRegisters, &[thread.cap], &[16]);
    assert_eq!(copied, Err(Error::InvalidArgument));
    w.k.get(thread.tcb).registers[23].set(77);
    w.invoke(thread, other.cap, Method::TcbCopyRegisters, &[thread.cap], &[2 | 4]).unwrap();
    assert!(w.is_running(other), "the second flag resumes it");
}

#[test]
fn a_long_answer_needs_a_buffer() {
    let mut w = World::new();
    let (thread, other) = (w.thread(10), w.bare_thread(11));
    w.take_buffer(thread);
    let read = |w: &mut World, count| w.invoke(thread, other.cap, Method::TcbReadRegisters, &[], &[0, count]);
    assert!(read(&mut w, 8).is_ok());
    assert_eq!(read(&mut w, 9), Err(Error::NoIpcBuffer));
}
