//! Names in /proc: which there are, and which are found.

use super::super::directory::Listing;
use super::super::node::DIRECTORY;
use super::{Entry, Folder, Item, Link, System, named, number};
use crate::host::Host;
use crate::process::numbers::INIT;
use crate::process::{Pid, Process};
use crate::server::Server;
use alloc::vec::Vec;

/// Positions of a listing: `.`, `..`, then names; numbers begin here.
const NUMBERS: u64 = 256;

impl<H: Host> Server<H> {
    /// The process of a number that is one's or one of its threads'.
    pub(in crate::file) fn process_of_pid(&self, pid: Pid) -> Option<&Process> {
        if let Some(thread) = self.numbers.thread(pid).and_then(|thread| self.threads.get(thread)) {
            return self.processes.get(thread.process);
        }
        self.processes.iter().map(|(_, process)| process).find(|process| process.pid == pid)
    }

    /// What a name in a directory of /proc is.
    pub(in crate::file) fn proc_child(&self, at: Entry, name: &[u8]) -> Option<Entry> {
        match at {
            Entry::Root => {
                if let Some(pid) = decimal(name) {
                    let pid = Pid(pid);
                    let known = pid == INIT || self.process_of_pid(pid).is_some();
                    return known.then_some(Entry::Process(pid));
                }
                named(Link::ALL, name)
                    .map(Entry::Link)
                    .or_else(|| System::in_folder(None, name).map(Entry::System))
                    .or_else(|| in_folder(None, name))
            }
            Entry::Folder(folder) => System::in_folder(Some(folder), name)
                .map(Entry::System)
                .or_else(|| in_folder(Some(folder), name)),
            Entry::Process(pid) => {
                if pid != INIT {
                    self.process_of_pid(pid)?;
                }
                named(Item::ALL, name).map(|item| Entry::Of(pid, item))
            }
            Entry::Of(pid, Item::Task) => {
                let tid = Pid(decimal(name)?);
                let process = self.process_of_pid(pid)?;
                let is_its = |thread: &crate::process::Thread| thread.tid == tid;
                let mut threads = process.threads.iter().filter_map(|thread| self.threads.get(*thread));
                threads.any(is_its).then_some(Entry::Process(tid))
            }
            Entry::Of(pid, item @ (Item::Fd | Item::FdInfo)) => {
                let fd = decimal(name)?;
                let process = self.process_of_pid(pid)?;
                self.files.descriptors.get(process.files.descriptors)?.get(fd)?;
                Some(if item == Item::Fd { Entry::Fd(pid, fd) } else { Entry::FdInformation(pid, fd) })
            }
            _ => None,
        }
    }

    /// Lists a directory of /proc from where the listing is.
    pub(in crate::file) fn list_proc(&self, at: Entry, listing: &mut Listing) -> Option<()> {
        if listing.position == 0 {
            listing.add(b".", at.number(), DIRECTORY, 1)?;
        }
        if listing.position == 1 {
            listing.add(b"..", at.parent().unwrap_or(Entry::Root).number(), DIRECTORY, 2)?;
        }
        for (entry, next) in self.names_in(at) {
            if next <= listing.position {
                continue;
            }
            let mut path = Vec::new();
            entry.write_path(&mut path);
            let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            listing.add(name, entry.number(), entry.mode(), next)?;
        }
        Some(())
    }

    /// Every entry of a directory with the position behind it, ascending.
    fn names_in(&self, at: Entry) -> Vec<(Entry, u64)> {
        let mut names = Vec::new();
        let mut fixed = |entries: &mut dyn Iterator<Item = Entry>| {
            for (entry, next) in entries.zip(3..) {
                names.push((entry, next));
            }
        };
        let systems = |folder| {
            let all = System::ALL.iter().map(|(_, system)| *system);
            all.filter(move |system| system.folder() == folder).map(Entry::System)
        };
        let folders = |folder| {
            let all = Folder::ALL.iter().map(|(_, folder)| *folder);
            all.filter(move |inner| inner.parent() == folder).map(Entry::Folder)
        };
        match at {
            Entry::Root => {
                let links = Link::ALL.iter().map(|(_, link)| Entry::Link(*link));
                fixed(&mut systems(None).chain(folders(None)).chain(links));
                let known = self.processes.iter().map(|(_, process)| process.pid.0);
                let mut pids: Vec<u32> = known.chain([INIT.0]).collect();
                pids.sort_unstable();
                names
                    .extend(pids.into_iter().map(|pid| (Entry::Process(Pid(pid)), NUMBERS + u64::from(pid))));
            }
            Entry::Folder(folder) => fixed(&mut systems(Some(folder)).chain(folders(Some(folder)))),
            Entry::Process(pid) => fixed(&mut Item::ALL.iter().map(|(_, item)| Entry::Of(pid, *item))),
            Entry::Of(pid, item) => self.numbers_in(pid, item, &mut names),
            _ => {}
        }
        names
    }

    fn numbers_in(&self, pid: Pid, item: Item, names: &mut Vec<(Entry, u64)>) {
        let Some(process) = self.process_of_pid(pid) else { return };
        if item == Item::Task {
            let threads = process.threads.iter().filter_map(|thread| self.threads.get(*thread));
            let mut tids: Vec<u32> = threads.map(|thread| thread.tid.0).collect();
            tids.sort_unstable();
            names.extend(tids.into_iter().map(|tid| (Entry::Process(Pid(tid)), NUMBERS + u64::from(tid))));
            return;
        }
        let Some(table) = self.files.descriptors.get(process.files.descriptors) else { return };
        for (fd, _) in table.iter() {
            let entry = if item == Item::Fd { Entry::Fd(pid, fd) } else { Entry::FdInformation(pid, fd) };
            names.push((entry, NUMBERS + u64::from(fd)));
        }
    }

    /// The number of the acting thread and of its process.
    pub(super) fn acting_numbers(&self) -> Option<(Pid, Pid)> {
        let thread = self.thread().ok()?;
        Some((self.processes.get(thread.process)?.pid, thread.tid))
    }
}

fn in_folder(folder: Option<Folder>, name: &[u8]) -> Option<Entry> {
    named(Folder::ALL, name).filter(|found| found.parent() == folder).map(Entry::Folder)
}

/// A number as /proc writes it: no sign, no zero in front.
fn decimal(name: &[u8]) -> Option<u32> {
    if name.len() > 1 && name.first() == Some(&b'0') {
        return None;
    }
    let text =
        core::str::from_utf8(name).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
    text.parse().ok()
}

/// The text of an open file that has no path: `pipe:[number]`.
pub(super) fn anonymous(kind: &[u8], inode: u64, text: &mut Vec<u8>) {
    text.extend_from_slice(kind);
    text.extend_from_slice(b":[");
    number(text, crate::number::low_u32(inode));
    text.push(b']');
}
