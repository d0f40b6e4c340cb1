//! Programs: a few instructions each, that run wherever they are put and touch no memory but what a register
//! leads to.

#![expect(unsafe_code, reason = "assembly that is copied")]

use core::mem::offset_of;

use super::super::frame::Frame;

/// Where [`Program::Yielding`] makes its call.
pub(crate) const YIELDING_CALL: u64 = 16;

/// A program's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// Makes call `$s0`, `$s2` times between marks with label `$s1`, then call 400; for ever.
    Measured,
    /// Makes call `$s0`, a mark with label `$s1` before it, one that stops behind it; `$s2` times, then call 400.
    Yielding,
    /// The same as [`Self::Measured`] with a break instead of a call.
    Breaking,
    /// The same with a load from `$s0`.
    Loading,
    /// Fills all registers from a frame at `$a0`, calls, and stores them all there; then call 401.
    AllRegisters,
    /// Counts in `$s0` for ever; what else it has in registers stays.
    Spin,
    /// One instruction at its first word, which the director writes; then call 402.
    Instruction,
    /// Makes call `$a7`, then call 403; for ever.
    Calls,
    /// Loads FP registers and flags from `$a0`, and compares them for ever with what is there: an odd bit ends it
    /// with call 404; `$s0` counts.
    Fp,
    /// The same with LSX registers.
    Lsx,
    /// The same with LASX registers.
    Lasx,
    /// Stores all LASX registers, flags and FCSR0 to `$a0` as its first instructions; then call 405.
    FirstLasx,
}

core::arch::global_asm!(
    ".pushsection .text.bixi_guest_programs, \"ax\", @progbits",
    ".globl bixi_program_measured",
    "bixi_program_measured:",
    "1: move $s3, $s2",
    "2: move $a0, $s1",
    "ori $a1, $zero, 1",
    "move $a7, $s0",
    "ori $zero, $zero, 0x5A1",
    "syscall 0",
    "ori $zero, $zero, 0x5A2",
    "addi.d $s3, $s3, -1",
    "bnez $s3, 2b",
    "ori $a7, $zero, 400",
    "syscall 0",
    "b 1b",

    ".globl bixi_program_breaking",
    "bixi_program_breaking:",
    "1: move $s3, $s2",
    "2: move $a0, $s1",
    "ori $a1, $zero, 1",
    "ori $zero, $zero, 0x5A1",
    "break 1",
    "ori $zero, $zero, 0x5A2",
    "addi.d $s3, $s3, -1",
    "bnez $s3, 2b",
    "ori $a7, $zero, 400",
    "syscall 0",
    "b 1b",

    ".globl bixi_program_loading",
    "bixi_program_loading:",
    "1: move $s3, $s2",
    "2: move $a0, $s1",
    "ori $a1, $zero, 1",
    "ori $zero, $zero, 0x5A1",
    "ld.d $t0, $s0, 0",
    "ori $zero, $zero, 0x5A2",
    "addi.d $s3, $s3, -1",
    "bnez $s3, 2b",
    "ori $a7, $zero, 400",
    "syscall 0",
    "b 1b",

    ".globl bixi_program_yielding",
    "bixi_program_yielding:",
    "1: move $a0, $s1",
    "ori $a1, $zero, 1",
    "move $a7, $s0",
    "ori $zero, $zero, 0x5A1",
    "syscall 0",
    "ori $zero, $zero, 0x5A2",
    "addi.d $s2, $s2, -1",
    "bnez $s2, 1b",
    "ori $a7, $zero, 400",
    "syscall 0",
    "b 1b",

    // `$r21` is filled too: nobody but the kernel looks at it. Nothing is kept; what leads to the frame is `$a0`
    // before and `$s8` behind.
    ".globl bixi_program_all_registers",
    "bixi_program_all_registers:",
    "1: move $s8, $a0",
    ".irp number, 1,2,3,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30",
    "ld.d $r\\number, $s8, 8 * \\number",
    ".endr",
    "ld.d $a0, $s8, 8 * 4",
    "syscall 0",
    ".irp number, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "st.d $r\\number, $s8, {output} + 8 * \\number",
    ".endr",
    "ori $a7, $zero, 401",
    "syscall 0",
    "move $a0, $s8",
    "b 1b",

    ".globl bixi_program_spin",
    "bixi_program_spin:",
    "1: addi.d $s0, $s0, 1",
    "b 1b",

    ".globl bixi_program_instruction",
    "bixi_program_instruction:",
    "nop",
    "ori $a7, $zero, 402",
    "syscall 0",
    "b bixi_program_instruction",

    ".globl bixi_program_calls",
    "bixi_program_calls:",
    "1: move $s0, $a7",
    "syscall 0",
    "ori $a7, $zero, 403",
    "syscall 0",
    "b 1b",

    ".globl bixi_program_fp",
    "bixi_program_fp:",
    ".irp number, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "fld.d $f\\number, $a0, 32 * \\number",
    ".endr",
    "ld.d $t0, $a0, 1024",
    "movgr2fcsr $fcsr0, $t0",
    "ori $t1, $zero, 1",
    "movgr2cf $fcc5, $t1",
    "1: addi.d $s0, $s0, 1",
    ".irp number, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "movfr2gr.d $t0, $f\\number",
    "ld.d $t1, $a0, 32 * \\number",
    "bne $t0, $t1, 2f",
    ".endr",
    "movfcsr2gr $t0, $fcsr0",
    "ld.d $t1, $a0, 1024",
    "bne $t0, $t1, 2f",
    "movcf2gr $t0, $fcc5",
    "bnez $t0, 1b",
    "2: ori $a7, $zero, 404",
    "syscall 0",
    "b 2b",

    ".globl bixi_program_lsx",
    "bixi_program_lsx:",
    ".irp number, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "vld $vr\\number, $a0, 32 * \\number",
    ".endr",
    "1: addi.d $s0, $s0, 1",
    ".irp number, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "vpickve2gr.d $t0, $vr\\number, 0",
    "ld.d $t1, $a0, 32 * \\number",
    "bne $t0, $t1, 2f",
    "vpickve2gr.d $t0, $vr\\number, 1",
    "ld.d $t1, $a0, 32 * \\number + 8",
    "bne $t0, $t1, 2f",
    ".endr",
    "b 1b",
    "2: ori $a7, $zero, 404",
    "syscall 0",
    "b 2b",

    ".globl bixi_program_lasx",
    "bixi_program_lasx:",
    ".irp number, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "xvld $xr\\number, $a0, 32 * \\number",
    ".endr",
    "1: addi.d $s0, $s0, 1",
    ".irp number, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    ".irp lane, 0,1,2,3",
    "xvpickve2gr.d $t0, $xr\\number, \\lane",
    "ld.d $t1, $a0, 32 * \\number + 8 * \\lane",
    "bne $t0, $t1, 2f",
    ".endr",
    ".endr",
    "b 1b",
    "2: ori $a7, $zero, 404",
    "syscall 0",
    "b 2b",

    ".globl bixi_program_first_lasx",
    "bixi_program_first_lasx:",
    "1:",
    ".irp number, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "xvst $xr\\number, $a0, 32 * \\number",
    ".endr",
    "movfcsr2gr $t0, $fcsr0",
    "st.d $t0, $a0, 1024",
    "move $t1, $zero",
    ".irp number, 0,1,2,3,4,5,6,7",
    "movcf2gr $t0, $fcc\\number",
    "bstrins.d $t1, $t0, 8 * \\number + 7, 8 * \\number",
    ".endr",
    "st.d $t1, $a0, 1032",
    "move $s0, $a0",
    "ori $a7, $zero, 405",
    "syscall 0",
    "move $a0, $s0",
    "b 1b",
    ".globl bixi_program_end",
    "bixi_program_end:",
    ".popsection",
    output = const offset_of!(Frame, output),
);

const _: () = assert!(offset_of!(Frame, input) == 0);

unsafe extern "C" {
    static bixi_program_measured: u32;
    static bixi_program_breaking: u32;
    static bixi_program_loading: u32;
    static bixi_program_yielding: u32;
    static bixi_program_all_registers: u32;
    static bixi_program_spin: u32;
    static bixi_program_instruction: u32;
    static bixi_program_calls: u32;
    static bixi_program_fp: u32;
    static bixi_program_lsx: u32;
    static bixi_program_lasx: u32;
    static bixi_program_first_lasx: u32;
    static bixi_program_end: u32;
}

impl Program {
    /// Its instructions, and perhaps those of programs that follow.
    pub(crate) fn words(self) -> impl Iterator<Item = u32> {
        let start = match self {
            Self::Measured => &raw const bixi_program_measured,
            Self::Breaking => &raw const bixi_program_breaking,
            Self::Loading => &raw const bixi_program_loading,
            Self::Yielding => &raw const bixi_program_yielding,
            Self::AllRegisters => &raw const bixi_program_all_registers,
            Self::Spin => &raw const bixi_program_spin,
            Self::Instruction => &raw const bixi_program_instruction,
            Self::Calls => &raw const bixi_program_calls,
            Self::Fp => &raw const bixi_program_fp,
            Self::Lsx => &raw const bixi_program_lsx,
            Self::Lasx => &raw const bixi_program_lasx,
            Self::FirstLasx => &raw const bixi_program_first_lasx,
        };
        let words = (&raw const bixi_program_end).addr().saturating_sub(start.addr()) / 4;
        // SAFETY: the programs lie side by side in this file's section, up to `bixi_program_end`.
        unsafe { core::slice::from_raw_parts(start, words) }.iter().copied()
    }
}
