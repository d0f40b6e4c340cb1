//! Both halves of a measurement: the client's loop and the server's.

use core::hint::black_box;

use abi::CPtr;
use runtime::InvocationError;
use runtime::mark::{Label, stop};
use runtime::stubs::{Endpoint, Reply};

use crate::style::Style;

/// Which marks the two sides set: a number, since it is a parameter of the server's entry.
pub(crate) mod marks {
    /// The client starts, the server stops.
    pub(crate) const CALL: u8 = 0;
    /// The server starts, the client stops.
    pub(crate) const REPLY: u8 = 1;
    /// The client starts and stops.
    pub(crate) const ROUND_TRIP: u8 = 2;
}

/// Calls so often that nothing is new any more; no mark is set.
pub(crate) fn warm_up<S: Style<N>, const N: usize>(
    endpoint: Endpoint,
    times: u64,
) -> Result<u64, InvocationError> {
    repeat::<N>(times, |words| S::call(endpoint, words))
}

/// Calls with marks; answers how often the answer was what was sent.
#[inline(never)]
pub(crate) fn call_many<S: Style<N>, const N: usize, const MARKS: u8>(
    endpoint: Endpoint,
    label: Label,
    times: u64,
) -> Result<u64, InvocationError> {
    repeat::<N>(times, |words| {
        if MARKS != marks::REPLY {
            label.start();
        }
        let answer = S::call(endpoint, words);
        if MARKS != marks::CALL {
            stop();
        }
        answer
    })
}

#[inline(always)]
fn repeat<const N: usize>(
    times: u64,
    mut call: impl FnMut([u64; N]) -> Result<[u64; N], InvocationError>,
) -> Result<u64, InvocationError> {
    let mut right = 0;
    for time in 0..times {
        let words = core::array::from_fn(|_| black_box(time));
        right += u64::from(call(words)? == words);
    }
    Ok(right)
}

/// The server's thread: answers every call with what it brought, for ever. The first `quiet` answers set no mark.
pub(crate) extern "C" fn serve<S: Style<N>, const N: usize, const MARKS: u8>(
    endpoint: u64,
    reply: u64,
    label: u64,
    quiet: u64,
) -> ! {
    let (endpoint, reply, label) = (Endpoint(CPtr(endpoint)), Reply(CPtr(reply)), Label::from_raw(label));
    let first = endpoint.recv(reply).words;
    let mut words = core::array::from_fn(|index| first.get(index).copied().unwrap_or(0));
    for _ in 0..quiet {
        words = S::reply_recv(endpoint, reply, words);
    }
    loop {
        if MARKS == marks::REPLY {
            label.start();
        }
        words = S::reply_recv(endpoint, reply, words);
        if MARKS == marks::CALL {
            stop();
        }
    }
}
