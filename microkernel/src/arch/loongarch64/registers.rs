//! Control and status registers, `cpucfg`, the stable counter and the IOCSR space, typed.
//!
//! Owns the instructions `csrrd`, `csrwr`, `csrxchg`, `cpucfg`, `rdtime.d`, `iocsrrd`, `iocsrwr` of Rust
//! code; nothing else in the kernel writes them but assembly files. A register is a constant of type
//! [`Csr`], so that its number is in one place; the fields that the kernel uses stand below it.
//! Numbers: manual, chapter 7.
#![expect(unsafe_code, reason = "privileged registers are reached by instructions only")]

use core::arch::asm;

/// A control and status register, by its number.
#[derive(Clone, Copy, Debug)]
pub struct Csr<const NUMBER: u32>;

impl<const NUMBER: u32> Csr<NUMBER> {
    /// The register's number, for assembly operands.
    #[must_use]
    pub const fn number(self) -> u32 {
        NUMBER
    }

    /// Reads the register (32-bit ones are sign-extended).
    #[inline(always)]
    #[must_use]
    pub fn read(self) -> u64 {
        let value: u64;
        // SAFETY: `csrrd` reads a register of this core and changes nothing.
        unsafe { asm!("csrrd {}, {}", out(reg) value, const NUMBER, options(nomem, nostack)) };
        value
    }

    /// Writes the register and returns what it held.
    ///
    /// Memory is taken as changed: a write may alter what addresses mean.
    ///
    /// # Safety
    ///
    /// The new value must keep every assumption of running code true: translation of the addresses in
    /// use, the vectors, the per-core pointers.
    #[inline(always)]
    pub unsafe fn write(self, value: u64) -> u64 {
        let mut exchanged = value;
        // SAFETY: the caller answers for the value; `csrwr` itself only swaps register and operand.
        unsafe { asm!("csrwr {}, {}", inout(reg) exchanged, const NUMBER, options(nostack)) };
        exchanged
    }

    /// Writes the bits of `mask` alone and returns what the register held.
    ///
    /// # Safety
    ///
    /// As for [`Csr::write`].
    #[inline(always)]
    pub unsafe fn exchange(self, value: u64, mask: u64) -> u64 {
        let mut exchanged = value;
        // SAFETY: the caller answers for the value. The mask is pinned to `$t0`, since `csrxchg` with
        // mask register 0 or 1 would be another instruction (manual §4.2.1).
        unsafe {
            asm!("csrxchg {}, $t0, {}", inout(reg) exchanged, const NUMBER, in("$t0") mask, options(nostack));
        };
        exchanged
    }
}

/// Names the registers once.
macro_rules! control_registers {
    ($($(#[$doc:meta])* $name:ident = $number:literal;)*) => {
        $($(#[$doc])* pub const $name: Csr<$number> = Csr;)*
    };
}

control_registers! {
    /// Current mode: privilege, interrupt enable, translation mode, memory types.
    CRMD = 0x0;
    /// Mode before the exception, which `ertn` restores.
    PRMD = 0x1;
    /// Enabled vector units.
    EUEN = 0x2;
    /// Enabled interrupt lines and spacing of the vectors.
    ECFG = 0x4;
    /// Pending interrupt lines, cause of the exception.
    ESTAT = 0x5;
    /// Where the exception happened, and where `ertn` goes.
    ERA = 0x6;
    /// Bad virtual address.
    BADV = 0x7;
    /// Bad instruction word.
    BADI = 0x8;
    /// Base of the exception vectors, a virtual address.
    EENTRY = 0xc;
    /// TLB index and page size of `tlbwr`, `tlbrd`.
    TLBIDX = 0x10;
    /// Virtual page pair of a TLB entry.
    TLBEHI = 0x11;
    /// Address-space identifier.
    ASID = 0x18;
    /// Root of the lower half.
    PGDL = 0x19;
    /// Root of the upper half.
    PGDH = 0x1a;
    /// Root of the half that the bad address lies in (read-only).
    PGD = 0x1b;
    /// Page walk: widths of the lower levels.
    PWCL = 0x1c;
    /// Page walk: widths of the upper levels.
    PWCH = 0x1d;
    /// Page size of the set-associative TLB.
    STLBPS = 0x1e;
    /// Reduced width of virtual addresses.
    RVACFG = 0x1f;
    /// This core's number.
    CPUID = 0x20;
    /// Privileged resources: number of SAVE registers, timer width, largest vector spacing.
    PRCFG1 = 0x21;
    /// SAVE0: the kernel's per-core block (C-13).
    KS0 = 0x30;
    /// SAVE1: the current thread (C-13).
    KS1 = 0x31;
    /// SAVE2: the host's per-core block (C-13).
    KS2 = 0x32;
    /// SAVE3: the host's system-call entry (C-13).
    KS3 = 0x33;
    /// SAVE4: scratch (C-13).
    KS4 = 0x34;
    /// SAVE5: scratch (C-13).
    KS5 = 0x35;
    /// SAVE6: scratch (C-13).
    KS6 = 0x36;
    /// SAVE7: scratch (C-13).
    KS7 = 0x37;
    /// Timer: enable, periodic, ticks.
    TCFG = 0x41;
    /// Timer: current value.
    TVAL = 0x42;
    /// Timer: acknowledges its interrupt.
    TICLR = 0x44;
    /// Load-linked bit.
    LLBCTL = 0x60;
    /// Refill handler, a physical address.
    TLBRENTRY = 0x88;
    /// Address that missed the TLB.
    TLBRBADV = 0x89;
    /// Scratch of the refill handler.
    TLBRSAVE = 0x8b;
    /// Even page of the pair to fill.
    TLBRELO0 = 0x8c;
    /// Odd page of the pair to fill.
    TLBRELO1 = 0x8d;
    /// Page pair and page size to fill.
    TLBREHI = 0x8e;
    /// Handler of machine errors, a physical address.
    MERRENTRY = 0x93;
    /// Direct-mapped window 0 (uncached, devices).
    DMW0 = 0x180;
    /// Direct-mapped window 1 (cached, memory).
    DMW1 = 0x181;
    /// Direct-mapped window 2 (unused).
    DMW2 = 0x182;
    /// Direct-mapped window 3 (unused).
    DMW3 = 0x183;
}

/// CRMD of the kernel: PLV0, interrupts off, paging on, cached fetches and data in direct mode (the
/// refill handler's page-table reads).
pub const CRMD_KERNEL: u64 = 1 << 4 | 1 << 5 | 1 << 7;

/// Bits of ESTAT and ECFG that stand for interrupt lines (timer 11, inter-processor 12).
pub const INTERRUPT_LINES: u64 = 0x1fff;

/// Interrupt line by which the board's interrupt controller reaches a core: HWI1, as the device tree says.
pub const LINE_BOARD: u32 = 3;

/// Interrupt line of the core's timer.
pub const LINE_TIMER: u32 = 11;

/// Interrupt line of inter-processor interrupts.
pub const LINE_INTER_PROCESSOR: u32 = 12;

/// Cause of the exception: ESTAT's Ecode field (bits 21 to 16).
#[must_use]
pub const fn exception_code(estat: u64) -> u64 {
    estat >> 16 & 0x3f
}

/// Ecodes (manual, table 7-8) that kernel code names.
pub mod exception {
    /// Load from an invalid page.
    pub const LOAD_INVALID: u64 = 0x1;
    /// Fetch from an invalid page.
    pub const FETCH_INVALID: u64 = 0x3;
    /// Read of a no-read page.
    pub const NOT_READABLE: u64 = 0x5;
    /// Fetch from a no-execute page.
    pub const NOT_EXECUTABLE: u64 = 0x6;
    /// Privilege level not allowed by the page.
    pub const PRIVILEGE: u64 = 0x7;
    /// Address error.
    pub const ADDRESS: u64 = 0x8;
    /// System call.
    pub const SYSTEM_CALL: u64 = 0xb;
    /// Privileged instruction.
    pub const PRIVILEGED_INSTRUCTION: u64 = 0xe;
    /// Floating point is not enabled.
    pub const FP_DISABLED: u64 = 0xf;
    /// LASX is not enabled; LSX is the number between.
    pub const LASX_DISABLED: u64 = 0x11;
}

/// Reads the stable counter (manual §2.2.10.4); its rate is [`super::cpu::counter_frequency_hz`].
#[inline(always)]
#[must_use]
pub fn read_counter() -> u64 {
    let value: u64;
    // SAFETY: `rdtime.d` reads a counter.
    unsafe { asm!("rdtime.d {}, $zero", out(reg) value, options(nomem, nostack)) };
    value
}

/// Reads a configuration word. Under KVM each one leaves the guest: at boot only (C-12).
#[must_use]
pub fn read_configuration(word: u32) -> u32 {
    let value: u64;
    // SAFETY: `cpucfg` reads a constant; undefined words read as 0.
    unsafe { asm!("cpucfg {}, {}", out(reg) value, in(reg) word, options(nomem, nostack)) };
    low_word(value)
}

/// The low 32 bits.
#[must_use]
pub const fn low_word(value: u64) -> u32 {
    let [a, b, c, d, ..] = value.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// Reads a 32-bit register of the core's I/O space. Leaves the guest under KVM: never on a hot path (C-12).
#[must_use]
pub fn read_io(register: u32) -> u32 {
    let value: u64;
    // SAFETY: reads of the registers that this kernel names have no side effect but on the device's
    // own state, which the interrupt controller's module owns.
    unsafe { asm!("iocsrrd.w {}, {}", out(reg) value, in(reg) register, options(nostack)) };
    low_word(value)
}

/// Writes a 32-bit register of the core's I/O space. Leaves the guest under KVM: never on a hot path.
///
/// # Safety
///
/// The register must be one whose effect the caller owns (interrupt routing and masks).
pub unsafe fn write_io(register: u32, value: u32) {
    // SAFETY: the caller answers for register and value.
    unsafe { asm!("iocsrwr.w {}, {}", in(reg) value, in(reg) register, options(nostack)) };
}

/// Sets bits of a 64-bit register of the core's I/O space.
///
/// # Safety
///
/// As for [`write_io`].
pub unsafe fn set_io_bits(register: u32, bits: u64) {
    let value: u64;
    // SAFETY: the caller answers for the register.
    unsafe { asm!("iocsrrd.d {}, {}", out(reg) value, in(reg) register, options(nostack)) };
    let value = value | bits;
    // SAFETY: the caller answers for register and bits.
    unsafe { asm!("iocsrwr.d {}, {}", in(reg) value, in(reg) register, options(nostack)) };
}
