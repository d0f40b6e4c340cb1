//! Owns Debian's packages for LoongArch: asked for with what they need, unpacked into a folder each, kept.
//!
//! Versions in the suite move: what the index offers is taken, and `closures/NAME` records what that was. A package
//! that is unpacked is used as it is; when one is missing the index is asked again, for all of its dependencies, so
//! that versions fit each other.

use std::cell::OnceCell;
use std::fs::File;
use std::path::{Path, PathBuf};

use miette::{IntoDiagnostic, Result, WrapErr, miette};

use crate::apt::{Offer, PrivateApt, Reads};
use crate::host::Host;
use crate::progress::Progress;
use crate::shell::Shell;

const SUITE: &str = "forky";
const ARCHITECTURE: &str = "loong64";

/// A package that is unpacked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// The version that was taken.
    pub version: String,
    /// Where its files lie, as if this were the root folder.
    pub files: PathBuf,
}

/// Debian for LoongArch, as far as it was taken so far.
#[derive(Debug)]
pub struct Loong64<'a> {
    shell: &'a Shell,
    host: &'a Host,
    setup_folder: PathBuf,
    /// Opened when the first package is missing: this fetches the index.
    apt: OnceCell<PrivateApt<'a>>,
}

impl<'a> Loong64<'a> {
    /// Uses what is unpacked below the folder given, and fetches the rest when it is asked for.
    #[must_use]
    pub fn new(shell: &'a Shell, host: &'a Host, setup_folder: &Path) -> Self {
        Self { shell, host, setup_folder: setup_folder.to_path_buf(), apt: OnceCell::new() }
    }

    /// Returns the program starter that this uses.
    #[must_use]
    pub fn shell(&self) -> &'a Shell {
        self.shell
    }

    /// Returns what is known of this machine.
    #[must_use]
    pub fn host(&self) -> &'a Host {
        self.host
    }

    /// Returns the folder that everything lies in.
    #[must_use]
    pub fn setup_folder(&self) -> &Path {
        &self.setup_folder
    }

    /// Provides one package, without what it needs.
    ///
    /// # Errors
    /// It is not there and cannot be fetched, verified and unpacked.
    pub fn package(&self, name: &str) -> Result<Package> {
        self.dependency(name, |candidate| candidate == name)
    }

    /// Provides the one package, among those that another needs, whose name fits.
    ///
    /// # Errors
    /// As for [`Self::package`], or no name fits.
    pub fn dependency(&self, of: &str, fits: impl Fn(&str) -> bool) -> Result<Package> {
        let packages = self.take(of, |offer| fits(&offer.package))?;
        packages.into_iter().next().ok_or_else(|| miette!("Debian's {of} needs no such package any more"))
    }

    /// Provides a package with everything that it needs; recommended packages are left out.
    ///
    /// # Errors
    /// As for [`Self::package`].
    pub fn with_dependencies(&self, name: &str) -> Result<Vec<Package>> {
        self.take(name, |_| true)
    }

    fn take(&self, name: &str, wanted: impl Fn(&Offer) -> bool) -> Result<Vec<Package>> {
        let _lock = self.lock()?;
        let record = self.folder().join("closures").join(name);
        if let Ok(text) = std::fs::read_to_string(&record) {
            let offers = parse_record(&text);
            let packages: Vec<_> =
                offers.iter().filter(|offer| wanted(offer)).map(|o| self.place(o)).collect();
            if packages.iter().all(|package| package.files.is_dir()) {
                return Ok(packages);
            }
        }
        let explain = || format!("cannot take Debian's package {name} for LoongArch (suite {SUITE})");
        let offers = self.apt().and_then(|apt| apt.with_dependencies(name)).wrap_err_with(explain)?;
        let wanted = offers.iter().filter(|offer| wanted(offer));
        let packages =
            wanted.map(|offer| self.unpack(offer)).collect::<Result<_>>().wrap_err_with(explain)?;
        make_parent(&record)?;
        std::fs::write(&record, record_text(&offers)).into_diagnostic()?;
        Ok(packages)
    }

    fn unpack(&self, offer: &Offer) -> Result<Package> {
        let package = self.place(offer);
        if package.files.is_dir() {
            return Ok(package);
        }
        let _progress = Progress::start(
            self.shell,
            &format!("fetching {} {} for LoongArch", offer.package, offer.version),
        );
        let file = self.apt()?.download(&offer.package, &offer.version)?;
        // Renamed when complete, so that an interrupted setup leaves a package or none.
        let fresh = package.files.with_file_name("unpacking");
        if fresh.exists() {
            std::fs::remove_dir_all(&fresh).into_diagnostic()?;
        }
        std::fs::create_dir_all(&fresh).into_diagnostic()?;
        self.shell.read(self.shell.command("dpkg-deb").arg("--extract").arg(&file).arg(&fresh))?;
        std::fs::rename(&fresh, &package.files).into_diagnostic()?;
        std::fs::remove_file(&file).into_diagnostic()?;
        Ok(package)
    }

    fn apt(&self) -> Result<&PrivateApt<'a>> {
        if let Some(apt) = self.apt.get() {
            return Ok(apt);
        }
        let _progress = Progress::start(self.shell, "fetching the list of Debian's packages for LoongArch");
        let reads = Reads::Foreign { suite: SUITE, architecture: ARCHITECTURE };
        let apt = PrivateApt::open(self.shell, &self.setup_folder, self.host, reads)?;
        Ok(self.apt.get_or_init(|| apt))
    }

    fn place(&self, offer: &Offer) -> Package {
        let files = self.folder().join("packages").join(format!("{}_{}", offer.package, offer.version));
        Package { name: offer.package.clone(), version: offer.version.clone(), files }
    }

    fn folder(&self) -> PathBuf {
        self.setup_folder.join(ARCHITECTURE)
    }

    /// Lets one process at a time change the folder; tests run in several.
    fn lock(&self) -> Result<File> {
        let path = self.folder().join("lock");
        make_parent(&path)?;
        let file = File::create(&path).into_diagnostic()?;
        file.lock().into_diagnostic()?;
        Ok(file)
    }
}

fn make_parent(path: &Path) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder)
        .into_diagnostic()
        .wrap_err_with(|| format!("cannot make the folder {}", folder.display()))
}

fn record_text(offers: &[Offer]) -> String {
    offers.iter().map(|offer| format!("{} {}\n", offer.package, offer.version)).collect()
}

fn parse_record(text: &str) -> Vec<Offer> {
    let offer = |line: &str| {
        let (package, version) = line.split_once(' ')?;
        Some(Offer { package: package.to_owned(), version: version.to_owned() })
    };
    text.lines().filter_map(offer).collect()
}

#[cfg(test)]
mod tests;
