//! Owns what a package's sources say of its tests, so that for one test nothing is built that has no part in it.
//!
//! A name that is found here may still be no test's: then one package too many is built. None is missed.

use std::path::{Path, PathBuf};

/// Returns whether a package may have a host test whose path contains a text, such as `tests::a_thing_works`.
pub(super) fn has_test(package: &Path, wanted: &str) -> bool {
    files(package).iter().any(|file| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let inside = file.strip_prefix(package).unwrap_or(file);
        may_have(inside, &text, wanted)
    })
}

/// Returns whether a guest's program may have a story whose name contains a text: its stories stand in a table, as
/// identifiers or as texts.
pub(super) fn has_story(package: &Path, wanted: &str) -> bool {
    let tells = |text: &str| text.lines().filter_map(story).any(|name| name.contains(wanted));
    files(package).iter().any(|file| std::fs::read_to_string(file).is_ok_and(|text| tells(&text)))
}

/// Reads `name,` or `("name", …`, as a line of its own.
fn story(line: &str) -> Option<&str> {
    let line = line.trim();
    match line.strip_prefix("(\"") {
        Some(row) => row.split_once('"').map(|(name, _)| name),
        None => line.strip_suffix(',').filter(|name| name.chars().all(is_of_a_name)),
    }
}

fn may_have(file: &Path, text: &str, wanted: &str) -> bool {
    let mut tests = tests(text).peekable();
    if tests.peek().is_none() {
        return false;
    }
    let of_path = file.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
    let of_path = of_path.map(|part| part.trim_end_matches(".rs").to_owned());
    let modules: Vec<String> = of_path.chain(text.lines().filter_map(module).map(str::to_owned)).collect();
    let is_in_modules = |word: &str| modules.iter().any(|module| module.contains(word));
    let (before, last) = wanted.rsplit_once("::").unwrap_or(("", wanted));
    before.split("::").all(is_in_modules) && (is_in_modules(last) || tests.any(|name| name.contains(last)))
}

/// The functions that are tests.
fn tests(text: &str) -> impl Iterator<Item = &str> {
    text.split("#[test]").skip(1).filter_map(|behind| {
        let (_, name) = behind.split_once("fn ")?;
        name.split(|c| !is_of_a_name(c)).next()
    })
}

/// Reads `mod name {`.
fn module(line: &str) -> Option<&str> {
    line.trim().strip_suffix(" {")?.rsplit_once("mod ").map(|(_, name)| name)
}

fn is_of_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// A package's Rust files.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::members;
    use crate::workspace::Workspace;

    #[test]
    fn a_test_is_found_by_its_function_and_its_modules() {
        let text = "fn helper() {}\nmod inner {\n#[test]\n#[ignore]\nfn a_thing_works() {}\n}\n";
        let has = |wanted| may_have(Path::new("src/queue/order.rs"), text, wanted);
        for wanted in ["thing", "order", "queue::order::inner::a_thing_works", "inner::a_th", "r::inner::"] {
            assert!(has(wanted), "{wanted}");
        }
        for wanted in ["helper", "a thing", "outer::a_thing", "inner::b"] {
            assert!(!has(wanted), "{wanted}");
        }
        assert!(!may_have(Path::new("src/order.rs"), "fn order() {}", "order"));
    }

    #[test]
    fn stories_stand_in_tables() {
        let told =
            ["    a_story,", "(\"another_one\", |given| it(given)),", "let a = call(b,", "}"].map(story);
        assert_eq!(told, [Some("a_story"), Some("another_one"), None, None]);
    }

    #[test]
    fn the_packages_of_this_checkout_have_what_they_have() {
        let workspace = Workspace::new();
        let folder = |package| members::place_of(&workspace, package).unwrap();
        assert!(has_story(&folder("guest"), "equals_share_the_processor"));
        assert!(!has_story(&folder("ground"), "equals_share_the_processor"));
        assert!(has_story(&folder("ground"), "a_host_has_a_seed"));
        assert!(has_test(&folder("xtask"), "sources::tests::the_packages_of_this_checkout"));
        assert!(!has_test(&folder("report"), "sources::tests::the_packages_of_this_checkout"));
    }
}
