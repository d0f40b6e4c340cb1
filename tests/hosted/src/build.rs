//! Owns providing the programs: those of sources are compiled, those of packages are taken as they are.

use std::path::{Path, PathBuf};

use miette::{IntoDiagnostic, Result, WrapErr};
use packages::compiler::{Compiler, Recipe};
use packages::loong64::Loong64;

use crate::manifest::{GUEST_FOLDER, Manifest, Origin, Program};

/// A file for the guest's root file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestFile {
    /// Where it lies in the guest.
    pub place: PathBuf,
    /// What lies there.
    pub content: Content,
}

/// What a file of the guest's is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The same as this file here.
    File(PathBuf),
    /// A symbolic link to this.
    Link(PathBuf),
}

/// Where Debian's packages, which have everything below `/usr`, expect links.
const ROOT_LINKS: [(&str, &str); 4] =
    [("/bin", "usr/bin"), ("/sbin", "usr/sbin"), ("/lib", "usr/lib"), ("/lib64", "usr/lib64")];

/// Provides what a program is in the guest: itself, and all that its package needs.
///
/// What is there and has not changed is kept.
///
/// # Errors
/// It does not compile, or its package cannot be had.
pub fn files(
    loong64: &Loong64<'_>,
    compiler: &Compiler,
    program: &Program,
    folder: &Path,
) -> Result<Vec<GuestFile>> {
    let explain = || format!("cannot provide the hosted program {}", program.name);
    match &program.origin {
        Origin::Sources { sources, linking, options } => {
            let from = crate::folder().join("programs");
            let sources: Vec<PathBuf> = sources.iter().map(|source| from.join(source)).collect();
            let headers = headers(&from)?;
            let recipe = Recipe { sources: &sources, headers: &headers, options, linking: *linking };
            let built = folder.join(&program.name);
            compiler.build(loong64.shell(), &recipe, &built).wrap_err_with(explain)?;
            Ok(vec![GuestFile { place: PathBuf::from(&program.place), content: Content::File(built) }])
        }
        Origin::Package { package } => {
            let packages = loong64.with_dependencies(package).wrap_err_with(explain)?;
            let mut files = Vec::new();
            for package in &packages {
                add_folder(&package.files, &package.files, &mut files)?;
            }
            Ok(files)
        }
    }
}

/// Provides everything that a manifest's tests need; of two files at one place the first is meant.
///
/// # Errors
/// As for [`files`].
pub fn all_files(
    loong64: &Loong64<'_>,
    compiler: &Compiler,
    manifest: &Manifest,
    folder: &Path,
) -> Result<Vec<GuestFile>> {
    let each = manifest.programs.iter().map(|program| files(loong64, compiler, program, folder));
    let mut files = each.collect::<Result<Vec<_>>>()?.concat();
    let scripts = crate::folder().join("scripts");
    for entry in std::fs::read_dir(scripts).into_diagnostic()? {
        let entry = entry.into_diagnostic()?;
        let place = Path::new(GUEST_FOLDER).join("scripts").join(entry.file_name());
        files.push(GuestFile { place, content: Content::File(entry.path()) });
    }
    for program in &manifest.programs {
        let place = Path::new(&program.place);
        let target = PathBuf::from(place.file_name().unwrap_or_default());
        files.extend(program.links.iter().map(|link| GuestFile {
            place: place.with_file_name(link),
            content: Content::Link(target.clone()),
        }));
    }
    files.extend(ROOT_LINKS.map(|(place, target)| GuestFile {
        place: PathBuf::from(place),
        content: Content::Link(PathBuf::from(target)),
    }));
    Ok(files)
}

/// Documentation is not needed to run a program, and is half of some packages.
const LEFT_OUT: [&str; 4] = ["usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/lintian"];

fn add_folder(root: &Path, folder: &Path, files: &mut Vec<GuestFile>) -> Result<()> {
    for entry in std::fs::read_dir(folder).into_diagnostic()? {
        let source = entry.into_diagnostic()?.path();
        let inside = source.strip_prefix(root).unwrap_or(&source).to_path_buf();
        if LEFT_OUT.iter().any(|left_out| inside == Path::new(left_out)) {
        } else if source.is_symlink() {
            let target = std::fs::read_link(&source).into_diagnostic()?;
            files.push(GuestFile { place: Path::new("/").join(inside), content: Content::Link(target) });
        } else if source.is_dir() {
            add_folder(root, &source, files)?;
        } else {
            files.push(GuestFile { place: Path::new("/").join(inside), content: Content::File(source) });
        }
    }
    Ok(())
}

/// Returns what any program may include.
fn headers(folder: &Path) -> Result<Vec<PathBuf>> {
    let files = std::fs::read_dir(folder).into_diagnostic()?.flatten().map(|entry| entry.path());
    let mut headers: Vec<PathBuf> =
        files.filter(|file| file.extension().is_some_and(|extension| extension == "h")).collect();
    headers.sort();
    Ok(headers)
}
