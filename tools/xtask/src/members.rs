//! Owns which packages are built for which machine, by where they lie in the checkout.
//!
//! A package's name is its folder's. A program of the guest's is the kernel, a folder of `servers/` with a `main.rs`, `tests/guest`
//! or `tests/ground`; everything else has its tests run on the developer's machine. The kernel is both: its core is a library.

use std::path::{Path, PathBuf};

use crate::workspace::Workspace;

/// The kernel's package.
pub(crate) const KERNEL: &str = "microkernel";

/// The folders of `tests/` whose programs run in the guest.
const GUEST_TESTS: [&str; 2] = ["ground", "guest"];

/// Returns the packages with a program for the guest.
pub(crate) fn of_guest(workspace: &Workspace) -> Vec<String> {
    let mut packages = vec![KERNEL.to_owned()];
    packages.extend(
        folders(&workspace.root().join("servers")).into_iter().filter(|(_, has)| has.main).map(first),
    );
    packages.extend(
        folders(&workspace.root().join("tests")).into_iter().map(first).filter(|name| is_guest_test(name)),
    );
    packages
}

/// Returns the packages with tests for the developer's machine.
pub(crate) fn of_host(workspace: &Workspace) -> Vec<String> {
    let mut packages = vec!["abi".to_owned(), KERNEL.to_owned()];
    packages.extend(
        folders(&workspace.root().join("servers")).into_iter().filter(|(_, has)| has.library).map(first),
    );
    packages.extend(
        folders(&workspace.root().join("tests")).into_iter().map(first).filter(|name| !is_guest_test(name)),
    );
    packages.extend(folders(&workspace.root().join("tools")).into_iter().map(first));
    packages
}

/// Returns where a package lies.
pub(crate) fn place_of(workspace: &Workspace, package: &str) -> Option<PathBuf> {
    let places = ["", "servers", "tests", "tools"].map(|place| workspace.root().join(place).join(package));
    places.into_iter().find(|folder| folder.join("Cargo.toml").is_file())
}

/// Returns `-p NAME` for each package.
pub(crate) fn options(packages: &[String]) -> Vec<String> {
    packages.iter().flat_map(|package| ["-p".to_owned(), package.clone()]).collect()
}

/// What a package's sources begin with.
struct Roots {
    main: bool,
    library: bool,
}

/// Returns the packages in a folder, by name.
fn folders(folder: &Path) -> Vec<(String, Roots)> {
    let entries: Vec<_> =
        std::fs::read_dir(folder).map(|entries| entries.flatten().collect()).unwrap_or_default();
    let package = |path: std::path::PathBuf| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        let has = |file: &str| path.join("src").join(file).is_file();
        let roots = Roots { main: has("main.rs"), library: has("lib.rs") };
        path.join("Cargo.toml").is_file().then_some((name, roots))
    };
    let mut packages: Vec<_> = entries.into_iter().filter_map(|entry| package(entry.path())).collect();
    packages.sort_by(|one, other| one.0.cmp(&other.0));
    packages
}

fn is_guest_test(name: &str) -> bool {
    GUEST_TESTS.contains(&name)
}

fn first((name, _): (String, Roots)) -> String {
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_found_by_their_folders() {
        let folder = tempfile::tempdir().unwrap();
        let sources = [
            "servers/root/src/main.rs",
            "servers/runtime/src/lib.rs",
            "servers/console/src/main.rs",
            "servers/console/src/lib.rs",
            "tests/guest/src/main.rs",
            "tests/ground/src/main.rs",
            "tests/model/src/lib.rs",
            "tools/image/src/main.rs",
        ];
        for source in sources {
            let source = folder.path().join(source);
            std::fs::create_dir_all(source.parent().unwrap()).unwrap();
            std::fs::write(&source, "").unwrap();
            std::fs::write(source.ancestors().nth(2).unwrap().join("Cargo.toml"), "").unwrap();
        }
        std::fs::create_dir_all(folder.path().join("servers/empty")).unwrap();
        let workspace = Workspace::at(folder.path());
        assert_eq!(of_guest(&workspace), ["microkernel", "console", "root", "ground", "guest"]);
        assert_eq!(of_host(&workspace), ["abi", "microkernel", "console", "runtime", "model", "image"]);
        assert_eq!(place_of(&workspace, "image"), Some(workspace.root().join("tools/image")));
        assert_eq!(place_of(&workspace, "empty"), None);
        assert_eq!(options(&["abi".into()]), ["-p", "abi"]);
    }
}
