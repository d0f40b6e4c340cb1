//! Owns what is in every guest's root file system: Debian's static busybox with its commands, and the few files and
//! folders that programs count on.

use std::path::Path;

use miette::{IntoDiagnostic, Result, WrapErr, miette};
use packages::loong64::Loong64;

use crate::busybox;
use crate::tree::{Node, Take, Tree};

/// The package with the guest's shell and tools.
const BUSYBOX: &str = "busybox-static";
/// Where it lies.
const BUSYBOX_PLACE: &str = "usr/bin/busybox";

/// Debian's essential packages, which no package says that it needs, behind the package that uses their files: what
/// knows terminals reads their descriptions.
const TAKEN_FOR_GRANTED: [(&str, &str); 1] = [("libtinfo6", "ncurses-base")];

/// Where Debian's packages, which have everything below `/usr`, expect links.
const LINKS: [(&str, &str); 4] =
    [("bin", "usr/bin"), ("sbin", "usr/sbin"), ("lib", "usr/lib"), ("lib64", "usr/lib64")];

/// Folders that programs count on, with their permissions.
const FOLDERS: [(&str, u16); 16] = [
    ("dev", 0o755),
    ("etc", 0o755),
    ("home", 0o755),
    ("mnt", 0o755),
    ("proc", 0o555),
    ("root", 0o700),
    ("run", 0o755),
    ("sys", 0o555),
    ("tmp", 0o1777),
    ("usr/bin", 0o755),
    ("usr/lib", 0o755),
    ("usr/lib64", 0o755),
    ("usr/local/bin", 0o755),
    ("usr/sbin", 0o755),
    ("var/log", 0o755),
    ("var/tmp", 0o1777),
];

/// Files that C libraries and shells look for.
const FILES: [(&str, &str); 8] = [
    ("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"),
    ("etc/group", "root:x:0:\ntty:x:5:\nnogroup:x:65534:\n"),
    ("etc/hostname", "bixi\n"),
    ("etc/hosts", "127.0.0.1 localhost bixi\n::1 localhost\n"),
    ("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
    ("etc/profile", "export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"),
    ("etc/shells", "/bin/sh\n"),
    ("etc/os-release", "NAME=Bixi\nID=bixi\nPRETTY_NAME=Bixi\n"),
];

/// Returns a root file system with Debian's busybox, and further packages with all that they need.
///
/// # Errors
/// A package cannot be had, or has no such files.
pub fn of_packages(loong64: &Loong64<'_>, further: &[String]) -> Result<Tree> {
    let mut tree = folders()?;
    for (place, text) in FILES {
        tree.put(place, Node::Bytes(0o644, text.into()))?;
    }
    let package = loong64.package(BUSYBOX)?;
    tree.add_folder(&package.files, Take::Programs)?;
    add_commands(&mut tree, &package.files.join(BUSYBOX_PLACE))?;
    for name in further {
        for package in loong64.with_dependencies(name)? {
            tree.add_folder(&package.files, Take::Programs)?;
            for essential in taken_for_granted(&package.name) {
                tree.add_folder(&loong64.package(essential)?.files, Take::Programs)?;
            }
        }
    }
    Ok(tree)
}

/// What a package uses without saying so.
fn taken_for_granted(package: &str) -> impl Iterator<Item = &'static str> {
    TAKEN_FOR_GRANTED.into_iter().filter_map(move |(by, essential)| (by == package).then_some(essential))
}

/// Returns a root file system without files.
///
/// # Errors
/// None that this list has.
pub fn folders() -> Result<Tree> {
    let mut tree = Tree::default();
    for (place, target) in LINKS {
        tree.put(place, Node::Link(target.into()))?;
    }
    for (place, mode) in FOLDERS {
        tree.put(place, Node::Folder(mode))?;
    }
    Ok(tree)
}

/// Links every command of busybox to it, as `busybox --install -s` does.
fn add_commands(tree: &mut Tree, program: &Path) -> Result<()> {
    let bytes = std::fs::read(program);
    let bytes = bytes.into_diagnostic().wrap_err_with(|| format!("cannot read {}", program.display()))?;
    let commands = busybox::commands(&bytes)
        .ok_or_else(|| miette!("Debian's {BUSYBOX} has no list of its commands where it used to be"))?;
    for command in commands.iter().filter(|command| *command != "busybox") {
        tree.put(Path::new("usr/bin").join(command), Node::Link(b"busybox".to_vec()))?;
    }
    Ok(())
}
