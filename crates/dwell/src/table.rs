//! A table as wide as there is room for. No figure is cut in two, and none is left out.

use crate::screen::{HELD, columns, folded, held};
use comfy_table::{ColumnConstraint, ContentArrangement, LineStyle, Row, Width, presets};

/// A cell of so many letters stays on one line; of a longer one lines are as long at the least.
const FIGURE: usize = 10;

/// Likewise of a cell that is a sentence.
const SENTENCE: usize = 22;

/// Letters above which a cell is a sentence.
const LONG: usize = 40;

/// Blanks beside a cell; one more stands between two.
const PADDING: usize = 2;

/// A table without frames.
pub(crate) struct Table {
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
    /// Columns that there are; `None`: nobody counts them.
    columns: Option<usize>,
}

impl Table {
    /// An empty one, for who reads standard output.
    pub(crate) fn new(heads: &[&str]) -> Self {
        Self::within(columns(), heads)
    }

    fn within(columns: Option<usize>, heads: &[&str]) -> Self {
        Self { heads: heads.iter().map(|head| held(head)).collect(), rows: Vec::new(), columns }
    }

    pub(crate) fn add_row(&mut self, row: impl Into<Row>) {
        self.rows.push(row.into().cell_iter().map(|cell| held(&cell.content())).collect());
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// As a person reads it: row by row; where there is no room for that, cell by cell, each behind its head.
    pub(crate) fn text(&self) -> String {
        let least = self.least();
        let between = least.len().saturating_sub(1);
        let told = match self.columns {
            Some(columns) if least.iter().sum::<usize>() + between > columns => {
                self.one_below_the_other(columns)
            }
            columns => self.beside_each_other(columns, least),
        };
        told.replace(HELD, " ")
    }

    fn beside_each_other(&self, columns: Option<usize>, least: Vec<usize>) -> String {
        let mut table = comfy_table::Table::new();
        table
            .load_style(presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()))
            .set_header(&self.heads)
            .force_no_tty();
        table.add_rows(&self.rows);
        if let Some(columns) = columns {
            let fixed = |columns: usize| u16::try_from(columns).unwrap_or(u16::MAX);
            table.set_width(fixed(columns)).set_content_arrangement(ContentArrangement::Dynamic);
            for (column, least) in table.column_iter_mut().zip(least) {
                column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(fixed(least))));
            }
        }
        table.trim_fmt()
    }

    /// What each column needs, so that no word is broken, nor a figure from its unit.
    fn least(&self) -> Vec<usize> {
        let mut least: Vec<usize> = self.heads.iter().map(|head| longest_word(head)).collect();
        for row in &self.rows {
            for (least, cell) in least.iter_mut().zip(row) {
                let needs = match cell.chars().count() {
                    whole if whole > LONG => SENTENCE,
                    whole if cell.contains(|letter: char| letter.is_ascii_digit()) => whole.min(FIGURE),
                    _ => 0,
                };
                *least = needs.max(longest_word(cell)).max(*least);
            }
        }
        least.into_iter().map(|least| least + PADDING).collect()
    }

    fn one_below_the_other(&self, columns: usize) -> String {
        let mut lines = Vec::new();
        for row in &self.rows {
            let told = self.heads.iter().zip(row).filter(|(_, cell)| !cell.is_empty());
            for (place, (head, cell)) in told.enumerate() {
                let within = if place == 0 { "" } else { "  " };
                let colon = if head.is_empty() { "" } else { ": " };
                lines.push(folded(&format!("{within}{head}{colon}{cell}"), columns, "    "));
            }
        }
        lines.join("\n")
    }
}

fn longest_word(text: &str) -> usize {
    text.split(' ').map(|word| word.chars().count()).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHY: &str = "a shorter one would not show: the path and the stamps resolve no more than 15.0 us";

    fn halves(columns: Option<usize>) -> String {
        let mut table = Table::within(columns, &["exact ones", "count", "p50", "p90", "p99", "longest"]);
        let figures = ["20.0 ms", "21.0 ms", "22.0 ms", "23.0 ms"];
        table.add_row([&["server half: from here to the server and back", "1"], &figures[..]].concat());
        table.text()
    }

    fn report(columns: Option<usize>) -> String {
        let mut table = Table::within(columns, &["quantity", "finding", "95 % interval, or why"]);
        table.add_row(["nic hold", "at most 15.0 us", WHY]);
        table.add_row(["coalescence present", "no", ""]);
        table.add_row(["apparent one way delay", "-1234.5 us", "-3.251 s to -3.246 s"]);
        table.text()
    }

    #[test]
    fn no_figure_is_cut_in_two_or_left_out_and_no_line_is_too_long() {
        for columns in [1, 20, 30, 40, 47, 59, 60, 69, 80, 120] {
            for (told, figures) in [
                (halves(Some(columns)), &["20.0 ms", "21.0 ms", "22.0 ms", "23.0 ms"][..]),
                (report(Some(columns)), &["15.0 us", "-1234.5 us", "-3.251 s", "-3.246 s"]),
            ] {
                let whole = |figure: &&str| told.lines().any(|line| line.contains(*figure));
                assert!(columns < 40 || figures.iter().all(whole), "{columns}:\n{told}");
                let widest = told.lines().map(|line| line.chars().count()).max();
                assert!(columns < 30 || widest <= Some(columns), "{columns}:\n{told}");
                // On the narrowest too, every word is there, in its order.
                let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
                assert!(figures.iter().all(|figure| words(&told).join(" ").contains(figure)), "{told}");
            }
        }
    }

    #[test]
    fn a_narrow_terminal_reads_cell_by_cell() {
        assert_eq!(
            report(Some(40)),
            "quantity: nic hold\n  finding: at most 15.0 us\n  95 % interval, or why: a shorter one\n    would not show: the path and \
             the\n    stamps resolve no more than 15.0 us\nquantity: coalescence present\n  finding: no\nquantity: apparent one way \
             delay\n  finding: -1234.5 us\n  95 % interval, or why: -3.251 s to\n    -3.246 s"
        );
    }

    #[test]
    fn where_nobody_counts_columns_rows_stay_whole() {
        assert!(report(None).lines().any(|line| line.contains("at most 15.0 us") && line.contains(WHY)));
    }
}
