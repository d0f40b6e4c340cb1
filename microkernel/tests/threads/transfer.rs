//! Capabilities that travel with messages (CASES 9).

use std::mem::offset_of;

use abi::message::{IpcBuffer, ReceiveSlot};
use abi::{MessageInfo, Rights, Syscall};
use microkernel::capability::cap::Cap;

use crate::world::{CNODE, Call, Thread, World};

struct Scene {
    w: World,
    endpoint: u64,
    client_cap: u64,
    reply: u64,
    server: Thread,
    client: Thread,
    into: u64,
}

fn scene(rights: Rights) -> Scene {
    let mut w = World::new();
    let (endpoint, reply) = (w.endpoint(), w.reply());
    let client_cap = w.mint(endpoint, 42, rights);
    let server = w.passive_server(10, endpoint, reply);
    let client = w.thread(10);
    let into = w.empty_slot();
    Scene { w, endpoint, client_cap, reply, server, client, into }
}

impl Scene {
    fn offer(&self, thread: Thread, index: u64) {
        let receive = offset_of!(IpcBuffer, receive);
        self.w.put(thread, receive + offset_of!(ReceiveSlot, root), CNODE);
        self.w.put(thread, receive + offset_of!(ReceiveSlot, index), index);
        self.w.put(thread, receive + offset_of!(ReceiveSlot, depth), 64);
    }

    /// Calls with capabilities; says how many arrived, and which as badges.
    fn call(&mut self, caps: &[u64]) -> (usize, u64) {
        self.put_caps(self.client, caps);
        let info = MessageInfo::new(1, 1).with_caps(u8::try_from(caps.len()).unwrap());
        let call = Call { a0: self.client_cap, info, words: &[8], ..Call::default() };
        self.w.syscall(self.client, Syscall::Call, call);
        assert!(self.w.is_running(self.server));
        let info = self.w.received(self.server).info;
        (info.caps(), info.unwrapped())
    }

    fn put_caps(&self, thread: Thread, caps: &[u64]) {
        for (index, cap) in caps.iter().enumerate() {
            self.w.put(thread, offset_of!(IpcBuffer, caps) + 8 * index, *cap);
        }
    }

    fn answer(&mut self, caps: &[u64]) -> usize {
        self.put_caps(self.server, caps);
        let info = MessageInfo::new(1, 0).with_caps(u8::try_from(caps.len()).unwrap());
        let call = Call { a0: self.endpoint, a2: self.reply, info, ..Call::default() };
        self.w.syscall(self.server, Syscall::ReplyRecv, call);
        assert!(self.w.is_running(self.client));
        self.w.received(self.client).info.caps()
    }
}

#[test]
fn one_capability_goes_into_the_slot_offered() {
    let mut s = scene(Rights::ALL);
    let given = s.w.notification();
    s.offer(s.server, s.into);
    assert_eq!(s.call(&[given]), (1, 0));
    assert_eq!(s.w.cap(s.into), s.w.cap(given));
    // It derives from the sender's: revoking that takes it back.
    assert!(microkernel::capability::derivation::has_children(&s.w.k, s.w.slot(given)));
}

#[test]
fn a_capability_of_the_endpoint_itself_arrives_as_its_badge() {
    let mut s = scene(Rights::ALL);
    let (own, given) = (s.w.mint(s.endpoint, 7, Rights::WRITE), s.w.notification());
    s.offer(s.server, s.into);
    assert_eq!(s.call(&[own, given, own]), (3, 0b101));
    assert_eq!(s.w.peek(s.server, offset_of!(IpcBuffer, caps)), 7);
    assert_eq!(s.w.peek(s.server, offset_of!(IpcBuffer, caps) + 16), 7);
    assert_eq!(s.w.cap(s.into), s.w.cap(given));
}

#[test]
fn what_is_not_taken_is_lost_to_nobody() {
    let mut s = scene(Rights::ALL);
    let (given, second) = (s.w.notification(), s.w.notification());
    // No slot offered.
    assert_eq!(s.call(&[given]), (0, 0));
    s.answer(&[]);
    // One slot offered, two given.
    s.offer(s.server, s.into);
    assert_eq!(s.call(&[given, second]), (1, 0));
    s.answer(&[]);
    // The slot offered is full.
    for _ in 0..1000 {
        assert_eq!(s.call(&[second]), (0, 0));
        s.answer(&[]);
    }
    assert!(!microkernel::capability::derivation::has_children(&s.w.k, s.w.slot(second)));
    // What is given is none.
    s.offer(s.server, second + 100);
    assert_eq!(s.call(&[4001]), (0, 0));
    s.answer(&[]);
    assert_eq!(s.call(&[u64::MAX]), (0, 0));
}

#[test]
fn without_the_right_to_grant_nothing_goes() {
    let mut s = scene(Rights::WRITE.union(Rights::GRANT_REPLY));
    let given = s.w.notification();
    s.offer(s.server, s.into);
    assert_eq!(s.call(&[given]), (0, 0));
    assert_eq!(s.w.cap(s.into), Cap::Null);
    s.offer(s.client, s.into);
    assert_eq!(s.answer(&[given]), 0, "the call did not allow it");
}

#[test]
fn an_answer_carries_capabilities_if_call_and_reply_allow_it() {
    let mut s = scene(Rights::ALL);
    let given = s.w.notification();
    s.offer(s.client, s.into);
    s.call(&[]);
    assert_eq!(s.answer(&[given]), 1);
    assert_eq!(s.w.cap(s.into), s.w.cap(given));
    let mut s = scene(Rights::ALL);
    let given = s.w.notification();
    s.reply = s.w.mint(s.reply, 0, Rights::NONE);
    s.offer(s.client, s.into);
    s.call(&[]);
    assert_eq!(s.answer(&[given]), 0);
}
