//! Debug: the log, the machine's power, and a look inside.

use core::fmt::Write as _;

use abi::{Error, Method};

use crate::arch::Machine;
use crate::capability::cap::Cap;
use crate::failure::Failure;
use crate::kernel::Kernel;
use crate::log::Log;
use crate::object::store::Ref;
use crate::object::thread::{Tcb, name};
use crate::scheduler::release_queue;
use crate::syscall::invoke::{Answer, Arguments, Target};

/// Lines that one DumpScheduler writes at most.
const MAX_LINES: usize = 64;

/// Methods of the Debug capability.
///
/// # Errors
///
/// As the table says.
pub fn invoke<M: Machine>(
    k: &mut Kernel<M>,
    _target: &Target,
    method: Method,
    arguments: &Arguments,
) -> Result<Answer, Failure> {
    match method {
        Method::DebugPutChar => {
            let byte = u8::try_from(arguments.word(0));
            k.machine.put_byte(
                byte.map_err(|_| arguments.refuse_word(0, Error::InvalidArgument, u8::MAX.into()))?,
            );
        }
        Method::DebugHalt => k.machine.power_off(),
        Method::DebugNameThread => {
            let Cap::Tcb(thread) = k.get(arguments.cap_slot(0)?).cap() else {
                return Err(Failure::about(Error::InvalidCapability, 0, 0));
            };
            for (index, word) in k.get(thread).name.iter().enumerate() {
                word.set(arguments.word(index));
            }
        }
        Method::DebugDumpScheduler => dump_scheduler(k),
        _ => return Err(Error::IllegalOperation.into()),
    }
    Ok(Answer::default())
}

/// Logs the current thread, those in the ready queue from the highest priority down, and those that wait
/// for a refill.
fn dump_scheduler<M: Machine>(k: &mut Kernel<M>) {
    let core = k.core();
    let mut threads = [None; MAX_LINES];
    let ready = core.ready.queues.iter().rev().flat_map(|queue| list(k, queue.head.get()));
    let runnable = ready.map(|thread| ("ready", thread));
    let waiting = release_queue::iter(k, core).map(|thread| ("waits for a refill", thread));
    let all = core::iter::once(("current", k.current())).chain(runnable).chain(waiting);
    for (place, found) in threads.iter_mut().zip(all) {
        *place = Some(found);
    }
    for (what, thread) in threads.into_iter().flatten() {
        let tcb = k.get(thread);
        let (name, priority) = (name::of(tcb), tcb.priority.get());
        let context = tcb.sched_context.get().map(|context| k.get(context));
        let left = context.map_or(0, |context| context.remaining.get());
        // The log does not fail.
        let _ = writeln!(
            Log(&mut k.machine),
            "thread {name} at {thread:?}: {what}, priority {priority}, {left} ticks left"
        );
    }
}

fn list<M: Machine>(k: &Kernel<M>, first: Option<Ref<Tcb>>) -> impl Iterator<Item = Ref<Tcb>> {
    core::iter::successors(first, |thread| k.get(*thread).sched_next.get())
}
