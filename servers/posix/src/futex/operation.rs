//! futex(2).

use super::{EVERY_BIT, Key, Scope};
use crate::Errno;
use crate::dispatch::{Arguments, Flow};
use crate::executor::cx::Cx;
use crate::executor::wait::{Tag, Woken};
use crate::host::Host;
use crate::number::{low_i32, low_u32};
use crate::server::Server;
use crate::time::clock::{ClockId, Timespec};
use crate::user::UserPtr;

const WAIT: u32 = 0;
const WAKE: u32 = 1;
const REQUEUE: u32 = 3;
const CMP_REQUEUE: u32 = 4;
const WAKE_OP: u32 = 5;
const WAIT_BITSET: u32 = 9;
const WAKE_BITSET: u32 = 10;
const PRIVATE: u32 = 128;
const REALTIME: u32 = 256;

/// The arguments as the operation reads them.
#[derive(Clone, Copy, Debug)]
struct Request {
    command: u32,
    scope: Scope,
    clock: ClockId,
    value: u32,
    bits: u32,
}

impl Request {
    fn decode(arguments: Arguments) -> Result<Self, Errno> {
        let operation = low_u32(arguments.word(1));
        let command = operation & !(PRIVATE | REALTIME);
        let realtime = operation & REALTIME != 0;
        if realtime && command != WAIT_BITSET {
            return Err(Errno::ENOSYS);
        }
        let scope = if operation & PRIVATE != 0 { Scope::Private } else { Scope::Shared };
        let clock = if realtime { ClockId::Realtime } else { ClockId::Monotonic };
        let bits = match command {
            WAIT_BITSET | WAKE_BITSET => low_u32(arguments.word(5)),
            _ => EVERY_BIT,
        };
        Ok(Self { command, scope, clock, value: low_u32(arguments.word(2)), bits })
    }

    /// When a wait ends by itself.
    fn deadline<H: Host>(&self, server: &mut Server<H>, arguments: Arguments) -> Result<Option<u64>, Errno> {
        let Some(pointer) = UserPtr::<Timespec>::optional(arguments.word(3))? else { return Ok(None) };
        let time = server.view()?.read(pointer)?.nanoseconds()?;
        let due = match self.command {
            WAIT => server.host.monotonic_ns().saturating_add(time),
            _ => server.monotonic_of(self.clock, time),
        };
        Ok(Some(due))
    }
}

/// futex(2), as far as it need not wait.
pub fn futex<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let request = Request::decode(arguments)?;
    match request.command {
        WAIT | WAIT_BITSET => {
            request.deadline(server, arguments)?;
            // The usual loser of a race is answered here.
            check_word(server, arguments, &request).map(|_| Flow::Wait)
        }
        WAKE | WAKE_BITSET => {
            let key = key(server, arguments.word(0), request.scope)?;
            if request.bits == 0 {
                return Err(Errno::EINVAL);
            }
            server.wake_key(key, at_least_one(request.value), request.bits).map(Flow::Woke)
        }
        REQUEUE | CMP_REQUEUE => requeue(server, arguments, &request).map(Flow::Woke),
        WAKE_OP => wake_operation(server, arguments, &request).map(Flow::Woke),
        // Priority inheritance and futex descriptors are not there.
        _ => Err(Errno::ENOSYS),
    }
}

/// FUTEX_WAIT and FUTEX_WAIT_BITSET.
pub async fn futex_waiting<H: Host>(cx: &Cx<H>, arguments: Arguments) -> Result<u64, Errno> {
    let request = Request::decode(arguments)?;
    let (due, key, queue) = cx.attempt(|server| {
        let due = request.deadline(server, arguments)?;
        let key = check_word(server, arguments, &request)?;
        Ok((due, key, server.futexes.queue(key)?))
    })?;
    // Nobody runs between the check and the wait: one core, one server.
    match cx.wait_tagged(Some(queue), Tag { key, bits: request.bits }, due).await {
        Ok(Woken::Event) => Ok(0),
        Ok(Woken::TimedOut) => Err(Errno::ETIMEDOUT),
        // One with a time-out goes on with the rest of it, which no handler lets it do.
        Err(error) if error.is_restart() && due.is_some() => Err(Errno::ERESTART_RESTARTBLOCK),
        Err(error) => Err(error),
    }
}

fn key<H: Host>(server: &mut Server<H>, address: u64, scope: Scope) -> Result<Key, Errno> {
    if !address.is_multiple_of(4) {
        return Err(Errno::EINVAL);
    }
    let space = server.current()?.space;
    server.futex_key(space, UserPtr::new(address)?, scope)
}

/// The word's key, if it holds the expected value.
fn check_word<H: Host>(
    server: &mut Server<H>,
    arguments: Arguments,
    request: &Request,
) -> Result<Key, Errno> {
    if request.bits == 0 {
        return Err(Errno::EINVAL);
    }
    let key = key(server, arguments.word(0), request.scope)?;
    let word = server.view()?.load_word(UserPtr::new(arguments.word(0))?)?;
    if word == request.value { Ok(key) } else { Err(Errno::EAGAIN) }
}

/// Linux wakes before it counts, so that "at most 0" wakes one.
fn at_least_one(count: u32) -> u32 {
    if count.cast_signed() < 1 { 1 } else { count }
}

fn requeue<H: Host>(server: &mut Server<H>, arguments: Arguments, request: &Request) -> Result<u64, Errno> {
    let (wake, move_on) = (low_i32(arguments.word(2)), low_i32(arguments.word(3)));
    if wake < 0 || move_on < 0 {
        return Err(Errno::EINVAL);
    }
    let from = key(server, arguments.word(0), request.scope)?;
    let to = key(server, arguments.word(4), request.scope)?;
    if request.command == CMP_REQUEUE {
        let word = server.view()?.load_word(UserPtr::new(arguments.word(0))?)?;
        if word != low_u32(arguments.word(5)) {
            return Err(Errno::EAGAIN);
        }
    }
    let mut done = if wake == 0 { 0 } else { server.wake_key(from, wake.cast_unsigned(), EVERY_BIT)? };
    let (source, target) = (server.futexes.queue(from)?, server.futexes.queue(to)?);
    let mut moved = 0;
    // A word requeued to itself would go round for ever.
    while from != to
        && moved < move_on
        && server.waits.requeue_where(source, target, to, |tag| tag.key == from)
    {
        moved += 1;
    }
    if request.command == CMP_REQUEUE {
        done += u64::from(moved.cast_unsigned());
    }
    Ok(done)
}

fn wake_operation<H: Host>(
    server: &mut Server<H>,
    arguments: Arguments,
    request: &Request,
) -> Result<u64, Errno> {
    let first = key(server, arguments.word(0), request.scope)?;
    let second = key(server, arguments.word(4), request.scope)?;
    let encoded = low_u32(arguments.word(5));
    let word = UserPtr::new(arguments.word(4))?;
    let mut view = server.view()?;
    let mut before = view.load_word(word)?;
    loop {
        let found = view.compare_exchange(word, before, changed(before, encoded)?)?;
        if found == before {
            break;
        }
        before = found;
    }
    let mut woken = server.wake_key(first, at_least_one(request.value), EVERY_BIT)?;
    if compares(before, encoded)? {
        woken += server.wake_key(second, at_least_one(low_u32(arguments.word(3))), EVERY_BIT)?;
    }
    Ok(woken)
}

/// Twelve bits as a signed number.
fn signed_12(bits: u32) -> i32 {
    (bits << 20).cast_signed() >> 20
}

fn changed(word: u32, encoded: u32) -> Result<u32, Errno> {
    let argument = signed_12(encoded >> 12);
    let argument = if encoded >> 31 != 0 { 1 << (argument & 31) } else { argument };
    let argument = argument.cast_unsigned();
    match (encoded >> 28) & 7 {
        0 => Ok(argument),
        1 => Ok(word.wrapping_add(argument)),
        2 => Ok(word | argument),
        3 => Ok(word & !argument),
        4 => Ok(word ^ argument),
        _ => Err(Errno::ENOSYS),
    }
}

fn compares(before: u32, encoded: u32) -> Result<bool, Errno> {
    let (before, argument) = (before.cast_signed(), signed_12(encoded));
    match (encoded >> 24) & 15 {
        0 => Ok(before == argument),
        1 => Ok(before != argument),
        2 => Ok(before < argument),
        3 => Ok(before <= argument),
        4 => Ok(before > argument),
        5 => Ok(before >= argument),
        _ => Err(Errno::ENOSYS),
    }
}
