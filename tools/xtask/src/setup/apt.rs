//! Owns asking apt for packages of suites that the machine itself does not use.
//!
//! Index files and downloads go to a folder of the checkout's own: the user's apt stays as it is. Only what is
//! installed goes to the machine, through dpkg's usual data base.

use std::path::{Path, PathBuf};
use std::process::Command;

use miette::{IntoDiagnostic, Result, WrapErr, miette};

use super::apt_source;
use super::host::{Host, as_root};
use super::version::Version;
use crate::shell::Shell;
use crate::workspace::Workspace;

/// Which of the machine's sources a private apt reads beside the suite it was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MachineSources {
    /// All of them, so that what is installed finds the packages it needs.
    Included,
    /// None: only one file is to be downloaded.
    LeftOut,
}

/// An apt with a state of its own.
#[derive(Debug)]
pub(crate) struct PrivateApt<'a> {
    shell: &'a Shell,
    folder: PathBuf,
}

impl<'a> PrivateApt<'a> {
    /// Prepares an apt that reads the given suite too (or the machine's own only), and fetches its index.
    pub(crate) fn open(
        shell: &'a Shell,
        workspace: &Workspace,
        host: &Host,
        suite: Option<&str>,
        machine_sources: MachineSources,
    ) -> Result<Self> {
        if shell.find("apt-get").is_none() {
            return Err(miette!("this machine has no apt-get"));
        }
        let apt = Self { shell, folder: workspace.setup_folder().join("apt").join(suite.unwrap_or("own")) };
        let sources = apt.folder.join("sources.d");
        if sources.exists() {
            std::fs::remove_dir_all(&sources).into_diagnostic()?;
        }
        for folder in
            [&sources, &apt.folder.join("lists/partial"), &apt.folder.join("cache/archives/partial")]
        {
            make_folder(folder)?;
        }
        if machine_sources == MachineSources::Included {
            for file in apt_source::files(&host.apt_folder) {
                let name = file.file_name().unwrap_or_default();
                std::fs::copy(&file, sources.join(name)).into_diagnostic()?;
            }
        }
        if let Some(suite) = suite {
            let text = apt.source_text(host, suite)?;
            std::fs::write(sources.join("bixi-other-suite.sources"), text).into_diagnostic()?;
        }
        let mut update = apt.get(shell.command("apt-get"));
        shell.read(update.args(["-o", "APT::Update::Error-Mode=any", "update"]))?;
        Ok(apt)
    }

    /// Returns the versions of a package on offer, newest first.
    pub(crate) fn versions(&self, package: &str) -> Result<Vec<String>> {
        let table = self.shell.read(self.get(self.shell.command("apt-cache")).args(["madison", package]))?;
        Ok(versions_in_madison(&table))
    }

    /// Installs a package on the machine, as root, from the suite named if any.
    pub(crate) fn install(&self, package: &str, suite: Option<&str>) -> Result<()> {
        let mut command = self.get(as_root(self.shell, "apt-get")?);
        command.env("DEBIAN_FRONTEND", "noninteractive").args([
            "install",
            "--yes",
            "--no-install-recommends",
        ]);
        if let Some(suite) = suite {
            command.args(["--target-release", suite]);
        }
        self.shell.read(command.arg(package)).map(drop)
    }

    /// Downloads one version of a package without installing it, and returns the file.
    pub(crate) fn download(&self, package: &str, version: &str) -> Result<PathBuf> {
        let folder = self.folder.join("packages");
        make_folder(&folder)?;
        let mut command = self.get(self.shell.command("apt-get"));
        self.shell.read(command.current_dir(&folder).arg("download").arg(format!("{package}={version}")))?;
        let is_it = |file: &PathBuf| {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            name.starts_with(&format!("{package}_")) && name.ends_with(".deb")
        };
        let files = std::fs::read_dir(&folder).into_diagnostic()?.flatten().map(|entry| entry.path());
        files
            .into_iter()
            .find(is_it)
            .ok_or_else(|| miette!("apt-get said that it downloaded {package}, but did not"))
    }

    /// Adds the options that keep this apt's state apart from the machine's.
    fn get(&self, mut command: Command) -> Command {
        let option = |name: &str, value: &Path| format!("{name}={}", value.display());
        let nothing = Path::new("/dev/null");
        command
            .args(["-o", &option("Dir::Etc::SourceList", nothing)])
            .args(["-o", &option("Dir::Etc::SourceParts", &self.folder.join("sources.d"))])
            .args(["-o", &option("Dir::State::Lists", &self.folder.join("lists"))])
            .args(["-o", &option("Dir::Cache", &self.folder.join("cache"))])
            // The checkout may lie where apt's own user cannot write.
            .args(["-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=3", "--quiet"]);
        command
    }

    fn source_text(&self, host: &Host, suite: &str) -> Result<String> {
        let own = host.debian_suite().ok_or_else(|| miette!("this machine does not run Debian"))?;
        let source = apt_source::for_suite(&host.apt_folder, &own).ok_or_else(|| {
            miette!("apt's sources in {} do not name a mirror for {own}", host.apt_folder.display())
        })?;
        let architecture = self.shell.read(self.shell.command("dpkg").arg("--print-architecture"))?;
        Ok(source.for_suite(suite, architecture.trim()))
    }
}

/// Returns the newest offered version that is at least the one wanted.
pub(crate) fn newest_from(versions: &[String], minimum: Version) -> Option<&String> {
    versions.iter().find(|version| Version::find(version).is_some_and(|found| found >= minimum))
}

/// Reads `package | version | source` lines.
fn versions_in_madison(table: &str) -> Vec<String> {
    table.lines().filter_map(|line| Some(line.split('|').nth(1)?.trim().to_owned())).collect()
}

fn make_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)
        .into_diagnostic()
        .wrap_err_with(|| format!("cannot make the folder {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_apts_table() {
        let table = " rust-src | 1.97.1+dfsg1-1~bpo13+1 | http://m.example trixie-backports/main amd64 Packages\n \
                     rust-src | 1.95.0+dfsg1-2~bpo13+1 | http://m.example trixie-backports/main amd64 Packages\n";
        let versions = versions_in_madison(table);
        assert_eq!(versions, ["1.97.1+dfsg1-1~bpo13+1", "1.95.0+dfsg1-2~bpo13+1"]);
        assert_eq!(newest_from(&versions, Version(1, 95, 0)), versions.first());
        assert_eq!(newest_from(&versions, Version(2, 0, 0)), None);
    }
}
