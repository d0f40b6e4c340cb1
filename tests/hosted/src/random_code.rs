//! Owns the campaign of random bytes that are run as programs: whatever they do, the host lives, and every page comes
//! back.
//!
//! A round is a seed, from which the program makes its own code; so it can be repeated alone. What QEMU itself loops in
//! or aborts at, and does so again, says nothing of Bixi: such a round is skipped.

use std::path::Path;
use std::time::Duration;

use miette::Result;
use packages::compiler::{Compiler, Linking};
use packages::loong64::Loong64;

use crate::build;
use crate::manifest::{Call, EmulatorMay, GUEST_FOLDER, Manifest, Origin, Program, Systems, Test};
use crate::on_bixi::{Bixi, EmulatorFault, OnBixi};

pub(crate) const PROGRAM: &str = "random-code";

/// How long a round may take: the program's own alarm comes much sooner.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// What a campaign came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Rounds that ended as they must.
    pub good: usize,
    /// Seeds at which the emulator fails by itself, and how.
    pub skipped: Vec<(u64, EmulatorFault)>,
    /// Seeds at which Bixi does not do what it must, and what it did.
    pub bad: Vec<(u64, String)>,
}

/// Runs so many rounds, with the seeds from the first on.
///
/// # Errors
/// The program does not compile, or a machine does not start.
pub fn run(
    bixi: &Bixi,
    loong64: &Loong64<'_>,
    compiler: &Compiler,
    folder: &Path,
    seeds: std::ops::Range<u64>,
) -> Result<Findings> {
    let program = Program {
        name: PROGRAM.into(),
        origin: Origin::Sources {
            sources: vec![format!("{PROGRAM}.c")],
            linking: Linking::Static,
            options: Vec::new(),
        },
        place: format!("{GUEST_FOLDER}/{PROGRAM}"),
        links: Vec::new(),
        needs: Vec::new(),
    };
    let files = build::files(loong64, compiler, &program, folder)?;
    let manifest = Manifest { programs: vec![program], tests: Vec::new() };
    let tests: Vec<Test> = seeds.clone().map(test).collect();
    let results = bixi.run(&manifest, &files, &tests.iter().collect::<Vec<_>>(), |_, _| {})?;
    let mut findings = Findings::default();
    let mut judge = Judge::default();
    for (seed, result) in seeds.zip(&results) {
        match judge.judge(result) {
            Judged::Good => findings.good += 1,
            Judged::Bad(why) => findings.bad.push((seed, why)),
            Judged::Emulator(fault) => {
                let again = bixi.run(&manifest, &files, &[&test(seed)], |_, _| {})?;
                if again.first().is_some_and(|again| again.emulator == fault) {
                    findings.skipped.push((seed, fault));
                } else {
                    findings.bad.push((seed, format!("the emulator failed once ({fault:?}), and not again")));
                }
            }
        }
    }
    Ok(findings)
}

fn test(seed: u64) -> Test {
    Test {
        name: seed.to_string(),
        call: Call { program: PROGRAM.into(), words: vec![seed.to_string()] },
        together: Vec::new(),
        input: Vec::new(),
        time_limit: TIME_LIMIT,
        step: String::new(),
        cases: Vec::new(),
        on: Systems::Bixi,
        expected: None,
        emulator: EmulatorMay::Run,
    }
}

/// What one round showed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Judged {
    Good,
    Bad(String),
    Emulator(EmulatorFault),
}

/// Compares each round with the first of its boot, after which the program's own file is known to the server.
#[derive(Debug, Default)]
struct Judge {
    frames: Option<u64>,
}

impl Judge {
    fn judge(&mut self, result: &OnBixi) -> Judged {
        if let Some(boot) = &result.boot {
            self.frames = None;
            return match result.emulator {
                EmulatorFault::None => Judged::Bad(boot.clone()),
                fault => Judged::Emulator(fault),
            };
        }
        let before = self.frames.replace(result.frames).unwrap_or(result.frames);
        if before == result.frames {
            Judged::Good
        } else {
            Judged::Bad(format!("{before} frames were free before it, and {} after", result.frames))
        }
    }
}

#[cfg(test)]
mod tests {
    use linux::{End, Outcome};

    use super::*;

    fn result(frames: u64, boot: Option<&str>, emulator: EmulatorFault) -> OnBixi {
        let outcome = Outcome { output: Vec::new(), errors: Vec::new(), end: End::Exited(139) };
        OnBixi { outcome, boot: boot.map(str::to_owned), emulator, frames }
    }

    #[test]
    fn a_lost_page_and_a_host_that_died_are_bad_and_the_emulators_faults_are_told_apart() {
        let mut judge = Judge::default();
        assert_eq!(judge.judge(&result(100, None, EmulatorFault::None)), Judged::Good);
        assert_eq!(judge.judge(&result(100, None, EmulatorFault::None)), Judged::Good);
        let lost = judge.judge(&result(99, None, EmulatorFault::None));
        assert_eq!(lost, Judged::Bad("100 frames were free before it, and 99 after".into()));
        let died = judge.judge(&result(0, Some("panic"), EmulatorFault::None));
        assert_eq!(died, Judged::Bad("panic".into()));
        let loops = judge.judge(&result(0, Some("hung"), EmulatorFault::Loops));
        assert_eq!(loops, Judged::Emulator(EmulatorFault::Loops));
        assert_eq!(judge.judge(&result(70, None, EmulatorFault::None)), Judged::Good, "a new boot");
    }
}
