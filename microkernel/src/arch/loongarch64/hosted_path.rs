//! The hosted path: from a program to its host and back, inside the vector table of hosts (C-13, C-23 to C-28).
//!
//! It follows the hot path's rules and lies in its section (C-12): interrupts off, no lock, no user pointer,
//! nothing but the guest's own registers. PRMD tells who trapped: 7 is a program (PLV3), 6 its host (PLV2).
//!
//! | trap | from a program | from its host |
//! | --- | --- | --- |
//! | system call | to the host's entry, 8 instructions | Switch, EnterFull here; other calls go on in `trap` |
//! | break | a fault | Enter, 11 instructions |
//! | interrupt | registers to the current context, then `trap` | as an ordinary thread's |
//! | other exception | registers to the current context, then the host's entry for faults | as an ordinary thread's |
//!
//! While a program runs its host's thread has a current context, because nothing takes that away but the
//! kernel's slow path, and a thread that lost it does not go on. What Enter must not do is in one word of the
//! Tcb, `host_pending`; Switch tests that the context exists, has a space and is current for nobody (one word says both, `FREE`),
//! and that its space has a hardware identifier. Whatever else is the case goes on in the slow path (`object::host::call`).
//!
//! An exception reads BADV and BADI, which C-12 does not list, so its way is in `hosted_fault`.
#![expect(unsafe_code, reason = "the hosted path is assembly")]

use core::arch::global_asm;
use core::mem::offset_of;

use abi::context::{Context, ENTRY_BITS};
use abi::{MessageInfo, Syscall};

use super::hot_path::VECTOR_BYTES;
use super::registers::{ASID, ERA, EUEN, KS1, KS2, KS3, KS4, PGDL, PRMD};
use crate::capability::cap::{Slot, tag};
use crate::kernel::MAX_CORES;
use crate::object::host::{FREE, Host, HostedContext, entry, pending};
use crate::object::thread::Tcb;
use crate::object::vspace::VSpace;

/// PRMD of a host: PLV2, interrupts on.
pub const HOST_PRMD: u64 = 6;
/// PRMD of a program: PLV3, interrupts on.
pub const PROGRAM_PRMD: u64 = 7;

/// With a second core, Switch has to refuse a context whose state is in another core's vector unit (C-30).
const _: () = assert!(MAX_CORES == 1);
const _: () = assert!(Syscall::EnterFull.raw() == Syscall::Switch.raw() + 1);
const _: () = assert!(offset_of!(Context, registers) == 0);
// `$a7` stands for FREE; in the header, where a context has `current`, is the upper half's slot: its data is 0.
const _: () = assert!(FREE == Syscall::Switch.raw());
const _: () = assert!(offset_of!(HostedContext, current) == offset_of!(Host, upper) + offset_of!(Slot, data));
/// What Switch answers: the kernel's success.
const SUCCESS: u64 = MessageInfo::from_kernel(0, 0).raw();
const _: () = assert!(SUCCESS.is_multiple_of(4096));

/// Stores every general register to the current context. The program's `$t0` is in KS4, its pc in ERA; `$t0`
/// is the context's address then.
macro_rules! save_program {
    () => {
        "
        csrrd       $t0, {ks1}
        ld.d        $t0, $t0, {hosted}
        ld.d        $t0, $t0, {context}
        .irp number, 1,2,3,4,5,6,7,8,9,10,11,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        st.d        $r\\number, $t0, 8 * \\number
        .endr
        csrrd       $t1, {ks4}
        st.d        $t1, $t0, 8 * 12
        csrrd       $t1, {era}
        st.d        $t1, $t0, 0
        "
    };
}
pub(super) use save_program;

/// Goes on at one of the host's entries; changes `$t0` and `$t1` alone.
macro_rules! go_to_host {
    ($entry:literal) => {
        concat!(
            "
            csrrd       $t1, {ks1}
            ld.d        $t1, $t1, {entries} + 8 * ",
            $entry,
            "
            csrwr       $t1, {era}
            ori         $t1, $zero, {host_prmd}
            csrwr       $t1, {prmd}
            csrrd       $t0, {ks2}
            ertn
            "
        )
    };
}
pub(super) use go_to_host;

global_asm!(
    ".pushsection .text.hosted_path, \"ax\"",
    ".balign 65536",
    ".globl bixi_hosted_vectors",
    "bixi_hosted_vectors:",
    // Exceptions 0x1 to 0xa; 0x0 is not used with vectored interrupts.
    ".set bixi_vector, 0",
    ".rept 11",
    "    .org bixi_hosted_vectors + {vector} * bixi_vector",
    "    b           bixi_hosted_exception",
    "    .set bixi_vector, bixi_vector + 1",
    ".endr",

    // 0xb: a system call. The exchange of PRMD changes nothing for a host.
    ".org bixi_hosted_vectors + {vector} * 0xb",
    ".globl bixi_hosted_call",
    "bixi_hosted_call:",
    "    ori         $t2, $zero, {host_prmd}",
    "    csrwr       $t2, {prmd}",
    "    addi.d      $t2, $t2, -{program_prmd}",
    "    bnez        $t2, bixi_own_call",
    "    csrrd       $t1, {ks3}",
    "    csrwr       $t1, {era}",
    "    csrrd       $t0, {ks2}",
    "    ertn",

    // A host's own call: Switch first, then EnterFull; `$t0` is an argument of others.
    "bixi_own_call:",
    "    addi.d      $t1, $a7, -{switch}",
    "    bnez        $t1, bixi_enter_full",
    "    csrrd       $t0, {ks1}",
    "    ld.d        $t1, $t0, {context_count}",
    "    bgeu        $a0, $t1, bixi_switch_slow",
    "    ld.d        $t2, $t0, {host}",
    "    slli.d      $t1, $a0, {entry_bits}",
    "    add.d       $t1, $t1, $t2",                 // the context
    "    ld.d        $t2, $t1, {current}",
    "    bne         $t2, $a7, bixi_switch_slow",    // not `FREE`; nor is the header's
    "    ld.d        $t3, $t1, {space}",             // its space, with the tag
    "    ld.d        $t2, $t3, {hardware_asid} - {vspace_tag}",
    "    beqz        $t2, bixi_switch_slow",
    // Committed.
    "    csrwr       $t2, {asid}",
    "    ld.d        $t2, $t3, {root_address} - {vspace_tag}",
    "    csrwr       $t2, {pgdl}",
    "    ld.d        $t2, $t0, {hosted}",            // the context that was current
    "    st.d        $a7, $t2, {current}",
    "    st.d        $t0, $t1, {current}",
    "    st.d        $t1, $t0, {hosted}",
    "    ld.d        $t0, $t1, {euen}",
    "    csrwr       $t0, {euen_register}",
    "    csrrd       $t0, {era}",
    "    addi.d      $t0, $t0, 4",
    "    csrwr       $t0, {era}",
    "    lu12i.w     $a1, {success}",
    "    move        $t1, $zero",
    "    move        $t2, $zero",
    "    move        $t3, $zero",
    "    ertn",

    // 0xc: break. From a host it is Enter: `$t1` is the program's pc, the other registers are the program's.
    // The exchange of PRMD changes nothing for a program.
    ".org bixi_hosted_vectors + {vector} * 0xc",
    ".globl bixi_hosted_break",
    "bixi_hosted_break:",
    "    csrwr       $t0, {ks4}",
    "    ori         $t0, $zero, {program_prmd}",
    "    csrwr       $t0, {prmd}",
    "    addi.d      $t0, $t0, -{host_prmd}",
    "    bnez        $t0, bixi_program_exception",
    "    csrrd       $t0, {ks1}",
    "    ld.d        $t0, $t0, {host_pending}",
    "    bnez        $t0, 1f",
    "    csrwr       $t1, {era}",
    "    move        $t1, $zero",
    "    ertn",
    // A kick: as if the interrupt had come at the program's first instruction (C-24). `$t0` and `$t1` are what
    // Enter leaves in them.
    "1:  andi        $t0, $t0, {no_context}",
    "    bnez        $t0, 2f",
    "    csrwr       $t0, {ks4}",
    "    csrwr       $t1, {era}",
    "    move        $t1, $zero",
    save_program!(),
    go_to_host!("{interrupted}"),
    // There is no program: the break is a fault of the host's.
    "2:  ori         $t0, $zero, {host_prmd}",
    "    csrwr       $t0, {prmd}",
    "    move        $t0, $zero",
    "    b           bixi_slow_exception",

    // 0xd and on: exceptions.
    ".set bixi_vector, 0xd",
    ".rept 0x40 - 0xd",
    "    .org bixi_hosted_vectors + {vector} * bixi_vector",
    "    b           bixi_hosted_exception",
    "    .set bixi_vector, bixi_vector + 1",
    ".endr",
    // 64 and on: interrupt lines.
    ".rept 15",
    "    .org bixi_hosted_vectors + {vector} * bixi_vector",
    "    b           bixi_hosted_interrupt",
    "    .set bixi_vector, bixi_vector + 1",
    ".endr",

    // Behind the table: EnterFull.
    ".org bixi_hosted_vectors + {vector} * 80",
    ".globl bixi_enter_full",
    "bixi_enter_full:",
    "    addi.d      $t1, $t1, -1",
    "    bnez        $t1, bixi_hosted_slow",
    "    bnez        $a0, bixi_hosted_slow",
    "    csrrd       $t0, {ks1}",
    "    ld.d        $t1, $t0, {host_pending}",
    "    bnez        $t1, 3f",
    "    ld.d        $t0, $t0, {hosted}",
    "    ld.d        $t0, $t0, {context}",
    "    ld.d        $t1, $t0, 0",
    "    csrwr       $t1, {era}",
    "    ori         $t1, $zero, {program_prmd}",
    "    csrwr       $t1, {prmd}",
    ".irp number, 1,2,3,4,5,6,7,8,9,10,11,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "    ld.d        $r\\number, $t0, 8 * \\number",
    ".endr",
    "    ld.d        $t0, $t0, 8 * 12",
    "    ertn",
    // A kick: the program's registers are in its context already.
    "3:  andi        $t1, $t1, {no_context}",
    "    bnez        $t1, bixi_switch_slow",
    go_to_host!("{interrupted}"),

    "bixi_switch_slow:",
    "    move        $t0, $zero",
    "    b           bixi_hosted_slow",

    ".globl bixi_hosted_interrupt",
    "bixi_hosted_interrupt:",
    "    csrwr       $t0, {ks4}",
    "    csrrd       $t0, {prmd}",
    "    andi        $t0, $t0, 1",
    "    beqz        $t0, 4f",
    save_program!(),
    "    b           bixi_program_interrupted",
    "4:  csrrd       $t0, {ks4}",
    "    b           bixi_slow_interrupt",
    ".globl bixi_hosted_end",
    "bixi_hosted_end:",
    ".popsection",
    vector = const VECTOR_BYTES,
    host_prmd = const HOST_PRMD,
    program_prmd = const PROGRAM_PRMD,
    prmd = const PRMD.number(),
    era = const ERA.number(),
    pgdl = const PGDL.number(),
    asid = const ASID.number(),
    euen_register = const EUEN.number(),
    ks1 = const KS1.number(),
    ks2 = const KS2.number(),
    ks3 = const KS3.number(),
    ks4 = const KS4.number(),
    switch = const Syscall::Switch.raw(),
    success = const SUCCESS >> 12,
    context_count = const offset_of!(Tcb, context_count),
    host = const offset_of!(Tcb, host),
    hosted = const offset_of!(Tcb, hosted),
    host_pending = const offset_of!(Tcb, host_pending),
    entries = const offset_of!(Tcb, host_entries),
    interrupted = const entry::INTERRUPTED,
    no_context = const pending::NO_CONTEXT,
    entry_bits = const ENTRY_BITS,
    current = const offset_of!(HostedContext, current),
    space = const offset_of!(HostedContext, space) + offset_of!(Slot, object),
    euen = const offset_of!(HostedContext, euen),
    context = const offset_of!(HostedContext, context),
    vspace_tag = const tag::VSPACE,
    hardware_asid = const offset_of!(VSpace, hardware_asid),
    root_address = const offset_of!(VSpace, root_address),
);
