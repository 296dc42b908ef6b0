//! The file that the textfile collector of Prometheus's node_exporter reads: whole at any time.

use crate::failure::cannot_write;
use anyhow::{Context, Result};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time from one writing to the next.
const EVERY: Duration = Duration::from_secs(5);

/// A file, and what is counted.
pub(super) struct Page {
    file: PathBuf,
    registry: Registry,
    written: Instant,
}

impl Page {
    /// Writes it a first time.
    pub(super) fn create(file: &Path, registry: Registry) -> Result<Self> {
        let mut this = Self { file: file.to_owned(), registry, written: Instant::now() };
        this.write()?;
        Ok(this)
    }

    /// Writes it, where it is time to.
    pub(super) fn write_in_time(&mut self) -> Result<()> {
        if self.written.elapsed() >= EVERY { self.write() } else { Ok(()) }
    }

    /// Who reads it meanwhile has the one before. The collector reads no files of other names.
    pub(super) fn write(&mut self) -> Result<()> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        let part = self.file.with_extension("prom.part");
        let written = fs::write(&part, for_collector(&text)).and_then(|()| fs::rename(&part, &self.file));
        if written.is_err() {
            let _ = fs::remove_file(&part);
        }
        self.written = Instant::now();
        written.with_context(|| cannot_write(&self.file))
    }
}

/// In the older format, which the collector reads, a counter's type is told by its whole name.
fn for_collector(text: &str) -> String {
    let counter = |line: &str| line.strip_prefix("# TYPE ")?.strip_suffix(" counter").map(str::to_owned);
    let counters: Vec<String> = text.lines().filter_map(counter).collect();
    let whole = |line: &str| {
        let named = line.strip_prefix("# ").and_then(|rest| rest.split(' ').nth(1));
        match named.filter(|name| counters.iter().any(|counter| counter == name)) {
            Some(name) => line.replacen(name, &format!("{name}_total"), 1),
            None => line.to_owned(),
        }
    };
    text.lines().filter(|line| *line != "# EOF").flat_map(|line| [whole(line), "\n".to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::for_collector;

    #[test]
    fn counters_have_their_whole_names() {
        let modern = "# HELP dwell_a Counted.\n# TYPE dwell_a counter\ndwell_a_total 3\n# HELP dwell_b b.\n\
                      # TYPE dwell_b histogram\ndwell_b_count 1\n# EOF\n";
        let older = "# HELP dwell_a_total Counted.\n# TYPE dwell_a_total counter\ndwell_a_total 3\n\
                     # HELP dwell_b b.\n# TYPE dwell_b histogram\ndwell_b_count 1\n";
        assert_eq!(for_collector(modern), older);
    }
}
