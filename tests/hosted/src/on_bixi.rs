//! Owns running tests on Bixi: many in one boot, each with its own result.
//!
//! One server runs all programs of a boot, one group after the other, and says after each what both streams had by then;
//! so no test's output is taken for another's. A test that does not come to its end, or that takes the guest with
//! it, ends its boot; those behind it get another one. Tests with input have a boot each.

mod boot;

use std::os::unix::ffi::OsStrExt;

use initrd::job::{self, Program, Strace};
use initrd::tree::{Node, Tree, permissions};
use linux::Outcome;
use machine::{Answers, Emulator, Failure, Machine, Run, Verdict};
use miette::{IntoDiagnostic, Result, WrapErr, miette};

use crate::ENVIRONMENT;
use crate::build::{Content, GuestFile};
use crate::manifest::{Call, EmulatorMay, Manifest, Test};

/// What a test did on Bixi.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnBixi {
    /// What it wrote and how it ended.
    pub outcome: Outcome,
    /// How the boot ended, and its log's end, if that ended with the test.
    pub boot: Option<String>,
    /// Whether that was the emulator's fault.
    pub emulator: EmulatorFault,
    /// Page frames that the server had free afterwards; 0 if the boot ended with the test.
    pub frames: u64,
    /// Things that it left behind in the server: none of a program's may outlive it.
    pub left: u64,
}

/// What an emulator did that no guest can do anything about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmulatorFault {
    /// Nothing.
    None,
    /// It looped for ever by itself.
    Loops,
    /// It ended by itself, without the machine being powered off.
    Ends,
}

impl EmulatorFault {
    /// What a run shows of it.
    fn of(run: &Run) -> Self {
        match (&run.verdict, run.emulator) {
            (_, Answers::No) => Self::Loops,
            (Verdict::Failed(Failure::Emulator(..)), _) => Self::Ends,
            _ => Self::None,
        }
    }
}

impl OnBixi {
    /// Returns why this says nothing of Bixi, if the test did not come to its end for the emulator's sake.
    ///
    /// QEMU loops for ever when a program jumps into a page that is the host's: it reads the instruction again for
    /// which it has just raised an exception. No guest can do anything about that.
    #[must_use]
    pub fn skipped(&self, test: &Test) -> Option<&'static str> {
        let loops = test.emulator == EmulatorMay::Loop && self.emulator == EmulatorFault::Loops;
        loops.then_some("QEMU does not come back from a jump into a page of the host's")
    }
}

/// A machine that hosts programs.
#[derive(Debug)]
pub struct Bixi {
    /// The machine, without files.
    pub machine: Machine,
    /// What it runs in.
    pub emulator: Emulator,
}

impl Bixi {
    /// Runs tests and returns what the judged program of each did, in order; `told` hears of each as it ends.
    ///
    /// # Errors
    /// A machine does not start, or a file cannot be read.
    pub fn run(
        &self,
        manifest: &Manifest,
        files: &[GuestFile],
        tests: &[&Test],
        mut told: impl FnMut(&Test, &OnBixi),
    ) -> Result<Vec<OnBixi>> {
        let files = tree(files)?;
        let mut results: Vec<Option<OnBixi>> = tests.iter().map(|_| None).collect();
        let numbered = || tests.iter().copied().enumerate();
        let (quiet, reading): (Vec<_>, Vec<_>) = numbered().partition(|(_, test)| test.input.is_empty());
        let boots = std::iter::once(quiet).chain(reading.into_iter().map(|one| vec![one]));
        for mut left in boots {
            while !left.is_empty() {
                let batch: Vec<&Test> = left.iter().map(|(_, test)| *test).collect();
                let done = self.boot(manifest, &files, &batch)?;
                if done.is_empty() {
                    return Err(miette!("a boot on Bixi ran none of {} tests", left.len()));
                }
                for ((number, test), result) in left.drain(..done.len().min(left.len())).zip(done) {
                    told(test, &result);
                    if let Some(place) = results.get_mut(number) {
                        *place = Some(result);
                    }
                }
            }
        }
        Ok(results.into_iter().flatten().collect())
    }

    /// Runs tests in one boot, up to the first that ends it: returns what those did.
    fn boot(&self, manifest: &Manifest, files: &Tree, tests: &[&Test]) -> Result<Vec<OnBixi>> {
        let groups = tests.iter().map(|test| group(manifest, test)).collect::<Result<Vec<_>>>()?;
        let archive = job::archive(&groups, Strace::No, files)?;
        let initrd = tempfile::Builder::new().prefix("bixi-").tempfile().into_diagnostic()?;
        std::fs::write(initrd.path(), archive).into_diagnostic()?;
        let mut machine = self.machine.clone();
        machine.add_initrd(initrd.path());
        let input = tests.first().map(|test| test.input.clone()).unwrap_or_default();
        let plan = boot::Plan {
            sizes: groups.iter().map(Vec::len).collect(),
            limits: tests.iter().map(|test| test.time_limit).collect(),
        };
        let mut follower = boot::Follower::new(plan);
        let source = Box::new(std::io::Cursor::new(input));
        let run = machine.run_with(&self.emulator, source, &mut follower)?;
        Ok(follower.results(&run))
    }
}

fn group(manifest: &Manifest, test: &Test) -> Result<Vec<Program>> {
    std::iter::once(&test.call).chain(&test.together).map(|call| program(manifest, call)).collect()
}

fn program(manifest: &Manifest, call: &Call) -> Result<Program> {
    let program = manifest.program(&call.program);
    let place = program.map(|program| program.place.clone());
    let place = place.ok_or_else(|| miette!("there is no program {:?}", call.program))?;
    let words = std::iter::once(&place).chain(&call.words);
    Ok(Program {
        arguments: words.map(|word| word.as_bytes().to_vec()).collect(),
        environment: ENVIRONMENT.map(|variable| variable.as_bytes().to_vec()).to_vec(),
    })
}

/// The guest's files; of two at one place the first is meant.
fn tree(files: &[GuestFile]) -> Result<Tree> {
    let mut tree = initrd::root::folders()?;
    for file in files.iter().rev() {
        let node = match &file.content {
            Content::Link(target) => Node::Link(target.as_os_str().as_bytes().to_vec()),
            Content::File(source) => {
                let data = source.metadata().into_diagnostic();
                let data = data.wrap_err_with(|| format!("cannot read {}", source.display()))?;
                let mode = if permissions(&data) & 0o111 == 0 { 0o644 } else { 0o755 };
                Node::File(mode, source.clone())
            }
        };
        tree.put(&file.place, node)?;
    }
    Ok(tree)
}
