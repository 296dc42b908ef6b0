//! From a place in the text to the key that stands there, and back.

use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// Every key of a document with the stretch of text that it and its value take.
pub(super) struct Places(Vec<(String, Range<usize>)>);

impl Places {
    /// The keys of `table`.
    pub(super) fn of(table: &DeTable<'_>) -> Self {
        let mut places = Self(Vec::new());
        places.visit_table("", table);
        places
    }

    fn visit_table(&mut self, above: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let dot = if above.is_empty() { "" } else { "." };
            let key = format!("{above}{dot}{}", name.get_ref());
            self.0.push((key.clone(), name.span()));
            self.visit(key, value.span(), value.get_ref());
        }
    }

    fn visit(&mut self, key: String, span: Range<usize>, value: &DeValue<'_>) {
        match value {
            DeValue::Table(table) => self.visit_table(&key, table),
            DeValue::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.visit(format!("{key}[{index}]"), item.span(), item.get_ref());
                }
            }
            _ => {}
        }
        self.0.push((key, span));
    }

    /// The key with the shortest stretch around `span`.
    pub(super) fn key_at(&self, span: &Range<usize>) -> &str {
        let around = self.0.iter().filter(|(_, place)| place.start <= span.start && span.end <= place.end);
        around.min_by_key(|(_, place)| place.len()).map_or("", |(key, _)| key)
    }

    /// Where `key` stands, or else the nearest table around it that is written down.
    pub(super) fn start_of(&self, key: &str) -> usize {
        let mut key = key;
        loop {
            if let Some((_, place)) = self.0.iter().find(|(name, _)| name == key) {
                return place.start;
            }
            match key.rfind(['.', '[']) {
                Some(end) => key = &key[..end],
                None => return 0,
            }
        }
    }
}

/// The line, from 1, of the byte at `offset`.
pub(super) fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}
