//! Owns the compiler for hosted C programs: clang and lld of this machine, musl and libgcc of Debian for LoongArch.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use miette::{IntoDiagnostic, Result, miette};

use crate::apt::{PrivateApt, Reads};
use crate::loong64::Loong64;
use crate::progress::Progress;
use crate::shell::Shell;

/// Releases of LLVM that are used where they are installed; the first one is installed where none is.
const RELEASES: [u32; 4] = [19, 20, 21, 22];

const TARGET: &str = "loongarch64-linux-musl";

/// What a program is linked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linking {
    /// The C library, at fixed addresses.
    Static,
    /// The C library, at any address.
    StaticPie,
    /// Nothing: the program starts at its own `_start`.
    Alone,
}

/// A compiler for programs that run on Linux for LoongArch.
#[derive(Clone, Debug)]
pub struct Compiler {
    clang: PathBuf,
    linker: PathBuf,
    /// The C library's headers and its files to link.
    include: PathBuf,
    libraries: PathBuf,
    /// Arithmetic that the compiler calls functions for, such as that of 128-bit floating point.
    arithmetic: PathBuf,
}

impl Compiler {
    /// Finds the compiler, and installs what is missing of it.
    ///
    /// # Errors
    /// Something is missing and cannot be had.
    pub fn provide(loong64: &Loong64<'_>) -> Result<Self> {
        let (clang, linker) = match find(loong64.shell()) {
            Some(found) => found,
            None => install(loong64)?,
        };
        let musl = loong64.package("musl-dev")?.files.join("usr");
        let gcc =
            loong64.dependency("musl-dev", |name| name.starts_with("libgcc-") && name.ends_with("-dev"))?;
        Ok(Self {
            clang,
            linker,
            include: musl.join("include").join(TARGET),
            libraries: musl.join("lib").join(TARGET),
            arithmetic: find_archive(&gcc.files.join("usr/lib/gcc"))?,
        })
    }

    /// Prepares the command that compiles and links one program.
    #[must_use]
    pub fn command<S: AsRef<OsStr>>(
        &self,
        sources: impl IntoIterator<Item = S>,
        linking: Linking,
        output: &Path,
    ) -> Command {
        let mut linker = std::ffi::OsString::from("--ld-path=");
        linker.push(&self.linker);
        let mut command = Command::new(&self.clang);
        command
            .arg(format!("--target={TARGET}"))
            .args(["-std=gnu17", "-O2", "-g", "-Wall", "-Wextra", "-Werror"])
            // The headers are musl's and the compiler's own, none of this machine's.
            .args(["-nostdlibinc", "-nostdlib"])
            .arg("-isystem")
            .arg(&self.include)
            .arg(linker);
        let start = match linking {
            Linking::Static => Some("crt1.o"),
            Linking::StaticPie => Some("rcrt1.o"),
            Linking::Alone => None,
        };
        command.args(match linking {
            Linking::StaticPie => ["-static-pie", "-fPIE"],
            Linking::Static | Linking::Alone => ["-static", "-fno-pie"],
        });
        if let Some(start) = start {
            command.arg(self.libraries.join(start));
        }
        command.args(sources);
        if start.is_some() {
            command.arg(self.libraries.join("libc.a")).arg(&self.arithmetic);
        }
        command.arg("-o").arg(output);
        command
    }
}

/// Returns compiler and linker of the first release that has both here.
fn find(shell: &Shell) -> Option<(PathBuf, PathBuf)> {
    RELEASES.iter().find_map(|release| {
        Some((shell.find(&format!("clang-{release}"))?, shell.find(&format!("ld.lld-{release}"))?))
    })
}

fn install(loong64: &Loong64<'_>) -> Result<(PathBuf, PathBuf)> {
    let [release, ..] = RELEASES;
    let packages = [format!("clang-{release}"), format!("lld-{release}")];
    let [clang, lld] = &packages;
    let by_hand = |error: &miette::Report| {
        let detail = error.help().map(|help| format!("{help}\n")).unwrap_or_default();
        miette!(
            help = format!(
                "{detail}By hand: install clang and lld so that `{clang}` and `ld.lld-{release}` work"
            ),
            "there is no clang for the hosted test programs, and setup could not provide it: {error}"
        )
    };
    let provide = || {
        let _progress = Progress::start(loong64.shell(), &format!("installing {clang} and {lld}"));
        let apt = PrivateApt::open(loong64.shell(), loong64.setup_folder(), loong64.host(), Reads::Machine)?;
        apt.install(&[clang, lld], None)
    };
    provide().map_err(|error| by_hand(&error))?;
    find(loong64.shell()).ok_or_else(|| by_hand(&miette!("{clang} was installed and changed nothing")))
}

/// Returns `libgcc.a` below a folder: its path has GCC's version in it.
fn find_archive(folder: &Path) -> Result<PathBuf> {
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let archive = folder.join("libgcc.a");
        if archive.is_file() {
            return Ok(archive);
        }
        let entries = std::fs::read_dir(&folder).into_diagnostic()?.flatten();
        folders.extend(entries.map(|entry| entry.path()).filter(|path| path.is_dir()));
    }
    Err(miette!("there is no libgcc.a in {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_takes_no_header_and_no_library_of_this_machine() {
        let compiler = Compiler {
            clang: "/bin/clang-19".into(),
            linker: "/bin/ld.lld-19".into(),
            include: "/m/include".into(),
            libraries: "/m/lib".into(),
            arithmetic: "/g/libgcc.a".into(),
        };
        let words = |linking| {
            let command = compiler.command(["a.c"], linking, Path::new("a"));
            command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        let with_library = words(Linking::StaticPie);
        assert!(with_library.contains("-nostdlibinc -nostdlib -isystem /m/include"), "{with_library}");
        assert!(
            with_library.ends_with("/m/lib/rcrt1.o a.c /m/lib/libc.a /g/libgcc.a -o a"),
            "{with_library}"
        );
        assert!(words(Linking::Alone).ends_with("-static -fno-pie a.c -o a"));
    }

    #[test]
    fn the_archive_is_found_whatever_the_version() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("loongarch64-linux-gnu/16");
        std::fs::create_dir_all(&place).unwrap();
        assert!(find_archive(folder.path()).is_err());
        std::fs::write(place.join("libgcc.a"), "").unwrap();
        assert_eq!(find_archive(folder.path()).unwrap(), place.join("libgcc.a"));
    }
}
