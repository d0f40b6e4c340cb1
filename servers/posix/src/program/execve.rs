//! execve, and the preparation that it shares with starting a program.

use super::elf::Program;
use super::layout::Layout;
use super::load::{LoadError, Loaded};
use super::stack::{Facts, STRING_MOST, Strings};
use super::words::Words;
use crate::Errno;
use crate::dispatch::{Arguments, Flow};
use crate::file::node::Content;
use crate::file::permission::EXECUTE;
use crate::file::place::Place;
use crate::file::tree::NodeId;
use crate::file::walk::Last;
use crate::host::{Exit, Host, Registers};
use crate::memory::object::Source;
use crate::memory::space::Space;
use crate::process::credentials::Credentials;
use crate::process::numbers::Owner;
use crate::process::{Executed, Signal, SpaceKey, Thread};
use crate::server::{Server, SharedSpace};
use crate::signal::stack::AlternateStack;
use crate::user::UserPtr;
use alloc::vec::Vec;

const SP: usize = 3;
/// Scripts within scripts (Linux: four levels of interpreters).
const MOST_SCRIPTS: u32 = 5;
/// Bytes that Linux reads of a program first: a script's first line ends within them.
const FIRST_BYTES: usize = 256;

/// A program ready to take a process over.
#[derive(Debug)]
pub struct Prepared {
    /// Its space.
    pub space: SpaceKey,
    /// Where it begins.
    pub registers: Registers,
    /// The program's file, held until [`Server::give_up_program`].
    pub program: NodeId,
    /// The thread's name from now on.
    pub name: [u8; 16],
}

/// execve(2).
pub fn execve<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let path = server.read_path(arguments.word(0))?;
    let most = Strings::most(server.process()?.limits.memory().stack);
    let mut strings = Strings { path, ..Strings::default() };
    strings.arguments = read_strings(server, arguments.word(1), most)?;
    if strings.arguments.is_empty() {
        strings.arguments.push(b"");
    }
    let left = most.saturating_sub(strings.arguments.counted() as u64);
    strings.environment = read_strings(server, arguments.word(2), left)?;
    let from = server.directory()?;
    match server.prepare(strings, from) {
        Ok(prepared) => server.replace(prepared),
        Err(LoadError::Refused(error)) => Err(error),
        Err(LoadError::Fatal(_)) => {
            server.kill_current(Signal::SIGSEGV);
            Ok(Flow::Gone)
        }
    }
}

/// Reads a list of strings, ended by null; a null list is empty, as on Linux.
fn read_strings<H: Host>(server: &mut Server<H>, list: u64, most: u64) -> Result<Words, Errno> {
    let mut strings = Words::default();
    if list == 0 {
        return Ok(strings);
    }
    loop {
        let at = list.wrapping_add(strings.len() as u64 * 8);
        let address = server.view()?.read(UserPtr::<u64>::new(at)?)?;
        if address == 0 {
            return Ok(strings);
        }
        let mut view = server.view()?;
        strings.push_with(|bytes| {
            let read = view.append_string(address, STRING_MOST, bytes);
            read.map_err(|error| if error == Errno::ENAMETOOLONG { Errno::E2BIG } else { error })
        })?;
        if strings.counted() as u64 > most {
            return Err(Errno::E2BIG);
        }
    }
}

impl<H: Host> Server<H> {
    /// Loads a program into a space of its own; its path begins in a directory.
    ///
    /// # Errors
    /// [`LoadError`] says whether the caller goes on.
    pub fn prepare(&mut self, mut strings: Strings, from: Place) -> Result<Prepared, LoadError> {
        let name = Thread::name_of(strings.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default());
        let node = self.program_file(&mut strings, from).map_err(LoadError::Refused)?;
        let limits = self.process().map_or_else(|_| Default::default(), |process| process.limits.memory());
        strings.check(limits.stack).map_err(LoadError::Refused)?;
        let program = self.parse(node).map_err(LoadError::Refused)?;
        let space = self.new_space().map_err(LoadError::Refused)?;
        if let Some(shared) = self.spaces.get_mut(space) {
            shared.space.limits = limits;
        }
        match self.fill(space, (node, from), &program, &strings) {
            Ok(registers) => {
                self.run_program(node);
                Ok(Prepared { space, registers, program: node, name })
            }
            Err(error) => {
                self.release_space(space);
                Err(error)
            }
        }
    }

    /// A prepared program is not started after all.
    pub fn give_up(&mut self, prepared: &Prepared) {
        self.release_space(prepared.space);
        self.give_up_program(prepared.program);
    }

    /// The headers of a program's file.
    fn parse(&mut self, node: NodeId) -> Result<Program, Errno> {
        Program::parse(&mut |offset, into| self.read_file_own(node, offset, into).unwrap_or(0))
    }

    /// The file that a path names, if it may be executed: Linux's do_open_execat.
    fn executable(&self, path: &[u8], from: Place) -> Result<NodeId, Errno> {
        let node = self.node_of(self.lookup(from, path, Last::Follow)?, Errno::EACCES)?;
        let record = self.files.tree.get(node).ok_or(Errno::ENOENT)?;
        if !matches!(record.content, Content::File(_)) || !self.who().may(record, EXECUTE) {
            return Err(Errno::EACCES);
        }
        // Somebody has it open for writing.
        if record.writers > 0 {
            return Err(Errno::ETXTBSY);
        }
        Ok(node)
    }

    /// The file of a program, through scripts; their interpreters' arguments go before the others.
    fn program_file(&mut self, strings: &mut Strings, from: Place) -> Result<NodeId, Errno> {
        let mut path = strings.path.clone();
        for _ in 0..MOST_SCRIPTS {
            let node = self.executable(&path, from)?;
            let mut first = [0; FIRST_BYTES];
            let there = self.read_file_own(node, 0, &mut first)?;
            let first = first.get(..there).unwrap_or_default();
            let Some(line) = first.strip_prefix(b"#!") else { return Ok(node) };
            let (interpreter, argument) = script_line(line)?;
            let first = [Some(&interpreter), argument.as_ref(), Some(&path)].into_iter().flatten();
            strings.arguments.replace_first(first.map(Vec::as_slice));
            path = interpreter;
        }
        Err(Errno::ELOOP)
    }

    /// An empty space.
    ///
    /// # Errors
    /// ENOMEM when no VSpace is left (C-45).
    pub fn new_space(&mut self) -> Result<SpaceKey, Errno> {
        let id = self.free_spaces.pop().ok_or(Errno::ENOMEM)?;
        let shared = SharedSpace { space: Space::new(id), users: 1 };
        self.spaces.insert(shared).ok_or_else(|| {
            self.free_spaces.push(id);
            Errno::ENOMEM
        })
    }

    fn fill(
        &mut self,
        space: SpaceKey,
        (node, from): (NodeId, Place),
        program: &Program,
        strings: &Strings,
    ) -> Result<Registers, LoadError> {
        let fatal = LoadError::Fatal;
        let interpreter = self.interpreter(program, from)?;
        let object = self.file_object(node).map_err(fatal)?;
        let credentials =
            self.process().map_or_else(|_| Credentials::default(), |process| process.credentials.clone());
        let mut random = [0; 16];
        self.random.fill(&mut random);
        let limit = self.spaces.get(space).map_or(0, |shared| shared.space.limits.stack);
        let layout = Layout::choose(&mut self.random, limit);
        let vdso = self.vdso();
        let mut view = self.view_of(space).map_err(fatal)?;
        view.space.mmap_top = layout.mmap_top;
        let loaded = view.load(program, object, &layout)?;
        let heap = loaded.end.next_multiple_of(crate::address::PAGE_BYTES).saturating_add(layout.heap);
        (view.space.heap_start, view.space.heap_end) = (heap, heap);
        let (entry, base) = match &interpreter {
            None => (loaded.entry, 0),
            Some((program, object)) => {
                let Loaded { entry, bias, .. } = view.load(program, *object, &layout)?;
                (entry, bias)
            }
        };
        view.map_vdso(vdso, layout.vdso).map_err(fatal)?;
        view.space.sigreturn = layout.vdso.address() + super::vdso::rt_sigreturn_offset().unwrap_or(0);
        let facts = Facts {
            program: loaded,
            header_count: program.header_count,
            interpreter: base,
            capabilities: view.host.hardware_capabilities(),
            random,
            credentials: &credentials,
        };
        let sp = view.make_stack(strings, &facts, &layout, program.stack).map_err(fatal)?;
        view.map_text_ahead();
        let mut registers = Registers { pc: entry, ..Registers::ZERO };
        if let Some(register) = registers.general.get_mut(SP) {
            *register = sp;
        }
        Ok(registers)
    }

    /// The interpreter's program and pages, if the program names one.
    fn interpreter(
        &mut self,
        program: &Program,
        from: Place,
    ) -> Result<Option<(Program, crate::memory::object::ObjectId)>, LoadError> {
        let Some(path) = &program.interpreter else { return Ok(None) };
        let refused = LoadError::Refused;
        let node = self.executable(path, from).map_err(refused)?;
        let parsed = self.parse(node).map_err(|_| refused(Errno::ELIBBAD))?;
        let parsed = Program { interpreter: None, ..parsed };
        let object = self.file_object(node).map_err(refused)?;
        Ok(Some((parsed, object)))
    }

    /// The pages of the vDSO, made when the first program starts.
    fn vdso(&mut self) -> crate::memory::object::ObjectId {
        let objects = &mut self.memory.objects;
        let image = super::vdso::IMAGE;
        *self.vdso.get_or_insert_with(|| objects.create(Source::Bytes(image), image.len() as u64, 1))
    }

    /// The acting process becomes the prepared program: its other threads end, its space goes.
    fn replace(&mut self, prepared: Prepared) -> Result<Flow, Errno> {
        let current = self.current()?;
        let others: Vec<_> =
            self.process()?.threads.iter().copied().filter(|thread| *thread != current.thread).collect();
        for thread in others {
            self.end_thread(thread);
        }
        let Prepared { space, registers, program, name } = prepared;
        // A table that a CLONE_FILES shares stays with the others.
        self.unshare_descriptors()?;
        // As the end of the thread, as far as the old space is concerned.
        self.leave_futexes(current.thread);
        let thread = self.thread_mut()?;
        (thread.name, thread.exit) = (name, Exit::Full);
        let context = thread.context;
        // They lay in the old space.
        (thread.clear_child_tid, thread.robust_list) = (0, 0);
        // What waits and what is held off stays; the stack and the page that was touched are gone.
        (thread.signals.stack, thread.signals.bad_access) = (AlternateStack::default(), 0);
        let pid = self.process()?.pid;
        let thread = self.thread_mut()?;
        let tid = core::mem::replace(&mut thread.tid, pid);
        if tid != pid {
            self.numbers.release(tid);
            self.numbers.set(pid, Owner::Thread(current.thread));
        }
        let process = self.process_mut()?;
        let old = core::mem::replace(&mut process.space, space);
        let before = process.files.program.replace(program);
        process.executed = Executed::Yes;
        process.signals.actions.forget_handlers();
        process.credentials.follow_execve();
        let descriptors = process.files.descriptors;
        self.close_on_exec(descriptors);
        if let Some(before) = before {
            self.give_up_program(before);
        }
        let id = self.spaces.get(space).ok_or(Errno::ESRCH)?.space.id;
        self.host.set_space(context, id);
        self.host.set_registers(context, &registers);
        self.host.clear_vectors(context);
        self.tell_identity(current.thread);
        // The context's space is another now: make it so for the host too.
        self.acting = None;
        self.make_current(current.thread);
        self.release_space(old);
        self.release_vforker(current.process);
        Ok(Flow::Replaced)
    }
}

/// The interpreter and argument of a script's first line, without `#!`.
fn script_line(line: &[u8]) -> Result<(Vec<u8>, Option<Vec<u8>>), Errno> {
    let line = line.get(..FIRST_BYTES - 2).unwrap_or(line);
    let end = line.iter().position(|byte| *byte == b'\n');
    let line = line.get(..end.unwrap_or(line.len())).unwrap_or_default();
    let line = line.trim_ascii();
    let space = line.iter().position(|byte| *byte == b' ' || *byte == b'\t');
    let (path, rest) = line.split_at(space.unwrap_or(line.len()));
    if path.is_empty() || (space.is_none() && end.is_none() && path.len() >= FIRST_BYTES - 2) {
        return Err(Errno::ENOEXEC);
    }
    let argument = rest.trim_ascii();
    Ok((path.to_vec(), (!argument.is_empty()).then(|| argument.to_vec())))
}
