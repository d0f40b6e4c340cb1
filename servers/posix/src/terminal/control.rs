//! ioctl(2) of terminals, in Linux's order of checks (tty_io.c, tty_ioctl.c, tty_jobctrl.c, n_tty.c).
//!
//! On a pty's master the terminal's own settings, window and groups are meant. What is not here is ENOTTY, packet
//! mode (TIOCPKT) and serial lines' modem signals among it.

use super::discipline::Flush;
use super::job::{HangUp, Steal};
use super::settings::{DISABLED, Settings, Special, Termio, Termios, Termios2};
use super::table::{End, Exclusive, Handle, Kind, Lock, TerminalId, WindowSize};
use crate::Errno;
use crate::dispatch::{Arguments, Flow};
use crate::executor::cx::Cx;
use crate::file::descriptor::{OpenFile, OpenKind};
use crate::host::Host;
use crate::number::{low_i32, low_u32};
use crate::process::Pid;
use crate::server::Server;
use crate::signal::number::Signal;
use crate::user::UserPtr;
use zerocopy::{FromBytes, Immutable, IntoBytes};

const TCGETS: u32 = 0x5401;
const TCSETS: u32 = 0x5402;
const TCSETSW: u32 = 0x5403;
const TCSETSF: u32 = 0x5404;
const TCGETA: u32 = 0x5405;
const TCSETA: u32 = 0x5406;
const TCSETAW: u32 = 0x5407;
const TCSETAF: u32 = 0x5408;
const TCSBRK: u32 = 0x5409;
const TCXONC: u32 = 0x540a;
const TCFLSH: u32 = 0x540b;
const TIOCEXCL: u32 = 0x540c;
const TIOCNXCL: u32 = 0x540d;
const TIOCSCTTY: u32 = 0x540e;
const TIOCGPGRP: u32 = 0x540f;
const TIOCSPGRP: u32 = 0x5410;
const TIOCOUTQ: u32 = 0x5411;
const TIOCSTI: u32 = 0x5412;
const TIOCGWINSZ: u32 = 0x5413;
const TIOCSWINSZ: u32 = 0x5414;
const FIONREAD: u32 = 0x541b;
const TIOCNOTTY: u32 = 0x5422;
const TIOCGETD: u32 = 0x5424;
const TCSBRKP: u32 = 0x5425;
const TIOCGSID: u32 = 0x5429;
const TCGETS2: u32 = 0x802c_542a;
const TCSETS2: u32 = 0x402c_542b;
const TCSETSW2: u32 = 0x402c_542c;
const TCSETSF2: u32 = 0x402c_542d;
const TIOCGPTN: u32 = 0x8004_5430;
const TIOCSPTLCK: u32 = 0x4004_5431;
const TIOCGDEV: u32 = 0x8004_5432;
const TIOCSIG: u32 = 0x4004_5436;
const TIOCVHANGUP: u32 = 0x5437;
const TIOCGPTLCK: u32 = 0x8004_5439;
const TIOCGEXCL: u32 = 0x8004_5440;
const TIOCGPTPEER: u32 = 0x5441;

/// A request and what it acts on.
#[derive(Clone, Copy, Debug)]
struct Request {
    handle: Handle,
    number: u32,
    argument: u64,
}

/// What settings are set with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Termio,
    Termios,
    Termios2,
}

/// What happens before settings change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    /// Nothing.
    Nothing,
    /// What was printed goes out.
    Drain,
    /// That, and what was typed is thrown away.
    DrainAndFlush,
}

impl Request {
    const fn id(&self) -> TerminalId {
        self.handle.terminal
    }

    /// The form and circumstances of a request that sets settings.
    const fn sets(&self) -> Option<(Form, First)> {
        Some(match self.number {
            TCSETS => (Form::Termios, First::Nothing),
            TCSETSW => (Form::Termios, First::Drain),
            TCSETSF => (Form::Termios, First::DrainAndFlush),
            TCSETA => (Form::Termio, First::Nothing),
            TCSETAW => (Form::Termio, First::Drain),
            TCSETAF => (Form::Termio, First::DrainAndFlush),
            TCSETS2 => (Form::Termios2, First::Nothing),
            TCSETSW2 => (Form::Termios2, First::Drain),
            TCSETSF2 => (Form::Termios2, First::DrainAndFlush),
            _ => return None,
        })
    }

    /// Whether only the foreground may ask for it.
    const fn asks_foreground(&self) -> bool {
        self.sets().is_some() || matches!(self.number, TCSBRK | TCSBRKP | TCXONC | TCFLSH | TIOCSPGRP)
    }

    /// Whether what was printed must be out first.
    const fn drains(&self) -> bool {
        matches!(self.number, TCSBRK | TCSBRKP) || !matches!(self.sets(), None | Some((_, First::Nothing)))
    }
}

/// ioctl(2) of a terminal's file.
pub(crate) fn ioctl<H: Host>(
    server: &mut Server<H>,
    handle: Handle,
    arguments: Arguments,
) -> Result<Flow, Errno> {
    let request = Request { handle, number: low_u32(arguments.word(1)), argument: arguments.word(2) };
    if request.asks_foreground() && server.is_background(handle) {
        // Only the waiting call can be begun again after the signal that this may cost.
        return Ok(Flow::Wait);
    }
    let Some(done) = server.try_request(arguments.word(0), request)? else { return Ok(Flow::Wait) };
    // Signals may have been sent, and threads woken.
    Ok(if server.ready.is_empty() { Flow::Done(done) } else { Flow::Woke(done) })
}

/// ioctl(2) that waits until what was printed is out, or that the background makes.
pub async fn ioctl_waiting<H: Host>(cx: &Cx<H>, arguments: Arguments) -> Result<u64, Errno> {
    loop {
        let (fd, number, argument) = (arguments.word(0), low_u32(arguments.word(1)), arguments.word(2));
        let (handle, done) = cx.attempt(|server| {
            let OpenKind::Terminal(handle, _) = server.real_file(fd)?.kind else {
                return Err(Errno::ENOTTY);
            };
            Ok((handle, server.try_request(fd, Request { handle, number, argument })?))
        })?;
        if let Some(done) = done {
            return Ok(done);
        }
        let queue =
            cx.attempt(|server| Ok(server.terminals.get(handle.terminal).ok_or(Errno::EIO)?.changed))?;
        cx.wait(Some(queue), None).await?;
    }
}

impl<H: Host> Server<H> {
    /// Does what was asked for; `None` while what was printed is not out.
    fn try_request(&mut self, fd: u64, request: Request) -> Result<Option<u64>, Errno> {
        let file = *self.real_file(fd)?;
        let terminal = self.terminals.get(request.id()).ok_or(Errno::EIO)?;
        if terminal.has_hung_up(request.handle) {
            return Err(if request.number == TIOCSPGRP { Errno::ENOTTY } else { Errno::EIO });
        }
        if request.drains() {
            self.check_foreground(request.id(), Signal::SIGTTOU)?;
            if self.has_undrained(request.id()) {
                return Ok(None);
            }
        }
        self.terminal_request(&file, request).map(Some)
    }

    fn terminal_request(&mut self, file: &OpenFile, request: Request) -> Result<u64, Errno> {
        if let Some((form, first)) = request.sets() {
            return self.set_settings(request, form, first);
        }
        let id = request.id();
        let terminal = self.terminals.get_mut(id).ok_or(Errno::EIO)?;
        let settings = *terminal.line.discipline.settings();
        match request.number {
            TCGETS => self.tell(request, &settings.to_termios()),
            TCGETA => self.tell(request, &settings.to_termio()),
            TCGETS2 => self.tell(request, &settings.to_termios2()),
            TCSBRK | TCSBRKP => Ok(0),
            TCXONC => self.control_flow(request),
            TCFLSH => self.flush_queues(request),
            TIOCEXCL | TIOCNXCL => {
                let exclusive = request.number == TIOCEXCL;
                terminal.exclusive = if exclusive { Exclusive::Yes } else { Exclusive::No };
                Ok(0)
            }
            TIOCGEXCL => {
                let exclusive = u32::from(terminal.exclusive == Exclusive::Yes);
                self.tell(request, &exclusive)
            }
            TIOCGWINSZ => {
                let window = terminal.window;
                self.tell(request, &window)
            }
            TIOCSWINSZ => {
                let window = self.view()?.read(UserPtr::<WindowSize>::new(request.argument)?)?;
                self.resize_terminal(id, window);
                Ok(0)
            }
            TIOCOUTQ => {
                let waits =
                    if terminal.kind == Kind::Serial { terminal.line.discipline.output.len() } else { 0 };
                self.tell(request, &low_u32(waits as u64))
            }
            FIONREAD => {
                let discipline = &terminal.line.discipline;
                let bytes = match request.handle.end {
                    End::Terminal => discipline.readable(),
                    End::Master => discipline.output.len(),
                };
                self.tell(request, &low_u32(bytes as u64))
            }
            // N_TTY, the only one.
            TIOCGETD => self.tell(request, &0_u32),
            TIOCGDEV => {
                let (major, minor) = terminal.device(End::Terminal);
                self.tell(request, &(major << 8 | minor))
            }
            TIOCSTI => self.pretend_typed(request),
            TIOCVHANGUP => {
                self.check_privilege()?;
                self.hang_up(id, HangUp::Line);
                Ok(0)
            }
            TIOCSCTTY | TIOCNOTTY | TIOCGPGRP | TIOCSPGRP | TIOCGSID => self.job_request(file, request),
            TIOCGPTN | TIOCSPTLCK | TIOCGPTLCK | TIOCGPTPEER | TIOCSIG
                if request.handle.end == End::Master =>
            {
                self.master_request(request)
            }
            _ => Err(Errno::ENOTTY),
        }
    }

    fn set_settings(&mut self, request: Request, form: Form, first: First) -> Result<u64, Errno> {
        let id = request.id();
        self.check_foreground(id, Signal::SIGTTOU)?;
        let before = *self.terminals.get(id).ok_or(Errno::EIO)?.line.discipline.settings();
        let mut view = self.view()?;
        let to = request.argument;
        let settings: Settings = match form {
            Form::Termio => before.with_termio(&view.read(UserPtr::<Termio>::new(to)?)?),
            Form::Termios => before.with_termios(&view.read(UserPtr::<Termios>::new(to)?)?),
            Form::Termios2 => before.with_termios2(&view.read(UserPtr::<Termios2>::new(to)?)?),
        };
        let terminal = self.terminals.get_mut(id).ok_or(Errno::EIO)?;
        if first == First::DrainAndFlush {
            terminal.line.discipline.flush(Flush::Input);
        }
        terminal.line.discipline.set(settings.without_wires());
        self.line_changed(id);
        Ok(0)
    }

    /// TCXONC.
    fn control_flow(&mut self, request: Request) -> Result<u64, Errno> {
        let id = request.id();
        if request.handle.end == End::Master {
            return Err(Errno::ENOTTY);
        }
        self.check_foreground(id, Signal::SIGTTOU)?;
        let discipline = &mut self.terminals.get_mut(id).ok_or(Errno::EIO)?.line.discipline;
        let sent = match low_u32(request.argument) {
            0 => {
                discipline.hold();
                None
            }
            1 => {
                discipline.release();
                None
            }
            2 => Some(Special::Stop),
            3 => Some(Special::Start),
            _ => return Err(Errno::EINVAL),
        };
        if let Some(character) = sent.map(|which| discipline.settings().character(which))
            && character != DISABLED
        {
            discipline.output.put_anyway(character);
        }
        self.line_changed(id);
        Ok(0)
    }

    /// TCFLSH; seen from a master the queues are the other way round.
    fn flush_queues(&mut self, request: Request) -> Result<u64, Errno> {
        let id = request.id();
        self.check_foreground(id, Signal::SIGTTOU)?;
        let which = match low_u32(request.argument) {
            0 => Flush::Input,
            1 => Flush::Output,
            2 => Flush::Both,
            _ => return Err(Errno::EINVAL),
        };
        let line = &mut self.terminals.get_mut(id).ok_or(Errno::EIO)?.line;
        match request.handle.end {
            End::Terminal => line.flush(which),
            End::Master => line.flush_from_afar(which),
        }
        self.line_changed(id);
        Ok(0)
    }

    /// TIOCSTI: only for root, as Linux has it since 6.2.
    fn pretend_typed(&mut self, request: Request) -> Result<u64, Errno> {
        self.check_privilege().map_err(|_| Errno::EIO)?;
        let byte = self.view()?.read(UserPtr::<u8>::new(request.argument)?)?;
        self.type_into(request.id(), &[byte]);
        Ok(0)
    }

    fn job_request(&mut self, file: &OpenFile, request: Request) -> Result<u64, Errno> {
        let (id, end) = (request.id(), request.handle.end);
        let own = self.process()?.terminal == Some(id);
        let terminal = self.terminals.get(id).ok_or(Errno::EIO)?;
        match request.number {
            TIOCSCTTY => {
                let steal = if request.argument == 1 { Steal::Yes } else { Steal::No };
                self.claim_terminal(id, steal, file.is_readable()).map(|()| 0)
            }
            TIOCNOTTY if end == End::Terminal => self.give_terminal_up(id).map(|()| 0),
            TIOCGPGRP if own || end == End::Master => {
                let group = terminal.foreground.map_or(0, |group| group.0);
                self.tell(request, &group)
            }
            TIOCGSID if own || end == End::Master => {
                let session = terminal.session.ok_or(Errno::ENOTTY)?;
                self.tell(request, &session.0)
            }
            TIOCSPGRP => {
                self.check_foreground(id, Signal::SIGTTOU)
                    .map_err(|error| if error == Errno::EIO { Errno::ENOTTY } else { error })?;
                let group = self.view()?.read(UserPtr::<u32>::new(request.argument)?)?;
                if low_i32(u64::from(group)) < 0 {
                    return Err(Errno::EINVAL);
                }
                self.choose_foreground(id, Pid(group)).map(|()| 0)
            }
            _ => Err(Errno::ENOTTY),
        }
    }

    /// What only a master has.
    fn master_request(&mut self, request: Request) -> Result<u64, Errno> {
        let terminal = self.terminals.get_mut(request.id()).ok_or(Errno::EIO)?;
        let pty = terminal.pty_mut().ok_or(Errno::ENOTTY)?;
        match request.number {
            TIOCGPTN => {
                let number = pty.number;
                self.tell(request, &number)
            }
            TIOCGPTLCK => {
                let locked = u32::from(pty.lock == Lock::Locked);
                self.tell(request, &locked)
            }
            TIOCSPTLCK => {
                let locked = self.view()?.read(UserPtr::<u32>::new(request.argument)?)? != 0;
                let terminal = self.terminals.get_mut(request.id()).ok_or(Errno::EIO)?;
                if let Some(pty) = terminal.pty_mut() {
                    pty.lock = if locked { Lock::Locked } else { Lock::Open };
                }
                Ok(0)
            }
            TIOCGPTPEER => self.open_peer(request.id(), low_u32(request.argument)),
            // TIOCSIG.
            _ => {
                let signal = Signal::new(u64::from(low_u32(request.argument)));
                let typed = [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTSTP];
                let signal = signal.filter(|signal| typed.contains(signal)).ok_or(Errno::EINVAL)?;
                self.signal_foreground(request.id(), signal);
                Ok(0)
            }
        }
    }

    /// A terminal's window has another size: its foreground is told.
    pub(crate) fn resize_terminal(&mut self, id: TerminalId, window: WindowSize) {
        let Some(terminal) = self.terminals.get_mut(id).filter(|terminal| terminal.window != window) else {
            return;
        };
        terminal.window = window;
        self.signal_foreground(id, Signal::SIGWINCH);
    }

    fn check_privilege(&self) -> Result<(), Errno> {
        if self.process()?.credentials.user.effective == 0 { Ok(()) } else { Err(Errno::EPERM) }
    }

    fn tell<T: IntoBytes + Immutable + FromBytes>(
        &mut self,
        request: Request,
        value: &T,
    ) -> Result<u64, Errno> {
        self.view()?.write(UserPtr::new(request.argument)?, value)?;
        Ok(0)
    }
}
