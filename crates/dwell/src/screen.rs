//! What a person reads: tables, colour on a terminal only, progress on standard error.

use anyhow::{Context, Result};
use comfy_table::{ColumnConstraint, ContentArrangement, LineStyle, Table, Width, presets};
use indicatif::{ProgressBar, ProgressStyle};
use std::fmt::Write as _;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::time::Duration;

use crate::figure::cells;
use dwell_core::Report;

/// What is said where standard output takes no more.
pub(crate) const NO_OUTPUT: &str = "cannot write to standard output";

/// Writes to standard output. A reader that went away, such as `head`, is no error.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context(NO_OUTPUT),
    }
}

/// Prints one JSON document.
pub(crate) fn print_json(document: &serde_json::Value) -> Result<()> {
    print(&format!("{document:#}\n"))
}

/// Whether standard output takes colour.
pub(crate) fn coloured() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// `text` in the colour of the ANSI `code`, where colour is wanted.
pub(crate) fn paint(text: &str, code: u8, colour: bool) -> String {
    if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

/// A table without frames, cut to the terminal's width where there is one.
pub(crate) fn table(heads: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()))
        .set_header(heads.iter().copied());
    table.set_content_arrangement(arrangement(table.width()));
    if !io::stdout().is_terminal() {
        table.force_no_tty().set_content_arrangement(ContentArrangement::Disabled);
    }
    for (column, head) in table.column_iter_mut().zip(heads) {
        // No word of a head is broken, however narrow the terminal is; a blank stands on either side.
        let longest = head.split(' ').map(|word| word.chars().count()).max().unwrap_or_default();
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(longest as u16 + 2)));
    }
    table
}

/// Columns of a terminal that figures need: in fewer they would be cut in two within a cell.
const LEAST_WIDTH: u16 = 60;

/// How a table is fitted into a terminal of this width. A narrow one breaks the lines itself.
fn arrangement(width: Option<u16>) -> ContentArrangement {
    match width {
        Some(width) if width < LEAST_WIDTH => ContentArrangement::Disabled,
        _ => ContentArrangement::Dynamic,
    }
}

/// A report as a table, with its warnings below.
pub(crate) fn report_text(report: &Report) -> String {
    let mut table = table(&["quantity", "finding", "95 % interval, or why"]);
    for (quantity, finding) in &report.findings {
        let [found, sure] = cells(finding);
        table.add_row([quantity.name().replace('_', " "), found, sure]);
    }
    let mut text = format!("{} on {} stamps\n{}\n", report.method, stamps(report), table.trim_fmt());
    if let Some(verdict) = &report.verdict {
        let _ = writeln!(text, "verdict: {verdict}");
    }
    for warning in &report.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    text
}

fn stamps(report: &Report) -> &'static str {
    match report.stamps {
        dwell_core::Vantage::Application => "application",
        dwell_core::Vantage::Capture => "capture",
    }
}

/// What the run is doing, on standard error, if that is a terminal.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Begins.
    pub(crate) fn start() -> Self {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        Self(bar)
    }

    /// Shows nothing, for runs inside a larger one.
    pub(crate) fn hidden() -> Self {
        Self(ProgressBar::hidden())
    }

    /// Says what happens now.
    pub(crate) fn say(&self, message: String) {
        self.0.set_message(message);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_figure_is_cut_in_two_on_a_narrow_terminal() {
        for width in [1, 20, 47, 59, 60, 80] {
            let mut table = Table::new();
            table.set_header(["exact ones", "count", "p50", "p90", "p99", "longest"]);
            let figures = ["20.0 ms", "20.0 ms", "20.0 ms", "20.0 ms"];
            table.add_row([&["server half: from here to the server and back", "1"], &figures[..]].concat());
            table.set_width(width).set_content_arrangement(arrangement(Some(width)));
            let told = table.trim_fmt();
            assert_eq!(told.matches("20.0 ms").count(), 4, "{width}:\n{told}");
        }
    }
}
