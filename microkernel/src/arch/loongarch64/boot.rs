//! From the machine's entry to Rust: direct-mapped windows, own relocation, stack, then [`start_kernel`].
//!
//! Owns the entry point and the boot stack of the first core. The image is linked at 0 and runs wherever
//! it was loaded (page-aligned). It may be entered at its physical or at its window address, in direct
//! mode (QEMU's `-kernel`) or with paging on (firmware), with `$a0` = 1, `$a1` = the command line and
//! `$a2` = the EFI system table, both physical. Memory beyond the file's data is zero: every loader of an
//! ELF image does that.
//!
//! The order matters: the window comes first, then the jump into it, and only then CRMD. In direct mode
//! the upper bits of the program counter are ignored, so the jump is good in either mode; with paging
//! turned on first, a core entered at its physical address would fault at once.
#![expect(unsafe_code, reason = "the start of everything: assembly and linker symbols")]

use core::arch::global_asm;
use core::cell::UnsafeCell;

use super::firmware::Handover;
use super::power::{SLEEP_CONTROL, SOFT_OFF};
use super::registers::{CRMD, CRMD_KERNEL, DMW0, DMW1, DMW2, DMW3};
use super::window::{DEVICE_BASE, DEVICE_WINDOW, MEMORY_WINDOW};
use super::{cpu, selftest, start, uart};
use crate::address::WINDOW_BASE;
use crate::log_line;

/// Bytes of the first core's kernel stack.
pub const STACK_BYTES: usize = 64 * 1024;

/// Bytes of a relocation with addend (Elf64_Rela).
const RELOCATION_BYTES: usize = 24;

/// R_LARCH_RELATIVE (psABI): the base plus the addend.
const RELOCATION_RELATIVE: u32 = 3;

/// The power register, for a start that fails before Rust runs.
const POWER_REGISTER: u64 = DEVICE_BASE | SLEEP_CONTROL;

/// The log's transmitter, likewise.
const LOG_REGISTER: u64 = DEVICE_BASE | uart::LOG;

global_asm!(
    ".pushsection .text.bixi_start, \"ax\"",
    ".globl bixi_start",
    "bixi_start:",
    // The window of memory, then into it, in whatever mode this is.
    "    li.d        $t0, {memory_window}",
    "    csrwr       $t0, {dmw1}",
    "    la.pcrel    $t0, 1f",
    "    bstrpick.d  $t0, $t0, 47, 0",
    "    li.d        $t1, {memory_base}",
    "    or          $t0, $t0, $t1",
    "    jirl        $zero, $t0, 0",
    // The other windows, then paging on, interrupts off, cached.
    "1:  li.d        $t0, {device_window}",
    "    csrwr       $t0, {dmw0}",
    "    li.w        $t0, {crmd_kernel}",
    "    csrwr       $t0, {crmd}",
    "    move        $t0, $zero",
    "    csrwr       $t0, {dmw2}",
    "    move        $t0, $zero",
    "    csrwr       $t0, {dmw3}",
    // Apply the image's own relocations: {{offset, type, addend}}, all of them relative.
    "    la.pcrel    $t0, bixi_image_start",
    "    la.pcrel    $t1, bixi_relocations_start",
    "    la.pcrel    $t2, bixi_relocations_end",
    "    li.w        $t6, {relative}",
    "2:  bgeu        $t1, $t2, 3f",
    "    ld.d        $t3, $t1, 0",
    "    ld.d        $t4, $t1, 8",
    "    ld.d        $t5, $t1, 16",
    "    bne         $t4, $t6, 4f",
    "    add.d       $t3, $t3, $t0",
    "    add.d       $t5, $t5, $t0",
    "    st.d        $t5, $t3, 0",
    "    addi.d      $t1, $t1, {relocation_bytes}",
    "    b           2b",
    "3:  dbar        0",
    "    ibar        0",
    // A stack, no frame above, no thread; `$a0` to `$a2` are as they came.
    "    la.pcrel    $sp, {stack}",
    "    li.d        $t0, {stack_bytes}",
    "    add.d       $sp, $sp, $t0",
    "    move        $ra, $zero",
    "    move        $fp, $zero",
    "    move        $tp, $zero",
    "    move        $r21, $zero",
    "    b           {start_kernel}",
    // A relocation of another kind: the image was built wrongly. Says `R` on the log and stops.
    "4:  li.d        $t0, {log_register}",
    "    li.w        $t1, 'R'",
    "    st.b        $t1, $t0, 0",
    "    li.d        $t0, {power_register}",
    "    li.w        $t1, {soft_off}",
    "    st.b        $t1, $t0, 0",
    "5:  b           5b",
    ".popsection",
    memory_window = const MEMORY_WINDOW,
    memory_base = const WINDOW_BASE,
    device_window = const DEVICE_WINDOW,
    dmw0 = const DMW0.number(),
    dmw1 = const DMW1.number(),
    dmw2 = const DMW2.number(),
    dmw3 = const DMW3.number(),
    crmd = const CRMD.number(),
    crmd_kernel = const CRMD_KERNEL,
    relocation_bytes = const RELOCATION_BYTES,
    relative = const RELOCATION_RELATIVE,
    stack = sym BOOT_STACK,
    stack_bytes = const STACK_BYTES,
    start_kernel = sym start_kernel,
    log_register = const LOG_REGISTER,
    soft_off = const SOFT_OFF,
    power_register = const POWER_REGISTER,
);

/// The first core's kernel stack; it grows down from its end.
#[repr(C, align(16384))]
struct Stack([UnsafeCell<u8>; STACK_BYTES]);

// SAFETY: only the stack pointer of one core ever reaches the bytes.
unsafe impl Sync for Stack {}

static BOOT_STACK: Stack = Stack([const { UnsafeCell::new(0) }; STACK_BYTES]);

unsafe extern "C" {
    /// First byte of the image (kernel.ld).
    static bixi_image_start: u8;
    /// End of the text (kernel.ld).
    static bixi_text_end: u8;
    /// End of the image in memory, 16 KiB aligned (kernel.ld).
    static bixi_image_end: u8;
}

/// Window addresses of the image: where it begins, where its text ends, where it ends.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    /// First byte; addresses minus this one are those of the ELF file.
    pub start: usize,
    /// One past the last instruction.
    pub text_end: usize,
    /// One past the last byte of memory.
    pub end: usize,
}

/// The running image's addresses.
#[must_use]
pub fn image() -> Image {
    Image {
        start: (&raw const bixi_image_start).addr(),
        text_end: (&raw const bixi_text_end).addr(),
        end: (&raw const bixi_image_end).addr(),
    }
}

/// Window addresses of the boot stack: its lowest byte and its end.
#[must_use]
pub fn boot_stack() -> core::ops::Range<usize> {
    let start = (&raw const BOOT_STACK).addr();
    start..start + STACK_BYTES
}

/// Rust's first function.
extern "C" fn start_kernel(_efi_boot: u64, command_line: u64, system_table: u64) -> ! {
    cpu::initialise_core();
    log_line!("bixi: image at {:#x}", image().start);
    let self_tests = selftest::run();
    selftest::report(&self_tests);
    // SAFETY: once, here, with the core's registers set.
    let Err(error) = unsafe { start::start(Handover { command_line, system_table }, self_tests) };
    #[expect(clippy::panic, reason = "without root there is nothing that could go on")]
    {
        panic!("the system cannot start: {error:?}")
    }
}
