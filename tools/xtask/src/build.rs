//! Owns building: kernel and servers for the guest, the counter for QEMU, and images of them.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use image::{BuildRequest, Form, LoadAddress};
use miette::{IntoDiagnostic, Result, WrapErr, miette};
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

/// Kernel and servers; built when something is made of them.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    shell: Shell,
    workspace: Workspace,
    folder: PathBuf,
    built: OnceCell<()>,
}

impl Programs {
    /// Returns them without building anything yet.
    pub(crate) fn later(shell: &Shell, workspace: &Workspace) -> Self {
        let folder = workspace.target().join(GUEST_TARGET).join("release");
        Self { shell: shell.clone(), workspace: workspace.clone(), folder, built: OnceCell::new() }
    }

    /// Builds them, unless that was done; what the compiler says is shown when it fails.
    pub(crate) fn build(&self) -> Result<()> {
        if self.built.get().is_some() {
            return Ok(());
        }
        let packages = members::options(&members::of_guest(&self.workspace));
        let mut command = self.workspace.cargo(&self.shell);
        let _progress = Progress::wait_for(&self.shell, "building kernel and servers");
        command.args(["build", "--quiet", "--release", "--target", GUEST_TARGET]).args(packages);
        self.shell.read(&mut command)?;
        self.built.get_or_init(|| ());
        Ok(())
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
    let description = workspace.images().join(format!("{name}.toml"));
    if name.contains('/') || !description.is_file() {
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
    programs.build()?;
    let kernel = programs.folder.join(members::KERNEL);
    let built = image::build(&BuildRequest {
        description: description.to_path_buf(),
        kernel: kernel.clone(),
        program_folders: vec![programs.folder.clone()],
        output: output.to_path_buf(),
        load_address,
        form: Form::Elf,
    })?;
    for note in &built.notes {
        packages::tell!("note: {note}");
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
