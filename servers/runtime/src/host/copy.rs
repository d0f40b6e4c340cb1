//! Routines that touch a program's memory, the only ones that do (C-29).
//!
//! Each may fault anywhere: the kernel then goes on at the host's entry for own faults with pc and address, and
//! what that entry's `resolve` answers is either the same pc (the page is there now) or [`fix_up`]'s. Words fall
//! back to bytes, so that what remains is counted exactly; a byte ends the routine. They use `$a0` to `$a5` and
//! `$t0` to `$t4`; the entry keeps these and `$a6` and `$a7`, and the kernel changes `$t5` to `$t8`. The short ones are
//! called without the compiler's convention: whoever calls them keeps everything else where it is.
//!
//! Whoever calls them has checked that the program's range ends below 2^47 without wrapping: they are given
//! addresses, not pointers, and know nothing of who may touch what.

#![cfg_attr(
    target_arch = "loongarch64",
    expect(unsafe_code, reason = "memory that belongs to somebody else, in assembly")
)]

#[cfg(target_arch = "loongarch64")]
core::arch::global_asm!(
    ".pushsection .text.bixi_host_copy, \"ax\", @progbits",
    // fn(to, from, bytes) -> what remains.
    "bixi_host_copy:",
    // Words, if both ends can come to a word's start together; bytes up to there.
    "xor $t0, $a0, $a1",
    "andi $t0, $t0, 7",
    "bnez $t0, 3f",
    "5: andi $t0, $a0, 7",
    "beqz $t0, 6f",
    "beqz $a2, bixi_host_copy_end",
    "ld.b $t0, $a1, 0",
    "st.b $t0, $a0, 0",
    "addi.d $a1, $a1, 1",
    "addi.d $a0, $a0, 1",
    "addi.d $a2, $a2, -1",
    "b 5b",
    "6: ori $t4, $zero, 256",
    "bltu $a2, $t4, 2f",
    "1:",
    ".irp four, 0,32,64,96,128,160,192,224",
    "ld.d $t0, $a1, \\four",
    "ld.d $t1, $a1, \\four + 8",
    "ld.d $t2, $a1, \\four + 16",
    "ld.d $t3, $a1, \\four + 24",
    "st.d $t0, $a0, \\four",
    "st.d $t1, $a0, \\four + 8",
    "st.d $t2, $a0, \\four + 16",
    "st.d $t3, $a0, \\four + 24",
    ".endr",
    "addi.d $a1, $a1, 256",
    "addi.d $a0, $a0, 256",
    "addi.d $a2, $a2, -256",
    "bgeu $a2, $t4, 1b",
    "2: ori $t4, $zero, 32",
    "7: bltu $a2, $t4, 8f",
    "ld.d $t0, $a1, 0",
    "ld.d $t1, $a1, 8",
    "ld.d $t2, $a1, 16",
    "ld.d $t3, $a1, 24",
    "st.d $t0, $a0, 0",
    "st.d $t1, $a0, 8",
    "st.d $t2, $a0, 16",
    "st.d $t3, $a0, 24",
    "addi.d $a1, $a1, 32",
    "addi.d $a0, $a0, 32",
    "addi.d $a2, $a2, -32",
    "b 7b",
    "8: ori $t4, $zero, 8",
    "4: bltu $a2, $t4, 3f",
    "ld.d $t0, $a1, 0",
    "st.d $t0, $a0, 0",
    "addi.d $a1, $a1, 8",
    "addi.d $a0, $a0, 8",
    "addi.d $a2, $a2, -8",
    "b 4b",
    "bixi_host_copy_bytes:",
    "3: beqz $a2, bixi_host_copy_end",
    "ld.b $t0, $a1, 0",
    "st.b $t0, $a0, 0",
    "addi.d $a1, $a1, 1",
    "addi.d $a0, $a0, 1",
    "addi.d $a2, $a2, -1",
    "b 3b",
    "bixi_host_copy_end:",
    "move $a0, $a2",
    "jirl $zero, $ra, 0",
    // fn(to, 0, bytes) -> what remains.
    "bixi_host_zero:",
    "andi $t0, $a0, 7",
    "bnez $t0, 3f",
    "ori $t4, $zero, 64",
    "1: bltu $a2, $t4, 2f",
    ".irp word, 0,1,2,3,4,5,6,7",
    "st.d $zero, $a0, 8 * \\word",
    ".endr",
    "addi.d $a0, $a0, 64",
    "addi.d $a2, $a2, -64",
    "b 1b",
    "2:",
    "bixi_host_zero_bytes:",
    "3: beqz $a2, bixi_host_zero_end",
    "st.b $zero, $a0, 0",
    "addi.d $a0, $a0, 1",
    "addi.d $a2, $a2, -1",
    "b 3b",
    "bixi_host_zero_end:",
    "move $a0, $a2",
    "jirl $zero, $ra, 0",
    // fn(to, from, most) -> (failed, bytes before the zero): copies up to a zero and with it.
    "bixi_host_string:",
    "move $a3, $a1",
    "1: beqz $a2, 2f",
    "ld.b $t0, $a1, 0",
    "st.b $t0, $a0, 0",
    "beqz $t0, 2f",
    "addi.d $a1, $a1, 1",
    "addi.d $a0, $a0, 1",
    "addi.d $a2, $a2, -1",
    "b 1b",
    "2: sub.d $a1, $a1, $a3",
    "move $a0, $zero",
    "jirl $zero, $ra, 0",
    "bixi_host_string_failed:",
    "sub.d $a1, $a1, $a3",
    "ori $a0, $zero, 1",
    "jirl $zero, $ra, 0",
    // fn(at) -> (failed, word), 32 bits, aligned.
    "bixi_host_load_word:",
    "ld.wu $a1, $a0, 0",
    "move $a0, $zero",
    "jirl $zero, $ra, 0",
    // fn(at) -> (failed, word), 64 bits, aligned.
    ".globl bixi_host_load_double",
    "bixi_host_load_double:",
    "ld.d $a1, $a0, 0",
    "move $a0, $zero",
    "jirl $zero, $ra, 0",
    // fn(at, value) -> (failed, nothing), 64 bits, aligned.
    ".globl bixi_host_store_double",
    "bixi_host_store_double:",
    "st.d $a1, $a0, 0",
    "move $a0, $zero",
    "jirl $zero, $ra, 0",
    // fn(at, old, new) -> (failed, word): stores `new` if the word, 32 bits and aligned, is `old`.
    "bixi_host_compare_exchange:",
    "dbar 0x10",
    "bstrpick.d $a1, $a1, 31, 0",
    "1: ll.w $t0, $a0, 0",
    "bstrpick.d $t0, $t0, 31, 0",
    "bne $t0, $a1, 2f",
    "move $t1, $a2",
    "sc.w $t1, $a0, 0",
    "beqz $t1, 1b",
    "2: dbar 0x10",
    "move $a1, $t0",
    "move $a0, $zero",
    "jirl $zero, $ra, 0",
    "bixi_host_word_failed:",
    "ori $a0, $zero, 1",
    "jirl $zero, $ra, 0",
    ".popsection",
);

/// What the routines of one word answer.
#[repr(C)]
#[cfg(target_arch = "loongarch64")]
struct Word {
    failed: u64,
    word: u64,
}

#[cfg(target_arch = "loongarch64")]
unsafe extern "C" {
    fn bixi_host_copy(to: u64, from: u64, bytes: u64) -> u64;
    fn bixi_host_copy_bytes();
    fn bixi_host_copy_end();
    fn bixi_host_zero(to: u64, nothing: u64, bytes: u64) -> u64;
    fn bixi_host_zero_bytes();
    fn bixi_host_zero_end();
    fn bixi_host_string(to: u64, from: u64, most: u64) -> Word;
    fn bixi_host_string_failed();
    fn bixi_host_load_word(at: u64) -> Word;
    fn bixi_host_load_double();
    fn bixi_host_store_double();
    fn bixi_host_compare_exchange(at: u64, old: u64, new: u64) -> Word;
    fn bixi_host_word_failed();
}

/// A program's byte that could not be touched: what was left of the range from it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remaining(pub u64);

/// Where a routine goes on after a fault at `pc` that nobody could mend; `None` when `pc` is in none of them: a bug
/// of the host's.
#[cfg(target_arch = "loongarch64")]
pub fn fix_up(pc: u64) -> Option<u64> {
    type Code = unsafe extern "C" fn();
    let address = |code: Code| (code as *const ()).expose_provenance() as u64;
    let copy = (bixi_host_copy as *const ()).expose_provenance() as u64;
    let zero = (bixi_host_zero as *const ()).expose_provenance() as u64;
    let string = (bixi_host_string as *const ()).expose_provenance() as u64;
    let load = (bixi_host_load_word as *const ()).expose_provenance() as u64;
    let (vector_file, vector_end, vector_failed) = super::vector::FAULTS;
    let [signal_file, signal_end, signal_failed] = super::signal::FAULTS;
    let table = [
        (copy, bixi_host_copy_bytes as Code, bixi_host_copy_bytes as Code),
        (address(bixi_host_copy_bytes), bixi_host_copy_end, bixi_host_copy_end),
        (zero, bixi_host_zero_bytes, bixi_host_zero_bytes),
        (address(bixi_host_zero_bytes), bixi_host_zero_end, bixi_host_zero_end),
        (string, bixi_host_string_failed, bixi_host_string_failed),
        (load, bixi_host_word_failed, bixi_host_word_failed),
        (address(vector_file), vector_end, vector_failed),
        (address(signal_file), signal_end, signal_failed),
    ];
    let found = table.into_iter().find(|(start, end, _)| (*start..address(*end)).contains(&pc));
    found.map(|(_, _, go_on)| address(go_on))
}

/// Reads a program's memory.
///
/// # Errors
/// What could not be read.
///
/// # Safety
/// `from` to `from + bytes` is checked to lie below 2^47; `to` is the host's own and has room.
#[cfg(target_arch = "loongarch64")]
pub unsafe fn copy(to: u64, from: u64, bytes: u64) -> Result<(), Remaining> {
    // SAFETY: as the caller says; a fault in the program's half is handled by `fix_up`.
    match unsafe { bixi_host_copy(to, from, bytes) } {
        0 => Ok(()),
        left => Err(Remaining(left)),
    }
}

/// Writes zeros to a program's memory.
///
/// # Errors
/// What could not be written.
///
/// # Safety
/// `to` to `to + bytes` is checked to lie below 2^47.
#[cfg(target_arch = "loongarch64")]
pub unsafe fn zero(to: u64, bytes: u64) -> Result<(), Remaining> {
    // SAFETY: as the caller says.
    match unsafe { bixi_host_zero(to, 0, bytes) } {
        0 => Ok(()),
        left => Err(Remaining(left)),
    }
}

/// How far the copy of a string came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// To its zero, behind so many bytes, or to the most that was wanted.
    Whole(u64),
    /// To a byte that could not be read, behind so many bytes.
    Broken(u64),
}

/// Reads a program's string up to its zero, and with it.
///
/// # Safety
/// `from` to `from + most` is checked to lie below 2^47; `to` is the host's own and has room for `most` bytes.
#[cfg(target_arch = "loongarch64")]
pub unsafe fn string(to: u64, from: u64, most: u64) -> Text {
    // SAFETY: as the caller says; a fault in the program's half is handled by `fix_up`.
    match unsafe { bixi_host_string(to, from, most) } {
        Word { failed: 0, word } => Text::Whole(word),
        Word { word, .. } => Text::Broken(word),
    }
}

/// Reads an aligned 32-bit word of a program's memory.
///
/// # Errors
/// It could not be read.
///
/// # Safety
/// `at` is checked to lie below 2^47, and aligned.
#[cfg(target_arch = "loongarch64")]
pub unsafe fn load_word(at: u64) -> Result<u64, Remaining> {
    // SAFETY: as the caller says.
    match unsafe { bixi_host_load_word(at) } {
        Word { failed: 0, word } => Ok(word),
        _ => Err(Remaining(4)),
    }
}

/// Reads an aligned 64-bit word of a program's memory.
///
/// # Errors
/// It could not be read.
///
/// # Safety
/// As [`load_word`].
#[cfg(target_arch = "loongarch64")]
#[inline]
pub unsafe fn load_double(at: u64) -> Result<u64, Remaining> {
    let (failed, word): (u64, u64);
    // SAFETY: as the caller says. The routine changes what is named here; a fault in it, `$t5` to `$t8` too.
    unsafe {
        core::arch::asm!(
            "bl {routine}",
            routine = sym bixi_host_load_double,
            inlateout("$a0") at => failed,
            lateout("$a1") word,
            out("$ra") _, out("$t5") _, out("$t6") _, out("$t7") _, out("$t8") _,
        );
    }
    if failed == 0 { Ok(word) } else { Err(Remaining(8)) }
}

/// Writes an aligned 64-bit word of a program's memory.
///
/// # Errors
/// It could not be written.
///
/// # Safety
/// As [`load_word`].
#[cfg(target_arch = "loongarch64")]
#[inline]
pub unsafe fn store_double(at: u64, value: u64) -> Result<(), Remaining> {
    let failed: u64;
    // SAFETY: as in `load_double`.
    unsafe {
        core::arch::asm!(
            "bl {routine}",
            routine = sym bixi_host_store_double,
            inlateout("$a0") at => failed,
            in("$a1") value,
            out("$ra") _, out("$t5") _, out("$t6") _, out("$t7") _, out("$t8") _,
        );
    }
    if failed == 0 { Ok(()) } else { Err(Remaining(8)) }
}

/// Replaces an aligned 32-bit word of a program's memory if it holds `old`, atomically; answers what it held.
///
/// # Errors
/// It could not be touched.
///
/// # Safety
/// `at` is checked to lie below 2^47, and aligned.
#[cfg(target_arch = "loongarch64")]
pub unsafe fn compare_exchange(at: u64, old: u64, new: u64) -> Result<u64, Remaining> {
    // SAFETY: as the caller says.
    match unsafe { bixi_host_compare_exchange(at, old, new) } {
        Word { failed: 0, word } => Ok(word),
        _ => Err(Remaining(4)),
    }
}
