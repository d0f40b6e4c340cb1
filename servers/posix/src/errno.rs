//! Linux's error numbers (asm-generic, which LoongArch uses).

use core::fmt;

/// Why a call failed, as Linux numbers it. As wide as a call's result: either travels in the same register.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Errno(u64);

macro_rules! define_errnos {
    ($($name:ident = $number:literal, $doc:literal;)*) => {
        impl Errno {
            $(#[doc = $doc] pub const $name: Self = Self($number);)*

            /// Its name in C, for people.
            pub const fn name(self) -> &'static str {
                match self.0 { $($number => stringify!($name),)* _ => "E?" }
            }
        }

        impl Errno {
            /// The error of a number, if it has a name here.
            pub const fn from_raw(number: u64) -> Option<Self> {
                match number { $($number => Some(Self::$name),)* _ => None }
            }
        }

        #[cfg(target_arch = "loongarch64")]
        const _: () = { $(assert!($number == linux_raw_sys::errno::$name);)* };
    };
}

define_errnos! {
    EPERM = 1, "Operation not permitted.";
    ENOENT = 2, "No such file or directory.";
    ESRCH = 3, "No such process.";
    EINTR = 4, "Interrupted by a signal.";
    EIO = 5, "Input or output error.";
    ENXIO = 6, "No such device or address.";
    E2BIG = 7, "Argument list too long.";
    ENOEXEC = 8, "Not a program that this machine runs.";
    EBADF = 9, "Bad file descriptor.";
    ECHILD = 10, "No child processes.";
    EAGAIN = 11, "Try again, or out of processes.";
    ENOMEM = 12, "Out of memory.";
    EACCES = 13, "Permission denied.";
    EFAULT = 14, "Bad address.";
    ENOTBLK = 15, "Not a block device.";
    EBUSY = 16, "Device or resource busy.";
    EEXIST = 17, "File exists.";
    EXDEV = 18, "Link across file systems.";
    ENODEV = 19, "No such device.";
    ENOTDIR = 20, "Not a directory.";
    EISDIR = 21, "Is a directory.";
    EINVAL = 22, "Invalid argument.";
    ENFILE = 23, "Too many open files in the system.";
    EMFILE = 24, "Too many open files in the process.";
    ENOTTY = 25, "Not a terminal, or no such ioctl.";
    ETXTBSY = 26, "Program file is busy.";
    EFBIG = 27, "File too large.";
    ENOSPC = 28, "No space left on device.";
    ESPIPE = 29, "Illegal seek.";
    EROFS = 30, "Read-only file system.";
    EMLINK = 31, "Too many links.";
    EPIPE = 32, "Broken pipe.";
    EDOM = 33, "Argument out of the function's domain.";
    ERANGE = 34, "Result too large.";
    EDEADLK = 35, "Would deadlock.";
    ENAMETOOLONG = 36, "File name too long.";
    ENOLCK = 37, "No record locks available.";
    ENOSYS = 38, "No such system call.";
    ENOTEMPTY = 39, "Directory not empty.";
    ELOOP = 40, "Too many symbolic links.";
    EOVERFLOW = 75, "Value too large for its type.";
    ELIBBAD = 80, "Damaged shared library or interpreter.";
    EOPNOTSUPP = 95, "Operation not supported.";
    ETIMEDOUT = 110, "Timed out.";
}

/// What a waiting call that a signal ended answers inside the server; no program ever sees one (Linux's own
/// numbers). [`crate::signal::restart`] makes of them what the program finds.
impl Errno {
    /// Again if the handler was set with SA_RESTART, or if no handler ran.
    pub const ERESTARTSYS: Self = Self(512);
    /// Again in any case.
    pub const ERESTARTNOINTR: Self = Self(513);
    /// Again only if no handler ran.
    pub const ERESTARTNOHAND: Self = Self(514);
    /// EINTR if a handler ran; else what is left of it.
    pub const ERESTART_RESTARTBLOCK: Self = Self(516);

    /// Whether it is one of these.
    pub const fn is_restart(self) -> bool {
        matches!(self.0, 512..=516)
    }

    /// Which of these a call's result is, if any.
    #[inline]
    pub const fn restart(result: u64) -> Option<Self> {
        match result.wrapping_neg() {
            512 => Some(Self::ERESTARTSYS),
            513 => Some(Self::ERESTARTNOINTR),
            514 => Some(Self::ERESTARTNOHAND),
            516 => Some(Self::ERESTART_RESTARTBLOCK),
            _ => None,
        }
    }
}

impl Errno {
    /// The number, 1 to 4095.
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// What the program finds in `$a0`: the negated number.
    pub const fn to_result(self) -> u64 {
        self.0.wrapping_neg()
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
