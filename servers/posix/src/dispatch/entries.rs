//! The array that the trampoline indexes by `$a7`.
//!
//! An entry is an `extern "C"` function that takes `$a0` to `$a5` as the program left them, the server in
//! `$a6` and the number in `$a7`, and returns result and [`Next`] in `$a0` and `$a1`: the trampoline moves
//! nothing. What cannot be answered at once is not on the short way: it goes through [`Posix::begin`].

use super::admission::{admission, admit};
use super::{Arguments, Flow, strace};
use crate::Errno;
use crate::for_each_linux_call;
use crate::host::Host;
use crate::number::to_usize;
use crate::process::schedule::Posix;
use crate::signal::Attention;

/// Entries of the array; numbers beyond are [`unknown`] too.
pub const LENGTH: usize = 512;

/// An entry.
pub type Entry<H> = extern "C" fn(u64, u64, u64, u64, u64, u64, &mut Posix<H>, u64) -> Answer;

/// What an entry returns in `$a0` and `$a1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Answer {
    /// What the program finds in `$a0`, when it goes on.
    pub value: u64,
    /// 0: the program goes on at once. 1: the rest of its registers go to its context, then [`Posix::schedule`]
    /// says who runs; the result reaches the context through the host. 2: as 1, but the thread is no more or
    /// its registers were replaced, so that nothing is stored. 3: as 1, but [`Posix::signalled`] says it, of the
    /// value. 4: as 2, but [`Posix::replaced`] does. 6: nothing is stored, and the current context is entered in
    /// full with the value as flags.
    pub next: u64,
}

impl Answer {
    /// The program goes on.
    pub const GOES_ON: u64 = 0;
    /// Its registers are to be kept, then somebody else runs.
    pub const SWITCH: u64 = 1;
    /// Its registers are not to be kept.
    pub const FORGET: u64 = 2;
    /// They are to be kept, then it goes on with the value after what is due to it.
    pub const SIGNALS: u64 = 3;
    /// It goes on with the registers that are in its context.
    pub const REPLACED: u64 = 4;
    /// The same, and everything that was due to it has been seen to.
    pub const ENTER: u64 = 6;

    const fn now(value: u64) -> Self {
        Self { value, next: Self::GOES_ON }
    }
}

/// What handlers return, made into one.
pub trait IntoFlow {
    /// Whether it is a result or an error at once, which no signal makes another one: never one of
    /// [`Errno::is_restart`].
    const PLAIN: bool;
    /// Result or error, and what becomes of the thread.
    fn into_flow(self) -> Result<Flow, Errno>;
}

impl IntoFlow for Result<Flow, Errno> {
    const PLAIN: bool = false;

    #[inline]
    fn into_flow(self) -> Self {
        self
    }
}

impl IntoFlow for Result<u64, Errno> {
    const PLAIN: bool = true;

    #[inline]
    fn into_flow(self) -> Result<Flow, Errno> {
        self.map(Flow::Done)
    }
}

#[inline]
const fn is_plain<T: IntoFlow>(_: &T) -> bool {
    T::PLAIN
}

/// The arrays for one machine.
#[derive(Debug)]
pub struct Entries<H>(core::marker::PhantomData<H>);

macro_rules! define_entries {
    ($($name:ident = $number:literal, $way:ident, $handler:path $([wait: $wait:path])?, ($($rest:tt)*);)*) => {
        impl<H: Host> Entries<H> {
            /// Every number's entry.
            pub const QUIET: [Entry<H>; LENGTH] = {
                let mut entries = [unknown::<H> as Entry<H>; LENGTH];
                $(entries[$number] = {
                    extern "C" fn entry<H: Host>(a0: u64, a1: u64, a2: u64, a3: u64, a4: u64, a5: u64,
                        posix: &mut Posix<H>, _: u64) -> Answer
                    {
                        let arguments = Arguments::new([a0, a1, a2, a3, a4, a5]);
                        let Some(server) = posix.server() else { return no_server() };
                        let (plain, flow) = if const { admission($number).is_some() }
                            && let Err(refusal) = admit(&server.host, $number)
                        {
                            (true, Err(refusal))
                        } else {
                            let done = $handler(server, arguments);
                            // What has no async fn neither waits nor begins anew.
                            let waits = false $(|| !stringify!($wait).is_empty())?;
                            (!waits || is_plain(&done), done.into_flow())
                        };
                        if let Ok(Flow::Enter(flags)) = flow {
                            return Answer { value: flags, next: Answer::ENTER };
                        }
                        match flow {
                            Ok(Flow::Done(value)) if server.attention == Attention::Quiet => Answer::now(value),
                            Err(error) if server.attention == Attention::Quiet => Answer::now(error.to_result()),
                            Ok(Flow::Woke(value)) if server.attention == Attention::Quiet => woke(posix, value),
                            // A program's own signal, and its return from the handler.
                            Ok(Flow::Done(value)) if plain || Errno::restart(value).is_none() => signals(value),
                            Err(error) if plain => signals(error.to_result()),
                            Ok(Flow::Replaced) => Answer { value: 0, next: Answer::REPLACED },
                            Ok(Flow::Parked) => Answer { value: 0, next: Answer::SWITCH },
                            other => {
                                let (outcome, value) = Outcome::of(other);
                                let outcome = outcome.with($number);
                                if plain {
                                    // Nobody looks at the arguments any more.
                                    return leave_by_registers(0, 0, 0, 0, 0, 0, posix, outcome, value);
                                }
                                leave_by_registers(a0, a1, a2, a3, a4, a5, posix, outcome, value)
                            }
                        }
                    }
                    entry::<H>
                };)*
                entries
            };
        }

        /// The handler of a number, as one function: for `--strace` and for tests.
        ///
        /// # Errors
        /// Those of the call; ENOSYS for a number that has none.
        pub fn handle<H: Host>(
            server: &mut crate::server::Server<H>,
            number: u64,
            arguments: Arguments,
        ) -> Result<Flow, Errno> {
            admit(&server.host, number)?;
            match number {
                $($number => $handler(server, arguments).into_flow(),)*
                _ => {
                    count(server, number);
                    Err(Errno::ENOSYS)
                }
            }
        }
    };
}

for_each_linux_call!(define_entries);

impl<H: Host> Entries<H> {
    /// Every number's entry when calls are printed.
    pub const TRACED: [Entry<H>; LENGTH] = [traced::<H> as Entry<H>; LENGTH];
}

/// Answers any call by its number, whatever that is: the slow way to every entry.
pub fn call<H: Host>(posix: &mut Posix<H>, number: u64, arguments: Arguments) -> Answer {
    let entry = Entries::<H>::QUIET.get(to_usize(number)).copied().unwrap_or(unknown);
    let [a0, a1, a2, a3, a4, a5] = arguments.words();
    entry(a0, a1, a2, a3, a4, a5, posix, number)
}

/// The entry of every number that has no handler.
pub extern "C" fn unknown<H: Host>(
    _: u64,
    _: u64,
    _: u64,
    _: u64,
    _: u64,
    _: u64,
    posix: &mut Posix<H>,
    number: u64,
) -> Answer {
    if let Some(server) = posix.server() {
        count(server, number);
    }
    Answer::now(Errno::ENOSYS.to_result())
}

extern "C" fn traced<H: Host>(
    a0: u64,
    a1: u64,
    a2: u64,
    a3: u64,
    a4: u64,
    a5: u64,
    posix: &mut Posix<H>,
    number: u64,
) -> Answer {
    let arguments = Arguments::new([a0, a1, a2, a3, a4, a5]);
    let Some(server) = posix.server() else { return no_server() };
    let text = strace::called(server, number, arguments);
    let flow = handle(server, number, arguments);
    let answer = leave(posix, number, arguments, flow);
    if let Some(server) = posix.server() {
        strace::returned(server, &text, answer);
    }
    answer
}

/// [`Flow`] without its value: it travels in a register, so that an entry whose handler needs no stack has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
enum Outcome {
    Done,
    Woke,
    Wait,
    Yield,
    Replaced,
    Gone,
    Parked,
    Enter,
}

impl Outcome {
    const ALL: [Self; 8] = [
        Self::Done,
        Self::Woke,
        Self::Wait,
        Self::Yield,
        Self::Replaced,
        Self::Gone,
        Self::Parked,
        Self::Enter,
    ];

    #[inline]
    fn of(flow: Result<Flow, Errno>) -> (Self, u64) {
        match flow {
            Err(error) => (Self::Done, error.to_result()),
            Ok(Flow::Done(value)) => (Self::Done, value),
            Ok(Flow::Woke(value)) => (Self::Woke, value),
            Ok(Flow::Wait) => (Self::Wait, 0),
            Ok(Flow::Yield) => (Self::Yield, 0),
            Ok(Flow::Replaced) => (Self::Replaced, 0),
            Ok(Flow::Gone) => (Self::Gone, 0),
            Ok(Flow::Parked) => (Self::Parked, 0),
            Ok(Flow::Enter(flags)) => (Self::Enter, flags),
        }
    }

    /// Together with a call's number.
    const fn with(self, number: u64) -> u64 {
        number << 3 | self as u64
    }

    /// Both again.
    fn apart(both: u64, value: u64) -> (u64, Flow) {
        let flow = match Self::ALL.get(to_usize(both & 7)) {
            Some(Self::Done) => Flow::Done(value),
            Some(Self::Woke) => Flow::Woke(value),
            Some(Self::Wait) => Flow::Wait,
            Some(Self::Yield) => Flow::Yield,
            Some(Self::Replaced) => Flow::Replaced,
            Some(Self::Parked) => Flow::Parked,
            Some(Self::Enter) => Flow::Enter(value),
            Some(Self::Gone) | None => Flow::Gone,
        };
        (both >> 3, flow)
    }
}

/// A call's end that made others ready.
#[inline(never)]
extern "C" fn woke<H: Host>(posix: &mut Posix<H>, value: u64) -> Answer {
    if let Some(server) = posix.server() {
        server.arm_tick();
    }
    Answer::now(value)
}

/// A call's end at which a signal may be due: out of the way of all others.
#[cold]
#[inline(never)]
const extern "C" fn signals(value: u64) -> Answer {
    Answer { value, next: Answer::SIGNALS }
}

/// [`leave`], everything in registers.
#[cold]
#[inline(never)]
extern "C" fn leave_by_registers<H: Host>(
    a0: u64,
    a1: u64,
    a2: u64,
    a3: u64,
    a4: u64,
    a5: u64,
    posix: &mut Posix<H>,
    outcome: u64,
    value: u64,
) -> Answer {
    let (number, flow) = Outcome::apart(outcome, value);
    leave(posix, number, Arguments::new([a0, a1, a2, a3, a4, a5]), Ok(flow))
}

/// What is rarer than a result.
#[cold]
fn leave<H: Host>(
    posix: &mut Posix<H>,
    number: u64,
    arguments: Arguments,
    flow: Result<Flow, Errno>,
) -> Answer {
    let due = posix.server().is_some_and(|server| server.attention == Attention::Due);
    let flow = flow.unwrap_or_else(|error| Flow::Done(error.to_result()));
    match flow {
        Flow::Done(value) | Flow::Woke(value) if due => {
            let still = posix.attend(number, arguments, value);
            Answer { value: 0, next: if still { Answer::SWITCH } else { Answer::FORGET } }
        }
        Flow::Done(value) => Answer::now(value),
        Flow::Woke(value) => woke(posix, value),
        Flow::Wait => match posix.begin(number, arguments) {
            Some(value) => Answer::now(value),
            None => Answer { value: 0, next: Answer::SWITCH },
        },
        Flow::Yield => {
            posix.give_way();
            Answer { value: 0, next: Answer::SWITCH }
        }
        Flow::Replaced => {
            posix.go_on();
            Answer { value: 0, next: Answer::FORGET }
        }
        Flow::Parked => Answer { value: 0, next: Answer::SWITCH },
        Flow::Enter(flags) => Answer { value: flags, next: Answer::ENTER },
        Flow::Gone => Answer { value: 0, next: Answer::FORGET },
    }
}

fn count<H: Host>(server: &mut crate::server::Server<H>, number: u64) {
    if server.unknown.count(number) == super::First::Yes {
        let name = super::names::name(number).unwrap_or("?");
        server.host.log(&alloc::format!("posix: no system call {number} ({name}) here: ENOSYS"));
    }
}

/// The server is away only while a task is polled, and no program runs then.
#[cold]
const fn no_server() -> Answer {
    Answer { value: 0, next: Answer::FORGET }
}
