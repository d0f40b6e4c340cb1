//! Owns the budgets: what each operation may take at most, checked exactly.
//!
//! A budget is a median. The counts are the same in every run, so the file says what is reached now: a figure above
//! its budget fails the benchmark, and one below asks for the budget to be tightened.

use std::collections::BTreeMap;
use std::fmt;

use miette::{Diagnostic, NamedSource, SourceSpan};
use serde::Deserialize;
use thiserror::Error;

use crate::{Column, Report};

/// All budgets: suite, label, column, most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budgets(BTreeMap<String, Suite>);

type Suite = BTreeMap<String, BTreeMap<Column, u64>>;

/// The file of budgets cannot be used.
#[derive(Debug, Error, Diagnostic)]
#[error("the budgets cannot be read: {message}")]
pub struct BudgetError {
    message: String,
    #[source_code]
    source_code: NamedSource<String>,
    #[label("here")]
    place: Option<SourceSpan>,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// More than the budget: the benchmark fails.
    Exceeded {
        /// The operation.
        label: String,
        /// Which of its figures.
        column: Column,
        /// What was measured.
        median: u64,
        /// What is allowed.
        budget: u64,
    },
    /// Less than the budget.
    Improved {
        /// The operation.
        label: String,
        /// Which of its figures.
        column: Column,
        /// What was measured.
        median: u64,
        /// What is allowed.
        budget: u64,
    },
    /// The budget's operation was not measured: the benchmark fails.
    NotMeasured {
        /// The operation.
        label: String,
    },
}

impl Finding {
    /// Returns whether this makes the benchmark fail.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        !matches!(self, Self::Improved { .. })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exceeded { label, column, median, budget } => {
                write!(f, "{label}: {} is {median}, above its budget of {budget}", column.name())
            }
            Self::Improved { label, column, median, budget } => write!(
                f,
                "{label}: {} is {median}, below its budget of {budget}: tighten it to {median}",
                column.name()
            ),
            Self::NotMeasured { label } => write!(f, "{label}: has a budget and was not measured"),
        }
    }
}

impl Budgets {
    /// Reads the file of budgets; its name is for messages.
    ///
    /// # Errors
    /// It is not TOML, or a column or number is not one.
    pub fn parse(name: &str, text: &str) -> Result<Self, BudgetError> {
        #[derive(Deserialize)]
        #[serde(transparent)]
        struct File(BTreeMap<String, Suite>);
        match toml::from_str(text) {
            Ok(File(suites)) => Ok(Self(suites)),
            Err(error) => Err(BudgetError {
                message: error.message().to_owned(),
                place: error.span().map(SourceSpan::from),
                source_code: NamedSource::new(name, text.to_owned()),
            }),
        }
    }

    /// Compares a report with its suite's budgets.
    #[must_use]
    pub fn check(&self, report: &Report) -> Vec<Finding> {
        let Some(suite) = self.0.get(&report.suite) else { return Vec::new() };
        suite.iter().flat_map(|(label, budgets)| check_label(report, label, budgets)).collect()
    }
}

fn check_label(report: &Report, label: &str, budgets: &BTreeMap<Column, u64>) -> Vec<Finding> {
    let not_measured = || vec![Finding::NotMeasured { label: label.to_owned() }];
    let Some(row) = report.row(label) else { return not_measured() };
    let check = |(&column, &budget): (&Column, &u64)| {
        let median = row.figures(column)?.median;
        let label = label.to_owned();
        match median.cmp(&budget) {
            std::cmp::Ordering::Greater => Some(Finding::Exceeded { label, column, median, budget }),
            std::cmp::Ordering::Less => Some(Finding::Improved { label, column, median, budget }),
            std::cmp::Ordering::Equal => None,
        }
    };
    budgets.iter().filter_map(check).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample;

    fn findings(budgets: &str) -> Vec<String> {
        let budgets = Budgets::parse("budgets.toml", budgets).unwrap();
        let report = Report::new("ipc", &[sample("rt0", 136), sample("call0", 56)]);
        budgets.check(&report).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn a_budget_is_exact() {
        assert_eq!(findings("[ipc]\nrt0 = { kernel = 150, user = 33 }\n"), Vec::<String>::new());
        assert_eq!(
            findings("[ipc]\nrt0 = { kernel = 149 }\n"),
            ["rt0: kernel is 150, above its budget of 149"],
            "one instruction more fails"
        );
        let improved = findings("[ipc.rt0]\nkernel_loads = 32\n");
        assert_eq!(improved, ["rt0: kernel_loads is 31, below its budget of 32: tighten it to 31"]);
    }

    #[test]
    fn what_was_not_measured_fails_and_what_has_no_budget_does_not() {
        let missing = findings("[ipc]\nrt9 = { kernel = 1 }\n");
        assert_eq!(missing, ["rt9: has a budget and was not measured"]);
        assert!(Finding::NotMeasured { label: "x".into() }.is_failure());
        assert_eq!(findings("[other]\nrt0 = { kernel = 1 }\n"), Vec::<String>::new());
    }

    #[test]
    fn a_wrong_column_is_told_at_its_place() {
        let error = Budgets::parse("budgets.toml", "[ipc]\nrt0 = { kernle = 1 }\n").unwrap_err();
        assert!(error.to_string().contains("kernle"), "{error}");
        assert!(error.place.is_some());
    }
}
