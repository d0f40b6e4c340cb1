//! Owns what the command itself says, to streams that somebody may have closed.
//!
//! Where nobody reads standard output any more the command has no reason to go on, and ends as a program that SIGPIPE
//! ends; where it cannot be written for another reason, that is an error. Standard error is where errors are told: one
//! that it does not take has nobody to hear it.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};

/// The status of a program that SIGPIPE has ended.
pub const BROKEN_PIPE: i32 = 128 + 13;
/// The status of a command that cannot say what it found.
const FAILED: i32 = 1;

/// Writes a line to standard output, as `println!` does.
#[macro_export]
macro_rules! say {
    ($($what:tt)*) => { $crate::say::output(format_args!("{}\n", format_args!($($what)*))) };
}

/// Writes a line to standard error, as `eprintln!` does.
#[macro_export]
macro_rules! tell {
    ($($what:tt)*) => { $crate::say::errors(format_args!("{}\n", format_args!($($what)*))) };
}

/// Writes to standard output, at once; ends the command where that cannot be done.
pub fn output(what: Arguments<'_>) {
    let mut to = std::io::stdout().lock();
    let Err(error) = to.write_fmt(what).and_then(|()| to.flush()) else { return };
    if error.kind() == ErrorKind::BrokenPipe {
        std::process::exit(BROKEN_PIPE);
    }
    errors(format_args!("Error: cannot write to standard output: {error}\n"));
    std::process::exit(FAILED);
}

/// Writes to standard error.
pub fn errors(what: Arguments<'_>) {
    let _ = std::io::stderr().lock().write_fmt(what);
}
