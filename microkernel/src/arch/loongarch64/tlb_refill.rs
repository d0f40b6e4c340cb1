//! The TLB refill handler: 16 KiB pages, three levels, in direct (physical) mode.
//!
//! Owns TLBRENTRY and two handlers, of which the boot self-test chooses one. They touch `$t0` alone, which
//! waits in TLBRSAVE, and no memory but the page tables. A directory entry of zero ends the walk with an
//! invalid pair (C-40): the hardware knows no invalid directory entry and would walk physical address 0.
//! The instruction is then retried and takes the ordinary page-invalid exception.
//!
//! | walk | plain | strict |
//! | --- | --- | --- |
//! | full | 11 instructions | 16 |
//! | ended by a zero entry | 13, 15 | 18, 20 |
//!
//! *Strict* is for machines that let a program reach the upper half by an address with bit 47 set and
//! bit 63 clear (C-22). The pair that it fills hides the upper half's true page until it is invalidated,
//! which the page-invalid path does.
#![expect(unsafe_code, reason = "assembly, and the register that leads to it")]

use core::arch::global_asm;

use super::paging::PAGE_BITS;
use super::registers::{PGD, TLBRBADV, TLBREHI, TLBRELO0, TLBRELO1, TLBRENTRY, TLBRSAVE};
use super::window::physical_address;

global_asm!(
    // The walk itself: root of BADV's half, directories 3 and 1, the pair of entries. Then the pair of
    // invalid entries, with the page size set again, since a 32 MiB leaf leaves its own there.
    ".macro bixi_walk_page_tables",
    "    csrrd       $t0, {root}",
    "    lddir       $t0, $t0, 3",
    "    beqz        $t0, 7f",
    "    lddir       $t0, $t0, 1",
    "    beqz        $t0, 7f",
    "    ldpte       $t0, 0",
    "    ldpte       $t0, 1",
    "    tlbfill",
    "    csrrd       $t0, {save}",
    "    ertn",
    "7:  csrwr       $zero, {even}",
    "    csrwr       $zero, {odd}",
    "    csrrd       $t0, {pair}",
    "    bstrins.d   $t0, $zero, 5, 0",
    "    ori         $t0, $t0, {page_bits}",
    "    csrwr       $t0, {pair}",
    "    tlbfill",
    "    csrrd       $t0, {save}",
    "    ertn",
    ".endm",
    ".pushsection .text.bixi_tlb_refill, \"ax\"",
    ".balign 4096",
    ".globl bixi_tlb_refill_plain",
    "bixi_tlb_refill_plain:",
    "    csrwr       $t0, {save}",
    "    bixi_walk_page_tables",
    // Bits 63 to 47 are all equal: the 17-bit number is 0 or 0x1ffff, and one more has bits 16 to 1 clear.
    ".balign 4096",
    ".globl bixi_tlb_refill_strict",
    "bixi_tlb_refill_strict:",
    "    csrwr       $t0, {save}",
    "    csrrd       $t0, {bad_address}",
    "    bstrpick.d  $t0, $t0, 63, 47",
    "    addi.d      $t0, $t0, 1",
    "    bstrpick.d  $t0, $t0, 16, 1",
    "    bnez        $t0, 7f",
    "    bixi_walk_page_tables",
    ".popsection",
    ".purgem bixi_walk_page_tables",
    root = const PGD.number(),
    save = const TLBRSAVE.number(),
    bad_address = const TLBRBADV.number(),
    even = const TLBRELO0.number(),
    odd = const TLBRELO1.number(),
    pair = const TLBREHI.number(),
    page_bits = const PAGE_BITS,
);

unsafe extern "C" {
    /// Handler for machines that refuse non-canonical addresses themselves.
    static bixi_tlb_refill_plain: u8;
    /// Handler that refuses them (C-22).
    static bixi_tlb_refill_strict: u8;
}

/// Who refuses addresses whose bits 63 to 47 differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressCheck {
    /// The machine, with an address error.
    ByMachine,
    /// The refill handler, with an invalid pair.
    ByHandler,
}

/// Sets this core's refill handler.
pub fn install(check: AddressCheck) {
    let handler = match check {
        AddressCheck::ByMachine => &raw const bixi_tlb_refill_plain,
        AddressCheck::ByHandler => &raw const bixi_tlb_refill_strict,
    };
    // SAFETY: the handlers stand alone, are page-aligned and run at their physical address.
    unsafe { TLBRENTRY.write(physical_address(handler).0) };
}
