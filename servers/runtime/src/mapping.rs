//! GiveTables and MapMany for servers (C-41): one entry in registers, or many from the IPC buffer's list.
//!
//! The kernel stops when an interrupt is pending and says how far it came; the functions here go on from there.

use abi::Error;
use abi::mapping::{MAX_ENTRIES, MapEntry};

use crate::error::InvocationError;
use crate::message::Buffer;
use crate::stubs::{CNode, VSpace};

/// Gives a space's stock the PageTables in `count` consecutive slots of a CNode.
///
/// # Errors
/// What GiveTables refuses; the error's argument is how many were given.
pub fn give_tables(
    space: VSpace,
    root: CNode,
    index: u64,
    depth: u64,
    count: u64,
) -> Result<(), InvocationError> {
    let mut given = 0;
    while given < count {
        let in_all =
            |refusal: InvocationError| InvocationError { argument: given + refusal.argument, ..refusal };
        given += space.give_tables(root, index + given, depth, count - given).map_err(in_all)?;
    }
    Ok(())
}

/// Carries out one entry.
///
/// # Errors
/// What MapMany refuses; the error's detail is how many pages were done.
pub fn map_one(space: VSpace, entry: MapEntry) -> Result<(), InvocationError> {
    let mut rest = entry;
    let mut before = 0;
    loop {
        let from_the_start =
            |refusal: InvocationError| InvocationError { detail: before + refusal.detail, ..refusal };
        let (done, pages) = space.map_many(0, rest.first, rest.second).map_err(from_the_start)?;
        if done == 1 {
            return Ok(());
        }
        before += pages;
        rest = rest.after(pages);
    }
}

/// Carries out entries in their order.
///
/// # Errors
/// What MapMany refuses, and NoIpcBuffer. The error's argument is how many entries were done; its detail how
/// many pages of the next, not counting those before an interrupt.
pub fn map_list(space: VSpace, entries: &[MapEntry]) -> Result<(), InvocationError> {
    let mut done = 0_u64;
    let mut rest = entries;
    // What is left of the first entry when an interrupt came in its midst.
    let mut begun = 0;
    while let Some((first, others)) = rest.split_first() {
        let list = Buffer::of_thread().ok_or(Error::NoIpcBuffer)?;
        let batch = [first.after(begun)].into_iter().chain(others.iter().copied()).take(MAX_ENTRIES);
        let mut count = 0;
        for (index, entry) in batch.enumerate() {
            list.set_map_entry(index, entry);
            count += 1;
        }
        let in_all =
            |refusal: InvocationError| InvocationError { argument: done + refusal.argument, ..refusal };
        let (entries, pages) = space.map_many(count, 0, 0).map_err(in_all)?;
        begun = if entries == 0 { begun + pages } else { pages };
        done += entries;
        rest = usize::try_from(entries).ok().and_then(|entries| rest.get(entries..)).unwrap_or_default();
    }
    Ok(())
}
