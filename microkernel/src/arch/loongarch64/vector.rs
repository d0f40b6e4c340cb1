//! The vector unit's registers to and from a context's memory (C-30).
//!
//! The one file of the kernel that has floating-point and vector instructions: the kernel itself is built
//! without them, so the unit's registers are programs' alone. Which context they belong to, and when they are
//! moved, is `object::host::vector`'s. EUEN is left enabled here; the exit writes it for whoever runs next.
#![expect(unsafe_code, reason = "assembly for every register of the unit")]

use core::arch::global_asm;
use core::mem::offset_of;

use abi::context::{Context, Width};

use super::registers::{EUEN, read_configuration};
use super::window::pointer;
use crate::address::WindowAddr;

/// Every register's number, for `.irp`.
macro_rules! each_register {
    ($instruction:literal) => {
        concat!(
            ".irp number, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n",
            $instruction,
            ", $a0, {vector} + 32 * \\number\n",
            ".endr\n"
        )
    };
}

global_asm!(
    ".pushsection .text.bixi_vector, \"ax\"",
    ".globl bixi_store_fp",
    "bixi_store_fp:",
    each_register!("fst.d $f\\number"),
    "    b           1f",
    ".globl bixi_store_lsx",
    "bixi_store_lsx:",
    each_register!("vst $vr\\number"),
    "    b           1f",
    ".globl bixi_store_lasx",
    "bixi_store_lasx:",
    each_register!("xvst $xr\\number"),
    // Condition flags, a byte each, and FCSR0.
    "1:  move        $t0, $zero",
    ".irp number, 0,1,2,3,4,5,6,7",
    "    movcf2gr    $t1, $fcc\\number",
    "    bstrins.d   $t0, $t1, 8 * \\number + 7, 8 * \\number",
    ".endr",
    "    st.d        $t0, $a0, {fcc}",
    "    movfcsr2gr  $t0, $fcsr0",
    "    bstrpick.d  $t0, $t0, 31, 0",
    "    st.d        $t0, $a0, {fcsr}",
    "    jirl        $zero, $ra, 0",

    ".globl bixi_load_fp",
    "bixi_load_fp:",
    each_register!("fld.d $f\\number"),
    "    b           2f",
    ".globl bixi_load_lsx",
    "bixi_load_lsx:",
    each_register!("vld $vr\\number"),
    "    b           2f",
    ".globl bixi_load_lasx",
    "bixi_load_lasx:",
    each_register!("xvld $xr\\number"),
    "2:  ld.d        $t0, $a0, {fcc}",
    ".irp number, 0,1,2,3,4,5,6,7",
    "    bstrpick.d  $t1, $t0, 8 * \\number, 8 * \\number",
    "    movgr2cf    $fcc\\number, $t1",
    ".endr",
    "    ld.d        $t0, $a0, {fcsr}",
    "    movgr2fcsr  $fcsr0, $t0",
    "    jirl        $zero, $ra, 0",
    ".popsection",
    vector = const offset_of!(Context, vector),
    fcc = const offset_of!(Context, fcc),
    fcsr = const offset_of!(Context, fcsr),
);

unsafe extern "C" {
    fn bixi_store_fp(context: *mut Context);
    fn bixi_store_lsx(context: *mut Context);
    fn bixi_store_lasx(context: *mut Context);
    fn bixi_load_fp(context: *mut Context);
    fn bixi_load_lsx(context: *mut Context);
    fn bixi_load_lasx(context: *mut Context);
}

/// The widest unit of this core: CPUCFG word 2, bits 0, 6 and 7.
#[must_use]
pub fn widest() -> Width {
    let units = read_configuration(2);
    let has = |bit: u32| units >> bit & 1 == 1;
    match (has(0), has(6), has(7)) {
        (true, true, true) => Width::Lasx,
        (true, true, false) => Width::Lsx,
        (true, false, _) => Width::Fp,
        (false, ..) => Width::None,
    }
}

/// Enables the unit up to a width.
fn enable(width: Width) {
    // SAFETY: enables instructions that the kernel has in this file alone.
    unsafe { EUEN.write(width.euen()) };
}

/// Writes the registers, up to a width that the machine has, to a context.
pub fn save(context: WindowAddr, width: Width) {
    enable(width);
    let memory = pointer::<Context>(context);
    match width {
        Width::None => {}
        // SAFETY: the context lies in a frame that its Host pins, and anybody may be changing it; the unit is
        // enabled so far.
        Width::Fp => unsafe { bixi_store_fp(memory) },
        // SAFETY: as above.
        Width::Lsx => unsafe { bixi_store_lsx(memory) },
        // SAFETY: as above.
        Width::Lasx => unsafe { bixi_store_lasx(memory) },
    }
}

/// Loads the registers, up to a width that the machine has, from a context. Its fcsr was checked just now; a
/// host that writes to it meanwhile from another core sees its own program's trap.
pub fn load(context: WindowAddr, width: Width) {
    enable(width);
    let memory = pointer::<Context>(context);
    match width {
        Width::None => {}
        // SAFETY: as in `save`.
        Width::Fp => unsafe { bixi_load_fp(memory) },
        // SAFETY: as in `save`.
        Width::Lsx => unsafe { bixi_load_lsx(memory) },
        // SAFETY: as in `save`.
        Width::Lasx => unsafe { bixi_load_lasx(memory) },
    }
}
