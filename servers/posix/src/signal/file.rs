//! signalfd: pending signals, read like a file's bytes.
//!
//! It takes signals from whoever reads it: the reading thread's own and its process's, as Linux does; whoever made it
//! does not count. A signal that is not held off is delivered before anybody can read it here.

use super::action::SET_BYTES;
use super::info::{Info, code};
use super::number::NEVER;
use crate::Errno;
use crate::dispatch::Arguments;
use crate::file::descriptor::{OnExec, OpenFile, OpenKind, flags};
use crate::file::pieces::Pieces;
use crate::host::Host;
use crate::number::{low_i32, low_u32};
use crate::server::Server;
use crate::user::UserPtr;
use zerocopy::{Immutable, IntoBytes};

/// Linux's `struct signalfd_siginfo`.
#[derive(Clone, Copy, Debug, Default, IntoBytes, Immutable)]
#[repr(C)]
struct Record {
    signal: u32,
    errno: i32,
    code: i32,
    pid: u32,
    user: u32,
    fd: i32,
    timer: u32,
    band: u32,
    overrun: u32,
    trap: u32,
    status: u32,
    number: u32,
    pointer: u64,
    user_time: u64,
    system_time: u64,
    address: u64,
    rest: [u64; 6],
}

const BYTES: u64 = 128;
const _: () = assert!(size_of::<Record>() as u64 == BYTES);

/// signalfd4(2).
pub fn signalfd4<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [fd, mask, bytes, bits, ..] = arguments.words();
    let bits = low_u32(bits);
    if bytes != SET_BYTES || bits & !(flags::CLOEXEC | flags::NONBLOCK) != 0 {
        return Err(Errno::EINVAL);
    }
    let wanted = server.view()?.read(UserPtr::<u64>::new(mask)?)? & !NEVER;
    if low_i32(fd) == -1 {
        let file = OpenFile::new(OpenKind::Signals(wanted), flags::RDWR | (bits & flags::NONBLOCK));
        return server.install(file, OnExec::of(bits));
    }
    let file = server.open_file_mut(fd)?;
    let OpenKind::Signals(before) = &mut file.kind else { return Err(Errno::EINVAL) };
    *before = wanted;
    let queue = server.files.signal_arrived;
    server.waits.wake_all(queue, &mut server.ready);
    Ok(u64::from(low_u32(fd)))
}

impl<H: Host> Server<H> {
    /// The signals of a set that the acting thread could read.
    pub(crate) fn readable_signals(&self, wanted: u64) -> u64 {
        let (Ok(thread), Ok(process)) = (self.thread(), self.process()) else { return 0 };
        (thread.signals.pending.set() | process.signals.pending.set()) & wanted
    }

    /// Takes as many signals as there is room for; `None` when there are none.
    pub(crate) fn read_signals(&mut self, wanted: u64, pieces: &Pieces) -> Result<Option<u64>, Errno> {
        if pieces.bytes < BYTES {
            return Err(Errno::EINVAL);
        }
        let thread = self.current()?.thread;
        let mut done = 0;
        while done + BYTES <= pieces.bytes {
            let Some(info) = self.take_signal(thread, !wanted) else { break };
            let record = Record::of(&info);
            let mut left = record.as_bytes();
            for piece in pieces.after(done) {
                let piece = piece.first(left.len() as u64);
                let Some((now, after)) = left.split_at_checked(crate::number::to_usize(piece.bytes())) else {
                    break;
                };
                self.view()?.write_bytes(now, piece)?;
                left = after;
            }
            done += BYTES;
        }
        Ok(Some(done).filter(|done| *done != 0))
    }
}

impl Record {
    fn of(info: &Info) -> Self {
        let Info([head, code_word, first, second, third, _]) = *info;
        let common = Self { signal: low_u32(head), code: low_i32(code_word), ..Self::default() };
        let (low, high) = (low_u32(first), low_u32(first >> 32));
        match info.code() {
            code::SI_TIMER => {
                Self { timer: low, overrun: high, pointer: second, number: low_u32(second), ..common }
            }
            code::SI_USER | code::SI_TKILL => Self { pid: low, user: high, ..common },
            code if code < 0 => {
                Self { pid: low, user: high, pointer: second, number: low_u32(second), ..common }
            }
            // A child's end, or a fault: the two that the server itself sends with more than a code.
            _ if info.signal() == Some(super::number::Signal::SIGCHLD) => {
                Self { pid: low, user: high, status: low_u32(second), user_time: third, ..common }
            }
            _ => Self { address: first, ..common },
        }
    }
}
