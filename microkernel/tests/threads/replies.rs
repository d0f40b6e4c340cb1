//! Donated contexts: stacks of calls, and what becomes of them when a Reply goes.

use abi::{Error, Method};
use microkernel::object::store::Ref;
use microkernel::object::thread::Tcb;

use crate::world::{Thread, World};

/// A chain of calls: client, middle servers, the last of which runs.
struct Chain {
    w: World,
    client: Thread,
    servers: Vec<(Thread, u64, u64)>,
}

fn chain(length: usize) -> Chain {
    let mut w = World::new();
    let servers: Vec<_> = (0..length)
        .map(|_| {
            let (endpoint, reply) = (w.endpoint(), w.reply());
            (w.passive_server(10, endpoint, reply), endpoint, reply)
        })
        .collect();
    let client = w.thread(10);
    let mut caller = client;
    for (server, endpoint, _) in &servers {
        w.call(caller, *endpoint, &[1]);
        caller = *server;
    }
    assert!(w.is_running(caller));
    Chain { w, client, servers }
}

impl Chain {
    fn answer(&mut self, index: usize) {
        let (server, endpoint, reply) = self.servers[index];
        self.w.reply_recv(server, endpoint, reply, &[index as u64]);
    }

    fn holder(&self) -> Option<Ref<Tcb>> {
        // The administrator's context is the first, then come those of the servers, then the client's.
        let context = self.w.objects.contexts.last().copied().unwrap();
        self.w.k.get(context).thread.get()
    }
}

#[test]
fn nested_calls_give_the_context_back_one_by_one() {
    let mut c = chain(3);
    for index in (0..3).rev() {
        assert_eq!(c.holder(), Some(c.servers[index].0.tcb));
        c.answer(index);
    }
    assert_eq!(c.holder(), Some(c.client.tcb));
    assert!(c.w.is_running(c.client));
    assert_eq!(c.w.received(c.client).message(), [0]);
}

#[test]
fn deleting_the_newest_reply_gives_the_context_to_its_caller() {
    let mut c = chain(2);
    c.w.delete(c.servers[1].2);
    let middle = c.servers[0].0;
    assert!(c.w.is_running(middle));
    assert_eq!(c.w.received(middle).error(), Some(Error::DeletedWhileWaiting));
    c.answer(0);
    assert!(c.w.is_running(c.client));
}

#[test]
fn deleting_a_reply_in_mid_chain_leaves_the_others_whole() {
    let mut c = chain(3);
    c.w.delete(c.servers[1].2);
    let (first, second, third) = (c.servers[0].0, c.servers[1].0, c.servers[2].0);
    assert!(c.w.is_running(third), "the one that runs is not concerned");
    assert_eq!(c.w.received(first).error(), Some(Error::DeletedWhileWaiting));
    c.answer(2);
    assert!(c.w.is_running(second), "the nearest caller that still waits has the context");
    // The first server was told that its call is over; the client still waits for it, and its Reply is
    // the next on the stack: whoever ends it gives the context back.
    c.w.delete(c.servers[0].2);
    assert!(c.w.is_running(c.client));
    assert_eq!(c.w.received(c.client).error(), Some(Error::DeletedWhileWaiting));
}

#[test]
fn deleting_the_oldest_reply_leaves_the_context_with_its_server() {
    let mut c = chain(2);
    c.w.delete(c.servers[0].2);
    assert_eq!(c.w.received(c.client).error(), Some(Error::DeletedWhileWaiting));
    c.answer(1);
    assert!(c.w.is_running(c.servers[0].0));
    assert_eq!(c.holder(), Some(c.servers[0].0.tcb));
}

#[test]
fn a_caller_that_is_deleted_leaves_its_server_running() {
    let mut c = chain(1);
    c.w.delete(c.client.cap);
    assert!(c.w.is_running(c.servers[0].0));
    // The answer finds nobody; the server goes on waiting, with the context that nobody wants back.
    c.answer(0);
    assert_eq!(c.w.running(), None);
}

#[test]
fn a_server_that_is_deleted_is_answered_for_by_the_deletion_of_its_reply() {
    let mut c = chain(1);
    c.w.delete(c.servers[0].0.cap);
    assert_eq!(c.w.running(), None);
    c.w.delete(c.servers[0].2);
    assert!(c.w.is_running(c.client));
    assert_eq!(c.w.received(c.client).error(), Some(Error::DeletedWhileWaiting));
}

#[test]
fn a_context_that_is_unbound_meanwhile_does_not_come_back() {
    let mut c = chain(2);
    let context = c.w.objects.contexts.len() as u64;
    let number = (8..200)
        .filter(|number| c.w.cap(*number).object_type() == Some(abi::ObjectType::SchedContext))
        .last();
    assert_eq!(context, 4);
    c.w.admin(number.unwrap(), Method::SchedContextUnbind, &[], &[]).unwrap();
    assert_eq!(c.w.running(), None);
    c.w.admin(number.unwrap(), Method::SchedContextBind, &[c.servers[1].0.cap], &[]).unwrap();
    c.answer(1);
    assert_eq!(c.w.running(), None, "the server has a context of its own now and waits with it");
    assert_eq!(c.w.k.get(c.servers[0].0.tcb).sched_context.get(), None);
}

#[test]
fn a_server_with_a_context_of_its_own_takes_none() {
    let mut w = World::new();
    let (endpoint, reply) = (w.endpoint(), w.reply());
    let server = w.thread(20);
    w.recv(server, endpoint, reply);
    let client = w.thread(10);
    w.call(client, endpoint, &[]);
    assert!(w.k.get(client.tcb).sched_context.get().is_some());
    w.reply_recv(server, endpoint, reply, &[]);
    assert!(w.is_running(client));
}
