//! Owns the compiler for hosted C programs: clang and lld of this machine, musl and libgcc of Debian for LoongArch.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use miette::{IntoDiagnostic, Result, WrapErr, miette};

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

/// What a program is made of.
#[derive(Clone, Copy, Debug)]
pub struct Recipe<'a> {
    /// C and assembly files.
    pub sources: &'a [PathBuf],
    /// Files that those include; a change in one makes the program new.
    pub headers: &'a [PathBuf],
    /// Options for the compiler.
    pub options: &'a [String],
    /// What it is linked to.
    pub linking: Linking,
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

    /// Builds a program, unless it is there and made of the same files in the same way.
    ///
    /// # Errors
    /// A file cannot be read, or the compiler refuses it.
    pub fn build(&self, shell: &Shell, recipe: &Recipe<'_>, output: &Path) -> Result<()> {
        let mut command = self.command(recipe, output);
        let made_of = fingerprint(&command, recipe)?;
        let note = output.with_extension("made-of");
        if output.is_file() && std::fs::read_to_string(&note).is_ok_and(|noted| noted == made_of) {
            return Ok(());
        }
        let folder = output.parent().unwrap_or(output);
        std::fs::create_dir_all(folder).into_diagnostic()?;
        shell.read(&mut command)?;
        std::fs::write(&note, made_of).into_diagnostic()
    }

    /// Prepares the command that compiles and links one program.
    fn command(&self, recipe: &Recipe<'_>, output: &Path) -> Command {
        let mut linker = std::ffi::OsString::from("--ld-path=");
        linker.push(&self.linker);
        let mut command = Command::new(&self.clang);
        command
            .arg(format!("--target={TARGET}"))
            .args(["-std=gnu17", "-O2", "-Wall", "-Wextra", "-Werror", "-Wl,--strip-debug"])
            // The headers are musl's and the compiler's own, none of this machine's.
            .args(["-nostdlibinc", "-nostdlib"])
            .arg("-isystem")
            .arg(&self.include)
            .arg(linker);
        let start = match recipe.linking {
            Linking::Static => Some("crt1.o"),
            Linking::StaticPie => Some("rcrt1.o"),
            Linking::Alone => None,
        };
        command.args(match recipe.linking {
            Linking::StaticPie => ["-static-pie", "-fPIE"],
            Linking::Static | Linking::Alone => ["-static", "-fno-pie"],
        });
        if let Some(start) = start {
            command.arg(self.libraries.join(start));
        }
        command.args(recipe.options).args(recipe.sources);
        if start.is_some() {
            command.arg(self.libraries.join("libc.a")).arg(&self.arithmetic);
        }
        command.arg("-o").arg(output);
        command
    }
}

/// Returns a text that differs when a file or the command does.
fn fingerprint(command: &Command, recipe: &Recipe<'_>) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    command.get_args().for_each(|word| word.hash(&mut hasher));
    for file in recipe.sources.iter().chain(recipe.headers) {
        let content = std::fs::read(file);
        content
            .into_diagnostic()
            .wrap_err_with(|| format!("cannot read {}", file.display()))?
            .hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
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
    use crate::stand_in::StandIn;

    fn compiler() -> Compiler {
        Compiler {
            clang: "/bin/clang-19".into(),
            linker: "/bin/ld.lld-19".into(),
            include: "/m/include".into(),
            libraries: "/m/lib".into(),
            arithmetic: "/g/libgcc.a".into(),
        }
    }

    fn recipe(sources: &[PathBuf], linking: Linking) -> Recipe<'_> {
        Recipe { sources, headers: &[], options: &[], linking }
    }

    #[test]
    fn the_command_takes_no_header_and_no_library_of_this_machine() {
        let sources = [PathBuf::from("a.c")];
        let words = |linking| {
            let command = compiler().command(&recipe(&sources, linking), Path::new("a"));
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
    fn a_program_is_built_again_only_when_something_changed() {
        let machine = StandIn::new().with("clang", "for output; do :; done; echo built >> $output");
        let compiler = Compiler { clang: machine.path("bin/clang"), ..compiler() };
        let sources = [machine.path("a.c")];
        let output = machine.path("a");
        let build = |linking| {
            compiler.build(&machine.shell(), &recipe(&sources, linking), &output).unwrap();
            machine.read("a").lines().count()
        };
        std::fs::write(&sources[0], "one").unwrap();
        assert_eq!((build(Linking::Static), build(Linking::Static)), (1, 1));
        assert_eq!(build(Linking::StaticPie), 2, "another command");
        std::fs::write(&sources[0], "two").unwrap();
        assert_eq!((build(Linking::StaticPie), build(Linking::StaticPie)), (3, 3));
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
