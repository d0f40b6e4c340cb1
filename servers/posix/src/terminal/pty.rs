//! Opening and closing terminals: by their devices' numbers, and ptys in pairs.
//!
//! Opening /dev/ptmx makes a pty, locked, with a name in /dev/pts that lives as long as its master is open.

use super::job::HangUp;
use super::settings::Settings;
use super::table::{End, Exclusive, Handle, Kind, Lock, Master, Pty, Seen, Terminal, TerminalId, WindowSize};
use crate::Errno;
use crate::file::descriptor::{OnExec, OpenFile, OpenKind, flags};
use crate::file::folder::Name;
use crate::file::node::{Content, Device, Owner};
use crate::file::tree::{Fresh, NodeId, ROOT};
use crate::host::Host;
use crate::server::Server;
use alloc::vec::Vec;

/// The group that terminals belong to, `tty` in Debian.
const TTY_GROUP: u32 = 5;
/// Its members write to them (write(1)).
const PERMISSIONS: u32 = 0o620;
/// The major number of ptys' terminals; the minor one is the pty's (Linux: UNIX98_PTY_SLAVE_MAJOR).
const PTS: u32 = 136;

/// What an open is to make of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Control {
    /// The session's, if it has none and this has no other.
    Perhaps,
    /// Nothing.
    Never,
}

impl<H: Host> Server<H> {
    /// Opens the terminal of a device; `None` when the numbers are no terminal's.
    ///
    /// # Errors
    /// ENXIO for /dev/tty without a terminal; EIO for a pty that is locked or gone; EBUSY for an exclusive one.
    pub(crate) fn open_terminal(&mut self, device: Device, bits: u32) -> Result<Option<Handle>, Errno> {
        let (id, control) = match (device.major, device.minor) {
            (5, 0) => (self.process()?.terminal.ok_or(Errno::ENXIO)?, Control::Never),
            (5, 1) => match self.terminals.system {
                Some(id) => (id, Control::Never),
                None => return Ok(None),
            },
            (4, 64) => (self.terminals.system.ok_or(Errno::ENXIO)?, Control::Perhaps),
            (5, 2) => return self.open_master().map(Some),
            (PTS, number) => (self.terminals.pty(number).ok_or(Errno::ENXIO)?, Control::Perhaps),
            _ => return Ok(None),
        };
        self.open_end(id, bits, control).map(Some)
    }

    /// TIOCGPTPEER: opens a pty's terminal through its master, whatever its name leads to; its descriptor.
    pub(super) fn open_peer(&mut self, id: TerminalId, bits: u32) -> Result<u64, Errno> {
        let node =
            self.terminals.get(id).and_then(Terminal::pty).and_then(|pty| pty.node).ok_or(Errno::EIO)?;
        let handle = self.open_end(id, bits, Control::Perhaps)?;
        self.files.tree.hold(node);
        let kept = bits & (flags::ACCESS | flags::NONBLOCK | flags::APPEND);
        let file = OpenFile::new(OpenKind::Terminal(handle, node), kept);
        self.install(file, OnExec::of(bits)).inspect_err(|_| {
            self.close_terminal(handle);
            self.release_node(node);
        })
    }

    fn open_end(&mut self, id: TerminalId, bits: u32, control: Control) -> Result<Handle, Errno> {
        let process = self.process()?;
        let privileged = process.credentials.user.effective == 0;
        let free = process.session == process.pid && process.terminal.is_none();
        let terminal = self.terminals.get_mut(id).ok_or(Errno::ENXIO)?;
        if let Some(pty) = terminal.pty_mut() {
            if pty.master == Master::Closed || pty.lock == Lock::Locked {
                return Err(Errno::EIO);
            }
            pty.seen = Seen::Yes;
        }
        if terminal.exclusive == Exclusive::Yes && terminal.opens != 0 && !privileged {
            return Err(Errno::EBUSY);
        }
        terminal.opens += 1;
        let handle = terminal.handle(id, End::Terminal);
        // Whoever may only write gets no control by it: it could read through /dev/tty.
        let reads = bits & flags::ACCESS != flags::WRONLY;
        let wanted = control == Control::Perhaps && bits & flags::NOCTTY == 0 && reads;
        if wanted && free && terminal.session.is_none() {
            let process = self.current()?.process;
            self.take_terminal(process, id);
        }
        self.wake_terminal(id);
        Ok(handle)
    }

    /// Makes a pty.
    fn open_master(&mut self) -> Result<Handle, Errno> {
        let number = self.terminals.free_number();
        let pty = Pty {
            number,
            node: self.name_pty(number)?,
            lock: Lock::Locked,
            master: Master::Open,
            seen: Seen::No,
            changed: self.waits.create(),
        };
        let changed = self.waits.create();
        let terminal =
            Terminal::new(Kind::Pty(pty), Settings::USUAL.without_wires(), WindowSize::default(), changed);
        let Some(id) = self.terminals.table.insert(terminal) else {
            self.unname_pty(&pty);
            self.waits.destroy(changed, &mut self.ready);
            self.waits.destroy(pty.changed, &mut self.ready);
            return Err(Errno::ENOSPC);
        };
        self.terminals.get(id).map(|terminal| terminal.handle(id, End::Master)).ok_or(Errno::ENOSPC)
    }

    /// A file of a terminal is closed.
    pub(crate) fn close_terminal(&mut self, handle: Handle) {
        let id = handle.terminal;
        let Some(terminal) = self.terminals.get_mut(id) else { return };
        if handle.end == End::Master {
            let closed = terminal.pty_mut().map(|pty| {
                pty.master = Master::Closed;
                *pty
            });
            if let Some(pty) = closed {
                self.unname_pty(&pty);
            }
            self.hang_up(id, HangUp::Line);
        } else if terminal.has_hung_up(handle) {
            terminal.dead = terminal.dead.saturating_sub(1);
        } else {
            terminal.opens = terminal.opens.saturating_sub(1);
            let last = terminal.opens == 0 && terminal.pty().is_some();
            if let Some(session) = terminal.session.filter(|_| last) {
                self.forget_terminal_of(session, id);
            }
            self.wake_terminal(id);
        }
        self.forget_terminal(id);
    }

    /// Takes a terminal out of the table when nothing needs it any more.
    fn forget_terminal(&mut self, id: TerminalId) {
        let Some(terminal) = self.terminals.get(id) else { return };
        let open = match &terminal.kind {
            Kind::Serial => self.terminals.system == Some(id),
            Kind::Pty(pty) => pty.master == Master::Open,
        };
        if open || terminal.opens + terminal.dead != 0 {
            return;
        }
        let queues = [Some(terminal.changed), terminal.pty().map(|pty| pty.changed)];
        self.terminals.table.remove(id);
        for queue in queues.into_iter().flatten() {
            self.waits.destroy(queue, &mut self.ready);
        }
    }

    /// Gives a pty its name in /dev/pts; a system without that directory has ptys without names.
    fn name_pty(&mut self, number: u32) -> Result<Option<NodeId>, Errno> {
        let Some(parent) = self.pts() else { return Ok(None) };
        let owner = Owner { user: self.process()?.credentials.user.effective, group: TTY_GROUP };
        let device = Device { major: PTS, minor: number };
        let now = self.now();
        let fresh = Fresh { content: Content::Character(device), permissions: PERMISSIONS, owner, now };
        let node = self.files.tree.create(fresh)?;
        let name = Name::Given(digits(number).into_boxed_slice());
        self.files.tree.link(parent, name, node, now)?;
        Ok(Some(node))
    }

    fn unname_pty(&mut self, pty: &Pty) {
        if let Some(parent) = self.pts()
            && self.files.tree.child(parent, &digits(pty.number)) == pty.node
        {
            let now = self.now();
            let left = self.files.tree.unlink(parent, &digits(pty.number), now);
            self.free_left(left);
        }
    }

    fn pts(&self) -> Option<NodeId> {
        self.files.tree.child(self.files.tree.child(ROOT, b"dev")?, b"pts")
    }
}

fn digits(number: u32) -> Vec<u8> {
    alloc::format!("{number}").into_bytes()
}
