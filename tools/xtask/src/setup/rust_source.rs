//! Owns building Rust's libraries for the guest from Debian's package of the compiler's source.
//!
//! The source must be exactly the compiler's: another version's libraries do not compile with it, or worse, do.

use std::path::{Path, PathBuf};

use miette::{IntoDiagnostic, Result, WrapErr, miette};
use packages::apt::{PrivateApt, Reads};
use packages::host::Host;
use packages::progress::Progress;
use packages::shell::Shell;
use packages::version::Version;

use crate::workspace::{GUEST_TARGET, Workspace};

/// Suites that carry Rust's source in several versions, the likeliest first.
const SUITES: [&str; 3] = ["trixie-backports", "forky", "sid"];

/// The libraries, as their files are named.
const LIBRARIES: [&str; 3] = ["libcore-", "liballoc-", "libcompiler_builtins-"];

/// Downloads the source of this compiler's libraries, builds them, and puts them into the compiler's folder.
pub(crate) fn build(shell: &Shell, workspace: &Workspace, host: &Host, version: Version) -> Result<()> {
    let folder = workspace.setup_folder().join("rust");
    let source = unpack(shell, workspace, host, version, &folder)?;
    let progress = Progress::start(shell, &format!("building Rust's libraries for {GUEST_TARGET}"));
    let built = compile(shell, &folder, &source)?;
    place(&built, &libraries_folder(shell)?)?;
    drop(progress);
    // Cargo does not see that libraries were replaced, and takes what was built with others for fresh.
    let built = workspace.target().join(GUEST_TARGET);
    if built.exists() {
        std::fs::remove_dir_all(&built)
            .into_diagnostic()
            .wrap_err_with(|| format!("cannot remove {}", built.display()))?;
    }
    // The source is 500 MB that nobody needs again.
    std::fs::remove_dir_all(&folder).into_diagnostic()
}

fn unpack(
    shell: &Shell,
    workspace: &Workspace,
    host: &Host,
    version: Version,
    folder: &Path,
) -> Result<PathBuf> {
    let _progress = Progress::start(shell, &format!("fetching the source of Rust {version}'s libraries"));
    let package = find_package(shell, workspace, host, version)?;
    if folder.exists() {
        std::fs::remove_dir_all(folder).into_diagnostic()?;
    }
    std::fs::create_dir_all(folder).into_diagnostic()?;
    shell.read(shell.command("dpkg-deb").arg("--extract").arg(&package).arg(folder))?;
    std::fs::remove_file(&package).into_diagnostic()?;
    // cargo compares paths of a workspace as text: no symbolic link may be on the way.
    let folder = folder.canonicalize().into_diagnostic()?;
    Ok(folder.join(format!("usr/src/rustc-{version}/library")))
}

fn find_package(shell: &Shell, workspace: &Workspace, host: &Host, version: Version) -> Result<PathBuf> {
    for suite in SUITES {
        let apt = PrivateApt::open(shell, &workspace.setup_folder(), host, Reads::Suite(suite))?;
        let offered = apt.versions("rust-src")?;
        if let Some(exact) = offered.iter().find(|offer| Version::find(offer) == Some(version)) {
            return apt.download("rust-src", exact);
        }
    }
    Err(miette!(
        "Debian's package rust-src is offered in no version {version} (suites {})",
        SUITES.join(", ")
    ))
}

/// Builds an empty crate with `-Zbuild-std`, offline: what the libraries depend on is in the package.
fn compile(shell: &Shell, folder: &Path, source: &Path) -> Result<Vec<PathBuf>> {
    let empty = folder.join("empty");
    std::fs::create_dir_all(empty.join("src")).into_diagnostic()?;
    let manifest = "[package]\nname = \"empty\"\nedition = \"2024\"\n[workspace]\n";
    std::fs::write(empty.join("Cargo.toml"), manifest).into_diagnostic()?;
    std::fs::write(empty.join("src/lib.rs"), "#![no_std]\n").into_diagnostic()?;
    let mut command = shell.command("cargo");
    command
        .current_dir(&empty)
        .args(["build", "--release", "--offline", "--target", GUEST_TARGET, "--target-dir", "target"])
        .arg("-Zbuild-std=core,alloc,compiler_builtins")
        .args(["--config", r#"source.crates-io.replace-with="debian""#, "--config"])
        .arg(format!("source.debian.directory=\"{}/vendor\"", source.display()))
        .env("RUSTC_BOOTSTRAP", "1")
        .env("__CARGO_TESTS_ONLY_SRC_ROOT", source);
    // Flags meant for the workspace must not shape the libraries.
    for inherited in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS", "CARGO_TARGET_DIR"] {
        command.env_remove(inherited);
    }
    shell.read(&mut command)?;
    let built = empty.join("target").join(GUEST_TARGET).join("release/deps");
    let files = std::fs::read_dir(&built).into_diagnostic()?.flatten().map(|entry| entry.path());
    let libraries: Vec<PathBuf> = files.filter(|file| is_library(file)).collect();
    if libraries.len() == LIBRARIES.len() {
        Ok(libraries)
    } else {
        Err(miette!("cargo built {} of the {} libraries", libraries.len(), LIBRARIES.len()))
    }
}

fn is_library(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.ends_with(".rlib") && LIBRARIES.iter().any(|library| name.starts_with(library))
}

fn libraries_folder(shell: &Shell) -> Result<PathBuf> {
    let sysroot = shell.read(shell.command("rustc").args(["--print", "sysroot"]))?;
    Ok(Path::new(sysroot.trim()).join("lib/rustlib").join(GUEST_TARGET).join("lib"))
}

/// Puts the libraries in place in one step, so that an interrupted setup leaves none or all of them.
fn place(libraries: &[PathBuf], folder: &Path) -> Result<()> {
    let fresh = folder.with_extension("new");
    let put = || -> std::io::Result<()> {
        for stale in [folder, &fresh] {
            if stale.exists() {
                std::fs::remove_dir_all(stale)?;
            }
        }
        std::fs::create_dir_all(&fresh)?;
        for library in libraries {
            std::fs::copy(library, fresh.join(library.file_name().unwrap_or_default()))?;
        }
        std::fs::rename(&fresh, folder)
    };
    put().into_diagnostic().wrap_err_with(|| {
        format!("cannot write Rust's libraries to {}: run this as that folder's owner", folder.display())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placing_replaces_what_another_compiler_left() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("libcore-2.rlib");
        std::fs::write(&library, "new").unwrap();
        let place_at = folder.path().join("rustlib/lib");
        std::fs::create_dir_all(&place_at).unwrap();
        std::fs::write(place_at.join("libcore-1.rlib"), "old").unwrap();
        place(&[library], &place_at).unwrap();
        let names: Vec<_> = std::fs::read_dir(&place_at).unwrap().flatten().map(|e| e.file_name()).collect();
        assert_eq!(names, ["libcore-2.rlib"]);
    }

    #[test]
    fn only_the_three_libraries_are_taken() {
        assert!(is_library(Path::new("/x/libcore-1a6c.rlib")));
        assert!(!is_library(Path::new("/x/libcore-1a6c.rmeta")));
        assert!(!is_library(Path::new("/x/libempty-1a6c.rlib")));
    }
}
