//! What a person reads: text, colour on a terminal only, progress on standard error.

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use std::fmt::Write as _;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::time::Duration;

use crate::figure::cells;
use crate::table::Table;
use dwell_core::Report;
use ratatui::crossterm::terminal;

/// What is said where standard output takes no more.
pub(crate) const NO_OUTPUT: &str = "cannot write to standard output";

/// Writes to standard output. A reader that went away, such as `head`, is no error.
pub(crate) fn print(text: &str) -> Result<()> {
    write(text).map(drop)
}

/// The same; says whether the reader is there.
fn write(text: &str) -> Result<bool> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        other => other.map(|()| true).context(NO_OUTPUT),
    }
}

/// Writes what a person reads to standard output, folded where there is a width to fold it to.
pub(crate) fn print_text(text: &str) -> Result<()> {
    is_taken(text).map(drop)
}

/// The same; says whether somebody still reads it.
pub(crate) fn is_taken(text: &str) -> Result<bool> {
    match columns() {
        None => write(text),
        Some(columns) => {
            write(&text.lines().map(|line| folded(line, columns, "  ") + "\n").collect::<String>())
        }
    }
}

/// Columns that who reads standard output has: as many as the environment's `COLUMNS` says, or as the terminal has; `None`:
/// nobody counts them.
pub(crate) fn columns() -> Option<usize> {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || io::stdout().is_terminal().then(|| terminal::size().ok()).flatten();
    told.or_else(|| terminal().map(|(columns, _)| columns.into())).filter(|columns| *columns > 0)
}

/// A blank at which no line is broken.
pub(crate) const HELD: char = '\u{a0}';

/// `text`, in which figures hold fast to what follows them: to their unit, or to more of their digits.
pub(crate) fn held(text: &str) -> String {
    let is_figure = |word: &str| {
        let word = word.trim_start_matches('(');
        word.contains(|letter: char| letter.is_ascii_digit())
            && word.chars().all(|letter| letter.is_ascii_digit() || matches!(letter, '.' | '-'))
    };
    let mut told = String::new();
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.next() {
        told.push_str(word);
        if let Some(next) = words.peek() {
            let parts = next.starts_with('(') || *next == "to";
            told.push(if is_figure(word) && !parts { HELD } else { ' ' });
        }
    }
    told
}

/// A line as lines of at most so many columns, all but the first of which begin with `indent`. No word is broken, nor a figure
/// from its unit.
pub(crate) fn folded(line: &str, columns: usize, indent: &str) -> String {
    let mut lines = Vec::new();
    let mut now = String::new();
    for (place, word) in held(line).split(' ').enumerate() {
        if place > 0 && shown(&now) + 1 + shown(word) > columns && !now.trim().is_empty() {
            lines.push(now.trim_end().to_owned());
            indent.clone_into(&mut now);
        } else if place > 0 {
            now.push(' ');
        }
        now.push_str(word);
    }
    lines.push(now);
    lines.join("\n").replace(HELD, " ")
}

/// Columns that a text takes: what [`paint`] adds takes none.
fn shown(text: &str) -> usize {
    let mut is_colour = false;
    let takes = |letter: &char| {
        is_colour |= *letter == '\x1b';
        let takes = !is_colour;
        is_colour &= *letter != 'm';
        takes
    };
    text.chars().filter(takes).count()
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

/// A report as a table, with its warnings below.
pub(crate) fn report_text(report: &Report) -> String {
    let mut table = Table::new(&["quantity", "finding", "95 % interval, or why"]);
    for (quantity, finding) in &report.findings {
        let [found, sure] = cells(finding);
        table.add_row([quantity.name().replace('_', " "), found, sure]);
    }
    let mut text = format!("{} on {} stamps\n{}\n", report.method, stamps(report), table.text());
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

    /// Says on standard error what has happened, in a line that stays.
    pub(crate) fn tell(&self, line: &str) {
        self.0.suspend(|| eprintln!("{line}"));
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
    fn lines_are_folded_between_words_and_colour_takes_no_room() {
        let line = "warning: how the round trip of 17.7 us divides";
        assert_eq!(folded(line, 20, "  "), "warning: how the\n  round trip of\n  17.7 us divides");
        assert_eq!(folded("  far-too-long-a-word and", 10, "  "), "  far-too-long-a-word\n  and");
        assert_eq!(folded(line, 80, "  "), line);
        let painted = paint("ten letter", 31, true);
        assert_eq!(folded(&painted, 10, "  "), painted);
        assert_eq!(folded("a  b", 80, ""), "a  b");
        assert_eq!(folded("of 3 514 packets (49.3 to 51.8)", 15, ""), "of\n3 514 packets\n(49.3 to 51.8)");
    }
}
