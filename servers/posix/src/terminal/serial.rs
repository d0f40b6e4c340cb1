//! The system's terminal: on the console's first line, where the programs' plain streams are when nobody sits there.

use super::job::HangUp;
use super::settings::Settings;
use super::table::{End, Handle, Kind, Terminal, TerminalId, WindowSize};
use crate::file::tree::{NodeId, ROOT};
use crate::host::{Host, Input, Stream};
use crate::server::Server;

/// Bytes that are taken from the console's ring at once.
const PIECE: usize = 256;

impl<H: Host> Server<H> {
    /// Somebody sits at the console: from now on it is a terminal, with a window of this size.
    pub fn open_system_terminal(&mut self, window: WindowSize) -> Option<TerminalId> {
        if self.terminals.system.is_none() {
            let changed = self.waits.create();
            let terminal = Terminal::new(Kind::Serial, Settings::USUAL, window, changed);
            self.terminals.system = self.terminals.table.insert(terminal);
            // The console tells of news only if there was nothing the last time.
            self.take_serial_input();
        }
        self.terminals.system
    }

    /// The system's terminal, opened for a program that the server starts, and its node; `None` when there is none.
    pub(crate) fn open_system_end(&mut self) -> Option<(Handle, NodeId)> {
        let id = self.terminals.system?;
        let node = self.files.tree.child(self.files.tree.child(ROOT, b"dev")?, b"console")?;
        let terminal = self.terminals.get_mut(id)?;
        terminal.opens += 1;
        Some((terminal.handle(id, End::Terminal), node))
    }

    /// Whether printed bytes wait for the console to take them.
    pub(super) fn has_undrained(&self, id: TerminalId) -> bool {
        self.terminals.get(id).is_some_and(|terminal| {
            terminal.kind == Kind::Serial && !terminal.line.discipline.output.is_empty()
        })
    }

    /// Hands to the console what it takes of what was printed.
    pub(super) fn drain_serial(&mut self, id: TerminalId) {
        let mut piece = [0; PIECE];
        loop {
            let Some(terminal) = self.terminals.get(id) else { return };
            let output = &terminal.line.discipline.output;
            let waits = output.first();
            let bytes = waits.len().min(PIECE);
            let (Some(part), Some(from)) = (piece.get_mut(..bytes), waits.get(..bytes)) else { return };
            part.copy_from_slice(from);
            if bytes == 0 || output.is_held() {
                return;
            }
            let taken = self.send(Stream::StandardOutput, part);
            if let Some(terminal) = self.terminals.get_mut(id) {
                terminal.line.discipline.output.drop_first(taken);
            }
            if taken == 0 {
                return;
            }
        }
    }

    /// The console has something for the system's terminal, or has ended.
    pub(crate) fn take_serial_input(&mut self) {
        let Some(id) = self.terminals.system else { return };
        loop {
            let Some(terminal) = self.terminals.get(id) else { return };
            let mut piece = [0; PIECE];
            let room = terminal.line.room().min(PIECE);
            let Some(part) = piece.get_mut(..room).filter(|part| !part.is_empty()) else { break };
            match self.host.peek_input(part) {
                Input::Empty => break,
                Input::End => {
                    self.terminals.system = None;
                    self.hang_up(id, HangUp::Line);
                    return;
                }
                Input::Bytes(bytes) => {
                    let taken = self.type_into(id, part.get(..bytes).unwrap_or_default());
                    self.host.take_input(taken);
                }
            }
        }
        if let Some((rows, columns)) = self.host.take_window() {
            self.resize_terminal(id, WindowSize { rows, columns, width: 0, height: 0 });
        }
    }

    /// The console takes more output.
    pub(crate) fn serial_output_ready(&mut self) {
        if let Some(id) = self.terminals.system {
            self.drain_serial(id);
            self.wake_terminal(id);
        }
    }
}
