//! The checks catch what they are there for: each bug here is planted, and must be found.

use abi::Rights;
use microkernel::object::thread::{Exit, ThreadState, hot};

use crate::exploration::{Outside, Own, Scene, Step, explore};
use crate::world::World;

/// A bug, as what it leaves behind in a state; `None` where it would not show.
type Bug = fn(&Scene) -> Option<()>;

const BUGS: [(&str, Bug); 12] = [
    ("a stopped thread is still in its endpoint", |scene| {
        let stopped =
            find(scene, |tcb| tcb.is_stopped() && tcb.wait_state() == ThreadState::BlockedOnReceive)?;
        let endpoint = scene.w.objects.endpoints.first().map(|endpoint| scene.w.k.get(*endpoint))?;
        (endpoint.head.get() == 0).then(|| endpoint.head.set(stopped.raw() | 2))
    }),
    ("a receiver with a context looks passive", |scene| {
        let active = find(scene, |tcb| tcb.hot.get() == tcb.home.get() | hot::ACTIVE)?;
        let tcb = scene.w.k.get(active);
        tcb.hot.set(tcb.hot.get() & !hot::ACTIVE);
        Some(())
    }),
    ("a receiver without a Reply looks as if it had one", |scene| {
        let tcb = scene.w.k.get(find(scene, |tcb| tcb.hot.get() == tcb.home.get() | hot::NO_REPLY)?);
        tcb.hot.set(tcb.hot.get() & !hot::NO_REPLY);
        Some(())
    }),
    ("a fault looks like a call", |scene| {
        let tcb =
            scene.w.k.get(find(scene, |tcb| tcb.hot.get() == tcb.home.get() | hot::FAULT | hot::FULL_EXIT)?);
        tcb.hot.set(tcb.hot.get() & !(hot::FAULT | hot::FULL_EXIT));
        Some(())
    }),
    ("a rewritten thread would leave by the minimal exit", |scene| {
        let waits =
            |tcb: &microkernel::object::thread::Tcb| tcb.thread_state() == ThreadState::BlockedOnReceive;
        let tcb = scene.w.k.get(find(scene, |tcb| waits(tcb) && tcb.hot.get() == tcb.home.get())?);
        tcb.exit.set(Exit::Full as u64);
        Some(())
    }),
    ("a Reply keeps a caller that has gone", |scene| {
        let k = &scene.w.k;
        let reply = scene
            .w
            .objects
            .replies
            .iter()
            .map(|reply| k.get(*reply))
            .find(|reply| reply.thread.get().is_none())?;
        reply.thread.set(scene.w.running().filter(|running| k.get(*running).reply().is_none()));
        reply.thread.get().map(|_| ())
    }),
    ("a context does not know who has it", |scene| {
        let k = &scene.w.k;
        let context = scene.w.running().and_then(|running| k.get(running).sched_context.get())?;
        k.get(context).thread.set(None);
        Some(())
    }),
    ("the top of a stack lost its context", |scene| {
        let k = &scene.w.k;
        let reply = scene
            .w
            .objects
            .replies
            .iter()
            .map(|reply| k.get(*reply))
            .find(|reply| reply.sched_context.get().is_some())?;
        reply.sched_context.set(None);
        Some(())
    }),
    ("the highest ready priority is not said", |scene| {
        let core = scene.w.k.core();
        (core.top_ready.get() != 0).then(|| core.top_ready.set(0))
    }),
    ("a signal is not told to its thread", |scene| {
        let tcb = scene.w.k.get(find(scene, |tcb| tcb.notification_pending.get() != 0)?);
        tcb.notification_pending.set(0);
        Some(())
    }),
    ("a thread is queued and blocked at once", |scene| {
        let k = &scene.w.k;
        let tcb = k.get(find(scene, |tcb| tcb.sched_queue.get() == 1)?);
        tcb.state.set(ThreadState::Inactive as u64);
        Some(())
    }),
    ("the timer is not set", |scene| {
        let core = scene.w.k.core();
        let set = core.deadline.get() != microkernel::arch::Ticks::NEVER;
        set.then(|| core.deadline.set(microkernel::arch::Ticks::NEVER))
    }),
];

fn find(
    scene: &Scene,
    is: impl Fn(&microkernel::object::thread::Tcb) -> bool,
) -> Option<microkernel::object::store::Ref<microkernel::object::thread::Tcb>> {
    scene.w.objects.threads.iter().copied().find(|thread| is(scene.w.k.get(*thread)))
}

#[test]
fn every_planted_bug_is_found() {
    let mut found = [false; BUGS.len()];
    let mut starts = vec![Scene::new(), Scene::with_passive_server()];
    let mut bound = Scene::with_passive_server();
    bound.take(Step::Outside(Outside::BindNotification, 0));
    bound.take(Step::Own(Own::Signal));
    starts.push(bound);
    let mut without_reply = Scene::new();
    without_reply.take(Step::Own(Own::WaitEndpoint));
    without_reply.take(Step::Outside(Outside::Unbind, 0));
    starts.push(without_reply);
    for start in starts {
        explore(start, 1, |scene, _| {
            for ((name, bug), found) in BUGS.iter().zip(&mut found) {
                let planted = scene.clone();
                if bug(&planted).is_some() {
                    assert!(planted.w.invariants().is_err(), "not caught: {name}");
                    *found = true;
                }
            }
        });
    }
    for ((name, _), found) in BUGS.iter().zip(found) {
        assert!(found, "never planted: {name}");
    }
}

/// The check of C-8: a word that is not part of the message must be seen.
#[test]
fn a_stale_register_is_found() {
    let mut w = World::new();
    let (endpoint, reply) = (w.endpoint(), w.reply());
    let client_cap = w.mint(endpoint, 42, Rights::ALL);
    let server = w.passive_server(10, endpoint, reply);
    let client = w.thread(10);
    w.call(client, client_cap, &[1]);
    w.reply_recv(server, endpoint, reply, &[1]);
    assert_eq!(w.stale_register(client.tcb), None);
    w.k.get(client.tcb).registers[8].set(0x9000_0000_0000_0000);
    assert_eq!(w.stale_register(client.tcb), Some(8));
}
