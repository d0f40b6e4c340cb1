//! The vDSO: what `build.rs` made, and where its one function is.

/// The image: a shared object of less than a page.
pub const IMAGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/vdso.so"));

/// The instructions of `__vdso_rt_sigreturn`, by which unwinders know a signal frame:
/// `ori $a7, $zero, 139; syscall 0`.
pub const RT_SIGRETURN: [u8; 8] = [0x0b, 0x2c, 0x82, 0x03, 0x00, 0x00, 0x2b, 0x00];

const _: () = assert!(IMAGE.len() < crate::address::PAGE_SIZE);

/// Where `__vdso_rt_sigreturn` lies in the image; what a signal handler returns to.
pub const fn rt_sigreturn_offset() -> Option<u64> {
    let mut at = 0;
    while at + RT_SIGRETURN.len() <= IMAGE.len() {
        if let Some((candidate, _)) = IMAGE.split_at(at).1.split_first_chunk::<8>()
            && u64::from_le_bytes(*candidate) == u64::from_le_bytes(RT_SIGRETURN)
        {
            return Some(at as u64);
        }
        at += 4;
    }
    None
}

const _: () = assert!(rt_sigreturn_offset().is_some());
