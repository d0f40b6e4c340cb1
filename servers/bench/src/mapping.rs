//! Mapping in bulk (C-41): what a page costs in a run, in a list, and alone; and by a Frame's own Map.
//!
//! Each sample maps pages that were not mapped, or takes away what the one before mapped, in this server's own
//! space; the marks lie around the call alone. Pages of a list are scattered in the window and lie each in a pair
//! of its own: all in one table, or (`far`) each in another table than the one before.

use core::fmt;

use abi::control::{Record, Text};
use abi::mapping::{Access, MapEntry};
use abi::server::slot;
use abi::{CPtr, Error, ObjectType, PAGE_BITS, PAGE_BYTES, Rights};
use runtime::InvocationError;
use runtime::mark::{Label, stop};
use runtime::memory::{DEPTH, Memory, retype};
use runtime::message::Buffer;
use runtime::server::{Server, shut_down};
use runtime::stubs::{CNode, Frame, VSpace};

/// Samples under each label.
const SAMPLES: u64 = 1000;
const CNODE: CNode = CNode(CPtr(slot::CNODE));
const SPACE: VSpace = VSpace(CPtr(slot::VSPACE));
/// A page 256 GiB from all that is mapped by capabilities.
const PAGE: u64 = 1 << 24;
/// Tables in the stock, as bits: the middle one and four of the last level, and some to spare.
const TABLE_BITS: u8 = 3;
/// Pages of the window, as bits.
const WINDOW_BITS: u8 = 10;
/// Entries of the list.
const LISTED: u64 = 64;

/// Why the run ended early.
enum Failure {
    Kernel(&'static str, InvocationError),
    Short { label: &'static str, done: (u64, u64) },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel(step, refusal) => write!(f, "{step}: {refusal}"),
            Self::Short { label, done } => write!(f, "{label}: ended after {done:?}"),
        }
    }
}

/// Measures everything and ends the system.
pub(crate) fn measure(server: Server) -> u8 {
    let Some(mut console) = server.console() else { shut_down(2) };
    let mut status = 0;
    let frame = match furnish(&mut server.memory()) {
        Ok(frame) => frame,
        Err(refusal) => {
            console.log(format_args!("bench: there is no window: {refusal}"));
            shut_down(1)
        }
    };
    for (labels, measured) in [
        (["run256", "unrun256"], run(["run256", "unrun256"], 256)),
        (["run64", "unrun64"], run(["run64", "unrun64"], 64)),
        (["run1", "unrun1"], run(["run1", "unrun1"], 1)),
        (["ro256", "rw256"], protect(["ro256", "rw256"], 256)),
        (["list64", "unlist64"], list(["list64", "unlist64"], 1)),
        (["far64", "unfar64"], list(["far64", "unfar64"], 4)),
        (["frame1", "unframe1"], frame_alone(["frame1", "unframe1"], frame)),
    ] {
        match measured {
            Ok(()) => labels
                .iter()
                .for_each(|label| console.record(&Record::Bench { name: Text::new(label), n: SAMPLES })),
            Err(failure) => {
                console.log(format_args!("bench: {failure}"));
                status = 1;
            }
        }
    }
    console.flush();
    shut_down(status)
}

/// Gives the space tables and a window; answers a Frame of one page.
fn furnish(memory: &mut Memory) -> Result<Frame, InvocationError> {
    let untyped = memory.take_untyped(PAGE_BITS + TABLE_BITS)?;
    let first = memory.slots.take_run(1 << TABLE_BITS)?;
    retype(CNODE, untyped, ObjectType::PageTable, PAGE_BITS, first, 1 << TABLE_BITS)?;
    SPACE.give_tables(CNODE, first.0, DEPTH, 1 << TABLE_BITS)?;
    let window = Frame(memory.make(ObjectType::Frame, PAGE_BITS + WINDOW_BITS)?);
    SPACE.bind_window(window, 0)?;
    // One page of each table stays mapped, so that the tables do.
    for table in 0..4 {
        let entry = MapEntry::map(PAGE + table * 2048 + 2047, 1, Access::READ, 0, 0);
        SPACE.map_many(0, entry.first, entry.second)?;
    }
    memory.make(ObjectType::Frame, PAGE_BITS).map(Frame)
}

/// A call between marks, of so many pages; `wanted` is what it must answer.
#[inline(always)]
fn marked(
    label: &'static str,
    pages: u64,
    entries: u64,
    entry: MapEntry,
    wanted: u64,
) -> Result<(), Failure> {
    Label::new(label).start_many(pages);
    let answer = SPACE.map_many(entries, entry.first, entry.second);
    stop();
    match answer {
        Ok((done, 0)) if done == wanted => Ok(()),
        Ok(done) => Err(Failure::Short { label, done }),
        Err(refusal) => Err(Failure::Kernel(label, refusal)),
    }
}

fn run([map, unmap]: [&'static str; 2], pages: u16) -> Result<(), Failure> {
    for _ in 0..SAMPLES {
        marked(map, pages.into(), 0, MapEntry::map(PAGE, pages, Access::READ_WRITE, 0, 0), 1)?;
        marked(unmap, pages.into(), 0, MapEntry::unmap(PAGE, pages), 1)?;
    }
    Ok(())
}

fn protect([read, write]: [&'static str; 2], pages: u16) -> Result<(), Failure> {
    let refused = |refusal| Failure::Kernel("preparing", refusal);
    let entry = MapEntry::map(PAGE, pages, Access::READ_WRITE, 0, 0);
    SPACE.map_many(0, entry.first, entry.second).map_err(refused)?;
    for _ in 0..SAMPLES {
        marked(read, pages.into(), 0, MapEntry::protect(PAGE, pages, Access::READ, 0), 1)?;
        marked(write, pages.into(), 0, MapEntry::protect(PAGE, pages, Access::READ_WRITE, 0), 1)?;
    }
    let entry = MapEntry::unmap(PAGE, pages);
    SPACE.map_many(0, entry.first, entry.second).map_err(refused).map(drop)
}

fn list([map, unmap]: [&'static str; 2], tables: u64) -> Result<(), Failure> {
    let refused = |refusal: Error| Failure::Kernel("preparing", refusal.into());
    let page = |index: u64| PAGE + index % tables * 2048 + index * 2;
    for _ in 0..SAMPLES {
        let list = Buffer::of_thread().ok_or(Error::NoIpcBuffer).map_err(refused)?;
        for (place, index) in (0..LISTED).enumerate() {
            list.set_map_entry(
                place,
                MapEntry::map(page(index), 1, Access::READ_WRITE, 0, index * 341 % 1024),
            );
        }
        marked(map, LISTED, LISTED, MapEntry::default(), LISTED)?;
        for (place, index) in (0..LISTED).enumerate() {
            list.set_map_entry(place, MapEntry::unmap(page(index), 1));
        }
        marked(unmap, LISTED, LISTED, MapEntry::default(), LISTED)?;
    }
    Ok(())
}

fn frame_alone([map, unmap]: [&'static str; 2], frame: Frame) -> Result<(), Failure> {
    for _ in 0..SAMPLES {
        Label::new(map).start();
        let mapped = frame.map(SPACE, PAGE * PAGE_BYTES, Rights::READ_WRITE.raw(), 0);
        stop();
        mapped.map_err(|refusal| Failure::Kernel(map, refusal))?;
        Label::new(unmap).start();
        let unmapped = frame.unmap();
        stop();
        unmapped.map_err(|refusal| Failure::Kernel(unmap, refusal))?;
    }
    Ok(())
}
