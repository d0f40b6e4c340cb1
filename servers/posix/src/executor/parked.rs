//! Calls that wait without a task.
//!
//! A waiting call's `async fn` keeps what the call has done so far. One that has done nothing has nothing to keep: it
//! is noted what it waits for, and when its queue moves it is made again, at once for as long as it takes. A signal
//! ends it as it ends every wait.
//!
//! Invariant: a thread that has a [`Parked`] has a call that is not done.

use super::cx::Call;
use super::wait::{QueueId, Tag, WaiterId};
use crate::Errno;
use crate::dispatch::{Arguments, Flow};
use crate::file::descriptor::OpenId;
use crate::host::Host;
use crate::process::{Signal, Thread, ThreadId};
use crate::server::Server;
use crate::signal::Attention;

/// What a parked call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parked {
    /// Something to read. The open file is held, whatever becomes of its descriptors.
    Read(OpenId),
    /// A signal, and nothing else.
    Signal,
}

/// What became of a thread that had its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retried {
    /// Its call is not parked: its task has to go on.
    Task,
    /// It goes on to wait.
    Waits,
    /// Its call is done.
    Done,
    /// Its call is done because a signal is there.
    Signal,
}

impl Thread {
    /// Notes what its call, which has done nothing yet, waits for.
    #[inline]
    pub(crate) const fn park(&mut self, parked: Parked, number: u64, arguments: Arguments) {
        self.call = Some(Call { number, arguments, done: false, result: 0, cancelled: false });
        self.parked = Some(parked);
    }
}

impl<H: Host> Server<H> {
    /// Parks the acting thread's read, of which nothing is there now.
    ///
    /// # Errors
    /// None for an acting thread.
    pub(crate) fn park_read(
        &mut self,
        open: OpenId,
        queue: QueueId,
        number: u64,
        arguments: Arguments,
    ) -> Result<Flow, Errno> {
        let thread = self.current()?.thread;
        if self.attention != Attention::Quiet {
            return Ok(Flow::Wait);
        }
        self.hold_open(open);
        match self.threads.get(thread).and_then(|record| record.waiter) {
            Some(waiter) => self.waits.wait_again(waiter, queue),
            None => {
                let waiter = self.waits.wait(thread, Some(queue), Tag::default(), None);
                self.thread_mut()?.waiter = Some(waiter);
            }
        }
        self.park(Parked::Read(open), number, arguments)
    }

    /// Parks the acting thread until a signal comes.
    ///
    /// # Errors
    /// None for an acting thread.
    #[inline]
    pub(crate) fn park_for_signal(&mut self, number: u64, arguments: Arguments) -> Result<Flow, Errno> {
        let thread = self.current()?.thread;
        if self.deliverable(thread) != 0 {
            return Ok(Flow::Wait);
        }
        self.park(Parked::Signal, number, arguments)
    }

    #[inline]
    fn park(&mut self, parked: Parked, number: u64, arguments: Arguments) -> Result<Flow, Errno> {
        self.thread_mut()?.park(parked, number, arguments);
        Ok(Flow::Parked)
    }

    /// Lets a thread's parked call, if it has one, come to its end; the thread is current.
    pub(crate) fn retry(&mut self, thread: ThreadId) -> Retried {
        let Some(record) = self.threads.get_mut(thread) else { return Retried::Waits };
        let (Some(parked), Some(call)) = (record.parked, &record.call) else { return Retried::Task };
        let (arguments, waiter) = (call.arguments, record.waiter);
        let result = match parked {
            Parked::Signal if self.is_cancelled(thread) => Err(Errno::ERESTARTNOHAND),
            Parked::Signal => return Retried::Waits,
            Parked::Read(open) => {
                // What happened before the signal counts: a reader that was woken finds its data.
                let woken = waiter.is_some_and(|waiter| self.waits.outcome(waiter).is_some());
                let read =
                    if woken { crate::file::transfer::read_parked(self, open, arguments) } else { Ok(None) };
                match read {
                    Ok(Some(done)) => Ok(done),
                    Ok(None) if self.is_cancelled(thread) => Err(Errno::ERESTARTSYS),
                    Ok(None) if !woken => return Retried::Waits,
                    Ok(None) => {
                        self.read_again(open, waiter);
                        return Retried::Waits;
                    }
                    Err(error) => Err(error),
                }
            }
        };
        self.unpark(parked, waiter);
        if let Some(record) = self.threads.get_mut(thread)
            && let Some(call) = &mut record.call
        {
            call.done = true;
            call.result = result.unwrap_or_else(Errno::to_result);
            record.parked = None;
        }
        if parked == Parked::Signal { Retried::Signal } else { Retried::Done }
    }

    /// Whether a signal ends the call.
    #[inline]
    fn is_cancelled(&mut self, thread: ThreadId) -> bool {
        if self.hears_one(thread) {
            return true;
        }
        self.end_waits(thread);
        self.threads.get(thread).and_then(|record| record.call.as_ref()).is_some_and(|call| call.cancelled)
    }

    /// Whether one signal alone is there for a thread, which has a handler: the usual one.
    #[inline]
    fn hears_one(&self, thread: ThreadId) -> bool {
        let Some(record) = self.threads.get(thread) else { return false };
        let Some(owner) = self.processes.get(record.process) else { return false };
        let open = (record.signals.pending.set() | owner.signals.pending.set()) & !record.mask;
        open & open.wrapping_sub(1) == 0
            && record.vforked.is_none()
            && Signal::lowest(open).is_some_and(|signal| !owner.signals.actions.get(signal).ignores(signal))
    }

    /// Somebody else was faster: the thread goes to the end of the queue.
    fn read_again(&mut self, open: OpenId, waiter: Option<WaiterId>) {
        if let Some(queue) = crate::file::transfer::read_queue(self, open)
            && let Some(waiter) = waiter
        {
            self.waits.wait_again(waiter, queue);
        }
    }

    /// Gives back what a parked call had: it is done, or its thread is no more.
    pub(crate) fn unpark(&mut self, parked: Parked, waiter: Option<WaiterId>) {
        if let Parked::Read(open) = parked {
            if let Some(waiter) = waiter {
                self.waits.withdraw(waiter);
            }
            self.release_open(open);
        }
    }
}
