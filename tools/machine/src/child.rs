//! Owns that no process outlives the one that has started it: an emulator whose tool was killed would run for ever, and
//! nobody would know whose it is.
//!
//! The kernel does it (`prctl(2)`, PR_SET_PDEATHSIG), so it holds for SIGKILL too. It counts the *thread* that starts
//! the process: that thread must wait for it.

use std::io::{Error, ErrorKind, Result};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

/// Starts a process that is killed when the thread that calls this ends.
///
/// # Errors
/// It cannot be started, or this process was killed meanwhile.
pub fn start_with_us(command: &mut Command) -> Result<Child> {
    let us = getpid();
    let end_with_us = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // Whose parent has ended before that is told of no death any more.
        if getppid() == Some(us) { Ok(()) } else { Err(Error::from(ErrorKind::NotFound)) }
    };
    #[expect(unsafe_code, reason = "what runs between fork and exec")]
    // SAFETY: it makes two system calls and touches no memory but its own stack; an error is a number and allocates
    // nothing.
    unsafe {
        command.pre_exec(end_with_us);
    }
    command.spawn()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn sleeping() -> Command {
        let mut command = Command::new("sleep");
        command.arg("1000");
        command
    }

    #[test]
    fn a_process_ends_with_the_thread_that_started_it() {
        let started = std::thread::spawn(|| start_with_us(&mut sleeping())).join();
        let mut process = started.unwrap_or_else(|_| unreachable!()).unwrap_or_else(|_| unreachable!());
        let ended = process.wait().unwrap_or_default();
        assert_eq!(ended.signal(), Some(Signal::KILL.as_raw()));
    }

    #[test]
    fn a_process_of_a_thread_that_lives_goes_on() {
        let mut process = start_with_us(&mut sleeping()).unwrap_or_else(|error| unreachable!("{error}"));
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(process.try_wait().is_ok_and(|ended| ended.is_none()));
        assert!(process.kill().is_ok() && process.wait().is_ok());
    }

    #[test]
    fn a_program_that_is_not_there_is_told() {
        assert!(
            start_with_us(&mut Command::new("/none")).is_err_and(|error| error.kind() == ErrorKind::NotFound)
        );
    }
}
