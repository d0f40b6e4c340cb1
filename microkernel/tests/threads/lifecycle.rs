//! Components made and taken apart in the middle of calls (CASES 11): no hang, no leak.

use abi::{Error, Method, ObjectType};
use microkernel::address::PhysAddr;
use microkernel::capability::cap::{Cap, UntypedCap};

use crate::world::{ADMIN, CNODE, LONG, Thread, World};

/// Base-2 logarithm of the memory that a component is made of.
const UNTYPED_BITS: u8 = 13;

/// What a component is made of: the numbers of its capabilities.
#[derive(Clone, Copy, Debug)]
struct Component {
    tcb: u64,
    endpoint: u64,
    reply: u64,
    context: u64,
}

const TYPES: [ObjectType; 4] =
    [ObjectType::Tcb, ObjectType::Endpoint, ObjectType::Reply, ObjectType::SchedContext];

fn make(w: &mut World, untyped: u64, slots: Component) -> Thread {
    let numbers = [slots.tcb, slots.endpoint, slots.reply, slots.context];
    for (object_type, number) in TYPES.into_iter().zip(numbers) {
        let words = [object_type.raw(), 0, 0, 0, number, 1];
        w.admin(untyped, Method::UntypedRetype, &[CNODE], &words).unwrap();
        w.learn(number);
    }
    let Cap::Tcb(tcb) = w.cap(slots.tcb) else { panic!("no thread was made") };
    let server = Thread { tcb, cap: slots.tcb, buffer: microkernel::address::WindowAddr(0) };
    w.give_spaces(server);
    w.admin(slots.tcb, Method::TcbSetPriority, &[ADMIN], &[50]).unwrap();
    w.configure(slots.context, LONG, LONG);
    w.bind(slots.context, server);
    w.resume(server);
    server
}

#[test]
fn servers_come_and_go_in_the_middle_of_calls() {
    let mut w = World::new();
    let memory = w.aligned_memory(1 << UNTYPED_BITS);
    let untyped = w.add(Cap::Untyped(UntypedCap {
        base: PhysAddr(memory).in_window(),
        size_bits: UNTYPED_BITS,
        is_device: false,
        free: 0,
        clean_end: 0,
    }));
    let slots = Component {
        tcb: w.empty_slot(),
        endpoint: w.empty_slot(),
        reply: w.empty_slot(),
        context: w.empty_slot(),
    };
    let clients = [w.thread(20), w.thread(20), w.thread(20)];
    let (mut served, mut lost) = (0, 0);
    for round in 0..400 {
        let server = make(&mut w, untyped, slots);
        w.recv(server, slots.endpoint, slots.reply);
        if round % 3 == 0 {
            w.admin(slots.context, Method::SchedContextUnbind, &[], &[]).unwrap();
        }
        // One client is served, as far as the round lets it come; others wait behind it.
        let last_step = round % 7;
        for step in 0..last_step {
            let Some(running) = w.running() else { break };
            if running == server.tcb {
                w.reply_recv(server, slots.endpoint, slots.reply, &[step]);
                served += 1;
            } else if let Some(client) = clients.iter().find(|client| client.tcb == running) {
                w.call(*client, slots.endpoint, &[step]);
            }
        }
        w.admin(CNODE, Method::CNodeRevoke, &[], &[untyped, 64]).unwrap();
        w.forget_all_in(memory, 1 << UNTYPED_BITS);
        w.check();
        for client in clients {
            let received = w.received(client);
            lost += u64::from(received.error() == Some(Error::DeletedWhileWaiting));
            // Nobody hangs in a wait, and everybody has its context back.
            assert_eq!(w.k.get(client.tcb).state.get(), 0, "round {round}");
            assert!(w.k.get(client.tcb).sched_context.get().is_some(), "round {round}");
        }
    }
    assert!(served > 300 && lost > 300, "{served} served, {lost} lost their server");
}
