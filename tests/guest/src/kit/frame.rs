//! All general registers at once: filled before an instruction that enters the kernel, stored right after it.
//!
//! Owned here: the assembly of the poisoned-register tests (C-8) and what may be in a register afterwards. Each
//! routine saves what the psABI preserves, fills every register but `$tp`, `$sp` and `$s8` (which holds the
//! frame) from `input`, does its one thing, and stores every register to `output`.

#![expect(unsafe_code, reason = "assembly that sees every register")]

use core::mem::offset_of;

use runtime::trap::thread_pointer;

/// Registers before and after.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Frame {
    /// What the registers are filled with; index 0 is not used.
    pub(crate) input: [u64; 32],
    /// What they held afterwards.
    pub(crate) output: [u64; 32],
    /// [`Routine::Spin`]: the address of a word that ends it when it is not 0. [`Routine::LinkedCall`]: the
    /// address of the word that is linked.
    pub(crate) word: u64,
}

const OUTPUT: usize = offset_of!(Frame, output);
const WORD: usize = offset_of!(Frame, word);
const _: () = assert!(offset_of!(Frame, input) == 0);
const _: () = assert!(WORD < 2048, "reached by a 12-bit offset");

/// `$a0`.
pub(crate) const A0: usize = 4;
/// `$a1`.
pub(crate) const A1: usize = 5;
/// `$a2`.
pub(crate) const A2: usize = 6;
/// `$a7`.
pub(crate) const A7: usize = 11;
/// `$t0`.
pub(crate) const T0: usize = 12;
/// `$t8`, which [`Routine::Spin`] and [`Routine::LinkedCall`] need for themselves.
pub(crate) const T8: usize = 20;
/// `$t6`, in which [`Routine::LinkedSpin`] counts.
pub(crate) const T6: usize = 18;
/// `$r21`.
pub(crate) const R21: usize = 21;
const TP: usize = 2;
const SP: usize = 3;
const FP: usize = 22;
const S8: usize = 31;

/// What a routine does between filling and storing the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Routine {
    /// `syscall 0`.
    Trap,
    /// The same with a mistake planted behind it: a kernel's address is left in `$s5`.
    TrapPlanted,
    /// Looks at a word until it is not 0: whatever interrupts it must leave no trace.
    Spin,
    /// `break 1`: an exception.
    Break,
    /// `ll.d` on a word, `syscall 0`, `sc.d` of 1 on the same word; `$t8` ends as what `sc.d` answered (C-11).
    LinkedCall,
    /// `ll.d` on a word, then looks at the next one until it is not 0, then `sc.d`; `$t6` counts the looks.
    LinkedSpin,
}

unsafe extern "C" {
    fn bixi_guest_trap(frame: *mut Frame);
    fn bixi_guest_trap_planted(frame: *mut Frame);
    fn bixi_guest_spin(frame: *mut Frame);
    fn bixi_guest_break(frame: *mut Frame);
    fn bixi_guest_linked_call(frame: *mut Frame);
    fn bixi_guest_linked_spin(frame: *mut Frame);
}

core::arch::global_asm!(
    ".macro bixi_each_register op, offset",
    ".irp r, 1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30",
    r"\op $r\r, $s8, \offset + 8 * \r",
    ".endr",
    ".endm",
    ".macro bixi_enter",
    "addi.d $sp, $sp, -96",
    "st.d $ra, $sp, 0",
    "st.d $fp, $sp, 8",
    "st.d $s0, $sp, 16",
    "st.d $s1, $sp, 24",
    "st.d $s2, $sp, 32",
    "st.d $s3, $sp, 40",
    "st.d $s4, $sp, 48",
    "st.d $s5, $sp, 56",
    "st.d $s6, $sp, 64",
    "st.d $s7, $sp, 72",
    "st.d $s8, $sp, 80",
    "move $s8, $a0",
    "bixi_each_register ld.d, 0",
    ".endm",
    ".macro bixi_leave",
    "bixi_each_register st.d, {output}",
    "st.d $tp, $s8, {output} + 8 * 2",
    "st.d $sp, $s8, {output} + 8 * 3",
    "st.d $s8, $s8, {output} + 8 * 31",
    "ld.d $ra, $sp, 0",
    "ld.d $fp, $sp, 8",
    "ld.d $s0, $sp, 16",
    "ld.d $s1, $sp, 24",
    "ld.d $s2, $sp, 32",
    "ld.d $s3, $sp, 40",
    "ld.d $s4, $sp, 48",
    "ld.d $s5, $sp, 56",
    "ld.d $s6, $sp, 64",
    "ld.d $s7, $sp, 72",
    "ld.d $s8, $sp, 80",
    "addi.d $sp, $sp, 96",
    "ret",
    ".endm",
    ".text",
    "bixi_guest_trap:",
    "bixi_enter",
    "syscall 0",
    "bixi_leave",
    "bixi_guest_trap_planted:",
    "bixi_enter",
    "syscall 0",
    "lu52i.d $s5, $zero, -0x700",
    "bixi_leave",
    "bixi_guest_spin:",
    "bixi_enter",
    "0: ld.d $t8, $s8, {word}",
    "ld.d $t8, $t8, 0",
    "beqz $t8, 0b",
    "bixi_leave",
    "bixi_guest_break:",
    "bixi_enter",
    "break 1",
    "bixi_leave",
    "bixi_guest_linked_call:",
    "bixi_enter",
    "ld.d $t8, $s8, {word}",
    "ll.d $t8, $t8, 0",
    "syscall 0",
    "ori $t8, $zero, 1",
    "ld.d $t7, $s8, {word}",
    "sc.d $t8, $t7, 0",
    "bixi_leave",
    "bixi_guest_linked_spin:",
    "bixi_enter",
    "ld.d $t7, $s8, {word}",
    "ll.d $t8, $t7, 0",
    "move $t6, $zero",
    "0: addi.d $t6, $t6, 1",
    "ld.d $t8, $t7, 8",
    "beqz $t8, 0b",
    "ori $t8, $zero, 1",
    "sc.d $t8, $t7, 0",
    "bixi_leave",
    output = const OUTPUT,
    word = const WORD,
);

/// What a register of `thread`'s is filled with: no address, and different in each register of each thread.
pub(crate) const fn key(thread: u64, register: usize) -> u64 {
    0x00c0_ffee_0000_0000 | thread << 16 | register as u64
}

impl Frame {
    /// Every register filled with the keys of `thread`.
    pub(crate) fn poisoned(thread: u64) -> Self {
        Self { input: core::array::from_fn(|register| key(thread, register)), output: [0; 32], word: 0 }
    }

    /// Fills one register.
    pub(crate) fn set(&mut self, register: usize, value: u64) -> &mut Self {
        if let Some(place) = self.input.get_mut(register) {
            *place = value;
        }
        self
    }

    /// What a register held afterwards.
    pub(crate) fn after(&self, register: usize) -> u64 {
        self.output.get(register).copied().unwrap_or(0)
    }

    /// Runs a routine.
    pub(crate) fn run(&mut self, routine: Routine) {
        let run = match routine {
            Routine::Trap => bixi_guest_trap,
            Routine::TrapPlanted => bixi_guest_trap_planted,
            Routine::Spin => bixi_guest_spin,
            Routine::Break => bixi_guest_break,
            Routine::LinkedCall => bixi_guest_linked_call,
            Routine::LinkedSpin => bixi_guest_linked_spin,
        };
        // SAFETY: the routines keep what the psABI preserves, write to the frame alone, and the kernel keeps
        // `$sp`, `$tp` and `$s8` (C-6).
        unsafe { run(core::ptr::from_mut(self)) }
    }
}

/// Which registers may hold what after a return from the kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowed {
    /// Whose call this was: its own keys may come back.
    pub(crate) own: u64,
    /// What the sender of the message had in its registers: a direct transfer may leave what the sender's stub
    /// did not clear.
    pub(crate) sender: Option<[u64; 32]>,
    /// A bit for each register that the contract gives a value: its story checks that.
    pub(crate) results: u32,
}

/// A register with something in it that nobody may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leak {
    pub(crate) register: usize,
    pub(crate) value: u64,
}

/// `$a0`, `$a1`: badge and message information.
pub(crate) const ANSWER: u32 = 1 << A0 | 1 << A1;
/// [`ANSWER`] and the registers of the first two message words, where a refusal has its details.
pub(crate) const REFUSAL: u32 = ANSWER | 1 << 7 | 1 << 8;

impl Frame {
    /// The first register that holds what it may not (C-6, C-8).
    pub(crate) fn leak(&self, allowed: Allowed) -> Option<Leak> {
        (1..32).zip(self.output.iter().skip(1)).find_map(|(register, value)| {
            let before = self.input.get(register).copied().unwrap_or(0);
            let fine = match register {
                TP => *value == thread_pointer(),
                // Wrong, it would not have come back at all.
                SP => true,
                S8 => *value == core::ptr::from_ref(self).addr() as u64,
                FP => *value == before,
                // Not the sender's to give: the kernel clears them, so the stubs need not (C-6, C-8).
                T0..=T6 | R21 => *value == 0 || *value == before,
                _ => {
                    let sent = allowed.sender.and_then(|sender| sender.get(register).copied());
                    allowed.results & 1 << register != 0
                        || *value == 0
                        || *value == before
                        || *value == key(allowed.own, register)
                        || Some(*value) == sent
                }
            };
            if fine { None } else { Some(Leak { register, value: *value }) }
        })
    }

    /// The first register that was changed at all, of those that a routine other than a trap must keep.
    pub(crate) fn changed(&self, but: u32) -> Option<Leak> {
        let kept = |register: &usize| ![TP, SP, S8].contains(register) && but & 1 << register == 0;
        (1..32).filter(kept).find_map(|register| {
            let value = self.after(register);
            (self.input.get(register) != Some(&value)).then_some(Leak { register, value })
        })
    }
}
