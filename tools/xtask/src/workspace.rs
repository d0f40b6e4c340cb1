//! Owns where things lie in the checkout, and which packages are for which machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use packages::shell::Shell;

/// The target of the kernel and the servers; its assembler takes FP, LSX and LASX instructions as it is.
pub(crate) const GUEST_TARGET: &str = "loongarch64-unknown-none-softfloat";

/// The checkout that this xtask was built from.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// Returns the checkout: xtask's own folder lies two below it.
    pub(crate) fn new() -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self { root: here.ancestors().nth(2).unwrap_or(here).to_path_buf() }
    }

    /// Returns a checkout at another place.
    #[cfg(test)]
    pub(crate) fn at(root: &Path) -> Self {
        Self { root: root.to_path_buf() }
    }

    /// Returns the checkout's folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns where cargo puts what it builds.
    pub(crate) fn target(&self) -> PathBuf {
        match std::env::var_os("CARGO_TARGET_DIR") {
            Some(folder) => self.root.join(folder),
            None => self.root.join("target"),
        }
    }

    /// Returns the folder of the system descriptions.
    pub(crate) fn images(&self) -> PathBuf {
        self.root.join("images")
    }

    /// Returns the file of budgets.
    pub(crate) fn budgets(&self) -> PathBuf {
        self.root.join("budgets.toml")
    }

    /// Prepares a cargo command for this checkout.
    pub(crate) fn cargo(&self, shell: &Shell) -> Command {
        let mut command = shell.command("cargo");
        command.current_dir(&self.root);
        command
    }

    /// Returns the folder for what setup downloads and builds, apt's private state included.
    pub(crate) fn setup_folder(&self) -> PathBuf {
        self.target().join("setup")
    }
}
