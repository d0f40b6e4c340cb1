//! The hot path's bytes on the mock machine: how many instructions it takes, and what it leaves.

use abi::{MessageInfo, Syscall};
use microkernel::object::store::Store;
use microkernel::object::thread::ThreadState;
use model::interpreter::{End, Registers, Run, run};
use model::section::{HotSection, SectionError, default_kernel};
use model::world::{BADGE, World, control, slot};

fn execute(world: &mut World, registers: &mut Registers) -> Result<Run, SectionError> {
    let section = HotSection::read(&default_kernel())?;
    let start = section.symbol("bixi_hot_call")?;
    Ok(run(&section, start, registers, world))
}

fn call(world: &World) -> Registers {
    world.registers(world.client, Syscall::Call, [slot::ENDPOINT, MessageInfo::new(5, 8).raw(), 0])
}

fn reply(world: &World) -> Registers {
    world.registers(
        world.server,
        Syscall::ReplyRecv,
        [slot::ENDPOINT, MessageInfo::new(6, 8).raw(), slot::REPLY],
    )
}

#[test]
fn a_round_trip_is_within_its_budget() {
    let mut world = World::new();
    let mut registers = call(&world);
    let there = execute(&mut world, &mut registers).unwrap();
    assert_eq!(there.end, End::Return);
    let mut registers = reply(&world);
    let back = execute(&mut world, &mut registers).unwrap();
    assert_eq!(back.end, End::Return);
    println!("call {} + reply {} instructions", there.instructions, back.instructions);
    assert!(there.instructions + back.instructions <= 250, "{there:?} {back:?}");
}

#[test]
fn a_call_donates_and_a_reply_gives_back() {
    let mut world = World::new();
    let before = world.clone();
    let mut registers = call(&world);
    let sent = registers.clone();
    assert_eq!(execute(&mut world, &mut registers).unwrap().end, End::Return);

    let (client, server) = (world.machine.get(world.client), world.machine.get(world.server));
    assert_eq!((client.thread_state(), client.reply()), (ThreadState::BlockedOnReply, Some(world.reply)));
    assert_eq!((client.sched_context.get(), server.sched_context.get()), (None, Some(world.context)));
    assert_eq!(server.state.get(), 0);
    assert_eq!(world.machine.get(world.endpoint).head.get(), 0);
    assert_eq!(world.machine.get(world.context).thread.get(), Some(world.server));
    assert_eq!(registers.control[&control::ERA], server.registers[0].get());
    assert_eq!(registers.control[&control::PGDL], world.machine.get(world.spaces[1]).root_address.get());
    assert_eq!(registers.control[&control::KS1], world.server.raw());
    assert_eq!(registers.general[4], BADGE);
    for message in abi::message::REGISTERS.into_iter().chain([5]) {
        assert_eq!(
            registers.general[message], sent.general[message],
            "register {message} is untouched (C-7)"
        );
    }
    for (number, value) in registers.general.into_iter().enumerate() {
        let contract = [0, 2, 3, 4, 22, 31].contains(&number);
        let own = value == sent.general[number];
        assert!(contract || value == 0 || own, "register {number} holds nothing of the kernel's (C-8)");
    }

    let mut registers = reply(&world);
    assert_eq!(execute(&mut world, &mut registers).unwrap().end, End::Return);
    assert_eq!(registers.general[4], 0);
    assert_eq!(registers.control[&control::ERA], before.machine.get(before.client).registers[0].get() + 4);
    for object in [world.endpoint.raw(), world.reply.raw(), world.context.raw()] {
        for word in (0..64).step_by(8) {
            use microkernel::{address::WindowAddr, arch::Machine};
            let at = WindowAddr(object + word);
            // can_grant keeps the last sender's right, which a waiting Reply does not use.
            if at.0 != world.reply.raw() + 32 {
                assert_eq!(world.machine.load(at), before.machine.load(at), "{at:x?}");
            }
        }
    }
}

#[test]
fn a_nested_call_costs_at_most_five_more_each_way() {
    let counts = [false, true].map(|nested| {
        let mut world = World::new();
        if nested {
            world.nest();
        }
        let mut registers = call(&world);
        let there = execute(&mut world, &mut registers).unwrap();
        let mut registers = reply(&world);
        let back = execute(&mut world, &mut registers).unwrap();
        assert_eq!((there.end, back.end), (End::Return, End::Return));
        let older = world.machine.get(world.older_reply);
        assert_eq!(older.sched_context.get().is_some(), nested, "the older Reply is on top again");
        (there.instructions, back.instructions)
    });
    let [(call, reply), (nested_call, nested_reply)] = counts;
    assert!(nested_call <= call + 5 && nested_reply <= reply + 5, "{counts:?}");
}
