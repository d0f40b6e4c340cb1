//! Budgets, turns, and when the timer is set.

use abi::{Error, Method, Syscall};
use microkernel::arch::Ticks;

use crate::world::{Call, LONG, SCHED_CONTROL, SECOND, Thread, World};

const BUDGET: u64 = SECOND / 100;

fn with_context(w: &mut World, priority: u64, budget: u64, period: u64) -> (Thread, u64) {
    let thread = w.bare_thread(priority);
    let context = w.context(budget, period);
    w.bind(context, thread);
    w.resume(thread);
    (thread, context)
}

#[test]
fn equals_take_turns() {
    let mut w = World::new();
    let (a, _) = with_context(&mut w, 10, BUDGET, BUDGET);
    let (b, _) = with_context(&mut w, 10, BUDGET, BUDGET);
    for _ in 0..3 {
        assert!(w.is_running(a));
        w.pass(BUDGET - 1);
        assert!(w.is_running(a));
        w.pass(1);
        assert!(w.is_running(b));
        w.pass(BUDGET);
    }
    w.syscall(a, Syscall::Yield, Call::default());
    assert!(w.is_running(b), "who yields goes to the end");
    w.syscall(b, Syscall::Yield, Call::default());
    assert!(w.is_running(a));
    assert!(w.received(a).is_plain_success());
}

#[test]
fn who_is_preempted_keeps_its_turn_and_the_rest_of_its_budget() {
    let mut w = World::new();
    let (a, _) = with_context(&mut w, 10, BUDGET, BUDGET);
    let (b, _) = with_context(&mut w, 10, BUDGET, BUDGET);
    w.pass(BUDGET / 2);
    let (high, _) = with_context(&mut w, 20, BUDGET, 10 * BUDGET);
    assert!(w.is_running(high));
    w.pass(BUDGET);
    assert!(w.is_running(a));
    w.pass(BUDGET / 2 - 1);
    assert!(w.is_running(a));
    w.pass(1);
    assert!(w.is_running(b));
}

#[test]
fn a_budget_used_up_comes_back_a_period_after_its_use_began() {
    let mut w = World::new();
    w.pass(12_345);
    let (thread, _) = with_context(&mut w, 10, BUDGET, 5 * BUDGET);
    let began = w.k.machine.time.0;
    for period in 0..4 {
        assert!(w.is_running(thread), "in period {period}");
        w.pass(BUDGET);
        assert_eq!(w.running(), None);
        assert_eq!(w.k.machine.deadline, Some(Ticks(began + (period + 1) * 5 * BUDGET)));
        w.pass(4 * BUDGET - 1);
        assert_eq!(w.running(), None);
        w.pass(1);
    }
}

#[test]
fn what_runs_over_is_earned_back_before_the_next_refill() {
    let mut w = World::new();
    let (thread, _) = with_context(&mut w, 10, BUDGET, 5 * BUDGET);
    let began = w.k.machine.time.0;
    // The timer is late: the machine stood still for three budgets.
    w.k.machine.time.0 += 4 * BUDGET;
    w.pass(0);
    assert_eq!(w.running(), None);
    assert_eq!(w.k.machine.deadline, Some(Ticks(began + (5 + 3 * 5) * BUDGET)));
    w.pass(16 * BUDGET);
    assert!(w.is_running(thread));
    w.pass(BUDGET);
    assert_eq!(w.k.machine.deadline, Some(Ticks(began + (20 + 5) * BUDGET)), "and then it is as before");
}

#[test]
fn who_takes_turns_owes_nothing_for_a_late_timer() {
    let mut w = World::new();
    let (thread, _) = with_context(&mut w, 10, BUDGET, BUDGET);
    w.k.machine.time.0 += 4 * BUDGET;
    w.pass(0);
    assert!(w.is_running(thread));
}

#[test]
fn no_period_brings_more_than_two_budgets_and_the_long_run_no_more_than_one() {
    let mut w = World::new();
    let event = w.notification();
    let (thread, context) = with_context(&mut w, 10, BUDGET, 4 * BUDGET);
    let (waker, _) = with_context(&mut w, 5, LONG, LONG);
    let number = match w.cap(context) {
        microkernel::capability::cap::Cap::SchedContext(context) => context,
        other => panic!("{other:?}"),
    };
    let start = w.k.machine.time.0;
    let mut seed = 7_u64;
    while w.k.machine.time.0 < start + 400 * BUDGET {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        w.pass(seed >> 33 & 0x3_ffff);
        match w.running() {
            Some(tcb) if tcb == thread.tcb && seed >> 60 < 5 => w.wait(thread, event),
            Some(tcb) if tcb == waker.tcb => {
                w.syscall(waker, Syscall::Send, Call { a0: event, ..Call::default() });
            }
            _ => {}
        }
    }
    let used = w.k.get(number).consumed.get();
    assert!(used <= 101 * BUDGET, "{used} of {} in 100 periods", 100 * BUDGET);
    assert!(used > 60 * BUDGET, "{used}: it was not given its share");
}

#[test]
fn time_in_a_server_is_the_callers_and_the_timer_stays_as_it_is() {
    let mut w = World::new();
    let (endpoint, reply) = (w.endpoint(), w.reply());
    let server = w.passive_server(10, endpoint, reply);
    let (client, _) = with_context(&mut w, 10, BUDGET, 10 * BUDGET);
    let deadline = w.k.machine.deadline;
    w.pass(BUDGET / 2);
    w.call(client, endpoint, &[]);
    assert_eq!(w.k.machine.deadline, deadline, "a donated context is charged on");
    w.pass(BUDGET / 4);
    w.reply_recv(server, endpoint, reply, &[]);
    w.call(client, endpoint, &[]);
    assert_eq!(w.k.machine.deadline, deadline);
    w.pass(BUDGET / 4);
    assert_eq!(w.running(), None, "the budget is used up in the server");
    w.pass(9 * BUDGET);
    assert!(w.is_running(server));
    w.reply_recv(server, endpoint, reply, &[]);
    assert!(w.is_running(client));
}

#[test]
fn a_thread_that_blocks_at_the_end_of_its_budget_is_in_one_place_only() {
    // CASES 3: the call, and the fault, at every moment around the end; the invariants are checked throughout.
    for early in -2_i64..=2 {
        for faults in [true, false] {
            let mut w = World::new();
            let (endpoint, reply) = (w.endpoint(), w.reply());
            let handler = w.thread(5);
            w.recv(handler, endpoint, reply);
            let (thread, _) = with_context(&mut w, 10, BUDGET, 10 * BUDGET);
            w.set_fault_handler(thread, endpoint);
            let began = w.k.core().charged_from.get().0;
            w.k.machine.time = Ticks((began + BUDGET).saturating_add_signed(-early));
            // The timer's interrupt is pending, and the thread enters first.
            if faults {
                let page = microkernel::entry::Exception { code: 1, subcode: 0, address: 0, instruction: 0 };
                w.fault(thread, page);
            } else {
                w.call(thread, endpoint, &[]);
            }
            w.timer();
            assert!(w.is_running(handler));
            w.syscall(handler, Syscall::ReplyRecv, Call { a0: endpoint, a2: reply, ..Call::default() });
            w.pass(9 * BUDGET + 100);
            assert!(w.is_running(thread), "{early} {faults}");
        }
    }
}

#[test]
fn configuring_is_checked_and_takes_effect_at_once() {
    let mut w = World::new();
    let (thread, context) = with_context(&mut w, 10, BUDGET, 10 * BUDGET);
    let configure = |w: &mut World, words: &[u64]| {
        w.admin(SCHED_CONTROL, Method::SchedControlConfigure, &[context], words).map(|_| ())
    };
    assert_eq!(configure(&mut w, &[19_999, 20_000, 0, 0]), Err(Error::RangeError));
    assert_eq!(configure(&mut w, &[30_000, 20_000, 0, 0]), Err(Error::RangeError));
    assert_eq!(configure(&mut w, &[30_000, u64::MAX, 0, 0]), Err(Error::RangeError));
    assert_eq!(configure(&mut w, &[30_000, 40_000, 1, 0]), Err(Error::NotImplemented));
    let wrong = w.admin(SCHED_CONTROL, Method::SchedControlConfigure, &[thread.cap], &[30_000, 40_000, 0, 0]);
    assert_eq!(wrong, Err(Error::InvalidCapability));
    w.pass(BUDGET);
    assert_eq!(w.running(), None);
    assert_eq!(configure(&mut w, &[30_000, 30_000, 0, 0]), Ok(()));
    assert!(w.is_running(thread));
}

#[test]
fn contexts_and_threads_are_bound_one_to_one() {
    let mut w = World::new();
    let (thread, context) = with_context(&mut w, 10, BUDGET, BUDGET);
    let (other, spare) = (w.bare_thread(10), w.context(BUDGET, BUDGET));
    let bind = |w: &mut World, context, thread: Thread| {
        w.admin(context, Method::SchedContextBind, &[thread.cap], &[]).map(|_| ())
    };
    assert_eq!(bind(&mut w, context, other), Err(Error::AlreadyBound));
    assert_eq!(bind(&mut w, spare, thread), Err(Error::AlreadyBound));
    assert_eq!(w.admin(spare, Method::SchedContextUnbind, &[], &[]), Err(Error::NotBound));
    w.admin(context, Method::SchedContextUnbind, &[], &[]).unwrap();
    assert_eq!(w.running(), None);
    assert_eq!(bind(&mut w, spare, thread), Ok(()));
    assert!(w.is_running(thread));
    let params = |w: &mut World, context, words: &[u64]| {
        w.admin(thread.cap, Method::TcbSetSchedParams, &[thread.cap, context, 0], words).map(|_| ())
    };
    assert_eq!(params(&mut w, context, &[200, 100]), Err(Error::AlreadyBound));
    assert_eq!(params(&mut w, spare, &[256, 100]), Err(Error::RangeError));
    assert_eq!(params(&mut w, spare, &[200, 100]), Ok(()));
    assert_eq!(w.k.get(thread.tcb).priority.get(), 100);
    assert_eq!(params(&mut w, spare, &[200, 201]), Err(Error::RangeError));
    assert_eq!(params(&mut w, 0, &[150, 20]), Ok(()));
    assert_eq!(w.running(), None);
}

#[test]
fn many_that_are_due_at_once_are_released_in_steps() {
    let mut w = World::with_memory(4 << 20);
    let threads: Vec<_> = (0..100).map(|_| with_context(&mut w, 10, 2000, LONG / 10).0).collect();
    w.pass(100 * 2000);
    assert_eq!(w.running(), None);
    w.k.machine.time = Ticks(w.k.machine.time.0 + LONG);
    w.timer();
    let waiting = threads.iter().filter(|thread| w.k.get(thread.tcb).sched_queue.get() == 2).count();
    assert_eq!(waiting, 96, "a bounded number at a time");
    w.pass(0);
    assert_eq!(threads.iter().filter(|thread| w.k.get(thread.tcb).sched_queue.get() == 2).count(), 0);
}

#[test]
fn whoever_is_due_first_is_released_first() {
    let mut w = World::with_memory(8 << 20);
    let mut random = 88_172_645_463_325_252_u64;
    let mut draw = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let mut threads: Vec<_> =
        (0..120).map(|_| with_context(&mut w, 10, 2000, LONG / 100 + draw(LONG / 100))).collect();
    w.pass(120 * 2000);
    assert_eq!(w.running(), None);
    // Some leave from wherever they are, some come back with another period.
    for _ in 0..60 {
        let index = usize::try_from(draw(threads.len() as u64)).unwrap();
        let (thread, context) = threads[index];
        if draw(2) == 0 {
            threads.swap_remove(index);
            w.suspend(thread);
        } else {
            let words = [20_000, LONG / 10 + draw(LONG), 0, 0];
            w.admin(SCHED_CONTROL, Method::SchedControlConfigure, &[context], &words).unwrap();
            w.pass(2000);
        }
    }
    let due = |w: &World, thread: &Thread| {
        let context = w.k.get(thread.tcb).sched_context.get().unwrap();
        w.k.get(context).refill_at.get()
    };
    let mut order: Vec<_> = threads.iter().map(|(thread, _)| (due(&w, thread), *thread)).collect();
    order.sort_by_key(|(time, _)| *time);
    for (time, thread) in order {
        assert!(w.k.machine.time.0 < time);
        assert_eq!(w.k.machine.deadline, Some(Ticks(time)));
        w.pass(time - w.k.machine.time.0);
        assert!(w.is_running(thread));
        w.suspend(thread);
    }
}
