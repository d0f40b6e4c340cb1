//! The calls that send: kill, tkill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo.

use super::info::{Info, code};
use super::number::{STOPS, Signal};
use super::send::Target;
use crate::Errno;
use crate::dispatch::{Arguments, Flow};
use crate::host::Host;
use crate::number::{low_i32, low_u32};
use crate::process::capability::Capability;
use crate::process::numbers::{INIT, Owner};
use crate::process::{Pid, ProcessId};
use crate::server::Server;
use crate::user::{UserPtr, UserSlice};
use alloc::vec::Vec;

/// What a call sends: nothing but the question whether it may, or a signal.
type Sent = Option<(Signal, Info)>;

/// kill(2).
#[inline(always)] // One function with its entry: registers are saved once.
pub fn kill<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let [pid, number, ..] = arguments.words();
    let process = server.process()?;
    if u32::try_from(low_i32(pid)) == Ok(process.pid.0)
        && let Some(signal) = Signal::new(u64::from(low_u32(number)))
        && signal.bit() & (STOPS | Signal::SIGCONT.bit()) == 0
        && process.signals.actions.get(signal).ignores(signal)
        && server.first_thread_holds(process) & signal.bit() == 0
    {
        // It comes to nothing.
        return Ok(Flow::Done(0));
    }
    server.kill_any(low_i32(pid), number)
}

/// tkill(2).
#[inline(always)] // One function with its entry: registers are saved once.
pub fn tkill<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let [tid, number, ..] = arguments.words();
    match server.raise_own(None, low_i32(tid), number) {
        Some(flow) => Ok(flow),
        None => server.signal_thread(None, low_i32(tid), number),
    }
}

/// tgkill(2).
#[inline(always)] // One function with its entry: registers are saved once.
pub fn tgkill<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let [group, tid, number, ..] = arguments.words();
    match server.raise_own(Some(low_i32(group)), low_i32(tid), number) {
        Some(flow) => Ok(flow),
        None => server.signal_thread(Some(low_i32(group)), low_i32(tid), number),
    }
}

/// rt_sigqueueinfo(2).
pub fn rt_sigqueueinfo<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let [pid, number, info, ..] = arguments.words();
    let what = server.programs_signal(number, info)?;
    let own = server.process()?.pid;
    let pid = Pid(low_i32(pid).unsigned_abs());
    if is_forged(&what) && pid != own {
        return Err(Errno::EPERM);
    }
    if low_i32(arguments.word(0)) <= 0 {
        return Err(Errno::ESRCH);
    }
    let done = server.kill_one(pid, what.decoded());
    finish(server, done)
}

/// rt_tgsigqueueinfo(2).
pub fn rt_tgsigqueueinfo<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let [group, tid, number, info, ..] = arguments.words();
    let what = server.programs_signal(number, info)?;
    let (group, tid) = (low_i32(group), low_i32(tid));
    if group <= 0 || tid <= 0 {
        return Err(Errno::EINVAL);
    }
    if is_forged(&what) && u32::try_from(tid) != Ok(server.thread()?.tid.0) {
        return Err(Errno::EPERM);
    }
    let done = server.kill_thread(Some(Pid(group.unsigned_abs())), tid, what.decoded());
    finish(server, done)
}

fn finish<H: Host>(server: &Server<H>, done: Result<(), Errno>) -> Result<Flow, Errno> {
    // What is due to the caller itself its call's end sees to.
    done.map(|()| if server.ready.is_empty() || server.has_tick() { Flow::Done(0) } else { Flow::Woke(0) })
}

/// What a program made up for a signal.
#[derive(Clone, Copy, Debug)]
struct Given {
    number: u64,
    info: Info,
}

impl Given {
    fn decoded(self) -> Result<Sent, Errno> {
        let number = u64::from(low_u32(self.number));
        match Signal::new(number) {
            Some(signal) => Ok(Some((signal, self.info))),
            None if number == 0 => Ok(None),
            None => Err(Errno::EINVAL),
        }
    }
}

/// Whether it looks as if the kernel, or kill or tkill, had sent it: only to oneself.
const fn is_forged(given: &Given) -> bool {
    let code = given.info.code();
    code >= 0 || code == code::SI_TKILL
}

impl<H: Host> Server<H> {
    /// kill, whomever it is for.
    #[inline(never)]
    fn kill_any(&mut self, pid: i32, number: u64) -> Result<Flow, Errno> {
        if pid > 0 && self.kill_handled(Pid(pid.unsigned_abs()), number).is_some() {
            return finish(self, Ok(()));
        }
        self.kill_anyhow(pid, number)
    }

    #[inline(never)]
    fn kill_anyhow(&mut self, pid: i32, number: u64) -> Result<Flow, Errno> {
        let process = self.process()?;
        let (own, group) = (process.pid, process.group);
        let what = self.callers_signal(number, code::SI_USER);
        let done = match pid {
            i32::MIN => Err(Errno::ESRCH),
            -1 => self.kill_all(own, what?),
            0 => self.kill_group(group, what),
            pid if pid < 0 => self.kill_group(Pid(pid.unsigned_abs()), what),
            pid => self.kill_one(Pid(pid.unsigned_abs()), what),
        };
        finish(self, done)
    }

    /// Sends a process of the same user, perhaps the caller itself, a signal for which it has a handler; `None` for
    /// everything else, of which nothing was done.
    #[inline]
    fn kill_handled(&mut self, pid: Pid, number: u64) -> Option<()> {
        let own = self.acting?.process;
        let signal = Signal::new(u64::from(low_u32(number)))?;
        let to = self.threads.get(self.numbers.thread(pid)?)?.process;
        let from = self.processes.get(own)?;
        let user = from.credentials.user;
        if own != to && self.processes.get(to)?.credentials.user.real != user.effective {
            return None;
        }
        let info = Info::user(signal, code::SI_USER, from.pid.0, user.real);
        self.send_to_handler(Target::Process(to), signal, &info)
    }

    /// A signal of a number, from the acting process.
    fn callers_signal(&self, number: u64, code: i32) -> Result<Sent, Errno> {
        let number = u64::from(low_u32(number));
        let Some(signal) = Signal::new(number) else {
            return if number == 0 { Ok(None) } else { Err(Errno::EINVAL) };
        };
        let process = self.process()?;
        Ok(Some((signal, Info::user(signal, code, process.pid.0, process.credentials.user.real))))
    }

    /// Reads a siginfo of a program; the number in it does not count.
    fn programs_signal(&mut self, number: u64, address: u64) -> Result<Given, Errno> {
        let pointer = UserPtr::<[u64; 16]>::new(address)?;
        let mut view = self.view()?;
        let mut words: [u64; 6] = view.read(UserPtr::new(pointer.address())?)?;
        let code = low_i32(words[1]);
        // Codes whose meaning Linux knows leave the rest unseen; with others it must be zero.
        let known = matches!(code, -7..=0 | 1..=15 | code::SI_KERNEL | -60);
        if !known {
            let mut rest = [0_u64; 10];
            let slice = UserSlice::new(pointer.address() + 48, 80)?;
            view.read_bytes(slice, zerocopy::IntoBytes::as_mut_bytes(&mut rest))?;
            if rest != [0; 10] {
                return Err(Errno::E2BIG);
            }
        }
        let [first, ..] = &mut words;
        *first = (*first >> 32 << 32) | u64::from(low_u32(number));
        Ok(Given { number, info: Info(words) })
    }

    fn kill_one(&mut self, pid: Pid, what: Result<Sent, Errno>) -> Result<(), Errno> {
        if pid == INIT {
            let allowed = self.process()?.credentials.can(Capability::Kill);
            // Signals to init do nothing.
            return what.and(if allowed { Ok(()) } else { Err(Errno::EPERM) });
        }
        let process = self.find_process(pid)?;
        self.send_if_allowed(Target::Process(process), process, what?)
    }

    /// tkill and tgkill, whoever it is.
    #[inline(never)]
    fn signal_thread(&mut self, group: Option<i32>, tid: i32, number: u64) -> Result<Flow, Errno> {
        let what = self.callers_signal(number, code::SI_TKILL);
        if group.is_some_and(|group| group <= 0) {
            return Err(Errno::EINVAL);
        }
        let done = self.kill_thread(group.map(|group| Pid(group.unsigned_abs())), tid, what);
        finish(self, done)
    }

    fn kill_thread(&mut self, group: Option<Pid>, tid: i32, what: Result<Sent, Errno>) -> Result<(), Errno> {
        if tid <= 0 {
            return Err(Errno::EINVAL);
        }
        let tid = Pid(tid.unsigned_abs());
        let process = self.find_process(tid)?;
        if group.is_some_and(|group| self.processes.get(process).is_none_or(|record| record.pid != group)) {
            return Err(Errno::ESRCH);
        }
        let target = match self.numbers.owner(tid) {
            Owner::Thread(thread) => Target::Thread(thread),
            // A first thread that has ended hears nothing, but is there.
            Owner::Process(_) | Owner::Nobody => {
                let asks = what?.filter(|_| false);
                return self.send_if_allowed(Target::Process(process), process, asks);
            }
        };
        self.send_if_allowed(target, process, what?)
    }

    /// To every process but init and the caller.
    fn kill_all(&mut self, own: Pid, what: Sent) -> Result<(), Errno> {
        let others: Vec<_> = self
            .processes
            .iter()
            .filter(|(_, record)| record.pid != own)
            .map(|(process, _)| process)
            .collect();
        let mut result = Err(Errno::ESRCH);
        for process in others {
            // Linux: success unless the last error is another than EPERM.
            match self.send_if_allowed(Target::Process(process), process, what) {
                Err(Errno::EPERM) if result == Err(Errno::ESRCH) => result = Err(Errno::EPERM),
                Err(Errno::EPERM) => {}
                done => result = done,
            }
        }
        result
    }

    fn kill_group(&mut self, group: Pid, what: Result<Sent, Errno>) -> Result<(), Errno> {
        let mut result = Err(Errno::ESRCH);
        for process in self.members(group) {
            let done = what.and_then(|what| self.send_if_allowed(Target::Process(process), process, what));
            if result != Ok(()) {
                result = done;
            }
        }
        result
    }

    /// To every process of a group, as the kernel or a terminal does.
    pub fn send_to_group_from_kernel(&mut self, group: Pid, signal: Signal) {
        for process in self.members(group) {
            // It is no signal of sigqueue's, so that no limit refuses it.
            let _ = self.send_signal(Target::Process(process), signal, Info::new(signal, code::SI_KERNEL));
        }
    }

    fn members(&self, group: Pid) -> Vec<ProcessId> {
        let members = self.processes.iter().filter(|(_, record)| record.group == group);
        members.map(|(process, _)| process).collect()
    }

    /// Sends what a call says, if its caller may signal the process.
    fn send_if_allowed(&mut self, target: Target, process: ProcessId, what: Sent) -> Result<(), Errno> {
        let current = self.current()?;
        if current.process != process && !self.may_signal(process, what) {
            return Err(Errno::EPERM);
        }
        match what {
            Some((signal, info)) => self.send_signal(target, signal, info),
            None => Ok(()),
        }
    }

    /// Linux's kill_ok_by_cred, and SIGCONT within a session.
    fn may_signal(&self, process: ProcessId, what: Sent) -> bool {
        let (Ok(own), Some(other)) = (self.process(), self.processes.get(process)) else { return false };
        let (from, to) = (&own.credentials, &other.credentials.user);
        let same =
            [from.user.effective, from.user.real].iter().any(|user| [to.saved, to.real].contains(user));
        let continues = what.is_some_and(|(signal, _)| signal == Signal::SIGCONT);
        same || from.can(Capability::Kill) || (continues && own.session == other.session)
    }
}
