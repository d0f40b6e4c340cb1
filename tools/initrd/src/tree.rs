//! Owns a root file system before it is an archive: by path, each later file in place of an earlier one.
//!
//! Invariant: every path's folders are in the tree, and none of them is a link: a file that is put below a link goes
//! to where that leads, as it would in a running system. So `bin/tool` of a folder that is laid over the tree does not
//! take away `/bin`, which Debian has as a link to `/usr/bin`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::ops::Bound;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use miette::Diagnostic;
use thiserror::Error;

use crate::cpio::Archive;

/// Links that a path may lead through, as on Linux.
const LINKS_MOST: u32 = 40;

/// Bytes that an archive's field for a file's size can say, and so many a guest's files may have together.
const MOST_BYTES: u64 = u32::MAX as u64;

/// What lies at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A folder with its permissions.
    Folder(u16),
    /// A symbolic link to a path.
    Link(Vec<u8>),
    /// A file with its permissions, the same as one here.
    File(u16, PathBuf),
    /// A file with its permissions and what is in it.
    Bytes(u16, Vec<u8>),
}

/// Why something cannot be put into a tree, or a tree not be packed.
#[derive(Debug, Error, Diagnostic)]
pub enum TreeError {
    /// A file or folder here cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// There is more in a folder or a file than a guest can be handed.
    #[error("{} has more than the 4 GiB that a guest can be handed", path.display())]
    TooLarge {
        /// The folder or file.
        path: PathBuf,
    },
    /// A path leads through links without an end.
    #[error("{} leads through too many links in the guest's files", path.display())]
    Circle {
        /// The path in the guest.
        path: PathBuf,
    },
    /// A folder is needed where a file lies.
    #[error("{} cannot be put into the guest's files: {} is no folder there", path.display(), file.display())]
    NoFolder {
        /// The path in the guest.
        path: PathBuf,
        /// What lies in its way.
        file: PathBuf,
    },
}

/// A root file system.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// Paths without a `/` in front; a folder is before what is in it.
    nodes: BTreeMap<PathBuf, Node>,
    /// What was found in folders and is no file, folder or link.
    left_out: Vec<PathBuf>,
}

/// Which of a folder's files are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// All of them.
    All,
    /// All but documentation and other languages, which are most of some packages and which no program needs.
    Programs,
}

/// What [`Take::Programs`] leaves out.
const DOCUMENTATION: [&str; 6] = [
    "usr/share/doc",
    "usr/share/info",
    "usr/share/lintian",
    "usr/share/locale",
    "usr/share/man",
    "usr/lib/loongarch64-linux-gnu/gconv",
];

impl Tree {
    /// Puts something at a path, in place of what was there; its folders are made where they are missing.
    ///
    /// A folder that is there keeps what is in it.
    ///
    /// # Errors
    /// [`TreeError::NoFolder`], [`TreeError::Circle`].
    pub fn put(&mut self, path: impl AsRef<Path>, node: Node) -> Result<(), TreeError> {
        let path = path.as_ref();
        let Some(name) = path.file_name() else { return Ok(()) };
        let folder = self.folder(path.parent().unwrap_or(Path::new("")), path)?;
        let place = folder.join(name);
        if matches!(node, Node::Folder(_)) && self.is_folder(&place, path)? {
            return Ok(());
        }
        if !matches!(node, Node::Folder(_)) {
            self.remove_below(&place);
        }
        self.nodes.insert(place, node);
        Ok(())
    }

    /// Lays a folder of this machine's over the tree.
    ///
    /// # Errors
    /// Something in it cannot be read, it has more than a guest can be handed, or [`Self::put`] fails.
    pub fn add_folder(&mut self, folder: &Path, take: Take) -> Result<(), TreeError> {
        let mut folders = vec![folder.to_path_buf()];
        // Counted on the way: a whole disk is refused before all of it was looked at.
        let mut room = MOST_BYTES;
        while let Some(here) = folders.pop() {
            let unreadable = |source| TreeError::Unreadable { path: here.clone(), source };
            for entry in std::fs::read_dir(&here).map_err(unreadable)? {
                let source = entry.map_err(unreadable)?.path();
                let inside = source.strip_prefix(folder).unwrap_or(&source).to_path_buf();
                if take == Take::Programs && DOCUMENTATION.iter().any(|left| inside == Path::new(left)) {
                    continue;
                }
                match node_of(&source)? {
                    Some(node) => {
                        match &node {
                            Node::Folder(_) => folders.push(source),
                            Node::File(_, source) => room = room_after(room, source, folder)?,
                            Node::Link(_) | Node::Bytes(..) => {}
                        }
                        self.put(&inside, node)?;
                    }
                    None => self.left_out.push(source),
                }
            }
        }
        Ok(())
    }

    /// Devices, sockets and pipes that were found in folders: none of them is in the tree.
    #[must_use]
    pub fn left_out(&self) -> &[PathBuf] {
        &self.left_out
    }

    /// Returns what a path of the guest's leads to, through links.
    #[must_use]
    pub fn find(&self, path: impl AsRef<Path>) -> Option<&Node> {
        let place = self.resolve(path.as_ref()).ok()?;
        if place.as_os_str().is_empty() { Some(&Node::Folder(0o755)) } else { self.nodes.get(&place) }
    }

    /// Adds everything to an archive.
    ///
    /// # Errors
    /// A file of this machine's cannot be read, or they are too large.
    pub fn pack(&self, archive: &mut Archive) -> Result<(), TreeError> {
        // Before any of them is read into memory.
        let mut room = MOST_BYTES;
        for node in self.nodes.values() {
            if let Node::File(_, source) = node {
                room = room_after(room, source, source)?;
            }
        }
        for (path, node) in &self.nodes {
            let name = path.as_os_str().as_bytes();
            match node {
                Node::Folder(mode) => archive.folder(name, *mode),
                Node::Link(target) => archive.link(name, target),
                Node::Bytes(mode, bytes) => archive.file(name, *mode, bytes),
                Node::File(mode, source) => {
                    let bytes = std::fs::read(source);
                    let unreadable = |error| TreeError::Unreadable { path: source.clone(), source: error };
                    archive.file(name, *mode, &bytes.map_err(unreadable)?)
                }
            };
        }
        Ok(())
    }

    /// The place of a folder, which is made if it is missing; `of` is the path that needs it.
    fn folder(&mut self, path: &Path, of: &Path) -> Result<PathBuf, TreeError> {
        let place = self.resolve(path)?;
        for folder in ancestors(&place) {
            match self.nodes.get(folder) {
                Some(Node::Folder(_)) => {}
                Some(_) => {
                    return Err(TreeError::NoFolder { path: of.into(), file: Path::new("/").join(folder) });
                }
                None => drop(self.nodes.insert(folder.to_path_buf(), Node::Folder(0o755))),
            }
        }
        Ok(place)
    }

    /// Whether a folder is there, perhaps through a link; then that is as good.
    fn is_folder(&self, place: &Path, of: &Path) -> Result<bool, TreeError> {
        let place = self.resolve(place).map_err(|_| TreeError::Circle { path: of.into() })?;
        Ok(matches!(self.nodes.get(&place), Some(Node::Folder(_))))
    }

    fn remove_below(&mut self, place: &Path) {
        // Paths are ordered part by part: what is below a place comes right after it.
        let behind = (Bound::Excluded(place), Bound::Unbounded);
        let below = self.nodes.range::<Path, _>(behind).map(|(path, _)| path);
        for path in below.take_while(|path| path.starts_with(place)).cloned().collect::<Vec<_>>() {
            self.nodes.remove(&path);
        }
    }

    /// Follows every link of a path; what is not there is taken as it is.
    fn resolve(&self, path: &Path) -> Result<PathBuf, TreeError> {
        let mut rest: Vec<Vec<u8>> = parts(path).rev().collect();
        let mut place = PathBuf::new();
        let mut links = 0;
        while let Some(part) = rest.pop() {
            if part == b".." {
                place.pop();
                continue;
            }
            let next = place.join(OsStr::from_bytes(&part));
            let Some(Node::Link(target)) = self.nodes.get(&next) else {
                place = next;
                continue;
            };
            links += 1;
            if links > LINKS_MOST {
                return Err(TreeError::Circle { path: path.into() });
            }
            if target.first() == Some(&b'/') {
                place = PathBuf::new();
            }
            rest.extend(parts(Path::new(OsStr::from_bytes(target))).rev());
        }
        Ok(place)
    }
}

/// The folders above a place, and itself, from the root on.
fn ancestors(place: &Path) -> impl Iterator<Item = &Path> {
    let mut above: Vec<&Path> = place.ancestors().filter(|path| !path.as_os_str().is_empty()).collect();
    above.reverse();
    above.into_iter()
}

/// The bytes that are left after a file, of which `of` is told if there are none.
fn room_after(room: u64, file: &Path, of: &Path) -> Result<u64, TreeError> {
    let unreadable = |source| TreeError::Unreadable { path: file.to_path_buf(), source };
    let size = file.metadata().map_err(unreadable)?.len();
    room.checked_sub(size).ok_or_else(|| TreeError::TooLarge { path: of.to_path_buf() })
}

/// The names of a path, `.` left out.
fn parts(path: &Path) -> impl DoubleEndedIterator<Item = Vec<u8>> + '_ {
    let bytes = path.as_os_str().as_bytes();
    bytes.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".").map(<[u8]>::to_vec)
}

/// What a file here is in the guest; nothing for what cannot be carried.
fn node_of(source: &Path) -> Result<Option<Node>, TreeError> {
    let unreadable = |error| TreeError::Unreadable { path: source.to_path_buf(), source: error };
    let data = source.symlink_metadata().map_err(unreadable)?;
    let mode = permissions(&data);
    Ok(if data.is_symlink() {
        Some(Node::Link(std::fs::read_link(source).map_err(unreadable)?.into_os_string().into_vec()))
    } else if data.is_dir() {
        Some(Node::Folder(mode))
    } else if data.is_file() {
        Some(Node::File(mode, source.to_path_buf()))
    } else {
        None
    })
}

/// The permissions of a file of this machine's.
pub fn permissions(data: &std::fs::Metadata) -> u16 {
    u16::try_from(data.permissions().mode() & 0o7777).unwrap_or(0o644)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Node {
        Node::Bytes(0o644, text.into())
    }

    fn names(tree: &Tree) -> Vec<&str> {
        tree.nodes.keys().map(|path| path.to_str().unwrap()).collect()
    }

    #[test]
    fn a_later_file_takes_an_earlier_ones_place_also_through_links() {
        let mut tree = Tree::default();
        tree.put("/bin", Node::Link(b"usr/bin".to_vec())).unwrap();
        tree.put("/usr/bin/tool", bytes("old")).unwrap();
        tree.put("bin/tool", bytes("new")).unwrap();
        tree.put("/bin", Node::Folder(0o700)).unwrap();
        assert_eq!(names(&tree), ["bin", "usr", "usr/bin", "usr/bin/tool"]);
        assert_eq!(tree.find("/bin/tool"), Some(&bytes("new")));
        assert_eq!(tree.find("/bin/../bin/./tool"), Some(&bytes("new")));
        assert_eq!(tree.find("/bin/none"), None);
        assert_eq!(tree.find("/"), Some(&Node::Folder(0o755)));
    }

    #[test]
    fn a_file_in_a_folders_place_takes_what_was_in_it_away() {
        let mut tree = Tree::default();
        tree.put("/a/b/c", bytes("")).unwrap();
        tree.put("/a", bytes("file")).unwrap();
        assert_eq!(names(&tree), ["a"]);
        let error = tree.put("/a/x", bytes("")).unwrap_err().to_string();
        assert_eq!(error, "/a/x cannot be put into the guest's files: /a is no folder there");
    }

    #[test]
    fn links_in_a_circle_are_an_error() {
        let mut tree = Tree::default();
        tree.put("/one", Node::Link(b"/two".to_vec())).unwrap();
        tree.put("/two", Node::Link(b"one".to_vec())).unwrap();
        assert!(tree.put("/one/file", bytes("")).unwrap_err().to_string().contains("too many links"));
        assert_eq!(tree.find("/one"), None);
    }

    #[test]
    fn a_folder_is_laid_over_with_its_links_and_what_cannot_be_carried_is_told() {
        let here = tempfile::tempdir().unwrap();
        let folder = here.path();
        std::fs::create_dir_all(folder.join("usr/share/doc/x")).unwrap();
        std::fs::create_dir_all(folder.join("etc")).unwrap();
        std::fs::write(folder.join("etc/file"), "text").unwrap();
        std::os::unix::fs::symlink("file", folder.join("etc/link")).unwrap();
        std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
        let mut tree = Tree::default();
        tree.add_folder(folder, Take::Programs).unwrap();
        assert_eq!(names(&tree), ["etc", "etc/file", "etc/link", "usr", "usr/share"]);
        assert_eq!(tree.left_out(), [folder.join("socket")]);
        let mut archive = Archive::new();
        tree.pack(&mut archive).unwrap();
        let bytes = String::from_utf8(archive.finish()).unwrap();
        assert!(bytes.contains("text") && bytes.contains("etc/link\0"));
        let missing = tree.add_folder(&folder.join("none"), Take::All).unwrap_err().to_string();
        assert!(missing.contains("cannot read") && missing.contains("none"), "{missing}");
    }

    #[test]
    fn what_is_too_large_for_a_guest_is_refused_unread() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: u64| {
            let path = folder.path().join(name);
            std::fs::File::create(&path).unwrap().set_len(bytes).unwrap();
            path
        };
        let one = file("one", 1);
        let most = file("most", MOST_BYTES);
        let told = Tree::default().add_folder(folder.path(), Take::All).unwrap_err().to_string();
        assert_eq!(
            told,
            format!("{} has more than the 4 GiB that a guest can be handed", folder.path().display())
        );
        let mut tree = Tree::default();
        tree.put("a", Node::File(0o644, most)).unwrap();
        tree.put("b", Node::File(0o644, one.clone())).unwrap();
        let told = tree.pack(&mut Archive::new()).unwrap_err();
        assert!(matches!(&told, TreeError::TooLarge { path } if *path == one), "{told}");
    }

    #[test]
    fn only_what_is_below_a_place_goes_with_it() {
        let mut tree = Tree::default();
        for name in ["a/b/c", "a/b/d/e", "a/b.c", "a/b-c/d", "a/bc", "a/a", "b"] {
            tree.put(name, bytes("")).unwrap();
        }
        tree.put("a/b", bytes("")).unwrap();
        assert_eq!(names(&tree), ["a", "a/a", "a/b", "a/b-c", "a/b-c/d", "a/b.c", "a/bc", "b"]);
    }
}
