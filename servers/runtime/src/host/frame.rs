//! Whole pages of the linear map (C-29, C-44): the host's own memory, so nothing here may fault.

#![cfg_attr(target_arch = "loongarch64", expect(unsafe_code, reason = "loops over a page, in assembly"))]

#[cfg(target_arch = "loongarch64")]
core::arch::global_asm!(
    ".pushsection .text.bixi_host_frame, \"ax\", @progbits",
    // fn(page). A write of 256 bytes costs two instructions more than its stores.
    ".balign 64",
    "bixi_frame_zero:",
    "ori $t0, $zero, {page_bytes} / 4096",
    "slli.d $t0, $t0, 12",
    "add.d $t0, $t0, $a0",
    "1:",
    ".irp word, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "st.d $zero, $a0, 8 * \\word",
    ".endr",
    "addi.d $a0, $a0, 256",
    "bne $a0, $t0, 1b",
    "jirl $zero, $ra, 0",
    // fn(to, from).
    ".balign 64",
    "bixi_frame_copy:",
    "ori $t0, $zero, {page_bytes} / 4096",
    "slli.d $t0, $t0, 12",
    "add.d $t0, $t0, $a0",
    "1:",
    ".irp half, 0,64",
    "ld.d $t1, $a1, \\half",
    "ld.d $t2, $a1, \\half + 8",
    "ld.d $t3, $a1, \\half + 16",
    "ld.d $t4, $a1, \\half + 24",
    "ld.d $t5, $a1, \\half + 32",
    "ld.d $t6, $a1, \\half + 40",
    "ld.d $t7, $a1, \\half + 48",
    "ld.d $t8, $a1, \\half + 56",
    "st.d $t1, $a0, \\half",
    "st.d $t2, $a0, \\half + 8",
    "st.d $t3, $a0, \\half + 16",
    "st.d $t4, $a0, \\half + 24",
    "st.d $t5, $a0, \\half + 32",
    "st.d $t6, $a0, \\half + 40",
    "st.d $t7, $a0, \\half + 48",
    "st.d $t8, $a0, \\half + 56",
    ".endr",
    "addi.d $a1, $a1, 128",
    "addi.d $a0, $a0, 128",
    "bne $a0, $t0, 1b",
    "jirl $zero, $ra, 0",
    ".popsection",
    page_bytes = const abi::PAGE_BYTES,
);

#[cfg(target_arch = "loongarch64")]
unsafe extern "C" {
    fn bixi_frame_zero(page: u64);
    fn bixi_frame_copy(to: u64, from: u64);
}

const _: () = assert!(abi::PAGE_BYTES.is_multiple_of(4096));

/// Fills a page with zeros.
///
/// # Safety
/// A page of mapped memory begins there that is nobody else's meanwhile.
#[cfg(target_arch = "loongarch64")]
pub unsafe fn zero(page: u64) {
    // SAFETY: as the caller promises.
    unsafe { bixi_frame_zero(page) }
}

/// Copies a page.
///
/// # Safety
/// As [`zero`], for both.
#[cfg(target_arch = "loongarch64")]
pub unsafe fn copy(to: u64, from: u64) {
    // SAFETY: as the caller promises.
    unsafe { bixi_frame_copy(to, from) }
}
