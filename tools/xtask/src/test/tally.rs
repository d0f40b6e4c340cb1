//! Owns the count of tests, and what is said of them.

use std::process::ExitCode;

use miette::Report;

/// How many tests passed, failed and were skipped so far; failures and skips are told as they come.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    passed: usize,
    failed: usize,
    skipped: Vec<(String, String)>,
}

impl Tally {
    /// Says which kind of test comes next.
    pub(crate) fn section(&self, title: &str) {
        packages::say!("== {title}");
    }

    /// Adds tests that were counted by somebody else.
    pub(crate) fn add_counts(&mut self, passed: usize, failed: usize) {
        self.passed += passed;
        self.failed += failed;
    }

    /// Adds one test that passed.
    pub(crate) fn pass(&mut self, name: &str) {
        packages::say!("passed: {name}");
        self.passed += 1;
    }

    /// Adds one test that failed.
    pub(crate) fn fail(&mut self, name: &str, reason: &str) {
        packages::say!("FAILED: {name}: {reason}");
        self.failed += 1;
    }

    /// Adds one test that could not run here.
    pub(crate) fn skip(&mut self, name: &str, reason: &str) {
        self.skipped.push((name.to_owned(), reason.to_owned()));
    }

    /// Adds one test by its result; an error is shown whole.
    pub(crate) fn add(&mut self, name: &str, result: Result<(), Report>) {
        match result {
            Ok(()) => self.pass(name),
            Err(report) => self.fail(name, &format!("{report:?}")),
        }
    }

    /// Returns whether no test passed, failed or was skipped so far.
    pub(crate) fn is_empty(&self) -> bool {
        self.passed == 0 && self.failed == 0 && self.skipped.is_empty()
    }

    /// Prints what was skipped and, last, the count.
    pub(crate) fn finish(self) -> ExitCode {
        for (name, reason) in &self.skipped {
            packages::say!("skipped: {name}: {reason}");
        }
        if !self.skipped.is_empty() {
            packages::say!("{} skipped, for the reasons above", self.skipped.len());
        }
        packages::say!("{} passed, {} failed", self.passed, self.failed);
        // A run in which nothing was tested is no success either.
        if self.failed == 0 && self.passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(tally: Tally) -> String {
        format!("{:?}", tally.finish())
    }

    #[test]
    fn only_passes_and_at_least_one_is_success() {
        let success = format!("{:?}", ExitCode::SUCCESS);
        let mut tally = Tally::default();
        tally.pass("a");
        tally.skip("b", "not here");
        assert!(!tally.is_empty() && Tally::default().is_empty());
        assert_eq!(code(tally), success);
        assert_ne!(code(Tally::default()), success);
        let mut tally = Tally::default();
        tally.add_counts(5, 1);
        assert_ne!(code(tally), success);
    }
}
