//! Owns what the tests did on Linux: `recorded.toml`, written by a run there.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use linux::Outcome;
use miette::{IntoDiagnostic, Result, WrapErr, miette};
use serde::{Deserialize, Serialize};

use crate::manifest::Manifest;

/// What a test wrote, and its status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    /// The exit status, or 128 and the signal.
    pub status: u8,
    /// Standard output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// Standard error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub errors: String,
}

impl Expected {
    /// Takes an outcome as what is right.
    ///
    /// # Errors
    /// The program did not end by itself, or wrote what is no text.
    pub fn of(outcome: &Outcome) -> Result<Self> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).into_diagnostic();
        let status = outcome.end.status().ok_or_else(|| miette!("it has no status: {}", outcome.end))?;
        Ok(Self { status, output: text(&outcome.output)?, errors: text(&outcome.errors)? })
    }

    /// Says what differs in a result, or nothing if it is right.
    #[must_use]
    pub fn differs(&self, status: Option<u8>, output: &[u8], errors: &[u8]) -> Option<String> {
        let mut told = String::new();
        if status != Some(self.status) {
            let status = status.map_or("none".to_owned(), |status| status.to_string());
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(told, "status {status}, on Linux {}", self.status);
        }
        for (name, on_linux, here) in [("output", &self.output, output), ("errors", &self.errors, errors)] {
            tell_lines(&mut told, name, on_linux, &String::from_utf8_lossy(here));
        }
        (!told.is_empty()).then_some(told)
    }
}

/// Tells the first line that differs, or what is missing or too much.
fn tell_lines(told: &mut String, name: &str, on_linux: &str, here: &str) {
    if on_linux == here {
        return;
    }
    let same = on_linux.lines().zip(here.lines()).take_while(|(one, other)| one == other).count();
    let line =
        |text: &str| text.lines().nth(same).map_or("no such line".to_owned(), |line| format!("{line:?}"));
    let _ = writeln!(told, "{name}, line {}: {}, on Linux {}", same + 1, line(here), line(on_linux));
}

/// What every test did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// The version of Debian's kernel that it was recorded on.
    pub kernel: String,
    /// The tests, by name.
    #[serde(default)]
    pub test: BTreeMap<String, Expected>,
}

impl Recorded {
    /// Reads the record of this checkout; there is an empty one before the first run.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn load() -> Result<Self> {
        let file = file();
        if !file.exists() {
            return Ok(Self::default());
        }
        let text = std::fs::read_to_string(&file).into_diagnostic();
        let text = text.wrap_err_with(|| format!("cannot read {}", file.display()))?;
        toml::from_str(&text).into_diagnostic().wrap_err_with(|| format!("in {}", file.display()))
    }

    /// Says what differs from the record in what a test did, or nothing if it is the same.
    #[must_use]
    pub fn differs(&self, test: &str, outcome: &Outcome) -> Option<String> {
        match self.test.get(test) {
            Some(expected) => expected.differs(outcome.end.status(), &outcome.output, &outcome.errors),
            None => Some("it is not recorded\n".into()),
        }
    }

    /// Takes what a test did on Linux as what is right.
    ///
    /// # Errors
    /// It is not a result that can be recorded.
    pub fn take(&mut self, test: &str, outcome: &Outcome) -> Result<()> {
        let expected = Expected::of(outcome).wrap_err_with(|| format!("cannot record {test}"))?;
        self.test.insert(test.to_owned(), expected);
        Ok(())
    }

    /// Writes the record to this checkout; tests that the manifest does not have any more are left out.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn store(&mut self, manifest: &Manifest) -> Result<()> {
        self.test.retain(|name, _| manifest.tests.iter().any(|test| test.name == *name));
        let head = "# What the tests did on Linux. Written by `cargo xtask compare --record`.\n\n";
        let text = toml::to_string_pretty(self).into_diagnostic()?;
        std::fs::write(file(), format!("{head}{text}")).into_diagnostic()
    }
}

fn file() -> PathBuf {
    crate::folder().join("recorded.toml")
}

#[cfg(test)]
mod tests {
    use linux::End;

    use super::*;

    fn expected() -> Expected {
        Expected { status: 139, output: "one\ntwo\n".into(), errors: String::new() }
    }

    #[test]
    fn an_outcome_is_taken_as_it_is() {
        let outcome = Outcome { output: b"one\ntwo\n".to_vec(), errors: Vec::new(), end: End::Killed(11) };
        assert_eq!(Expected::of(&outcome).unwrap(), expected());
        assert!(Expected::of(&Outcome { end: End::Late, ..outcome.clone() }).is_err());
        assert!(Expected::of(&Outcome { output: vec![0xff], ..outcome }).is_err());
    }

    #[test]
    fn what_differs_is_told_with_its_first_line() {
        assert_eq!(expected().differs(Some(139), b"one\ntwo\n", b""), None);
        let told = expected().differs(None, b"one\n2\n", b"oh\n").unwrap();
        let lines: Vec<_> = told.lines().collect();
        assert_eq!(lines[0], "status none, on Linux 139");
        assert_eq!(lines[1], "output, line 2: \"2\", on Linux \"two\"");
        assert_eq!(lines[2], "errors, line 1: \"oh\", on Linux no such line");
    }

    #[test]
    fn a_record_reads_as_it_was_written() {
        let mut recorded = Recorded { kernel: "7.2".into(), ..Recorded::default() };
        recorded.test.insert("a".into(), expected());
        let text = toml::to_string_pretty(&recorded).unwrap();
        assert_eq!(toml::from_str::<Recorded>(&text).unwrap(), recorded);
    }
}
