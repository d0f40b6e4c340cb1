//! Owns one boot: following it test by test, and parting what it printed among them.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use abi::control::Record;
use linux::{End, Outcome};
use machine::{Line, Listener, Run, Verdict};

use super::{EmulatorFault, OnBixi};

/// How long Bixi may take to boot before a boot's first test.
const BOOT: Duration = Duration::from_secs(30);

/// How long it may take to power off after a boot's last test. What that has written may still be on its way.
const END: Duration = Duration::from_secs(30);

/// How many lines of the log are shown of a boot that ended early.
const LOG_LINES: usize = 30;

/// What a boot is to run.
#[derive(Debug)]
pub(super) struct Plan {
    /// How many programs each test has.
    pub(super) sizes: Vec<usize>,
    /// How long each may take.
    pub(super) limits: Vec<Duration>,
}

/// The end of one program, as the guest told it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ended {
    status: u8,
    output: usize,
    errors: usize,
    frames: u64,
    left: u64,
}

/// Follows a boot, and gives a test up whose time is over.
#[derive(Debug)]
pub(super) struct Follower {
    plan: Plan,
    ended: Vec<Ended>,
    deadline: Instant,
    /// The exit record came: what is left is the power.
    over: bool,
}

impl Follower {
    pub(super) fn new(plan: Plan) -> Self {
        let mut follower = Self { plan, ended: Vec::new(), deadline: Instant::now(), over: false };
        follower.wait_for_next();
        follower
    }

    fn wait_for_next(&mut self) {
        let limit = self.plan.limits.get(self.whole_tests()).copied().unwrap_or(END);
        let boot = if self.ended.is_empty() { BOOT } else { Duration::ZERO };
        self.deadline = Instant::now() + limit + boot;
    }

    /// How many tests have come to their end.
    fn whole_tests(&self) -> usize {
        let mut programs = 0;
        let ends = self.plan.sizes.iter().map(|size| {
            programs += size;
            programs
        });
        ends.take_while(|end| *end <= self.ended.len()).count()
    }

    /// Parts what was printed among the tests; the last one may be the one that the boot ended with.
    pub(super) fn results(&self, run: &Run) -> Vec<OnBixi> {
        let mut results = Vec::new();
        let (mut programs, mut output, mut errors) = (self.ended.as_slice(), 0, 0);
        for size in &self.plan.sizes {
            let Some((group, rest)) = programs.split_at_checked(*size) else { break };
            programs = rest;
            let Some(last) = group.last() else { break };
            let part = |bytes: &[u8], from, to| bytes.get(from..to).unwrap_or_default().to_vec();
            let outcome = Outcome {
                output: one_of_equal_parts(part(&run.output, output, last.output), group.len()),
                errors: part(&run.errors, errors, last.errors),
                end: End::Exited(judged(group)),
            };
            let (emulator, frames, left) = (EmulatorFault::None, last.frames, last.left);
            results.push(OnBixi { outcome, boot: None, emulator, frames, left });
            (output, errors) = (last.output, last.errors);
        }
        if results.len() < self.plan.sizes.len() {
            let left = |bytes, from| <[u8]>::get(bytes, from..).unwrap_or_default();
            let (end, boot) = early_end(run);
            let (output, errors) = (left(&run.output, output).to_vec(), left(&run.errors, errors).to_vec());
            let outcome = Outcome { output, errors, end };
            let emulator = EmulatorFault::of(run);
            results.push(OnBixi { outcome, boot: Some(boot), emulator, frames: 0, left: 0 });
        }
        results
    }
}

/// The first program's status; another's stands for it if that one did not end well.
fn judged(group: &[Ended]) -> u8 {
    let mut statuses = group.iter().map(|ended| ended.status);
    let first = statuses.next().unwrap_or(u8::MAX);
    statuses.find(|status| *status != 0).unwrap_or(first)
}

/// Programs that run together share the streams: each has written the same, so one's part is what is compared.
fn one_of_equal_parts(output: Vec<u8>, parts: usize) -> Vec<u8> {
    let Some(length) = output.len().checked_div(parts).filter(|length| *length > 0) else { return output };
    let first = output.get(..length).unwrap_or_default();
    if parts > 1 && output.chunks(length).all(|part| part == first) { first.to_vec() } else { output }
}

/// How a boot ended that did not come to its end.
fn early_end(run: &Run) -> (End, String) {
    let end = if run.verdict == Verdict::GivenUp { End::Late } else { End::Never };
    let log = packages::shell::last_lines(&run.log, LOG_LINES);
    (end, format!("the guest {}; its log's end:\n{log}", run.verdict))
}

impl Listener for Follower {
    fn bytes(&mut self, _: Line, _: &[u8]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn record(&mut self, record: &Record<'_>) -> ControlFlow<()> {
        match *record {
            Record::Program { status, output, errors, frames, left, .. } => {
                let bytes = |count| usize::try_from(count).unwrap_or(usize::MAX);
                self.ended.push(Ended { status, output: bytes(output), errors: bytes(errors), frames, left });
                self.wait_for_next();
            }
            Record::Exit { .. } => self.over = true,
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn deadline(&self) -> Option<Instant> {
        (!self.over).then_some(self.deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follower(sizes: &[usize], ended: &[(u8, usize, usize)]) -> Follower {
        let limits = sizes.iter().map(|_| Duration::from_secs(1)).collect();
        let mut follower = Follower::new(Plan { sizes: sizes.to_vec(), limits });
        for (number, (status, output, errors)) in ended.iter().enumerate() {
            let (number, output, errors) = (number as u64, *output as u64, *errors as u64);
            let record = Record::Program { number, status: *status, output, errors, frames: 0, left: 0 };
            assert!(follower.record(&record).is_continue());
        }
        follower
    }

    #[test]
    fn a_boots_end_is_waited_for() {
        let follower = follower(&[1], &[(0, 2, 0)]);
        let patience = follower.deadline().unwrap().saturating_duration_since(Instant::now());
        assert!(patience > END / 2, "what the last test wrote may come after its record");
    }

    fn run(output: &str, errors: &str, verdict: Verdict) -> Run {
        Run {
            verdict,
            log: "last words".into(),
            output: output.into(),
            errors: errors.into(),
            control: String::new(),
            emulator: machine::Answers::Yes,
        }
    }

    #[test]
    fn output_goes_to_the_test_that_wrote_it() {
        let follower = follower(&[1, 2, 1], &[(0, 2, 0), (3, 8, 1), (0, 8, 1), (139, 8, 4)]);
        let results = follower.results(&run("a\nok\nok\n", "eyes", Verdict::Passed { exit_code: 0 }));
        let told: Vec<_> =
            results.iter().map(|one| (one.outcome.end.status(), one.outcome.output.as_slice())).collect();
        assert_eq!(told, [(Some(0), b"a\n".as_slice()), (Some(3), b"ok\n"), (Some(139), b"")]);
        assert_eq!(results[2].outcome.errors, b"yes");
        assert!(results.iter().all(|one| one.boot.is_none()));
    }

    #[test]
    fn a_boot_that_ends_early_is_the_next_tests_doing() {
        let follower = follower(&[1, 1, 1], &[(0, 2, 0)]);
        let results = follower.results(&run("a\nb", "", Verdict::GivenUp));
        assert_eq!(results.len(), 2);
        assert_eq!(
            (results[1].outcome.end, results[1].outcome.output.as_slice()),
            (End::Late, b"b".as_slice())
        );
        assert!(results[1].boot.as_ref().unwrap().contains("last words"));
    }

    #[test]
    fn programs_that_differ_are_not_made_equal() {
        assert_eq!(one_of_equal_parts(b"ok\nno\n".to_vec(), 2), b"ok\nno\n");
        assert_eq!(one_of_equal_parts(b"ok\nok\n".to_vec(), 2), b"ok\n");
        assert_eq!(one_of_equal_parts(Vec::new(), 2), b"");
        assert_eq!(
            judged(&[
                Ended { status: 0, output: 0, errors: 0, frames: 0, left: 0 },
                Ended { status: 9, output: 0, errors: 0, frames: 0, left: 0 }
            ]),
            9
        );
    }
}
