//! Owns the table for people.

use crate::{Column, Report, Row};

/// How the columns are headed.
fn heading(column: Column) -> &'static str {
    match column {
        Column::Kernel => "kernel",
        Column::Refill => "of it refill",
        Column::Host => "host",
        Column::User => "user",
        Column::Loads => "loads",
        Column::Stores => "stores",
        Column::Csr => "CSR",
        Column::KernelLoads | Column::KernelStores | Column::KernelCsr => "of kernel",
    }
}

/// Renders a report; columns in which nothing was ever counted are left out.
pub(crate) fn render(report: &Report) -> String {
    let counted = |column: &Column| {
        report.rows.iter().any(|row| row.figures(*column).is_some_and(|figures| figures.max > 0))
    };
    let columns: Vec<Column> = Column::ALL.into_iter().filter(counted).collect();
    let mut lines =
        vec![["", "n"].into_iter().chain(columns.iter().map(|c| heading(*c))).map(str::to_owned).collect()];
    lines.extend(report.rows.iter().map(|row| cells(row, &columns)));
    format!(
        "{}: executed instructions (min/median/max; one number where they are equal)\n{}",
        report.suite,
        aligned(&lines)
    )
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
