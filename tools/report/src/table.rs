//! Owns the table for people.

use crate::{Beside, Column, Report, Row};

/// How the columns are headed.
fn heading(column: Column) -> &'static str {
    match column {
        Column::Kernel => "kernel",
        Column::Refill => "of it refill",
        Column::Host => "host",
        Column::System => "kernel + host",
        Column::User => "user",
        Column::Loads => "loads",
        Column::Stores => "stores",
        Column::Csr => "CSR",
        Column::KernelLoads | Column::KernelStores | Column::KernelCsr => "of kernel",
    }
}

/// Renders a report; columns in which nothing was ever counted are left out.
pub(crate) fn render(report: &Report, beside: &[Beside<'_>]) -> String {
    let counted = |column: Column| {
        report.rows.iter().any(|row| row.figures(column).is_some_and(|figures| figures.max > 0))
    };
    // Without a host the sum is the kernel's column again.
    let shown = |column: &Column| counted(*column) && (*column != Column::System || counted(Column::Host));
    let columns: Vec<Column> = Column::ALL.into_iter().filter(shown).collect();
    let heads = ["", "n"].into_iter().chain(columns.iter().map(|column| heading(*column)));
    let mut lines: Vec<Vec<String>> =
        vec![heads.chain(beside.iter().map(|other| other.name)).map(str::to_owned).collect()];
    lines.extend(report.rows.iter().map(|row| {
        let others = beside.iter().map(|other| other.of(row).map(|figure| figure.to_string()));
        cells(row, &columns).into_iter().chain(others.map(Option::unwrap_or_default)).collect()
    }));
    format!(
        "{}: executed instructions (min/median/max; one number where they are equal)\n{}",
        report.suite,
        aligned(&lines)
    )
}

impl Beside<'_> {
    /// The figure for all the operations that a row's marks have between them.
    fn of(&self, row: &Row) -> Option<u64> {
        let (_, one) = self.figures.iter().find(|(label, _)| *label == row.label)?;
        Some(one * row.ops)
    }
}

fn cells(row: &Row, columns: &[Column]) -> Vec<String> {
    let label = if row.ops == 1 { row.label.clone() } else { format!("{} ({} ops)", row.label, row.ops) };
    let figures =
        columns.iter().map(|column| row.figures(*column).map(|f| f.to_string()).unwrap_or_default());
    [label, row.n.to_string()].into_iter().chain(figures).collect()
}

/// Puts the first column to the left and the others to the right.
fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |column: usize| lines.iter().filter_map(|line| line.get(column)).map(String::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |cells: &Vec<String>| {
        let padded = cells.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            if column == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") }
        });
        padded.collect::<String>() + "\n"
    };
    lines.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use crate::Report;
    use crate::tests::sample;

    #[test]
    fn the_table_has_its_columns_below_their_heads() {
        let table =
            Report::new("ipc", &[sample("rt0", 150), sample("rt0", 152), sample("call8m", 70)]).to_table();
        let expected = "\
ipc: executed instructions (min/median/max; one number where they are equal)
        n       kernel  of it refill  user  loads  of kernel  stores  of kernel  CSR  of kernel
rt0     2  164/164/166            14    33     40         31      38         30   11         11
call8m  1           84            14    33     40         31      38         30   11         11
";
        assert_eq!(table, expected, "\n{table}");
    }
}
