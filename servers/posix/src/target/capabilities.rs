//! Linux's HWCAP from what the processor says of itself (manual volume 1, §2.2.10.5; uapi/asm/hwcap.h).

/// CPUCFG's words, bits in them, and HWCAP's bits. Binary translation is left out: its state is not kept for a program.
const BITS: &[(u64, u32, u32)] = &[
    // UAL, CRC32.
    (1, 20, 2),
    (1, 25, 6),
    // FPU, LSX, LASX, COMPLEX, CRYPTO, LVZ, LSPW, LAM, PTW, LAM_BH, SCQ.
    (2, 0, 3),
    (2, 6, 4),
    (2, 7, 5),
    (2, 8, 7),
    (2, 9, 8),
    (2, 10, 9),
    (2, 21, 14),
    (2, 22, 1),
    (2, 24, 13),
    (2, 27, 16),
    (2, 30, 15),
];
/// CPUCFG itself.
const CPUCFG: u64 = 1;

/// HWCAP of this machine.
pub(super) fn of_machine() -> u64 {
    BITS.iter().fold(CPUCFG, |capabilities, (word, from, to)| {
        capabilities | (u64::from(configuration(*word)) >> from & 1) << to
    })
}

fn configuration(word: u64) -> u32 {
    let value: u64;
    // SAFETY: reads what the processor says of itself.
    unsafe {
        core::arch::asm!("cpucfg {}, {}", out(reg) value, in(reg) word, options(pure, nomem, nostack));
    }
    posix::number::low_u32(value)
}
