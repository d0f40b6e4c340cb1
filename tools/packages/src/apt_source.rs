//! Owns reading apt's list of package sources, in both of its notations.
//!
//! No mirror's name stands in this project: the one to use for another suite is the machine's own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One source of binary packages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AptSource {
    /// Where the packages are served.
    pub(crate) uris: Vec<String>,
    /// The suites taken from there.
    pub(crate) suites: Vec<String>,
    /// The components taken from there.
    pub(crate) components: Vec<String>,
    /// The keyring's path, or the keys themselves (several lines) as deb822 allows.
    pub(crate) signed_by: Option<String>,
}

impl AptSource {
    /// Writes this source in apt's deb822 notation, for other suites and one architecture.
    ///
    /// The one architecture leaves `all` out on purpose: packages for all are in that index too, and the index
    /// for `all` alone is at times out of step on a mirror.
    pub(crate) fn for_suite(&self, suite: &str, architecture: &str) -> String {
        let mut text = format!(
            "Types: deb\nURIs: {}\nSuites: {suite}\nComponents: main\nArchitectures: {architecture}\n",
            self.uris.join(" ")
        );
        if let Some(keys) = &self.signed_by {
            text += &format!("Signed-By: {keys}\n");
        }
        text
    }
}

/// Returns every file that apt reads its sources from.
pub(crate) fn files(apt_folder: &Path) -> Vec<PathBuf> {
    let mut files = vec![apt_folder.join("sources.list")];
    if let Ok(entries) = std::fs::read_dir(apt_folder.join("sources.list.d")) {
        files.extend(entries.flatten().map(|entry| entry.path()));
    }
    files.retain(|file| file.is_file() && is_source_file(file));
    files.sort();
    files
}

/// Returns the source that serves this suite of the machine's own distribution.
pub(crate) fn for_suite(apt_folder: &Path, suite: &str) -> Option<AptSource> {
    let serves = |source: &AptSource| {
        let is = |list: &[String], wanted: &str| list.iter().any(|word| word == wanted);
        is(&source.suites, suite) && is(&source.components, "main")
    };
    let fetchable = |source: &AptSource| !source.uris.iter().any(|uri| uri.starts_with("cdrom:"));
    files(apt_folder).iter().flat_map(|file| read(file)).find(|source| serves(source) && fetchable(source))
}

fn is_source_file(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "list" || extension == "sources")
}

fn read(file: &Path) -> Vec<AptSource> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    if file.extension().is_some_and(|extension| extension == "sources") {
        parse_deb822(&text)
    } else {
        text.lines().filter_map(parse_line).collect()
    }
}

/// Parses paragraphs of `Key: value` lines, values going on in lines that begin with white space.
fn parse_deb822(text: &str) -> Vec<AptSource> {
    let mut sources = Vec::new();
    let mut fields: BTreeMap<String, String> = BTreeMap::new();
    let mut last_key = String::new();
    for line in text.lines().chain(std::iter::once("")) {
        if line.trim().is_empty() {
            sources.extend(source_of_fields(&std::mem::take(&mut fields)));
        } else if line.starts_with('#') {
        } else if line.starts_with([' ', '\t']) {
            if let Some(value) = fields.get_mut(&last_key) {
                value.push('\n');
                value.push_str(line);
            }
        } else if let Some((key, value)) = line.split_once(':') {
            last_key = key.trim().to_ascii_lowercase();
            fields.insert(last_key.clone(), value.trim().to_owned());
        }
    }
    sources
}

fn source_of_fields(fields: &BTreeMap<String, String>) -> Option<AptSource> {
    let list = |key: &str| -> Vec<String> {
        fields.get(key).map(|value| value.split_whitespace().map(str::to_owned).collect()).unwrap_or_default()
    };
    let enabled = fields.get("enabled").is_none_or(|value| value != "no");
    (enabled && list("types").iter().any(|kind| kind == "deb")).then(|| AptSource {
        uris: list("uris"),
        suites: list("suites"),
        components: list("components"),
        signed_by: fields.get("signed-by").cloned(),
    })
}

/// Parses `deb [signed-by=/a/key arch=amd64] URI suite component…`.
fn parse_line(line: &str) -> Option<AptSource> {
    let line = line.split('#').next()?.trim();
    let rest = line.strip_prefix("deb")?.strip_prefix([' ', '\t'])?.trim_start();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(inside) => inside.split_once(']')?,
        None => ("", rest),
    };
    let mut words = rest.split_whitespace().map(str::to_owned);
    Some(AptSource {
        uris: vec![words.next()?],
        suites: vec![words.next()?],
        components: words.collect(),
        signed_by: options.split_whitespace().find_map(|o| o.strip_prefix("signed-by=")).map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEB822: &str = "Types: deb\n# a remark\nURIs: http://mirror.example/debian\nSuites: bookworm bookworm-updates\n\
        Components: main\nSigned-By: /usr/share/keyrings/debian.gpg\n\n\
        Types: deb deb-src\nURIs: http://mirror.example/security\nSuites: bookworm-security\nComponents: main\n\
        Signed-By:\n -----BEGIN-----\n .\n abc\n -----END-----\n\n\
        Enabled: no\nTypes: deb\nURIs: http://off.example\nSuites: bookworm\nComponents: main\n";

    fn folder_with(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sources.list.d")).unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    #[test]
    fn deb822_paragraphs_are_sources() {
        let sources = parse_deb822(DEB822);
        assert_eq!(sources.len(), 2, "the disabled one is none");
        assert_eq!(sources[0].suites, ["bookworm", "bookworm-updates"]);
        assert_eq!(sources[0].signed_by.as_deref(), Some("/usr/share/keyrings/debian.gpg"));
        assert!(sources[1].signed_by.as_deref().unwrap().contains("\n abc\n"), "keys may stand in the file");
    }

    #[test]
    fn one_line_sources_are_read_with_and_without_options() {
        let with =
            parse_line("deb [arch=amd64 signed-by=/k.gpg] http://m.example/debian bookworm main contrib # x");
        let with = with.unwrap();
        assert_eq!((with.uris[0].as_str(), with.suites[0].as_str()), ("http://m.example/debian", "bookworm"));
        assert_eq!(with.signed_by.as_deref(), Some("/k.gpg"));
        assert_eq!(parse_line("deb http://m.example/debian bookworm main").unwrap().components, ["main"]);
        assert_eq!(parse_line("deb-src http://m.example/debian bookworm main"), None);
        assert_eq!(parse_line("# deb http://m.example/debian bookworm main"), None);
    }

    #[test]
    fn the_source_of_the_machines_own_suite_is_chosen() {
        let folder = folder_with(&[
            ("sources.list", "deb cdrom:[Debian]/ bookworm main\ndeb http://one.example/debian sid main\n"),
            ("sources.list.d/debian.sources", DEB822),
            ("sources.list.d/old.list.save", "deb http://saved.example bookworm main\n"),
        ]);
        let source = for_suite(folder.path(), "bookworm").unwrap();
        assert_eq!(source.uris, ["http://mirror.example/debian"]);
        assert_eq!(for_suite(folder.path(), "trixie"), None);
    }

    #[test]
    fn a_source_is_written_for_another_suite() {
        let source = parse_deb822(DEB822).remove(0);
        assert_eq!(
            source.for_suite("bookworm-backports", "amd64"),
            "Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm-backports\nComponents: main\n\
             Architectures: amd64\nSigned-By: /usr/share/keyrings/debian.gpg\n"
        );
    }
}
