//! Owns the check that a file is a program for the guest, so that a mistake is told before anything is booted.

use std::path::{Path, PathBuf};

use miette::Diagnostic;
use object::elf::{EM_LOONGARCH, ET_DYN, ET_EXEC, FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind};
use thiserror::Error;

/// Why a file is no program that the guest can run.
#[derive(Debug, Error, Diagnostic)]
pub enum ProgramError {
    /// There is no such file, or it cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// It is neither an ELF file nor a script.
    #[error("{} is no program: it begins neither as an ELF file nor with `#!`", path.display())]
    NoProgram {
        /// The file.
        path: PathBuf,
    },
    /// It is a program for another machine.
    #[error("{} is a program for {machine}, not for 64-bit LoongArch", path.display())]
    #[diagnostic(help(
        "the guest runs Linux's programs for loongarch64; to run a program that the guest has, write its name without a `/`"
    ))]
    OtherMachine {
        /// The file.
        path: PathBuf,
        /// The machine.
        machine: String,
    },
    /// It is an ELF file, and no program.
    #[error("{} is an ELF file, but no program: {what}", path.display())]
    NoExecutable {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
}

/// What a program is, as far as it matters before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A script: its interpreter's path, and what follows on its first line.
    Script(Vec<u8>),
    /// A program that loads itself.
    Static,
    /// A program that this interpreter loads.
    Dynamic(Vec<u8>),
}

/// Looks at a file that is to be run.
///
/// # Errors
/// The guest cannot run it.
pub fn check(path: &Path) -> Result<Kind, ProgramError> {
    let bytes = std::fs::read(path);
    let bytes = bytes.map_err(|source| ProgramError::Unreadable { path: path.into(), source })?;
    if let Some(line) = bytes.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
        return Ok(Kind::Script(line.trim_ascii().to_vec()));
    }
    kind(&bytes, path)
}

fn kind(bytes: &[u8], path: &Path) -> Result<Kind, ProgramError> {
    let path = || path.to_path_buf();
    match FileKind::parse(bytes) {
        Ok(FileKind::Elf64) => {}
        Ok(FileKind::Elf32) => {
            return Err(ProgramError::OtherMachine { path: path(), machine: "a 32-bit machine".into() });
        }
        _ => return Err(ProgramError::NoProgram { path: path() }),
    }
    let damaged = || ProgramError::NoExecutable { path: path(), what: "it is damaged" };
    let header = FileHeader64::<Endianness>::parse(bytes).map_err(|_| damaged())?;
    let endian = header.endian().map_err(|_| damaged())?;
    let machine = header.e_machine(endian);
    if machine != EM_LOONGARCH || endian != Endianness::Little {
        return Err(ProgramError::OtherMachine { path: path(), machine: name(machine) });
    }
    if !matches!(header.e_type(endian), ET_EXEC | ET_DYN) {
        let what = "it is an object file or a core dump, which was not linked";
        return Err(ProgramError::NoExecutable { path: path(), what });
    }
    let segments = header.program_headers(endian, bytes).map_err(|_| damaged())?;
    let interpreter = segments.iter().find(|segment| segment.p_type(endian) == PT_INTERP);
    let Some(interpreter) = interpreter else { return Ok(Kind::Static) };
    let text = interpreter.data(endian, bytes).map_err(|()| damaged())?;
    Ok(Kind::Dynamic(text.split(|byte| *byte == 0).next().unwrap_or_default().to_vec()))
}

/// A machine's name, or its number in the ELF format.
fn name(machine: object::elf::Machine) -> String {
    use object::elf;
    match machine {
        elf::EM_X86_64 => "x86-64".into(),
        elf::EM_AARCH64 => "64-bit ARM".into(),
        elf::EM_RISCV => "RISC-V".into(),
        elf::EM_PPC64 => "PowerPC".into(),
        elf::EM_MIPS => "MIPS".into(),
        elf::EM_S390 => "s390x".into(),
        other => format!("another machine (number {} in ELF files)", other.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(kind: u16, machine: u16) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        bytes.extend(kind.to_le_bytes());
        bytes.extend(machine.to_le_bytes());
        bytes.resize(64, 0);
        bytes
    }

    fn told(bytes: &[u8]) -> String {
        kind(bytes, Path::new("./x")).unwrap_err().to_string()
    }

    #[test]
    fn what_the_guest_cannot_run_is_told_apart() {
        assert_eq!(told(b"text"), "./x is no program: it begins neither as an ELF file nor with `#!`");
        assert_eq!(told(b""), "./x is no program: it begins neither as an ELF file nor with `#!`");
        assert_eq!(told(&elf(2, 62)), "./x is a program for x86-64, not for 64-bit LoongArch");
        assert!(told(&elf(1, 258)).contains("it is an object file"));
        assert!(told(&elf(2, 258)[..40]).contains("it is damaged"));
        assert_eq!(kind(&elf(2, 258), Path::new("x")).unwrap(), Kind::Static);
    }

    #[test]
    fn a_missing_file_and_a_script_are_told() {
        assert!(check(Path::new("/none/such")).unwrap_err().to_string().contains("cannot read /none/such"));
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "#! /bin/sh -e\ntrue\n").unwrap();
        assert_eq!(check(file.path()).unwrap(), Kind::Script(b"/bin/sh -e".to_vec()));
    }
}
