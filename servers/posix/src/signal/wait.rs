//! rt_sigtimedwait: taking a signal instead of having it handled.

use super::action::SET_BYTES;
use super::info::Info;
use super::number::{NEVER, Signal};
use crate::Errno;
use crate::dispatch::{Arguments, Flow};
use crate::executor::cx::Cx;
use crate::host::Host;
use crate::process::ThreadId;
use crate::server::Server;
use crate::time::clock::Timespec;
use crate::user::UserPtr;
use core::future::Future;
use core::pin::pin;
use core::task::Poll;

/// The arguments as the call reads them.
#[derive(Clone, Copy, Debug)]
struct Request {
    signals: u64,
    timeout_ns: Option<u64>,
}

/// rt_sigtimedwait(2), as far as it need not wait.
pub fn rt_sigtimedwait<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let request = request(server, arguments)?;
    let thread = server.current()?.thread;
    match server.take_signal(thread, !request.signals) {
        Some(info) => finish(server, arguments, &info).map(Flow::Done),
        None if request.timeout_ns == Some(0) => Err(Errno::EAGAIN),
        None => Ok(Flow::Wait),
    }
}

/// rt_sigtimedwait(2) of a signal that was not sent yet.
pub async fn rt_sigtimedwait_waiting<H: Host>(cx: &Cx<H>, arguments: Arguments) -> Result<u64, Errno> {
    let (signals, due) = cx.attempt(|server| {
        let request = request(server, arguments)?;
        server.thread_mut()?.signals.awaited = request.signals;
        let now = server.host.monotonic_ns();
        Ok((request.signals, request.timeout_ns.map(|timeout| now.saturating_add(timeout))))
    })?;
    let mut wait = pin!(cx.wait(None, due));
    // A signal of the set comes before whatever else ends the wait.
    let outcome = core::future::poll_fn(|context| {
        let taken = cx.attempt(|server| Ok(server.take_signal(cx.thread, !signals)));
        match taken {
            Ok(Some(info)) => Poll::Ready(Ok(info)),
            Ok(None) => wait.as_mut().poll(context).map(|woken| match woken {
                Ok(_) => Err(Errno::EAGAIN),
                Err(_) => Err(Errno::EINTR),
            }),
            Err(error) => Poll::Ready(Err(error)),
        }
    })
    .await;
    cx.attempt(|server| {
        server.thread_mut()?.signals.awaited = 0;
        // What was awaited and came too late is looked at as any other.
        server.recheck(cx.thread);
        finish(server, arguments, &outcome?)
    })
}

fn request<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Request, Errno> {
    let [set, _, timeout, bytes, ..] = arguments.words();
    if bytes != SET_BYTES {
        return Err(Errno::EINVAL);
    }
    let signals = server.view()?.read(UserPtr::<u64>::new(set)?)? & !NEVER;
    let timeout_ns = match UserPtr::<Timespec>::optional(timeout)? {
        Some(pointer) => Some(server.view()?.read(pointer)?.nanoseconds()?),
        None => None,
    };
    Ok(Request { signals, timeout_ns })
}

fn finish<H: Host>(server: &mut Server<H>, arguments: Arguments, info: &Info) -> Result<u64, Errno> {
    if let Some(pointer) = UserPtr::<[u64; 16]>::optional(arguments.word(1))? {
        server.view()?.write(pointer, &info.whole())?;
    }
    Ok(info.signal().map_or(0, |signal| u64::from(signal.0)))
}

impl Info {
    /// All 128 bytes.
    pub fn whole(&self) -> [u64; 16] {
        let mut whole = [0; 16];
        for (place, word) in whole.iter_mut().zip(self.0) {
            *place = word;
        }
        whole
    }
}

impl<H: Host> Server<H> {
    /// Takes the first signal of a thread that `mask` leaves, its own before its process's.
    pub(crate) fn take_signal(&mut self, thread: ThreadId, mask: u64) -> Option<Info> {
        let record = self.threads.get_mut(thread)?;
        if let Some(signal) = record.signals.pending.next(mask) {
            return Some(record.signals.pending.take(signal));
        }
        let pending = &mut self.processes.get_mut(record.process)?.signals.pending;
        let signal: Signal = pending.next(mask)?;
        Some(pending.take(signal))
    }
}
