//! Faults of programs and of hosts: who is told, and what (C-22, C-25, C-29, CASES 21, 21c).

use core::mem::offset_of;

use abi::context::{Context, access};
use abi::fault::Fault;
use abi::{LOWER_HALF_END, ObjectType, PAGE_BITS, PAGE_BYTES, Rights, UPPER_HALF_START};
use runtime::message::info;
use runtime::registers::{A0, PC};
use runtime::space::{Access, map};
use runtime::stubs::Frame;
use runtime::trap::{NO_WORDS, instruction_barrier};

use super::stories;
use crate::kit::failure::{Failure, Outcome, equal, holds};
use crate::kit::hosting::code::{DELTA, OWN_FAULT, OWN_FAULTS, order, report};
use crate::kit::hosting::house::{BUFFER, CODE, CONTEXTS, DATA, HOST_CONTROL, House, How, Place};
use crate::kit::hosting::program::Program;
use crate::kit::stage::Stage;

stories! {
    a_programs_fault_is_told_to_its_host,
    a_program_goes_on_behind_its_fault,
    no_alias_reaches_the_host,
    a_hosts_fault_in_a_programs_memory_is_mended_or_counted,
    a_hosts_fault_in_its_own_half_is_for_its_handler,
    enter_without_a_context_is_a_fault,
    upper_halves_are_for_hosts,
}

/// Where no program has anything.
const HOLE: u64 = 0x3_0000_0000;
/// ESTAT's Ecode and EsubCode, as a user exception's cause has them.
fn cause(estat: u64) -> (u64, u64) {
    (estat >> 16 & 0x3f, estat >> 22 & 0x1ff)
}

/// Lets a program execute one instruction with `$a0` = `argument`, and tells what its host hears.
fn execute(
    house: &House,
    place: Place,
    instruction: u32,
    argument: u64,
    switch: Option<u64>,
) -> Result<(u64, u64), Failure> {
    let word = place.code.get() & !0xffff_ffff | u64::from(instruction);
    place.code.set(word);
    instruction_barrier();
    house.register(place.context, PC).set(CODE);
    house.register(place.context, A0).set(argument);
    house.run(How::Full, switch)
}

/// An instruction, its `$a0`, and the Ecode, EsubCode and address of the fault; `None` for no address.
type Case = (&'static str, u32, u64, u64, u64, Option<u64>);

const LOAD: u32 = 0x28c0_008c;
const STORE: u32 = 0x29c0_008c;

const CASES: [Case; 12] = [
    ("load from a hole", LOAD, HOLE, 1, 0, Some(HOLE)),
    ("store to a hole", STORE, HOLE, 2, 0, Some(HOLE)),
    ("jump to a hole", 0x4c00_0080, HOLE, 3, 0, Some(HOLE)),
    ("store to text", STORE, CODE, 4, 0, Some(CODE)),
    ("load from the host", LOAD, BUFFER, 7, 0, Some(BUFFER)),
    ("store to the host", STORE, CONTEXTS, 7, 0, Some(CONTEXTS)),
    ("load from the kernel", LOAD, 0x9000_0000_0020_0000, 8, 1, Some(0x9000_0000_0020_0000)),
    ("break", 0x002a_0001, 0, 0xc, 0, None),
    ("undefined", 0, 0, 0xd, 0, None),
    ("csrrd", 0x0400_0004, 0, 0xe, 0, None),
    ("ertn", 0x0648_3800, 0, 0xe, 0, None),
    ("idle", 0x0648_8000, 0, 0xe, 0, None),
];

fn a_programs_fault_is_told_to_its_host(stage: &mut Stage) -> Outcome {
    let house = House::start(stage, 10)?;
    let place = house.program(stage, 1, Program::Instruction)?;
    let mut switch = Some(1);
    for (name, instruction, argument, code, subcode, address) in CASES {
        for register in 5..32 {
            house.register(1, register).set(0x5a00 + register as u64);
        }
        equal(name, execute(&house, place, instruction, argument, switch.take())?, (report::FAULT, 0))?;
        let word = |offset| house.word(1, offset).get();
        equal(name, cause(word(offset_of!(Context, cause))), (code, subcode))?;
        let pc = if code == 3 { HOLE } else { CODE };
        equal("the pc", (name, house.register(1, PC).get()), (name, pc))?;
        if let Some(address) = address {
            equal("the address", (name, word(offset_of!(Context, fault_address))), (name, address))?;
        }
        if code != 3 {
            let told = word(offset_of!(Context, fault_instruction));
            equal("the instruction", (name, told), (name, u64::from(instruction)))?;
        }
        for register in 5..32 {
            equal("a register", house.register(1, register).get(), 0x5a00 + register as u64)?;
        }
        equal("$a0", house.register(1, A0).get(), argument)?;
    }
    Ok(())
}

fn a_program_goes_on_behind_its_fault(stage: &mut Stage) -> Outcome {
    let house = House::start(stage, 10)?;
    let place = house.program(stage, 1, Program::Instruction)?;
    let mut switch = Some(1);
    for _ in 0..50 {
        equal("a break", execute(&house, place, 0x002a_0001, 0, switch.take())?, (report::FAULT, 0))?;
        house.register(1, PC).set(CODE + 4);
        equal("behind it", house.run(How::Full, None)?, (report::CALL, 402))?;
    }
    Ok(())
}

fn no_alias_reaches_the_host(stage: &mut Stage) -> Outcome {
    let house = House::start(stage, 10)?;
    let place = house.program(stage, 1, Program::Instruction)?;
    let image =
        stage.server.segments().iter().flat_map(|segment| {
            (0..segment.pages).map(move |page| DELTA + segment.address + page * PAGE_BYTES)
        });
    let own = [BUFFER, CONTEXTS, BUFFER - 3 * PAGE_BYTES];
    let mut switch = Some(1);
    // The program has a page of its own at the lower address of each, which an alias would bring in for the host's.
    let bait = Frame(stage.memory.make(ObjectType::Frame, PAGE_BITS)?);
    for page in image.clone().chain(own) {
        let copy = Frame(stage.memory.copy(bait.0, Rights::ALL)?);
        map(&mut stage.memory, place.space, copy, page & (LOWER_HALF_END - 1), Access::ReadWrite)?;
    }
    for page in image.chain(own) {
        // All bits above 47 are those of the lower half, or some of them.
        for alias in [page & 0xffff_ffff_ffff, page & !(1 << 63), page & !(1 << 48)] {
            for instruction in [LOAD, STORE] {
                let heard = execute(&house, place, instruction, alias, switch.take())?;
                equal("the host lives and hears of it", (alias, heard), (alias, (report::FAULT, 0)))?;
                let (code, _) = cause(house.word(1, offset_of!(Context, cause)).get());
                if ![1, 2, 7, 8].contains(&code) {
                    return Err(Failure::new(format_args!("{alias:#x}: fault {code}")));
                }
            }
        }
    }
    // The same the other way: a lower address with the upper bits set reaches nothing but the program's own page
    // (where the TLB compares 48 bits), and hides that from nobody for good.
    for alias in [DATA | 1 << 63, DATA | 0xffff << 48] {
        for _ in 0..2 {
            let heard = execute(&house, place, LOAD, alias, None)?;
            holds("refused, or its own", [(report::FAULT, 0), (report::CALL, 402)].contains(&heard))?;
            equal("its own", execute(&house, place, LOAD, DATA, None)?, (report::CALL, 402))?;
        }
        execute(&house, place, LOAD, alias, None)?;
        equal("the host's copy", house.order(order::ZERO, DATA, 8)?, 0)?;
    }
    Ok(())
}

fn a_hosts_fault_in_a_programs_memory_is_mended_or_counted(stage: &mut Stage) -> Outcome {
    let house = House::start(stage, 10)?;
    let place = house.program(stage, 1, Program::Calls)?;
    house.run(How::Full, Some(1))?;
    place.data.set(0x1234_5678_9abc_def0);
    equal("copied in", house.order(order::COPY, BUFFER + 16, DATA)?, 0)?;
    equal("copied out", house.order(order::COPY, DATA + 64, BUFFER + 16)?, 0)?;
    equal("what was copied", place.data.plus(64).get(), 0x1234_5678_9abc_def0)?;
    equal("no fault", OWN_FAULTS.get(), 0)?;
    let own_fault = || OWN_FAULT.map(|cell| cell.get());
    let end = DATA + PAGE_BYTES;
    let cases = [
        (order::COPY, HOLE, DATA, 8, HOLE, access::STORE, 2),
        (order::COPY, DATA, HOLE, 8, HOLE, access::LOAD, 1),
        (order::COPY, CODE, DATA, 8, CODE, access::STORE, 4),
        (order::COPY, DATA, end - 3, 5, end, access::LOAD, 1),
        (order::ZERO, end - 16, 40, 24, end, access::STORE, 2),
        (order::ZERO, end - 5, 40, 35, end, access::STORE, 2),
        (order::EXCHANGE, HOLE, 0, u64::MAX, HOLE, access::LOAD, 1),
    ];
    for (order, one, two, left, address, access, code) in cases {
        let before = OWN_FAULTS.get();
        equal("what remains", house.order(order, one, two)?, left)?;
        holds("the host was told", OWN_FAULTS.get() > before)?;
        let [pc, told @ ..] = own_fault();
        equal("address, access, cause", told, [address, access, code])?;
        holds("a pc of the host's", pc >= UPPER_HALF_START)?;
    }
    place.data.set(7);
    equal("exchanged", house.order(order::EXCHANGE, DATA, 7 << 32 | 9)?, 7)?;
    equal("not exchanged", house.order(order::EXCHANGE, DATA, 7 << 32 | 11)?, 9)?;
    equal("the word", place.data.get(), 9)?;
    // No routine of the host's for programs' memory: its bug.
    house.say(order::LOAD, HOLE, 0)?;
    let (reason, pc) = house.hear()?;
    holds("a bug is not resolved", reason == report::REFUSED && pc >= UPPER_HALF_START)
}

fn a_hosts_fault_in_its_own_half_is_for_its_handler(stage: &mut Stage) -> Outcome {
    let house = House::start(stage, 10)?;
    let reply = stage.reply()?;
    let hole = UPPER_HALF_START + 0x3_0000_0000;
    house.say(order::LOAD, hole, 0)?;
    let heard = house.fault(reply)?;
    equal("what is told", (heard.kind, heard.address, heard.cause), (Some(Fault::Page), hole, 1))?;
    holds("its pc", heard.pc >= UPPER_HALF_START)?;
    // The handler may mend it.
    let mut registers = house.tcb.read_registers()?;
    let [pc, ..] = &mut registers;
    *pc += 4;
    house.tcb.write_registers(runtime::registers::Resume::Leave, &registers)?;
    reply.send(info(0, 0), NO_WORDS)?;
    equal("it goes on", house.hear()?.0, report::DONE)
}

fn enter_without_a_context_is_a_fault(stage: &mut Stage) -> Outcome {
    let house = House::start(stage, 10)?;
    let reply = stage.reply()?;
    equal("EnterFull", house.run(How::Full, None)?.0, report::REFUSED)?;
    house.say(order::ENTER, CODE, 0)?;
    let heard = house.fault(reply)?;
    equal("what is told", (heard.kind, heard.cause), (Some(Fault::UserException), 0xc))
}

fn upper_halves_are_for_hosts(stage: &mut Stage) -> Outcome {
    use crate::kit::failure::refused;
    use crate::kit::stage::{CNODE, HERE, NOTHING};
    use abi::server::CNODE_RADIX;
    use abi::{Error, ObjectType};
    use runtime::space::{Access, map_new_page};
    use runtime::stubs::{Frame, Host, Tcb, VSpace};
    use runtime::thread::guard;
    let house = House::start(stage, 10)?;
    let page = Frame(stage.memory.make(ObjectType::Frame, abi::PAGE_BITS)?);
    refused("a lower address", page.map(house.upper, DATA, 3, 1), Error::RangeError)?;
    refused("twice", HOST_CONTROL.assign_upper(house.upper), Error::AlreadyBound)?;
    refused("a pool", stage.pool.assign(house.upper), Error::AlreadyBound)?;
    refused("a lower half", HOST_CONTROL.assign_upper(HERE), Error::AlreadyBound)?;
    let place = house.program(stage, 1, Program::Calls)?;
    let tcb = Tcb(stage.memory.make(ObjectType::Tcb, 0)?);
    let set = |space: VSpace| tcb.set_space(NOTHING, CNODE, space, guard(CNODE_RADIX));
    refused("a program's space for a thread", set(place.space), Error::AlreadyBound)?;
    refused("a thread's for a program", house.host.set_space(HERE, 2), Error::AlreadyBound)?;
    refused("an upper half for a program", house.host.set_space(house.upper, 2), Error::InvalidCapability)?;
    let none = VSpace(stage.memory.make(ObjectType::VSpace, 0)?);
    refused("no identifier", house.host.set_space(none, 2), Error::NoAsid)?;
    refused("the header", house.host.set_space(place.space, 0), Error::RangeError)?;
    refused("past the end", house.host.set_space(place.space, 8), Error::RangeError)?;
    let other = Host(stage.memory.make(ObjectType::Host, 9)?);
    refused("another host's", other.set_space(place.space, 1), Error::InvalidState)?;
    refused("twice", house.host.configure(HOST_CONTROL, house.upper, house.contexts), Error::InvalidState)?;
    refused("control", other.configure(page, house.upper, house.contexts), Error::InvalidCapability)?;
    refused("lower", other.configure(HOST_CONTROL, HERE, house.contexts), Error::InvalidArgument)?;
    let small = Host(stage.memory.make(ObjectType::Host, 10)?);
    refused("size", small.configure(HOST_CONTROL, house.upper, house.contexts), Error::InvalidArgument)?;
    other.configure(HOST_CONTROL, house.upper, house.contexts)?;
    refused("another host's", other.set_space(place.space, 1), Error::AlreadyBound)?;
    let own_space = house.tcb.set_space(NOTHING, CNODE, HERE, guard(CNODE_RADIX));
    refused("a space for a host's thread", own_space, Error::InvalidState)?;
    refused(
        "itself",
        crate::kit::stage::DIRECTOR.configure_host(house.host, 0, 0, 0, 0, 0),
        Error::InvalidState,
    )?;
    for (order, number, error) in [
        (order::SWITCH, 0, Error::RangeError),
        (order::SWITCH, 8, Error::RangeError),
        (order::SWITCH, u64::MAX, Error::RangeError),
        (order::SWITCH, 1 << 58 | 1, Error::RangeError),
        (order::SWITCH, 2, Error::InvalidState),
        (order::SYNC, 0, Error::RangeError),
        (order::SYNC, 8, Error::RangeError),
    ] {
        equal("refused", (number, house.order(order, number, 0)?), (number, error as u64))?;
    }
    equal("switched", house.order(order::SWITCH, 1, 0)?, 0)?;
    equal("again", house.order(order::SWITCH, 1, 0)?, 0)?;
    house.host.set_space(NOTHING, 1)?;
    equal("no space", house.order(order::SWITCH, 1, 0)?, Error::InvalidState as u64)?;
    house.host.set_space(place.space, 1)?;
    equal("a space again", house.order(order::SWITCH, 1, 0)?, 0)?;
    map_new_page(&mut stage.memory, house.upper, UPPER_HALF_START + 0x2_1000_0000, Access::ReadWrite)?;
    equal("a new page", house.order(order::LOAD, UPPER_HALF_START + 0x2_1000_0000, 0)?, 0)
}
