//! Owns asking apt for packages of suites that the machine itself does not use.
//!
//! Index files and downloads go to a folder of the checkout's own: the user's apt stays as it is. Only what is
//! installed goes to the machine, through dpkg's usual data base.

use std::path::{Path, PathBuf};
use std::process::Command;

use miette::{IntoDiagnostic, Result, WrapErr, miette};

use crate::apt_source;
use crate::host::{Host, as_root};
use crate::shell::Shell;
use crate::version::Version;

/// Which packages a private apt knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads<'a> {
    /// Those of the machine's own sources.
    Machine,
    /// Those, and another suite's, so that what is installed from there finds the packages it needs.
    MachineAnd(&'a str),
    /// One suite's, for this machine's architecture: only a file is to be downloaded.
    Suite(&'a str),
    /// One suite's for another architecture; nothing of it counts as installed.
    Foreign {
        /// The suite.
        suite: &'a str,
        /// The architecture, as Debian calls it.
        architecture: &'a str,
    },
}

impl Reads<'_> {
    fn suite(&self) -> Option<&str> {
        match self {
            Self::Machine => None,
            Self::MachineAnd(suite) | Self::Suite(suite) | Self::Foreign { suite, .. } => Some(suite),
        }
    }

    /// Returns the name of the folder that this apt keeps its state in.
    fn folder(&self) -> String {
        match self {
            Self::Foreign { suite, architecture } => format!("{suite}-{architecture}"),
            other => other.suite().unwrap_or("own").to_owned(),
        }
    }
}

/// A package on offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Its name.
    pub package: String,
    /// Its version.
    pub version: String,
}

/// An apt with a state of its own.
#[derive(Debug)]
pub struct PrivateApt<'a> {
    shell: &'a Shell,
    folder: PathBuf,
    foreign: Option<String>,
}

impl<'a> PrivateApt<'a> {
    /// Prepares an apt whose state lies in a folder of its own below the one given, and fetches its index.
    ///
    /// # Errors
    /// This machine has no apt, does not run Debian, or the index cannot be fetched and verified.
    pub fn open(shell: &'a Shell, setup_folder: &Path, host: &Host, reads: Reads<'_>) -> Result<Self> {
        if shell.find("apt-get").is_none() {
            return Err(miette!("this machine has no apt-get"));
        }
        let foreign = match reads {
            Reads::Foreign { architecture, .. } => Some(architecture.to_owned()),
            _ => None,
        };
        let apt = Self { shell, folder: setup_folder.join("apt").join(reads.folder()), foreign };
        let sources = apt.folder.join("sources.d");
        if sources.exists() {
            std::fs::remove_dir_all(&sources).into_diagnostic()?;
        }
        for folder in ["sources.d", "lists/partial", "cache/archives/partial"] {
            make_folder(&apt.folder.join(folder))?;
        }
        std::fs::write(apt.folder.join("status"), "").into_diagnostic()?;
        if matches!(reads, Reads::Machine | Reads::MachineAnd(_)) {
            for file in apt_source::files(&host.apt_folder) {
                let name = file.file_name().unwrap_or_default();
                std::fs::copy(&file, sources.join(name)).into_diagnostic()?;
            }
        }
        if let Some(suite) = reads.suite() {
            let text = apt.source_text(host, suite)?;
            std::fs::write(sources.join("bixi-other-suite.sources"), text).into_diagnostic()?;
        }
        let mut update = apt.get(shell.command("apt-get"));
        shell.read(update.args(["-o", "APT::Update::Error-Mode=any", "update"]))?;
        Ok(apt)
    }

    /// Returns the versions of a package on offer, newest first; none if there is no such package.
    ///
    /// # Errors
    /// apt cannot be asked.
    pub fn versions(&self, package: &str) -> Result<Vec<String>> {
        let table = self.shell.read(self.get(self.shell.command("apt-cache")).args(["madison", package]))?;
        Ok(versions_in_madison(&table))
    }

    /// Returns a package and everything that it needs, recommended packages left out: names and versions.
    ///
    /// # Errors
    /// There is no such package, or what it needs cannot be had.
    pub fn with_dependencies(&self, package: &str) -> Result<Vec<Offer>> {
        let mut command = self.get(self.shell.command("apt-get"));
        // A name is a name: apt would take one that it does not know for a pattern of many.
        command.args(["-o", "APT::Cmd::Pattern-Only=true"]);
        command.args(["--simulate", "--no-install-recommends", "install", package]);
        Ok(offers_in_simulation(&self.shell.read(&mut command)?))
    }

    /// Installs packages on the machine, as root, from the suite named if any.
    ///
    /// # Errors
    /// This user may not, or the packages cannot be had.
    pub fn install(&self, packages: &[&str], suite: Option<&str>) -> Result<()> {
        let mut command = self.get(as_root(self.shell, "apt-get")?);
        command.env("DEBIAN_FRONTEND", "noninteractive").args([
            "install",
            "--yes",
            "--no-install-recommends",
        ]);
        if let Some(suite) = suite {
            command.args(["--target-release", suite]);
        }
        self.shell.read(command.args(packages)).map(drop)
    }

    /// Downloads one version of a package without installing it, and returns the file.
    ///
    /// # Errors
    /// It cannot be downloaded and verified.
    pub fn download(&self, package: &str, version: &str) -> Result<PathBuf> {
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
            .args(["-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=3", "--quiet"])
            .args(["-o", "Acquire::Languages=none"]);
        if let Some(architecture) = &self.foreign {
            // An empty list of installed packages: dependencies are then complete, and this machine's don't count.
            command
                .args(["-o", &option("Dir::State::status", &self.folder.join("status"))])
                .args(["-o", &format!("APT::Architecture={architecture}")])
                .args(["-o", &format!("APT::Architectures={architecture}")]);
        }
        command
    }

    fn source_text(&self, host: &Host, suite: &str) -> Result<String> {
        let own = host.debian_suite().ok_or_else(|| miette!("this machine does not run Debian"))?;
        let source = apt_source::for_suite(&host.apt_folder, &own).ok_or_else(|| {
            miette!("apt's sources in {} do not name a mirror for {own}", host.apt_folder.display())
        })?;
        if let Some(architecture) = &self.foreign {
            return Ok(source.for_suite(suite, architecture));
        }
        let architecture = self.shell.read(self.shell.command("dpkg").arg("--print-architecture"))?;
        Ok(source.for_suite(suite, architecture.trim()))
    }
}

/// Returns the newest offered version that is at least the one wanted.
pub fn newest_from(versions: &[String], minimum: Version) -> Option<&String> {
    versions.iter().find(|version| Version::find(version).is_some_and(|found| found >= minimum))
}

/// Reads `package | version | source` lines.
fn versions_in_madison(table: &str) -> Vec<String> {
    table.lines().filter_map(|line| Some(line.split('|').nth(1)?.trim().to_owned())).collect()
}

/// Reads `Inst NAME (VERSION …)` lines.
fn offers_in_simulation(text: &str) -> Vec<Offer> {
    let offer = |line: &str| {
        let (package, rest) = line.strip_prefix("Inst ")?.split_once(" (")?;
        let package = package.split_whitespace().next()?.to_owned();
        Some(Offer { package, version: rest.split_whitespace().next()?.to_owned() })
    };
    text.lines().filter_map(offer).collect()
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

    #[test]
    fn what_a_package_needs_is_read_from_a_simulation() {
        let text = "Reading package lists...\nInst libc6 (2.43-7 Debian:testing [loong64]) []\n\
                    Inst mount [1.0] (2.42.4-1 Debian:testing [loong64])\nConf libc6 (2.43-7 Debian:testing [loong64])\n";
        let offers = offers_in_simulation(text);
        let told: Vec<_> = offers.iter().map(|o| (o.package.as_str(), o.version.as_str())).collect();
        assert_eq!(told, [("libc6", "2.43-7"), ("mount", "2.42.4-1")]);
    }
}
