//! `--strace`: calls as people read them.

use super::entries::Answer;
use super::{Argument, Arguments, Kind, names, row};
use crate::Errno;
use crate::executor::cx::Call;
use crate::host::Host;
use crate::number::{low_i32, low_u32, to_usize};
use crate::server::Server;
use crate::signal::number::Signal;
use crate::user::UserSlice;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

/// Whether calls are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strace {
    /// They are not.
    Off,
    /// They are.
    On,
}

/// Bytes of a buffer or string that are printed.
const SHOWN: usize = 32;
const AT_FDCWD: i32 = -100;

/// A call as it begins: `name(arguments)`.
pub fn called<H: Host>(server: &mut Server<H>, number: u64, arguments: Arguments) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = match server.thread() {
        Ok(thread) => write!(text, "[{}] ", thread.tid.0),
        Err(_) => Ok(()),
    };
    let Some(row) = row(number) else {
        let words = arguments.words();
        let _ = match names::name(number) {
            Some(name) => write!(text, "{name}("),
            None => write!(text, "syscall_{number}("),
        };
        for (position, word) in words.iter().enumerate() {
            let _ = write!(text, "{}{word:#x}", separator(position));
        }
        text.push(')');
        return text;
    };
    let _ = write!(text, "{}(", row.name);
    for (position, argument) in row.arguments.iter().enumerate() {
        text.push_str(separator(position));
        write_argument(server, &mut text, argument, arguments.word(position), arguments);
    }
    text.push(')');
    text
}

/// The line of a call that has been answered, or that waits.
pub fn returned<H: Host>(server: &mut Server<H>, text: &str, answer: Answer) {
    let line = match answer.next {
        Answer::GOES_ON => alloc::format!("{text} = {}", result(answer.value)),
        Answer::SWITCH => alloc::format!("{text} ..."),
        _ => alloc::format!("{text} = ?"),
    };
    server.host.trace(&line);
}

/// The line of a call that waited.
pub fn resumed<H: Host>(server: &mut Server<H>, call: &Call) {
    let name = row(call.number).map_or("?", |row| row.name);
    let tid = server.thread().map_or(0, |thread| thread.tid.0);
    server.host.trace(&alloc::format!("[{tid}] ... {name} = {}", result(call.result)));
}

/// A result or an error's name.
pub fn result(value: u64) -> String {
    const ERRORS: u64 = 4095;
    if value < ERRORS.wrapping_neg() {
        return if value < 1 << 32 { alloc::format!("{value}") } else { alloc::format!("{value:#x}") };
    }
    let number = value.wrapping_neg();
    match Errno::from_raw(number) {
        Some(error) => alloc::format!("-1 {error}"),
        // It ends as EINTR, or is made once more.
        None if Errno::restart(value).is_some() => "? (interrupted)".into(),
        None => alloc::format!("-1 errno {number}"),
    }
}

fn separator(position: usize) -> &'static str {
    if position == 0 { "" } else { ", " }
}

fn write_argument<H: Host>(
    server: &mut Server<H>,
    text: &mut String,
    argument: &Argument,
    word: u64,
    all: Arguments,
) {
    let _ = match argument.kind {
        Kind::DirFd if low_i32(word) == AT_FDCWD => write!(text, "AT_FDCWD"),
        Kind::Fd | Kind::DirFd | Kind::Int => write!(text, "{}", low_i32(word)),
        Kind::Uint | Kind::Clock => write!(text, "{}", low_u32(word)),
        Kind::Signal => write_signal(text, word),
        Kind::Size => write!(text, "{}", word.cast_signed()),
        Kind::Octal => write!(text, "{word:#o}"),
        Kind::Path => write_path(server, text, word),
        Kind::BufferIn(length) => {
            let bytes = to_usize(all.word(usize::from(length))).min(SHOWN);
            write_bytes(server, text, word, bytes)
        }
        _ if word == 0 => write!(text, "NULL"),
        _ => write!(text, "{word:#x}"),
    };
}

fn write_signal(text: &mut String, word: u64) -> core::fmt::Result {
    match Signal::new(u64::from(low_u32(word))) {
        Some(signal) if signal.is_realtime() => write!(text, "SIGRT_{}", signal.0 - Signal::FIRST_REALTIME),
        Some(signal) => write!(text, "{}", signal.name()),
        None => write!(text, "{}", low_i32(word)),
    }
}

fn write_path<H: Host>(server: &mut Server<H>, text: &mut String, address: u64) -> core::fmt::Result {
    let mut path = Vec::new();
    let read = server.view().and_then(|mut view| view.read_string(address, 4096, &mut path));
    match read {
        Ok(()) => write!(text, "{:?}", String::from_utf8_lossy(&path)),
        Err(_) => write!(text, "{address:#x}"),
    }
}

fn write_bytes<H: Host>(
    server: &mut Server<H>,
    text: &mut String,
    address: u64,
    bytes: usize,
) -> core::fmt::Result {
    let mut shown = [0; SHOWN];
    let read = UserSlice::new(address, bytes as u64).and_then(|slice| {
        let part = shown.get_mut(..bytes).ok_or(Errno::EFAULT)?;
        Ok(server.view()?.read_bytes(slice, part)?)
    });
    match read {
        Ok(()) => write!(text, "{:?}", String::from_utf8_lossy(shown.get(..bytes).unwrap_or_default())),
        Err(_) => write!(text, "{address:#x}"),
    }
}
