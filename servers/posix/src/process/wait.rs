//! wait4 and waitid: what became of children.

use super::usage::Usage;
use super::{Change, Pid, Process, ProcessId, Signal, Status};
use crate::Errno;
use crate::dispatch::{Arguments, Flow};
use crate::executor::cx::Cx;
use crate::host::Host;
use crate::number::{low_i32, low_u32};
use crate::server::Server;
use crate::user::UserPtr;
use bitflags::bitflags;

bitflags! {
    /// The options of both calls.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Options: u32 {
        /// Never wait.
        const NOHANG = 1;
        /// Children that were stopped (WUNTRACED).
        const STOPPED = 2;
        /// Children that ended.
        const EXITED = 4;
        /// Children that go on again.
        const CONTINUED = 8;
        /// They can be waited for again.
        const NOWAIT = 0x0100_0000;
        /// Only this thread's children: all threads of a process have them in common here.
        const NOTHREAD = 0x2000_0000;
        /// Children of every exit signal.
        const ALL = 0x4000_0000;
        /// Only children whose exit signal is not SIGCHLD.
        const CLONE = 0x8000_0000;
    }
}

/// Which children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Any,
    Process(Pid),
    Group(Pid),
}

#[derive(Clone, Copy, Debug)]
struct Request {
    which: Which,
    options: Options,
}

/// What was found.
#[derive(Clone, Copy, Debug)]
enum Found {
    /// This happened to that child.
    Child(Report),
    /// Nothing yet.
    Nothing,
}

/// What happened to a child.
#[derive(Clone, Copy, Debug)]
struct Report {
    pid: Pid,
    user: u32,
    what: What,
    usage: Usage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Ended(Status),
    Changed(Change),
}

impl What {
    /// The word of wait4.
    fn word(self) -> u32 {
        match self {
            Self::Ended(Status::Exited(code)) => u32::from(code) << 8,
            Self::Ended(Status::Killed(signal)) => u32::from(signal.0),
            Self::Changed(Change::Stopped(signal)) => u32::from(signal.0) << 8 | 0x7f,
            Self::Changed(Change::Continued) => 0xffff,
        }
    }

    /// si_code (CLD_) and si_status.
    pub(super) fn code_and_status(self) -> (u32, u32) {
        match self {
            Self::Ended(status) => status.code_and_status(),
            Self::Changed(change) => change.code_and_status(),
        }
    }
}

impl Status {
    /// si_code (CLD_) and si_status of SIGCHLD. No core is ever written, so that nothing says one was.
    pub fn code_and_status(self) -> (u32, u32) {
        match self {
            Self::Exited(code) => (1, u32::from(code)),
            Self::Killed(signal) => (2, u32::from(signal.0)),
        }
    }
}

impl Change {
    /// si_code (CLD_) and si_status of SIGCHLD.
    pub fn code_and_status(self) -> (u32, u32) {
        match self {
            Self::Stopped(signal) => (5, u32::from(signal.0)),
            Self::Continued => (6, u32::from(Signal::SIGCONT.0)),
        }
    }
}

/// wait4(2), as far as it need not wait.
pub fn wait4<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let request = wait4_request(server, arguments)?;
    match server.look(&request)? {
        Found::Child(report) => finish_wait4(server, arguments, &report).map(Flow::Done),
        Found::Nothing if request.options.contains(Options::NOHANG) => Ok(Flow::Done(0)),
        Found::Nothing => Ok(Flow::Wait),
    }
}

/// wait4(2) of a child that has not changed yet.
pub async fn wait4_waiting<H: Host>(cx: &Cx<H>, arguments: Arguments) -> Result<u64, Errno> {
    let request = cx.attempt(|server| wait4_request(server, arguments))?;
    let report = later(cx, &request).await?;
    cx.attempt(|server| finish_wait4(server, arguments, &report))
}

fn wait4_request<H: Host>(server: &Server<H>, arguments: Arguments) -> Result<Request, Errno> {
    let allowed = Options::NOHANG | Options::STOPPED | Options::CONTINUED;
    let options = options(arguments.word(2), allowed)? | Options::EXITED;
    let which = match low_i32(arguments.word(0)) {
        i32::MIN => return Err(Errno::ESRCH),
        -1 => Which::Any,
        0 => Which::Group(server.process()?.group),
        pid if pid < 0 => Which::Group(Pid(pid.unsigned_abs())),
        pid => Which::Process(Pid(pid.unsigned_abs())),
    };
    Ok(Request { which, options })
}

fn options(argument: u64, allowed: Options) -> Result<Options, Errno> {
    let kinds = Options::NOTHREAD | Options::ALL | Options::CLONE;
    Options::from_bits(low_u32(argument))
        .filter(|options| (allowed | kinds).contains(*options))
        .ok_or(Errno::EINVAL)
}

fn finish_wait4<H: Host>(
    server: &mut Server<H>,
    arguments: Arguments,
    report: &Report,
) -> Result<u64, Errno> {
    // Linux has taken the child by now, whether or not the words can be written.
    if let Some(pointer) = UserPtr::<u32>::optional(arguments.word(1))? {
        server.view()?.write(pointer, &report.what.word())?;
    }
    if let Some(pointer) = UserPtr::<Usage>::optional(arguments.word(3))? {
        server.view()?.write(pointer, &report.usage)?;
    }
    Ok(u64::from(report.pid.0))
}

/// waitid(2), as far as it need not wait.
pub fn waitid<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let found = waitid_request(server, arguments).and_then(|request| Ok((request, server.look(&request)?)));
    match found {
        Ok((request, Found::Nothing)) if !request.options.contains(Options::NOHANG) => Ok(Flow::Wait),
        Ok((_, Found::Child(report))) => finish_waitid(server, arguments, Ok(Some(report))).map(Flow::Done),
        Ok((_, Found::Nothing)) => finish_waitid(server, arguments, Ok(None)).map(Flow::Done),
        Err(error) => finish_waitid(server, arguments, Err(error)).map(Flow::Done),
    }
}

/// waitid(2) of a child that has not changed yet.
pub async fn waitid_waiting<H: Host>(cx: &Cx<H>, arguments: Arguments) -> Result<u64, Errno> {
    let request = cx.attempt(|server| waitid_request(server, arguments))?;
    let result = later(cx, &request).await;
    if result.is_err_and(Errno::is_restart) {
        return result.map(|_| 0);
    }
    cx.attempt(|server| finish_waitid(server, arguments, result.map(Some)))
}

fn waitid_request<H: Host>(server: &Server<H>, arguments: Arguments) -> Result<Request, Errno> {
    let kinds = Options::EXITED | Options::STOPPED | Options::CONTINUED;
    let options = options(arguments.word(3), kinds | Options::NOHANG | Options::NOWAIT)?;
    if !options.intersects(kinds) {
        return Err(Errno::EINVAL);
    }
    let id = low_i32(arguments.word(1));
    let which = match (low_u32(arguments.word(0)), u32::try_from(id)) {
        (0, _) => Which::Any,
        (1, Ok(pid)) if pid != 0 => Which::Process(Pid(pid)),
        (2, Ok(0)) => Which::Group(server.process()?.group),
        (2, Ok(group)) => Which::Group(Pid(group)),
        // No descriptor is a process's.
        (3, Ok(_)) => return Err(Errno::EBADF),
        _ => return Err(Errno::EINVAL),
    };
    Ok(Request { which, options })
}

/// Linux writes siginfo even when it found nothing or nobody, all zero then.
fn finish_waitid<H: Host>(
    server: &mut Server<H>,
    arguments: Arguments,
    found: Result<Option<Report>, Errno>,
) -> Result<u64, Errno> {
    let mut info = [0_u32; 7];
    if let Ok(Some(report)) = found {
        let (code, status) = report.what.code_and_status();
        info = [u32::from(Signal::SIGCHLD.0), 0, code, 0, report.pid.0, report.user, status];
        if let Some(pointer) = UserPtr::<Usage>::optional(arguments.word(4))? {
            server.view()?.write(pointer, &report.usage)?;
        }
    }
    let [signal, errno, code, _, pid, user, status] = info;
    if let Some(pointer) = UserPtr::<[u32; 32]>::optional(arguments.word(2))? {
        let mut view = server.view()?;
        view.write(UserPtr::new(pointer.address())?, &[signal, errno, code])?;
        view.write(UserPtr::new(pointer.address() + 16)?, &[pid, user, status])?;
    }
    found.map(|_| 0)
}

async fn later<H: Host>(cx: &Cx<H>, request: &Request) -> Result<Report, Errno> {
    loop {
        let (found, queue) = cx.attempt(|server| Ok((server.look(request)?, server.process()?.changed)))?;
        if let Found::Child(report) = found {
            return Ok(report);
        }
        cx.wait(Some(queue), None).await?;
    }
}

impl<H: Host> Server<H> {
    /// The first child of the acting process that has something to report; takes the report unless NOWAIT.
    fn look(&mut self, request: &Request) -> Result<Found, Errno> {
        let mut any = false;
        for child in &self.process()?.children {
            let Some(record) = self.processes.get(*child).filter(|record| request.fits(record)) else {
                continue;
            };
            any = true;
            if let Some(what) = request.reports(record) {
                let report = Report {
                    pid: record.pid,
                    user: record.credentials.user.real,
                    what,
                    usage: Usage::of(record),
                };
                let child = *child;
                if !request.options.contains(Options::NOWAIT) {
                    self.take_report(child, what);
                }
                return Ok(Found::Child(report));
            }
        }
        if any { Ok(Found::Nothing) } else { Err(Errno::ECHILD) }
    }

    fn take_report(&mut self, child: ProcessId, what: What) {
        match what {
            What::Ended(_) => {
                if let Some(used) =
                    self.processes.get(child).map(|child| child.cpu_ns + child.children_cpu_ns)
                    && let Ok(parent) = self.process_mut()
                {
                    parent.children_cpu_ns = parent.children_cpu_ns.saturating_add(used);
                }
                self.reap(child);
            }
            What::Changed(_) => {
                if let Some(record) = self.processes.get_mut(child) {
                    record.change = None;
                }
            }
        }
    }
}

impl Request {
    fn fits(&self, child: &Process) -> bool {
        let named = match self.which {
            Which::Any => true,
            Which::Process(pid) => child.pid == pid,
            Which::Group(group) => child.group == group,
        };
        let clone = child.exit_signal != Some(Signal::SIGCHLD);
        named && (self.options.contains(Options::ALL) || clone == self.options.contains(Options::CLONE))
    }

    fn reports(&self, child: &Process) -> Option<What> {
        if let Some(status) = child.status {
            return self.options.contains(Options::EXITED).then_some(What::Ended(status));
        }
        let wanted = match child.change? {
            Change::Stopped(_) => Options::STOPPED,
            Change::Continued => Options::CONTINUED,
        };
        self.options.contains(wanted).then_some(()).and(child.change.map(What::Changed))
    }
}
