//! The slow ways in and the way out: registers into the thread, Rust, and back.
//!
//! Owns the entry code behind the vectors of `hot_path` and both exits (DESIGN §1.2). The current thread is
//! in KS1, the core's block in KS0 (C-13); the kernel's stack is empty at every entry, since nothing of the
//! kernel is ever interrupted. A call does not save `$tp`: at its end it is what SetTlsBase set (C-6).
//!
//! - A call stores what C-6 preserves and the message; the temporaries count as lost and are stored as zero.
//! - An exception or interrupt stores every general register and sets [`Exit::Full`].
//! - The exit takes the thread from [`Core::current`], writes PC, PRMD and EUEN, and leaves by the thread's
//!   [`Exit`]; all but the minimal one set it back to that.
//!
//! Hosts come here by the vectors of `hosted_path`; a program that was interrupted goes on by an exit of its
//! own, from its context.
#![expect(unsafe_code, reason = "entry and exit are assembly, and hand the kernel's state to Rust")]

use core::arch::global_asm;
use core::mem::offset_of;

use super::hosted_path::PROGRAM_PRMD;
use super::hot_path::VECTOR_SPACING;
use super::machine::LoongArch64;
use super::paging;
use super::registers::{
    BADI, BADV, ECFG, EENTRY, ERA, ESTAT, EUEN, KS0, KS1, KS2, KS3, KS4, PRMD, exception, exception_code,
    low_word,
};
use crate::address::VirtAddr;
use crate::entry::{self, Exception};
use crate::kernel::{Core, Kernel};
use crate::object::host::{self, HostedContext};
use crate::object::thread::{Exit, Tcb, register};

/// The kernel as it runs on this machine.
pub type BoardKernel = Kernel<LoongArch64>;

/// Offset of a register in a Tcb.
const fn saved(number: usize) -> usize {
    offset_of!(Tcb, registers) + 8 * number
}

const _: () = assert!(Exit::Minimal as usize == 0);

global_asm!(
    ".pushsection .text.bixi_trap, \"ax\"",
    // From the hot path: its temporaries hold the kernel's values.
    ".globl bixi_hot_slow",
    "bixi_hot_slow:",
    "    move        $t0, $zero",
    ".globl bixi_slow_syscall",
    "bixi_slow_syscall:",
    "    move        $r21, $zero",
    // From the hosted path: a host keeps `$r21` (C-6), which may be a program's.
    ".globl bixi_hosted_slow",
    "bixi_hosted_slow:",
    "    csrwr       $t0, {ks4}",
    "    csrrd       $t0, {ks1}",
    ".irp number, 1,3,4,5,6,7,8,9,10,11,21,22,23,24,25,26,27,28,29,30,31",
    "    st.d        $r\\number, $t0, {registers} + 8 * \\number",
    ".endr",
    "    csrrd       $t1, {ks4}",
    "    st.d        $t1, $t0, {registers} + 8 * 12",
    ".irp number, 13,14,15,16,17,18,19,20",
    "    st.d        $zero, $t0, {registers} + 8 * \\number",
    ".endr",
    "    csrrd       $t1, {era}",
    "    st.d        $t1, $t0, {pc}",
    "    la.pcrel    $ra, {syscall}",
    "    b           bixi_enter_rust",

    ".globl bixi_slow_interrupt",
    "bixi_slow_interrupt:",
    "    csrwr       $t0, {ks4}",
    "    csrrd       $t0, {ks1}",
    "    st.d        $ra, $t0, {registers} + 8 * 1",
    "    la.pcrel    $ra, {interrupt}",
    "    b           bixi_save_rest",

    // From the hosted path: the program's registers are in its context.
    ".globl bixi_program_interrupted",
    "bixi_program_interrupted:",
    "    csrrd       $t0, {ks1}",
    "    ori         $t1, $zero, {program}",
    "    st.d        $t1, $t0, {exit}",
    "    la.pcrel    $ra, {interrupt}",
    "    b           bixi_enter_rust",

    ".globl bixi_slow_exception",
    "bixi_slow_exception:",
    "    csrwr       $t0, {ks4}",
    "    csrrd       $t0, {prmd}",
    "    andi        $t0, $t0, 3",
    "    bnez        $t0, 1f",
    "    csrrd       $t0, {ks4}",
    "    b           bixi_kernel_exception",
    "1:  csrrd       $t0, {ks1}",
    "    st.d        $ra, $t0, {registers} + 8 * 1",
    "    la.pcrel    $ra, {exception}",

    "bixi_save_rest:",
    ".irp number, 2,3,4,5,6,7,8,9,10,11,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "    st.d        $r\\number, $t0, {registers} + 8 * \\number",
    ".endr",
    "    csrrd       $t1, {ks4}",
    "    st.d        $t1, $t0, {registers} + 8 * 12",
    "    csrrd       $t1, {era}",
    "    st.d        $t1, $t0, {pc}",
    "    li.w        $t1, {full}",
    "    st.d        $t1, $t0, {exit}",

    // `$t0` thread, `$ra` the function; it comes back to the exit.
    "bixi_enter_rust:",
    "    csrrd       $t1, {ks0}",
    "    st.d        $t0, $t1, {current}",
    "    ld.d        $sp, $t1, {stack_top}",
    "    ld.d        $a0, $t1, {kernel}",
    "    move        $fp, $zero",
    "    move        $tp, $zero",
    "    jirl        $ra, $ra, 0",

    ".globl bixi_exit",
    "bixi_exit:",
    "    csrrd       $t0, {ks0}",
    "    ld.d        $t0, $t0, {current}",
    "    move        $t1, $t0",
    "    csrwr       $t1, {ks1}",
    "    ld.d        $t1, $t0, {pc}",
    "    csrwr       $t1, {era}",
    "    ld.d        $t1, $t0, {thread_prmd}",
    "    csrwr       $t1, {prmd}",
    "    ld.d        $t1, $t0, {thread_euen}",
    "    csrwr       $t1, {euen}",
    "    ld.d        $t1, $t0, {exit}",
    "    bnez        $t1, 2f",
    // Minimal: what C-6 preserves, badge, information, message (abi::message::REGISTERS).
    "    ld.d        $tp, $t0, {tls_base}",
    ".irp number, 3,4,5,7,8,9,10,21,22,23,24,25,26,31",
    "    ld.d        $r\\number, $t0, {registers} + 8 * \\number",
    ".endr",
    ".irp number, 1,6,11,12,13,14,15,16,17,18,19,20,27,28,29,30",
    "    move        $r\\number, $zero",
    ".endr",
    "    ertn",
    // Full: every general register.
    "2:  st.d        $zero, $t0, {exit}",
    "    addi.d      $t1, $t1, -{full}",
    "    bnez        $t1, 3f",
    ".irp number, 1,2,3,4,5,6,7,8,9,10,11,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "    ld.d        $r\\number, $t0, {registers} + 8 * \\number",
    ".endr",
    "    ld.d        $t0, $t0, {registers} + 8 * 12",
    "    ertn",
    // A program: the same from the host's current context, at PLV3.
    "3:  ld.d        $t0, $t0, {hosted}",
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

    // The idle thread: interrupts are on (PRMD of its Tcb), so that none is lost before `idle`.
    ".globl bixi_idle",
    "bixi_idle:",
    "    idle        0",
    "    b           bixi_idle",
    ".popsection",
    ks0 = const KS0.number(),
    ks1 = const KS1.number(),
    ks4 = const KS4.number(),
    era = const ERA.number(),
    prmd = const PRMD.number(),
    euen = const EUEN.number(),
    registers = const offset_of!(Tcb, registers),
    pc = const saved(register::PC),
    exit = const offset_of!(Tcb, exit),
    tls_base = const offset_of!(Tcb, tls_base),
    thread_prmd = const offset_of!(Tcb, prmd),
    thread_euen = const offset_of!(Tcb, euen),
    full = const Exit::Full as usize,
    program = const Exit::Program as usize,
    program_prmd = const PROGRAM_PRMD,
    hosted = const offset_of!(Tcb, hosted),
    context = const offset_of!(HostedContext, context),
    current = const offset_of!(Core, current),
    stack_top = const offset_of!(Core, stack_top),
    kernel = const offset_of!(Core, scratch),
    syscall = sym enter_syscall,
    interrupt = sym enter_interrupt,
    exception = sym enter_exception,
);

unsafe extern "C" {
    /// The native vector table (`hot_path`).
    fn bixi_native_vectors();
    /// The vector table of hosts (`hosted_path`).
    fn bixi_hosted_vectors();
    /// Goes on with [`Core::current`].
    fn bixi_exit() -> !;
    /// Where the idle thread runs.
    fn bixi_idle() -> !;
}

/// The idle thread's first instruction.
#[must_use]
pub fn idle_address() -> u64 {
    (bixi_idle as *const ()).expose_provenance() as u64
}

/// Takes traps as an ordinary thread's (C-13).
pub(super) fn use_native_vectors() {
    // SAFETY: the table is complete and aligned to 64 KiB.
    unsafe { EENTRY.write((bixi_native_vectors as *const ()).expose_provenance() as u64) };
}

/// Takes traps as a host's (C-13), with its per-core block and its entry for system calls.
pub(super) fn use_hosted_vectors(block: u64, system_call: u64) {
    // SAFETY: a host's own word, which nothing of the kernel follows.
    unsafe { KS2.write(block) };
    // SAFETY: where the host goes on at its own privilege level.
    unsafe { KS3.write(system_call) };
    // SAFETY: the table is complete and aligned to 64 KiB.
    unsafe { EENTRY.write((bixi_hosted_vectors as *const ()).expose_provenance() as u64) };
}

/// Sets this core's vectors and per-core registers, and goes on with the thread that the kernel chose.
///
/// # Safety
///
/// `kernel` lives as long as the machine runs, nothing else refers to it, and this core's block in it has
/// `stack_top` and `current` set.
pub unsafe fn run(kernel: *mut BoardKernel) -> ! {
    // SAFETY: as the caller says; the reference ends before the first entry makes another.
    let core = unsafe { (*kernel).core() };
    core.scratch[0].set(kernel.expose_provenance() as u64);
    let block = core::ptr::from_ref(core).expose_provenance() as u64;
    // SAFETY: KS0 is the per-core block from here on, as the entry code expects.
    unsafe { KS0.write(block) };
    // SAFETY: the spacing is that of the table which the next write installs; lines are kept.
    unsafe { ECFG.exchange(VECTOR_SPACING << 16, 7 << 16) };
    use_native_vectors();
    // SAFETY: everything that the exit reads is set, as the caller says.
    unsafe { bixi_exit() }
}

extern "C" fn enter_syscall(kernel: &mut BoardKernel) {
    begin(kernel);
    entry::handle_syscall(kernel);
}

extern "C" fn enter_exception(kernel: &mut BoardKernel) {
    begin(kernel);
    let exception = read_exception();
    if !is_only_hidden(&exception) {
        entry::handle_exception(kernel, exception);
    }
}

/// What the machine says of the exception that was just taken.
pub(super) fn read_exception() -> Exception {
    let status = ESTAT.read();
    Exception {
        code: exception_code(status),
        subcode: status >> 22 & 0x1ff,
        address: BADV.read(),
        instruction: u64::from(low_word(BADI.read())),
    }
}

/// Whether a refused address hid the page (C-22), so that the instruction is simply tried again.
pub(super) fn is_only_hidden(exception: &Exception) -> bool {
    (exception::LOAD_INVALID..=exception::FETCH_INVALID).contains(&exception.code)
        && paging::retry_invalid(VirtAddr(exception.address))
}

extern "C" fn enter_interrupt(kernel: &mut BoardKernel) {
    begin(kernel);
    entry::handle_interrupt(kernel);
}

/// Brings what the hot and the hosted path keep in registers alone into the core's block: PGDL belongs to the
/// thread, or to the context, that was entered last.
pub(super) fn begin(kernel: &BoardKernel) {
    let thread = kernel.current();
    host::refresh(kernel, thread);
    let space = kernel.get(thread).vspace.get();
    if space.is_some_and(|space| kernel.get(space).hardware_asid.get() != 0) {
        kernel.core().space.set(space);
    }
}
