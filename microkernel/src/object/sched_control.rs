//! SchedControl: the right to say how much of a core's time a scheduling context may use.

use abi::{Error, Method};

use crate::arch::{CoreId, Machine};
use crate::capability::cap::Cap;
use crate::failure::Failure;
use crate::kernel::Kernel;
use crate::object::sched_context;
use crate::object::thread::home_word;
use crate::syscall::invoke::{Answer, Arguments, Target};

/// The smallest budget: less would be gone before its thread had left the kernel twice.
pub const MIN_BUDGET_NS: u64 = 20_000;
/// The longest period, an hour.
pub const MAX_PERIOD_NS: u64 = 3_600 * NS_PER_SECOND;
const NS_PER_SECOND: u64 = 1_000_000_000;

/// Methods of a SchedControl.
///
/// # Errors
///
/// As the table says.
pub fn invoke<M: Machine>(
    k: &mut Kernel<M>,
    target: &Target,
    method: Method,
    arguments: &Arguments,
) -> Result<Answer, Failure> {
    let (Cap::SchedControl(core), Method::SchedControlConfigure) = (target.cap, method) else {
        return Err(Error::IllegalOperation.into());
    };
    configure(k, core, arguments)
}

fn configure<M: Machine>(k: &Kernel<M>, core: CoreId, arguments: &Arguments) -> Result<Answer, Failure> {
    let Cap::SchedContext(context) = k.get(arguments.cap_slot(0)?).cap() else {
        return Err(Failure::about(Error::InvalidCapability, 0, 0));
    };
    let (budget_ns, period_ns) = (arguments.word(0), arguments.word(1));
    if period_ns > MAX_PERIOD_NS {
        return Err(arguments.refuse_word(1, Error::RangeError, MAX_PERIOD_NS));
    }
    if budget_ns < MIN_BUDGET_NS {
        return Err(arguments.refuse_word(0, Error::RangeError, MIN_BUDGET_NS));
    }
    if budget_ns > period_ns {
        return Err(arguments.refuse_word(0, Error::RangeError, period_ns));
    }
    if arguments.word(2) != 0 {
        return Err(arguments.refuse_word(2, Error::NotImplemented, 0));
    }
    let ticks = |ns| in_ticks(ns, k.machine.ticks_per_second());
    sched_context::configure(k, context, ticks(budget_ns), ticks(period_ns), arguments.word(3));
    k.get(context).home.set(home_word(core));
    Ok(Answer::default())
}

/// A length of time in ticks, at least one; exact for clocks up to 18 GHz.
fn in_ticks(ns: u64, ticks_per_second: u64) -> u64 {
    let whole = ns / NS_PER_SECOND * ticks_per_second;
    let rest = ns % NS_PER_SECOND * ticks_per_second / NS_PER_SECOND;
    (whole + rest).max(1)
}
