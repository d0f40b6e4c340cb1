//! How an `async fn` of a waiting call reaches the server.
//!
//! Nothing may be borrowed across an await, and no reference to the server is kept in a future. While a task
//! is polled the server lies in a place that both sides know, [`Place`]; a future takes it out for as long as
//! a closure runs, and puts it back. That is two moves of one pointer.

use super::wait::{QueueId, Tag, WaiterId, Woken};
use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::process::ThreadId;
use crate::server::Server;
use alloc::boxed::Box;
use alloc::rc::Rc;
use core::cell::Cell;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

/// Where the server lies while a task is polled; empty at other times.
pub type Place<H> = Rc<Cell<Option<Box<Server<H>>>>>;

/// A waiting call's hold on its thread and the server.
pub struct Cx<H: Host> {
    place: Place<H>,
    /// The thread that made the call; it is current while its task is polled.
    pub thread: ThreadId,
}

impl<H: Host> Cx<H> {
    /// For a thread's task.
    pub fn new(place: Place<H>, thread: ThreadId) -> Self {
        Self { place, thread }
    }

    /// Runs a closure on the server.
    ///
    /// # Errors
    /// EINTR when the server is not there: the task is dropped while it is not polled, or closures are
    /// nested. Neither happens in a call that runs.
    pub fn with<R>(&self, change: impl FnOnce(&mut Server<H>) -> R) -> Result<R, Errno> {
        let mut server = self.place.take().ok_or(Errno::EINTR)?;
        let result = change(&mut server);
        self.place.set(Some(server));
        Ok(result)
    }

    /// Runs a closure that may fail on the server.
    ///
    /// # Errors
    /// The closure's, and as [`Cx::with`].
    pub fn attempt<R>(&self, change: impl FnOnce(&mut Server<H>) -> Result<R, Errno>) -> Result<R, Errno> {
        self.with(change)?
    }

    /// Waits in a queue, until a time if there is one.
    pub fn wait(&self, queue: Option<QueueId>, due_ns: Option<u64>) -> Wait<'_, H> {
        self.wait_tagged(queue, Tag::default(), due_ns)
    }

    /// Waits in a queue for wakers whom the tag concerns.
    pub fn wait_tagged(&self, queue: Option<QueueId>, tag: Tag, due_ns: Option<u64>) -> Wait<'_, H> {
        Wait { cx: self, queue, tag, due_ns, waiter: None }
    }

    /// The thread's next call that has to wait.
    pub(super) async fn next_call(&self) -> Call {
        core::future::poll_fn(|_| {
            let call =
                self.with(|server| server.threads.get_mut(self.thread)?.call.filter(|call| !call.done));
            call.ok().flatten().map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Ends the thread's call.
    pub(super) fn finish(&self, result: Result<u64, Errno>) {
        // Without the server there is nobody left to tell.
        let _ = self.with(|server| {
            if let Some(thread) = server.threads.get_mut(self.thread)
                && let Some(call) = &mut thread.call
            {
                call.done = true;
                call.result = result.unwrap_or_else(Errno::to_result);
            }
        });
    }
}

impl<H: Host> Clone for Cx<H> {
    fn clone(&self) -> Self {
        Self { place: Rc::clone(&self.place), thread: self.thread }
    }
}

impl<H: Host> fmt::Debug for Cx<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cx").field("thread", &self.thread).finish_non_exhaustive()
    }
}

/// A call that a thread waits in.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Its number.
    pub number: u64,
    /// Its arguments: also what a restart puts back.
    pub arguments: Arguments,
    /// Whether `result` counts.
    pub done: bool,
    /// What goes into `$a0`.
    pub result: u64,
    /// Whether a signal ends it: every wait in it gives ERESTARTSYS from now on.
    pub cancelled: bool,
}

impl Call {
    /// One that has ended, of which nothing but the result is to be known any more.
    pub(crate) fn ended(result: u64) -> Self {
        Self { number: u64::MAX, arguments: Arguments::default(), done: true, result, cancelled: false }
    }
}

/// A wait; leaves its queue when it is dropped.
#[must_use]
pub struct Wait<'a, H: Host> {
    cx: &'a Cx<H>,
    queue: Option<QueueId>,
    tag: Tag,
    due_ns: Option<u64>,
    waiter: Option<WaiterId>,
}

impl<H: Host> Wait<'_, H> {
    /// Enters the queue now, in one step with the check that made it necessary: inside `Cx::with`.
    pub fn enter(&mut self, server: &mut Server<H>) {
        if self.waiter.is_none() {
            self.waiter = Some(server.waits.wait(self.cx.thread, self.queue, self.tag, self.due_ns));
        }
    }
}

impl<H: Host> Future for Wait<'_, H> {
    type Output = Result<Woken, Errno>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let cx = self.cx;
        let outcome = cx.with(|server| {
            self.enter(server);
            // What happened before the signal counts: a reader that was woken finds its data.
            if let Some(woken) = self.waiter.and_then(|waiter| server.waits.outcome(waiter)) {
                return Poll::Ready(Ok(woken));
            }
            let call = server.threads.get(cx.thread).and_then(|thread| thread.call);
            if call.is_some_and(|call| call.cancelled) {
                Poll::Ready(Err(Errno::ERESTARTSYS))
            } else {
                Poll::Pending
            }
        });
        outcome.unwrap_or_else(|error| Poll::Ready(Err(error)))
    }
}

impl<H: Host> Drop for Wait<'_, H> {
    fn drop(&mut self) {
        if let Some(waiter) = self.waiter.take() {
            // A server that is being taken down has no queues to leave.
            let _ = self.cx.with(|server| server.waits.leave(waiter));
        }
    }
}

impl<H: Host> fmt::Debug for Wait<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait")
            .field("queue", &self.queue)
            .field("waiter", &self.waiter)
            .finish_non_exhaustive()
    }
}
