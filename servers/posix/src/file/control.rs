//! fcntl and ioctl.

use super::descriptor::{OnExec, OpenKind, flags};
use super::lock::{Ask, Whose, record};
use crate::Errno;
use crate::dispatch::{Arguments, Flow};
use crate::executor::cx::Cx;
use crate::host::{Host, Input, Reserve};
use crate::number::{low_i32, low_u32};
use crate::server::Server;
use crate::user::UserPtr;

const F_DUPFD: u32 = 0;
const F_GETFD: u32 = 1;
const F_SETFD: u32 = 2;
const F_GETFL: u32 = 3;
const F_SETFL: u32 = 4;
const F_GETLK: u32 = 5;
const F_SETLK: u32 = 6;
const F_SETLKW: u32 = 7;
const F_OFD_GETLK: u32 = 36;
const F_OFD_SETLK: u32 = 37;
const F_OFD_SETLKW: u32 = 38;
const F_DUPFD_CLOEXEC: u32 = 1030;
const F_SETPIPE_SZ: u32 = 1031;
const F_GETPIPE_SZ: u32 = 1032;
const FD_CLOEXEC: u64 = 1;
/// Flags that F_SETFL changes: APPEND, NONBLOCK, ASYNC, DIRECT, NOATIME.
const CHANGED: u32 = flags::APPEND | flags::NONBLOCK | 0o2_0000 | flags::DIRECT | flags::NOATIME;
const FIONREAD: u32 = 0x541b;
const FIONBIO: u32 = 0x5421;
const FIOCLEX: u32 = 0x5451;
const FIONCLEX: u32 = 0x5450;

/// fcntl(2).
pub fn fcntl<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    let [fd, command, argument, ..] = arguments.words();
    let descriptor = server.descriptor(fd)?;
    let command = low_u32(command);
    let path_only = server.open_file(fd)?.is_name();
    if path_only && !matches!(command, F_DUPFD | F_DUPFD_CLOEXEC | F_GETFD | F_SETFD | F_GETFL) {
        return Err(Errno::EBADF);
    }
    let done = match command {
        F_DUPFD | F_DUPFD_CLOEXEC => {
            server.host.require(Reserve::Scarce, Errno::ENOMEM)?;
            let from = u32::try_from(low_i32(argument)).map_err(|_| Errno::EINVAL)?;
            if u64::from(from) >= server.process()?.limits.files() {
                return Err(Errno::EINVAL);
            }
            let on_exec = if command == F_DUPFD { OnExec::Keep } else { OnExec::Close };
            server.add_descriptor(descriptor.open, on_exec, from)?
        }
        F_GETFD => u64::from(descriptor.on_exec == OnExec::Close),
        F_SETFD => {
            let on_exec = if argument & FD_CLOEXEC != 0 { OnExec::Close } else { OnExec::Keep };
            set_on_exec(server, fd, on_exec)?
        }
        F_GETFL => u64::from(server.open_file(fd)?.flags),
        F_SETFL => set_flags(server, fd, low_u32(argument))?,
        F_SETPIPE_SZ => match server.open_file(fd)?.kind {
            OpenKind::Pipe(pipe, _) => server.resize_pipe(pipe, u64::from(low_u32(argument)))?,
            _ => return Err(Errno::EBADF),
        },
        F_GETPIPE_SZ => match server.open_file(fd)?.kind {
            OpenKind::Pipe(pipe, _) => server.files.pipes.get(pipe).ok_or(Errno::EBADF)?.capacity(),
            _ => return Err(Errno::EBADF),
        },
        _ => {
            let (ask, whose) = lock_command(command).ok_or(Errno::EINVAL)?;
            if record(server, arguments, ask, whose)?.is_some() {
                return Ok(Flow::Wait);
            }
            return Ok(super::transfer::flow(server, 0));
        }
    };
    Ok(Flow::Done(done))
}

/// fcntl(2) F_SETLKW of what somebody else has locked.
pub async fn fcntl_waiting<H: Host>(cx: &Cx<H>, arguments: Arguments) -> Result<u64, Errno> {
    let (ask, whose) = lock_command(low_u32(arguments.word(1))).ok_or(Errno::EINVAL)?;
    loop {
        let waits = cx.attempt(|server| record(server, arguments, ask, whose))?;
        let Some(queue) = waits else { return Ok(0) };
        cx.wait(Some(queue), None).await?;
    }
}

const fn lock_command(command: u32) -> Option<(Ask, Whose)> {
    Some(match command {
        F_GETLK => (Ask::Tell, Whose::Process),
        F_SETLK => (Ask::Try, Whose::Process),
        F_SETLKW => (Ask::Wait, Whose::Process),
        F_OFD_GETLK => (Ask::Tell, Whose::OpenFile),
        F_OFD_SETLK => (Ask::Try, Whose::OpenFile),
        F_OFD_SETLKW => (Ask::Wait, Whose::OpenFile),
        _ => return None,
    })
}

fn set_flags<H: Host>(server: &mut Server<H>, fd: u64, bits: u32) -> Result<u64, Errno> {
    let file = *server.open_file(fd)?;
    let changes_atime = (file.flags ^ bits) & bits & flags::NOATIME != 0;
    let node = file.node().filter(|_| changes_atime).and_then(|node| server.files.tree.get(node));
    if node.is_some_and(|node| !server.who().owns(node)) {
        return Err(Errno::EPERM);
    }
    let file = server.open_file_mut(fd)?;
    file.flags = (file.flags & !CHANGED) | (bits & CHANGED);
    Ok(0)
}

/// ioctl(2).
pub fn ioctl<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<Flow, Errno> {
    if let OpenKind::Terminal(handle, _) = server.real_file(arguments.word(0))?.kind
        && !matches!(low_u32(arguments.word(1)), FIOCLEX | FIONCLEX | FIONBIO)
    {
        return crate::terminal::control::ioctl(server, handle, arguments);
    }
    file_ioctl(server, arguments).map(Flow::Done)
}

/// ioctl(2) of any file.
fn file_ioctl<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [fd, request, argument, ..] = arguments.words();
    let file = *server.real_file(fd)?;
    match low_u32(request) {
        FIOCLEX => set_on_exec(server, fd, OnExec::Close),
        FIONCLEX => set_on_exec(server, fd, OnExec::Keep),
        FIONBIO => {
            let pointer = UserPtr::<u32>::new(argument)?;
            let on = server.view()?.read(pointer)? != 0;
            let file = server.open_file_mut(fd)?;
            file.flags = if on { file.flags | flags::NONBLOCK } else { file.flags & !flags::NONBLOCK };
            Ok(0)
        }
        FIONREAD => {
            let bytes = match file.kind {
                OpenKind::Pipe(pipe, _) => server.files.pipes.get(pipe).ok_or(Errno::EBADF)?.bytes(),
                OpenKind::Input => input_bytes(server),
                OpenKind::Node(id) => {
                    let size = server.data_size(server.file_data(id).map_err(|_| Errno::ENOTTY)?);
                    size.saturating_sub(file.offset)
                }
                _ => return Err(Errno::ENOTTY),
            };
            server.view()?.write(UserPtr::<u32>::new(argument)?, &low_u32(bytes))?;
            Ok(0)
        }
        _ => Err(Errno::ENOTTY),
    }
}

/// Bytes of standard input that are there, as far as a look at the ring shows them.
fn input_bytes<H: Host>(server: &mut Server<H>) -> u64 {
    let mut looked = [0; 512];
    match server.host.peek_input(&mut looked) {
        Input::Bytes(bytes) => bytes as u64,
        Input::Empty | Input::End => 0,
    }
}

fn set_on_exec<H: Host>(server: &mut Server<H>, fd: u64, on_exec: OnExec) -> Result<u64, Errno> {
    server.descriptors()?.get_mut(low_u32(fd)).ok_or(Errno::EBADF)?.on_exec = on_exec;
    Ok(0)
}
