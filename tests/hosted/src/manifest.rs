//! Owns the list of tests: `manifest.toml`, read and checked.

use std::collections::BTreeSet;
use std::time::Duration;

use miette::{IntoDiagnostic, Result, WrapErr, miette};
use packages::compiler::Linking;
use serde::Deserialize;

use crate::recorded::Expected;

/// Where programs lie in the guest, unless their packages say otherwise.
pub(crate) const GUEST_FOLDER: &str = "/hosted";

/// How long a test may take if it does not say.
const TIME_LIMIT_S: u64 = 20;

/// A program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub origin: Origin,
    /// Where it lies in the guest.
    pub place: String,
    /// Further names for it, in its folder.
    pub links: Vec<String>,
    /// Other programs that it starts.
    pub needs: Vec<String>,
}

/// Where a program comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is compiled.
    Sources {
        /// Its sources in `programs/`.
        sources: Vec<String>,
        /// What it is linked to.
        linking: Linking,
        /// Further options for the compiler.
        options: Vec<String>,
    },
    /// Debian built it, and nobody changed it.
    Package {
        /// The package; what it needs is taken too.
        package: String,
    },
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
    /// What is right, for a test that does not run on Linux.
    pub expected: Option<Expected>,
    /// What the emulator may do of it.
    pub emulator: EmulatorMay,
}

/// What an emulator is known to do of a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EmulatorMay {
    /// Run it.
    #[default]
    Run,
    /// Loop for ever itself, whatever the guest does: then the test is skipped.
    Loop,
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

    /// Returns a program by its name.
    #[must_use]
    pub fn program(&self, name: &str) -> Option<&Program> {
        self.programs.iter().find(|program| program.name == name)
    }

    /// Returns a test by its name.
    #[must_use]
    pub fn test(&self, name: &str) -> Option<&Test> {
        self.tests.iter().find(|test| test.name == name)
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
        for program in &self.programs {
            if let Some(needed) = program.needs.iter().find(|needed| self.program(needed).is_none()) {
                return Err(miette!("{:?} needs {needed:?}, which is no program", program.name));
            }
        }
        for test in &self.tests {
            if !seen.insert(&test.name) {
                return Err(miette!("there are two tests {:?}", test.name));
            }
            if (test.on == Systems::Bixi) != test.expected.is_some() {
                return Err(miette!(
                    "{:?}: `expected` is for tests on Bixi alone, and those need it",
                    test.name
                ));
            }
            for call in &test.together {
                if self.program(&call.program).is_none() {
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
    /// The Debian package that has it, instead of sources.
    package: Option<String>,
    /// Where it lies in the guest; a package's own place must be told.
    place: Option<String>,
    /// Further names for it, in its folder.
    #[serde(default)]
    links: Vec<String>,
    /// Other programs that it starts, by their names here.
    #[serde(default)]
    needs: Vec<String>,
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
    /// One test for each of these files of `scripts/`, for a program that is a shell.
    #[serde(default)]
    scripts: Vec<String>,
    /// The words that make it a shell.
    #[serde(default)]
    shell: Vec<String>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct TestEntry {
    name: Option<String>,
    #[serde(default)]
    words: Vec<String>,
    /// One more word at the end: a shell's script.
    script: Option<String>,
    #[serde(default)]
    together: Vec<Vec<String>>,
    #[serde(default)]
    input: String,
    /// How often the input is repeated.
    times: Option<usize>,
    cases: Option<Vec<String>>,
    step: Option<String>,
    expected: Option<Expected>,
    #[serde(default)]
    emulator_may: EmulatorMay,
    time_limit_s: Option<u64>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum LinkingName {
    #[default]
    Static,
    StaticPie,
    Alone,
}

impl LinkingName {
    fn linking(self) -> Linking {
        match self {
            Self::Static => Linking::Static,
            Self::StaticPie => Linking::StaticPie,
            Self::Alone => Linking::Alone,
        }
    }
}

impl Entry {
    fn add_to(self, manifest: &mut Manifest) {
        let mut tests = self.test.clone();
        tests.extend(self.each.iter().map(|word| TestEntry {
            name: Some(format!("{}-{}", self.name, word.trim_start_matches('-'))),
            words: vec![word.clone()],
            ..TestEntry::default()
        }));
        tests.extend(self.scripts.iter().map(|script| {
            let file = format!("{GUEST_FOLDER}/scripts/{script}.sh");
            TestEntry {
                name: Some(format!("{}-{script}", self.name)),
                words: self.shell.iter().cloned().chain([file]).collect(),
                ..TestEntry::default()
            }
        }));
        if tests.is_empty() {
            tests.push(TestEntry::default());
        }
        manifest.tests.extend(tests.into_iter().map(|test| self.test(test)));
        manifest.programs.push(Program {
            place: self.place.unwrap_or_else(|| format!("{GUEST_FOLDER}/{}", self.name)),
            origin: match self.package {
                Some(package) => Origin::Package { package },
                None => Origin::Sources {
                    sources: self.sources.unwrap_or_else(|| vec![format!("{}.c", self.name)]),
                    linking: self.linking.linking(),
                    options: self.options,
                },
            },
            links: self.links,
            needs: self.needs,
            name: self.name,
        });
    }

    fn test(&self, test: TestEntry) -> Test {
        let call = |words: Vec<String>| {
            let mut words = words.into_iter();
            Call { program: words.next().unwrap_or_default(), words: words.collect() }
        };
        Test {
            name: test.name.unwrap_or_else(|| self.name.clone()),
            call: Call {
                program: self.name.clone(),
                words: test.words.into_iter().chain(test.script).collect(),
            },
            together: test.together.into_iter().map(call).collect(),
            input: test.input.repeat(test.times.unwrap_or(1)).into_bytes(),
            time_limit: Duration::from_secs(test.time_limit_s.or(self.time_limit_s).unwrap_or(TIME_LIMIT_S)),
            step: test.step.unwrap_or_else(|| self.step.clone()),
            cases: test.cases.unwrap_or_else(|| self.cases.clone()),
            on: self.on,
            expected: test.expected,
            emulator: test.emulator_may,
        }
    }
}

#[cfg(test)]
mod tests;
