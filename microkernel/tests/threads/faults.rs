//! Faults as messages (C-4).

use abi::fault::Fault;
use abi::{Method, Rights, Syscall};
use microkernel::entry::Exception;
use microkernel::object::thread::{Exit, ThreadState, register};

use crate::world::{Call, World, info};

const PAGE: Exception = Exception { code: 1, subcode: 0, address: 0x5000, instruction: 0x28c0_0000 };
const UNDEFINED: Exception = Exception { code: 13, subcode: 2, address: 0, instruction: 7 };

#[test]
fn a_fault_reaches_its_handler_and_the_answer_resumes() {
    for passive in [true, false] {
        let mut w = World::new();
        let (endpoint, reply) = (w.endpoint(), w.reply());
        let badged = w.mint(endpoint, 99, Rights::WRITE.union(Rights::GRANT_REPLY));
        let handler = if passive {
            w.passive_server(30, endpoint, reply)
        } else {
            let handler = w.thread(30);
            w.recv(handler, endpoint, reply);
            handler
        };
        let thread = w.thread(10);
        w.set_fault_handler(thread, badged);
        w.k.get(thread.tcb).registers[register::PC].set(0x1234);
        w.fault(thread, PAGE);
        assert!(w.is_running(handler));
        let received = w.received(handler);
        assert_eq!((received.badge, received.info), (99, info(Fault::Page.label(), 4)));
        assert_eq!(received.message(), [0x1234, 0x5000, 1, 0x28c0_0000]);
        let answer = Call { a0: endpoint, a2: reply, info: info(0, 1), words: &[0x9999], ..Call::default() };
        w.syscall(handler, Syscall::ReplyRecv, answer);
        assert!(w.is_running(thread));
        assert_eq!(w.k.get(thread.tcb).registers[register::PC].get(), 0x1234, "a page fault is tried again");

        w.fault(thread, UNDEFINED);
        assert_eq!(w.received(handler).message(), [0x1234, 0, 13 | 2 << 6, 7]);
        w.syscall(handler, Syscall::ReplyRecv, answer);
        assert_eq!(w.k.get(thread.tcb).registers[register::PC].get(), 0x9999, "one word is the new pc");

        w.fault(thread, UNDEFINED);
        w.syscall(handler, Syscall::ReplyRecv, Call { info: info(1, 0), ..answer });
        assert_eq!(w.k.get(thread.tcb).thread_state(), ThreadState::Inactive);
        w.resume(thread);
        assert!(w.is_running(thread));
    }
}

#[test]
fn the_answer_to_a_fault_restores_every_register() {
    let mut w = World::new();
    let (endpoint, reply) = (w.endpoint(), w.reply());
    let handler = w.passive_server(30, endpoint, reply);
    let thread = w.thread(10);
    w.set_fault_handler(thread, endpoint);
    let tcb = w.k.get(thread.tcb);
    for (number, register) in (0..).zip(&tcb.registers) {
        register.set(0x700 + number);
    }
    w.fault(thread, PAGE);
    w.k.get(handler.tcb).registers[register::A7].set(0);
    let call = Call { a0: endpoint, a2: reply, info: info(0, 3), words: &[1, 2, 3], ..Call::default() };
    w.syscall(handler, Syscall::ReplyRecv, call);
    let tcb = w.k.get(thread.tcb);
    assert!((0..).zip(&tcb.registers).all(|(number, register)| register.get() == 0x700 + number));
}

#[test]
fn a_fault_without_a_handler_stops_the_thread_and_the_log_says_so() {
    let mut w = World::new();
    let (debug, thread) = (crate::world::DEBUG, w.thread(10));
    let name = [u64::from_le_bytes(*b"shell\0\0\0"), 0];
    w.admin(debug, Method::DebugNameThread, &[thread.cap], &name).unwrap();
    w.fault(thread, PAGE);
    assert_eq!(w.running(), None);
    assert_eq!(w.k.get(thread.tcb).thread_state(), ThreadState::Inactive);
    let log = String::from_utf8(w.k.machine.log.clone()).unwrap();
    assert!(log.contains("thread shell: fault 1 at pc 0x0, address 0x5000"), "{log}");
}

#[test]
fn handlers_that_cannot_answer() {
    // Without the right to grant a reply: refused when it is set.
    let mut w = World::new();
    let endpoint = w.endpoint();
    let thread = w.thread(10);
    let send_only = w.mint(endpoint, 1, Rights::WRITE);
    let set = w.admin(thread.cap, Method::TcbSetSpace, &[send_only, 1, 6], &[0]);
    assert_eq!(set, Err(abi::Error::InvalidCapability));
    // Without a Reply: the handler learns of the fault, the thread stays.
    w.set_fault_handler(thread, endpoint);
    let handler = w.thread(30);
    w.wait(handler, endpoint);
    w.fault(thread, PAGE);
    assert!(w.is_running(handler));
    assert_eq!(w.received(handler).info.label(), Fault::Page.label());
    assert_eq!(w.k.get(thread.tcb).thread_state(), ThreadState::Inactive);
}

#[test]
fn a_handler_that_vanishes_leaves_the_thread_inactive() {
    for deleted_is_reply in [true, false] {
        let mut w = World::new();
        let (endpoint, reply) = (w.endpoint(), w.reply());
        let thread = w.thread(10);
        w.set_fault_handler(thread, endpoint);
        w.fault(thread, PAGE);
        if deleted_is_reply {
            let handler = w.thread(30);
            w.recv(handler, endpoint, reply);
            w.suspend(handler);
            w.delete(reply);
        } else {
            w.admin(thread.cap, Method::TcbSetSpace, &[0, 1, 6], &[0]).unwrap();
            w.delete(endpoint);
        }
        assert_eq!(w.k.get(thread.tcb).thread_state(), ThreadState::Inactive);
        assert_eq!(w.k.get(thread.tcb).pending_fault(), None);
        w.resume(thread);
        assert!(w.is_running(thread));
    }
}

#[test]
fn a_faulted_thread_is_stopped_and_resumed() {
    let mut w = World::new();
    let (endpoint, reply) = (w.endpoint(), w.reply());
    let thread = w.thread(10);
    w.set_fault_handler(thread, endpoint);
    w.fault(thread, PAGE);
    w.suspend(thread);
    assert_eq!(w.k.get(thread.tcb).pending_fault(), None);
    w.resume(thread);
    assert!(w.is_running(thread), "it takes its fault again");
    assert_eq!(w.k.get(thread.tcb).exit.get(), Exit::Minimal as u64);
    w.fault(thread, PAGE);
    let handler = w.thread(30);
    w.recv(handler, endpoint, reply);
    w.suspend(thread);
    let answer = Call { a0: endpoint, a2: reply, ..Call::default() };
    w.syscall(handler, Syscall::ReplyRecv, answer);
    assert_eq!(w.running(), None);
    w.resume(thread);
    assert!(w.is_running(thread));
}
