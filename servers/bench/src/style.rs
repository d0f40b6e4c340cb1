//! The two ways to make a call: with the trap inlined, and through the runtime's typed methods.

use runtime::InvocationError;
use runtime::message::info;
use runtime::stubs::{Endpoint, Reply};
use runtime::trap::NO_WORDS;

/// A way to call and to serve with `N` words.
pub(crate) trait Style<const N: usize> {
    /// Sends words and waits for as many.
    fn call(endpoint: Endpoint, words: [u64; N]) -> Result<[u64; N], InvocationError>;
    /// Answers with words, and waits for the next.
    fn reply_recv(endpoint: Endpoint, reply: Reply, words: [u64; N]) -> [u64; N];
}

/// The trap itself, in the caller's loop.
pub(crate) struct Inlined;

/// What typed clients and servers call.
pub(crate) struct Methods;

impl<const N: usize> Style<N> for Inlined {
    #[inline(always)]
    fn call(endpoint: Endpoint, words: [u64; N]) -> Result<[u64; N], InvocationError> {
        let answer = endpoint.call_inline(info(0, N), pad(words));
        // A server answers; whether the kernel did is looked at all the same.
        let answer = answer.accepted()?;
        Ok(cut(answer.words))
    }

    #[inline(always)]
    fn reply_recv(endpoint: Endpoint, reply: Reply, words: [u64; N]) -> [u64; N] {
        cut(endpoint.reply_recv_inline(reply, info(0, N), pad(words)).words)
    }
}

impl<const N: usize> Style<N> for Methods {
    #[inline(always)]
    fn call(endpoint: Endpoint, words: [u64; N]) -> Result<[u64; N], InvocationError> {
        endpoint.call(0, words)
    }

    #[inline(always)]
    fn reply_recv(endpoint: Endpoint, reply: Reply, words: [u64; N]) -> [u64; N] {
        let (_, _, words) = endpoint.reply_recv(reply, 0, words);
        words
    }
}

#[inline(always)]
fn pad<const N: usize>(words: [u64; N]) -> [u64; 8] {
    let mut all = NO_WORDS;
    for (place, word) in all.iter_mut().zip(words) {
        *place = word;
    }
    all
}

#[inline(always)]
fn cut<const N: usize>(words: [u64; 8]) -> [u64; N] {
    let mut some = [0; N];
    for (place, word) in some.iter_mut().zip(words) {
        *place = word;
    }
    some
}
