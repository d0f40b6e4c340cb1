//! Owns finding QEMU, and what this computer lets it use.

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use miette::Diagnostic;
use thiserror::Error;

/// The emulator's program.
const PROGRAM: &str = "qemu-system-loongarch64";

/// Why there is no emulator to start.
#[derive(Debug, Error, Diagnostic)]
pub enum EmulatorError {
    /// It is not installed, or installed without LoongArch.
    #[error("there is no {PROGRAM} on this machine")]
    #[diagnostic(help("`cargo xtask setup` installs it"))]
    Missing,
    /// It does not start.
    #[error("{} does not start", program.display())]
    Broken {
        /// The program that was started.
        program: PathBuf,
        /// What went wrong.
        #[source]
        source: std::io::Error,
    },
    /// It is older than what the machine model and the counter need.
    #[error("QEMU is too old: {version} (10.0 or newer is needed)")]
    #[diagnostic(help("`cargo xtask setup` installs a newer one"))]
    TooOld {
        /// What it says of itself.
        version: String,
    },
    /// This computer could run the guest without emulation, but does not let this user.
    #[error("this computer has KVM for LoongArch, but {user} may not open /dev/kvm")]
    #[diagnostic(help("add yourself to the group that owns /dev/kvm, log in again; or use `--accel tcg`"))]
    NoPermissionForKvm {
        /// The user's name, as far as the environment tells.
        user: String,
    },
}

/// How the guest's instructions are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acceleration {
    /// By the processor itself.
    Kvm,
    /// By QEMU's translator.
    Tcg,
}

/// A QEMU that can run the guest.
#[derive(Clone, Debug)]
pub struct Emulator {
    pub(crate) program: PathBuf,
    pub(crate) acceleration: Acceleration,
}

impl Emulator {
    /// Looks for QEMU in the search path, and whether KVM can be used.
    ///
    /// # Errors
    /// There is none, it does not start, it is too old, or KVM is there and closed to this user.
    pub fn find() -> Result<Self, EmulatorError> {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let program = std::env::split_paths(&folders)
            .map(|folder| folder.join(PROGRAM))
            .find(|file| file.is_file())
            .ok_or(EmulatorError::Missing)?;
        check_version(&program)?;
        Ok(Self { acceleration: acceleration()?, program })
    }
}

fn check_version(program: &PathBuf) -> Result<(), EmulatorError> {
    let broken = |source| EmulatorError::Broken { program: program.clone(), source };
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output().map_err(broken)?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if major_version(&printed).is_some_and(|major| major >= 10) {
        return Ok(());
    }
    Err(EmulatorError::TooOld {
        version: printed.lines().next().unwrap_or("it does not say its version").to_owned(),
    })
}

/// Reads `QEMU emulator version 10.0.2 (…)`.
fn major_version(printed: &str) -> Option<u32> {
    printed.split("version ").nth(1)?.split('.').next()?.parse().ok()
}

/// Only a LoongArch computer has KVM for this guest.
fn acceleration() -> Result<Acceleration, EmulatorError> {
    if !cfg!(target_arch = "loongarch64") {
        return Ok(Acceleration::Tcg);
    }
    match OpenOptions::new().read(true).write(true).open("/dev/kvm") {
        Ok(_) => Ok(Acceleration::Kvm),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(EmulatorError::NoPermissionForKvm {
                user: std::env::var("USER").unwrap_or_else(|_| "you".into()),
            })
        }
        Err(_) => Ok(Acceleration::Tcg),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_what_qemu_prints() {
        assert_eq!(major_version("QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)\nCopyright"), Some(10));
        assert_eq!(major_version("QEMU emulator version 7.2.15"), Some(7));
        assert_eq!(major_version("something else"), None);
    }
}
