//! A table with its title and notes, as text; a page has it too.

use crate::table::Table;

/// Heads and rows.
pub(super) struct Sheet {
    pub(super) title: String,
    pub(super) heads: Vec<&'static str>,
    pub(super) rows: Vec<Vec<String>>,
    /// What a reader should know besides, each once.
    pub(super) notes: Vec<String>,
}

impl Sheet {
    pub(super) fn text(&self) -> String {
        let mut table = Table::new(&self.heads);
        for row in &self.rows {
            table.add_row(row);
        }
        let notes: String = self.notes.iter().map(|note| format!("{note}\n")).collect();
        format!("{}:\n{}\n{notes}", self.title, table.text())
    }
}
