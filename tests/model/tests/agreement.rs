//! C-9 and C-70: the hot path does exactly what the slow path does, and refuses what it refuses.
//!
//! Random states that can exist: the hot path's bytes run on one copy of the memory, the core on another.
//! Where the hot path completes, both memories, the thread to run, its space and its registers must agree;
//! where it leaves, nothing may have changed. Planted bugs, a damaged instruction each, must be noticed.
#![expect(clippy::indexing_slicing, reason = "an index out of range fails the test, as it should")]

use abi::{MessageInfo, Rights, Syscall};
use microkernel::entry;
use microkernel::object::endpoint::EndpointState;
use microkernel::object::store::Store;
use microkernel::object::thread::{Exit, ThreadState, hot, register};
use model::instruction::{Instruction, decode};
use model::interpreter::{End, Registers, run};
use model::section::{HotSection, SectionError, default_kernel};
use model::world::{World, control, slot};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

/// A state that can exist, in the terms in which it differs from the usual one.
#[derive(Clone, Debug)]
struct Case {
    operation: Syscall,
    capability: u64,
    reply: u64,
    info: u64,
    endpoint_rights: u64,
    reply_grants: bool,
    nested: bool,
    priorities: [u64; 2],
    ready: Option<u64>,
    stolen: bool,
    no_space_lookup: bool,
    somebody_waits: bool,
    notification_pending: bool,
    hot: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let usually =
        |usual: u64, others: Vec<u64>| prop_oneof![12 => Just(usual), 1 => proptest::sample::select(others)];
    let seldom = || proptest::bool::weighted(0.05);
    let names = (
        prop_oneof![Just(Syscall::Call), Just(Syscall::ReplyRecv)],
        usually(slot::ENDPOINT, vec![0, slot::REPLY, 3, slot::COUNT, u64::MAX, 1 << 59 | slot::ENDPOINT]),
        usually(slot::REPLY, vec![0, slot::ENDPOINT, 3, slot::COUNT, u64::MAX, 1 << 59 | slot::REPLY]),
        prop_oneof![
            8 => (0..9_u8, 0..1_u64 << 48).prop_map(|(length, label)| MessageInfo::new(label, length).raw()),
            1 => any::<u64>(),
            1 => 0..1_u64 << 16,
        ],
    );
    let state = (
        prop_oneof![6 => Just(15), 1 => 0..16_u64],
        any::<bool>(),
        any::<bool>(),
        [99..102_u64, 99..102_u64],
        proptest::option::weighted(0.3, 98..103_u64),
        seldom(),
        seldom(),
        seldom(),
        seldom(),
        prop_oneof![12 => Just(0), 1 => proptest::sample::select(vec![
            hot::ACTIVE, hot::NO_REPLY, hot::NO_SPACE, hot::FAULT, hot::FULL_EXIT, hot::HOST, 1 << hot::HOME_SHIFT,
        ])],
    );
    (names, state).prop_map(|((operation, capability, reply, info), state)| {
        let (endpoint_rights, reply_grants, nested, priorities, ready, stolen, lookup, waits, pending, hot) =
            state;
        Case {
            operation,
            capability,
            reply,
            info,
            endpoint_rights,
            reply_grants,
            nested,
            priorities,
            ready,
            stolen,
            no_space_lookup: lookup,
            somebody_waits: waits,
            notification_pending: pending,
            hot,
        }
    })
}

/// The world in which the case's thread is about to make its call.
fn world_of(section: &HotSection, case: &Case) -> World {
    let mut world = World::new();
    let [client, server] = [world.client, world.server];
    if case.nested {
        world.nest();
    }
    if case.operation == Syscall::ReplyRecv {
        // The intact hot path brings the server to its answer.
        let mut registers = world.registers(client, Syscall::Call, [slot::ENDPOINT, 0, 0]);
        let start = section.symbols.get("bixi_hot_call").copied().unwrap_or(0);
        assert_eq!(run(section, start, &mut registers, &mut world).end, End::Return);
    }
    let rights = Rights::from_raw(case.endpoint_rights).unwrap_or(Rights::ALL);
    world.set_rights(rights, if case.reply_grants { Rights::ALL } else { Rights::NONE });
    let running = if case.operation == Syscall::Call { client } else { server };
    let waiting = if case.operation == Syscall::Call { server } else { client };
    world.machine.get(running).priority.set(case.priorities[0]);
    let waiting_tcb = world.machine.get(waiting);
    waiting_tcb.priority.set(case.priorities[1]);
    waiting_tcb.hot.set(case.hot);
    if case.stolen {
        let space = waiting_tcb.vspace.get().map(|space| world.machine.get(space));
        space.into_iter().for_each(|space| space.hardware_asid.set(0));
    }
    if case.no_space_lookup {
        world.machine.get(running).cspace_size.set(0);
    }
    if case.notification_pending {
        world.machine.get(running).notification_pending.set(1);
    }
    if case.somebody_waits {
        // Somebody else where the usual case has one receiver, or nobody.
        let endpoint = world.machine.get(world.endpoint);
        endpoint.head.set(world.other.raw() | EndpointState::Senders as u64);
    }
    // A thread that runs has at least the priority of those that are ready.
    world.ready = case.ready.filter(|priority| *priority <= case.priorities[0]);
    world
}

/// What a run of the hot path must satisfy; `Err` says what does not.
fn judge(intact: &HotSection, damaged: &HotSection, case: &Case) -> Result<bool, String> {
    let mut world = world_of(intact, case);
    let running = if case.operation == Syscall::Call { world.client } else { world.server };
    let before = world.clone();
    let start = damaged.symbols.get("bixi_hot_call").copied().unwrap_or(0);
    let mut entry = world.registers(running, case.operation, [case.capability, case.info, case.reply]);
    // What the thread has in registers is not what was saved of it before.
    for number in [register::SP, register::FP, register::S8] {
        entry.general[number] ^= 0x5a5a_0000_0000;
    }
    let entry = entry;
    let mut registers = entry.clone();
    match run(damaged, start, &mut registers, &mut world).end {
        End::Left(target) => {
            let ways_out =
                ["bixi_hot_slow", "bixi_slow_syscall"].map(|name| damaged.symbols.get(name).copied());
            let unchanged = before.words(&before.machine) == before.words(&world.machine);
            let kept = (1..32).filter(|number| !(12..=18).contains(number) && *number != 21);
            let same = kept.into_iter().all(|number| registers.general[number] == entry.general[number]);
            if !ways_out.contains(&Some(target)) || !unchanged || !same || registers.control != entry.control
            {
                return Err(format!("left to {target:#x} after changing something"));
            }
            Ok(false)
        }
        End::Return => compare(&before, &world, &entry, &registers, case).map(|()| true),
        other => Err(format!("{other:x?}")),
    }
}

/// Runs the core on the memory as it was, and compares.
fn compare(
    before: &World,
    after: &World,
    entry: &Registers,
    hot: &Registers,
    case: &Case,
) -> Result<(), String> {
    let running = if case.operation == Syscall::Call { before.client } else { before.server };
    let mut k = before.kernel(running);
    let tcb = k.get(running);
    for number in (1..12).chain(21..32) {
        tcb.registers[number].set(entry.general[number]);
    }
    tcb.exit.set(Exit::Minimal as u64);
    entry::handle_syscall(&mut k);

    let words = before.words(&k.machine).into_iter().zip(before.words(&after.machine));
    if let Some((slow, hot)) = words.into_iter().find(|(slow, hot)| slow != hot) {
        return Err(format!("memory: slow {slow:x?}, hot {hot:x?}"));
    }
    let next = k.current();
    let same = |what: &str, slow: u64, hot: u64| {
        if slow == hot { Ok(()) } else { Err(format!("{what}: slow {slow:#x}, hot {hot:#x}")) }
    };
    same("thread", next.raw(), hot.control[&control::KS1])?;
    let tcb = k.get(next);
    same("pc", tcb.registers[register::PC].get(), hot.control[&control::ERA])?;
    let (root, asid) = k.machine.space;
    same("root", root.0, hot.control[&control::PGDL])?;
    same("identifier", asid.0, hot.control[&control::ASID])?;
    same("EUEN", tcb.euen.get(), hot.control[&control::EUEN])?;
    same("$tp", tcb.tls_base.get(), hot.general[register::TP])?;
    for number in [register::SP, register::FP, register::S8, register::A0, register::A1] {
        same("register", tcb.registers[number].get(), hot.general[number])?;
    }
    let length = MessageInfo::from_raw(hot.general[register::A1]).length();
    for number in abi::message::REGISTERS.into_iter().take(length) {
        same("message", tcb.registers[number].get(), hot.general[number])?;
    }
    // Where the caller goes on when it is answered.
    let sender = after.machine.get(running);
    let kept = [register::SP, register::FP, register::S8];
    for number in kept {
        same("kept", sender.registers[number].get(), entry.general[number])?;
    }
    same("kept pc", sender.registers[register::PC].get(), k.get(running).registers[register::PC].get())?;
    // C-8: every register outside the contract is zero or the sender's own.
    let contract = [register::TP, register::SP, register::A0, register::FP, register::S8];
    for number in (1..32).filter(|number| !contract.contains(number)) {
        let value = hot.general[number];
        if value != 0 && value != entry.general[number] {
            return Err(format!("register {number} shows {value:#x}"));
        }
    }
    let waits = k.get(running).thread_state();
    let expected = [ThreadState::BlockedOnReply, ThreadState::BlockedOnReceive];
    if expected.contains(&waits) { Ok(()) } else { Err(format!("the sender is {waits:?}")) }
}

fn section() -> Result<HotSection, SectionError> {
    HotSection::read(&default_kernel())
}

/// States a run: `BIXI_CASES`, or what CI has time for.
fn case_count() -> u32 {
    std::env::var("BIXI_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(20_000)
}

#[test]
fn hot_and_slow_path_agree() {
    let section = section().unwrap();
    let mut runner =
        TestRunner::new(Config { cases: case_count(), failure_persistence: None, ..Config::default() });
    let completed = std::cell::Cell::new(0_u64);
    runner
        .run(&cases(), |case| {
            match judge(&section, &section, &case) {
                Ok(done) => completed.set(completed.get() + u64::from(done)),
                Err(reason) => return Err(TestCaseError::fail(reason)),
            }
            Ok(())
        })
        .unwrap();
    let completed = completed.get();
    println!("{completed} of {} states took the hot path", case_count());
    assert!(completed > u64::from(case_count()) / 20, "the states are not what the hot path is for");
}

#[test]
fn planted_bugs_are_noticed() {
    let intact = section().unwrap();
    let call = intact.symbol("bixi_hot_call").unwrap();
    let states = sample(2_000);
    // Each of these instructions of Call, in order of its tests and stores, becomes a `nop`.
    let tests = (call..call + 4 * 34).step_by(4).filter(|at| {
        intact.word(*at).and_then(decode).is_some_and(|found| matches!(found, Instruction::Branch(..)))
    });
    let stores = (call + 4 * 34..call + 4 * 60).step_by(4).filter(|at| {
        intact.word(*at).and_then(decode).is_some_and(|found| matches!(found, Instruction::Store(..)))
    });
    let mut planted = 0;
    for address in tests.skip(1).chain(stores) {
        let mut damaged = intact.clone();
        let index = usize::try_from((address - intact.address) / 4).unwrap();
        damaged.words[index] = NOP;
        planted += 1;
        let noticed = states.iter().any(|case| judge(&intact, &damaged, case).is_err());
        assert!(noticed, "without the instruction at {address:#x} nothing is wrong");
    }
    assert!(planted > 15, "{planted} bugs planted");
}

/// `andi $zero, $zero, 0`.
const NOP: u32 = 0x0340_0000;

/// States that are the same in every run.
fn sample(count: usize) -> Vec<Case> {
    let mut runner = TestRunner::deterministic();
    (0..count).filter_map(|_| cases().new_tree(&mut runner).ok()).map(|tree| tree.current()).collect()
}
