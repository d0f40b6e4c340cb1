//! Letting time pass: a host and its programs run below the director, so they run while it waits.

use abi::CPtr;
use runtime::InvocationError;
use runtime::stubs::{Notification, yield_now};
use runtime::thread::Time;

use crate::kit::assistant::Role;
use crate::kit::failure::{Failure, Outcome};
use crate::kit::stage::{NOTHING, Stage};

/// Naps after which what was waited for does not come.
const MOST_NAPS: u32 = 2000;

/// Lets everything below the director run for a while: a thread above it gives its time up once, and wakes the
/// director when it has some again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nap {
    begin: Notification,
    over: Notification,
}

impl Nap {
    /// A nap of a millisecond or so.
    pub(crate) fn new(stage: &mut Stage) -> Result<Self, InvocationError> {
        extern "C" fn wake(begin: u64, over: u64, _: u64, _: u64) -> ! {
            loop {
                let _ = Notification(CPtr(begin)).wait();
                yield_now();
                let _ = Notification(CPtr(over)).signal();
            }
        }
        let (begin, over) = (stage.notification()?, stage.notification()?);
        // On a busy machine its budget may end before it waits again: then the stage is swept under it, and nobody
        // needs to hear of that.
        let time = Time { budget_ns: 200_000, period_ns: 1_000_000 };
        stage.start(
            Role::ABOVE.above(20).with_time(time).with_handler(NOTHING),
            wake,
            [begin.0.0, over.0.0, 0, 0],
        )?;
        Ok(Self { begin, over })
    }

    /// Takes it.
    pub(crate) fn take(self) -> Result<(), InvocationError> {
        self.begin.signal()?;
        self.over.wait().map(drop)
    }

    /// Takes naps until something holds: on a machine that is busy, those below get little of one.
    pub(crate) fn until(self, what: &str, holds: impl Fn() -> bool) -> Outcome {
        for _ in 0..MOST_NAPS {
            self.take()?;
            if holds() {
                return Ok(());
            }
        }
        Err(Failure::new(format_args!("not in time: {what}")))
    }
}
