//! Waiting in several queues at once: whichever is woken first ends the wait, and only once.

use super::cx::Cx;
use super::wait::{MOST, QueueId, Tag, WaiterId, Woken};
use crate::Errno;
use crate::host::{Host, Reserve};
use crate::server::Server;
use alloc::vec::Vec;
use core::fmt;
use core::task::Poll;

/// A wait in several queues; leaves them when it is dropped.
pub struct Waits<'a, H: Host> {
    cx: &'a Cx<H>,
    /// Its state is the wait's; it has the time-out.
    leader: WaiterId,
    members: Vec<WaiterId>,
}

impl<H: Host> Server<H> {
    /// Whether somebody may wait in so many queues at once.
    pub(crate) fn may_wait_in(&self, queues: usize) -> bool {
        // One queue or two, as most wait in, are never too many.
        queues <= 2 || self.waits.len() + queues <= MOST && self.host.reserve() >= Reserve::Scarce
    }
}

impl<'a, H: Host> Waits<'a, H> {
    /// Enters the queues now, in one step with the check that made it necessary.
    ///
    /// # Errors
    /// ENOMEM when all who wait would be too many.
    pub fn enter(
        cx: &'a Cx<H>,
        server: &mut Server<H>,
        queues: Vec<QueueId>,
        due_ns: Option<u64>,
    ) -> Result<Self, Errno> {
        if !server.may_wait_in(queues.len()) {
            return Err(Errno::ENOMEM);
        }
        let leader = server.waits.wait(cx.thread, None, Tag::default(), due_ns);
        let members = queues.into_iter().map(|queue| server.waits.join(leader, queue)).collect();
        Ok(Self { cx, leader, members })
    }

    /// Waits.
    ///
    /// # Errors
    /// ERESTARTSYS when a signal ended the call.
    pub async fn woken(&self) -> Result<Woken, Errno> {
        core::future::poll_fn(|_| {
            let outcome = self.cx.with(|server| {
                if let Some(woken) = server.waits.outcome(self.leader) {
                    return Poll::Ready(Ok(woken));
                }
                let call = server.threads.get(self.cx.thread).and_then(|thread| thread.call);
                if call.is_some_and(|call| call.cancelled) {
                    Poll::Ready(Err(Errno::ERESTARTSYS))
                } else {
                    Poll::Pending
                }
            });
            outcome.unwrap_or_else(|error| Poll::Ready(Err(error)))
        })
        .await
    }
}

impl<H: Host> Drop for Waits<'_, H> {
    fn drop(&mut self) {
        // A server that is being taken down has no queues to leave.
        let _ = self.cx.with(|server| {
            for waiter in self.members.drain(..).chain([self.leader]) {
                server.waits.leave(waiter);
            }
        });
    }
}

impl<H: Host> fmt::Debug for Waits<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waits").field("leader", &self.leader).finish_non_exhaustive()
    }
}
