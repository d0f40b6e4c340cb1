//! The run: a second address space with the same image, a passive server in it, and one measurement after the
//! other.

use core::fmt;

use abi::control::{Record, Text};
use abi::server::{CNODE_RADIX, FREE_ADDRESS, slot};
use abi::{CPtr, ObjectType, PAGE_BYTES};
use runtime::InvocationError;
use runtime::mark::Label;
use runtime::memory::{DEPTH, Memory};
use runtime::registers::Resume;
use runtime::server::{Server, shut_down};
use runtime::space::{Access, make_space, map_image, map_new_page};
use runtime::stubs::{AsidControl, AsidPool, CNode, Endpoint, Reply, SchedContext, SchedControl, Tcb};
use runtime::thread::{Start, Thread, Time, first_registers, guard, make_thread, make_time};

use crate::measured::{call_many, marks, serve, warm_up};
use crate::style::{Inlined, Methods, Style};

/// Calls before the first that is counted.
const WARM_UP: u64 = 200;
/// Calls that are counted, under each label.
const SAMPLES: u64 = 2000;
/// Where the server's stack and IPC buffer lie in its space, an unmapped page below each.
const STACK_TOP: u64 = FREE_ADDRESS + 4 * PAGE_BYTES;
const STACK_PAGES: u64 = 2;
const IPC_BUFFER: u64 = FREE_ADDRESS + 6 * PAGE_BYTES;
/// Time for the server until it waits: it gives it back before it is first called.
const START_TIME: Time = Time { budget_ns: 1_000_000_000, period_ns: 1_000_000_000 };

/// Why the run ended early.
enum Failure {
    Kernel(&'static str, InvocationError),
    WrongAnswers { label: &'static str, right: u64 },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel(step, refusal) => write!(f, "{step}: {refusal}"),
            Self::WrongAnswers { label, right } => {
                write!(f, "{label}: {right} of {SAMPLES} answers were what was sent")
            }
        }
    }
}

/// Measures everything and ends the system.
pub(crate) fn measure(server: Server) -> u8 {
    let Some(mut console) = server.console() else { shut_down(2) };
    let mut bench = match Bench::build(&server) {
        Ok(bench) => bench,
        Err(refusal) => {
            console.log(format_args!("bench: building the server failed: {refusal}"));
            shut_down(1)
        }
    };
    let mut status = 0;
    for measurement in MEASUREMENTS {
        match (measurement.run)(&mut bench, measurement.label) {
            Ok(()) => console.record(&Record::Bench { name: Text::new(measurement.label), n: SAMPLES }),
            Err(failure) => {
                console.log(format_args!("bench: {failure}"));
                status = 1;
            }
        }
    }
    console.flush();
    shut_down(status)
}

/// A row of what is measured.
struct Measurement {
    label: &'static str,
    run: fn(&mut Bench, &'static str) -> Result<(), Failure>,
}

macro_rules! measurements {
    ($($label:literal: $style:ident, $words:literal, $marks:ident;)*) => {
        &[$(Measurement { label: $label, run: Bench::measure::<$style, $words, { marks::$marks }> },)*]
    };
}

const MEASUREMENTS: &[Measurement] = measurements! {
    "rt0": Inlined, 0, ROUND_TRIP;
    "rt4": Inlined, 4, ROUND_TRIP;
    "rt8": Inlined, 8, ROUND_TRIP;
    "call0": Inlined, 0, CALL;
    "call4": Inlined, 4, CALL;
    "call8": Inlined, 8, CALL;
    "reply0": Inlined, 0, REPLY;
    "reply4": Inlined, 4, REPLY;
    "reply8": Inlined, 8, REPLY;
    "rt0m": Methods, 0, ROUND_TRIP;
    "rt4m": Methods, 4, ROUND_TRIP;
    "rt8m": Methods, 8, ROUND_TRIP;
    "call0m": Methods, 0, CALL;
    "call4m": Methods, 4, CALL;
    "call8m": Methods, 8, CALL;
    "reply0m": Methods, 0, REPLY;
    "reply4m": Methods, 4, REPLY;
    "reply8m": Methods, 8, REPLY;
};

/// The server that is called, and what it takes to start it.
struct Bench {
    start: Start,
    thread: Thread,
    time: SchedContext,
    endpoint: Endpoint,
    reply: Reply,
}

impl Bench {
    fn build(server: &Server) -> Result<Self, InvocationError> {
        let mut memory = server.memory();
        let pool = make_asid_pool(&mut memory)?;
        let space = make_space(&mut memory, pool)?;
        map_image(&mut memory, space, server.segments())?;
        for page in 1..=STACK_PAGES {
            map_new_page(&mut memory, space, STACK_TOP - page * PAGE_BYTES, Access::ReadWrite)?;
        }
        let endpoint = Endpoint(memory.make(ObjectType::Endpoint, 0)?);
        let reply = Reply(memory.make(ObjectType::Reply, 0)?);
        // Above the client's, so that it waits before the client goes on.
        let priority = server.priority() + 1;
        let start = Start {
            cnode: CNode(CPtr(slot::CNODE)),
            guard: guard(CNODE_RADIX),
            space,
            ipc_buffer: IPC_BUFFER,
            pc: 0,
            stack_top: STACK_TOP,
            arguments: [endpoint.0.0, reply.0.0, 0, 0],
            fault_handler: CPtr(slot::PARENT),
            authority: Tcb(CPtr(slot::TCB)),
            priority,
            max_priority: priority,
        };
        let thread = make_thread(&mut memory, &start)?;
        let time = make_time(&mut memory, SchedControl(CPtr(slot::SCHED_CONTROL)), START_TIME)?;
        Ok(Self { start, thread, time, endpoint, reply })
    }

    /// Measures one row.
    fn measure<S: Style<N>, const N: usize, const MARKS: u8>(
        &mut self,
        label: &'static str,
    ) -> Result<(), Failure> {
        // The message that the last quiet answer receives is the first that is marked, where the server stops.
        let quiet = if MARKS == marks::CALL { WARM_UP - 1 } else { WARM_UP };
        let pc = serve::<S, N, MARKS> as extern "C" fn(u64, u64, u64, u64) -> !;
        self.start.pc = (pc as *const ()).expose_provenance() as u64;
        self.start.arguments = [self.endpoint.0.0, self.reply.0.0, Label::new(label).raw(), quiet];
        self.restart().map_err(|refusal| Failure::Kernel("starting the server", refusal))?;
        let warm = warm_up::<S, N>(self.endpoint, WARM_UP);
        warm.map_err(|refusal| Failure::Kernel("warming up", refusal))?;
        let right = call_many::<S, N, MARKS>(self.endpoint, Label::new(label), SAMPLES);
        match right.map_err(|refusal| Failure::Kernel(label, refusal))? {
            SAMPLES => Ok(()),
            right => Err(Failure::WrongAnswers { label, right }),
        }
    }

    /// Lets the server begin anew and run until it waits, then makes it passive (C-10).
    fn restart(&mut self) -> Result<(), InvocationError> {
        let tcb = self.thread.tcb;
        tcb.suspend()?;
        tcb.write_registers(Resume::Leave, &first_registers(&self.start))?;
        self.time.bind(tcb)?;
        tcb.resume()?;
        self.time.unbind()
    }
}

/// A pool of identifiers for the second address space.
fn make_asid_pool(memory: &mut Memory) -> Result<AsidPool, InvocationError> {
    let untyped = memory.take_untyped(12)?;
    let pool = memory.slots.take()?;
    AsidControl(CPtr(slot::ASID_CONTROL)).make_pool(untyped, memory.cnode, pool.0, DEPTH)?;
    Ok(AsidPool(pool))
}
