//! What runs when: hosted threads, the futures of their waiting calls, queues, time-outs.
//!
//! A thread is entered, or waits in a call. A waiting call is an `async fn` in the thread's [`task`]; it waits
//! in a [`wait`] queue or for a time. Waking puts the thread into the [`run_queue`]; when its turn comes its
//! task is polled, with the thread current, and when the call is done the thread is entered with the result. A call
//! that has done nothing yet waits without a task ([`parked`]).

pub mod cx;
pub mod parked;
pub mod run_queue;
pub mod task;
pub mod timers;
pub mod wait;
pub mod waits;

#[cfg(test)]
mod tests;
