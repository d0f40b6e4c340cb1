//! clone and clone3: new threads. New processes come with fork; until then they are refused by name.

use super::{SpaceKey, Thread, ThreadId};
use crate::Errno;
use crate::dispatch::{Arguments, Flow};
use crate::host::{Exit, Host, Registers};
use crate::number::{low_u32, to_usize};
use crate::server::Server;
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
struct Request {
    flags: CloneFlags,
    stack: u64,
    parent_tid: u64,
    child_tid: u64,
    tls: u64,
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
    create(server, &Request { flags, stack, parent_tid, child_tid, tls })
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
    create(server, &Request { flags, stack, parent_tid, child_tid, tls })
}

fn create<H: Host>(server: &mut Server<H>, request: &Request) -> Result<Flow, Errno> {
    let flags = request.flags;
    let wrong = flags.contains(CloneFlags::NEWNS | CloneFlags::FS)
        || (flags.contains(CloneFlags::THREAD) && !flags.contains(CloneFlags::SIGHAND))
        || (flags.contains(CloneFlags::SIGHAND) && !flags.contains(CloneFlags::VM));
    if wrong {
        return Err(Errno::EINVAL);
    }
    if !flags.contains(CloneFlags::THREAD | CloneFlags::FILES | CloneFlags::FS) {
        // Processes, and threads with files or a directory of their own, are not there yet.
        return Err(Errno::ENOSYS);
    }
    let current = server.current()?;
    let context = server.free_contexts.pop().ok_or(Errno::EAGAIN)?;
    let parent = server.thread()?;
    let (parent_context, name, mask) = (parent.context, parent.name, parent.mask);
    let registers = child_registers(server.host.registers(parent_context), request);
    let child = Thread {
        tid: super::Pid(0),
        process: current.process,
        context,
        exit: Exit::Full,
        call: None,
        clear_child_tid: if flags.contains(CloneFlags::CHILD_CLEARTID) { request.child_tid } else { 0 },
        robust_list: 0,
        mask,
        name,
    };
    let Some((thread, tid)) = server.add_thread(child) else {
        server.free_contexts.push(context);
        return Err(Errno::EAGAIN);
    };
    let space = server.spaces.get(current.space).ok_or(Errno::ESRCH)?.space.id;
    server.host.set_space(context, space);
    server.host.set_registers(context, &registers);
    server.host.copy_vectors(parent_context, context);
    server.tell_identity(thread);
    store_tids(server, current.space, request, tid);
    server.ready.push(thread);
    Ok(Flow::Woke(u64::from(tid)))
}

/// Linux ignores that the words cannot be written.
fn store_tids<H: Host>(server: &mut Server<H>, space: SpaceKey, request: &Request, tid: u32) {
    for (flag, address) in
        [(CloneFlags::PARENT_SETTID, request.parent_tid), (CloneFlags::CHILD_SETTID, request.child_tid)]
    {
        if request.flags.contains(flag)
            && let Ok(pointer) = UserPtr::new(address)
        {
            let _ = server.view_of(space).and_then(|mut view| view.write(pointer, &tid));
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
