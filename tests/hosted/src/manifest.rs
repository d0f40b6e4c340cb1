//! Owns the list of tests: `manifest.toml`, read and checked.

use std::collections::BTreeSet;
use std::time::Duration;

use miette::{IntoDiagnostic, Result, WrapErr, miette};
use packages::compiler::Linking;
use serde::Deserialize;

/// How long a test may take if it does not say.
const TIME_LIMIT_S: u64 = 20;

/// A program of `programs/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name: the file that is built.
    pub name: String,
    /// Its sources in `programs/`.
    pub sources: Vec<String>,
    /// What it is linked to.
    pub linking: Linking,
    /// Further options for the compiler.
    pub options: Vec<String>,
}

/// A program called with certain words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The program's name.
    pub program: String,
    /// Its arguments, without its name.
    pub words: Vec<String>,
}

/// A test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// Its name.
    pub name: String,
    /// What is run and judged.
    pub call: Call,
    /// What is run at the same time, and must end with status 0.
    pub together: Vec<Call>,
    /// Standard input.
    pub input: Vec<u8>,
    /// How long all of that may take.
    pub time_limit: Duration,
    /// The step of the project from which on Bixi must pass it, such as `A2`.
    pub step: String,
    /// The faults of other systems that it looks for, as numbered in the project's list of cases.
    pub cases: Vec<String>,
    /// Where it means something.
    pub on: Systems,
}

/// The systems that a test means something on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Systems {
    /// Linux, whose result is recorded, and Bixi, which must give the same.
    #[default]
    Both,
    /// Bixi alone: there is nothing like it on Linux.
    Bixi,
}

/// Every program and every test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The programs.
    pub programs: Vec<Program>,
    /// The tests.
    pub tests: Vec<Test>,
}

impl Manifest {
    /// Reads the manifest of this checkout.
    ///
    /// # Errors
    /// It cannot be read, or has a mistake.
    pub fn load() -> Result<Self> {
        let file = crate::folder().join("manifest.toml");
        let text = std::fs::read_to_string(&file).into_diagnostic();
        Self::parse(&text.wrap_err_with(|| format!("cannot read {}", file.display()))?)
            .wrap_err_with(|| format!("in {}", file.display()))
    }

    /// Returns the tests whose name or step is one of those given, or begins with one and a `-`; all if none is given.
    pub fn select<'a>(&'a self, names: &'a [String]) -> impl Iterator<Item = &'a Test> {
        let is_meant = |test: &Test, name: &String| {
            let rest = test.name.strip_prefix(name.as_str());
            test.step == *name || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        self.tests
            .iter()
            .filter(move |test| names.is_empty() || names.iter().any(|name| is_meant(test, name)))
    }

    fn parse(text: &str) -> Result<Self> {
        let file: File = toml::from_str(text).into_diagnostic()?;
        let mut manifest = Self { programs: Vec::new(), tests: Vec::new() };
        for entry in file.program {
            entry.add_to(&mut manifest);
        }
        manifest.check()?;
        Ok(manifest)
    }

    fn check(&self) -> Result<()> {
        let mut seen = BTreeSet::new();
        for test in &self.tests {
            if !seen.insert(&test.name) {
                return Err(miette!("there are two tests {:?}", test.name));
            }
            for call in &test.together {
                if !self.programs.iter().any(|program| program.name == call.program) {
                    return Err(miette!(
                        "{:?} runs together with {:?}, which is no program",
                        test.name,
                        call.program
                    ));
                }
            }
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    program: Vec<Entry>,
}

/// A program with the tests that are made of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    sources: Option<Vec<String>>,
    #[serde(default)]
    linking: LinkingName,
    #[serde(default)]
    options: Vec<String>,
    #[serde(default)]
    step: String,
    #[serde(default)]
    cases: Vec<String>,
    #[serde(default)]
    on: Systems,
    time_limit_s: Option<u64>,
    /// Tests; without this and `each` there is one, named as the program.
    #[serde(default)]
    test: Vec<TestEntry>,
    /// One test for each word, which is its argument and part of its name.
    #[serde(default)]
    each: Vec<String>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct TestEntry {
    name: Option<String>,
    #[serde(default)]
    words: Vec<String>,
    #[serde(default)]
    together: Vec<Vec<String>>,
    #[serde(default)]
    input: String,
    /// How often the input is repeated.
    times: Option<usize>,
    cases: Option<Vec<String>>,
    step: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum LinkingName {
    #[default]
    Static,
    StaticPie,
    Alone,
}

impl Entry {
    fn add_to(self, manifest: &mut Manifest) {
        let mut tests = self.test.clone();
        tests.extend(self.each.iter().map(|word| TestEntry {
            name: Some(format!("{}-{}", self.name, word.trim_start_matches('-'))),
            words: vec![word.clone()],
            ..TestEntry::default()
        }));
        if tests.is_empty() {
            tests.push(TestEntry::default());
        }
        manifest.tests.extend(tests.into_iter().map(|test| self.test(test)));
        manifest.programs.push(Program {
            sources: self.sources.unwrap_or_else(|| vec![format!("{}.c", self.name)]),
            name: self.name,
            linking: match self.linking {
                LinkingName::Static => Linking::Static,
                LinkingName::StaticPie => Linking::StaticPie,
                LinkingName::Alone => Linking::Alone,
            },
            options: self.options,
        });
    }

    fn test(&self, test: TestEntry) -> Test {
        let call = |words: Vec<String>| {
            let mut words = words.into_iter();
            Call { program: words.next().unwrap_or_default(), words: words.collect() }
        };
        Test {
            name: test.name.unwrap_or_else(|| self.name.clone()),
            call: Call { program: self.name.clone(), words: test.words },
            together: test.together.into_iter().map(call).collect(),
            input: test.input.repeat(test.times.unwrap_or(1)).into_bytes(),
            time_limit: Duration::from_secs(self.time_limit_s.unwrap_or(TIME_LIMIT_S)),
            step: test.step.unwrap_or_else(|| self.step.clone()),
            cases: test.cases.unwrap_or_else(|| self.cases.clone()),
            on: self.on,
        }
    }
}

#[cfg(test)]
mod tests;
