//! fcntl and ioctl.

use super::descriptor::{OnExec, flags};
use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::number::{low_i32, low_u32};
use crate::server::Server;

const F_DUPFD: u32 = 0;
const F_GETFD: u32 = 1;
const F_SETFD: u32 = 2;
const F_GETFL: u32 = 3;
const F_SETFL: u32 = 4;
const F_DUPFD_CLOEXEC: u32 = 1030;
const FD_CLOEXEC: u64 = 1;
/// Flags that F_SETFL changes: APPEND, NONBLOCK, ASYNC, DIRECT, NOATIME.
const CHANGED: u32 = flags::APPEND | flags::NONBLOCK | 0o2_0000 | 0o4_0000 | flags::NOATIME;
const FIONBIO: u32 = 0x5421;
const FIOCLEX: u32 = 0x5451;
const FIONCLEX: u32 = 0x5450;

/// fcntl(2).
pub fn fcntl<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [fd, command, argument, ..] = arguments.words();
    let descriptor = server.descriptor(fd)?;
    let command = low_u32(command);
    let path_only = server.open_file(fd)?.flags & flags::PATH != 0;
    if path_only && !matches!(command, F_DUPFD | F_DUPFD_CLOEXEC | F_GETFD | F_SETFD | F_GETFL) {
        return Err(Errno::EBADF);
    }
    match command {
        F_DUPFD | F_DUPFD_CLOEXEC => {
            let from = u32::try_from(low_i32(argument)).map_err(|_| Errno::EINVAL)?;
            if u64::from(from) >= server.process()?.limits.files() {
                return Err(Errno::EINVAL);
            }
            let on_exec = if command == F_DUPFD { OnExec::Keep } else { OnExec::Close };
            server.add_descriptor(descriptor.open, on_exec, from)
        }
        F_GETFD => Ok(if descriptor.on_exec == OnExec::Close { FD_CLOEXEC } else { 0 }),
        F_SETFD => {
            set_on_exec(server, fd, if argument & FD_CLOEXEC != 0 { OnExec::Close } else { OnExec::Keep })
        }
        F_GETFL => Ok(u64::from(server.open_file(fd)?.flags)),
        F_SETFL => {
            let file = server.open_file_mut(fd)?;
            file.flags = (file.flags & !CHANGED) | (low_u32(argument) & CHANGED);
            Ok(0)
        }
        _ => Err(Errno::EINVAL),
    }
}

/// ioctl(2): nothing here is a terminal yet.
pub fn ioctl<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let fd = arguments.word(0);
    let file = server.open_file(fd)?;
    if file.flags & flags::PATH != 0 {
        return Err(Errno::EBADF);
    }
    match low_u32(arguments.word(1)) {
        FIOCLEX => set_on_exec(server, fd, OnExec::Close),
        FIONCLEX => set_on_exec(server, fd, OnExec::Keep),
        FIONBIO => {
            let pointer = crate::user::UserPtr::<u32>::new(arguments.word(2))?;
            let on = server.view()?.read(pointer)? != 0;
            let file = server.open_file_mut(fd)?;
            file.flags = if on { file.flags | flags::NONBLOCK } else { file.flags & !flags::NONBLOCK };
            Ok(0)
        }
        _ => Err(Errno::ENOTTY),
    }
}

fn set_on_exec<H: Host>(server: &mut Server<H>, fd: u64, on_exec: OnExec) -> Result<u64, Errno> {
    let id = server.process()?.files.descriptors;
    let table = server.files.descriptors.get_mut(id).ok_or(Errno::EBADF)?;
    table.get_mut(low_u32(fd)).ok_or(Errno::EBADF)?.on_exec = on_exec;
    Ok(0)
}
