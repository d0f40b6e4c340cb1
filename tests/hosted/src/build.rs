//! Owns providing the programs: those of sources are compiled, those of packages are taken as they are.

use std::path::{Path, PathBuf};

use miette::{IntoDiagnostic, Result, WrapErr};
use packages::compiler::{Compiler, Recipe};
use packages::loong64::Loong64;

use crate::manifest::{GUEST_FOLDER, Manifest, Origin, Program, Test};

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

/// Provides everything that tests need; of two files at one place the first is meant.
///
/// A shell may call every other program of a package.
///
/// # Errors
/// As for [`files`].
pub fn files_of_tests(
    loong64: &Loong64<'_>,
    compiler: &Compiler,
    manifest: &Manifest,
    tests: &[&Test],
    folder: &Path,
) -> Result<Vec<GuestFile>> {
    let calls = || tests.iter().flat_map(|test| std::iter::once(&test.call).chain(&test.together));
    let called = || calls().filter_map(|call| manifest.program(&call.program));
    let names = || called().flat_map(|program| std::iter::once(&program.name).chain(&program.needs));
    let is_package = |program: &Program| matches!(program.origin, Origin::Package { .. });
    let with_packages = names().any(|name| manifest.program(name).is_some_and(is_package));
    let is_needed = |program: &&Program| {
        with_packages && is_package(program) || names().any(|name| *name == program.name)
    };
    let needed: Vec<&Program> = manifest.programs.iter().filter(is_needed).collect();
    let each = needed.iter().map(|program| files(loong64, compiler, program, folder));
    let mut files = each.collect::<Result<Vec<_>>>()?.concat();
    let scripts = crate::folder().join("scripts");
    for entry in std::fs::read_dir(scripts).into_diagnostic()? {
        let entry = entry.into_diagnostic()?;
        let place = Path::new(GUEST_FOLDER).join("scripts").join(entry.file_name());
        files.push(GuestFile { place, content: Content::File(entry.path()) });
    }
    for program in needed {
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

/// Documentation and other languages are not needed to run a program, and are most of some packages.
const LEFT_OUT: [&str; 6] = [
    "usr/share/doc",
    "usr/share/info",
    "usr/share/lintian",
    "usr/share/locale",
    "usr/share/man",
    "usr/lib/loongarch64-linux-gnu/gconv",
];

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packages_files_come_with_their_links_and_without_documentation() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["usr/bin/tool", "usr/share/doc/tool/copyright", "usr/share/tool/data"] {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        std::os::unix::fs::symlink("tool", folder.path().join("usr/bin/other")).unwrap();
        let mut files = Vec::new();
        add_folder(folder.path(), folder.path(), &mut files).unwrap();
        files.sort_by(|one, other| one.place.cmp(&other.place));
        let places: Vec<_> = files.iter().map(|file| file.place.to_str().unwrap()).collect();
        assert_eq!(places, ["/usr/bin/other", "/usr/bin/tool", "/usr/share/tool/data"]);
        assert_eq!(files[0].content, Content::Link("tool".into()));
        assert_eq!(files[1].content, Content::File(folder.path().join("usr/bin/tool")));
    }
}
