//! Exceptions of programs: every register, and what the machine says of the cause, to the current context;
//! then the host's entry for faults (C-25).
//!
//! Two kinds are looked at first, because the program may go on without its host: a page that is only hidden
//! (C-22), and a vector unit that is not enabled yet (C-30). The walk for the former is assembly, and Rust is
//! asked only where the tables have a page: a program's first touch of a page is no time to lose. Assembly beside `hosted_path`, whose
//! macros it shares; it reads BADV and BADI, so it is not part of the section that C-12 is checked on.
#![expect(unsafe_code, reason = "entry code is assembly, and hands the kernel's state to Rust")]

use core::arch::global_asm;
use core::mem::offset_of;

use abi::context::Context;

use super::hosted_path::{HOST_PRMD, go_to_host, save_program};
use super::paging::{self, entry as entry_bit};
use super::registers::{ASID, BADI, BADV, ERA, ESTAT, KS0, KS1, KS2, KS4, PGDL, PRMD, exception};
use super::trap::{self, BoardKernel};
use crate::address::WINDOW_BASE;
use crate::entry as core_entry;
use crate::kernel::Core;
use crate::object::host::{HostedContext, entry};
use crate::object::thread::{Exit, Tcb};

/// Ecodes from load invalid to fetch invalid; 0 is no exception's.
const INVALID_END: u64 = exception::FETCH_INVALID + 1;
const _: () = assert!(exception::LOAD_INVALID == 1);
/// What `lu52i.d` makes [`WINDOW_BASE`] of: its top twelve bits, as a signed number.
const WINDOW_TOP: i64 = WINDOW_BASE.cast_signed() >> 52;
const _: () = assert!((WINDOW_TOP << 52).cast_unsigned() == WINDOW_BASE);
// The walk in the assembly is of this shape.
const _: () = assert!(paging::PAGE_BITS == 14 && paging::INDEX_BITS == 11);
/// Ecodes of disabled units: FP, LSX, LASX.
const UNITS: u64 = exception::LASX_DISABLED + 1 - exception::FP_DISABLED;

global_asm!(
    ".pushsection .text.bixi_hosted_fault, \"ax\"",
    ".globl bixi_hosted_exception",
    "bixi_hosted_exception:",
    "    csrwr       $t0, {ks4}",
    "    csrrd       $t0, {prmd}",
    "    andi        $t0, $t0, 1",
    "    bnez        $t0, bixi_program_exception",
    // The host's own, or the kernel's.
    "    csrrd       $t0, {ks4}",
    "    b           bixi_slow_exception",

    // With the program's `$t0` in KS4.
    ".globl bixi_program_exception",
    "bixi_program_exception:",
    save_program!(),
    "    csrrd       $t1, {badv}",
    "    st.d        $t1, $t0, {fault_address}",
    "    csrrd       $t1, {badi}",
    "    bstrpick.d  $t1, $t1, 31, 0",
    "    st.d        $t1, $t0, {fault_instruction}",
    "    csrrd       $t1, {estat}",
    "    st.d        $t1, $t0, {cause}",
    "    bstrpick.d  $t1, $t1, 21, 16",
    "    sltui       $t0, $t1, {invalid_end}",
    "    bnez        $t0, bixi_program_page",
    "    addi.d      $t1, $t1, -{fp_disabled}",
    "    sltui       $t0, $t1, {units}",
    "    bnez        $t0, 1f",
    go_to_host!("{fault}"),

    // An invalid page: where the lower half's tables have none either, the host is told at once.
    "bixi_program_page:",
    "    csrrd       $t1, {badv}",
    "    bstrpick.d  $t0, $t1, 63, 47",
    "    bnez        $t0, 3f",
    "    lu52i.d     $t3, $zero, {window}",
    "    csrrd       $t0, {pgdl}",
    "    or          $t0, $t0, $t3",
    "    bstrpick.d  $t2, $t1, 46, 36",
    "    slli.d      $t2, $t2, 3",
    "    ldx.d       $t0, $t0, $t2",
    "    beqz        $t0, 2f",
    "    or          $t0, $t0, $t3",
    "    bstrpick.d  $t2, $t1, 35, 25",
    "    slli.d      $t2, $t2, 3",
    "    ldx.d       $t0, $t0, $t2",
    "    beqz        $t0, 2f",
    "    andi        $t2, $t0, {huge}",
    "    bnez        $t2, 1f",
    "    or          $t0, $t0, $t3",
    "    bstrpick.d  $t2, $t1, 24, 14",
    "    slli.d      $t2, $t2, 3",
    "    ldx.d       $t0, $t0, $t2",
    "    andi        $t2, $t0, {valid}",
    "    bnez        $t2, 1f",
    "2:  move        $t2, $zero",
    "    move        $t3, $zero",
    go_to_host!("{fault}"),
    // An address of no program's: it must hide no page of the host's.
    "3:  csrrd       $t0, {asid}",
    "    invtlb      0x6, $t0, $t1",
    go_to_host!("{fault}"),

    "1:  csrrd       $t0, {ks1}",
    "    ori         $t1, $zero, {program}",
    "    st.d        $t1, $t0, {exit}",
    "    csrrd       $t1, {ks0}",
    "    st.d        $t0, $t1, {current}",
    "    ld.d        $sp, $t1, {stack_top}",
    "    ld.d        $a0, $t1, {kernel}",
    "    move        $fp, $zero",
    "    move        $tp, $zero",
    "    la.pcrel    $ra, {enter}",
    "    jirl        $ra, $ra, 0",
    "    bnez        $a0, bixi_exit",
    // The host is told; nothing of the kernel's is left in a register.
    "    csrrd       $t0, {ks1}",
    "    st.d        $zero, $t0, {exit}",
    ".irp number, 1,2,3,4,5,6,7,8,9,10,11,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "    move        $r\\number, $zero",
    ".endr",
    go_to_host!("{fault}"),
    ".popsection",
    prmd = const PRMD.number(),
    era = const ERA.number(),
    estat = const ESTAT.number(),
    badv = const BADV.number(),
    badi = const BADI.number(),
    pgdl = const PGDL.number(),
    asid = const ASID.number(),
    window = const WINDOW_TOP,
    huge = const entry_bit::GLOBAL_OR_HUGE,
    valid = const entry_bit::VALID,
    ks0 = const KS0.number(),
    ks1 = const KS1.number(),
    ks2 = const KS2.number(),
    ks4 = const KS4.number(),
    host_prmd = const HOST_PRMD,
    hosted = const offset_of!(Tcb, hosted),
    context = const offset_of!(HostedContext, context),
    entries = const offset_of!(Tcb, host_entries),
    fault = const entry::FAULT,
    cause = const offset_of!(Context, cause),
    fault_address = const offset_of!(Context, fault_address),
    fault_instruction = const offset_of!(Context, fault_instruction),
    invalid_end = const INVALID_END,
    fp_disabled = const exception::FP_DISABLED,
    units = const UNITS,
    program = const Exit::Program as usize,
    exit = const offset_of!(Tcb, exit),
    current = const offset_of!(Core, current),
    stack_top = const offset_of!(Core, stack_top),
    kernel = const offset_of!(Core, scratch),
    enter = sym enter_program_exception,
);

/// 1: the program goes on; 0: the host is told.
extern "C" fn enter_program_exception(kernel: &mut BoardKernel) -> u64 {
    trap::begin(kernel);
    let exception = trap::read_exception();
    let goes_on =
        trap::is_only_hidden(&exception) || core_entry::handle_program_exception(kernel, &exception);
    u64::from(goes_on)
}
