//! Finds the servers' programs and makes sure that root will be able to load them (CASES 41).

use crate::elf;
use crate::mistake::{At, Mistake, did_you_mean};
use loader::{ElfError, HostProgram, Program};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// What a program is to be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// An ordinary server.
    Server,
    /// A server that hosts programs.
    Host,
}

impl Kind {
    fn check(self, bytes: &[u8]) -> Result<(), ElfError> {
        match self {
            Self::Server => Program::parse(bytes).map(drop),
            Self::Host => HostProgram::parse(bytes).map(drop),
        }
    }
}

/// Reads a program that a description names.
pub(crate) fn find(name: &At<String>, kind: Kind, folders: &[PathBuf]) -> Result<Vec<u8>, Mistake> {
    let mut tried = Vec::new();
    for folder in folders {
        let path = folder.join(&name.value);
        match fs::read(&path) {
            Ok(bytes) => return check(name, kind, &path, bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => tried.push(path),
            Err(error) => {
                return Err(Mistake::new(format!("cannot read program `{}`", name.value))
                    .at(&name.span, "needed here")
                    .help(format!("{}: {error}", path.display())));
            }
        }
    }
    let places: Vec<String> = tried.iter().map(|path| format!("\n  {}", path.display())).collect();
    let present = names_in(folders);
    let meant = did_you_mean(&name.value, present.iter().map(String::as_str));
    let meant = meant.map_or_else(String::new, |close| format!("did you mean `{close}`? "));
    Err(Mistake::new(format!("there is no program `{}`", name.value)).at(&name.span, "needed here").help(
        format!(
            "{meant}Build it, or correct the name; `cargo xtask` builds every program under servers/. Tried:{}",
            places.concat()
        ),
    ))
}

/// The files that are there instead.
fn names_in(folders: &[PathBuf]) -> Vec<String> {
    let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn check(name: &At<String>, kind: Kind, path: &Path, bytes: Vec<u8>) -> Result<Vec<u8>, Mistake> {
    let (what, other) = match kind {
        Kind::Server => ("a server", Kind::Host),
        Kind::Host => ("a host", Kind::Server),
    };
    match kind.check(&bytes) {
        Ok(()) => Ok(bytes),
        Err(error) => Err(Mistake::new(format!("program `{}` cannot be {what}: {error}", name.value))
            .at(&name.span, "needed here")
            .help(format!(
                "it was found as {}; {}",
                path.display(),
                if other.check(&bytes).is_ok() { other_kind(other) } else { remedy(kind, &error) }
            ))),
    }
}

/// What to do about a good program of the wrong kind.
fn other_kind(is: Kind) -> &'static str {
    match is {
        Kind::Server => {
            "it is an ordinary server: leave `host` out, or link it with `servers/runtime/upper.ld`"
        }
        Kind::Host => "it is a host: add `host = {}` to the server",
    }
}

/// What to do about a file that cannot be a server.
fn remedy(kind: Kind, error: &ElfError) -> &'static str {
    match error {
        ElfError::NotElf | ElfError::NotExecutable(_) => "a program is an executable file that was linked",
        ElfError::Truncated => "build it again: the file is not whole",
        ElfError::Machine(_) | ElfError::Class | ElfError::ByteOrder => {
            "build it with `--target loongarch64-unknown-none-softfloat`"
        }
        _ if kind == Kind::Host => {
            "link it with `servers/runtime/upper.ld`, and begin it with `runtime::host_main!`"
        }
        _ => "link it with the servers' linker script (`servers/runtime/server.ld`)",
    }
}

/// The program without its debug information, which nobody on the machine reads; symbols stay.
pub(crate) fn strip(bytes: &[u8], kind: Kind) -> Result<Vec<u8>, ElfError> {
    let mut image = elf::read(bytes)?;
    image.retain_sections(|section| !section.is_debug_info());
    let stripped = image.write();
    kind.check(&stripped)?;
    Ok(stripped)
}
