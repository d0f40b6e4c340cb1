//! New processes: fork, vfork, and clone as C libraries call it for them.
//!
//! What fails gives back what it took, in the reverse order; a child that nobody has seen yet is never left.

use super::clone::{CloneFlags, Request, store_tid};
use super::{Adopts, Executed, Origin, Pid, Process, ProcessId, SpaceKey};
use crate::Errno;
use crate::dispatch::Arguments;
use crate::executor::cx::Cx;
use crate::file::descriptor::Descriptors;
use crate::file::place::{Descend, Holdings};
use crate::host::{ContextId, Host};
use crate::memory::space::{Space, View};
use crate::server::{Server, SharedSpace};
use crate::user::UserSlice;
use alloc::vec::Vec;

/// Makes a process that the acting thread is the parent of; its pid.
pub(super) fn fork<H: Host>(server: &mut Server<H>, request: &Request) -> Result<u32, Errno> {
    if request.flags.intersects(CloneFlags::FS | CloneFlags::SIGHAND) {
        // Processes with a directory or signal handlers in common are not there.
        return Err(Errno::ENOSYS);
    }
    server.check_process_limit()?;
    server.check_room_for_copy(request)?;
    let space = server.child_space(request)?;
    server.fork_into(space, request).inspect_err(|_| server.release_space(space))
}

/// The rest of a vfork: until the child has let go of the memory.
pub async fn clone_waiting<H: Host>(cx: &Cx<H>, _: Arguments) -> Result<u64, Errno> {
    let child = cx.attempt(|server| {
        let child = server.thread()?.vforked.ok_or(Errno::ESRCH)?;
        server.processes.get(child).map(|child| child.pid).ok_or(Errno::ESRCH)
    })?;
    loop {
        let (waits, queue) =
            cx.attempt(|server| Ok((server.thread()?.vforked.is_some(), server.process()?.changed)))?;
        if !waits {
            return Ok(u64::from(child.0));
        }
        // No signal ends this wait (Linux: only one that kills).
        let _ = cx.wait(Some(queue), None).await;
    }
}

impl<H: Host> Server<H> {
    /// RLIMIT_NPROC, which does not bind root.
    fn check_process_limit(&self) -> Result<(), Errno> {
        let process = self.process()?;
        let user = process.credentials.user.real;
        if user == 0 || process.credentials.can_exceed_limits() {
            return Ok(());
        }
        let same = |record: &Process| record.credentials.user.real == user;
        let threads = self.processes.iter().filter(|(_, record)| same(record));
        let count: usize = threads.map(|(_, record)| record.threads.len()).sum();
        if count as u64 >= process.limits.processes() { Err(Errno::EAGAIN) } else { Ok(()) }
    }

    /// Whether the server has room for what of a child is as large as its parent made it.
    fn check_room_for_copy(&self, request: &Request) -> Result<(), Errno> {
        let process = self.process()?;
        let mut bytes = process.credentials.groups.len() * size_of::<u32>();
        if !request.flags.contains(CloneFlags::VM) {
            let space = &self.spaces.get(process.space).ok_or(Errno::ESRCH)?.space;
            bytes += space.areas.bytes() + space.pages.bytes();
        }
        if !request.flags.contains(CloneFlags::FILES) {
            let table = self.files.descriptors.get(process.files.descriptors);
            bytes += table.map_or(0, Descriptors::bytes);
        }
        if self.host.has_room(bytes) { Ok(()) } else { Err(Errno::ENOMEM) }
    }

    /// The space of a child: the parent's own, or a copy of it.
    fn child_space(&mut self, request: &Request) -> Result<SpaceKey, Errno> {
        let parent = self.current()?.space;
        if request.flags.contains(CloneFlags::VM) {
            self.spaces.get_mut(parent).ok_or(Errno::ESRCH)?.users += 1;
            return Ok(parent);
        }
        let id = self.free_spaces.pop().ok_or(Errno::EAGAIN)?;
        let mut space = Space::new(id);
        let copied = self.view().and_then(|mut view| view.fork_into(&mut space));
        let result = match copied {
            Ok(()) => self.spaces.insert(SharedSpace { space, users: 1 }).ok_or(Errno::EAGAIN),
            Err(error) => {
                View { host: &mut self.host, memory: &mut self.memory, space: &mut space }.clear();
                Err(error)
            }
        };
        result.inspect_err(|_| self.free_spaces.push(id))
    }

    fn fork_into(&mut self, space: SpaceKey, request: &Request) -> Result<u32, Errno> {
        let shares = request.flags.contains(CloneFlags::FILES);
        let descend = if shares { Descend::Share } else { Descend::Copy };
        let files = self.descend_files(self.current()?.process, descend)?;
        self.fork_with(space, files, request).inspect_err(|_| self.leave_files(files))
    }

    fn fork_with(&mut self, space: SpaceKey, files: Holdings, request: &Request) -> Result<u32, Errno> {
        let context = self.free_contexts.pop().ok_or(Errno::EAGAIN)?;
        let Some((process, tid)) = self.add_child(space, files, context, request) else {
            self.free_contexts.push(context);
            return Err(Errno::EAGAIN);
        };
        self.finish_fork(process, tid, request)?;
        Ok(tid)
    }

    /// The child's records; `None` when a table is full.
    fn add_child(
        &mut self,
        space: SpaceKey,
        files: Holdings,
        context: ContextId,
        request: &Request,
    ) -> Option<(ProcessId, u32)> {
        let current = self.current().ok()?;
        let changed = self.waits.create();
        let parent = self.process().ok()?;
        let siblings = request.flags.contains(CloneFlags::PARENT);
        let child = Process {
            pid: Pid(0),
            parent: if siblings { parent.parent } else { Some(current.process) },
            origin: Origin::Fork,
            children: Vec::new(),
            exit_signal: if siblings { parent.exit_signal } else { request.exit_signal },
            parent_death: None,
            adopts: Adopts::No,
            executed: Executed::No,
            vforker: None,
            space,
            files,
            threads: Vec::new(),
            credentials: parent.credentials.clone(),
            started_ns: self.host.monotonic_ns(),
            cpu_ns: 0,
            children_cpu_ns: 0,
            status: None,
            change: None,
            changed,
            signals: parent.signals.child(),
            ..*parent
        };
        let (group, session) = (child.group, child.session);
        let added = self.processes.insert(child).and_then(|process| {
            let thread = self.thread().ok()?.child(process, context, request);
            let added = self.add_thread(thread);
            if added.is_none() {
                self.processes.remove(process);
            }
            added.map(|(_, tid)| (process, tid))
        });
        match added {
            Some(_) => {
                self.numbers.join(group);
                self.numbers.join(session);
            }
            None => self.waits.destroy(changed, &mut self.ready),
        }
        added
    }

    /// The records are there: the child gets its registers and its place in the family, and goes on.
    fn finish_fork(&mut self, process: ProcessId, tid: u32, request: &Request) -> Result<(), Errno> {
        let current = self.current()?;
        let record = self.processes.get_mut(process).ok_or(Errno::ESRCH)?;
        record.pid = Pid(tid);
        let (space, parent) = (record.space, record.parent);
        let thread = record.threads.first().copied().ok_or(Errno::ESRCH)?;
        if request.flags.contains(CloneFlags::VFORK) {
            record.vforker = Some(current.thread);
            self.thread_mut()?.vforked = Some(process);
        }
        if let Some(parent) = parent.and_then(|parent| self.processes.get_mut(parent)) {
            parent.children.push(process);
        }
        let context = self.threads.get(thread).ok_or(Errno::ESRCH)?.context;
        self.prepare_child(thread, context, space, request)?;
        store_tid(self, current.space, request.parent_tid_now(), tid);
        if let Some(address) = request.child_tid_now()
            && let Ok(word) = UserSlice::new(address, 4)
        {
            // Linux ignores that the word cannot be written.
            let _ = self.view_of(space)?.write_other(&tid.to_le_bytes(), word);
        }
        self.limit_processor(process);
        self.ready.push(thread);
        Ok(())
    }
}
