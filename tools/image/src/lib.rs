//! From a kernel, servers and a system description to one bootable file.
//!
//! Owned here: the text form of a description and its errors at their lines, the writing of boot archives,
//! and the ELF that `-kernel` boots. Neighbours: `abi` has the binary forms and their readers, `loader` says
//! which ELF a server may be, `xtask` builds what [`BuildRequest`] names.
//!
//! Reading order: [`build`] below, `system` (what a description means), `programs`, `archive`, `kernel`.

mod archive;
mod debug_info;
mod elf;
mod fit;
mod kernel;
mod machine;
mod mistake;
mod programs;
mod source;
mod system;

pub use self::archive::{Block, write_archive};
pub use self::machine::LoadAddress;

use self::kernel::{Kernel, Placed};
use self::mistake::{Mistake, Source};
use self::programs::Kind;
use self::system::Checked;
use abi::boot_archive::EntryKind;
use loader::Program;
use miette::Report;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The archive's entry with the compiled description.
pub const DESCRIPTION_ENTRY: &str = "system.description";

/// What the finished file is booted by.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Form {
    /// QEMU's `-kernel`, without firmware.
    #[default]
    Elf,
    /// UEFI firmware.
    Efi,
}

/// What to build, and from what.
#[derive(Clone, Debug)]
pub struct BuildRequest {
    /// The system description (TOML).
    pub description: PathBuf,
    /// The built kernel, linked at 0.
    pub kernel: PathBuf,
    /// Where programs are looked for, in this order.
    pub program_folders: Vec<PathBuf>,
    /// The file to write.
    pub output: PathBuf,
    /// Where the image is loaded.
    pub load_address: LoadAddress,
    /// What it is booted by.
    pub form: Form,
}

/// What was built.
#[derive(Clone, Debug)]
pub struct Built {
    /// The file.
    pub path: PathBuf,
    /// The system's name.
    pub system: String,
    /// Memory of the machine that it is made for, in bytes: what QEMU's `-m` must say.
    pub memory_bytes: u64,
    /// Memory that kernel and archive occupy, in bytes.
    pub image_bytes: u64,
    /// The archive's entries and their sizes in bytes.
    pub entries: Vec<(String, u64)>,
    /// Hosted programs that its description starts.
    pub programs: usize,
    /// What the user should know, though the image is good.
    pub notes: Vec<String>,
}

/// Builds an image.
///
/// # Errors
/// A report with the places in the description, and what to do; it never has a backtrace.
pub fn build(request: &BuildRequest) -> Result<Built, Report> {
    if request.form == Form::Efi {
        return Err(Mistake::new("images for firmware (`--efi`) are not there yet")
            .help("build without `--efi` and boot with QEMU's `-kernel`, which needs no firmware")
            .alone());
    }
    let path = &request.description;
    let text = fs::read(path).map_err(|error| cannot("read the description", path, &error).alone())?;
    let text = String::from_utf8(text).map_err(|_| {
        Mistake::new(format!("the description `{}` is not UTF-8 text", path.display())).alone()
    })?;
    let source = Source::new(path, &text);
    build_from(request, &source).map_err(|mistake| mistake.in_source(&source))
}

/// Reads and checks a description alone: programs are not looked for.
///
/// # Errors
/// As [`build`]; `path` only stands in the messages.
pub fn compile_description(path: &Path, text: &str) -> Result<Vec<u8>, Report> {
    let source = Source::new(path, text);
    let checked = system::check(&source.text).map_err(|mistake| mistake.in_source(&source))?;
    Ok(checked.compiled)
}

fn build_from(request: &BuildRequest, source: &Source) -> Result<Built, Mistake> {
    let Checked { system, compiled } = system::check(&source.text)?;
    let kernel_path = &request.kernel;
    let kernel = fs::read(kernel_path).map_err(|error| cannot("read the kernel", kernel_path, &error))?;
    let kernel = Kernel::read(kernel_path, &kernel)?;

    let root = programs::find(&system.root, Kind::Server, &request.program_folders)?;
    let mut blocks =
        vec![Block { name: DESCRIPTION_ENTRY.to_owned(), kind: EntryKind::Description, data: compiled }];
    for server in &system.servers {
        let kind = if server.host.is_some() { Kind::Host } else { Kind::Server };
        let program = programs::find(&server.program, kind, &request.program_folders)?;
        // Two servers may run one program.
        if blocks.iter().any(|block| block.name == server.program.value) {
            continue;
        }
        let data = programs::strip(&program, kind).map_err(|error| internal(&error.to_string()))?;
        blocks.push(Block { name: server.program.value.clone(), kind: EntryKind::Program, data });
    }
    let root = Program::parse(&root).map_err(|error| internal(&error.to_string()))?;
    let archive = write_archive(&root, &blocks).map_err(|error| internal(&error.to_string()))?;

    let load = request.load_address;
    let Placed { file, mem_size, note } = kernel.place(archive, load);
    fit::check(&system, load, mem_size)?;
    replace(&request.output, &file).map_err(|error| cannot("write the image", &request.output, &error))?;
    Ok(Built {
        path: request.output.clone(),
        system: system.name.value,
        memory_bytes: system.memory.value,
        image_bytes: mem_size,
        entries: blocks.into_iter().map(|block| (block.name, block.data.len() as u64)).collect(),
        programs: system.programs.len(),
        notes: note.into_iter().collect(),
    })
}

/// Puts a file where another one may be that somebody reads just now: they see the one or the other, never a part.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    // Through a link to the file itself; a device or a pipe is written, not replaced.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    if path.exists() && !path.is_file() {
        return fs::write(path, bytes);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    let readable = fs::Permissions::from_mode(0o644);
    file.as_file().set_permissions(readable)?;
    file.persist(path).map(|_| ()).map_err(|error| error.error)
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Mistake {
    Mistake::new(format!("cannot {what} `{}`: {error}", path.display()))
}

/// What was checked before and is refused now.
fn internal(error: &str) -> Mistake {
    Mistake::new(format!("the image is refused by its own reader: {error}"))
        .help("this is a fault of the image tool: please report the description")
}

#[cfg(test)]
mod tests;
