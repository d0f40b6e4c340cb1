//! The server's whole state, and the thread on whose behalf it acts.
//!
//! Invariant: `current` names the thread whose context the host made current, so that a program's memory is
//! reached directly; it is set only by [`Server::make_current`].

use crate::Errno;
use crate::executor::run_queue::RunQueue;
use crate::executor::timers::Timers;
use crate::executor::wait::{QueueId, WaitQueues};
use crate::file::Files;
use crate::futex::Futexes;
use crate::host::{ContextId, Host, SpaceId, Stream};
use crate::memory::object::ObjectId;
use crate::memory::space::{Memory, Space, View};
use crate::number::to_usize;
use crate::process::numbers::Numbers;
use crate::process::{Pid, Process, ProcessId, SpaceKey, Status, Thread, ThreadId};
use crate::random::Random;
use crate::signal::{Attention, Stopped};
use crate::slots::Slots;
use crate::terminal::table::Terminals;
use crate::user::UserPtr;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// What the server was given (C-45).
#[derive(Clone, Copy, Debug)]
pub struct Resources<'a> {
    /// Pages of each window.
    pub window_pages: &'a [u32],
    /// Lower VSpaces.
    pub spaces: u16,
    /// Contexts, the header not counted; the first is number 1 (C-20).
    pub contexts: u16,
    /// The initial file system, a newc archive; empty for none.
    pub archive: &'static [u8],
}

/// A space and how many processes live in it.
#[derive(Debug)]
pub struct SharedSpace {
    /// The space.
    pub space: Space,
    /// Processes in it.
    pub users: u32,
}

/// The thread on whose behalf the server acts.
#[derive(Clone, Copy, Debug)]
pub struct Current {
    /// The thread.
    pub thread: ThreadId,
    /// Its process.
    pub process: ProcessId,
    /// Its space.
    pub space: SpaceKey,
}

/// Something that whoever started the programs wants to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A program that the server started itself has ended.
    Ended(Pid, Status),
}

/// How many bytes were put on each of the console's streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Standard output.
    pub output: u64,
    /// Standard error.
    pub errors: u64,
}

/// The server.
#[derive(Debug)]
#[repr(C)]
pub struct Server<H> {
    // First, where every call's end finds it in one step.
    /// Whether the acting thread's call is to end by a look at its signals.
    pub attention: Attention,
    /// Whether calls are printed.
    pub strace: crate::dispatch::Strace,
    /// On whose behalf the server acts.
    pub acting: Option<Current>,
    /// The machine.
    pub host: H,
    /// Frames and objects.
    pub memory: Memory,
    /// Address spaces.
    pub spaces: Slots<SpaceKey, SharedSpace>,
    /// VSpaces that no space has.
    pub free_spaces: Vec<SpaceId>,
    /// Threads.
    pub threads: Slots<ThreadId, Thread>,
    /// Contexts that no thread has.
    pub free_contexts: Vec<ContextId>,
    /// Processes.
    pub processes: Slots<ProcessId, Process>,
    /// Pids and tids.
    pub numbers: Numbers,
    /// Files and descriptors.
    pub files: Files,
    /// Terminals.
    pub terminals: Terminals,
    /// The thread that goes on next, without a turn: its call has ended, or its registers were replaced.
    pub at_once: Option<ThreadId>,
    /// Real interval timers, by process.
    pub alarms: Timers,
    /// Threads that can go on.
    pub ready: RunQueue,
    /// Threads that wait.
    pub waits: WaitQueues,
    /// Futexes.
    pub futexes: Futexes,
    /// The random generator.
    pub random: Random,
    /// Threads that wait for the generator's seed.
    pub seeded: QueueId,
    /// The pages of the vDSO, once a program has started.
    pub vdso: Option<ObjectId>,
    /// The clock when `acting` was entered last.
    pub entered_ns: u64,
    /// The alarm that the host knows of.
    pub armed_ns: Option<u64>,
    /// Threads that ended in a waiting call: their tasks are to be dropped.
    pub abandoned: Vec<ThreadId>,
    /// What happened and was not yet told.
    pub events: VecDeque<Event>,
    /// Programs that the server starts itself.
    pub jobs: crate::job::Jobs,
    /// What has gone to the console's streams.
    pub sent: Sent,
    /// Calls that were made and are not there, by number: how often.
    pub unknown: crate::dispatch::Unknown,
}

impl<H: Host> Server<H> {
    /// A server without programs.
    ///
    /// # Errors
    /// What is wrong with the archive of files.
    pub fn new(mut host: H, resources: &Resources<'_>) -> Result<Self, crate::file::cpio::Damaged> {
        let memory = Memory::new(&mut host, resources.window_pages);
        let mut waits = WaitQueues::default();
        // Linux's tmpfs: one file for every second page of memory.
        let more_files = to_usize(memory.frames.total() / 2);
        let random = Random::new(host.random_seed());
        let now = host.monotonic_ns();
        let started = crate::file::node::Time::of_ns(now.saturating_add(host.realtime_offset_ns()));
        Ok(Self {
            memory,
            spaces: Slots::new(usize::from(resources.spaces)),
            free_spaces: (0..resources.spaces).rev().map(SpaceId).collect(),
            threads: Slots::new(usize::from(resources.contexts)),
            free_contexts: (1..=resources.contexts).rev().map(ContextId).collect(),
            processes: Slots::new(usize::from(resources.contexts)),
            numbers: Numbers::default(),
            files: Files::new(resources.archive, started, &mut waits, more_files)?,
            terminals: Terminals::default(),
            attention: Attention::Quiet,
            at_once: None,
            alarms: Timers::default(),
            ready: RunQueue::default(),
            futexes: Futexes::new(&mut waits),
            random,
            seeded: waits.create(),
            waits,
            vdso: None,
            acting: None,
            entered_ns: now,
            armed_ns: None,
            abandoned: Vec::new(),
            events: VecDeque::new(),
            jobs: crate::job::Jobs::default(),
            sent: Sent::default(),
            unknown: crate::dispatch::Unknown::default(),
            strace: crate::dispatch::Strace::Off,
            host,
        })
    }

    /// The thread on whose behalf the server acts.
    ///
    /// # Errors
    /// ESRCH when there is none, which no call sees.
    #[inline]
    pub fn current(&self) -> Result<Current, Errno> {
        self.acting.ok_or(Errno::ESRCH)
    }

    /// The acting thread.
    ///
    /// # Errors
    /// As [`Server::current`].
    #[inline]
    pub fn thread(&self) -> Result<&Thread, Errno> {
        self.threads.get(self.current()?.thread).ok_or(Errno::ESRCH)
    }

    /// The acting thread, to change it.
    ///
    /// # Errors
    /// As [`Server::current`].
    #[inline]
    pub fn thread_mut(&mut self) -> Result<&mut Thread, Errno> {
        let thread = self.current()?.thread;
        self.threads.get_mut(thread).ok_or(Errno::ESRCH)
    }

    /// The acting thread's process.
    ///
    /// # Errors
    /// As [`Server::current`].
    #[inline]
    pub fn process(&self) -> Result<&Process, Errno> {
        self.processes.get(self.current()?.process).ok_or(Errno::ESRCH)
    }

    /// The acting thread's process, to change it.
    ///
    /// # Errors
    /// As [`Server::current`].
    #[inline]
    pub fn process_mut(&mut self) -> Result<&mut Process, Errno> {
        let process = self.current()?.process;
        self.processes.get_mut(process).ok_or(Errno::ESRCH)
    }

    /// The acting thread's space, with what changing it needs.
    ///
    /// # Errors
    /// As [`Server::current`].
    #[inline]
    pub fn view(&mut self) -> Result<View<'_, H>, Errno> {
        let space = self.current()?.space;
        self.view_of(space)
    }

    /// Reads a word of the acting program's.
    ///
    /// # Errors
    /// EFAULT when the program could not read all of it itself.
    #[inline]
    pub fn read_word(&mut self, from: UserPtr<u64>) -> Result<u64, Errno> {
        if from.address().is_multiple_of(8)
            && let Ok(word) = self.host.load_double(from.address())
        {
            return Ok(word);
        }
        self.read_word_anyhow(from)
    }

    #[cold]
    fn read_word_anyhow(&mut self, from: UserPtr<u64>) -> Result<u64, Errno> {
        self.view()?.read(from)
    }

    /// Writes a word of the acting program's.
    ///
    /// # Errors
    /// EFAULT when the program could not write all of it itself.
    #[inline]
    pub fn write_word(&mut self, to: UserPtr<u64>, word: u64) -> Result<(), Errno> {
        if to.address().is_multiple_of(8) && self.host.store_double(to.address(), word).is_ok() {
            return Ok(());
        }
        self.write_word_anyhow(to, word)
    }

    #[cold]
    fn write_word_anyhow(&mut self, to: UserPtr<u64>, word: u64) -> Result<(), Errno> {
        self.view()?.write(to, &word)
    }

    /// Any space, with what changing it needs.
    ///
    /// # Errors
    /// ESRCH when there is no such space.
    #[inline]
    pub fn view_of(&mut self, space: SpaceKey) -> Result<View<'_, H>, Errno> {
        let shared = self.spaces.get_mut(space).ok_or(Errno::ESRCH)?;
        Ok(View { host: &mut self.host, memory: &mut self.memory, space: &mut shared.space })
    }

    /// Makes a thread current, at the host and here.
    pub fn make_current(&mut self, thread: ThreadId) -> Option<Current> {
        if let Some(current) = self.acting.filter(|current| current.thread == thread) {
            return Some(current);
        }
        let record = self.threads.get(thread)?;
        let space = self.processes.get(record.process)?.space;
        let current = Current { thread, process: record.process, space };
        self.host.switch(record.context);
        self.acting = Some(current);
        Some(current)
    }

    /// As [`Server::make_current`], for a thread whose turn it is; says whether it may go on.
    #[inline]
    pub(crate) fn take_turn(&mut self, thread: ThreadId) -> bool {
        let Some(record) = self.threads.get(thread) else { return false };
        let Some(process) = self.processes.get(record.process) else { return false };
        if process.signals.stopped == Stopped::Yes {
            // It has its turn when it is let go on.
            return false;
        }
        if self.acting.is_none_or(|current| current.thread != thread) {
            self.acting = Some(Current { thread, process: record.process, space: process.space });
            self.host.switch(record.context);
        }
        true
    }

    /// Seeds the random generator, if it had no seed; wakes who waited for one.
    pub fn seed(&mut self, seed: [u8; 32]) {
        if !self.random.is_seeded() {
            self.random = Random::new(Some(seed));
            self.waits.wake_all(self.seeded, &mut self.ready);
        }
    }

    /// Puts bytes on a stream and counts them; returns how many its ring took.
    pub fn send(&mut self, stream: Stream, bytes: &[u8]) -> usize {
        let taken = self.host.write_stream(stream, bytes);
        let sent = match stream {
            Stream::StandardOutput => &mut self.sent.output,
            Stream::StandardError => &mut self.sent.errors,
        };
        *sent += taken as u64;
        taken
    }

    /// Standard input has something to read, or has ended.
    pub fn input_ready(&mut self) {
        self.take_serial_input();
        self.waits.wake_all(self.files.input_ready, &mut self.ready);
    }

    /// A stream's ring has room again.
    pub fn output_ready(&mut self) {
        self.serial_output_ready();
        self.waits.wake_all(self.files.output_ready, &mut self.ready);
    }
}
