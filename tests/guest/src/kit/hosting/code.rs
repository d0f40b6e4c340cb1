//! What runs in the upper half: the runtime's entries, and a conversation with the director about each.
//!
//! The image is linked for the lower half, so only what is reached relative to the program counter may be used
//! here: no table of addresses, no text, nothing that could panic. Orders are single bits for that reason, since a
//! compiler makes a table of a larger choice.

#![expect(unsafe_code, reason = "assembly, and words that the director writes meanwhile")]

use core::mem::offset_of;

use abi::{CPtr, UPPER_HALF_START};
use runtime::host::block::{BLOCK, Block};
use runtime::host::{Answer, Context, Next, calls, copy};
use runtime::message::info;
use runtime::stubs::{Endpoint, Notification};
use runtime::trap::{NO_WORDS, thread_pointer};
use runtime::{InvocationError, host_entries, host_leaves};

use super::house::PID;
use crate::kit::shared::Cell;

/// Added to an address of the image, where the same lies in the upper half.
pub(crate) const DELTA: u64 = UPPER_HALF_START;

host_entries! {
    fault: fault,
    interrupted: interrupted,
    attention: attention,
    resolve: resolve,
    refused: refused,
}

host_leaves! { "bixi_guest_getpid" = 0 }

core::arch::global_asm!(
    ".pushsection .text.bixi_guest_host, \"ax\", @progbits",
    // Another program's turn, decided without compiled code: the mechanism alone (C-26).
    ".globl bixi_guest_yield",
    "bixi_guest_yield:",
    "ld.d $t2, $t0, {context}",
    "addi.d $t1, $t1, 4",
    "st.d $t1, $t2, 0",
    ".irp number, 1,2,3,4,5,6,7,8,9,10,11,21,22,23,24,25,26,27,28,29,30,31",
    "st.d $r\\number, $t2, 8 * \\number",
    ".endr",
    "move $tp, $t0",
    "ld.d $t1, $tp, {other_context}",
    "ld.d $a0, $tp, {other_number}",
    "ld.d $t0, $tp, {number}",
    "st.d $t1, $tp, {context}",
    "st.d $t2, $tp, {other_context}",
    "st.d $a0, $tp, {number}",
    "st.d $t0, $tp, {other_number}",
    "ori $a7, $zero, {switch}",
    "syscall 0",
    "bstrpick.d $t0, $a1, 63, 16",
    "beqz $t0, bixi_host_go",
    "move $a0, $a1",
    "bl {refused}",
    // Enter without a context, or with one: as the director likes.
    ".globl bixi_guest_enter",
    "bixi_guest_enter:",
    "move $t1, $a0",
    "b bixi_host_enter",
    // Stores $f0 where the program's owner says; the unit is the current context's here too (C-30).
    ".globl bixi_guest_store_fp",
    "bixi_guest_store_fp:",
    "fst.d $f0, $a0, 0",
    "ret",
    ".popsection",
    context = const BLOCK + offset_of!(Block, context),
    other_context = const BLOCK + offset_of!(Block, own) + 8 * own::OTHER_CONTEXT,
    other_number = const BLOCK + offset_of!(Block, own) + 8 * own::OTHER_NUMBER,
    number = const BLOCK + offset_of!(Block, own) + 8 * own::NUMBER,
    switch = const abi::Syscall::Switch.raw(),
    refused = sym refused,
);

unsafe extern "C" {
    pub(crate) fn bixi_host_system_call();
    pub(crate) fn bixi_host_fault();
    pub(crate) fn bixi_host_interrupted();
    pub(crate) fn bixi_host_own_fault();
    pub(crate) fn bixi_host_call();
    pub(crate) fn bixi_host_full_call();
    pub(crate) fn bixi_guest_getpid();
    pub(crate) fn bixi_guest_yield();
    fn bixi_guest_enter(pc: u64) -> !;
    fn bixi_guest_store_fp(to: u64);
}

/// Words of [`Block::own`].
pub(crate) mod own {
    /// The endpoint at which the director listens.
    pub(crate) const DIRECTOR: usize = 0;
    /// The number of the last call that was told to the director.
    pub(crate) const LAST_CALL: usize = 1;
    /// The context that yields next, its number, and the number of the current one.
    pub(crate) const OTHER_CONTEXT: usize = 2;
    pub(crate) const OTHER_NUMBER: usize = 3;
    pub(crate) const NUMBER: usize = 4;
    /// Not 0: a program that faults goes on behind its instruction.
    pub(crate) const SKIP_FAULTS: usize = 5;
}

/// Why the host speaks: word 0 of its message; word 1 says more.
pub(crate) mod report {
    /// It was entered at its entry for interrupted programs.
    pub(crate) const INTERRUPTED: u64 = 1;
    /// A program faulted.
    pub(crate) const FAULT: u64 = 2;
    /// A program made a call; its number.
    pub(crate) const CALL: u64 = 3;
    /// An order was carried out; what came of it.
    pub(crate) const DONE: u64 = 4;
    /// The kernel refused; its information.
    pub(crate) const REFUSED: u64 = 5;
}

/// What the host is to do: word 0 of the director's answer, a bit each; two words follow.
pub(crate) mod order {
    /// Go on: how, and the context to switch to or 0. It speaks again when something happens.
    pub(crate) const GO: u64 = 1;
    /// Switch to a context.
    pub(crate) const SWITCH: u64 = 2;
    /// SyncVector of a context.
    pub(crate) const SYNC: u64 = 4;
    /// Copy 8 bytes to an address from another.
    pub(crate) const COPY: u64 = 8;
    /// Zero bytes from an address on.
    pub(crate) const ZERO: u64 = 16;
    /// Wait for a notification.
    pub(crate) const WAIT: u64 = 32;
    /// Poll a notification.
    pub(crate) const POLL: u64 = 64;
    /// Load a word, with no routine to catch a fault.
    pub(crate) const LOAD: u64 = 128;
    /// Enter minimally at a pc.
    pub(crate) const ENTER: u64 = 256;
    /// Store the current context's `$f0`.
    pub(crate) const STORE_FP: u64 = 512;
    /// Spin until [`SPIN_CELL`] is not 0.
    pub(crate) const SPIN: u64 = 1024;
    /// Compare and exchange a 32-bit word: its address, and old and new in one word's halves.
    pub(crate) const EXCHANGE: u64 = 2048;
}

/// What a spinning host looks at.
pub(crate) const SPIN_CELL: Cell = Cell(15);
/// How often the host has looked.
pub(crate) const SPIN_COUNT: Cell = Cell(14);
/// How often a fault of the host's own was looked at.
pub(crate) const OWN_FAULTS: Cell = Cell(13);
/// pc, address, access and cause of the last.
pub(crate) const OWN_FAULT: [Cell; 4] = [Cell(9), Cell(10), Cell(11), Cell(12)];

fn word(index: usize) -> *mut u64 {
    let at = thread_pointer() + (BLOCK + offset_of!(Block, own) + 8 * index) as u64;
    core::ptr::with_exposed_provenance_mut(usize::try_from(at).unwrap_or(0))
}

fn own_word(index: usize) -> u64 {
    // SAFETY: the block is mapped for as long as the host's thread runs.
    unsafe { word(index).read_volatile() }
}

fn set_own_word(index: usize, value: u64) {
    // SAFETY: as in `own_word`.
    unsafe { word(index).write_volatile(value) }
}

/// A compiled handler that does nothing.
pub(crate) extern "C" fn nothing() -> Answer {
    Answer::now(PID)
}

/// Where [`nothing`] is in the upper half.
pub(crate) fn nothing_address() -> u64 {
    (nothing as *const ()).expose_provenance() as u64 + DELTA
}

/// A handler that leaves the answer to the director.
pub(crate) extern "C" fn tell(_: u64, _: u64, _: u64, _: u64, _: u64, _: u64, _: u64, number: u64) -> Answer {
    set_own_word(own::LAST_CALL, number);
    Answer { value: 0, attention: Answer::KEEP }
}

extern "C" fn fault() -> Next {
    if own_word(own::SKIP_FAULTS) != 0 {
        skip_instruction();
        return Next::full();
    }
    converse(report::FAULT, 0)
}

fn skip_instruction() {
    let context = thread_pointer() + (BLOCK + offset_of!(Block, context)) as u64;
    let context: *const u64 = core::ptr::with_exposed_provenance(usize::try_from(context).unwrap_or(0));
    // SAFETY: the block is mapped, and leads to the current context, whose first word is the pc.
    let pc = unsafe { context.read_volatile() };
    let pc: *mut u64 = core::ptr::with_exposed_provenance_mut(usize::try_from(pc).unwrap_or(0));
    // SAFETY: as above.
    let before = unsafe { pc.read_volatile() };
    // SAFETY: as above.
    unsafe { pc.write_volatile(before + 4) }
}

extern "C" fn interrupted() -> Next {
    converse(report::INTERRUPTED, 0)
}

extern "C" fn attention(_: u64, _: u64) -> Next {
    converse(report::CALL, own_word(own::LAST_CALL))
}

extern "C" fn refused(information: u64) -> ! {
    loop {
        let _ = converse(report::REFUSED, information);
    }
}

/// Where a routine that faulted goes on. The image is linked below: addresses in tables are too.
extern "C" fn resolve(pc: u64, address: u64, access: u64, cause: u64) -> u64 {
    OWN_FAULTS.add(1);
    let [to_pc, to_address, to_access, to_cause] = OWN_FAULT;
    to_pc.set(pc);
    to_address.set(address);
    to_access.set(access);
    to_cause.set(cause);
    let found = copy::fix_up(pc).or_else(|| copy::fix_up(pc.wrapping_sub(DELTA)));
    match found {
        Some(go_on) if go_on < DELTA => go_on + DELTA,
        Some(go_on) => go_on,
        // A bug of the host's: the director hears of it.
        None => refused(pc),
    }
}

/// Speaks with the director until it says how to go on.
fn converse(reason: u64, value: u64) -> Next {
    let director = Endpoint(CPtr(own_word(own::DIRECTOR)));
    let (mut reason, mut value) = (reason, value);
    loop {
        let mut words = NO_WORDS;
        let [first, second, ..] = &mut words;
        (*first, *second) = (reason, value);
        let [order, one, two, ..] = director.call_inline(info(0, 2), words).words;
        if order & order::GO != 0 {
            let next = next(one);
            return if two == 0 { next } else { next.after_switch(two) };
        }
        reason = report::DONE;
        value = carry_out(order, one, two);
    }
}

fn next(how: u64) -> Next {
    if how & 1 != 0 {
        Next::full()
    } else if how & 2 != 0 {
        Next::full_with_vectors()
    } else {
        // Behind the call.
        skip_instruction();
        Next::minimal()
    }
}

/// The label of a refusal, 0 for success.
fn label(result: Result<(), InvocationError>) -> u64 {
    match result {
        Ok(()) => 0,
        Err(refusal) => refusal.error as u64,
    }
}

fn carry_out(order: u64, one: u64, two: u64) -> u64 {
    if order & order::SWITCH != 0 {
        return label(calls::switch(one));
    }
    if order & order::SYNC != 0 {
        return label(calls::sync_vector(one));
    }
    if order & order::COPY != 0 {
        // SAFETY: a fault is what the story is about; where it succeeds, the director gave the addresses.
        return remaining(unsafe { copy::copy(one, two, 8) });
    }
    if order & order::ZERO != 0 {
        // SAFETY: as above.
        return remaining(unsafe { copy::zero(one, two) });
    }
    if order & order::EXCHANGE != 0 {
        // SAFETY: as above.
        return unsafe { copy::compare_exchange(one, two >> 32, two & 0xffff_ffff) }.unwrap_or(u64::MAX);
    }
    if order & order::WAIT != 0 {
        return Notification(CPtr(one)).wait().unwrap_or(u64::MAX);
    }
    if order & order::POLL != 0 {
        return Notification(CPtr(one)).poll().unwrap_or(u64::MAX);
    }
    if order & order::LOAD != 0 {
        let at: *const u64 = core::ptr::with_exposed_provenance(usize::try_from(one).unwrap_or(0));
        // SAFETY: a fault is what the story is about.
        return unsafe { at.read_volatile() };
    }
    if order & order::ENTER != 0 {
        // SAFETY: the registers are nobody's; the program begins with what is in them.
        unsafe { bixi_guest_enter(one) }
    }
    if order & order::STORE_FP != 0 {
        // SAFETY: as in `COPY`.
        unsafe { bixi_guest_store_fp(one) };
        return 0;
    }
    if order & order::SPIN != 0 {
        while SPIN_CELL.get() == 0 {
            SPIN_COUNT.add(1);
        }
    }
    0
}

fn remaining(result: Result<(), copy::Remaining>) -> u64 {
    match result {
        Ok(()) => 0,
        Err(copy::Remaining(bytes)) => bytes,
    }
}

const _: () = assert!(offset_of!(Context, registers) == 0);
