//! Finds the servers' programs and makes sure that root will be able to load them (CASES 41).

use crate::elf;
use crate::mistake::{At, Mistake, did_you_mean};
use loader::{ElfError, Program};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Reads a program that a description names.
pub(crate) fn find(name: &At<String>, folders: &[PathBuf]) -> Result<Vec<u8>, Mistake> {
    let mut tried = Vec::new();
    for folder in folders {
        let path = folder.join(&name.value);
        match fs::read(&path) {
            Ok(bytes) => return check(name, &path, bytes),
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

fn check(name: &At<String>, path: &Path, bytes: Vec<u8>) -> Result<Vec<u8>, Mistake> {
    match Program::parse(&bytes) {
        Ok(_) => Ok(bytes),
        Err(error) => Err(Mistake::new(format!("program `{}` cannot be a server: {error}", name.value))
            .at(&name.span, "needed here")
            .help(format!("it was found as {}; {}", path.display(), remedy(&error)))),
    }
}

/// What to do about a file that cannot be a server.
fn remedy(error: &ElfError) -> &'static str {
    match error {
        ElfError::NotElf | ElfError::NotExecutable(_) => "a program is an executable file that was linked",
        ElfError::Truncated => "build it again: the file is not whole",
        ElfError::Machine(_) | ElfError::Class | ElfError::ByteOrder => {
            "build it with `--target loongarch64-unknown-none-softfloat`"
        }
        _ => "link it with the servers' linker script (`servers/runtime`)",
    }
}

/// The program without its debug information, which nobody on the machine reads; symbols stay.
pub(crate) fn strip(bytes: &[u8]) -> Result<Vec<u8>, ElfError> {
    let mut image = elf::read(bytes)?;
    image.retain_sections(|section| !section.is_debug_info());
    let stripped = image.write();
    Program::parse(&stripped)?;
    Ok(stripped)
}
