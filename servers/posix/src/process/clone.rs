//! clone and clone3: new threads here, new processes in [`super::fork`].

use super::{ProcessId, Signal, SpaceKey, Thread, ThreadId};
use crate::Errno;
use crate::dispatch::{Arguments, Flow};
use crate::host::{ContextId, Exit, Host, Registers};
use crate::number::{low_u32, to_usize};
use crate::server::Server;
use crate::signal::stack::AlternateStack;
use crate::user::{UserPtr, UserSlice};
use bitflags::bitflags;
use zerocopy::{FromBytes, IntoBytes};

bitflags! {
    /// clone's flags, the exit signal not among them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct CloneFlags: u64 {
        /// The same address space.
        const VM = 0x100;
        /// The same working directory, root and umask.
        const FS = 0x200;
        /// The same descriptors.
        const FILES = 0x400;
        /// The same signal handlers.
        const SIGHAND = 0x800;
        /// A file descriptor for the child.
        const PIDFD = 0x1000;
        /// The parent waits until the child lets go of its memory.
        const VFORK = 0x4000;
        /// The same parent.
        const PARENT = 0x8000;
        /// The same process.
        const THREAD = 0x1_0000;
        /// A mount namespace of its own.
        const NEWNS = 0x2_0000;
        /// The same System V semaphore undo list.
        const SYSVSEM = 0x4_0000;
        /// A new thread pointer.
        const SETTLS = 0x8_0000;
        /// The tid is stored for the parent.
        const PARENT_SETTID = 0x10_0000;
        /// A word is cleared and woken at the end.
        const CHILD_CLEARTID = 0x20_0000;
        /// Ignored since Linux 2.6.
        const DETACHED = 0x40_0000;
        /// Namespaces of its own, of every other kind.
        const NAMESPACES = 0x7e00_0080;
        /// Nobody may trace it.
        const UNTRACED = 0x80_0000;
        /// The tid is stored for the child.
        const CHILD_SETTID = 0x100_0000;
        /// The same input and output context.
        const IO = 0x8000_0000;
        /// Default signal handlers (clone3).
        const CLEAR_SIGHAND = 0x1_0000_0000;
        const _ = !0;
    }
}

/// What a new thread is to be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) flags: CloneFlags,
    pub(super) stack: u64,
    pub(super) parent_tid: u64,
    pub(super) child_tid: u64,
    pub(super) tls: u64,
    /// Of a new process: what its parent is sent when it ends.
    pub(super) exit_signal: Option<Signal>,
}

/// Linux's `struct clone_args`, first version.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes)]
#[repr(C)]
struct CloneArguments {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
}

/// `$tp`, `$sp`, `$a0`, and the temporaries that a system call destroys.
const TP: usize = 2;
const SP: usize = 3;
const A0: usize = 4;
const TEMPORARIES: core::ops::RangeInclusive<usize> = 12..=20;
const CSIGNAL: u64 = 0xff;

/// clone(2), with LoongArch's order of arguments: flags, stack, parent's tid, child's tid, tls.
pub fn clone<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    // Linux takes the flags of clone as 32 bits.
    let flags = CloneFlags::from_bits_retain(u64::from(low_u32(arguments.word(0))) & !CSIGNAL);
    if flags.contains(CloneFlags::PIDFD) && flags.intersects(CloneFlags::PARENT_SETTID | CloneFlags::DETACHED)
    {
        return Err(Errno::EINVAL);
    }
    let [_, stack, parent_tid, child_tid, tls, _] = arguments.words();
    let exit_signal = Signal::new(arguments.word(0) & CSIGNAL);
    create(server, &Request { flags, stack, parent_tid, child_tid, tls, exit_signal })
}

/// clone3(2).
pub fn clone3<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    const FIRST_VERSION: u64 = size_of::<CloneArguments>() as u64;
    let bytes = arguments.word(1);
    if bytes > crate::address::PAGE_BYTES {
        return Err(Errno::E2BIG);
    }
    if bytes < FIRST_VERSION {
        return Err(Errno::EINVAL);
    }
    let slice = UserSlice::new(arguments.word(0), bytes)?;
    let mut view = server.view()?;
    let given = view.read(UserPtr::<CloneArguments>::new(slice.address())?)?;
    // set_tid and cgroup of later versions are not there; what Linux does not know it refuses like this.
    let mut more = slice.after(FIRST_VERSION);
    while !more.is_empty() {
        let mut piece = [0; 64];
        let length = to_usize(more.bytes()).min(piece.len());
        let Some(piece) = piece.get_mut(..length) else { break };
        view.read_bytes(more, piece)?;
        if piece.iter().any(|byte| *byte != 0) {
            return Err(Errno::E2BIG);
        }
        more = more.after(length as u64);
    }
    let flags = CloneFlags::from_bits_retain(given.flags);
    let refused = flags.intersects(CloneFlags::DETACHED | CloneFlags::from_bits_retain(CSIGNAL))
        || flags.contains(CloneFlags::SIGHAND | CloneFlags::CLEAR_SIGHAND)
        || (flags.intersects(CloneFlags::THREAD | CloneFlags::PARENT) && given.exit_signal != 0)
        || given.exit_signal > 64
        || (given.stack == 0) != (given.stack_size == 0);
    if refused {
        return Err(Errno::EINVAL);
    }
    let stack = UserSlice::new(given.stack, given.stack_size).map_err(|_| Errno::EINVAL)?;
    let stack = stack.address() + stack.bytes();
    let CloneArguments { parent_tid, child_tid, tls, .. } = given;
    let exit_signal = Signal::new(given.exit_signal);
    create(server, &Request { flags, stack, parent_tid, child_tid, tls, exit_signal })
}

fn create<H: Host>(server: &mut Server<H>, request: &Request) -> Result<Flow, Errno> {
    let flags = request.flags;
    let wrong = flags.contains(CloneFlags::NEWNS | CloneFlags::FS)
        || (flags.contains(CloneFlags::THREAD) && !flags.contains(CloneFlags::SIGHAND))
        || (flags.contains(CloneFlags::SIGHAND) && !flags.contains(CloneFlags::VM))
        // As a kernel that was built without them.
        || flags.intersects(CloneFlags::NAMESPACES | CloneFlags::NEWNS);
    if wrong {
        return Err(Errno::EINVAL);
    }
    if flags.contains(CloneFlags::PIDFD) {
        // Descriptors of processes are not there.
        return Err(Errno::ENOSYS);
    }
    let tid = if flags.contains(CloneFlags::THREAD) {
        if !flags.contains(CloneFlags::FILES | CloneFlags::FS) {
            // Threads with files or a directory of their own are not there.
            return Err(Errno::ENOSYS);
        }
        new_thread(server, request)?
    } else {
        super::fork::fork(server, request)?
    };
    Ok(if server.thread()?.vforked.is_some() { Flow::Wait } else { Flow::Woke(u64::from(tid)) })
}

fn new_thread<H: Host>(server: &mut Server<H>, request: &Request) -> Result<u32, Errno> {
    let current = server.current()?;
    let context = server.free_contexts.pop().ok_or(Errno::EAGAIN)?;
    let child = server.thread()?.child(current.process, context, request);
    let Some((thread, tid)) = server.add_thread(child) else {
        server.free_contexts.push(context);
        return Err(Errno::EAGAIN);
    };
    server.prepare_child(thread, context, current.space, request)?;
    store_tid(server, current.space, request.child_tid_now(), tid);
    store_tid(server, current.space, request.parent_tid_now(), tid);
    server.ready.push(thread);
    Ok(tid)
}

/// Stores a tid in the acting thread's space; Linux ignores that the word cannot be written.
pub(super) fn store_tid<H: Host>(server: &mut Server<H>, space: SpaceKey, address: Option<u64>, tid: u32) {
    if let Some(pointer) = address.and_then(|address| UserPtr::new(address).ok()) {
        let _ = server.view_of(space).and_then(|mut view| view.write(pointer, &tid));
    }
}

impl Request {
    /// Where the tid goes in the parent's memory.
    pub(super) fn parent_tid_now(&self) -> Option<u64> {
        self.flags.contains(CloneFlags::PARENT_SETTID).then_some(self.parent_tid)
    }

    /// Where the tid goes in the child's memory.
    pub(super) fn child_tid_now(&self) -> Option<u64> {
        self.flags.contains(CloneFlags::CHILD_SETTID).then_some(self.child_tid)
    }
}

impl Thread {
    /// The thread that a clone by this one makes, without a number.
    pub(super) fn child(&self, process: ProcessId, context: ContextId, request: &Request) -> Self {
        let clears = request.flags.contains(CloneFlags::CHILD_CLEARTID);
        // One that runs beside its maker in the same memory has a stack of its own.
        let beside = request.flags & (CloneFlags::VM | CloneFlags::VFORK) == CloneFlags::VM;
        let stack = if beside { AlternateStack::default() } else { self.signals.stack };
        Self {
            tid: super::Pid(0),
            process,
            context,
            exit: Exit::Full,
            call: None,
            parked: None,
            waiter: None,
            clear_child_tid: if clears { request.child_tid } else { 0 },
            robust_list: 0,
            mask: self.mask,
            signals: self.signals.child(stack),
            name: self.name,
            written: 0,
            vforked: None,
        }
    }
}

fn child_registers(mut registers: Registers, request: &Request) -> Registers {
    let mut set = |number: usize, value| {
        if let Some(register) = registers.general.get_mut(number) {
            *register = value;
        }
    };
    set(A0, 0);
    // What the host had in them is nobody's business (C-25).
    TEMPORARIES.for_each(|number| set(number, 0));
    if request.stack != 0 {
        set(SP, request.stack);
    }
    if request.flags.contains(CloneFlags::SETTLS) {
        set(TP, request.tls);
    }
    registers.pc = registers.pc.wrapping_add(4);
    registers
}

impl<H: Host> Server<H> {
    /// Gives a new thread's context what the acting thread has.
    pub(super) fn prepare_child(
        &mut self,
        thread: ThreadId,
        context: ContextId,
        space: SpaceKey,
        request: &Request,
    ) -> Result<(), Errno> {
        let parent = self.thread()?.context;
        let registers = child_registers(self.host.registers(parent), request);
        let space = self.spaces.get(space).ok_or(Errno::ESRCH)?.space.id;
        self.host.set_space(context, space);
        self.host.set_registers(context, &registers);
        self.host.copy_vectors(parent, context);
        self.tell_identity(thread);
        Ok(())
    }

    /// Adds a thread to the process that it names; gives it a tid. `None` when a table is full.
    pub(super) fn add_thread(&mut self, thread: Thread) -> Option<(ThreadId, u32)> {
        let process = thread.process;
        let id = self.threads.insert(thread)?;
        let Some(tid) = self.numbers.take(id) else {
            self.threads.remove(id);
            return None;
        };
        self.threads.get_mut(id)?.tid = tid;
        self.processes.get_mut(process)?.threads.push(id);
        self.ready.reserve(self.threads.len() + 1);
        Some((id, tid.0))
    }
}
