//! The hosted path's bytes on the mock machine: what a program's call, Enter, Switch and EnterFull take, what they
//! leave in registers, and what they leave to the slow path (C-13, C-14, C-23 to C-27).
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops at what it does not expect")]

use std::sync::LazyLock;

use abi::context::Context;
use abi::{MessageInfo, Syscall};
use microkernel::capability::cap::tag;
use microkernel::object::host::{FREE, Host, HostedContext, context, pending};
use microkernel::object::store::{Ref, Store};
use microkernel::object::thread::{Exit, Tcb, register};
use model::interpreter::{End, Memory, Registers, Run, run};
use model::section::{HotSection, default_kernel};
use model::world::{World, control};

/// PRMD of a program, of its host.
const PROGRAM: u64 = 7;
const HOST: u64 = 6;
const BLOCK: u64 = 0xffff_8002_0001_8000;
const ENTRIES: [u64; 4] =
    [0xffff_8001_2000_0000, 0xffff_8001_2000_1000, 0xffff_8001_2000_2000, 0xffff_8001_2000_3000];
const PC: u64 = 0x1_4000_0010;

/// A host's thread with two contexts, of which the first is current.
struct Hosted<'a> {
    section: &'a HotSection,
    world: World,
    host: Ref<Host>,
    thread: Ref<Tcb>,
}

impl<'a> Hosted<'a> {
    fn new(section: &'a HotSection) -> Self {
        let world = World::new();
        let thread = world.client;
        let host: Ref<Host> = world.slots.element(128).cast();
        let contexts = world.slots.raw() + 0x2000;
        let tcb = world.machine.get(thread);
        for (number, space) in (1..).zip(world.spaces) {
            let record = world.machine.get(context(host, number));
            record.space.object.set(space.raw() | tag::VSPACE);
            record.current.set(FREE);
            record.context.set(contexts + 2048 * number);
            record.euen.set(number);
        }
        world.machine.get(context(host, 1)).current.set(thread.raw());
        tcb.host.set(Some(host));
        tcb.context_count.set(8);
        tcb.hosted.set(Some(context(host, 1)));
        for (place, entry) in tcb.host_entries.iter().zip(ENTRIES) {
            place.set(entry);
        }
        Self { section, world, host, thread }
    }

    fn record(&self, number: u64) -> &HostedContext {
        self.world.machine.get(context(self.host, number))
    }

    /// Every general register different, and the control registers of a trap.
    fn registers(&self, prmd: u64, era: u64) -> Registers {
        let mut registers = self.world.registers(self.thread, Syscall::Call, [0; 3]);
        for (number, value) in (1..).zip(registers.general.iter_mut().skip(1)) {
            *value = 0x5a5a_0000_0000_0000 + number;
        }
        registers.control.extend([
            (control::PRMD, prmd),
            (control::ERA, era),
            (control::KS2, BLOCK),
            (control::KS3, ENTRIES[0]),
        ]);
        registers
    }

    fn run(&mut self, symbol: &str, registers: &mut Registers) -> Run {
        let Ok(start) = self.section.symbol(symbol) else {
            return Run { end: End::Endless, instructions: 0 };
        };
        run(self.section, start, registers, &mut self.world)
    }

    /// Where a run left the section to.
    fn left_to(&mut self, symbol: &str, registers: &mut Registers) -> String {
        match self.run(symbol, registers).end {
            End::Left(address) => {
                let mut names = self.section.symbols.iter();
                let found = names.find(|(name, at)| **at == address && name.starts_with("bixi"));
                found.map(|(name, _)| name.clone()).unwrap_or_default()
            }
            end => format!("{end:?}"),
        }
    }
}

/// The kernel's section, read once.
static SECTION: LazyLock<HotSection> = LazyLock::new(|| match HotSection::read(&default_kernel()) {
    Ok(section) => section,
    Err(error) => unreachable!("{error}"),
});

/// The registers that a trap may change.
fn unchanged_but(before: &Registers, after: &Registers, changed: &[usize]) {
    for (number, (before, after)) in before.general.iter().zip(&after.general).enumerate() {
        assert!(changed.contains(&number) || after == before, "register {number}: {after:#x}");
    }
}

fn a_programs_call_takes_eight_instructions(section: &HotSection) {
    calls(section, [0, 5, 4095, 1 << 63].into_iter());
}

fn calls(section: &HotSection, numbers: impl Iterator<Item = u64>) {
    for number in numbers {
        let mut hosted = Hosted::new(section);
        let mut registers = hosted.registers(PROGRAM, PC);
        registers.general[register::A7] = number;
        let before = registers.clone();
        let run = hosted.run("bixi_hosted_call", &mut registers);
        assert_eq!(run, Run { end: End::Return, instructions: 8 }, "call {number}");
        assert_eq!((registers.control[&control::ERA], registers.control[&control::PRMD]), (ENTRIES[0], HOST));
        assert_eq!(registers.general[12..15], [BLOCK, PC, 0], "block, pc, nothing");
        unchanged_but(&before, &registers, &[12, 13, 14]);
    }
}

fn enter_takes_eleven_instructions(section: &HotSection) {
    let mut hosted = Hosted::new(section);
    let mut registers = hosted.registers(HOST, ENTRIES[0] + 0x40);
    registers.general[13] = PC;
    let before = registers.clone();
    let run = hosted.run("bixi_hosted_break", &mut registers);
    assert_eq!(run, Run { end: End::Return, instructions: 11 });
    assert_eq!((registers.control[&control::ERA], registers.control[&control::PRMD]), (PC, PROGRAM));
    assert_eq!(registers.general[12..14], [0, 0]);
    unchanged_but(&before, &registers, &[12, 13]);
}

fn a_kick_stops_enter_with_every_register_in_the_context(section: &HotSection) {
    let mut hosted = Hosted::new(section);
    hosted.world.machine.get(hosted.thread).host_pending.set(pending::KICK);
    let mut registers = hosted.registers(HOST, ENTRIES[0] + 0x40);
    registers.general[13] = PC;
    let before = registers.clone();
    for number in 0..32 {
        hosted.world.store(hosted.record(1).context.get() + 8 * number, u64::MAX).unwrap();
    }
    assert_eq!(hosted.run("bixi_hosted_break", &mut registers).end, End::Return);
    assert_eq!((registers.control[&control::ERA], registers.control[&control::PRMD]), (ENTRIES[2], HOST));
    assert_eq!(registers.general[12], BLOCK);
    let memory = hosted.record(1).context.get();
    assert_eq!(hosted.world.load(memory), Some(PC));
    for number in 1..32 {
        let wanted = if [12, 13].contains(&number) { 0 } else { before.general[number] };
        assert_eq!(
            hosted.world.load(memory + 8 * u64::try_from(number).unwrap()),
            Some(wanted),
            "register {number}"
        );
    }
    hosted.world.machine.get(hosted.thread).host_pending.set(pending::NO_CONTEXT);
    let mut registers = hosted.registers(HOST, ENTRIES[0] + 0x40);
    assert_eq!(hosted.left_to("bixi_hosted_break", &mut registers), "bixi_slow_exception");
    assert_eq!(registers.control[&control::PRMD], HOST, "the host's fault");
    assert_eq!(registers.general[12], 0, "nothing of the kernel's");
}

fn a_programs_break_and_interrupt_lose_no_register(section: &HotSection) {
    for (symbol, target) in [
        ("bixi_hosted_break", "bixi_program_exception"),
        ("bixi_hosted_interrupt", "bixi_program_interrupted"),
    ] {
        let mut hosted = Hosted::new(section);
        let mut registers = hosted.registers(PROGRAM, PC);
        let before = registers.clone();
        assert_eq!(hosted.left_to(symbol, &mut registers), target);
        if target == "bixi_program_exception" {
            assert_eq!(registers.control[&control::KS4], before.general[12]);
            unchanged_but(&before, &registers, &[12]);
        } else {
            let memory = hosted.record(1).context.get();
            assert_eq!(hosted.world.load(memory), Some(PC));
            for number in 1..32 {
                let at = memory + 8 * u64::try_from(number).unwrap();
                assert_eq!(hosted.world.load(at), Some(before.general[number]), "register {number}");
            }
        }
    }
    let mut hosted = Hosted::new(section);
    let mut registers = hosted.registers(HOST, ENTRIES[1]);
    let before = registers.clone();
    assert_eq!(hosted.left_to("bixi_hosted_interrupt", &mut registers), "bixi_slow_interrupt");
    unchanged_but(&before, &registers, &[]);
}

fn own_call(hosted: &Hosted, call: Syscall, argument: u64) -> Registers {
    let mut registers = hosted.registers(HOST, ENTRIES[0] + 0x80);
    for (number, value) in [(register::A7, call.raw()), (register::A0, argument)] {
        registers.general.get_mut(number).into_iter().for_each(|place| *place = value);
    }
    registers
}

fn switch(hosted: &Hosted, number: u64) -> Registers {
    own_call(hosted, Syscall::Switch, number)
}

fn switch_takes_34_instructions_and_moves_the_current_context(section: &HotSection) {
    let mut hosted = Hosted::new(section);
    let mut registers = switch(&hosted, 2);
    let before = registers.clone();
    let run = hosted.run("bixi_hosted_call", &mut registers);
    assert_eq!(run, Run { end: End::Return, instructions: 34 });
    let space = hosted.world.machine.get(hosted.world.spaces[1]);
    assert_eq!(registers.control[&control::PGDL], space.root_address.get());
    assert_eq!(registers.control[&control::ASID], space.hardware_asid.get());
    assert_eq!(registers.control[&control::EUEN], 2);
    assert_eq!(registers.control[&control::ERA], ENTRIES[0] + 0x84);
    assert_eq!(registers.control[&control::PRMD], HOST);
    assert_eq!(registers.general[register::A1], MessageInfo::from_kernel(0, 0).raw());
    // What is left in a temporary is nothing, or the call's own address.
    for number in 12..=20 {
        let value = registers.general[number];
        assert!(
            value == 0 || value == before.general[number] || value == ENTRIES[0] + 0x80,
            "register {number}"
        );
    }
    unchanged_but(&before, &registers, &[5, 12, 13, 14, 15]);
    assert_eq!(hosted.record(1).current.get(), FREE);
    assert_eq!(hosted.record(2).current.get(), hosted.thread.raw());
    assert_eq!(hosted.world.machine.get(hosted.thread).hosted.get(), Some(context(hosted.host, 2)));
}

fn what_switch_does_not_know_is_left_alone(section: &HotSection) {
    type Change = fn(&Hosted);
    let cases: [(&str, u64, Change); 6] = [
        ("the header", 0, |_| ()),
        ("past the end", 8, |hosted| {
            hosted.record(8).space.object.set(hosted.world.spaces[1].raw() | tag::VSPACE);
            hosted.record(8).current.set(FREE);
        }),
        ("its own", 1, |_| ()),
        ("no space", 3, |_| ()),
        ("somebody else's", 2, |hosted| hosted.record(2).current.set(hosted.world.server.raw())),
        ("a stolen identifier", 2, |hosted| {
            hosted.world.machine.get(hosted.world.spaces[1]).hardware_asid.set(0);
        }),
    ];
    for (name, number, change) in cases {
        let mut hosted = Hosted::new(section);
        change(&hosted);
        let mut registers = switch(&hosted, number);
        let before = registers.clone();
        assert_eq!(hosted.left_to("bixi_hosted_call", &mut registers), "bixi_hosted_slow", "{name}");
        // The slow path finds every register that C-6 preserves, and no value of the kernel's in `$t0`.
        unchanged_but(&before, &registers, &[12, 13, 14, 15]);
        assert_eq!(registers.general[12], 0);
        assert_eq!(hosted.world.machine.get(hosted.thread).hosted.get(), Some(context(hosted.host, 1)));
        assert_eq!(registers.control[&control::PGDL], before.control[&control::PGDL]);
    }
    // Other calls keep `$t0`, which is an argument of some.
    for call in [Syscall::Call, Syscall::NBSendRecv, Syscall::SyncVector] {
        let mut hosted = Hosted::new(section);
        let mut registers = own_call(&hosted, call, 0);
        let before = registers.clone();
        assert_eq!(hosted.left_to("bixi_hosted_call", &mut registers), "bixi_hosted_slow", "{call:?}");
        unchanged_but(&before, &registers, &[13, 14]);
    }
}

fn enter_full_loads_every_register(section: &HotSection) {
    let mut hosted = Hosted::new(section);
    let memory = hosted.record(1).context.get();
    for number in 0..32 {
        hosted.world.store(memory + 8 * number, 0x7000 + number).unwrap();
    }
    let mut registers = own_call(&hosted, Syscall::EnterFull, 0);
    let run = hosted.run("bixi_hosted_call", &mut registers);
    assert_eq!(run.end, End::Return);
    assert!(run.instructions <= 52, "{run:?}");
    assert_eq!((registers.control[&control::ERA], registers.control[&control::PRMD]), (0x7000, PROGRAM));
    for (number, value) in registers.general.iter().enumerate().skip(1) {
        assert_eq!(*value, 0x7000 + u64::try_from(number).unwrap());
    }
    // A kick, and flags, are looked at elsewhere.
    hosted.world.machine.get(hosted.thread).host_pending.set(pending::KICK);
    let mut registers = own_call(&hosted, Syscall::EnterFull, 0);
    assert_eq!(hosted.run("bixi_hosted_call", &mut registers).end, End::Return);
    assert_eq!((registers.control[&control::ERA], registers.control[&control::PRMD]), (ENTRIES[2], HOST));
    assert_eq!(registers.general[12], BLOCK);
    hosted.world.machine.get(hosted.thread).host_pending.set(pending::NO_CONTEXT);
    let mut registers = own_call(&hosted, Syscall::EnterFull, 0);
    assert_eq!(hosted.left_to("bixi_hosted_call", &mut registers), "bixi_hosted_slow");
    hosted.world.machine.get(hosted.thread).host_pending.set(0);
    let mut registers = own_call(&hosted, Syscall::EnterFull, 1);
    assert_eq!(hosted.left_to("bixi_hosted_call", &mut registers), "bixi_hosted_slow");
    assert_eq!(Exit::Minimal as u64, 0);
    assert_eq!(size_of::<Context>(), 2048);
}

/// Every vector leads where its table says.
fn each_vector_has_its_way(section: &HotSection) {
    let table = section.symbol("bixi_hosted_vectors").unwrap();
    let exception = section.symbol("bixi_hosted_exception").unwrap();
    for vector in (0..80).filter(|vector| ![0xb, 0xc].contains(vector)) {
        let mut registers = Registers::default();
        let end = run(section, table + 512 * vector, &mut registers, &mut World::new());
        if vector < 64 {
            assert_eq!(end, Run { end: End::Left(exception), instructions: 1 }, "vector {vector}");
        } else if vector < 79 {
            // To where an interrupt's first instruction is: it saves `$t0`.
            let mut hosted = Hosted::new(section);
            let mut registers = hosted.registers(HOST, ENTRIES[1]);
            let interrupt = section.symbol("bixi_slow_interrupt").unwrap();
            let end = run(section, table + 512 * vector, &mut registers, &mut hosted.world);
            assert_eq!(end.end, End::Left(interrupt), "vector {vector}");
        }
    }
}

/// Asserts something of a section.
type Check = fn(&HotSection);

const CHECKS: &[(&str, Check)] = &[
    ("a_programs_call_takes_eight_instructions", a_programs_call_takes_eight_instructions),
    ("enter_takes_eleven_instructions", enter_takes_eleven_instructions),
    (
        "a_kick_stops_enter_with_every_register_in_the_context",
        a_kick_stops_enter_with_every_register_in_the_context,
    ),
    ("a_programs_break_and_interrupt_lose_no_register", a_programs_break_and_interrupt_lose_no_register),
    (
        "switch_takes_34_instructions_and_moves_the_current_context",
        switch_takes_34_instructions_and_moves_the_current_context,
    ),
    ("what_switch_does_not_know_is_left_alone", what_switch_does_not_know_is_left_alone),
    ("enter_full_loads_every_register", enter_full_loads_every_register),
    ("each_vector_has_its_way", each_vector_has_its_way),
];

#[test]
fn the_hosted_path_does_what_it_should() {
    for (name, check) in CHECKS {
        println!("{name}");
        check(&SECTION);
    }
}

#[test]
fn every_number_reaches_the_host_in_the_same_count() {
    calls(&SECTION, (0..4096).chain([1 << 12, 1 << 32, 1 << 63, u64::MAX]));
}

/// What the two shared pieces do once for their other users alone: Enter's kick saves a `$t0` of 0 when `$t1` is 0,
/// EnterFull's kick finds PRMD as it has to be. `csrrd $t1, KS4` and `csrwr $t1, PRMD`.
const FOR_OTHERS: [u32; 2] = [0x0400_d00d, 0x0400_042d];
/// `nop`.
const NOTHING: u32 = 0x0340_0000;

#[test]
fn each_instruction_that_is_left_out_is_missed() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let start = SECTION.symbol("bixi_hosted_vectors").unwrap();
    let end = SECTION.symbol("bixi_hosted_end").unwrap();
    let mut unnoticed = Vec::new();
    let mut tried = 0;
    for address in (start..end).step_by(4) {
        let index = usize::try_from((address - SECTION.address) / 4).unwrap();
        let mut damaged = SECTION.clone();
        if [0, NOTHING].contains(&damaged.words[index]) {
            continue;
        }
        damaged.words[index] = NOTHING;
        tried += 1;
        let noticed = CHECKS.iter().any(|(_, check)| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&damaged))).is_err()
        });
        if !noticed {
            unnoticed.push(SECTION.words[index]);
        }
    }
    std::panic::set_hook(hook);
    assert!(tried > 250, "{tried}");
    assert_eq!(unnoticed, FOR_OTHERS);
}
