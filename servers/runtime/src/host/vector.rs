//! The vector file: the one place of a host with floating-point and vector instructions (C-30).
//!
//! The unit is the current context's while its host runs, so these routines move the program's own registers, straight
//! to its memory and back, in the form of Linux's signal frames: 32 registers of the width, the condition flags a
//! byte each, FCSR0 (uapi/asm/sigcontext.h). A unit that is not enabled is enabled by the trap, with the context's state.
//! They may fault in the program's memory as those of [`super::copy`], use `$a0`, `$a1` and `$t0` to `$t2`, and
//! are called as its short ones.

#![cfg_attr(
    target_arch = "loongarch64",
    expect(unsafe_code, reason = "every register of the unit, in assembly")
)]

use super::copy::Remaining;
use abi::context::Width;

/// FCSR0's TM, which a program has only through binary translation's unit. What else the machine has not, it drops
/// itself, or keeps as Linux on it does.
const TRANSLATION_MODE: u32 = 6;
/// Where FCSR0's cause begins; its bits stand in the order of the enables.
const CAUSE_SHIFT: u32 = 24;
/// How many enables and causes there are.
const CAUSES: u32 = 5;

/// Bytes of a width's registers.
const fn register_bytes(width: Width) -> usize {
    32 * 8 * width.lanes()
}

/// Bytes of a record: registers, condition flags, FCSR0.
pub const fn record_bytes(width: Width) -> usize {
    register_bytes(width) + 8 + 4
}

macro_rules! each_register {
    ($instruction:literal, $bytes:literal) => {
        concat!(
            ".irp number, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n",
            $instruction,
            ", $a0, ",
            $bytes,
            " * \\number\n",
            ".endr\n"
        )
    };
}

core::arch::global_asm!(
    ".pushsection .text.bixi_host_vector, \"ax\", @progbits",
    ".globl bixi_vector_file",
    "bixi_vector_file:",
    // fn(record) -> failed.
    ".globl bixi_vector_save_fp",
    "bixi_vector_save_fp:",
    each_register!("fst.d $f\\number", "8"),
    "addi.d $a0, $a0, {fp}",
    "b 1f",
    ".globl bixi_vector_save_lsx",
    "bixi_vector_save_lsx:",
    each_register!("vst $vr\\number", "16"),
    "addi.d $a0, $a0, {lsx}",
    "b 1f",
    ".globl bixi_vector_save_lasx",
    "bixi_vector_save_lasx:",
    each_register!("xvst $xr\\number", "32"),
    "addi.d $a0, $a0, {lasx}",
    "1: move $t0, $zero",
    ".irp number, 0,1,2,3,4,5,6,7",
    "movcf2gr $t1, $fcc\\number",
    "bstrins.d $t0, $t1, 8 * \\number + 7, 8 * \\number",
    ".endr",
    "st.d $t0, $a0, 0",
    "movfcsr2gr $t0, $fcsr0",
    "st.w $t0, $a0, 8",
    "move $a0, $zero",
    "move $a1, $zero",
    "jirl $zero, $ra, 0",
    // fn(record) -> (failed, causes that were enabled and are cleared).
    ".globl bixi_vector_load_fp",
    "bixi_vector_load_fp:",
    each_register!("fld.d $f\\number", "8"),
    "addi.d $a0, $a0, {fp}",
    "b 2f",
    ".globl bixi_vector_load_lsx",
    "bixi_vector_load_lsx:",
    each_register!("vld $vr\\number", "16"),
    "addi.d $a0, $a0, {lsx}",
    "b 2f",
    ".globl bixi_vector_load_lasx",
    "bixi_vector_load_lasx:",
    each_register!("xvld $xr\\number", "32"),
    "addi.d $a0, $a0, {lasx}",
    "2: ld.wu $t2, $a0, 8",
    "ld.d $t0, $a0, 0",
    ".irp number, 0,1,2,3,4,5,6,7",
    "bstrpick.d $t1, $t0, 8 * \\number, 8 * \\number",
    "movgr2cf $fcc\\number, $t1",
    ".endr",
    "bstrins.d $t2, $zero, {translation}, {translation}",
    "srli.d $a1, $t2, {cause}",
    "and $a1, $a1, $t2",
    "bstrpick.d $a1, $a1, {causes} - 1, 0",
    "slli.d $t0, $a1, {cause}",
    "andn $t2, $t2, $t0",
    "movgr2fcsr $fcsr0, $t2",
    "move $a0, $zero",
    "jirl $zero, $ra, 0",
    // fn() -> fcsr, whose causes (bits 28:24) are cleared in the unit.
    "bixi_vector_take_causes:",
    "movfcsr2gr $a0, $fcsr0",
    "move $t0, $a0",
    "bstrins.d $t0, $zero, 28, 24",
    "movgr2fcsr $fcsr0, $t0",
    "jirl $zero, $ra, 0",
    ".globl bixi_vector_file_end",
    "bixi_vector_file_end:",
    "bixi_vector_failed:",
    "ori $a0, $zero, 1",
    "jirl $zero, $ra, 0",
    ".popsection",
    fp = const register_bytes(Width::Fp),
    lsx = const register_bytes(Width::Lsx),
    lasx = const register_bytes(Width::Lasx),
    translation = const TRANSLATION_MODE,
    cause = const CAUSE_SHIFT,
    causes = const CAUSES,
);

unsafe extern "C" {
    fn bixi_vector_file();
    fn bixi_vector_file_end();
    fn bixi_vector_failed();
    fn bixi_vector_take_causes() -> u64;
    fn bixi_vector_save_fp();
    fn bixi_vector_save_lsx();
    fn bixi_vector_save_lasx();
    fn bixi_vector_load_fp();
    fn bixi_vector_load_lsx();
    fn bixi_vector_load_lasx();
}

/// Calls a routine with a record: whether it failed, and causes. For [`save`] and [`load`], whose callers promise what it
/// needs.
macro_rules! routine {
    ($routine:ident, $record:expr) => {{
        let (failed, causes): (u64, u64);
        // SAFETY: as the callers promise; a fault in the program's half is handled by `fix_up`. The routine changes what
        // is named here, and the unit if it loads; a fault in it, `$t5` to `$t8` too.
        unsafe {
            core::arch::asm!(
                "bl {routine}",
                routine = sym $routine,
                inlateout("$a0") $record => failed,
                lateout("$a1") causes,
                out("$t0") _, out("$t1") _, out("$t2") _,
                out("$ra") _, out("$t5") _, out("$t6") _, out("$t7") _, out("$t8") _,
            );
        }
        (failed, causes)
    }};
}

/// Code that a fault in the routines leads to; its addresses, as [`super::copy::fix_up`] wants them.
pub(super) const FAULTS: (unsafe extern "C" fn(), unsafe extern "C" fn(), unsafe extern "C" fn()) =
    (bixi_vector_file, bixi_vector_file_end, bixi_vector_failed);

/// Answers the current context's fcsr, and clears its causes: otherwise what was enabled would trap again as soon as
/// the register is written back.
///
/// # Safety
/// A context is current.
pub unsafe fn take_causes() -> u64 {
    // SAFETY: the routine touches nothing but the unit, which is the current context's here too (C-30).
    unsafe { bixi_vector_take_causes() }
}

/// Writes the current context's unit to a record in its program's memory.
///
/// # Errors
/// The record could not be written in whole.
///
/// # Safety
/// `record` and [`record_bytes`] from it on are checked to lie below 2^47; a context is current.
#[inline]
pub unsafe fn save(width: Width, record: u64) -> Result<(), Remaining> {
    let answer = match width {
        Width::None => return Ok(()),
        Width::Fp => routine!(bixi_vector_save_fp, record),
        Width::Lsx => routine!(bixi_vector_save_lsx, record),
        Width::Lasx => routine!(bixi_vector_save_lasx, record),
    };
    done(answer, width).map(drop)
}

/// Loads the current context's unit from a record in its program's memory; answers which exceptions' causes stood
/// in its FCSR0 with their enables, and were cleared (Linux sends SIGFPE for them).
///
/// # Errors
/// The record could not be read in whole: some of the registers are those of the record.
///
/// # Safety
/// As [`save`].
#[inline]
pub unsafe fn load(width: Width, record: u64) -> Result<u64, Remaining> {
    let answer = match width {
        Width::None => return Ok(0),
        Width::Fp => routine!(bixi_vector_load_fp, record),
        Width::Lsx => routine!(bixi_vector_load_lsx, record),
        Width::Lasx => routine!(bixi_vector_load_lasx, record),
    };
    done(answer, width)
}

#[inline]
const fn done((failed, causes): (u64, u64), width: Width) -> Result<u64, Remaining> {
    if failed == 0 { Ok(causes) } else { Err(Remaining(record_bytes(width) as u64)) }
}
