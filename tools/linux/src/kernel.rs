//! Owns Debian's kernel for LoongArch, made bootable and kept.

use std::path::{Path, PathBuf};

use miette::{IntoDiagnostic, Result, WrapErr, miette};
use packages::loong64::Loong64;

use crate::zboot;

/// The package that leads to the kernel's own, whose name has the version in it.
const LEADS_TO_IT: &str = "linux-image-loong64";

/// A kernel that QEMU boots.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    /// The file.
    pub(crate) image: PathBuf,
    /// The version of Debian's package.
    pub(crate) version: String,
}

impl Kernel {
    /// Provides the kernel.
    pub(crate) fn provide(loong64: &Loong64<'_>) -> Result<Self> {
        let package = loong64.dependency(LEADS_TO_IT, |name| name.starts_with("linux-binary-"))?;
        let folder = loong64.setup_folder().join("linux");
        let image = folder.join(format!("kernel_{}", package.version));
        if !image.is_file() {
            let packed = find(&package.files)?;
            let file = std::fs::read(&packed).into_diagnostic()?;
            let kernel = zboot::kernel(file).wrap_err_with(|| format!("in {}", packed.display()))?;
            std::fs::create_dir_all(&folder).into_diagnostic()?;
            // Renamed when complete: a file that is there is whole.
            let fresh = tempfile::NamedTempFile::new_in(&folder).into_diagnostic()?;
            std::fs::write(fresh.path(), kernel).into_diagnostic()?;
            fresh.persist(&image).into_diagnostic()?;
        }
        Ok(Self { image, version: package.version })
    }
}

/// Returns the kernel's file in its package: `…/vmlinuz` or `…/vmlinuz-VERSION`.
fn find(files: &Path) -> Result<PathBuf> {
    let mut folders = vec![files.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_diagnostic()?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if entry.file_name().to_string_lossy().starts_with("vmlinuz") {
                return Ok(path);
            }
        }
    }
    Err(miette!("Debian's kernel package has no vmlinuz: {}", files.display()))
}
