//! Owns the Rust compiler and its libraries for the guest: `core`, `alloc` and `compiler_builtins`.
//!
//! Where rustup may fetch, it does. Where it may not, the libraries are built from Debian's package of the same
//! compiler's source and put where rustup would put them; afterwards a plain stable `cargo build --target` works.

use miette::{Result, miette};
use packages::host::{Host, Rustup};
use packages::progress::Progress;
use packages::shell::Shell;
use packages::version::Version;

use super::rust_source;
use crate::workspace::{GUEST_TARGET, Workspace};

/// The oldest compiler that builds this project.
const OLDEST_COMPILER: Version = Version(1, 95, 0);

/// What the libraries must allow: a crate that uses both of them.
const PROBE: &str =
    "#![no_std] extern crate alloc; pub fn probe() -> alloc::boxed::Box<u8> { alloc::boxed::Box::new(1) }";

/// Refuses a compiler that is too old, or none at all.
pub(crate) fn check_compiler(shell: &Shell) -> Result<()> {
    let version = compiler_version(shell)?;
    if version >= OLDEST_COMPILER {
        return Ok(());
    }
    Err(miette!(
        help = "get a newer one with `rustup update stable`, or from your distribution",
        "rustc {version} is too old: Bixi needs {OLDEST_COMPILER} or newer"
    ))
}

/// Provides the guest's libraries if the compiler does not find them.
pub(crate) fn ensure(shell: &Shell, workspace: &Workspace, host: &Host) -> Result<()> {
    if works(shell, workspace)? {
        return Ok(());
    }
    let provided = match host.rustup {
        Rustup::MayFetch => add_with_rustup(shell),
        Rustup::MayNotFetch => rust_source::build(shell, workspace, host, compiler_version(shell)?),
    };
    provided.map_err(|error| by_hand(&error))?;
    if works(shell, workspace)? {
        return Ok(());
    }
    Err(by_hand(&miette!("the compiler does not accept the libraries that setup provided")))
}

/// Returns the version of the compiler that cargo uses here.
fn compiler_version(shell: &Shell) -> Result<Version> {
    let missing = |detail: String| {
        miette!(
            help = "install Rust's stable toolchain, then run this again",
            "no working Rust compiler: {detail}"
        )
    };
    let printed = shell.read(shell.command("rustc").arg("--version")).map_err(|e| missing(e.to_string()))?;
    Version::find(&printed).ok_or_else(|| missing(format!("`rustc --version` printed {printed:?}")))
}

/// Compiles a small crate for the guest: the one proof that its libraries are there and are this compiler's.
fn works(shell: &Shell, workspace: &Workspace) -> Result<bool> {
    let folder = workspace.setup_folder();
    std::fs::create_dir_all(&folder).map_err(|error| miette!("cannot make {}: {error}", folder.display()))?;
    // Of its own, so that commands side by side do not take each other's for broken.
    let own = tempfile::tempdir_in(&folder);
    let own = own.map_err(|error| miette!("cannot make a folder in {}: {error}", folder.display()))?;
    let source = own.path().join("probe.rs");
    std::fs::write(&source, PROBE).map_err(|error| miette!("cannot write {}: {error}", source.display()))?;
    let mut command = shell.command("rustc");
    command.args(["--target", GUEST_TARGET, "--crate-type", "rlib", "--emit", "metadata", "--out-dir"]);
    Ok(shell.output(command.arg(own.path()).arg(&source))?.status.success())
}

fn add_with_rustup(shell: &Shell) -> Result<()> {
    let _progress =
        Progress::start(shell, &format!("adding Rust's libraries for {GUEST_TARGET} with rustup"));
    shell.read(shell.command("rustup").args(["target", "add", GUEST_TARGET])).map(drop)
}

fn by_hand(error: &miette::Report) -> miette::Report {
    let detail = error.help().map(|help| format!("{help}\n")).unwrap_or_default();
    miette!(
        help = format!("{detail}By hand: `rustup target add {GUEST_TARGET}`"),
        "Rust's libraries for {GUEST_TARGET} are missing, and setup could not provide them: {error}"
    )
}

#[cfg(test)]
mod tests {
    use packages::stand_in::StandIn;

    use super::*;

    const RUSTUP: &str = "echo \"$@\" >> HERE/added";

    /// A machine whose compiler works once rustup has added the target.
    fn machine(rustc_version: &str, rustup: &str) -> StandIn {
        let rustc = format!(
            "[ \"$1\" = --version ] && echo 'rustc {rustc_version} (stand-in)' && exit 0\n[ -e HERE/added ]"
        );
        StandIn::new().with("rustc", &rustc).with("rustup", rustup)
    }

    fn ensure_on(machine: &StandIn, rustup: Rustup) -> Result<()> {
        ensure(&machine.shell(), &Workspace::at(&machine.path("checkout")), &machine.host(rustup))
    }

    #[test]
    fn rustup_adds_the_target_where_it_may_and_only_once() {
        let machine = machine("1.95.0", RUSTUP);
        ensure_on(&machine, Rustup::MayFetch).unwrap();
        ensure_on(&machine, Rustup::MayFetch).unwrap();
        assert_eq!(
            machine.read("added"),
            format!("target add {GUEST_TARGET}\n"),
            "the second run had nothing to do"
        );
    }

    #[test]
    fn a_rustup_that_fails_is_told_with_the_way_by_hand() {
        let machine = machine("1.95.0", "echo 'error: no network' >&2; exit 1");
        let error = ensure_on(&machine, Rustup::MayFetch).unwrap_err();
        let help = error.help().unwrap().to_string();
        assert!(help.contains("no network") && help.contains("rustup target add"), "{help}");
    }

    #[test]
    fn a_rustup_that_lies_is_found_out() {
        assert!(ensure_on(&machine("1.95.0", "exit 0"), Rustup::MayFetch).is_err());
    }

    #[test]
    fn rustup_is_left_alone_where_it_may_not_fetch() {
        let machine = machine("1.95.0", RUSTUP);
        let error = ensure_on(&machine, Rustup::MayNotFetch).unwrap_err();
        assert!(error.to_string().contains("no apt-get"), "{error}");
        assert_eq!(machine.read("added"), "");
    }

    #[test]
    fn a_source_of_another_version_is_not_used() {
        let machine = machine("1.95.0", RUSTUP)
            .with("apt-get", "exit 0")
            .with("dpkg", "echo amd64")
            .with("apt-cache", "echo ' rust-src | 1.96.1+dfsg1-2 | http://mirror.example sid/main'");
        let error = ensure_on(&machine, Rustup::MayNotFetch).unwrap_err();
        assert!(error.to_string().contains("rust-src is offered in no version 1.95.0"), "{error}");
    }

    #[test]
    fn an_old_compiler_is_refused() {
        assert!(check_compiler(&machine("1.95.0", "").shell()).is_ok());
        let error = check_compiler(&machine("1.94.1", "").shell()).unwrap_err();
        assert!(error.to_string().contains("1.94.1 is too old"), "{error}");
        let error = check_compiler(&StandIn::new().shell()).unwrap_err();
        assert!(error.to_string().contains("no working Rust compiler"), "{error}");
    }
}
