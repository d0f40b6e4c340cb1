//! Faults: what a handler hears, and what its answer does (C-4).

use abi::fault::Fault;
use abi::{CPtr, ObjectType, PAGE_BITS};
use runtime::message::info;
use runtime::registers::Resume;
use runtime::space::{Access, map};
use runtime::stubs::Frame as Page;
use runtime::trap::NO_WORDS;

use super::stories;
use crate::kit::assistant::Role;
use crate::kit::failure::{Failure, Outcome, equal, holds};
use crate::kit::fault::Heard;
use crate::kit::shared::{Cell, rest};
use crate::kit::stage::{HERE, Stage};

stories! {
    a_page_fault_is_answered_by_mapping,
    a_write_to_constants_is_a_page_fault,
    an_access_to_the_kernels_window_is_a_fault,
    an_exception_goes_on_where_the_answer_says,
    an_answer_that_is_not_zero_leaves_the_thread_stopped,
    privileged_and_undefined_instructions_are_exceptions,
    a_fault_without_a_handler_stops_the_thread,
    a_faulting_threads_registers_can_be_read_and_changed,
    a_passive_servers_fault_is_served_on_its_callers_time,
}

/// `ESTAT.Ecode` (manual volume 1, table 7-8): page invalid for a load, for a store, modification, and others.
mod cause {
    pub(super) const LOAD_INVALID: u64 = 1;
    pub(super) const STORE_INVALID: u64 = 2;
    pub(super) const MODIFIED: u64 = 4;
    pub(super) const ADDRESS: u64 = 8;
    pub(super) const BREAK: u64 = 0xc;
    pub(super) const UNDEFINED: u64 = 0xd;
    pub(super) const PRIVILEGED: u64 = 0xe;
    pub(super) const CODE: u64 = 0x3f;
}

/// An address that nothing is mapped at.
const HOLE: u64 = 0x3_0000_0000;

mod routines {
    #![expect(unsafe_code, reason = "instructions that fault")]

    core::arch::global_asm!(
        ".text",
        "bixi_guest_load: ld.d $a0, $a0, 0",
        "ret",
        "bixi_guest_store: st.d $a1, $a0, 0",
        "ret",
        "bixi_guest_break_7: break 7",
        "ret",
        "bixi_guest_csr: csrrd $a0, 0",
        "ret",
        "bixi_guest_idle: idle 0",
        "ret",
        "bixi_guest_undefined: .word 0xffffffff",
        "ret",
    );

    unsafe extern "C" {
        fn bixi_guest_load(address: u64) -> u64;
        fn bixi_guest_store(address: u64, value: u64);
        fn bixi_guest_break_7();
        fn bixi_guest_csr() -> u64;
        fn bixi_guest_idle();
        fn bixi_guest_undefined();
    }

    pub(super) fn load(address: u64) -> u64 {
        // SAFETY: a load, or a fault that the story's handler answers.
        unsafe { bixi_guest_load(address) }
    }

    pub(super) fn store(address: u64, value: u64) {
        // SAFETY: the address is one of the story's own pages, or the store faults.
        unsafe { bixi_guest_store(address, value) }
    }

    /// The exceptions, by number.
    pub(super) fn except(number: u64) {
        match number {
            // SAFETY: an exception, behind which the handler lets the thread go on.
            0 => unsafe { bixi_guest_break_7() },
            1 => {
                // SAFETY: as above.
                let _ = unsafe { bixi_guest_csr() };
            }
            // SAFETY: as above.
            2 => unsafe { bixi_guest_idle() },
            // SAFETY: as above.
            _ => unsafe { bixi_guest_undefined() },
        }
    }
}

extern "C" fn load_and_tell(address: u64, _: u64, _: u64, _: u64) -> ! {
    Cell(0).set(1);
    Cell(1).set(routines::load(address));
    Cell(0).set(2);
    rest()
}

extern "C" fn store_and_tell(address: u64, value: u64, _: u64, _: u64) -> ! {
    Cell(0).set(1);
    routines::store(address, value);
    Cell(0).set(2);
    rest()
}

extern "C" fn except_and_tell(number: u64, _: u64, _: u64, _: u64) -> ! {
    Cell(0).set(1);
    routines::except(number);
    Cell(0).set(2);
    rest()
}

fn a_page_fault_is_answered_by_mapping(stage: &mut Stage) -> Outcome {
    let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
    let handler = stage.badged(endpoint, 0x51)?;
    let page = Page(stage.memory.make(ObjectType::Frame, PAGE_BITS)?);
    stage.start(Role::ABOVE.with_handler(handler.0), load_and_tell, [HOLE + 8, 0, 0, 0])?;
    let heard = Heard::of(&endpoint.recv(reply).accepted()?);
    equal("badge, kind, length", (heard.badge, heard.kind, heard.length), (0x51, Some(Fault::Page), 4))?;
    equal("address, cause", (heard.address, heard.cause & cause::CODE), (HOLE + 8, cause::LOAD_INVALID))?;
    holds("the pc is in the image", (0x1_2000_0000..0x1_3000_0000).contains(&heard.pc))?;
    map(&mut stage.memory, HERE, page, HOLE, Access::ReadWrite)?;
    reply.send(info(0, 0), NO_WORDS)?;
    equal("it went on, and read", (Cell(0).get(), Cell(1).get()), (2, 0))
}

fn a_write_to_constants_is_a_page_fault(stage: &mut Stage) -> Outcome {
    let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
    let page = Page(stage.memory.make(ObjectType::Frame, PAGE_BITS)?);
    map(&mut stage.memory, HERE, page, HOLE, Access::Read)?;
    stage.start(Role::ABOVE.with_handler(endpoint.0), store_and_tell, [HOLE + 16, 5, 0, 0])?;
    let heard = Heard::of(&endpoint.recv(reply).accepted()?);
    equal("kind, address", (heard.kind, heard.address), (Some(Fault::Page), HOLE + 16))?;
    let cause = heard.cause & cause::CODE;
    holds("a store's cause", [cause::MODIFIED, cause::STORE_INVALID].contains(&cause))?;
    // Mapped anew with more rights, the store succeeds: nothing stale is left in the TLB.
    page.unmap()?;
    map(&mut stage.memory, HERE, page, HOLE, Access::ReadWrite)?;
    reply.send(info(0, 0), NO_WORDS)?;
    equal("it went on, and wrote", (Cell(0).get(), routines::load(HOLE + 16)), (2, 5))
}

fn an_access_to_the_kernels_window_is_a_fault(stage: &mut Stage) -> Outcome {
    let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
    for address in [0x9000_0000_0020_0000, 0x8000_0000_0000_0000, 0xffff_8000_0000_0000, 1 << 47] {
        let role = Role::ABOVE.with_handler(endpoint.0);
        stage.start(role, load_and_tell, [address, 0, 0, 0])?;
        let heard = Heard::of(&endpoint.recv(reply).accepted()?);
        holds("a fault", matches!(heard.kind, Some(Fault::Page | Fault::UserException)))?;
        let cause = heard.cause & cause::CODE;
        holds("of an address", [cause::LOAD_INVALID, cause::ADDRESS].contains(&cause) || cause == 7)?;
        equal("it did not go on", Cell(0).get(), 1)?;
        // An answer that is not zero leaves it stopped, and the Reply is free again.
        reply.send(info(1, 0), NO_WORDS)?;
    }
    Ok(())
}

fn an_exception_goes_on_where_the_answer_says(stage: &mut Stage) -> Outcome {
    let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
    stage.start(Role::ABOVE.with_handler(endpoint.0), except_and_tell, [0; 4])?;
    let heard = Heard::of(&endpoint.recv(reply).accepted()?);
    equal("kind, length", (heard.kind, heard.length), (Some(Fault::UserException), 4))?;
    equal("cause", heard.cause & cause::CODE, cause::BREAK)?;
    equal("instruction", heard.instruction, 0x002a_0007)?;
    reply.send(info(0, 1), [heard.pc + 4, 0, 0, 0, 0, 0, 0, 0])?;
    equal("it went on", Cell(0).get(), 2)
}

fn an_answer_that_is_not_zero_leaves_the_thread_stopped(stage: &mut Stage) -> Outcome {
    let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
    let thread = stage.start(Role::ABOVE.with_handler(endpoint.0), except_and_tell, [0; 4])?;
    let heard = Heard::of(&endpoint.recv(reply).accepted()?);
    reply.send(info(1, 1), [heard.pc + 4, 0, 0, 0, 0, 0, 0, 0])?;
    equal("it stays", Cell(0).get(), 1)?;
    // Resumed, it is at the same instruction.
    thread.resume()?;
    equal("the same fault", Heard::of(&endpoint.recv(reply).accepted()?).pc, heard.pc)
}

fn privileged_and_undefined_instructions_are_exceptions(stage: &mut Stage) -> Outcome {
    let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
    for (number, wanted) in [(1, cause::PRIVILEGED), (2, cause::PRIVILEGED), (3, cause::UNDEFINED)] {
        Cell(0).set(0);
        stage.start(Role::ABOVE.with_handler(endpoint.0), except_and_tell, [number, 0, 0, 0])?;
        let heard = Heard::of(&endpoint.recv(reply).accepted()?);
        equal("kind, cause", (heard.kind, heard.cause & cause::CODE), (Some(Fault::UserException), wanted))?;
        reply.send(info(0, 1), [heard.pc + 4, 0, 0, 0, 0, 0, 0, 0])?;
        equal("it went on", Cell(0).get(), 2)?;
    }
    Ok(())
}

fn a_fault_without_a_handler_stops_the_thread(stage: &mut Stage) -> Outcome {
    let thread = stage.start(Role::ABOVE.with_handler(CPtr::NULL), load_and_tell, [HOLE, 0, 0, 0])?;
    equal("it stopped there", Cell(0).get(), 1)?;
    let registers = thread.tcb.read_registers()?;
    equal("its argument", registers.get(4).copied(), Some(HOLE))
}

fn a_faulting_threads_registers_can_be_read_and_changed(stage: &mut Stage) -> Outcome {
    let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
    let thread = stage.start(Role::ABOVE.with_handler(endpoint.0), load_and_tell, [HOLE, 0, 0, 0])?;
    let heard = Heard::of(&endpoint.recv(reply).accepted()?);
    let mut registers = thread.tcb.read_registers()?;
    equal(
        "pc, argument",
        (registers.first().copied(), registers.get(4).copied()),
        (Some(heard.pc), Some(HOLE)),
    )?;
    Cell(5).set(0x1234);
    if let Some(argument) = registers.get_mut(4) {
        *argument = Cell(5).address();
    }
    thread.tcb.write_registers(Resume::Leave, &registers)?;
    reply.send(info(0, 0), NO_WORDS)?;
    equal("it read elsewhere", (Cell(0).get(), Cell(1).get()), (2, 0x1234))?;
    Ok(())
}

/// Loads from the address in each message and answers with what it read.
extern "C" fn serve_loads(endpoint: u64, reply: u64, _: u64, _: u64) -> ! {
    let (endpoint, reply) = (runtime::stubs::Endpoint(CPtr(endpoint)), runtime::stubs::Reply(CPtr(reply)));
    let mut received = endpoint.recv(reply);
    loop {
        let value = routines::load(received.word(0));
        received = endpoint.reply_recv_inline(reply, info(0, 1), [value, 0, 0, 0, 0, 0, 0, 0]);
    }
}

/// Maps a page, given by a capability, at every fault.
extern "C" fn pager(endpoint: u64, reply: u64, page: u64, _: u64) -> ! {
    let (endpoint, reply) = (runtime::stubs::Endpoint(CPtr(endpoint)), runtime::stubs::Reply(CPtr(reply)));
    endpoint.recv(reply);
    loop {
        Cell(3).add(1);
        let mapped = Page(CPtr(page)).map(HERE, HOLE, 3, 1);
        let label = mapped.map_or_else(|refusal| 1 + refusal.error.label(), |()| 0);
        Cell(4).set(label);
        endpoint.reply_recv_inline(reply, info(label, 0), NO_WORDS);
    }
}

fn a_passive_servers_fault_is_served_on_its_callers_time(stage: &mut Stage) -> Outcome {
    let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
    let (faults, fault_reply) = (stage.endpoint()?, stage.reply()?);
    let page = Page(stage.memory.make(ObjectType::Frame, PAGE_BITS)?);
    // The tables are there already, so that the pager only has to map the page.
    map(&mut stage.memory, HERE, page, HOLE, Access::ReadWrite)?;
    page.unmap()?;
    stage.passive(HERE, pager, [faults.0.0, fault_reply.0.0, page.0.0, 0])?;
    let role = Role::ABOVE.with_handler(faults.0);
    let server = stage.start(role, serve_loads, [endpoint.0.0, reply.0.0, 0, 0])?;
    server.time.unbind()?;
    for round in 1..=50 {
        match endpoint.call(0, [HOLE]) {
            Ok([0]) => {}
            other => return Err(Failure::new(format_args!("{other:?}, pager {}", Cell(4).get()))),
        }
        equal("faults", Cell(3).get(), round)?;
        page.unmap()?;
    }
    Ok(())
}
