//! Owns the emulator: `qemu-system-loongarch64`, new enough for the machine model and for the counter.

use miette::{Result, miette};
use packages::apt::{PrivateApt, Reads, newest_from};
use packages::host::Host;
use packages::progress::Progress;
use packages::shell::Shell;
use packages::version::Version;

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
    let own = PrivateApt::open(shell, &workspace.setup_folder(), host, Reads::Machine)?;
    if newest_from(&own.versions(PACKAGE)?, OLDEST).is_some() {
        return own.install(&[PACKAGE], None);
    }
    let suite = host
        .debian_suite()
        .ok_or_else(|| miette!("this machine's packages have no {PACKAGE} that is new enough"))?;
    let backports = format!("{suite}-backports");
    let apt = PrivateApt::open(shell, &workspace.setup_folder(), host, Reads::MachineAnd(&backports))?;
    if newest_from(&apt.versions(PACKAGE)?, OLDEST).is_none() {
        return Err(miette!("neither {suite} nor {backports} has a {PACKAGE} that is new enough"));
    }
    apt.install(&[PACKAGE], Some(&backports))
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
    use packages::stand_in::StandIn;

    use super::*;
    use packages::host::Rustup;

    /// Installs an emulator of the version that stands in the file `offered`, and notes how it was called.
    const APT_GET: &str = "echo \"$@\" >> HERE/apt-get-calls\n\
        case \"$*\" in *' install '*)\n\
        printf '#!/bin/sh\\necho QEMU emulator version 10.0.2' > HERE/bin/qemu-system-loongarch64\n\
        chmod +x HERE/bin/qemu-system-loongarch64;; esac";

    /// Offers the old version, and the new one too where a suite was added to the machine's own.
    const APT_CACHE: &str = "for option; do case \"$option\" in Dir::Etc::SourceParts=*) parts=${option#*=};; esac; done\n\
        [ -e \"$parts/bixi-other-suite.sources\" ] && echo ' qemu-system-misc | 1:10.0.2+ds-2 | x'\n\
        echo ' qemu-system-misc | 1:7.2+dfsg-7 | x'";

    fn machine_with_apt(apt_get: &str) -> StandIn {
        let machine = StandIn::new().with("apt-get", apt_get).with("apt-cache", APT_CACHE);
        machine.with("dpkg", "echo amd64").with("sudo", "exec \"$@\"")
    }

    fn ensure_on(machine: &StandIn) -> Result<()> {
        ensure(
            &machine.shell(),
            &Workspace::at(&machine.path("checkout")),
            &machine.host(Rustup::MayNotFetch),
        )
    }

    #[test]
    fn each_state_of_the_emulator_is_told_apart() {
        let state_of = |program, script| state(&StandIn::new().with(program, script).shell());
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
    fn backports_are_used_where_the_machines_own_is_too_old_and_only_once() {
        let machine = machine_with_apt(APT_GET);
        ensure_on(&machine).unwrap();
        let calls = machine.read("apt-get-calls");
        let install = calls.lines().last().unwrap();
        assert!(install.ends_with("--target-release bookworm-backports qemu-system-misc"), "{install}");
        let own_state = Workspace::at(&machine.path("checkout")).setup_folder().display().to_string();
        for call in calls.lines() {
            assert!(
                call.contains(&format!("Dir::State::Lists={own_state}")),
                "the user's apt stays as it is: {call}"
            );
        }
        let source = Workspace::at(&machine.path("checkout")).setup_folder();
        let source = source.join("apt/bookworm-backports/sources.d/bixi-other-suite.sources");
        let source = std::fs::read_to_string(source).unwrap();
        assert!(source.contains("http://mirror.example/debian") && source.contains("Signed-By: /keys.gpg"));
        ensure_on(&machine).unwrap();
        assert_eq!(machine.read("apt-get-calls"), calls, "the second run executes no package command");
    }

    #[test]
    fn a_failure_says_what_is_missing_what_happened_and_how_to_get_it() {
        let machine = machine_with_apt("echo 'E: Could not resolve the mirror'; exit 100");
        let error = ensure_on(&machine).unwrap_err();
        assert!(error.to_string().contains("there is no qemu-system-loongarch64"), "{error}");
        let help = error.help().unwrap().to_string();
        assert!(help.contains("Could not resolve") && help.contains("bookworm-backports"), "{help}");
    }

    #[test]
    fn a_package_that_brings_no_emulator_is_found_out() {
        let error = ensure_on(&machine_with_apt("exit 0")).unwrap_err();
        assert!(error.to_string().contains("was installed and changed nothing"), "{error}");
    }
}
