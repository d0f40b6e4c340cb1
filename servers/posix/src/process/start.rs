//! Starting a program that nobody forked: what the system description names, or `run -- CMD`.

use super::credentials::Credentials;
use super::limits::Limits;
use super::{Adopts, Executed, Origin, Pid, Process, Signal, Thread};
use crate::Errno;
use crate::file::place::{Holdings, Place};
use crate::host::{Exit, Host};
use crate::program::execve::Prepared;
use crate::program::load::LoadError;
use crate::program::stack::Strings;
use crate::server::Server;
use crate::signal::{ProcessSignals, ThreadSignals};
use alloc::vec::Vec;

impl<H: Host> Server<H> {
    /// Starts a program with the console's streams, in a directory; returns its pid.
    ///
    /// # Errors
    /// As execve; EAGAIN when a table is full.
    pub fn start(&mut self, strings: Strings, directory: Place) -> Result<Pid, Errno> {
        // Its limits and users are a new process's, whoever acts now.
        let before = self.acting.take();
        let prepared = self.prepare(strings, directory);
        self.acting = before;
        let prepared = prepared.map_err(|error| match error {
            LoadError::Refused(error) | LoadError::Fatal(error) => error,
        })?;
        self.begin(&prepared, directory).inspect_err(|_| self.give_up(&prepared))
    }

    fn begin(&mut self, prepared: &Prepared, directory: Place) -> Result<Pid, Errno> {
        let id = self.spaces.get(prepared.space).ok_or(Errno::ENOMEM)?.space.id;
        let context = self.free_contexts.pop().ok_or(Errno::EAGAIN)?;
        let Some(descriptors) = self.standard_descriptors() else {
            self.free_contexts.push(context);
            return Err(Errno::ENFILE);
        };
        let files = Holdings { descriptors, directory, program: Some(prepared.program) };
        self.hold_place(directory);
        let changed = self.waits.create();
        let process = Process {
            pid: Pid(0),
            parent: None,
            origin: Origin::Server,
            children: Vec::new(),
            group: Pid(0),
            session: Pid(0),
            exit_signal: Some(Signal::SIGCHLD),
            parent_death: None,
            adopts: Adopts::No,
            executed: Executed::Yes,
            vforker: None,
            space: prepared.space,
            files,
            threads: Vec::new(),
            credentials: Credentials::default(),
            limits: Limits::default(),
            umask: 0o022,
            started_ns: self.host.monotonic_ns(),
            last_name: prepared.name,
            cpu_ns: 0,
            children_cpu_ns: 0,
            terminal: None,
            lost_foreground: None,
            status: None,
            change: None,
            changed,
            signals: ProcessSignals::default(),
            nice: 0,
            personality: 0,
            no_new_privileges: 0,
        };
        let created = self.processes.insert(process).and_then(|process| {
            let thread = Thread {
                tid: Pid(0),
                process,
                context,
                exit: Exit::Full,
                call: None,
                parked: None,
                waiter: None,
                clear_child_tid: 0,
                robust_list: 0,
                mask: 0,
                signals: ThreadSignals::default(),
                name: prepared.name,
                written: 0,
                vforked: None,
            };
            let added = self.add_thread(thread);
            if added.is_none() {
                self.processes.remove(process);
            }
            added.map(|added| (process, added))
        });
        let Some((process, (thread, tid))) = created else {
            self.free_contexts.push(context);
            // Whoever prepared the program gives it up.
            self.leave_files(Holdings { program: None, ..files });
            self.waits.destroy(changed, &mut self.ready);
            return Err(Errno::EAGAIN);
        };
        if let Some(process) = self.processes.get_mut(process) {
            (process.pid, process.group, process.session) = (Pid(tid), Pid(tid), Pid(tid));
            self.numbers.join(Pid(tid));
            self.numbers.join(Pid(tid));
        }
        // The system's terminal belongs to the first program that finds it free.
        if let Some(terminal) = self.terminals.system
            && self.terminals.get(terminal).is_some_and(|terminal| terminal.session.is_none())
        {
            self.take_terminal(process, terminal);
        }
        self.host.set_space(context, id);
        self.host.set_registers(context, &prepared.registers);
        self.host.clear_vectors(context);
        self.tell_identity(thread);
        self.ready.push(thread);
        Ok(Pid(tid))
    }
}
