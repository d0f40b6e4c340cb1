//! read, write and poll of terminals and masters.
//!
//! A read returns when there is a line, or as many bytes as VMIN wants, or when VTIME has passed. What a read takes
//! stays in the queue until the read can return, so that a signal or another reader finds it there.

use super::discipline::For;
use super::input::Took;
use super::settings::{LocalModes, Special};
use super::table::{End, Handle, Kind, Seen, Terminal, TerminalId};
use crate::Errno;
use crate::executor::cx::Cx;
use crate::executor::wait::{QueueId, Woken};
use crate::file::pieces::{Pieces, Put, Source, so_far};
use crate::host::{Host, Reserve};
use crate::memory::content::Bytes;
use crate::number::to_usize;
use crate::server::Server;
use crate::signal::number::Signal;

/// Bytes that pass through the server's stack at once.
const PIECE: usize = 512;
/// What VTIME counts.
const TENTH_NS: u64 = 100_000_000;
/// The most that a character can become on its way out: a tab's spaces.
const WIDEST: u64 = 8;

/// poll's bits.
mod poll {
    pub(super) const IN: u16 = 0x1 | 0x40;
    pub(super) const OUT: u16 = 0x4 | 0x100;
    pub(super) const ERR: u16 = 0x8;
    pub(super) const HUP: u16 = 0x10;
}

/// Whether a call may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// It may.
    Waits,
    /// It takes what there is (O_NONBLOCK, or its time is over).
    Takes,
}

/// What a read waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    /// A line.
    Line,
    /// So many bytes.
    Bytes(usize),
    /// Whatever is there, at once.
    Any,
}

impl Terminal {
    fn wish(&self, wanted: u64) -> Wish {
        let discipline = &self.line.discipline;
        if discipline.settings().local.contains(LocalModes::ICANON) {
            return if discipline.has_lines() { Wish::Line } else { Wish::Bytes(1) };
        }
        let minimum = usize::from(discipline.settings().character(Special::Minimum));
        if minimum == 0 && self.time_ns() == 0 {
            return Wish::Any;
        }
        Wish::Bytes(minimum.clamp(1, to_usize(wanted).max(1)))
    }

    /// VTIME.
    fn time_ns(&self) -> u64 {
        u64::from(self.line.discipline.settings().character(Special::Time)) * TENTH_NS
    }

    fn has(&self, wish: Wish) -> bool {
        match wish {
            Wish::Line => self.line.discipline.is_readable(For::Reading),
            Wish::Bytes(bytes) => self.line.discipline.readable() >= bytes,
            Wish::Any => true,
        }
    }
}

impl<H: Host> Server<H> {
    /// The queue in which changes of a file of a terminal are told.
    pub(crate) fn terminal_queue(&self, handle: Handle) -> Option<QueueId> {
        let terminal = self.terminals.get(handle.terminal)?;
        match handle.end {
            End::Terminal => Some(terminal.changed),
            End::Master => terminal.pty().map(|pty| pty.changed),
        }
    }

    /// Reads a file of a terminal; `None` when the call has to wait.
    pub(crate) fn read_terminal(
        &mut self,
        handle: Handle,
        pieces: &Pieces,
        patience: Patience,
    ) -> Result<Option<u64>, Errno> {
        if handle.end == End::Master {
            return self.read_master(handle.terminal, pieces, patience);
        }
        let terminal = self.terminals.get(handle.terminal).ok_or(Errno::EIO)?;
        if terminal.has_hung_up(handle) {
            return Ok(Some(0));
        }
        self.check_foreground(handle.terminal, Signal::SIGTTIN)?;
        if pieces.bytes == 0 {
            return Ok(Some(0));
        }
        let terminal = self.terminals.get(handle.terminal).ok_or(Errno::EIO)?;
        let wish = terminal.wish(pieces.bytes);
        if terminal.has(wish) {
            return self.take_input(handle.terminal, pieces).map(Some);
        }
        if patience == Patience::Waits {
            return Ok(None);
        }
        // Less than VMIN is something too for a read that does not wait.
        if matches!(wish, Wish::Bytes(_)) && terminal.has(Wish::Bytes(1)) {
            return self.take_input(handle.terminal, pieces).map(Some);
        }
        Err(Errno::EAGAIN)
    }

    /// Moves what was typed to the program, up to a line's end.
    fn take_input(&mut self, id: TerminalId, pieces: &Pieces) -> Result<u64, Errno> {
        let mut done = 0;
        let mut took = Took::Part(0);
        for mut piece in pieces.iter() {
            while !piece.is_empty() && matches!(took, Took::Part(_)) {
                let discipline = &mut self.terminals.get_mut(id).ok_or(Errno::EIO)?.line.discipline;
                if !discipline.is_readable(For::Reading) {
                    break;
                }
                let mut buffer = [0; PIECE];
                let wanted = to_usize(piece.bytes()).min(PIECE);
                let Some(part) = buffer.get_mut(..wanted) else { break };
                took = discipline.read(part);
                let (Took::Line(bytes) | Took::Part(bytes)) = took;
                let part = part.get(..bytes).unwrap_or_default();
                // As on Linux, what did not reach the program is gone.
                if let Err(short) = self.view()?.write_bytes(part, piece) {
                    self.pump_line(id);
                    return so_far(done + short.done as u64);
                }
                done += bytes as u64;
                piece = piece.after(bytes as u64);
            }
        }
        if done == pieces.bytes && matches!(took, Took::Part(_)) {
            self.terminals.get_mut(id).ok_or(Errno::EIO)?.line.discipline.read_was_filled();
        }
        self.pump_line(id);
        Ok(done)
    }

    /// Reads what a terminal printed.
    fn read_master(
        &mut self,
        id: TerminalId,
        pieces: &Pieces,
        patience: Patience,
    ) -> Result<Option<u64>, Errno> {
        let terminal = self.terminals.get(id).ok_or(Errno::EIO)?;
        if terminal.line.discipline.output.is_empty() && pieces.bytes != 0 {
            let ended = terminal.opens == 0 && terminal.pty().is_some_and(|pty| pty.seen == Seen::Yes);
            return match patience {
                _ if ended => Err(Errno::EIO),
                Patience::Takes => Err(Errno::EAGAIN),
                Patience::Waits => Ok(None),
            };
        }
        let mut done = 0;
        for mut piece in pieces.iter() {
            while !piece.is_empty() {
                let output = &mut self.terminals.get_mut(id).ok_or(Errno::EIO)?.line.discipline.output;
                let mut buffer = [0; PIECE];
                let wanted = to_usize(piece.bytes()).min(PIECE);
                let bytes = buffer.get_mut(..wanted).map_or(0, |part| output.take(part));
                if bytes == 0 {
                    break;
                }
                let part = buffer.get(..bytes).unwrap_or_default();
                if let Err(short) = self.view()?.write_bytes(part, piece) {
                    self.wake_terminal(id);
                    return so_far(done + short.done as u64).map(Some);
                }
                done += bytes as u64;
                piece = piece.after(bytes as u64);
            }
        }
        self.wake_terminal(id);
        Ok(Some(done))
    }

    /// Whether a write of so many bytes surely finds room.
    pub(crate) fn terminal_fits(&self, handle: Handle, bytes: u64) -> bool {
        let Some(terminal) = self.terminals.get(handle.terminal) else { return true };
        match handle.end {
            End::Terminal => terminal.line.discipline.output.room() as u64 >= bytes.saturating_mul(WIDEST),
            End::Master => terminal.line.room() as u64 >= bytes,
        }
    }

    /// Writes to a file of a terminal as much as there is room for now.
    pub(crate) fn write_terminal(&mut self, handle: Handle, source: &Source<'_>) -> Result<Put, Errno> {
        let id = handle.terminal;
        let terminal = self.terminals.get(id).ok_or(Errno::EIO)?;
        if terminal.has_hung_up(handle) || handle.end == End::Master && terminal.opens == 0 {
            return Err(Errno::EIO);
        }
        let stops = terminal.line.discipline.settings().local.contains(LocalModes::TOSTOP);
        if matches!(terminal.kind, Kind::Pty(_)) {
            // There may be very many of them, and what waits in them is the server's memory.
            self.host.require(Reserve::Scarce, Errno::ENOMEM)?;
        }
        if stops && handle.end == End::Terminal {
            self.check_foreground(id, Signal::SIGTTOU)?;
        }
        let mut done = 0;
        for mut rest in source.iter() {
            while !rest.is_empty() {
                let mut buffer = [0; PIECE];
                let wanted = to_usize(rest.len()).min(PIECE);
                let Some(part) = buffer.get_mut(..wanted) else { break };
                let read = match rest.first(wanted as u64) {
                    Bytes::User(slice) => self.view()?.read_bytes(slice, part),
                    Bytes::Own(own) => {
                        part.copy_from_slice(own);
                        Ok(())
                    }
                };
                let bytes = read.map_or_else(|short| short.done, |()| wanted);
                let part = part.get(..bytes).unwrap_or_default();
                let taken = match handle.end {
                    End::Terminal => self.print_on(id, part),
                    End::Master => self.type_into(id, part),
                };
                done += taken as u64;
                rest = rest.after(taken as u64);
                if taken < bytes {
                    return Ok(Put::Full(done));
                }
                if read.is_err() {
                    return so_far(done).map(Put::Done);
                }
            }
        }
        Ok(Put::Done(done))
    }

    /// What can be done with a file of a terminal at once, in poll's bits.
    pub(crate) fn terminal_state(&self, handle: Handle) -> u16 {
        let Some(terminal) = self.terminals.get(handle.terminal) else { return poll::ERR | poll::HUP };
        if terminal.has_hung_up(handle) {
            return poll::IN | poll::OUT | poll::ERR | poll::HUP;
        }
        let discipline = &terminal.line.discipline;
        let (readable, writable, ended) = match handle.end {
            End::Terminal => (discipline.is_readable(For::Polling), discipline.output.room() != 0, false),
            End::Master => {
                let ended = terminal.opens == 0 && terminal.pty().is_some_and(|pty| pty.seen == Seen::Yes);
                (!discipline.output.is_empty(), terminal.line.room() != 0, ended)
            }
        };
        let bits = |on, bits| if on { bits } else { 0 };
        bits(readable, poll::IN) | bits(writable, poll::OUT) | bits(ended, poll::HUP)
    }

    /// Prints on a terminal.
    fn print_on(&mut self, id: TerminalId, bytes: &[u8]) -> usize {
        let Some(terminal) = self.terminals.get_mut(id) else { return 0 };
        let taken = terminal.line.discipline.write(bytes);
        self.output_changed(id);
        taken
    }

    /// Types on a terminal; says how much of it there was room for.
    pub(crate) fn type_into(&mut self, id: TerminalId, bytes: &[u8]) -> usize {
        let Some(terminal) = self.terminals.get_mut(id) else { return 0 };
        let received = terminal.line.type_in(bytes);
        received.signals.iter().for_each(|signal| self.signal_foreground(id, signal));
        self.line_changed(id);
        received.taken
    }

    /// There may be room for what was typed before.
    fn pump_line(&mut self, id: TerminalId) {
        let Some(terminal) = self.terminals.get_mut(id) else { return };
        let signals = terminal.line.pump();
        let serial = terminal.kind == Kind::Serial;
        signals.iter().for_each(|signal| self.signal_foreground(id, signal));
        if serial {
            self.take_serial_input();
        }
        self.line_changed(id);
    }

    /// Something was typed, read, or set.
    pub(super) fn line_changed(&mut self, id: TerminalId) {
        self.output_changed(id);
        self.wake_terminal(id);
    }

    /// Something was printed, or may go out now.
    fn output_changed(&mut self, id: TerminalId) {
        let Some(terminal) = self.terminals.get(id) else { return };
        match &terminal.kind {
            Kind::Serial => self.drain_serial(id),
            Kind::Pty(pty) => {
                let queue = pty.changed;
                self.waits.wake_all(queue, &mut self.ready);
            }
        }
    }
}

/// A read of a terminal that has to wait.
pub(crate) async fn read_later<H: Host>(cx: &Cx<H>, handle: Handle, pieces: &Pieces) -> Result<u64, Errno> {
    let mut since = cx.with(|server| server.host.monotonic_ns())?;
    let mut there = 0;
    loop {
        if let Some(done) = cx.attempt(|server| server.read_terminal(handle, pieces, Patience::Waits))? {
            return Ok(done);
        }
        let (queue, due) = cx.attempt(|server| {
            let queue = server.terminal_queue(handle).ok_or(Errno::EIO)?;
            let now = server.host.monotonic_ns();
            let terminal = server.terminals.get(handle.terminal).ok_or(Errno::EIO)?;
            let discipline = &terminal.line.discipline;
            let bytes = discipline.readable();
            if handle.end == End::Master || discipline.settings().local.contains(LocalModes::ICANON) {
                return Ok((queue, None));
            }
            // With VMIN the time runs from the last byte, without it from the read's beginning.
            let minimum = discipline.settings().character(Special::Minimum);
            if minimum != 0 && bytes > there {
                since = now;
            }
            there = bytes;
            let runs = terminal.time_ns() != 0 && (minimum == 0 || bytes != 0);
            Ok((queue, runs.then(|| since.saturating_add(terminal.time_ns()))))
        })?;
        let woken = cx.wait(Some(queue), due).await;
        if woken == Ok(Woken::Event) {
            continue;
        }
        // The time is over, or a signal came: what is there is the result, if anything is.
        return match cx.attempt(|server| server.read_terminal(handle, pieces, Patience::Takes)) {
            Err(Errno::EAGAIN) => woken.map(|_| 0),
            result => result.map(|done| done.unwrap_or(0)),
        };
    }
}
