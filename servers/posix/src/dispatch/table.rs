//! THE table of Linux's system calls.
//!
//! A row: `name = number, way, handler [wait: its async fn], (argument: kind, …);`. The way says what the
//! trampoline does (C-23): `leaf` calls have an assembly handler on the target besides the one here, `plain`
//! ones go through the common saver, `full` ones store every register to the context first.

use super::{Argument, Arguments, Kind};
use crate::Errno;
use crate::executor::cx::Cx;
use crate::host::Host;

/// How the trampoline handles a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By an assembly handler that needs no saved register.
    Leaf,
    /// Through the common saver.
    Plain,
    /// With the whole context stored.
    Full,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The call's name.
    pub name: &'static str,
    /// Its number.
    pub number: u64,
    /// How the trampoline handles it.
    pub way: Way,
    /// Whether it has an `async fn`.
    pub waits: bool,
    /// Its arguments.
    pub arguments: &'static [Argument],
}

/// Calls `$callback!` with every row, ascending by number.
#[macro_export]
macro_rules! for_each_linux_call {
    ($callback:ident) => {
        $callback! {
            getcwd = 17, plain, $crate::file::whereabouts::getcwd, (buffer: BufferOut(1), bytes: Size);
            eventfd2 = 19, plain, $crate::file::event::eventfd2, (count: Uint, flags: Octal);
            dup = 23, plain, $crate::file::duplicate::dup, (fd: Fd);
            dup3 = 24, plain, $crate::file::duplicate::dup3, (old: Fd, new: Fd, flags: Hex);
            fcntl = 25, plain, $crate::file::control::fcntl [wait: $crate::file::control::fcntl_waiting], (fd: Fd, command: Int, argument: Hex);
            ioctl = 29, plain, $crate::file::control::ioctl [wait: $crate::terminal::control::ioctl_waiting], (fd: Fd, request: Hex, argument: Address);
            flock = 32, plain, $crate::file::lock::flock [wait: $crate::file::lock::flock_waiting], (fd: Fd, operation: Hex);
            mknodat = 33, plain, $crate::file::names::mknodat, (directory: DirFd, path: Path, mode: Octal, device: Hex);
            mkdirat = 34, plain, $crate::file::names::mkdirat, (directory: DirFd, path: Path, mode: Octal);
            unlinkat = 35, plain, $crate::file::names::unlinkat, (directory: DirFd, path: Path, flags: Hex);
            symlinkat = 36, plain, $crate::file::names::symlinkat, (text: Path, directory: DirFd, path: Path);
            linkat = 37, plain, $crate::file::names::linkat, (from: DirFd, old: Path, to: DirFd, new: Path, flags: Hex);
            statfs = 43, plain, $crate::file::statfs::statfs, (path: Path, status: Out(120));
            fstatfs = 44, plain, $crate::file::statfs::fstatfs, (fd: Fd, status: Out(120));
            truncate = 45, plain, $crate::file::size::truncate, (path: Path, bytes: Size);
            ftruncate = 46, plain, $crate::file::size::ftruncate, (fd: Fd, bytes: Size);
            fallocate = 47, plain, $crate::file::size::fallocate, (fd: Fd, mode: Hex, offset: Size, bytes: Size);
            faccessat = 48, plain, $crate::file::access::faccessat, (directory: DirFd, path: Path, mode: Octal);
            chdir = 49, plain, $crate::file::whereabouts::chdir, (path: Path);
            fchdir = 50, plain, $crate::file::whereabouts::fchdir, (fd: Fd);
            fchmod = 52, plain, $crate::file::attributes::fchmod, (fd: Fd, mode: Octal);
            fchmodat = 53, plain, $crate::file::attributes::fchmodat, (directory: DirFd, path: Path, mode: Octal);
            fchownat = 54, plain, $crate::file::attributes::fchownat, (directory: DirFd, path: Path, user: Int, group: Int, flags: Hex);
            fchown = 55, plain, $crate::file::attributes::fchown, (fd: Fd, user: Int, group: Int);
            openat = 56, plain, $crate::file::open::openat [wait: $crate::file::open::openat_waiting], (directory: DirFd, path: Path, flags: Octal, mode: Octal);
            close = 57, plain, $crate::file::duplicate::close, (fd: Fd);
            pipe2 = 59, plain, $crate::file::fifo::pipe2, (ends: Out(8), flags: Octal);
            getdents64 = 61, plain, $crate::file::directory::getdents64, (fd: Fd, entries: BufferOut(2), bytes: Size);
            lseek = 62, plain, $crate::file::size::lseek, (fd: Fd, offset: Size, whence: Uint);
            read = 63, plain, $crate::file::transfer::read [wait: $crate::file::transfer::read_waiting], (fd: Fd, buffer: BufferOut(2), bytes: Size);
            write = 64, plain, $crate::file::transfer::write [wait: $crate::file::transfer::write_waiting], (fd: Fd, buffer: BufferIn(2), bytes: Size);
            readv = 65, plain, $crate::file::transfer::readv [wait: $crate::file::transfer::readv_waiting], (fd: Fd, pieces: VectorOut(2), count: Size);
            writev = 66, plain, $crate::file::transfer::writev [wait: $crate::file::transfer::writev_waiting], (fd: Fd, pieces: VectorIn(2), count: Size);
            pread64 = 67, plain, $crate::file::positioned::pread64, (fd: Fd, buffer: BufferOut(2), bytes: Size, offset: Size);
            pwrite64 = 68, plain, $crate::file::positioned::pwrite64, (fd: Fd, buffer: BufferIn(2), bytes: Size, offset: Size);
            preadv = 69, plain, $crate::file::positioned::preadv, (fd: Fd, pieces: VectorOut(2), count: Size, offset: Size);
            pwritev = 70, plain, $crate::file::positioned::pwritev, (fd: Fd, pieces: VectorIn(2), count: Size, offset: Size);
            sendfile = 71, plain, $crate::file::copying::sendfile [wait: $crate::file::copying::sendfile_waiting], (to: Fd, from: Fd, offset: OutOptional(8), bytes: Size);
            pselect6 = 72, plain, $crate::file::poll::pselect6 [wait: $crate::file::poll::pselect6_waiting], (count: Int, readable: OutOptional(8), writable: OutOptional(8), exceptional: OutOptional(8), timeout: InOptional(16), mask: InOptional(16));
            ppoll = 73, plain, $crate::file::poll::ppoll [wait: $crate::file::poll::ppoll_waiting], (entries: Out(8), count: Uint, timeout: InOptional(16), mask: InOptional(8), bytes: Size);
            signalfd4 = 74, plain, $crate::signal::file::signalfd4, (fd: Int, mask: In(8), bytes: Size, flags: Hex);
            readlinkat = 78, plain, $crate::file::status::readlinkat, (directory: DirFd, path: Path, buffer: BufferOut(3), bytes: Int);
            newfstatat = 79, plain, $crate::file::status::newfstatat, (directory: DirFd, path: Path, status: Out(128), flags: Hex);
            fstat = 80, plain, $crate::file::status::fstat, (fd: Fd, status: Out(128));
            sync = 81, plain, $crate::file::size::sync, ();
            fsync = 82, plain, $crate::file::size::fsync, (fd: Fd);
            fdatasync = 83, plain, $crate::file::size::fsync, (fd: Fd);
            utimensat = 88, plain, $crate::file::attributes::utimensat, (directory: DirFd, path: Path, times: InOptional(32), flags: Hex);
            capget = 90, plain, $crate::process::capability::capget, (header: In(8), data: OutOptional(24));
            capset = 91, plain, $crate::process::capability::capset, (header: In(8), data: In(24));
            personality = 92, plain, $crate::process::prctl::personality, (persona: Hex);
            exit = 93, plain, $crate::process::exit::exit, (code: Int);
            exit_group = 94, plain, $crate::process::exit::exit_group, (code: Int);
            waitid = 95, plain, $crate::process::wait::waitid [wait: $crate::process::wait::waitid_waiting], (which: Uint, id: Int, information: OutOptional(28), options: Hex, usage: OutOptional(144));
            set_tid_address = 96, plain, $crate::process::identity::set_tid_address, (word: Address);
            futex = 98, plain, $crate::futex::futex [wait: $crate::futex::futex_waiting], (word: Word, operation: Hex, value: Uint, timeout: InOptional(16), second: Address, value3: Hex);
            set_robust_list = 99, plain, $crate::process::robust::set_robust_list, (head: Address, bytes: Size);
            get_robust_list = 100, plain, $crate::process::robust::get_robust_list, (tid: Int, head: Out(8), bytes: Out(8));
            nanosleep = 101, plain, $crate::time::sleep::nanosleep [wait: $crate::time::sleep::nanosleep_waiting], (time: In(16), remaining: Address);
            getitimer = 102, plain, $crate::signal::timer::getitimer, (which: Uint, value: Out(32));
            setitimer = 103, plain, $crate::signal::timer::setitimer, (which: Uint, new: InOptional(32), old: OutOptional(32));
            clock_gettime = 113, plain, $crate::time::clock::clock_gettime, (clock: Clock, time: Out(16));
            clock_getres = 114, plain, $crate::time::clock::clock_getres, (clock: Clock, step: OutOptional(16));
            clock_nanosleep = 115, plain, $crate::time::sleep::clock_nanosleep [wait: $crate::time::sleep::clock_nanosleep_waiting], (clock: Clock, flags: Hex, time: In(16), remaining: Address);
            sched_setparam = 118, plain, $crate::process::policy::sched_setparam, (pid: Int, parameter: In(4));
            sched_setscheduler = 119, plain, $crate::process::policy::sched_setscheduler, (pid: Int, policy: Int, parameter: In(4));
            sched_getscheduler = 120, plain, $crate::process::policy::sched_getscheduler, (pid: Int);
            sched_getparam = 121, plain, $crate::process::policy::sched_getparam, (pid: Int, parameter: Out(4));
            sched_setaffinity = 122, plain, $crate::process::priority::sched_setaffinity, (pid: Int, bytes: Uint, mask: In(8));
            sched_getaffinity = 123, plain, $crate::time::sleep::sched_getaffinity, (pid: Int, bytes: Uint, mask: Out(8));
            sched_yield = 124, plain, $crate::time::sleep::sched_yield, ();
            sched_get_priority_max = 125, plain, $crate::process::policy::sched_get_priority_max, (policy: Int);
            sched_get_priority_min = 126, plain, $crate::process::policy::sched_get_priority_min, (policy: Int);
            sched_rr_get_interval = 127, plain, $crate::process::policy::sched_rr_get_interval, (pid: Int, interval: Out(16));
            restart_syscall = 128, plain, $crate::signal::restart::restart_syscall, ();
            kill = 129, plain, $crate::signal::kill::kill, (pid: Int, signal: Signal);
            tkill = 130, full, $crate::signal::kill::tkill, (tid: Int, signal: Signal);
            tgkill = 131, full, $crate::signal::kill::tgkill, (group: Int, tid: Int, signal: Signal);
            sigaltstack = 132, plain, $crate::signal::stack::sigaltstack, (new: InOptional(24), old: OutOptional(24));
            rt_sigsuspend = 133, plain, $crate::signal::mask::rt_sigsuspend [wait: $crate::signal::mask::rt_sigsuspend_waiting], (mask: In(8), bytes: Size);
            rt_sigaction = 134, plain, $crate::signal::action::rt_sigaction, (signal: Signal, new: InOptional(24), old: OutOptional(24), bytes: Size);
            rt_sigprocmask = 135, plain, $crate::signal::mask::rt_sigprocmask, (how: Int, new: InOptional(8), old: OutOptional(8), bytes: Size);
            rt_sigpending = 136, plain, $crate::signal::mask::rt_sigpending, (set: BufferOut(1), bytes: Size);
            rt_sigtimedwait = 137, plain, $crate::signal::wait::rt_sigtimedwait [wait: $crate::signal::wait::rt_sigtimedwait_waiting], (set: In(8), information: OutOptional(128), timeout: InOptional(16), bytes: Size);
            rt_sigqueueinfo = 138, plain, $crate::signal::kill::rt_sigqueueinfo, (pid: Int, signal: Signal, information: In(128));
            rt_sigreturn = 139, plain, $crate::signal::sigreturn::rt_sigreturn, ();
            setpriority = 140, plain, $crate::process::priority::setpriority, (which: Uint, who: Int, nice: Int);
            getpriority = 141, plain, $crate::process::priority::getpriority, (which: Uint, who: Int);
            setregid = 143, plain, $crate::process::users::setregid, (real: Int, effective: Int);
            setgid = 144, plain, $crate::process::users::setgid, (group: Int);
            setreuid = 145, plain, $crate::process::users::setreuid, (real: Int, effective: Int);
            setuid = 146, plain, $crate::process::users::setuid, (user: Int);
            setresuid = 147, plain, $crate::process::users::setresuid, (real: Int, effective: Int, saved: Int);
            getresuid = 148, plain, $crate::process::credentials::getresuid, (real: Out(4), effective: Out(4), saved: Out(4));
            setresgid = 149, plain, $crate::process::users::setresgid, (real: Int, effective: Int, saved: Int);
            getresgid = 150, plain, $crate::process::credentials::getresgid, (real: Out(4), effective: Out(4), saved: Out(4));
            setfsuid = 151, plain, $crate::process::users::setfsuid, (user: Int);
            setfsgid = 152, plain, $crate::process::users::setfsgid, (group: Int);
            times = 153, plain, $crate::process::usage::times, (times: OutOptional(32));
            setpgid = 154, plain, $crate::process::group::setpgid, (pid: Int, group: Int);
            getpgid = 155, plain, $crate::process::group::getpgid, (pid: Int);
            getsid = 156, plain, $crate::process::group::getsid, (pid: Int);
            setsid = 157, plain, $crate::process::group::setsid, ();
            getgroups = 158, plain, $crate::process::credentials::getgroups, (count: Int, groups: Address);
            setgroups = 159, plain, $crate::process::users::setgroups, (count: Int, groups: Address);
            uname = 160, plain, $crate::process::system::uname, (name: Out(390));
            getrusage = 165, plain, $crate::process::usage::getrusage, (who: Int, usage: Out(144));
            umask = 166, plain, $crate::process::credentials::umask, (mask: Octal);
            prctl = 167, plain, $crate::process::prctl::prctl, (option: Int, argument: Address, third: Hex, fourth: Hex, fifth: Hex);
            getcpu = 168, plain, $crate::process::system::getcpu, (processor: OutOptional(4), node: OutOptional(4));
            gettimeofday = 169, plain, $crate::time::clock::gettimeofday, (time: OutOptional(16), zone: OutOptional(8));
            getpid = 172, leaf, $crate::process::identity::getpid, ();
            getppid = 173, leaf, $crate::process::identity::getppid, ();
            getuid = 174, leaf, $crate::process::credentials::getuid, ();
            geteuid = 175, leaf, $crate::process::credentials::geteuid, ();
            getgid = 176, leaf, $crate::process::credentials::getgid, ();
            getegid = 177, leaf, $crate::process::credentials::getegid, ();
            gettid = 178, leaf, $crate::process::identity::gettid, ();
            sysinfo = 179, plain, $crate::process::system::sysinfo, (information: Out(112));
            readahead = 213, plain, $crate::file::size::readahead, (fd: Fd, offset: Size, bytes: Size);
            brk = 214, plain, $crate::memory::calls::brk, (end: Address);
            munmap = 215, plain, $crate::memory::calls::munmap, (address: Address, bytes: Size);
            mremap = 216, plain, $crate::memory::calls::mremap, (old: Address, old_bytes: Size, new_bytes: Size, flags: Hex, new: Address);
            clone = 220, full, $crate::process::clone::clone [wait: $crate::process::fork::clone_waiting], (flags: Hex, stack: Address, parent_tid: Address, child_tid: Address, tls: Address);
            execve = 221, full, $crate::program::execve::execve, (path: Path, arguments: Strings, environment: Strings);
            mmap = 222, plain, $crate::memory::calls::mmap, (address: Address, bytes: Size, protection: Hex, flags: Hex, fd: Fd, offset: Size);
            fadvise64 = 223, plain, $crate::file::size::fadvise64, (fd: Fd, offset: Size, bytes: Size, advice: Int);
            mprotect = 226, plain, $crate::memory::calls::mprotect, (address: Address, bytes: Size, protection: Hex);
            msync = 227, plain, $crate::memory::calls::msync, (address: Address, bytes: Size, flags: Hex);
            madvise = 233, plain, $crate::memory::calls::madvise, (address: Address, bytes: Size, advice: Int);
            rt_tgsigqueueinfo = 240, plain, $crate::signal::kill::rt_tgsigqueueinfo, (group: Int, tid: Int, signal: Signal, information: In(128));
            wait4 = 260, plain, $crate::process::wait::wait4 [wait: $crate::process::wait::wait4_waiting], (pid: Int, status: OutOptional(4), options: Hex, usage: OutOptional(144));
            prlimit64 = 261, plain, $crate::process::limits::prlimit64, (pid: Int, kind: Uint, new: InOptional(16), old: OutOptional(16));
            syncfs = 267, plain, $crate::file::size::syncfs, (fd: Fd);
            renameat2 = 276, plain, $crate::file::rename::renameat2, (from: DirFd, old: Path, to: DirFd, new: Path, flags: Hex);
            getrandom = 278, plain, $crate::process::system::getrandom [wait: $crate::process::system::getrandom_waiting], (buffer: BufferOut(1), bytes: Size, flags: Hex);
            membarrier = 283, plain, $crate::process::system::membarrier, (command: Int, flags: Hex, processor: Int);
            copy_file_range = 285, plain, $crate::file::copying::copy_file_range, (from: Fd, from_offset: OutOptional(8), to: Fd, to_offset: OutOptional(8), bytes: Size, flags: Hex);
            statx = 291, plain, $crate::file::status::statx, (directory: DirFd, path: Path, flags: Hex, mask: Hex, status: Out(256));
            clone3 = 435, full, $crate::process::clone::clone3 [wait: $crate::process::fork::clone_waiting], (arguments: BufferIn(1), bytes: Size);
            close_range = 436, plain, $crate::file::duplicate::close_range, (first: Uint, last: Uint, flags: Hex);
            faccessat2 = 439, plain, $crate::file::access::faccessat2, (directory: DirFd, path: Path, mode: Octal, flags: Hex);
            fchmodat2 = 452, plain, $crate::file::attributes::fchmodat2, (directory: DirFd, path: Path, mode: Octal, flags: Hex);
        }
    };
}

macro_rules! way {
    (leaf) => {
        Way::Leaf
    };
    (plain) => {
        Way::Plain
    };
    (full) => {
        Way::Full
    };
}

macro_rules! define_rows {
    ($($name:ident = $number:literal, $way:ident, $handler:path $([wait: $wait:path])?,
        ($($argument:ident: $kind:ident $(($size:literal))?),*);)*) => {
        /// Every row, ascending by number.
        pub const ROWS: &[Row] = &[$(Row {
            name: stringify!($name),
            number: $number,
            way: way!($way),
            waits: {
                const WAIT: &[&str] = &[$(stringify!($wait))?];
                !WAIT.is_empty()
            },
            arguments: &[$(Argument { name: stringify!($argument), kind: Kind::$kind $(($size))? }),*],
        }),*];

        /// The rest of a call that waits: each row's `async fn`.
        pub(super) async fn wait<H: Host>(cx: &Cx<H>, number: u64, arguments: Arguments) -> Result<u64, Errno> {
            match number {
                $($($number => $wait(cx, arguments).await,)?)*
                _ => Err(Errno::ENOSYS),
            }
        }
    };
}

for_each_linux_call!(define_rows);
