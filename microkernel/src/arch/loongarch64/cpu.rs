//! What each core sets up for itself, and what it is.
//!
//! Owns the one-time values of the per-core registers: nothing is inherited from firmware or from another
//! core. Neighbours: `paging` (page walk), `tlb_refill`, `crash` (the vectors until the kernel's own are set).
#![expect(unsafe_code, reason = "writes the core's mode registers")]

use super::registers::{CPUID, ECFG, ESTAT, EUEN, INTERRUPT_LINES, LLBCTL, PRMD, RVACFG, read_configuration};
use super::{crash, paging, timer, tlb_refill};

/// LLBCTL: the next `ertn` keeps the load-linked bit. Stays 0 (C-11).
const LLBCTL_CLEAR: u64 = 1 << 1;

/// Sets this core's registers, with every interrupt line masked and no vector unit enabled.
///
/// MISC stays as reset left it, 0: 64-bit addresses, the counter readable by programs, no alignment
/// check. QEMU's TCG raises an undefined-instruction exception for a write to it.
pub fn initialise_core() {
    crash::install_vectors();
    // SAFETY: no unit enabled: nothing of the kernel uses one.
    unsafe { EUEN.write(0) };
    // SAFETY: lines masked, one vector for all.
    unsafe { ECFG.write(0) };
    // SAFETY: full width of addresses.
    unsafe { RVACFG.write(0) };
    // SAFETY: nothing returns by PRMD yet.
    unsafe { PRMD.write(0) };
    // SAFETY: the two software interrupts are taken back.
    unsafe { ESTAT.write(0) };
    // SAFETY: clears the load-linked bit and leaves KLO 0 (C-11).
    unsafe { LLBCTL.write(LLBCTL_CLEAR) };
    timer::stop();
    timer::acknowledge();
    paging::initialise_core();
    tlb_refill::install(tlb_refill::AddressCheck::ByMachine);
}

/// This core's number, by which interrupts are routed to it.
#[must_use]
pub fn core_number() -> u64 {
    CPUID.read() & 0x1ff
}

/// Rate of the stable counter: crystal × multiplier ÷ divider (manual §2.2.10.5).
#[must_use]
pub fn counter_frequency_hz() -> u64 {
    let crystal = u64::from(read_configuration(4));
    let ratio = read_configuration(5);
    let (multiplier, divider) = (u64::from(ratio & 0xffff), u64::from(ratio >> 16));
    (crystal * multiplier).checked_div(divider).unwrap_or(crystal)
}

/// Bits of a physical address: 48 on hardware, 47 in a KVM guest.
#[must_use]
pub fn physical_address_bits() -> u32 {
    (read_configuration(1) >> 4 & 0xff) + 1
}

/// Enables exactly these interrupt lines.
pub fn enable_lines(lines: u64) {
    // SAFETY: lines that interrupt are handled once interrupts are on; the vector spacing is kept.
    unsafe { ECFG.exchange(lines, INTERRUPT_LINES) };
}

/// Whether an enabled interrupt line is pending: what long work stops for (C-3).
#[must_use]
pub fn interrupt_pending() -> bool {
    ESTAT.read() & ECFG.read() & INTERRUPT_LINES != 0
}
