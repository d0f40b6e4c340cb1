//! Owns building: kernel and servers for the guest, the counter for QEMU, and images of them.

use std::path::{Path, PathBuf};

use image::{BuildRequest, Form, LoadAddress};
use miette::{IntoDiagnostic, Result, WrapErr, miette};
use object::{Object as _, ObjectSection as _};
use packages::progress::Progress;
use packages::shell::Shell;

use crate::members;
use crate::workspace::{GUEST_TARGET, Workspace};

/// The image that programs for Linux run on.
pub(crate) const HOSTING: &str = "posix";

/// A bootable image, and what is needed to run it and to explain how it ended.
#[derive(Debug, Clone)]
pub(crate) struct Image {
    /// The file to boot.
    pub(crate) file: PathBuf,
    /// The memory that it is made for, in MiB.
    pub(crate) memory_mib: u64,
    /// The kernel in it, linked at 0, with its symbols.
    pub(crate) kernel: PathBuf,
    /// Where it is loaded.
    pub(crate) load_address: LoadAddress,
    /// Hosted programs that it starts without being told to.
    pub(crate) programs: usize,
}

/// Kernel and servers, built.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    folder: PathBuf,
}

impl Programs {
    /// Builds them; what the compiler says is shown when it fails.
    pub(crate) fn build(shell: &Shell, workspace: &Workspace) -> Result<Self> {
        let packages = members::options(&members::of_guest(workspace));
        let mut command = workspace.cargo(shell);
        let _progress = Progress::wait_for(shell, "building kernel and servers");
        shell
            .read(command.args(["build", "--quiet", "--release", "--target", GUEST_TARGET]).args(packages))?;
        Ok(Self { folder: workspace.target().join(GUEST_TARGET).join("release") })
    }

    /// Returns the bytes that a program has as constants; nothing if its file cannot be read.
    pub(crate) fn constants(&self, program: &str) -> Option<Vec<u8>> {
        let bytes = std::fs::read(self.folder.join(program)).ok()?;
        let elf = object::File::parse(&*bytes).ok()?;
        elf.section_by_name(".rodata")?.data().ok().map(<[u8]>::to_vec)
    }

    /// Returns the kernel's file, linked at 0, with its symbols.
    pub(crate) fn kernel(&self) -> PathBuf {
        self.folder.join(members::KERNEL)
    }
}

/// Builds the counter.
pub(crate) fn counter(shell: &Shell, workspace: &Workspace) -> Result<PathBuf> {
    let mut command = workspace.cargo(shell);
    let _progress = Progress::wait_for(shell, "building the counter");
    shell.read(command.args(["build", "--quiet", "--release", "-p", "counter", "--features", "plugin"]))?;
    Ok(workspace.target().join("release/libcounter.so"))
}

/// Builds `images/NAME.toml` with everything in it.
pub(crate) fn named_image(
    workspace: &Workspace,
    programs: &Programs,
    name: &str,
    at: LoadAddress,
) -> Result<Image> {
    let description = workspace.images().join(name).with_extension("toml");
    if !description.is_file() {
        return Err(miette!(
            help = format!("images/ has {}", names_of_images(workspace).join(", ")),
            "there is no image {name}: {} is missing",
            description.display()
        ));
    }
    let folder = workspace.target().join("images");
    std::fs::create_dir_all(&folder)
        .into_diagnostic()
        .wrap_err_with(|| format!("cannot make {}", folder.display()))?;
    let output = folder.join(format!("{name}-{:x}.elf", at.physical()));
    image_of(programs, &description, &output, at)
}

/// Builds an image of a description.
pub(crate) fn image_of(
    programs: &Programs,
    description: &Path,
    output: &Path,
    load_address: LoadAddress,
) -> Result<Image> {
    let kernel = programs.kernel();
    let built = image::build(&BuildRequest {
        description: description.to_path_buf(),
        kernel: kernel.clone(),
        program_folders: vec![programs.folder.clone()],
        output: output.to_path_buf(),
        load_address,
        form: Form::Elf,
    })?;
    for note in &built.notes {
        eprintln!("note: {note}");
    }
    Ok(Image {
        file: built.path,
        memory_mib: built.memory_bytes >> 20,
        kernel,
        load_address,
        programs: built.programs,
    })
}

fn names_of_images(workspace: &Workspace) -> Vec<String> {
    let entries: Vec<_> =
        std::fs::read_dir(workspace.images()).map(|entries| entries.flatten().collect()).unwrap_or_default();
    let files = entries.into_iter().map(|entry| entry.path());
    let descriptions = files.filter(|file| file.extension().is_some_and(|extension| extension == "toml"));
    let mut names: Vec<String> =
        descriptions.filter_map(|file| Some(file.file_stem()?.to_string_lossy().into_owned())).collect();
    names.sort();
    names
}
