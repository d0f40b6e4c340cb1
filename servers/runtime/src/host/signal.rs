//! Linux's signal frame between a context's registers and its program's stack, in one straight pass each way.
//!
//! Only the places are known here: what the words mean, and whether a frame may be used, is the host's affair. The
//! routines may fault in the program's memory as those of [`super::copy`], and are called as its short ones; after a
//! fault that nobody mends they have done a part of their work.

#![cfg_attr(
    target_arch = "loongarch64",
    expect(unsafe_code, reason = "registers to and from a program's memory, in assembly")
)]

/// A frame up to its first record (loongarch.md §3.4; arch/loongarch/include/uapi/asm/{sigcontext,ucontext}.h).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Frame {
    /// siginfo.
    pub info: [u64; 16],
    /// uc_flags.
    pub flags: u64,
    /// uc_link.
    pub link: u64,
    /// uc_stack.
    pub stack: [u64; 3],
    /// uc_sigmask.
    pub mask: u64,
    /// The rest of the program's own sigset_t, and what aligns sigcontext.
    pub unused: [u64; 16],
    /// sc_pc, then sc_regs.
    pub registers: [u64; 33],
    /// sc_flags.
    pub context_flags: u64,
    /// The head of the first record.
    pub record: [u64; 2],
}

/// What a frame has beside registers and zeros.
#[derive(Clone, Copy, Debug)]
pub struct FrameParts<'a> {
    /// The part of siginfo that is not zero.
    pub info: &'a [u64; 6],
    /// uc_stack.
    pub stack: &'a [u64; 3],
    /// uc_sigmask.
    pub mask: u64,
    /// sc_flags.
    pub context_flags: u64,
    /// The first word of the first record, zero when that is END.
    pub record: u64,
    /// Where END lies: behind a record, or where the first one would be.
    pub end: u64,
}

/// What is looked at of a frame before any of it counts. Its first word lies below all registers and its last one
/// above: who could read these can read what is between, which is less than a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameEnds {
    /// uc_stack.
    pub stack: [u64; 3],
    /// uc_sigmask.
    pub mask: u64,
    /// sc_flags.
    pub context_flags: u64,
    /// The first word of the first record.
    pub record: u64,
}

#[cfg(target_arch = "loongarch64")]
mod routines {
    use super::{Frame, FrameEnds, FrameParts};
    use crate::host::copy::Remaining;
    use core::arch::asm;
    use core::mem::offset_of;

    core::arch::global_asm!(
        ".pushsection .text.bixi_host_signal, \"ax\", @progbits",
        "bixi_signal_file:",
        // Frame in `$a0`, the context's registers in `$a1`, then the parts; failed in `$a0`. It uses `$t0` and `$t1`.
        ".globl bixi_signal_save",
        "bixi_signal_save:",
        ".irp pair, 0,16,32",
        "ld.d $t0, $a2, \\pair",
        "ld.d $t1, $a2, \\pair + 8",
        "st.d $t0, $a0, {info} + \\pair",
        "st.d $t1, $a0, {info} + \\pair + 8",
        ".endr",
        "ld.d $t0, $a3, 0",
        "ld.d $t1, $a3, 8",
        "st.d $t0, $a0, {stack}",
        "st.d $t1, $a0, {stack} + 8",
        "ld.d $t0, $a3, 16",
        "ld.d $t1, $a1, 0",
        "st.d $t0, $a0, {stack} + 16",
        "st.d $t1, $a0, {registers}",
        ".irp word, 6,7,8,9,10,11,12,13,14,15",
        "st.d $zero, $a0, {info} + 8 * \\word",
        ".endr",
        "st.d $zero, $a0, {flags}",
        "st.d $zero, $a0, {link}",
        "st.d $a4, $a0, {mask}",
        "st.d $a5, $a0, {context_flags}",
        "st.d $a6, $a0, {record}",
        "st.d $zero, $a0, {record} + 8",
        "st.d $zero, $a7, 0",
        "st.d $zero, $a7, 8",
        // `$r0` is zero; the others.
        "st.d $zero, $a0, {registers} + 8",
        ".irp pair, 8,24,40,56,72,88,104,120,136,152,168,184,200,216,232",
        "ld.d $t0, $a1, \\pair",
        "ld.d $t1, $a1, \\pair + 8",
        "st.d $t0, $a0, {registers} + 8 + \\pair",
        "st.d $t1, $a0, {registers} + 16 + \\pair",
        ".endr",
        "ld.d $t0, $a1, 248",
        "st.d $t0, $a0, {registers} + 256",
        "move $a0, $zero",
        "jirl $zero, $ra, 0",
        // Frame in `$a0`; failed in it, and the ends in `$a1` to `$a5` and `$t0`.
        ".globl bixi_signal_peek",
        "bixi_signal_peek:",
        "ld.d $a1, $a0, {stack}",
        "ld.d $a2, $a0, {stack} + 8",
        "ld.d $a3, $a0, {stack} + 16",
        "ld.d $a4, $a0, {mask}",
        "ld.d $a5, $a0, {context_flags}",
        "ld.d $t0, $a0, {record}",
        "move $a0, $zero",
        "jirl $zero, $ra, 0",
        // Frame in `$a0`, the context's registers in `$a1`; failed in `$a0`. It uses `$t0` and `$t1`.
        ".globl bixi_signal_load",
        "bixi_signal_load:",
        "ld.d $t0, $a0, {registers}",
        "st.d $t0, $a1, 0",
        ".irp pair, 8,24,40,56,72,88,104,120,136,152,168,184,200,216,232",
        "ld.d $t0, $a0, {registers} + 8 + \\pair",
        "ld.d $t1, $a0, {registers} + 16 + \\pair",
        "st.d $t0, $a1, \\pair",
        "st.d $t1, $a1, \\pair + 8",
        ".endr",
        "ld.d $t0, $a0, {registers} + 256",
        "st.d $t0, $a1, 248",
        "move $a0, $zero",
        "jirl $zero, $ra, 0",
        "bixi_signal_file_end:",
        "bixi_signal_failed:",
        "ori $a0, $zero, 1",
        "jirl $zero, $ra, 0",
        ".popsection",
        info = const offset_of!(Frame, info),
        flags = const offset_of!(Frame, flags),
        link = const offset_of!(Frame, link),
        stack = const offset_of!(Frame, stack),
        mask = const offset_of!(Frame, mask),
        registers = const offset_of!(Frame, registers),
        context_flags = const offset_of!(Frame, context_flags),
        record = const offset_of!(Frame, record),
    );

    unsafe extern "C" {
        fn bixi_signal_file();
        fn bixi_signal_file_end();
        fn bixi_signal_failed();
        fn bixi_signal_save();
        fn bixi_signal_peek();
        fn bixi_signal_load();
    }

    /// Code that a fault in the routines leads to, as [`crate::host::copy::fix_up`] wants it.
    pub(in crate::host) const FAULTS: [unsafe extern "C" fn(); 3] =
        [bixi_signal_file, bixi_signal_file_end, bixi_signal_failed];

    /// Writes a frame: these parts, and the registers of a context.
    ///
    /// # Errors
    /// The frame could not be written in whole.
    ///
    /// # Safety
    /// `frame` and the bytes of [`Frame`] from it on, and 16 bytes from `parts.end` on, are checked to lie below 2^47;
    /// `registers` is the address of a context's.
    #[inline]
    pub unsafe fn save(frame: u64, registers: u64, parts: &FrameParts<'_>) -> Result<(), Remaining> {
        let failed: u64;
        // SAFETY: as the caller promises; a fault in the program's half is handled by `fix_up`. The routine changes
        // what is named here; a fault in it, `$t5` to `$t8` too.
        unsafe {
            asm!(
                "bl {routine}",
                routine = sym bixi_signal_save,
                inlateout("$a0") frame => failed,
                in("$a1") registers,
                in("$a2") parts.info,
                in("$a3") parts.stack,
                in("$a4") parts.mask,
                in("$a5") parts.context_flags,
                in("$a6") parts.record,
                in("$a7") parts.end,
                out("$t0") _, out("$t1") _,
                out("$ra") _, out("$t5") _, out("$t6") _, out("$t7") _, out("$t8") _,
            );
        }
        done(failed)
    }

    /// Reads what is looked at first.
    ///
    /// # Errors
    /// It could not be read in whole.
    ///
    /// # Safety
    /// `frame` and the bytes of [`Frame`] from it on are checked to lie below 2^47.
    #[inline]
    pub unsafe fn peek(frame: u64) -> Result<FrameEnds, Remaining> {
        let failed: u64;
        let mut ends = FrameEnds::default();
        let [start, flags, bytes] = &mut ends.stack;
        // SAFETY: as in `save`.
        unsafe {
            asm!(
                "bl {routine}",
                routine = sym bixi_signal_peek,
                inlateout("$a0") frame => failed,
                lateout("$a1") *start,
                lateout("$a2") *flags,
                lateout("$a3") *bytes,
                lateout("$a4") ends.mask,
                lateout("$a5") ends.context_flags,
                lateout("$t0") ends.record,
                out("$ra") _, out("$t5") _, out("$t6") _, out("$t7") _, out("$t8") _,
            );
        }
        done(failed).map(|()| ends)
    }

    /// Reads a context's registers.
    ///
    /// # Errors
    /// The frame could not be read in whole; some of the registers are those of the frame.
    ///
    /// # Safety
    /// As [`peek`]; `registers` is the address of a context's.
    #[inline]
    pub unsafe fn load(frame: u64, registers: u64) -> Result<(), Remaining> {
        let failed: u64;
        // SAFETY: as in `save`.
        unsafe {
            asm!(
                "bl {routine}",
                routine = sym bixi_signal_load,
                inlateout("$a0") frame => failed,
                in("$a1") registers,
                out("$t0") _, out("$t1") _,
                out("$ra") _, out("$t5") _, out("$t6") _, out("$t7") _, out("$t8") _,
            );
        }
        done(failed)
    }

    #[inline]
    const fn done(failed: u64) -> Result<(), Remaining> {
        if failed == 0 { Ok(()) } else { Err(Remaining(size_of::<Frame>() as u64)) }
    }
}

#[cfg(target_arch = "loongarch64")]
pub use routines::{load, peek, save};

#[cfg(target_arch = "loongarch64")]
pub(super) use routines::FAULTS;
