//! A thread's task: one future for all its waiting calls, one after the other.
//!
//! It is allocated once for each number in the table of threads and used again by every thread that gets the
//! number. The compiler lays the states of all waiting calls over each other in it, so that a call that waits
//! allocates nothing and a poll neither. A signal ends a call by the result of its waits, so that what it had
//! done by then is its result; a thread's end drops the task.

use super::cx::{Cx, Place};
use crate::dispatch;
use crate::host::Host;
use crate::process::ThreadId;
use alloc::boxed::Box;
use alloc::rc::Rc;
use core::convert::Infallible;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Waker};

/// The future of a thread's waiting calls.
pub struct Task(Pin<Box<dyn Future<Output = Infallible>>>);

impl Task {
    /// The task of a thread number.
    pub fn new<H: Host>(place: &Place<H>, thread: ThreadId) -> Self {
        Self(Box::pin(serve(Cx::new(Rc::clone(place), thread))))
    }

    /// Lets it go on; the server must lie in its place and the thread be current.
    pub fn poll(&mut self) {
        // Readiness is kept in the wait queues, so that no waker is ever called.
        let _ = self.0.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Task")
    }
}

async fn serve<H: Host>(cx: Cx<H>) -> Infallible {
    loop {
        let call = cx.next_call().await;
        let result = dispatch::wait(&cx, call.number, call.arguments).await;
        cx.finish(result);
    }
}
