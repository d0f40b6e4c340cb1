//! Owns the emulator: `qemu-system-loongarch64`, new enough for the machine model and for the counter.

use miette::{Result, miette};

use super::apt::{MachineSources, PrivateApt, newest_from};
use super::host::Host;
use super::progress::Progress;
use super::version::Version;
use crate::shell::Shell;
use crate::workspace::Workspace;

/// The oldest emulator that runs the tests: its plugins can add to counters without a call (API version 4).
const OLDEST: Version = Version(10, 0, 0);

const PROGRAM: &str = "qemu-system-loongarch64";
const PACKAGE: &str = "qemu-system-misc";

/// What this machine has for an emulator.
#[derive(Debug, PartialEq, Eq)]
enum State {
    Good,
    TooOld(Version),
    /// Other emulators of QEMU are installed, the one for LoongArch is not.
    OtherMachinesOnly,
    Missing,
    Broken(String),
}

impl State {
    fn explained(&self) -> String {
        match self {
            Self::Good => format!("{PROGRAM} works"),
            Self::TooOld(version) => format!("QEMU {version} is too old: Bixi needs {OLDEST} or newer"),
            Self::OtherMachinesOnly => format!("QEMU is installed without LoongArch: there is no {PROGRAM}"),
            Self::Missing => format!("QEMU is missing: there is no {PROGRAM}"),
            Self::Broken(detail) => format!("{PROGRAM} does not start: {detail}"),
        }
    }
}

/// Installs the emulator if it is missing or too old.
pub(crate) fn ensure(shell: &Shell, workspace: &Workspace, host: &Host) -> Result<()> {
    let before = state(shell);
    if before == State::Good {
        return Ok(());
    }
    install(shell, workspace, host).map_err(|error| by_hand(&before, &error.to_string(), error.help()))?;
    match state(shell) {
        State::Good => Ok(()),
        after => Err(by_hand(&after, &format!("{PACKAGE} was installed and changed nothing"), None)),
    }
}

fn state(shell: &Shell) -> State {
    if shell.find(PROGRAM).is_none() {
        let others = ["qemu-system-x86_64", "qemu-system-aarch64", "qemu-system-riscv64"];
        let any = others.iter().any(|other| shell.find(other).is_some());
        return if any { State::OtherMachinesOnly } else { State::Missing };
    }
    match shell.read(shell.command(PROGRAM).arg("--version")) {
        Err(error) => State::Broken(error.to_string()),
        Ok(printed) => match Version::find(&printed) {
            None => State::Broken(format!("`{PROGRAM} --version` printed {printed:?}")),
            Some(version) if version < OLDEST => State::TooOld(version),
            Some(_) => State::Good,
        },
    }
}

/// Takes the machine's own package if that is new enough, else the one of its suite's backports.
fn install(shell: &Shell, workspace: &Workspace, host: &Host) -> Result<()> {
    let _progress = Progress::start(shell, "installing QEMU for LoongArch");
    let own = PrivateApt::open(shell, workspace, host, None, MachineSources::Included)?;
    if newest_from(&own.versions(PACKAGE)?, OLDEST).is_some() {
        return own.install(PACKAGE, None);
    }
    let suite = host
        .debian_suite()
        .ok_or_else(|| miette!("this machine's packages have no {PACKAGE} that is new enough"))?;
    let backports = format!("{suite}-backports");
    let apt = PrivateApt::open(shell, workspace, host, Some(&backports), MachineSources::Included)?;
    if newest_from(&apt.versions(PACKAGE)?, OLDEST).is_none() {
        return Err(miette!("neither {suite} nor {backports} has a {PACKAGE} that is new enough"));
    }
    apt.install(PACKAGE, Some(&backports))
}

fn by_hand(state: &State, error: &str, detail: Option<Box<dyn std::fmt::Display + '_>>) -> miette::Report {
    let detail = detail.map(|help| format!("{help}\n")).unwrap_or_default();
    miette!(
        help = format!(
            "{detail}By hand: install QEMU {OLDEST} or newer so that `{PROGRAM} --version` works; \
             on Debian 12 the package is {PACKAGE} of bookworm-backports"
        ),
        "{}, and setup could not provide it: {error}",
        state.explained()
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn machine_with(program: &str, script: &str) -> (tempfile::TempDir, Shell) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(program);
        std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        let shell = Shell::with_path(folder.path());
        (folder, shell)
    }

    #[test]
    fn each_state_of_the_emulator_is_told_apart() {
        let state_of = |program, script| {
            let (_folder, shell) = machine_with(program, script);
            state(&shell)
        };
        assert_eq!(state_of(PROGRAM, "echo 'QEMU emulator version 10.0.2 (Debian)'"), State::Good);
        assert_eq!(
            state_of(PROGRAM, "echo 'QEMU emulator version 7.2.15'"),
            State::TooOld(Version(7, 2, 15))
        );
        assert!(matches!(state_of(PROGRAM, "exit 127"), State::Broken(_)));
        assert_eq!(state_of("qemu-system-x86_64", ""), State::OtherMachinesOnly);
        assert_eq!(state_of("other", ""), State::Missing);
    }

    #[test]
    fn a_failure_says_what_is_missing_and_how_to_get_it() {
        let (folder, shell) = machine_with("other", "");
        let nowhere = folder.path().join("nowhere");
        let host = Host {
            rustup: super::super::host::Rustup::MayNotFetch,
            apt_folder: nowhere.clone(),
            os_release: nowhere,
        };
        let error = ensure(&shell, &Workspace::at(folder.path()), &host).unwrap_err();
        assert!(error.to_string().contains("there is no qemu-system-loongarch64"), "{error}");
        assert!(error.help().unwrap().to_string().contains("bookworm-backports"));
    }
}
