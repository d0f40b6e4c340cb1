//! Job control: which session a terminal controls, which of its groups is in the foreground, and what those in the
//! background get for touching it. A terminal hangs up, and who is told.
//!
//! POSIX, chapter 11.1; Linux's drivers/tty/tty_jobctrl.c decides where that is silent.

use super::table::{Handle, Kind, Terminal, TerminalId};
use crate::Errno;
use crate::executor::wait::QueueId;
use crate::host::Host;
use crate::process::{Pid, ProcessId};
use crate::server::Server;
use crate::signal::action::Disposition;
use crate::signal::info::{Info, code};
use crate::signal::number::Signal;
use crate::signal::send::Target;

/// Why a terminal hangs up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HangUp {
    /// Its other end is gone.
    Line,
    /// The leader of its session has ended, so that the foreground is told too.
    Leader,
}

impl<H: Host> Server<H> {
    /// The terminal that controls a process.
    pub fn controlling(&self, process: ProcessId) -> Option<TerminalId> {
        self.processes.get(process)?.terminal
    }

    /// Whether a file is of the terminal that controls the acting process, whose group is not in its foreground.
    pub(crate) fn is_background(&self, handle: Handle) -> bool {
        let Ok(process) = self.process() else { return false };
        let foreground = self.terminals.get(handle.terminal).and_then(|terminal| terminal.foreground);
        process.terminal == Some(handle.terminal)
            && foreground.is_some_and(|foreground| foreground != process.group)
    }

    /// The acting process is about to do what only the foreground does: whether it may.
    ///
    /// # Errors
    /// EIO when it may not and nobody could stop it for that; ERESTARTSYS when its group was sent the signal.
    pub(super) fn check_foreground(&mut self, terminal: TerminalId, signal: Signal) -> Result<(), Errno> {
        let current = self.current()?;
        let process = self.process()?;
        let (group, session) = (process.group, process.session);
        if process.terminal != Some(terminal) {
            return Ok(());
        }
        let foreground = self.terminals.get(terminal).and_then(|terminal| terminal.foreground);
        if foreground.is_none_or(|foreground| foreground == group) {
            return Ok(());
        }
        let held = self.thread()?.mask & signal.bit() != 0;
        let ignored = self.action(current.process, signal).disposition(signal) == Disposition::Ignore;
        if held || ignored {
            // Who does not want to be stopped may write, but there is nothing to read for it.
            return if signal == Signal::SIGTTIN { Err(Errno::EIO) } else { Ok(()) };
        }
        if self.is_group_orphaned(group, session, None) {
            return Err(Errno::EIO);
        }
        self.send_to_group_from_kernel(group, signal);
        Err(Errno::ERESTARTSYS)
    }

    /// A terminal begins to control a process's session, whose leader it is.
    pub(crate) fn take_terminal(&mut self, process: ProcessId, terminal: TerminalId) {
        let Some(record) = self.processes.get_mut(process) else { return };
        (record.terminal, record.lost_foreground) = (Some(terminal), None);
        let (group, session) = (record.group, record.session);
        self.set_session(terminal, Some(session));
        self.set_foreground(terminal, Some(group));
    }

    /// TIOCSCTTY.
    pub(super) fn claim_terminal(
        &mut self,
        terminal: TerminalId,
        steal: Steal,
        readable: bool,
    ) -> Result<(), Errno> {
        let current = self.current()?.process;
        let process = self.process()?;
        let leads = process.session == process.pid;
        let privileged = process.credentials.user.effective == 0;
        let owner = self.terminals.get(terminal).ok_or(Errno::EIO)?.session;
        if leads && owner == Some(process.session) {
            return Ok(());
        }
        if !leads || process.terminal.is_some() {
            return Err(Errno::EPERM);
        }
        if let Some(owner) = owner {
            if steal == Steal::No || !privileged {
                return Err(Errno::EPERM);
            }
            self.forget_terminal_of(owner, terminal);
        }
        if !readable && !privileged {
            return Err(Errno::EPERM);
        }
        self.take_terminal(current, terminal);
        Ok(())
    }

    /// TIOCNOTTY: the acting process gives its terminal up; with a leader its whole session does.
    pub(super) fn give_terminal_up(&mut self, terminal: TerminalId) -> Result<(), Errno> {
        let process = self.process()?;
        if process.terminal != Some(terminal) {
            return Err(Errno::ENOTTY);
        }
        if process.session == process.pid {
            let session = process.session;
            self.signal_foreground(terminal, Signal::SIGHUP);
            self.signal_foreground(terminal, Signal::SIGCONT);
            self.release_session(terminal, session);
        }
        self.process_mut()?.terminal = None;
        Ok(())
    }

    /// A process ends: if it leads a session, that loses its terminal.
    pub(crate) fn leader_ends(&mut self, process: ProcessId) {
        let Some(record) = self.processes.get_mut(process) else { return };
        let (terminal, lost, session) =
            (record.terminal.take(), record.lost_foreground.take(), record.session);
        if record.session != record.pid {
            return;
        }
        match terminal {
            Some(terminal) if self.terminals.get(terminal).is_some_and(|t| t.kind == Kind::Serial) => {
                self.hang_up(terminal, HangUp::Leader);
            }
            Some(terminal) => {
                self.signal_foreground(terminal, Signal::SIGHUP);
                self.release_session(terminal, session);
            }
            None => {
                if let Some(group) = lost {
                    self.send_to_group_from_kernel(group, Signal::SIGHUP);
                    self.send_to_group_from_kernel(group, Signal::SIGCONT);
                }
            }
        }
    }

    /// A terminal hangs up: its files are dead, its session has none, and its leader is told.
    pub(crate) fn hang_up(&mut self, terminal: TerminalId, why: HangUp) {
        let Some(record) = self.terminals.get_mut(terminal) else { return };
        record.hangups = record.hangups.wrapping_add(1);
        record.dead += core::mem::take(&mut record.opens);
        let (session, foreground) = (record.session, record.foreground);
        if let Some(session) = session {
            let leader = self.forget_terminal_of(session, terminal);
            if let Some(leader) = leader {
                if let Some(record) = self.processes.get_mut(leader) {
                    record.lost_foreground = foreground;
                }
                for signal in [Signal::SIGHUP, Signal::SIGCONT] {
                    // It is no signal of sigqueue's, so that no limit refuses it.
                    let _ =
                        self.send_signal(Target::Process(leader), signal, Info::new(signal, code::SI_KERNEL));
                }
            }
        }
        if why == HangUp::Leader {
            self.signal_foreground(terminal, Signal::SIGHUP);
        }
        self.set_session(terminal, None);
        self.set_foreground(terminal, None);
        self.wake_terminal(terminal);
    }

    /// TIOCSPGRP.
    pub(super) fn choose_foreground(&mut self, terminal: TerminalId, group: Pid) -> Result<(), Errno> {
        let process = self.process()?;
        let session = process.session;
        let record = self.terminals.get(terminal).ok_or(Errno::EIO)?;
        if process.terminal != Some(terminal) || record.session != Some(session) {
            return Err(Errno::ENOTTY);
        }
        let member = self.processes.iter().find(|(_, record)| record.group == group);
        let of_session = match member {
            Some((_, member)) => member.session == session,
            // A process that leads no group names none of this session's, whichever it is in.
            None => {
                self.processes.get(self.find_process(group)?).is_some_and(|found| found.session == session)
            }
        };
        if !of_session {
            return Err(Errno::EPERM);
        }
        self.set_foreground(terminal, Some(group));
        self.wake_terminal(terminal);
        Ok(())
    }

    /// Sends a signal to the foreground of a terminal.
    pub(super) fn signal_foreground(&mut self, terminal: TerminalId, signal: Signal) {
        if let Some(group) = self.terminals.get(terminal).and_then(|terminal| terminal.foreground) {
            self.send_to_group_from_kernel(group, signal);
        }
    }

    /// Tells everybody who waits at either end of a terminal that something has changed.
    pub(super) fn wake_terminal(&mut self, terminal: TerminalId) {
        let Some(record) = self.terminals.get(terminal) else { return };
        let queues: [Option<QueueId>; 2] = [Some(record.changed), record.pty().map(|pty| pty.changed)];
        for queue in queues.into_iter().flatten() {
            self.waits.wake_all(queue, &mut self.ready);
        }
    }

    /// The session's processes have no terminal any more, nor has the terminal a session.
    fn release_session(&mut self, terminal: TerminalId, session: Pid) {
        self.set_session(terminal, None);
        self.set_foreground(terminal, None);
        self.forget_terminal_of(session, terminal);
    }

    /// Processes of a session lose their terminal; returns its leader, if that had it.
    pub(super) fn forget_terminal_of(&mut self, session: Pid, terminal: TerminalId) -> Option<ProcessId> {
        let members: alloc::vec::Vec<ProcessId> = self
            .processes
            .iter()
            .filter(|(_, record)| record.session == session && record.terminal == Some(terminal))
            .map(|(process, _)| process)
            .collect();
        let mut leader = None;
        for process in members {
            if let Some(record) = self.processes.get_mut(process) {
                record.terminal = None;
                if record.pid == session {
                    leader = Some(process);
                }
            }
        }
        leader
    }

    fn set_session(&mut self, terminal: TerminalId, session: Option<Pid>) {
        self.replace_number(terminal, session, |record| &mut record.session);
    }

    fn set_foreground(&mut self, terminal: TerminalId, group: Option<Pid>) {
        self.replace_number(terminal, group, |record| &mut record.foreground);
    }

    fn replace_number(
        &mut self,
        terminal: TerminalId,
        number: Option<Pid>,
        place: impl FnOnce(&mut Terminal) -> &mut Option<Pid>,
    ) {
        let Some(record) = self.terminals.get_mut(terminal) else { return };
        let before = core::mem::replace(place(record), number);
        if let Some(number) = number {
            self.numbers.join(number);
        }
        if let Some(before) = before {
            self.numbers.leave(before);
        }
    }
}

/// Whether a terminal is taken from another session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Steal {
    /// It is not.
    No,
    /// Root may.
    Yes,
}
