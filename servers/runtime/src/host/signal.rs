//! Linux's signal frame between a context's registers and its program's stack, in one straight pass each way.
//!
//! Only the places are known here: what the words mean, and whether a frame may be used, is the host's affair. The
//! routines may fault in the program's memory as those of [`super::copy`], and use `$a0` to `$a5` and `$t0` to `$t4`;
//! after a fault that nobody mends they have done a part of their work.

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
#[repr(C)]
pub struct FrameParts<'a> {
    /// The part of siginfo that is not zero.
    pub info: &'a [u64; 6],
    /// uc_stack.
    pub stack: [u64; 3],
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
#[repr(C)]
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
    use core::mem::offset_of;

    core::arch::global_asm!(
        ".pushsection .text.bixi_host_signal, \"ax\", @progbits",
        "bixi_signal_file:",
        // fn(frame, the context's registers, parts) -> failed.
        ".globl bixi_signal_save",
        "bixi_signal_save:",
        "ld.d $t4, $a2, {parts_info}",
        "ld.d $a3, $t4, 0",
        "ld.d $a4, $t4, 8",
        "ld.d $a5, $t4, 16",
        "ld.d $t0, $t4, 24",
        "ld.d $t1, $t4, 32",
        "ld.d $t2, $t4, 40",
        "st.d $a3, $a0, {info}",
        "st.d $a4, $a0, {info} + 8",
        "st.d $a5, $a0, {info} + 16",
        "st.d $t0, $a0, {info} + 24",
        "st.d $t1, $a0, {info} + 32",
        "st.d $t2, $a0, {info} + 40",
        ".irp word, 6,7,8,9,10,11,12,13,14,15",
        "st.d $zero, $a0, {info} + 8 * \\word",
        ".endr",
        "ld.d $a3, $a2, {parts_stack}",
        "ld.d $a4, $a2, {parts_stack} + 8",
        "ld.d $a5, $a2, {parts_stack} + 16",
        "ld.d $t0, $a2, {parts_mask}",
        "ld.d $t1, $a2, {parts_context_flags}",
        "ld.d $t2, $a2, {parts_record}",
        "ld.d $t3, $a2, {parts_end}",
        "st.d $zero, $a0, {flags}",
        "st.d $zero, $a0, {link}",
        "st.d $a3, $a0, {stack}",
        "st.d $a4, $a0, {stack} + 8",
        "st.d $a5, $a0, {stack} + 16",
        "st.d $t0, $a0, {mask}",
        "st.d $t1, $a0, {context_flags}",
        "st.d $t2, $a0, {record}",
        "st.d $zero, $a0, {record} + 8",
        "st.d $zero, $t3, 0",
        "st.d $zero, $t3, 8",
        // pc; `$r0` is zero; the others.
        "ld.d $a3, $a1, 0",
        "st.d $a3, $a0, {registers}",
        "st.d $zero, $a0, {registers} + 8",
        ".irp group, 8,64,120,176",
        "ld.d $a3, $a1, \\group",
        "ld.d $a4, $a1, \\group + 8",
        "ld.d $a5, $a1, \\group + 16",
        "ld.d $t0, $a1, \\group + 24",
        "ld.d $t1, $a1, \\group + 32",
        "ld.d $t2, $a1, \\group + 40",
        "ld.d $t3, $a1, \\group + 48",
        "st.d $a3, $a0, {registers} + 8 + \\group",
        "st.d $a4, $a0, {registers} + 16 + \\group",
        "st.d $a5, $a0, {registers} + 24 + \\group",
        "st.d $t0, $a0, {registers} + 32 + \\group",
        "st.d $t1, $a0, {registers} + 40 + \\group",
        "st.d $t2, $a0, {registers} + 48 + \\group",
        "st.d $t3, $a0, {registers} + 56 + \\group",
        ".endr",
        "ld.d $a3, $a1, 232",
        "ld.d $a4, $a1, 240",
        "ld.d $a5, $a1, 248",
        "st.d $a3, $a0, {registers} + 240",
        "st.d $a4, $a0, {registers} + 248",
        "st.d $a5, $a0, {registers} + 256",
        "move $a0, $zero",
        "jirl $zero, $ra, 0",
        // fn(frame, ends) -> failed.
        ".globl bixi_signal_peek",
        "bixi_signal_peek:",
        "ld.d $a3, $a0, {stack}",
        "ld.d $a4, $a0, {stack} + 8",
        "ld.d $a5, $a0, {stack} + 16",
        "ld.d $t0, $a0, {mask}",
        "ld.d $t1, $a0, {context_flags}",
        "ld.d $t2, $a0, {record}",
        "st.d $a3, $a1, {ends_stack}",
        "st.d $a4, $a1, {ends_stack} + 8",
        "st.d $a5, $a1, {ends_stack} + 16",
        "st.d $t0, $a1, {ends_mask}",
        "st.d $t1, $a1, {ends_context_flags}",
        "st.d $t2, $a1, {ends_record}",
        "move $a0, $zero",
        "jirl $zero, $ra, 0",
        // fn(frame, the context's registers) -> failed.
        ".globl bixi_signal_load",
        "bixi_signal_load:",
        "ld.d $a3, $a0, {registers}",
        "st.d $a3, $a1, 0",
        ".irp group, 8,64,120,176",
        "ld.d $a3, $a0, {registers} + 8 + \\group",
        "ld.d $a4, $a0, {registers} + 16 + \\group",
        "ld.d $a5, $a0, {registers} + 24 + \\group",
        "ld.d $t0, $a0, {registers} + 32 + \\group",
        "ld.d $t1, $a0, {registers} + 40 + \\group",
        "ld.d $t2, $a0, {registers} + 48 + \\group",
        "ld.d $t3, $a0, {registers} + 56 + \\group",
        "st.d $a3, $a1, \\group",
        "st.d $a4, $a1, \\group + 8",
        "st.d $a5, $a1, \\group + 16",
        "st.d $t0, $a1, \\group + 24",
        "st.d $t1, $a1, \\group + 32",
        "st.d $t2, $a1, \\group + 40",
        "st.d $t3, $a1, \\group + 48",
        ".endr",
        "ld.d $a3, $a0, {registers} + 240",
        "ld.d $a4, $a0, {registers} + 248",
        "ld.d $a5, $a0, {registers} + 256",
        "st.d $a3, $a1, 232",
        "st.d $a4, $a1, 240",
        "st.d $a5, $a1, 248",
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
        parts_info = const offset_of!(FrameParts<'static>, info),
        parts_stack = const offset_of!(FrameParts<'static>, stack),
        parts_mask = const offset_of!(FrameParts<'static>, mask),
        parts_context_flags = const offset_of!(FrameParts<'static>, context_flags),
        parts_record = const offset_of!(FrameParts<'static>, record),
        parts_end = const offset_of!(FrameParts<'static>, end),
        ends_stack = const offset_of!(FrameEnds, stack),
        ends_mask = const offset_of!(FrameEnds, mask),
        ends_context_flags = const offset_of!(FrameEnds, context_flags),
        ends_record = const offset_of!(FrameEnds, record),
    );

    unsafe extern "C" {
        fn bixi_signal_file();
        fn bixi_signal_file_end();
        fn bixi_signal_failed();
        fn bixi_signal_save(frame: u64, registers: u64, parts: *const FrameParts<'_>) -> u64;
        fn bixi_signal_peek(frame: u64, ends: *mut FrameEnds) -> u64;
        fn bixi_signal_load(frame: u64, registers: u64) -> u64;
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
        // SAFETY: as the caller promises; a fault in the program's half is handled by `fix_up`.
        done(unsafe { bixi_signal_save(frame, registers, parts) })
    }

    /// Reads what is looked at first.
    ///
    /// # Errors
    /// It could not be read in whole.
    ///
    /// # Safety
    /// `frame` and the bytes of [`Frame`] from it on are checked to lie below 2^47.
    #[inline]
    pub unsafe fn peek(frame: u64, ends: &mut FrameEnds) -> Result<(), Remaining> {
        // SAFETY: as in `save`.
        done(unsafe { bixi_signal_peek(frame, ends) })
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
        // SAFETY: as in `save`.
        done(unsafe { bixi_signal_load(frame, registers) })
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
