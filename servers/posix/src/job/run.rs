//! Starting what is due, and taking in what has ended.

use super::holdings::Holdings;
use super::{Jobs, Program};
use crate::Errno;
use crate::file::place::Place;
use crate::file::walk::Last;
use crate::host::{Host, Stream};
use crate::process::{Pid, ProcessId, Signal, Status};
use crate::program::stack::Strings;
use crate::server::{Event, Sent, Server};
use crate::terminal::table::WindowSize;
use abi::control::Record;
use alloc::vec::Vec;

/// A shell's status for a program that is there and cannot be executed.
const CANNOT_EXECUTE: u8 = 126;
/// A shell's status for a program that is not there.
const NOT_FOUND: u8 = 127;
/// Where programs without a `/` are looked for when their environment has no PATH (as Debian's shells do).
const DEFAULT_PATH: &[u8] = b"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

impl<H: Host> Server<H> {
    /// Takes in which of the job's programs have ended; with the last of a group ends whatever it has started.
    ///
    /// Their tasks are abandoned: they are to be dropped before [`Server::start_jobs`].
    pub fn end_jobs(&mut self) {
        if self.events.is_empty() || self.jobs.running.is_empty() {
            return;
        }
        while let Some(Event::Ended(pid, status)) = self.events.pop_front() {
            self.jobs.has_ended(pid, status.shell_code());
        }
        if self.jobs.running.is_empty() {
            let left: Vec<ProcessId> = self.processes.iter().map(|(process, _)| process).collect();
            for process in left {
                self.end_process(process, Status::Killed(Signal::SIGKILL));
            }
            self.events.clear();
        }
    }

    /// Tells of a group that has ended, and starts the next one.
    pub fn start_jobs(&mut self) {
        if let Some((rows, columns)) = self.jobs.terminal.take() {
            self.open_system_terminal(WindowSize { rows, columns, width: 0, height: 0 });
        }
        while self.jobs.running.is_empty() {
            self.tell_ends();
            let Some(group) = self.jobs.waiting.pop_front() else { return };
            if self.jobs.started != 0 {
                // What one group of programs left there is not the next one's; the first finds the user's files.
                self.empty_temporary();
            }
            self.jobs.before = Some(Holdings::of(self));
            for program in group {
                self.start_program(program);
            }
        }
    }

    fn tell_ends(&mut self) {
        let Sent { output, errors } = self.sent;
        let frames = self.memory.frames.free_count();
        let mut ended = core::mem::take(&mut self.jobs.ended);
        ended.sort_unstable();
        let now = Holdings::of(self);
        let before = self.jobs.before.take().unwrap_or(now);
        let left = now.left_since(&before);
        if left != 0 {
            self.host.log(&alloc::format!("left behind by a program:{}", now.told_since(&before)));
        }
        for (number, status) in ended {
            self.host.record(&Record::Program { number, status, output, errors, frames, left });
        }
    }

    fn start_program(&mut self, program: Program) {
        let number = self.jobs.started;
        self.jobs.started += 1;
        let name = program.arguments.first().cloned().unwrap_or_default();
        match self.start_by_name(program) {
            Ok(pid) => self.jobs.running.push((pid, number)),
            Err(error) => {
                let status = if error == Errno::ENOENT { NOT_FOUND } else { CANNOT_EXECUTE };
                self.say(&alloc::format!("bixi: {}: {}\n", name.escape_ascii(), reason(error)));
                self.jobs.set_end(number, status);
            }
        }
    }

    /// Starts a program by its path, or as execvp(3) finds it.
    fn start_by_name(&mut self, program: Program) -> Result<Pid, Errno> {
        let Program { arguments, environment, directory } = program;
        let words = |environment: &[Vec<u8>]| (arguments.iter().collect(), environment.iter().collect());
        let directory = match directory.as_slice() {
            b"" => Place::ROOT,
            path => self.lookup(Place::ROOT, path, Last::Follow)?,
        };
        if !self.is_directory(directory) {
            return Err(Errno::ENOTDIR);
        }
        let name = arguments.first().cloned().unwrap_or_default();
        if name.contains(&b'/') {
            let (arguments, environment) = words(&environment);
            return self.start(Strings { path: name, arguments, environment }, directory);
        }
        let path = environment.iter().find_map(|string| string.strip_prefix(b"PATH="));
        let path = path.unwrap_or(DEFAULT_PATH).to_vec();
        let mut refusal = Errno::ENOENT;
        for folder in path.split(|byte| *byte == b':').filter(|_| !name.is_empty()) {
            let folder = if folder.is_empty() { b".".as_slice() } else { folder };
            let path = [folder, b"/", name.as_slice()].concat();
            let (arguments, environment) = words(&environment);
            match self.start(Strings { path, arguments, environment }, directory) {
                Err(Errno::ENOENT | Errno::ENOTDIR) => {}
                Err(Errno::EACCES) => refusal = Errno::EACCES,
                started => return started,
            }
        }
        Err(refusal)
    }

    /// Says something to whoever has asked for the programs, where their own errors go.
    fn say(&mut self, text: &str) {
        let taken = self.send(Stream::StandardError, text.as_bytes());
        if taken < text.len() {
            // Nobody reads the stream: the log has it.
            self.host.log(text.trim_end());
        }
    }
}

impl Jobs {
    /// Whether something is to be started, or told of.
    #[inline]
    pub(crate) const fn is_due(&self) -> bool {
        self.running.is_empty() || self.terminal.is_some()
    }

    fn has_ended(&mut self, pid: Pid, status: u8) {
        if let Some(place) = self.running.iter().position(|(running, _)| *running == pid) {
            let (_, number) = self.running.swap_remove(place);
            self.set_end(number, status);
        }
    }

    fn set_end(&mut self, number: u64, status: u8) {
        if number == 0 {
            self.status = Some(status);
        }
        self.ended.push((number, status));
    }
}

fn reason(error: Errno) -> &'static str {
    match error {
        Errno::ENOENT => "not found",
        Errno::EACCES => "Permission denied",
        Errno::ENOEXEC => "not an executable for this machine",
        Errno::ENOMEM => "not enough memory",
        Errno::E2BIG => "Argument list too long",
        Errno::EISDIR => "Is a directory",
        Errno::ENOTDIR => "Not a directory",
        Errno::ELOOP => "Too many levels of symbolic links",
        Errno::ENOSYS => "cannot start in another folder than /",
        _ => "cannot be started",
    }
}
