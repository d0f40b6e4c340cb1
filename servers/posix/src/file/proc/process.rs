//! Files in /proc about one process.

use super::super::descriptor::OnExec;
use super::super::descriptor::flags;
use super::init::write_init;
use super::system::TICK_NS;
use super::{Item, Text};
use crate::Errno;
use crate::address::PAGE_BYTES;
use crate::host::Host;
use crate::memory::area::{Area, Protection, Role, Sharing};
use crate::memory::space::Space;
use crate::number::to_usize;
use crate::process::numbers::INIT;
use crate::process::{Pid, Process, Thread};
use crate::server::Server;
use crate::user::UserSlice;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

const KIB: u64 = 1024;
/// Column at which a mapped file's name begins in maps.
const NAME_COLUMN: usize = 73;
/// Most bytes of arguments or environment that are shown.
const STRINGS_MOST: u64 = 8 << 20;

impl<H: Host> Server<H> {
    /// Writes a file about a process.
    pub(super) fn write_item(&mut self, pid: Pid, item: Item, text: &mut Text) -> Result<(), Errno> {
        if pid == INIT {
            // Appending to bytes cannot fail.
            let _ = write_init(item, text);
            return Ok(());
        }
        let process = self.process_of_pid(pid).ok_or(Errno::ESRCH)?;
        let _ = match item {
            Item::Stat => self.write_stat(pid, process, text),
            Item::Statm => self.write_statm(process, text),
            Item::Status => self.write_status(pid, process, text),
            Item::Comm => writeln!(text, "{}", self.name_of(pid, process)),
            Item::Maps => self.write_maps(process, text),
            Item::Mounts => text.write_str("none / tmpfs rw,relatime 0 0\nproc /proc proc rw,relatime 0 0\n"),
            Item::MountInfo => text.write_str(
                "1 1 0:1 / / rw,relatime - tmpfs none rw\n2 1 0:2 / /proc rw,relatime - proc proc rw\n",
            ),
            Item::Limits => write_limits(process, text),
            Item::OomScore => text.write_str("0\n"),
            Item::Cmdline => {
                let range = self.space_of(process).map(|space| space.strings.arguments);
                self.write_strings(pid, range, text);
                Ok(())
            }
            Item::Environ => {
                let range = self.space_of(process).map(|space| space.strings.environment);
                self.write_strings(pid, range, text);
                Ok(())
            }
            Item::Auxv | Item::Cwd | Item::Exe | Item::Fd | Item::FdInfo | Item::Root | Item::Task => Ok(()),
        };
        Ok(())
    }

    /// Its space, if it has not ended.
    fn space_of(&self, process: &Process) -> Option<&Space> {
        if process.status.is_some() {
            return None;
        }
        self.spaces.get(process.space).map(|shared| &shared.space)
    }

    /// The thread of a number, or else the process's first.
    fn thread_of(&self, pid: Pid, process: &Process) -> Option<&Thread> {
        let named = self.numbers.thread(pid).and_then(|thread| self.threads.get(thread));
        named.or_else(|| self.threads.get(*process.threads.first()?))
    }

    fn name_of(&self, pid: Pid, process: &Process) -> String {
        let name = self.thread_of(pid, process).map(|thread| thread.name).unwrap_or(process.last_name);
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        String::from_utf8_lossy(name.get(..end).unwrap_or_default()).into_owned()
    }

    fn state_of(&self, pid: Pid, process: &Process) -> (char, &'static str) {
        match self.thread_of(pid, process) {
            _ if process.status.is_some() => ('Z', "zombie"),
            None => ('Z', "zombie"),
            // Who asks runs, even in a call that could have waited.
            Some(_) if self.acting_numbers().is_some_and(|(_, tid)| tid == pid) => ('R', "running"),
            Some(thread) if thread.call.is_some_and(|call| !call.done) => ('S', "sleeping"),
            Some(_) => ('R', "running"),
        }
    }

    fn parent_of(&self, process: &Process) -> u32 {
        let parent = process.parent.and_then(|parent| self.processes.get(parent));
        parent.map_or_else(|| if process.pid == INIT { 0 } else { INIT.0 }, |parent| parent.pid.0)
    }

    fn write_stat(&self, pid: Pid, process: &Process, text: &mut Text) -> core::fmt::Result {
        let space = self.space_of(process);
        let bytes = space.map_or(0, |space| space.area_pages * PAGE_BYTES);
        let resident = space.map_or(0, |space| space.pages.len());
        let strings = space.map(|space| space.strings).unwrap_or_default();
        let thread = self.thread_of(pid, process);
        write!(
            text,
            "{} ({}) {} {} {} {} 0 -1 {} 0 0 0 0 ",
            pid.0,
            self.name_of(pid, process),
            self.state_of(pid, process).0,
            self.parent_of(process),
            process.group.0,
            process.session.0,
            0x40_0000
        )?;
        write!(
            text,
            "{} 0 {} 0 {} {} {} 0 {} {bytes} {resident} {} ",
            process.cpu_ns / TICK_NS,
            process.children_cpu_ns / TICK_NS,
            20 + process.nice,
            process.nice,
            process.threads.len(),
            process.started_ns / TICK_NS,
            u64::MAX
        )?;
        // Text, stack and registers are nobody's business; signals are in status.
        let blocked = thread.map_or(0, |thread| thread.mask & i64::MAX.unsigned_abs());
        write!(text, "1 1 0 0 0 0 {blocked} 0 0 0 0 0 {} 0 0 0 0 0 0 ", exit_signal(process))?;
        writeln!(
            text,
            "0 0 {} {} {} {} {} 0",
            space.map_or(0, |space| space.heap_start),
            strings.arguments.0,
            strings.arguments.1,
            strings.environment.0,
            strings.environment.1
        )
    }

    fn write_statm(&self, process: &Process, text: &mut Text) -> core::fmt::Result {
        let Some(space) = self.space_of(process) else { return text.write_str("0 0 0 0 0 0 0\n") };
        let sum = |fits: &dyn Fn(&Area) -> bool| -> u64 {
            space.areas.iter().filter(|area| fits(area)).map(|area| area.range.pages()).sum()
        };
        let code = sum(&|area| area.protection.contains(Protection::EXECUTE));
        let data =
            sum(&|area| area.protection.contains(Protection::WRITE) && area.sharing == Sharing::Private);
        let shared = sum(&|area| area.sharing == Sharing::Shared);
        writeln!(text, "{} {} {shared} {code} 0 {data} 0", space.area_pages, space.pages.len())
    }

    fn write_status(&self, pid: Pid, process: &Process, text: &mut Text) -> core::fmt::Result {
        let (letter, word) = self.state_of(pid, process);
        let credentials = &process.credentials;
        let mut row = |name: &str, value: &dyn core::fmt::Display| writeln!(text, "{name}:\t{value}");
        row("Name", &self.name_of(pid, process))?;
        row("Umask", &format_args!("{:04o}", process.umask))?;
        row("State", &format_args!("{letter} ({word})"))?;
        row("Tgid", &process.pid.0)?;
        row("Ngid", &0)?;
        row("Pid", &pid.0)?;
        row("PPid", &self.parent_of(process))?;
        row("TracerPid", &0)?;
        for (name, triple) in [("Uid", credentials.user), ("Gid", credentials.group)] {
            let effective = triple.effective;
            row(name, &format_args!("{}\t{effective}\t{}\t{effective}", triple.real, triple.saved))?;
        }
        let table = self.files.descriptors.get(process.files.descriptors);
        row("FDSize", &table.map_or(0, |table| table.end().next_multiple_of(64)))?;
        let groups: Vec<String> = credentials.groups.iter().map(|group| alloc::format!("{group} ")).collect();
        row("Groups", &groups.concat())?;
        if let Some(space) = self.space_of(process) {
            let size = |pages: u64| alloc::format!("{:>8} kB", pages * PAGE_BYTES / KIB);
            row("VmPeak", &size(space.area_pages))?;
            row("VmSize", &size(space.area_pages))?;
            row("VmHWM", &size(space.pages.len()))?;
            row("VmRSS", &size(space.pages.len()))?;
            let stack: u64 = space
                .areas
                .iter()
                .filter(|area| area.role == Role::Stack)
                .map(|area| area.range.pages())
                .sum();
            row("VmStk", &size(stack))?;
        }
        row("Threads", &process.threads.len())?;
        let mask = self.thread_of(pid, process).map_or(0, |thread| thread.mask);
        row("SigBlk", &format_args!("{mask:016x}"))?;
        row("NoNewPrivs", &process.no_new_privileges)?;
        row("Cpus_allowed", &1)?;
        row("Cpus_allowed_list", &0)?;
        row("voluntary_ctxt_switches", &0)?;
        row("nonvoluntary_ctxt_switches", &0)
    }

    fn write_maps(&self, process: &Process, text: &mut Text) -> core::fmt::Result {
        let Some(space) = self.space_of(process) else { return Ok(()) };
        let mut path = Vec::new();
        for area in space.areas.iter() {
            let begin = text.0.len();
            let letter = |bit, letter| if area.protection.contains(bit) { letter } else { '-' };
            let shared = if area.sharing == Sharing::Shared { 's' } else { 'p' };
            let object = area.object_page(area.range.start);
            let file = object.and_then(|(object, _)| self.memory.objects.file(object));
            let offset = object.filter(|_| file.is_some()).map_or(0, |(_, page)| page.address());
            let node = file.and_then(|file| {
                let id = crate::slots::Id::new(file);
                Some((id, self.files.tree.get(id)?))
            });
            let inode = node.map_or(0, |(_, node)| node.number);
            write!(
                text,
                "{:08x}-{:08x} {}{}{}{shared} {offset:08x} 00:{:02x} {inode} ",
                area.range.start.address(),
                area.range.end.address(),
                letter(Protection::READ, 'r'),
                letter(Protection::WRITE, 'w'),
                letter(Protection::EXECUTE, 'x'),
                u32::from(node.is_some()),
            )?;
            let is_vdso = self.vdso.is_some() && object.map(|(object, _)| object) == self.vdso;
            path.clear();
            match (node, area.role) {
                (Some((id, _)), _) => {
                    let _ = self.files.tree.path(id, &mut path);
                }
                (None, Role::Heap) => path.extend_from_slice(b"[heap]"),
                (None, Role::Stack) => path.extend_from_slice(b"[stack]"),
                (None, Role::Plain) if is_vdso => path.extend_from_slice(b"[vdso]"),
                (None, Role::Plain) => {}
            }
            if !path.is_empty() {
                let column = begin + NAME_COLUMN;
                text.0.resize(text.0.len().max(column), b' ');
                text.0.extend_from_slice(&path);
            }
            text.0.push(b'\n');
        }
        Ok(())
    }

    /// Writes strings that lie in a process's own memory.
    fn write_strings(&mut self, pid: Pid, range: Option<(u64, u64)>, text: &mut Text) {
        let Some((start, end)) = range else { return };
        let bytes = end.saturating_sub(start).min(STRINGS_MOST);
        let Some(space) = self.process_of_pid(pid).map(|process| process.space) else { return };
        let Ok(slice) = UserSlice::new(start, bytes) else { return };
        text.0.resize(to_usize(bytes), 0);
        // What the process has unmapped is not shown.
        let read = self.view_of(space).map(|mut view| view.read_other(slice, &mut text.0));
        if let Ok(Err(short)) = read {
            text.0.truncate(short.done);
        }
    }

    /// What is known of a descriptor.
    pub(super) fn write_fd(&self, pid: Pid, fd: u32, text: &mut Text) -> Result<(), Errno> {
        let process = self.process_of_pid(pid).ok_or(Errno::ESRCH)?;
        let table = self.files.descriptors.get(process.files.descriptors).ok_or(Errno::ENOENT)?;
        let descriptor = table.get(fd).ok_or(Errno::ENOENT)?;
        let file = self.files.open.get(descriptor.open).ok_or(Errno::ENOENT)?;
        let on_exec = if descriptor.on_exec == OnExec::Close { flags::CLOEXEC } else { 0 };
        let _ = writeln!(text, "pos:\t{}\nflags:\t0{:o}\nmnt_id:\t1", file.offset, file.flags | on_exec);
        Ok(())
    }
}

fn exit_signal(process: &Process) -> u8 {
    process.exit_signal.map_or(0, |signal| signal.0)
}

fn write_limits(process: &Process, text: &mut Text) -> core::fmt::Result {
    const NAMES: [(&str, &str); 16] = [
        ("Max cpu time", "seconds"),
        ("Max file size", "bytes"),
        ("Max data size", "bytes"),
        ("Max stack size", "bytes"),
        ("Max core file size", "bytes"),
        ("Max resident set", "bytes"),
        ("Max processes", "processes"),
        ("Max open files", "files"),
        ("Max locked memory", "bytes"),
        ("Max address space", "bytes"),
        ("Max file locks", "locks"),
        ("Max pending signals", "signals"),
        ("Max msgqueue size", "bytes"),
        ("Max nice priority", ""),
        ("Max realtime priority", ""),
        ("Max realtime timeout", "us"),
    ];
    let show = |value: u64| {
        if value == u64::MAX { String::from("unlimited") } else { alloc::format!("{value}") }
    };
    writeln!(text, "{:<25} {:<20} {:<20} {:<10}", "Limit", "Soft Limit", "Hard Limit", "Units")?;
    for ((name, unit), limit) in NAMES.iter().zip(process.limits.all()) {
        writeln!(text, "{name:<25} {:<20} {:<20} {unit:<10}", show(limit.soft), show(limit.hard))?;
    }
    Ok(())
}
