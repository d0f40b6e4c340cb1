//! Building a host, and speaking with it: the director listens at an endpoint and answers with orders.
//!
//! Everything is made on a stage, so that a sweep takes the host away whatever it was doing.

use core::mem::offset_of;

use abi::context::{CONTEXT_BITS, Context};
use abi::server::CNODE_RADIX;
use abi::{CPtr, ObjectType, PAGE_BITS, PAGE_BYTES, Rights, UPPER_HALF_START};
use runtime::InvocationError;
use runtime::host::TableEntry;
use runtime::host::block::{BLOCK, Block, TABLE_ENTRIES};
use runtime::memory::{Memory, retype};
use runtime::message::info;
use runtime::registers::{A0, PC, Registers, Resume, TP};
use runtime::space::{Access, map, map_new_page};
use runtime::stubs::{Endpoint, Frame, Host, HostControl, Reply, SchedContext, Tcb, VSpace};
use runtime::thread::guard;
use runtime::trap::{NO_WORDS, instruction_barrier};

use super::code::{self, DELTA, order, own, report};
use super::program::Program;
use crate::kit::assistant::PLENTY;
use crate::kit::failure::{Failure, equal};
use crate::kit::fault::Heard;
use crate::kit::stage::{CNODE, DIRECTOR, SCHED_CONTROL, Stage};
use crate::kit::word::Word;

/// The right to make hosts.
pub(crate) const HOST_CONTROL: HostControl = HostControl(CPtr(abi::server::slot::HOST_CONTROL));

/// Where the host has what is not its image, all in one large page of addresses.
const OWN: u64 = UPPER_HALF_START + 0x2_0000_0000;
const STACK_TOP: u64 = OWN + 4 * PAGE_BYTES;
const STACK_PAGES: u64 = 3;
/// Its IPC buffer, with the block in it.
pub(crate) const BUFFER: u64 = OWN + 6 * PAGE_BYTES;
const TABLE: u64 = OWN + 8 * PAGE_BYTES;
/// Its contexts.
pub(crate) const CONTEXTS: u64 = OWN + 10 * PAGE_BYTES;

/// Where the director sees the same.
const HERE_OWN: u64 = 0x3_6000_0000;
const HERE_BUFFER: u64 = 0;
const HERE_TABLE: u64 = 2 * PAGE_BYTES;
const HERE_CONTEXTS: u64 = 4 * PAGE_BYTES;
const HERE_PROGRAMS: u64 = 32 * PAGE_BYTES;
/// Addresses from one host to the next.
const HERE_STRIDE: u64 = 128 * PAGE_BYTES;

/// Where a program's code and data lie in its space: above 4 GiB, where the counter takes code for a program's.
pub(crate) const CODE: u64 = 0x1_4000_0000;
/// See [`CODE`].
pub(crate) const DATA: u64 = 0x2_0000_0000;

/// What the leaf and the compiled handler answer.
pub(crate) const PID: u64 = 42;
/// Calls by number.
pub(crate) mod call {
    /// Answered by a leaf.
    pub(crate) const LEAF: u64 = 172;
    /// Answered by a compiled handler.
    pub(crate) const COMPILED: u64 = 173;
    /// The same, with every register saved first.
    pub(crate) const FULL: u64 = 174;
    /// Another program's turn.
    pub(crate) const YIELD: u64 = 124;
}

/// A host.
#[derive(Debug)]
pub(crate) struct House {
    pub(crate) tcb: Tcb,
    pub(crate) host: Host,
    pub(crate) upper: VSpace,
    pub(crate) contexts: Frame,
    pub(crate) endpoint: Endpoint,
    pub(crate) reply: Reply,
    pub(crate) faults: Endpoint,
    /// The Untypeds of what it stands on.
    pub(crate) made: Made,
    /// Where the director sees what is the host's own.
    here: u64,
}

/// An Untyped and its size bits.
pub(crate) type Piece = (CPtr, u8);

/// The Untypeds of what a host stands on, each a page at least and used for nothing else.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) contexts: Piece,
    pub(crate) host: Piece,
    pub(crate) tcb: Piece,
    pub(crate) time: Piece,
    pub(crate) upper: Piece,
    /// Of the program's space that was made last.
    pub(crate) space: core::cell::Cell<Piece>,
}

/// Makes an object in an Untyped that it has for itself.
fn alone(
    memory: &mut Memory,
    object: ObjectType,
    size_bits: u8,
    bits: u8,
) -> Result<(CPtr, Piece), InvocationError> {
    let untyped = memory.take_untyped(bits)?;
    let slot = memory.slots.take()?;
    retype(CNODE, untyped, object, size_bits, slot, 1)?;
    Ok((slot, (untyped, bits)))
}

/// A program of the host's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) context: u64,
    pub(crate) space: VSpace,
    /// Where the director has its code and its data.
    pub(crate) code: Word,
    pub(crate) data: Word,
}

fn upper(code: unsafe extern "C" fn()) -> u64 {
    (code as *const ()).expose_provenance() as u64 + DELTA
}

impl House {
    /// Builds a host that has not run yet, `above` the director's priority.
    pub(crate) fn build(stage: &mut Stage, above: i64) -> Result<Self, Failure> {
        Self::build_at(stage, above, HERE_OWN)
    }

    fn build_at(stage: &mut Stage, above: i64, at: u64) -> Result<Self, Failure> {
        let (endpoint, reply, faults) = (stage.endpoint()?, stage.reply()?, stage.endpoint()?);
        let priority = stage.priority().saturating_add_signed(above);
        let segments = stage.server.segments();
        let memory = &mut stage.memory;
        let (upper_space, upper) = alone(memory, ObjectType::VSpace, 0, PAGE_BITS + 1)?;
        let upper_space = VSpace(upper_space);
        HOST_CONTROL.assign_upper(upper_space)?;
        for segment in segments {
            let access = Access::of_segment(segment.access).ok_or(abi::Error::InvalidArgument)?;
            for page in 0..segment.pages {
                let frame = Frame(memory.copy(CPtr(segment.first_slot + page), Rights::ALL)?);
                map(memory, upper_space, frame, DELTA + segment.address + page * PAGE_BYTES, access)?;
            }
        }
        for page in 1..=STACK_PAGES {
            map_new_page(memory, upper_space, STACK_TOP - page * PAGE_BYTES, Access::ReadWrite)?;
        }
        let buffer = Frame(memory.make(ObjectType::Frame, PAGE_BITS)?);
        let table = Frame(memory.make(ObjectType::Frame, PAGE_BITS)?);
        let (contexts, contexts_from) = alone(memory, ObjectType::Frame, PAGE_BITS, PAGE_BITS)?;
        let contexts = Frame(contexts);
        for (frame, there, here) in
            [(buffer, BUFFER, HERE_BUFFER), (table, TABLE, HERE_TABLE), (contexts, CONTEXTS, HERE_CONTEXTS)]
        {
            let copy = Frame(memory.copy(frame.0, Rights::ALL)?);
            map(memory, upper_space, copy, there, Access::ReadWrite)?;
            let copy = Frame(memory.copy(frame.0, Rights::ALL)?);
            map(memory, crate::kit::stage::HERE, copy, at + here, Access::ReadWrite)?;
        }
        let (host, host_from) = alone(memory, ObjectType::Host, PAGE_BITS - 5, PAGE_BITS)?;
        let host = Host(host);
        host.configure(HOST_CONTROL, upper_space, contexts)?;

        let (tcb, tcb_from) = alone(memory, ObjectType::Tcb, 0, PAGE_BITS)?;
        let tcb = Tcb(tcb);
        tcb.set_space(faults, CNODE, CPtr::NULL, guard(CNODE_RADIX))?;
        tcb.set_ipc_buffer(buffer)?;
        tcb.set_mc_priority(DIRECTOR, priority)?;
        tcb.set_priority(DIRECTOR, priority)?;
        let (time, time_from) = alone(memory, ObjectType::SchedContext, 0, PAGE_BITS)?;
        let time = SchedContext(time);
        SCHED_CONTROL.configure(time, PLENTY.budget_ns, PLENTY.period_ns, 0, 0)?;
        time.bind(tcb)?;
        let made = Made {
            contexts: contexts_from,
            host: host_from,
            tcb: tcb_from,
            time: time_from,
            upper,
            space: core::cell::Cell::new(contexts_from),
        };
        let house = Self { tcb, host, upper: upper_space, contexts, endpoint, reply, faults, made, here: at };
        house.furnish();
        house.configure()?;
        Ok(house)
    }

    /// Builds a host above the director and lets it speak for the first time.
    pub(crate) fn start(stage: &mut Stage, above: i64) -> Result<Self, Failure> {
        Self::build(stage, above)?.begin()
    }

    /// The same for a second host beside another.
    pub(crate) fn start_elsewhere(stage: &mut Stage, above: i64) -> Result<Self, Failure> {
        Self::build_at(stage, above, HERE_OWN + HERE_STRIDE)?.begin()
    }

    fn begin(self) -> Result<Self, Failure> {
        let house = self;
        house.tcb.resume()?;
        equal("the host's first word", house.hear()?, (report::INTERRUPTED, 0))?;
        Ok(house)
    }

    /// Block and table.
    fn furnish(&self) {
        for (offset, value) in [
            (offset_of!(Block, table), TABLE),
            (offset_of!(Block, stack), STACK_TOP),
            (offset_of!(Block, unknown), tell_address()),
            (offset_of!(Block, identity), TABLE + IDENTITY),
            (offset_of!(Block, context), CONTEXTS),
        ] {
            Word::at(self.here + HERE_BUFFER + (BLOCK + offset) as u64).set(value);
        }
        self.own(own::DIRECTOR).set(self.endpoint.0.0);
        Word::at(self.here + HERE_TABLE + IDENTITY).set(PID);
        for number in 0..TABLE_ENTRIES as u64 {
            self.set_call(number, upper(code::bixi_host_call), tell_address());
        }
        self.set_call(call::LEAF, upper(code::bixi_guest_getpid), 0);
        self.set_compiled(call::COMPILED);
        self.set_call(call::FULL, upper(code::bixi_host_full_call), code::nothing_address());
        self.set_call(call::YIELD, upper(code::bixi_guest_yield), 0);
    }

    /// Lets a compiled handler that does nothing answer a call.
    pub(crate) fn set_compiled(&self, number: u64) {
        self.set_call(number, upper(code::bixi_host_call), code::nothing_address());
    }

    /// A word of the block.
    pub(crate) fn block_word(&self, offset: usize) -> Word {
        Word::at(self.here + HERE_BUFFER + (BLOCK + offset) as u64)
    }

    fn set_call(&self, number: u64, entry: u64, handler: u64) {
        let at = self.here + HERE_TABLE + number * size_of::<TableEntry>() as u64;
        Word::at(at + offset_of!(TableEntry, entry) as u64).set(entry);
        Word::at(at + offset_of!(TableEntry, handler) as u64).set(handler);
    }

    /// Makes the thread a host's, and lets it begin at its entry for interrupted programs.
    pub(crate) fn configure(&self) -> Result<(), InvocationError> {
        self.tcb.configure_host(
            self.host,
            BUFFER,
            upper(code::bixi_host_system_call),
            upper(code::bixi_host_fault),
            upper(code::bixi_host_interrupted),
            upper(code::bixi_host_own_fault),
        )?;
        let mut registers: Registers = [0; 32];
        let start = upper(code::bixi_host_interrupted);
        for (number, value) in [(PC, start), (TP, BUFFER), (T0, BUFFER)] {
            registers.get_mut(number).into_iter().for_each(|place| *place = value);
        }
        self.tcb.write_registers(Resume::Leave, &registers)
    }

    /// A word of the block's that is the host's own.
    pub(crate) fn own(&self, index: usize) -> Word {
        Word::at(self.here + HERE_BUFFER + (BLOCK + offset_of!(Block, own) + 8 * index) as u64)
    }

    /// A word of the host's IPC buffer.
    pub(crate) fn buffer_word(&self, offset: u64) -> Word {
        Word::at(self.here + HERE_BUFFER + offset)
    }

    /// A word of a context, by its offset.
    pub(crate) fn word(&self, context: u64, offset: usize) -> Word {
        Word::at(self.here + HERE_CONTEXTS + (context << CONTEXT_BITS) + offset as u64)
    }

    /// A register of a context; 0 is the pc.
    pub(crate) fn register(&self, context: u64, number: usize) -> Word {
        self.word(context, offset_of!(Context, registers) + 8 * number)
    }

    /// Makes a program in a space of its own, with all registers 0 but the pc and `$a0`, which leads to its data.
    pub(crate) fn program(
        &self,
        stage: &mut Stage,
        context: u64,
        program: Program,
    ) -> Result<Place, InvocationError> {
        let (space, made) = alone(&mut stage.memory, ObjectType::VSpace, 0, PAGE_BITS + 1)?;
        let space = VSpace(space);
        stage.pool.assign(space)?;
        self.made.space.set(made);
        let here = self.here + HERE_PROGRAMS + 4 * context * PAGE_BYTES;
        for (address, offset, access) in
            [(CODE, 0, Access::ReadExecute), (DATA, 2 * PAGE_BYTES, Access::ReadWrite)]
        {
            let frame = Frame(stage.memory.make(ObjectType::Frame, PAGE_BITS)?);
            map(&mut stage.memory, space, frame, address, access)?;
            let copy = Frame(stage.memory.copy(frame.0, Rights::ALL)?);
            map(&mut stage.memory, crate::kit::stage::HERE, copy, here + offset, Access::ReadWrite)?;
        }
        let mut words = program.words();
        for at in (here..here + PAGE_BYTES).step_by(8) {
            let Some(low) = words.next() else { break };
            let high = words.next().unwrap_or(0);
            Word::at(at).set(u64::from(high) << 32 | u64::from(low));
        }
        instruction_barrier();
        for number in 0..32 {
            self.register(context, number).set(0);
        }
        self.register(context, PC).set(CODE);
        self.register(context, A0).set(DATA);
        self.host.set_space(space, context)?;
        Ok(Place { context, space, code: Word::at(here), data: Word::at(here + 2 * PAGE_BYTES) })
    }

    /// What the host says next.
    pub(crate) fn hear(&self) -> Result<(u64, u64), Failure> {
        let received = self.endpoint.recv(self.reply).accepted()?;
        let [reason, value, ..] = received.words;
        Ok((reason, value))
    }

    /// Answers with an order.
    pub(crate) fn say(&self, order: u64, one: u64, two: u64) -> Result<(), InvocationError> {
        let mut words = NO_WORDS;
        let [first, second, third, ..] = &mut words;
        (*first, *second, *third) = (order, one, two);
        self.reply.send(info(0, 3), words)
    }

    /// Gives an order and hears what came of it.
    pub(crate) fn order(&self, order: u64, one: u64, two: u64) -> Result<u64, Failure> {
        self.say(order, one, two)?;
        match self.hear()? {
            (report::DONE, value) => Ok(value),
            other => Err(Failure::new(format_args!("after order {order}: {other:?}"))),
        }
    }

    /// Lets a program go on, after a Switch to its context if `switch` says so.
    pub(crate) fn go(&self, how: How, switch: Option<u64>) -> Result<(), InvocationError> {
        if let Some(context) = switch {
            let place = Word::at(self.here + HERE_BUFFER + (BLOCK + offset_of!(Block, context)) as u64);
            place.set(CONTEXTS + (context << CONTEXT_BITS));
        }
        self.say(order::GO, how as u64, switch.unwrap_or(0))
    }

    /// Lets a program go on until the host speaks.
    pub(crate) fn run(&self, how: How, switch: Option<u64>) -> Result<(u64, u64), Failure> {
        self.go(how, switch)?;
        self.hear()
    }

    /// What the host's fault endpoint says next.
    pub(crate) fn fault(&self, reply: Reply) -> Result<Heard, InvocationError> {
        Ok(Heard::of(&self.faults.recv(reply).accepted()?))
    }
}

/// How a program goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// Back from its call.
    Minimal = 0,
    /// With every register.
    Full = 1,
    /// The same, and its vector state comes from memory.
    FullWithVectors = 2,
}

/// Where the identity lies in the table's page.
const IDENTITY: u64 = 8192 + 64;
const _: () = assert!(IDENTITY >= (TABLE_ENTRIES * size_of::<TableEntry>()) as u64);
/// `$t0`.
const T0: usize = 12;

fn tell_address() -> u64 {
    (code::tell as *const ()).expose_provenance() as u64 + DELTA
}
