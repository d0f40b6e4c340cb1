//! What threads hold off: rt_sigprocmask, rt_sigpending, rt_sigsuspend.

use super::Attention;
use super::action::SET_BYTES;
use super::number::NEVER;
use crate::Errno;
use crate::dispatch::{Arguments, Flow};
use crate::executor::cx::Cx;
use crate::executor::parked::Parked;
use crate::host::Host;
use crate::number::{low_u32, to_usize};
use crate::server::{Current, Server};
use crate::user::{UserPtr, UserSlice};

/// rt_sigsuspend's number.
const SIGSUSPEND: u64 = 133;
const BLOCK: u32 = 0;
const UNBLOCK: u32 = 1;
const SET: u32 = 2;

/// rt_sigprocmask(2).
#[inline(always)] // One function with its entry: registers are saved once.
pub fn rt_sigprocmask<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [how, new, old, bytes, ..] = arguments.words();
    if bytes != SET_BYTES {
        return Err(Errno::EINVAL);
    }
    let mut given = None;
    if new != 0 {
        let new = UserPtr::<u64>::new(new)?;
        if !new.address().is_multiple_of(8) {
            return sigprocmask_anyhow(server, how, new, old);
        }
        match server.host.load_double(new.address()) {
            Ok(mask) => given = Some(mask),
            Err(_) => return sigprocmask_anyhow(server, how, new, old),
        }
    }
    let Current { thread, process, .. } = server.current()?;
    let record = server.threads.get_mut(thread).ok_or(Errno::ESRCH)?;
    let before = record.mask;
    if let Some(given) = given {
        let after = changed(before, how, given)?;
        record.mask = after;
        let common = server.processes.get(process).map_or(0, |owner| owner.signals.pending.set());
        if (record.signals.pending.set() | common) & !after != 0 {
            server.attention = Attention::Due;
        }
    }
    if old != 0 {
        server.write_word(UserPtr::new(old)?, before)?;
    }
    Ok(0)
}

/// The same when the new mask's page is not there yet, or it lies askew.
#[cold]
#[inline(never)]
fn sigprocmask_anyhow<H: Host>(
    server: &mut Server<H>,
    how: u64,
    new: UserPtr<u64>,
    old: u64,
) -> Result<u64, Errno> {
    let given = server.view()?.read(new)?;
    let before = server.thread()?.mask;
    server.thread_mut()?.mask = changed(before, how, given)?;
    let thread = server.current()?.thread;
    server.recheck(thread);
    if old != 0 {
        server.write_word(UserPtr::new(old)?, before)?;
    }
    Ok(0)
}

#[inline]
const fn changed(before: u64, how: u64, given: u64) -> Result<u64, Errno> {
    match low_u32(how) {
        BLOCK => Ok(before | (given & !NEVER)),
        UNBLOCK => Ok(before & !given),
        SET => Ok(given & !NEVER),
        _ => Err(Errno::EINVAL),
    }
}

/// rt_sigpending(2).
pub fn rt_sigpending<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [to, bytes, ..] = arguments.words();
    if bytes > SET_BYTES {
        return Err(Errno::EINVAL);
    }
    let thread = server.thread()?;
    let pending = thread.signals.pending.set() | server.process()?.signals.pending.set();
    let shown = (pending & server.thread()?.mask).to_le_bytes();
    let shown = shown.get(..to_usize(bytes)).unwrap_or_default();
    server.view()?.write_bytes(shown, UserSlice::new(to, bytes)?)?;
    Ok(0)
}

/// rt_sigsuspend(2).
#[inline(always)] // One function with its entry: registers are saved once.
pub fn rt_sigsuspend<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let [mask, bytes, ..] = arguments.words();
    if bytes != SET_BYTES {
        return Err(Errno::EINVAL);
    }
    let mask = server.read_word(UserPtr::new(mask)?)?;
    let Current { thread, process, .. } = server.current()?;
    let record = server.threads.get_mut(thread).ok_or(Errno::ESRCH)?;
    let common = server.processes.get(process).map_or(0, |owner| owner.signals.pending.set());
    let mask = mask & !NEVER;
    if (record.signals.pending.set() | common) & !mask != 0 {
        // It is over before it begins, or something is to be forgotten first.
        server.borrow_mask(mask)?;
        return server.park_for_signal(SIGSUSPEND, arguments);
    }
    let before = core::mem::replace(&mut record.mask, mask);
    record.signals.saved_mask.get_or_insert(before);
    record.park(Parked::Signal, SIGSUSPEND, arguments);
    Ok(Flow::Parked)
}

/// rt_sigsuspend(2): until a handler has run.
pub async fn rt_sigsuspend_waiting<H: Host>(cx: &Cx<H>, _: Arguments) -> Result<u64, Errno> {
    // Nothing else ends it: it is in no queue.
    match cx.wait(None, None).await {
        Err(error) if !error.is_restart() => Err(error),
        _ => Err(Errno::ERESTARTNOHAND),
    }
}

impl<H: Host> Server<H> {
    /// Gives the acting thread another mask for the length of its call: of rt_sigsuspend, ppoll, pselect6. The
    /// old one comes back when the call ends: after the handlers of what ended it if its result is one of
    /// [`Errno::is_restart`], else before anything is delivered. It is for calls that go through their `async fn`.
    ///
    /// # Errors
    /// None for an acting thread.
    #[inline]
    pub fn borrow_mask(&mut self, mask: u64) -> Result<(), Errno> {
        let Current { thread, process, .. } = self.current()?;
        let record = self.threads.get_mut(thread).ok_or(Errno::ESRCH)?;
        let before = core::mem::replace(&mut record.mask, mask & !NEVER);
        record.signals.saved_mask.get_or_insert(before);
        let common = self.processes.get(process).map_or(0, |owner| owner.signals.pending.set());
        if (record.signals.pending.set() | common) & !record.mask != 0 {
            self.end_waits(thread);
        }
        Ok(())
    }
}
