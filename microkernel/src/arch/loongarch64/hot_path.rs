//! The hot path: Call and ReplyRecv between two threads that are at home on this core, from the trap to
//! `ertn`, inside the native vector table.
//!
//! It runs with interrupts off, takes no lock, follows no user pointer, calls nothing, and touches only
//! `$t0`-`$t6` and `$r21`, which it clears. Everything is tested first and nothing is changed until all tests
//! have passed; whatever is not the usual case goes on in the slow path (`trap`), which does the same and
//! more (C-9). Under KVM nothing here leaves the guest (C-12): CI disassembles this section.
//!
//! The tests, in order: the operation; the capability's index within a one-level space; its type and
//! rights; a message of register words alone; one receiver that waits (or nobody, and no notification);
//! the other thread's hot word (passive, with a Reply, with a space, native, at home, no fault pending, not
//! rewritten); priorities; a hardware identifier that was not stolen; and for a reply, that it gives back
//! the very scheduling context that the caller donated.
//!
//! Neighbours: `object/thread.rs`, `endpoint.rs`, `reply.rs`, `sched_context.rs`, `vspace.rs` own the fields
//! and say what they mean; `trap` is where it bails out to; `exit` is the slow path's end.
#![expect(unsafe_code, reason = "the hot path is assembly")]

use core::arch::global_asm;
use core::mem::offset_of;

use abi::Syscall;
use abi::message::REGISTER_WORDS;

use super::registers::{ASID, ERA, EUEN, KS0, KS1, PGDL};
use crate::capability::cap::{Slot, tag};
use crate::kernel::Core;
use crate::object::endpoint::{Endpoint, EndpointState};
use crate::object::reply::Reply;
use crate::object::sched_context::SchedContext;
use crate::object::thread::{Tcb, ThreadState, register};
use crate::object::vspace::VSpace;

/// Bytes of a vector: ECFG.VS = 7, the widest (manual §6.2.1).
pub const VECTOR_BYTES: usize = 512;
/// ECFG.VS for [`VECTOR_BYTES`].
pub const VECTOR_SPACING: u64 = 7;

/// The two waiting states are what the hot path adds to a reference and takes off again.
const RECEIVING: usize = ThreadState::BlockedOnReceive as usize;
const CALLING: usize = ThreadState::BlockedOnReply as usize;
const ONE_RECEIVER: usize = EndpointState::OneReceiver as usize;
const _: () = assert!(ThreadState::Runnable as usize == 0);
const _: () = assert!(EndpointState::Idle as usize == 0);

/// The right to grant, in an Endpoint's tag, becomes `Reply::can_grant` as it is.
const GRANT: u64 = abi::Rights::GRANT.raw();
/// A Reply's tag whatever its rights.
const REPLY_MASK: u64 = tag::MASK & !1;

/// Offset of a register in a Tcb.
const fn saved(number: usize) -> usize {
    offset_of!(Tcb, registers) + 8 * number
}

global_asm!(
    // Leaves `$t0` with what C-6 preserves and enters `$t3`, whose root table is `$t4` and identifier `$t5`.
    ".macro bixi_hot_switch",
    "    ld.d        $t1, $t3, {pc}",
    "    csrwr       $t1, {era}",                    // the one's pc in, the other's out
    "    addi.d      $t1, $t1, 4",
    "    st.d        $t1, $t0, {pc}",
    "    st.d        $sp, $t0, {sp}",
    "    st.d        $fp, $t0, {fp}",
    "    st.d        $s8, $t0, {s8}",
    "    csrwr       $t4, {pgdl}",
    "    csrwr       $t5, {asid}",
    "    ld.d        $t5, $t3, {euen}",
    "    csrwr       $t5, {euen_register}",
    "    ld.d        $sp, $t3, {sp}",
    "    ld.d        $tp, $t3, {tls_base}",
    "    ld.d        $fp, $t3, {fp}",
    "    ld.d        $s8, $t3, {s8}",
    "    csrwr       $t3, {ks1}",
    // Nothing of the kernel's is left (C-8); every register that was not touched is the sender's own.
    "    move        $t0, $zero",
    "    move        $t1, $zero",
    "    move        $t2, $zero",
    "    move        $t3, $zero",
    "    move        $t4, $zero",
    "    move        $t5, $zero",
    "    move        $t6, $zero",
    "    move        $r21, $zero",
    "    ertn",
    ".endm",

    ".pushsection .text.hot_path, \"ax\"",
    ".balign 65536",
    ".globl bixi_native_vectors",
    "bixi_native_vectors:",

    // Exceptions 0x1 to 0xa; 0x0 is not used with vectored interrupts.
    ".set bixi_vector, 0",
    ".rept 11",
    "    .org bixi_native_vectors + {vector} * bixi_vector",
    "    b           bixi_slow_exception",
    "    .set bixi_vector, bixi_vector + 1",
    ".endr",

    // 0xb: a system call. Call stands in the vector itself.
    ".org bixi_native_vectors + {vector} * 0xb",
    ".globl bixi_hot_call",
    "bixi_hot_call:",
    "    addi.d      $t1, $a7, -{call}",
    "    bnez        $t1, bixi_hot_reply_recv",
    "    csrrd       $t0, {ks1}",                    // caller
    "    ld.d        $t1, $t0, {cspace_size}",
    "    ld.d        $t2, $t0, {cspace_base}",
    "    bgeu        $a0, $t1, bixi_hot_slow",
    "    slli.d      $t1, $a0, {slot_bits}",
    "    add.d       $t1, $t1, $t2",                 // slot
    "    ld.d        $t2, $t1, {slot_object}",
    "    andi        $t3, $t2, {callable}",
    "    addi.d      $t3, $t3, -{callable}",
    "    bnez        $t3, bixi_hot_slow",
    "    bstrpick.d  $t3, $a1, 15, 0",
    "    sltui       $t3, $t3, {words} + 1",
    "    beqz        $t3, bixi_hot_slow",
    "    andi        $r21, $t2, {grant}",
    "    bstrins.d   $t2, $zero, 5, 0",              // endpoint
    "    ld.d        $t3, $t2, {ep_head}",
    "    andi        $t4, $t3, {one_receiver}",
    "    beqz        $t4, bixi_hot_slow",
    "    addi.d      $t3, $t3, -{one_receiver}",     // receiver
    "    ld.d        $t4, $t3, {hot}",
    "    ld.d        $t5, $t0, {home}",
    "    bne         $t4, $t5, bixi_hot_slow",
    "    ld.d        $t4, $t3, {priority}",
    "    ld.d        $t5, $t0, {priority}",
    "    bltu        $t4, $t5, bixi_hot_slow",
    "    ld.d        $t4, $t3, {vspace}",
    "    ld.d        $t5, $t4, {hardware_asid}",
    "    beqz        $t5, bixi_hot_slow",
    // Committed: the receiver's Reply now stands for the caller, on top of the context's stack.
    "    ld.d        $t4, $t4, {root_address}",
    "    ld.d        $a0, $t1, {slot_data}",
    "    st.d        $zero, $t2, {ep_head}",
    "    ld.d        $t2, $t3, {state}",
    "    addi.d      $t2, $t2, -{receiving}",        // reply
    "    ld.d        $t6, $t0, {sched_context}",
    "    ld.d        $t1, $t6, {sc_reply}",          // the older Reply
    "    st.d        $r21, $t2, {reply_can_grant}",
    "    st.d        $t1, $t2, {reply_previous}",
    "    beqz        $t1, 1f",
    "    st.d        $t2, $t1, {reply_next}",
    "    st.d        $zero, $t1, {reply_sc}",
    "1:  st.d        $t6, $t2, {reply_sc}",
    "    st.d        $t0, $t2, {reply_thread}",
    "    st.d        $t2, $t6, {sc_reply}",
    "    addi.d      $t2, $t2, {calling}",
    "    st.d        $t2, $t0, {state}",
    "    st.d        $zero, $t3, {state}",
    // The context is donated.
    "    st.d        $t3, $t6, {sc_thread}",
    "    st.d        $t6, $t3, {sched_context}",
    "    st.d        $zero, $t0, {sched_context}",
    "    bixi_hot_switch",

    // 0xc and on: exceptions.
    ".set bixi_vector, 0xc",
    ".rept 0x40 - 0xc",
    "    .org bixi_native_vectors + {vector} * bixi_vector",
    "    b           bixi_slow_exception",
    "    .set bixi_vector, bixi_vector + 1",
    ".endr",
    // 64 and on: interrupt lines.
    ".rept 15",
    "    .org bixi_native_vectors + {vector} * bixi_vector",
    "    b           bixi_slow_interrupt",
    "    .set bixi_vector, bixi_vector + 1",
    ".endr",

    // Behind the table: ReplyRecv.
    ".org bixi_native_vectors + {vector} * 80",
    ".globl bixi_hot_reply_recv",
    "bixi_hot_reply_recv:",
    "    addi.d      $t1, $a7, -{reply_recv}",
    "    bnez        $t1, bixi_slow_syscall",
    "    csrrd       $t0, {ks1}",                    // server
    "    ld.d        $t1, $t0, {cspace_size}",
    "    ld.d        $t2, $t0, {cspace_base}",
    "    bgeu        $a0, $t1, bixi_hot_slow",
    "    bgeu        $a2, $t1, bixi_hot_slow",
    "    slli.d      $t1, $a0, {slot_bits}",
    "    ldx.d       $t1, $t1, $t2",                 // word 0 of the slot
    "    slli.d      $t3, $a2, {slot_bits}",
    "    ldx.d       $t2, $t3, $t2",
    "    andi        $t3, $t1, {receivable}",
    "    addi.d      $t3, $t3, -{receivable}",
    "    bnez        $t3, bixi_hot_slow",
    "    andi        $t3, $t2, {reply_mask}",
    "    addi.d      $t3, $t3, -{reply_tag}",
    "    bnez        $t3, bixi_hot_slow",
    "    bstrpick.d  $t3, $a1, 15, 0",
    "    sltui       $t3, $t3, {words} + 1",
    "    beqz        $t3, bixi_hot_slow",
    "    bstrins.d   $t1, $zero, 5, 0",              // endpoint
    "    bstrins.d   $t2, $zero, 5, 0",              // reply
    "    ld.d        $t3, $t1, {ep_head}",
    "    ld.d        $t4, $t0, {notification_pending}",
    "    or          $t3, $t3, $t4",
    "    bnez        $t3, bixi_hot_slow",
    "    ld.d        $t6, $t0, {sched_context}",
    "    ld.d        $t4, $t2, {reply_sc}",
    "    bne         $t6, $t4, bixi_hot_slow",       // else the caller is there and waits
    "    ld.d        $t3, $t2, {reply_thread}",      // caller
    "    ld.d        $t4, $t3, {hot}",
    "    ld.d        $t5, $t0, {home}",
    "    bne         $t4, $t5, bixi_hot_slow",
    "    csrrd       $t4, {ks0}",
    "    ld.d        $t4, $t4, {top_ready}",
    "    ld.d        $t5, $t3, {priority}",
    "    bltu        $t5, $t4, bixi_hot_slow",
    "    ld.d        $t4, $t3, {vspace}",
    "    ld.d        $t5, $t4, {hardware_asid}",
    "    beqz        $t5, bixi_hot_slow",
    // Committed: the Reply leaves the context's stack and waits with the server again.
    "    ld.d        $t4, $t4, {root_address}",
    "    ld.d        $r21, $t2, {reply_previous}",
    "    st.d        $r21, $t6, {sc_reply}",
    "    beqz        $r21, 1f",
    "    st.d        $zero, $r21, {reply_next}",
    "    st.d        $t6, $r21, {reply_sc}",
    "    st.d        $zero, $t2, {reply_previous}",
    "1:  st.d        $zero, $t2, {reply_sc}",
    "    st.d        $t0, $t2, {reply_thread}",
    "    addi.d      $t2, $t2, {receiving}",
    "    st.d        $t2, $t0, {state}",
    "    st.d        $t1, $t0, {blocked_on}",
    "    addi.d      $t2, $t0, {one_receiver}",
    "    st.d        $t2, $t1, {ep_head}",
    "    st.d        $zero, $t3, {state}",
    // The context goes back.
    "    st.d        $t3, $t6, {sc_thread}",
    "    st.d        $t6, $t3, {sched_context}",
    "    st.d        $zero, $t0, {sched_context}",
    "    move        $a0, $zero",
    "    bixi_hot_switch",
    ".globl bixi_hot_end",
    "bixi_hot_end:",
    ".popsection",
    era = const ERA.number(),
    pgdl = const PGDL.number(),
    asid = const ASID.number(),
    euen_register = const EUEN.number(),
    ks0 = const KS0.number(),
    pc = const saved(register::PC),
    sp = const saved(register::SP),
    tls_base = const offset_of!(Tcb, tls_base),
    fp = const saved(register::FP),
    s8 = const saved(register::S8),
    euen = const offset_of!(Tcb, euen),
    reply_recv = const Syscall::ReplyRecv.raw(),
    receivable = const tag::RECEIVABLE,
    reply_mask = const REPLY_MASK,
    reply_tag = const tag::REPLY,
    notification_pending = const offset_of!(Tcb, notification_pending),
    top_ready = const offset_of!(Core, top_ready),
    blocked_on = const offset_of!(Tcb, blocked_on),
    vector = const VECTOR_BYTES,
    call = const Syscall::Call.raw(),
    ks1 = const KS1.number(),
    cspace_size = const offset_of!(Tcb, cspace_size),
    cspace_base = const offset_of!(Tcb, cspace_base),
    slot_bits = const abi::object::SLOT_BITS,
    slot_object = const offset_of!(Slot, object),
    slot_data = const offset_of!(Slot, data),
    callable = const tag::CALLABLE,
    words = const REGISTER_WORDS,
    grant = const GRANT,
    ep_head = const offset_of!(Endpoint, head),
    one_receiver = const ONE_RECEIVER,
    receiving = const RECEIVING,
    calling = const CALLING,
    hot = const offset_of!(Tcb, hot),
    home = const offset_of!(Tcb, home),
    priority = const offset_of!(Tcb, priority),
    vspace = const offset_of!(Tcb, vspace),
    state = const offset_of!(Tcb, state),
    sched_context = const offset_of!(Tcb, sched_context),
    hardware_asid = const offset_of!(VSpace, hardware_asid),
    root_address = const offset_of!(VSpace, root_address),
    sc_reply = const offset_of!(SchedContext, reply),
    sc_thread = const offset_of!(SchedContext, thread),
    reply_thread = const offset_of!(Reply, thread),
    reply_sc = const offset_of!(Reply, sched_context),
    reply_previous = const offset_of!(Reply, previous),
    reply_next = const offset_of!(Reply, next),
    reply_can_grant = const offset_of!(Reply, can_grant),
);
