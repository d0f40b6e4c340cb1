//! Owns what setup must know of the developer's machine before it may change it.

use std::path::PathBuf;
use std::process::Command;

use miette::{Result, miette};

use crate::shell::Shell;

/// Whether this machine's rustup may download.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rustup {
    /// rustup is here and nothing forbids it to fetch.
    MayFetch,
    /// rustup is not here, or `RUSTUP_AUTO_INSTALL=0` says that the Rust installation is not its to change.
    MayNotFetch,
}

/// The developer's machine.
#[derive(Debug, Clone)]
pub struct Host {
    /// Whether `rustup target add` may be used.
    pub rustup: Rustup,
    /// The folder with apt's configuration, `/etc/apt` everywhere but in tests.
    pub apt_folder: PathBuf,
    /// The file that names the distribution, `/etc/os-release` everywhere but in tests.
    pub os_release: PathBuf,
}

impl Host {
    /// Looks at the machine that this runs on.
    pub fn detect(shell: &Shell) -> Self {
        let forbidden = std::env::var_os("RUSTUP_AUTO_INSTALL").is_some_and(|value| value == "0");
        let rustup = match shell.find("rustup") {
            Some(_) if !forbidden => Rustup::MayFetch,
            _ => Rustup::MayNotFetch,
        };
        Self { rustup, apt_folder: "/etc/apt".into(), os_release: "/etc/os-release".into() }
    }

    /// Returns the distribution's code name, such as `bookworm`, if it is Debian.
    pub fn debian_suite(&self) -> Option<String> {
        debian_suite(&std::fs::read_to_string(&self.os_release).ok()?)
    }
}

fn debian_suite(os_release: &str) -> Option<String> {
    let value = |key: &str| {
        os_release
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
            .map(|v| v.trim_matches('"'))
    };
    (value("ID")? == "debian").then(|| value("VERSION_CODENAME").map(str::to_owned))?
}

/// Prepares a command that changes the machine: as it is for root, through sudo for others.
///
/// # Errors
/// This user is not root and there is no sudo.
pub fn as_root(shell: &Shell, program: &str) -> Result<Command> {
    if rustix::process::geteuid().is_root() {
        return Ok(shell.command(program));
    }
    if shell.find("sudo").is_none() {
        return Err(miette!(
            help = "run the same command as root, or install sudo",
            "installing packages needs root, and there is no sudo"
        ));
    }
    let mut command = shell.command("sudo");
    command.arg(program);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_is_read_from_debian_alone() {
        assert_eq!(debian_suite("ID=debian\nVERSION_CODENAME=bookworm\n").as_deref(), Some("bookworm"));
        assert_eq!(debian_suite("ID=\"debian\"\nVERSION_CODENAME=\"trixie\"\n").as_deref(), Some("trixie"));
        assert_eq!(debian_suite("ID=ubuntu\nVERSION_CODENAME=noble\n"), None);
        assert_eq!(debian_suite(""), None);
    }
}
