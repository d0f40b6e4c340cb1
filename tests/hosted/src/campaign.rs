//! Owns campaigns on Bixi: one program many times in a boot, where each round must end as it should and leave nothing
//! behind in the server, neither a page nor anything else.
//!
//! What QEMU itself loops in or aborts at, and does so again, says nothing of Bixi: such a round is skipped.

use miette::Result;

use crate::build::GuestFile;
use crate::manifest::{Manifest, Test};
use crate::on_bixi::{Bixi, EmulatorFault, OnBixi};

/// What a campaign came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Rounds that ended as they must.
    pub good: usize,
    /// Rounds at which the emulator fails by itself, and how.
    pub skipped: Vec<(String, EmulatorFault)>,
    /// Rounds in which Bixi does not do what it must, and what it did.
    pub bad: Vec<(String, String)>,
}

/// Runs the rounds, all of one program. A test without an expected result may end as it likes.
///
/// # Errors
/// A file cannot be read, or a machine does not start.
pub fn run(bixi: &Bixi, manifest: &Manifest, files: &[GuestFile], rounds: &[Test]) -> Result<Findings> {
    let tests: Vec<&Test> = rounds.iter().collect();
    let results = bixi.run(manifest, files, &tests, |_, _| {})?;
    let mut findings = Findings::default();
    let mut judge = Judge::default();
    for (test, result) in tests.into_iter().zip(&results) {
        match judge.judge(test, result) {
            Judged::Good => findings.good += 1,
            Judged::Bad(why) => findings.bad.push((test.name.clone(), why)),
            Judged::Emulator(fault) => {
                let again = bixi.run(manifest, files, &[test], |_, _| {})?;
                if again.first().is_some_and(|again| again.emulator == fault) {
                    findings.skipped.push((test.name.clone(), fault));
                } else {
                    let why = format!("the emulator failed once ({fault:?}), and not again");
                    findings.bad.push((test.name.clone(), why));
                }
            }
        }
    }
    Ok(findings)
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
    fn judge(&mut self, test: &Test, result: &OnBixi) -> Judged {
        if let Some(boot) = &result.boot {
            self.frames = None;
            return match result.emulator {
                EmulatorFault::None => Judged::Bad(boot.clone()),
                fault => Judged::Emulator(fault),
            };
        }
        let outcome = &result.outcome;
        let differs = test
            .expected
            .as_ref()
            .and_then(|expected| expected.differs(outcome.end.status(), &outcome.output, &outcome.errors));
        let before = self.frames.replace(result.frames).unwrap_or(result.frames);
        if let Some(differs) = differs {
            Judged::Bad(differs)
        } else if before != result.frames {
            Judged::Bad(format!("{before} frames were free before it, and {} after", result.frames))
        } else if result.left != 0 {
            Judged::Bad(format!("it left {} things behind in the server", result.left))
        } else {
            Judged::Good
        }
    }
}

#[cfg(test)]
mod tests {
    use linux::{End, Outcome};

    use super::*;
    use crate::random_code;
    use crate::recorded::Expected;

    fn result(frames: u64, boot: Option<&str>, emulator: EmulatorFault) -> OnBixi {
        let outcome = Outcome { output: Vec::new(), errors: Vec::new(), end: End::Exited(139) };
        OnBixi { outcome, boot: boot.map(str::to_owned), emulator, frames, left: 0 }
    }

    #[test]
    fn a_lost_page_and_a_host_that_died_are_bad_and_the_emulators_faults_are_told_apart() {
        let (mut judge, test) = (Judge::default(), random_code::test(1));
        assert_eq!(judge.judge(&test, &result(100, None, EmulatorFault::None)), Judged::Good);
        assert_eq!(judge.judge(&test, &result(100, None, EmulatorFault::None)), Judged::Good);
        let lost = judge.judge(&test, &result(99, None, EmulatorFault::None));
        assert_eq!(lost, Judged::Bad("100 frames were free before it, and 99 after".into()));
        let died = judge.judge(&test, &result(0, Some("panic"), EmulatorFault::None));
        assert_eq!(died, Judged::Bad("panic".into()));
        let loops = judge.judge(&test, &result(0, Some("hung"), EmulatorFault::Loops));
        assert_eq!(loops, Judged::Emulator(EmulatorFault::Loops));
        assert_eq!(judge.judge(&test, &result(70, None, EmulatorFault::None)), Judged::Good, "a new boot");
    }

    #[test]
    fn another_end_and_what_is_left_behind_are_bad() {
        let expected = Some(Expected { status: 0, ..Expected::default() });
        let test = Test { expected, ..random_code::test(1) };
        let ended = Judge::default().judge(&test, &result(100, None, EmulatorFault::None));
        assert_eq!(ended, Judged::Bad("status 139, on Linux 0\n".into()));
        let left = OnBixi { left: 2, ..result(100, None, EmulatorFault::None) };
        let left = Judge::default().judge(&random_code::test(1), &left);
        assert_eq!(left, Judged::Bad("it left 2 things behind in the server".into()));
    }
}
