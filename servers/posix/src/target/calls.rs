//! The table of calls that the entry for system calls indexes (C-23), made from the library's.

use alloc::boxed::Box;
use core::mem::offset_of;

use posix::dispatch::entries::{Entries, Entry, unknown};
use posix::dispatch::row;
use posix::dispatch::table::Way;
use posix::host::Identity;
use runtime::host::TableEntry;
use runtime::host::block::TABLE_ENTRIES;

use super::block::BlockWord;
use super::machine::Machine;

runtime::host_leaves! {
    "bixi_leaf_getpid" = offset_of!(Identity, pid),
    "bixi_leaf_gettid" = offset_of!(Identity, tid),
    "bixi_leaf_getppid" = offset_of!(Identity, parent),
    "bixi_leaf_getuid" = offset_of!(Identity, user),
    "bixi_leaf_geteuid" = offset_of!(Identity, effective_user),
    "bixi_leaf_getgid" = offset_of!(Identity, group),
    "bixi_leaf_getegid" = offset_of!(Identity, effective_group),
}

unsafe extern "C" {
    fn bixi_leaf_getpid();
    fn bixi_leaf_gettid();
    fn bixi_leaf_getppid();
    fn bixi_leaf_getuid();
    fn bixi_leaf_geteuid();
    fn bixi_leaf_getgid();
    fn bixi_leaf_getegid();
    fn bixi_host_call();
    fn bixi_host_full_call();
}

/// Code of the entries.
type Code = unsafe extern "C" fn();

/// The leaf of a call, by its name in the library's table.
fn leaf(name: &str) -> Option<Code> {
    let leaves: [(&str, Code); 7] = [
        ("getpid", bixi_leaf_getpid),
        ("gettid", bixi_leaf_gettid),
        ("getppid", bixi_leaf_getppid),
        ("getuid", bixi_leaf_getuid),
        ("geteuid", bixi_leaf_geteuid),
        ("getgid", bixi_leaf_getgid),
        ("getegid", bixi_leaf_getegid),
    ];
    leaves.into_iter().find(|(of, _)| *of == name).map(|(_, leaf)| leaf)
}

fn address(code: Code) -> u64 {
    (code as *const ()).expose_provenance() as u64
}

fn handler(entry: Entry<Machine>) -> u64 {
    (entry as *const ()).expose_provenance() as u64
}

/// The code through which a number goes.
fn way_in(number: u64) -> Code {
    match row(number) {
        Some(row) => match row.way {
            Way::Leaf => leaf(row.name).unwrap_or(bixi_host_call),
            Way::Plain => bixi_host_call,
            Way::Full => bixi_host_full_call,
        },
        None => bixi_host_call,
    }
}

/// Lets calls be answered.
pub(super) fn install() {
    let entry = |(number, entry): (u64, &Entry<Machine>)| TableEntry {
        entry: address(way_in(number)),
        handler: handler(*entry),
    };
    set(&Entries::<Machine>::QUIET, entry);
    BlockWord::UNKNOWN.set(handler(unknown::<Machine>));
}

/// The same, with every call told: another table, in which no call is short.
pub(super) fn install_traced() {
    set(&Entries::<Machine>::TRACED, |(_, entry)| TableEntry {
        entry: address(bixi_host_full_call),
        handler: handler(*entry),
    });
}

fn set(
    entries: &'static [Entry<Machine>; TABLE_ENTRIES],
    make: impl Fn((u64, &Entry<Machine>)) -> TableEntry,
) {
    let table: Box<[TableEntry]> = (0..).zip(entries).map(make).collect();
    BlockWord::TABLE.set(Box::leak(table).as_ptr().expose_provenance() as u64);
}
