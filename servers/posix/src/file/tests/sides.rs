//! The two sides that are compared: the kernel that the test runs on, and the server here.
#![expect(unsafe_code, clippy::undocumented_unsafe_blocks, reason = "an oracle: raw calls in a test")]

use crate::Errno;
use crate::testing::archive::Archive;
use crate::testing::driver::{Driver, SCRATCH};
use crate::testing::program;
use std::ffi::CString;
use std::path::Path;
use std::vec::Vec;

/// Either side: calls by number, with paths below its own directory and buffers that it has.
pub(super) trait Side {
    fn raw(&mut self, number: Number, words: [u64; 6]) -> Result<u64, u64>;
    /// Puts a string where a call finds it; its address.
    fn text(&mut self, which: usize, text: &str) -> u64;
    fn buffer(&mut self) -> u64;
    fn fill(&mut self, bytes: usize);
    fn bytes(&mut self, bytes: usize) -> Vec<u8>;
    fn root(&self) -> u64;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    Openat,
    Close,
    Write,
    Pwrite,
    Read,
    Lseek,
    Ftruncate,
    Truncate,
    Mkdirat,
    Mknodat,
    Unlinkat,
    Linkat,
    Symlinkat,
    Renameat2,
    Fchmodat,
    Readlinkat,
    Statx,
    Faccessat,
    Chdir,
    Getcwd,
    Getdents,
}

pub(super) struct Native {
    texts: [CString; 2],
    buffer: Vec<u8>,
    root: CString,
}

impl Side for Native {
    fn raw(&mut self, number: Number, words: [u64; 6]) -> Result<u64, u64> {
        let call = match number {
            Number::Openat => libc::SYS_openat,
            Number::Close => libc::SYS_close,
            Number::Write => libc::SYS_write,
            Number::Pwrite => libc::SYS_pwrite64,
            Number::Read => libc::SYS_read,
            Number::Lseek => libc::SYS_lseek,
            Number::Ftruncate => libc::SYS_ftruncate,
            Number::Truncate => libc::SYS_truncate,
            Number::Mkdirat => libc::SYS_mkdirat,
            Number::Mknodat => libc::SYS_mknodat,
            Number::Unlinkat => libc::SYS_unlinkat,
            Number::Linkat => libc::SYS_linkat,
            Number::Symlinkat => libc::SYS_symlinkat,
            Number::Renameat2 => libc::SYS_renameat2,
            Number::Fchmodat => libc::SYS_fchmodat,
            Number::Readlinkat => libc::SYS_readlinkat,
            Number::Statx => libc::SYS_statx,
            Number::Faccessat => libc::SYS_faccessat,
            Number::Chdir => libc::SYS_chdir,
            Number::Getcwd => libc::SYS_getcwd,
            Number::Getdents => libc::SYS_getdents64,
        };
        let mut words = words;
        // LoongArch's flags of open are asm-generic; this machine's may differ in two.
        if number == Number::Openat {
            words[2] = u64::from(native_flags(u32::try_from(words[2]).unwrap()));
        }
        let [a, b, c, d, e, f] = words;
        let result = unsafe { libc::syscall(call, a, b, c, d, e, f) };
        if result == -1 {
            let error = std::io::Error::last_os_error().raw_os_error().unwrap();
            return Err(u64::try_from(error).unwrap());
        }
        Ok(result.cast_unsigned())
    }

    fn text(&mut self, which: usize, text: &str) -> u64 {
        self.texts[which] = CString::new(text).unwrap();
        self.texts[which].as_ptr() as u64
    }

    fn buffer(&mut self) -> u64 {
        self.buffer.as_mut_ptr() as u64
    }

    fn fill(&mut self, bytes: usize) {
        pattern(&mut self.buffer[..bytes]);
    }

    fn bytes(&mut self, bytes: usize) -> Vec<u8> {
        self.buffer[..bytes].to_vec()
    }

    fn root(&self) -> u64 {
        self.root.as_ptr() as u64
    }
}

/// open's flags as this machine numbers them.
pub(super) fn native_flags(bits: u32) -> u32 {
    let pairs = [
        (0o20_0000_u32, libc::O_DIRECTORY),
        (0o40_0000, libc::O_NOFOLLOW),
        (0o1000_0000, libc::O_PATH),
        (0o2000_0000, libc::O_TMPFILE & !libc::O_DIRECTORY),
    ];
    let mut native = bits & !pairs.iter().fold(0, |all, (ours, _)| all | ours);
    for (ours, theirs) in pairs {
        if bits & ours != 0 {
            native |= theirs.cast_unsigned();
        }
    }
    native
}

pub(super) fn pattern(bytes: &mut [u8]) {
    for (number, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::try_from(number % 251).unwrap();
    }
}

pub(super) struct Ours(pub(super) Driver);

impl Side for Ours {
    fn raw(&mut self, number: Number, words: [u64; 6]) -> Result<u64, u64> {
        let number = match number {
            Number::Openat => 56,
            Number::Close => 57,
            Number::Write => 64,
            Number::Pwrite => 68,
            Number::Read => 63,
            Number::Lseek => 62,
            Number::Ftruncate => 46,
            Number::Truncate => 45,
            Number::Mkdirat => 34,
            Number::Mknodat => 33,
            Number::Unlinkat => 35,
            Number::Linkat => 37,
            Number::Symlinkat => 36,
            Number::Renameat2 => 276,
            Number::Fchmodat => 53,
            Number::Readlinkat => 78,
            Number::Statx => 291,
            Number::Faccessat => 48,
            Number::Chdir => 49,
            Number::Getcwd => 17,
            Number::Getdents => 61,
        };
        self.0.result(number, words).map_err(Errno::raw)
    }

    fn text(&mut self, which: usize, text: &str) -> u64 {
        let at = SCRATCH + 0x8000 + which as u64 * 0x1000;
        self.0.poke(at, &[text.as_bytes(), &[0]].concat());
        at
    }

    fn buffer(&mut self) -> u64 {
        SCRATCH
    }

    fn fill(&mut self, bytes: usize) {
        let mut filled = std::vec![0; bytes];
        pattern(&mut filled);
        if !filled.is_empty() {
            self.0.poke(SCRATCH, &filled);
        }
    }

    fn bytes(&mut self, bytes: usize) -> Vec<u8> {
        if bytes == 0 { Vec::new() } else { self.0.peek(SCRATCH, bytes) }
    }

    fn root(&self) -> u64 {
        SCRATCH + 0xa000
    }
}

pub(super) fn ours() -> Ours {
    let files =
        Archive::default().directory("bin").file("bin/program", 0o755, &program::usual()).directory("x/y/w");
    let mut driver = Driver::with_files(files);
    driver.start("/bin/program").unwrap();
    assert_eq!(driver.call(222, [SCRATCH, 0x1_0000, 3, 0x32, 0, 0]), Some(SCRATCH));
    driver.poke(SCRATCH + 0xa000, b"/x/y/w\0");
    assert_eq!(driver.call(49, [SCRATCH + 0xa000, 0, 0, 0, 0, 0]), Some(0));
    Ours(driver)
}

pub(super) fn native(directory: &Path) -> Native {
    let root = CString::new(directory.to_str().unwrap()).unwrap();
    let texts = [CString::default(), CString::default()];
    Native { texts, buffer: std::vec![0; 0x8000], root }
}
