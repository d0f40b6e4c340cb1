//! Mapping: what is mapped is there, what is unmapped is gone at once, and nothing is writable and executable.

use abi::{Error, LARGE_PAGE_BITS, ObjectType, PAGE_BITS, PAGE_BYTES, Rights};
use runtime::memory::DEPTH;
use runtime::message::info;
use runtime::space::{Access, map};
use runtime::stubs::{Frame, PageTable, VSpace};
use runtime::trap::NO_WORDS;

use super::stories;
use crate::kit::assistant::{Entry, Role};
use crate::kit::failure::{Failure, Outcome, equal, holds, refused};
use crate::kit::fault::Heard;
use crate::kit::shared::{Cell, rest};
use crate::kit::stage::{CNODE, HERE, Stage};
use crate::kit::word::Word;

stories! {
    a_page_is_seen_through_both_of_its_mappings,
    both_halves_of_a_pair_come_and_go_alone,
    an_unmapped_page_is_gone_at_once,
    a_deleted_frame_is_unmapped,
    a_revoked_space_is_empty,
    wrong_mappings_are_refused,
    a_large_frame_is_one_leaf,
    data_cannot_be_executed,
}

const ADDRESS: u64 = 0x3_2000_0000;

fn frame(stage: &mut Stage, bits: u8) -> Result<Frame, runtime::InvocationError> {
    stage.memory.make(ObjectType::Frame, bits).map(Frame)
}

fn a_page_is_seen_through_both_of_its_mappings(stage: &mut Stage) -> Outcome {
    let page = frame(stage, PAGE_BITS)?;
    let other = Frame(stage.memory.copy(page.0, Rights::ALL)?);
    map(&mut stage.memory, HERE, page, ADDRESS, Access::ReadWrite)?;
    map(&mut stage.memory, HERE, other, ADDRESS + 5 * PAGE_BYTES, Access::Read)?;
    Word::at(ADDRESS + 24).set(99);
    equal("through the other", Word::at(ADDRESS + 5 * PAGE_BYTES + 24).get(), 99)?;
    equal("one address", page.get_address()?, other.get_address()?)
}

fn both_halves_of_a_pair_come_and_go_alone(stage: &mut Stage) -> Outcome {
    // One TLB entry holds two pages (C-42): an entry that was cached with an empty half must not stay.
    let (even, odd) = (frame(stage, PAGE_BITS)?, frame(stage, PAGE_BITS)?);
    for round in 0..100 {
        map(&mut stage.memory, HERE, even, ADDRESS, Access::ReadWrite)?;
        Word::at(ADDRESS).set(round);
        map(&mut stage.memory, HERE, odd, ADDRESS + PAGE_BYTES, Access::ReadWrite)?;
        Word::at(ADDRESS + PAGE_BYTES).set(!round);
        equal("even, odd", (Word::at(ADDRESS).get(), Word::at(ADDRESS + PAGE_BYTES).get()), (round, !round))?;
        even.unmap()?;
        equal("odd alone", Word::at(ADDRESS + PAGE_BYTES).get(), !round)?;
        map(&mut stage.memory, HERE, even, ADDRESS, Access::ReadWrite)?;
        equal("even again", Word::at(ADDRESS).get(), round)?;
        odd.unmap()?;
        even.unmap()?;
    }
    Ok(())
}

/// Reads a word, which tells whether it is mapped: its story's handler hears of it if not.
extern "C" fn read(address: u64, _: u64, _: u64, _: u64) -> ! {
    Cell(1).set(Word::at(address).get());
    Cell(0).add(1);
    rest()
}

/// Writes a word.
pub(super) extern "C" fn write(address: u64, _: u64, _: u64, _: u64) -> ! {
    Word::at(address).set(1);
    Cell(0).add(1);
    rest()
}

/// Whether a thread in `space` can read `address`.
pub(super) fn is_mapped(stage: &mut Stage, space: VSpace, address: u64) -> Result<bool, Failure> {
    is_accessible(stage, space, read, address)
}

/// Whether a thread in `space` can do with `address` what `access` does.
pub(super) fn is_accessible(
    stage: &mut Stage,
    space: VSpace,
    access: Entry,
    address: u64,
) -> Result<bool, Failure> {
    let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
    let before = Cell(0).get();
    let role = Role::ABOVE.in_space(space).with_handler(endpoint.0);
    let reader = stage.start(role, access, [address, 0, 0, 0])?;
    if Cell(0).get() != before {
        return Ok(true);
    }
    let heard = Heard::of(&endpoint.recv(reply).accepted()?);
    reader.tcb.suspend()?;
    equal("the address of the fault", heard.address, address)?;
    Ok(false)
}

fn an_unmapped_page_is_gone_at_once(stage: &mut Stage) -> Outcome {
    let there = stage.there()?;
    for space in [HERE, there] {
        let page = frame(stage, PAGE_BITS)?;
        map(&mut stage.memory, space, page, ADDRESS, Access::ReadWrite)?;
        holds("mapped", is_mapped(stage, space, ADDRESS)?)?;
        page.unmap()?;
        holds("unmapped", !is_mapped(stage, space, ADDRESS)?)?;
        map(&mut stage.memory, space, page, ADDRESS, Access::ReadWrite)?;
        holds("mapped again", is_mapped(stage, space, ADDRESS)?)?;
        page.unmap()?;
        refused("unmapping twice", page.unmap(), Error::NotMapped)?;
    }
    Ok(())
}

fn a_deleted_frame_is_unmapped(stage: &mut Stage) -> Outcome {
    let page = frame(stage, PAGE_BITS)?;
    let copy = Frame(stage.memory.copy(page.0, Rights::ALL)?);
    map(&mut stage.memory, HERE, copy, ADDRESS, Access::ReadWrite)?;
    holds("mapped", is_mapped(stage, HERE, ADDRESS)?)?;
    CNODE.revoke(page.0.0, DEPTH)?;
    holds("gone with its capability", !is_mapped(stage, HERE, ADDRESS)?)?;
    map(&mut stage.memory, HERE, page, ADDRESS, Access::ReadWrite)?;
    stage.memory.delete(page.0)?;
    holds("gone with the last one", !is_mapped(stage, HERE, ADDRESS)?)
}

fn a_revoked_space_is_empty(stage: &mut Stage) -> Outcome {
    let mut inner = stage.inner(22, 600)?;
    for _ in 0..20 {
        let there = inner.there()?;
        let page = Frame(inner.memory.make(ObjectType::Frame, PAGE_BITS)?);
        map(&mut inner.memory, there, page, ADDRESS, Access::ReadWrite)?;
        holds("mapped there", is_mapped(&mut inner, there, ADDRESS)?)?;
        inner.memory.delete(there.0)?;
        // A Frame whose space is gone is not mapped any longer, whatever its capability says.
        match page.unmap() {
            Ok(()) => {}
            Err(refusal) => equal("unmapping", refusal.error, Error::NotMapped)?,
        }
        map(&mut inner.memory, HERE, page, ADDRESS, Access::ReadWrite)?;
        Word::at(ADDRESS).set(1);
        inner.sweep()?;
    }
    Ok(())
}

fn wrong_mappings_are_refused(stage: &mut Stage) -> Outcome {
    let page = frame(stage, PAGE_BITS)?;
    let (rights, none) = (Rights::READ_WRITE.raw(), 0);
    let nowhere = VSpace(stage.memory.make(ObjectType::VSpace, 0)?);
    refused("no identifier", page.map(nowhere, ADDRESS, rights, none), Error::NoAsid)?;
    refused("no space", page.map(stage.pool, ADDRESS, rights, none), Error::InvalidCapability)?;
    refused("odd address", page.map(HERE, ADDRESS + 8, rights, none), Error::AlignmentError)?;
    for address in [1 << 47, 0xffff_8000_0000_0000, 0x9000_0000_0000_0000, u64::MAX - PAGE_BYTES + 1] {
        refused("not in the lower half", page.map(HERE, address, rights, none), Error::RangeError)?;
    }
    refused("no table", page.map(HERE, 0x40_0000_0000, rights, none), Error::NoPageTable)?;
    refused("bits that are no rights", page.map(HERE, ADDRESS, 0xff00, none), Error::InvalidArgument)?;
    refused("bits that are no attributes", page.map(HERE, ADDRESS, rights, 1 << 20), Error::InvalidArgument)?;
    map(&mut stage.memory, HERE, page, ADDRESS, Access::ReadWrite)?;
    let elsewhere = page.map(HERE, ADDRESS + PAGE_BYTES, rights, none);
    refused("mapped already", elsewhere, Error::AlreadyMapped)?;
    let second = frame(stage, PAGE_BITS)?;
    refused("something is there", second.map(HERE, ADDRESS, rights, none), Error::AlreadyMapped)?;
    let table = PageTable(stage.memory.make(ObjectType::PageTable, 0)?);
    refused("no level is missing", table.map(HERE, ADDRESS), Error::AlreadyMapped)?;
    refused("a table that is not mapped", table.unmap(), Error::NotMapped)
}

fn a_large_frame_is_one_leaf(stage: &mut Stage) -> Outcome {
    // Of 32 MiB where the stage has so much, else of several pages: one Map and one Unmap either way.
    let bits = LARGE_PAGE_BITS.min(stage.memory.pool.largest_bits());
    for bits in [PAGE_BITS + 1, PAGE_BITS + 3, bits.min(PAGE_BITS + 7)] {
        let large = frame(stage, bits)?;
        map(&mut stage.memory, HERE, large, ADDRESS, Access::ReadWrite)?;
        let last = ADDRESS + (1 << bits) - 8;
        Word::at(ADDRESS).set(1);
        Word::at(last).set(2);
        equal("first and last word", (Word::at(ADDRESS).get(), Word::at(last).get()), (1, 2))?;
        large.unmap()?;
        holds("gone, first", !is_mapped(stage, HERE, ADDRESS)?)?;
        holds("gone, last", !is_mapped(stage, HERE, last)?)?;
    }
    Ok(())
}

extern "C" fn jump(address: u64, _: u64, _: u64, _: u64) -> ! {
    enter(address);
    Cell(0).set(1);
    rest()
}

#[expect(unsafe_code, reason = "jumps to data")]
fn enter(address: u64) {
    // SAFETY: a single return instruction lies there, or the fetch faults.
    unsafe { core::arch::asm!("jirl $ra, {}, 0", in(reg) address, out("$ra") _) }
}

/// `jirl $zero, $ra, 0`.
const RETURN: u64 = 0x4c00_0020;

fn data_cannot_be_executed(stage: &mut Stage) -> Outcome {
    let page = frame(stage, PAGE_BITS)?;
    map(&mut stage.memory, HERE, page, ADDRESS, Access::ReadWrite)?;
    Word::at(ADDRESS).set(RETURN);
    runtime::trap::instruction_barrier();
    let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
    let enforced = stage.server.self_tests().no_execute == 1;
    let role = Role::ABOVE.with_handler(endpoint.0);
    let thread = stage.start(role, jump, [ADDRESS, 0, 0, 0])?;
    let executed = Cell(0).get() == 1;
    match (executed, enforced) {
        (true, true) => {
            return Err(Failure::new(format_args!("data was executed on a machine that enforces NX")));
        }
        (true, false) => {
            return Err(Failure::Skipped("the machine does not enforce NX through ldpte (boot self-test)"));
        }
        (false, _) => {}
    }
    let heard = Heard::of(&endpoint.recv(reply).accepted()?);
    equal("the address of the fault", heard.address, ADDRESS)?;
    thread.tcb.suspend()?;
    reply.send(info(0, 0), NO_WORDS)?;
    // Mapped for execution, it is.
    page.unmap()?;
    map(&mut stage.memory, HERE, page, ADDRESS, Access::ReadExecute)?;
    stage.start(Role::ABOVE, jump, [ADDRESS, 0, 0, 0])?;
    equal("executed where it may be", Cell(0).get(), 1)
}
