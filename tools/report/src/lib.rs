//! From counted samples to figures: tables for people, JSON for programs, budgets that are checked.
//!
//! A [`Report`] has one [`Row`] for each label, in the order in which labels first appeared; a row has the minimum, median
//! and maximum of each [`Column`]. [`Budgets`] hold what a row's medians may be at most.

mod budget;
mod column;
mod figures;
mod table;

pub use budget::{BudgetError, Budgets, Finding};
pub use column::Column;
pub use counter::line::Sample;
pub use figures::Figures;

/// All figures of a benchmark suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The suite's name.
    pub suite: String,
    /// One row a label.
    pub rows: Vec<Row>,
}

/// What operations take elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beside<'a> {
    /// What the figures are of.
    pub name: &'a str,
    /// One operation's figure by its label.
    pub figures: &'a [(&'a str, u64)],
}

/// The figures of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The operation, as the guest labels it.
    pub label: String,
    /// How many operations lie between each pair of marks.
    pub ops: u64,
    /// How many samples there are.
    pub n: usize,
    /// The figures of each column, in [`Column::ALL`]'s order.
    pub columns: Vec<(Column, Figures)>,
}

impl Report {
    /// Groups samples by label.
    #[must_use]
    pub fn new(suite: &str, samples: &[Sample]) -> Self {
        let mut labels: Vec<(&str, u64)> = Vec::new();
        for sample in samples {
            let key = (sample.label.as_str(), sample.ops);
            if !labels.contains(&key) {
                labels.push(key);
            }
        }
        let row = |&(label, ops): &(&str, u64)| {
            let own: Vec<&Sample> = samples.iter().filter(|s| s.label == label && s.ops == ops).collect();
            Row::new(label, ops, &own)
        };
        Self { suite: suite.to_owned(), rows: labels.iter().map(row).collect() }
    }

    /// Returns the row of a label.
    #[must_use]
    pub fn row(&self, label: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.label == label)
    }

    /// Writes the figures for programs.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Strings and numbers alone: nothing in it can fail to be written.
        serde_json::to_string_pretty(&json::of_report(self)).unwrap_or_default() + "\n"
    }

    /// Writes the figures for people.
    #[must_use]
    pub fn to_table(&self) -> String {
        table::render(self, &[])
    }

    /// Writes the figures for people, with those of another system in a last column.
    #[must_use]
    pub fn to_table_beside(&self, beside: Beside<'_>) -> String {
        table::render(self, &[beside])
    }
}

impl Row {
    fn new(label: &str, ops: u64, samples: &[&Sample]) -> Self {
        let figures = |column: Column| {
            let values: Vec<u64> = samples.iter().map(|sample| column.of(sample)).collect();
            Some((column, Figures::of(values)?))
        };
        let columns = Column::ALL.into_iter().filter_map(figures).collect();
        Self { label: label.to_owned(), ops, n: samples.len(), columns }
    }

    /// Returns a column's figures.
    #[must_use]
    pub fn figures(&self, column: Column) -> Option<Figures> {
        self.columns.iter().find(|(own, _)| *own == column).map(|(_, figures)| *figures)
    }
}

/// The JSON form, in which a row's columns are an object.
mod json {
    use serde_json::{Map, Value, json};

    use super::{Report, Row};

    pub(super) fn of_report(report: &Report) -> Value {
        json!({
            "suite": report.suite,
            "unit": "executed instructions",
            "rows": report.rows.iter().map(of_row).collect::<Vec<_>>(),
        })
    }

    fn of_row(row: &Row) -> Value {
        let figures = row.columns.iter().map(|(column, figures)| (column.name().to_owned(), json!(figures)));
        json!({
            "label": row.label,
            "ops": row.ops,
            "n": row.n,
            "columns": figures.collect::<Map<_, _>>(),
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use counter::line::Share;

    use super::*;

    pub(crate) fn sample(label: &str, kernel: u64) -> Sample {
        Sample {
            label: label.into(),
            ops: 1,
            kernel,
            phys: 14,
            user: 33,
            loads: Share { total: 40, kernel: 31 },
            stores: Share { total: 38, kernel: 30 },
            csr: Share { total: 11, kernel: 11 },
            ..Sample::default()
        }
    }

    #[test]
    fn samples_are_grouped_by_label_in_order_of_appearance() {
        let samples = [sample("rt0", 152), sample("call0", 70), sample("rt0", 150), sample("rt0", 171)];
        let report = Report::new("ipc", &samples);
        let labels: Vec<_> = report.rows.iter().map(|row| (row.label.as_str(), row.n)).collect();
        assert_eq!(labels, [("rt0", 3), ("call0", 1)]);
        let kernel = report.row("rt0").unwrap().figures(Column::Kernel).unwrap();
        assert_eq!(kernel, Figures { min: 164, median: 166, max: 185 }, "the refill is the kernel's too");
    }

    #[test]
    fn json_says_the_same_as_the_table() {
        let report = Report::new("ipc", &[sample("rt0", 150), sample("rt0", 152), sample("rt0", 171)]);
        let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
        assert_eq!(json["suite"], "ipc");
        assert_eq!(json["rows"][0]["n"], 3);
        assert_eq!(json["rows"][0]["columns"]["kernel"]["median"], 166);
        assert_eq!(json["rows"][0]["columns"]["kernel_loads"]["max"], 31);
        assert!(report.to_table().contains("164/166/185"), "{}", report.to_table());
    }
}
