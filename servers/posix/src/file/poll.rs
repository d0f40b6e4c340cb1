//! What can be done at once with open files, and waiting until something can: ppoll, pselect6.

use super::descriptor::{OpenFile, OpenKind};
use super::device::Device;
use crate::Errno;
use crate::dispatch::{Arguments, Flow};
use crate::executor::cx::Cx;
use crate::executor::wait::{QueueId, Woken};
use crate::executor::waits::Waits;
use crate::host::{Host, Input, Stream};
use crate::number::{low_i32, low_u32, to_usize};
use crate::server::Server;
use crate::user::{UserPtr, UserSlice};
use alloc::vec::Vec;
use arrayvec::ArrayVec;
use zerocopy::{FromBytes, Immutable, IntoBytes};

const IN: u16 = 0x1;
const PRI: u16 = 0x2;
const OUT: u16 = 0x4;
const ERR: u16 = 0x8;
const HUP: u16 = 0x10;
const NVAL: u16 = 0x20;
const RDNORM: u16 = 0x40;
const RDBAND: u16 = 0x80;
const WRNORM: u16 = 0x100;
const WRBAND: u16 = 0x200;
/// What pselect6 takes for readable, writable and exceptional.
const SELECTED: [u16; 3] = [RDNORM | RDBAND | IN | HUP | ERR, WRBAND | WRNORM | OUT | ERR, PRI];
/// Bytes of the kernel's sigset_t.
const SET_BYTES: u64 = 8;
const SECOND_NS: u64 = 1_000_000_000;
/// Descriptors in a word of pselect6's sets.
const WORD_BITS: u32 = 64;

/// Linux's `struct pollfd`.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
struct PollFd {
    fd: i32,
    events: u16,
    returned: u16,
}

/// Queues in which changes of an open file are told.
pub(super) type Queues = ArrayVec<QueueId, 2>;

impl<H: Host> Server<H> {
    /// What can be done with an open file at once, in poll's bits.
    pub(super) fn poll_state(&mut self, file: &OpenFile) -> u16 {
        match file.kind {
            OpenKind::Input => self.input_state(),
            OpenKind::Output(stream) => self.output_state(stream),
            OpenKind::Device(Device::Console, _) => {
                self.input_state() | self.output_state(Stream::StandardOutput)
            }
            OpenKind::Terminal(handle, _) => self.terminal_state(handle),
            OpenKind::Node(_) | OpenKind::Device(..) | OpenKind::Proc(_) => IN | RDNORM | OUT | WRNORM,
            OpenKind::Pipe(pipe, end) => {
                let Some(pipe) = self.files.pipes.get(pipe) else { return NVAL };
                let mut state = 0;
                if end.reads() {
                    state |= if pipe.is_empty() { 0 } else { IN | RDNORM };
                    // A FIFO that nobody has written yet has not hung up.
                    state |= if pipe.writers == 0 && pipe.writer_count != 0 { HUP } else { 0 };
                }
                if end.writes() {
                    state |= if pipe.is_full() { 0 } else { OUT | WRNORM };
                    state |= if pipe.readers == 0 { ERR } else { 0 };
                }
                state
            }
            OpenKind::Signals(wanted) => {
                if self.readable_signals(wanted) != 0 {
                    IN
                } else {
                    0
                }
            }
            OpenKind::Event(event) => {
                let Some(event) = self.files.events.get(event) else { return NVAL };
                let readable = if event.count != 0 { IN } else { 0 };
                let writable = if event.count < super::event::MOST - 1 { OUT } else { 0 };
                readable | writable
            }
        }
    }

    fn input_state(&mut self) -> u16 {
        match self.host.peek_input(&mut [0]) {
            Input::Bytes(_) => IN | RDNORM,
            Input::Empty => 0,
            Input::End => HUP,
        }
    }

    fn output_state(&self, stream: Stream) -> u16 {
        if self.host.stream_room(stream) != 0 { OUT | WRNORM } else { 0 }
    }

    fn poll_queues(&self, file: &OpenFile) -> Queues {
        let both: [Option<QueueId>; 2] = match file.kind {
            OpenKind::Input => [Some(self.files.input_ready), None],
            OpenKind::Output(_) => [Some(self.files.output_ready), None],
            OpenKind::Device(Device::Console, _) => {
                [Some(self.files.input_ready), Some(self.files.output_ready)]
            }
            OpenKind::Pipe(pipe, end) => {
                let pipe = self.files.pipes.get(pipe);
                [
                    pipe.filter(|_| end.reads()).map(|pipe| pipe.readable),
                    pipe.filter(|_| end.writes()).map(|pipe| pipe.writable),
                ]
            }
            OpenKind::Terminal(handle, _) => [self.terminal_queue(handle), None],
            OpenKind::Signals(_) => [Some(self.files.signal_arrived), None],
            OpenKind::Event(event) => {
                let event = self.files.events.get(event);
                [event.map(|event| event.readable), event.map(|event| event.writable)]
            }
            OpenKind::Node(_) | OpenKind::Device(..) | OpenKind::Proc(_) => [None, None],
        };
        both.into_iter().flatten().collect()
    }
}

/// ppoll(2).
pub fn ppoll<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let wait = timeout(server, arguments.word(2))?;
    sigset(server, arguments.word(3), arguments.word(4))?;
    let ready = scan(server, arguments)?;
    // A null time-out is none, and waits for ever; one of 0 looks once.
    if ready != 0 || wait == Some(0) { Ok(Flow::Done(ready)) } else { Ok(Flow::Wait) }
}

/// ppoll(2) while nothing can be done.
pub async fn ppoll_waiting<H: Host>(cx: &Cx<H>, arguments: Arguments) -> Result<u64, Errno> {
    let (due, mask) = cx.attempt(|server| {
        let due = due(server, arguments.word(2))?;
        Ok((due, sigset(server, arguments.word(3), arguments.word(4))?))
    })?;
    cx.attempt(|server| mask.map_or(Ok(()), |mask| server.borrow_mask(mask)))?;
    let result = loop {
        let waits = cx.attempt(|server| {
            let queues = watched(server, arguments)?;
            Waits::enter(cx, server, queues, due)
        })?;
        match cx.attempt(|server| scan(server, arguments)) {
            Ok(0) => {}
            result => break result,
        }
        match waits.woken().await {
            Ok(Woken::Event) => {}
            Ok(Woken::TimedOut) => break cx.attempt(|server| scan(server, arguments)),
            Err(error) => break Err(interrupted(error)),
        }
    };
    tell_remaining(cx, arguments.word(2), due)?;
    result
}

/// A handler ends the call whatever its flags are.
const fn interrupted(error: Errno) -> Errno {
    if error.is_restart() { Errno::ERESTARTNOHAND } else { error }
}

/// Looks at every descriptor once, and tells what it found; returns for how many that was something.
fn scan<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let count = poll_count(server, arguments)?;
    let mut ready = 0;
    for number in 0..count {
        let at = poll_entry(arguments, number)?;
        let mut entry = server.view()?.read(at)?;
        entry.returned = look(server, &entry);
        ready += u64::from(entry.returned != 0);
        server.view()?.write(at, &entry)?;
    }
    Ok(ready)
}

/// How many descriptors the call names.
fn poll_count<H: Host>(server: &Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let count = u64::from(low_u32(arguments.word(1)));
    if count > server.process()?.limits.files() { Err(Errno::EINVAL) } else { Ok(count) }
}

fn poll_entry(arguments: Arguments, number: u64) -> Result<UserPtr<PollFd>, Errno> {
    UserPtr::new(arguments.word(0).wrapping_add(number * size_of::<PollFd>() as u64))
}

fn look<H: Host>(server: &mut Server<H>, entry: &PollFd) -> u16 {
    let Ok(fd) = u32::try_from(entry.fd) else { return 0 };
    // What only names a file cannot be polled.
    let Ok(file) = server.real_file(u64::from(fd)).copied() else { return NVAL };
    server.poll_state(&file) & (entry.events | ERR | HUP)
}

/// The queues of everything that the call names.
fn watched<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Vec<QueueId>, Errno> {
    let mut queues = Vec::new();
    for number in 0..poll_count(server, arguments)? {
        let entry = server.view()?.read(poll_entry(arguments, number)?)?;
        if let Ok(fd) = u64::try_from(entry.fd)
            && let Ok(file) = server.real_file(fd).copied()
        {
            queues.extend(server.poll_queues(&file));
            if !server.may_wait_in(queues.len()) {
                return Err(Errno::ENOMEM);
            }
        }
    }
    Ok(queues)
}

/// pselect6(2).
pub fn pselect6<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let wait = timeout(server, arguments.word(4))?;
    select_mask(server, arguments)?;
    let sets = Sets::read(server, arguments)?;
    let (ready, found) = sets.look(server)?;
    if ready == 0 && wait != Some(0) {
        return Ok(Flow::Wait);
    }
    found.write(server, arguments)?;
    Ok(Flow::Done(ready))
}

/// pselect6(2) while nothing can be done.
pub async fn pselect6_waiting<H: Host>(cx: &Cx<H>, arguments: Arguments) -> Result<u64, Errno> {
    let (due, mask, sets) = cx.attempt(|server| {
        let due = due(server, arguments.word(4))?;
        Ok((due, select_mask(server, arguments)?, Sets::read(server, arguments)?))
    })?;
    cx.attempt(|server| mask.map_or(Ok(()), |mask| server.borrow_mask(mask)))?;
    let result = loop {
        let waits = cx.attempt(|server| {
            let queues = sets.queues(server)?;
            Waits::enter(cx, server, queues, due)
        })?;
        match cx.attempt(|server| sets.finish(server, arguments, Empty::Waits)) {
            Ok(None) => {}
            Ok(Some(ready)) => break Ok(ready),
            Err(error) => break Err(error),
        }
        match waits.woken().await {
            Ok(Woken::Event) => {}
            Ok(Woken::TimedOut) => {
                let told = cx.attempt(|server| sets.finish(server, arguments, Empty::Counts));
                break told.map(|ready| ready.unwrap_or(0));
            }
            Err(error) => break Err(interrupted(error)),
        }
    };
    tell_remaining(cx, arguments.word(4), due)?;
    result
}

/// Whether sets in which nothing is left are a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Empty {
    /// They are: the time is over.
    Counts,
    /// They are not: the call waits.
    Waits,
}

/// pselect6's three sets of descriptors.
#[derive(Debug)]
struct Sets {
    end: u32,
    words: [Vec<u64>; 3],
}

impl Sets {
    fn read<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Self, Errno> {
        let end = u32::try_from(low_i32(arguments.word(0))).map_err(|_| Errno::EINVAL)?;
        // As Linux: what lies behind the table of descriptors is not looked at.
        let end = end.min(server.descriptors()?.end().next_multiple_of(WORD_BITS).max(WORD_BITS));
        let length = to_usize(u64::from(end.div_ceil(WORD_BITS)));
        let mut words = [Vec::new(), Vec::new(), Vec::new()];
        for (set, address) in words.iter_mut().zip(set_addresses(arguments)) {
            set.resize(length, 0);
            if address != 0 {
                let slice = UserSlice::new(address, length as u64 * 8)?;
                server.view()?.read_bytes(slice, set.as_mut_slice().as_mut_bytes())?;
            }
        }
        Ok(Self { end, words })
    }

    /// What of it can be done at once.
    fn look<H: Host>(&self, server: &mut Server<H>) -> Result<(u64, Self), Errno> {
        let length = self.words.first().map_or(0, Vec::len);
        let mut found = Self { end: self.end, words: core::array::from_fn(|_| alloc::vec![0; length]) };
        let mut ready = 0;
        for fd in 0..self.end {
            if !self.names(fd) {
                continue;
            }
            let file = *server.real_file(u64::from(fd))?;
            let state = server.poll_state(&file);
            for ((set, result), wanted) in self.words.iter().zip(&mut found.words).zip(SELECTED) {
                if has(set, fd) && state & wanted != 0 {
                    ready += 1;
                    add(result, fd);
                }
            }
        }
        Ok((ready, found))
    }

    fn finish<H: Host>(
        &self,
        server: &mut Server<H>,
        arguments: Arguments,
        empty: Empty,
    ) -> Result<Option<u64>, Errno> {
        let (ready, found) = self.look(server)?;
        if ready == 0 && empty == Empty::Waits {
            return Ok(None);
        }
        found.write(server, arguments)?;
        Ok(Some(ready))
    }

    fn queues<H: Host>(&self, server: &Server<H>) -> Result<Vec<QueueId>, Errno> {
        let mut queues = Vec::new();
        for fd in (0..self.end).filter(|fd| self.names(*fd)) {
            if let Ok(file) = server.real_file(u64::from(fd)) {
                queues.extend(server.poll_queues(file));
                if !server.may_wait_in(queues.len()) {
                    return Err(Errno::ENOMEM);
                }
            }
        }
        Ok(queues)
    }

    fn names(&self, fd: u32) -> bool {
        self.words.iter().any(|set| has(set, fd))
    }

    fn write<H: Host>(&self, server: &mut Server<H>, arguments: Arguments) -> Result<(), Errno> {
        for (set, address) in self.words.iter().zip(set_addresses(arguments)) {
            if address != 0 {
                let slice = UserSlice::new(address, set.len() as u64 * 8)?;
                server.view()?.write_bytes(set.as_slice().as_bytes(), slice)?;
            }
        }
        Ok(())
    }
}

fn set_addresses(arguments: Arguments) -> [u64; 3] {
    [arguments.word(1), arguments.word(2), arguments.word(3)]
}

fn has(set: &[u64], fd: u32) -> bool {
    let word = set.get(to_usize(u64::from(fd / WORD_BITS)));
    word.is_some_and(|word| word & (1 << (fd % WORD_BITS)) != 0)
}

fn add(set: &mut [u64], fd: u32) {
    if let Some(word) = set.get_mut(to_usize(u64::from(fd / WORD_BITS))) {
        *word |= 1 << (fd % WORD_BITS);
    }
}

/// How long a call waits, in nanoseconds; `None` for ever.
fn timeout<H: Host>(server: &mut Server<H>, address: u64) -> Result<Option<u64>, Errno> {
    let Some(pointer) = UserPtr::<[u64; 2]>::optional(address)? else { return Ok(None) };
    let [seconds, ns] = server.view()?.read(pointer)?;
    if seconds.cast_signed() < 0 || ns >= SECOND_NS {
        return Err(Errno::EINVAL);
    }
    Ok(Some(seconds.saturating_mul(SECOND_NS).saturating_add(ns)))
}

fn due<H: Host>(server: &mut Server<H>, address: u64) -> Result<Option<u64>, Errno> {
    let wait = timeout(server, address)?;
    Ok(wait.map(|wait| server.host.monotonic_ns().saturating_add(wait)))
}

/// Linux leaves in the time-out what is left of it, if it can be written.
fn tell_remaining<H: Host>(cx: &Cx<H>, address: u64, due: Option<u64>) -> Result<(), Errno> {
    let Some(due) = due else { return Ok(()) };
    cx.attempt(|server| {
        let left = due.saturating_sub(server.host.monotonic_ns());
        let pointer = UserPtr::<[u64; 2]>::new(address)?;
        let _ = server.view()?.write(pointer, &[left / SECOND_NS, left % SECOND_NS]);
        Ok(())
    })
}

/// The mask of signals that holds during a call.
fn sigset<H: Host>(server: &mut Server<H>, address: u64, bytes: u64) -> Result<Option<u64>, Errno> {
    let Some(pointer) = UserPtr::<u64>::optional(address)? else { return Ok(None) };
    if bytes != SET_BYTES {
        return Err(Errno::EINVAL);
    }
    server.view()?.read(pointer).map(Some)
}

/// pselect6 has address and length of the mask behind its last pointer.
fn select_mask<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Option<u64>, Errno> {
    let Some(pointer) = UserPtr::<[u64; 2]>::optional(arguments.word(5))? else { return Ok(None) };
    let [address, bytes] = server.view()?.read(pointer)?;
    sigset(server, address, bytes)
}
