//! /proc/1: the server, which is every program's init.

use super::{Item, Text};
use crate::process::numbers::INIT;
use core::fmt::Write;

/// Writes a file about init.
pub(super) fn write_init(item: Item, text: &mut Text) -> core::fmt::Result {
    let pid = INIT.0;
    match item {
        Item::Comm => text.write_str("init\n"),
        Item::Cmdline => text.write_str("init\0"),
        Item::Stat => writeln!(
            text,
            "{pid} (init) S 0 {pid} {pid} 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 0 0 0 {} \
             0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
            u64::MAX
        ),
        Item::Statm => text.write_str("0 0 0 0 0 0 0\n"),
        Item::Status => {
            write!(text, "Name:\tinit\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t{pid}\nNgid:\t0\n")?;
            write!(text, "Pid:\t{pid}\nPPid:\t0\nTracerPid:\t0\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n")?;
            text.write_str("FDSize:\t64\nGroups:\t\nThreads:\t1\n")
        }
        Item::OomScore => text.write_str("0\n"),
        _ => Ok(()),
    }
}
