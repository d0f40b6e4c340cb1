//! The table of calls that the hosted programs go through has every call of the POSIX server, and each has its tests.

use hosted::manifest::Manifest;

/// Calls that do not return, return twice, or return only after a signal: programs of their own try them.
const APART: [&str; 6] = ["exit", "exit_group", "clone", "clone3", "rt_sigreturn", "rt_sigsuspend"];

/// Returns the rows of `programs/calls.h`: name and the rest.
fn rows() -> Vec<(String, String)> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/programs/calls.h");
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let row = |line: &str| {
        let (name, rest) = line.trim().strip_prefix("{ \"")?.split_once('"')?;
        Some((name.to_owned(), rest.to_owned()))
    };
    text.lines().filter_map(row).collect()
}

#[test]
fn every_call_of_the_server_is_in_the_table() {
    let rows = rows();
    for call in posix::dispatch::table::ROWS {
        let number = format!(", SYS_{},", call.name);
        let is_there = rows.iter().any(|(_, rest)| rest.starts_with(&number));
        assert!(is_there || APART.contains(&call.name), "programs/calls.h lacks {}", call.name);
    }
}

#[test]
fn every_call_with_a_pointer_has_its_test_of_bad_ones() {
    let manifest = Manifest::load().unwrap();
    let has_pointer = |rest: &str| {
        ["R(", "W(", "B(", "TEXT(", "LIMIT(", "READS", "WRITES"].iter().any(|kind| rest.contains(kind))
    };
    for (name, _) in rows().iter().filter(|(_, rest)| has_pointer(rest)) {
        let test = format!("bad-pointers-{name}");
        assert!(manifest.tests.iter().any(|one| one.name == test), "the manifest lacks {test}");
    }
}
